#!/bin/sh
# Makes the golden run of packets anew, in the directory WHERE: a path that loses, repeats and reorders.
#   tests/golden/packets.sh WHERE          (as root; `tompion` in PATH)
set -eu
cd "$1"
cat >path.toml <<'PLAN'
seed = 3
[outward]
delay_ns = 2_000_000
loss = { bernoulli = { share = 0.08 } }
duplication = { share = 0.06, after_ns = 50_000 }
[homeward]
delay_ns = 2_000_000
reordering = { share = 0.1, by_ns = 31_000_000 }
duplication = { share = 0.06, after_ns = 50_000 }
PLAN
tompion testbed --plan path.toml --far-end 'exec tompion reflect --listen 0.0.0.0:862 --quiet' -- sh -c '
    sleep 1
    exec tompion measure packet-delay --to "$FAR_END" --probes 160 --intervals 20ms --timeout 500ms --blocks 2 \
        --loads idle,cpu:threads=2 --seed 7 --quiet --out version-2-packets'
rm version-2-packets/report.html
tar --owner=0 --group=0 --numeric-owner --sort=name --mtime=2026-01-01 -cf - version-2-packets | gzip -9n >version-2-packets.tar.gz
