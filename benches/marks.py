"""Which probes an end held up, and by what: disturbances planted at either end of a path of 20 ms, against taps.

    python benches/marks.py [--quick] [--blocks N] [--json]

Sender and far end are the namespaces of `tompion testbed`. In each block, in random order and on each side: a CPU quota that
others use up, stops of 50 ms at random moments, real-time bursts on the CPU of who sends or answers, and a queue on the own
device; besides, nothing planted, nothing but a CPU load, and a path whose delay varies by up to 20 ms. What a tap at the
sender's device and one at the far end's saw of each probe is the truth: a probe was held up here where its round trip in the
program is more than 100 us longer, above what a quarter of them keep to, than at the tap; at the far end where it stayed so
much longer between its two passes of the tap there. It was not held up where that is within 20 us. The far end tells its
own marks. Shares are of all probes of a condition; what is to be reached stands beside them. Exit status 0: all is reached,
2: something is missed.
"""

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import polars

ROOT = Path(__file__).resolve().parents[1]
TOMPION = ROOT / "target/release/tompion"
US = 1_000
HELD_UP_NS, USUAL_NS = 100 * US, 20 * US
# Every 250 to 450 ms for 50 ms, so that the moments are random against the grid of probes.
STOPS = "while kill -STOP $1; do sleep 0.05; kill -CONT $1; sleep 0.$((25 + RANDOM % 20)); done 2>/dev/null"
BURSTS = """
import os, time
os.sched_setaffinity(0, {int(os.environ["BURSTS_ON"])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
while True:
    until = time.monotonic() + 0.03
    while time.monotonic() < until:
        pass
    time.sleep(0.27)
"""
QUEUE = "tbf rate 20mbit burst 6000 limit 262144"
FILL = "import socket,time\ns=socket.socket(2,2)\nwhile 1:\n [s.sendto(b'0'*1400,('{to}',9)) for _ in range(40)]; time.sleep(.15)"
CAUSES = {"quota": {"throttled"}, "stops": {"stopped"}, "bursts": {"preempted"}, "queue": {"queued"}}
AT_REST, BUSY, SLOW = "nothing", "cpu on all CPUs", "a path that varies by 20 ms"
SIDES = {"here": ("sending", "queued", "receiving", "under-way"), "far end": ("far-end",)}


def planted(kind, who, device, to):
    """What disturbs the process whose number is in `$who`, as shell text that goes on beside it."""
    last = max(os.sched_getaffinity(0))
    if kind == "quota":
        group = f"/sys/fs/cgroup/tompion-marks-$${who}"
        return (
            f"g={group}; mkdir $g && echo '30000 100000' >$g/cpu.max && echo ${who} >$g/cgroup.procs; "
            f"sh -c 'while :; do :; done' & echo $! >$g/cgroup.procs; "
        )
    if kind == "stops":
        return f"bash -c '{STOPS}' bash ${who} & "
    if kind == "bursts":
        return f"taskset -acp {last} ${who} >/dev/null; BURSTS_ON={last} python3 -c '{BURSTS}' & "
    if kind == "queue":
        return f'tc qdisc replace dev {device} root {QUEUE}; python3 -c "{FILL.format(to=to)}" & '
    return ""


def script(kind, side, count, directory):
    """What runs at the far end, and what at the sender."""
    here = kind if side == "here" else None
    far = kind if side == "far end" else None
    reflect = f"{TOMPION} reflect --listen 0.0.0.0:862 --quiet & who=$!; "
    reflect += planted(far, "who", "f0", "$SENDER") + "wait $who"
    measure = f"{TOMPION} measure packet-delay --to $FAR_END --probes {count} --intervals 20ms --blocks 1 "
    measure += f"--loads {'cpu' if kind == BUSY else 'idle'} --quiet --out {directory}/run"
    sender = f"{TOMPION} tap --device s0 --write {directory}/near.pcapng --quiet & tap=$!; sleep 0.5; "
    sender += f"{measure} & who=$!; sleep 0.2; {planted(here, 'who', 's0', '$FAR_END')}"
    sender += "wait $who; status=$?; kill -INT $tap; wait $tap; exit $status"
    return reflect, sender


def measured(kind, side, count, directory):
    """The run, joined with what both taps saw: its stamps and marks."""
    directory.mkdir()
    reflect, sender = script(kind, side, count, directory)
    plan = "[outward]\ndelay_ns = 10_000_000\n[homeward]\ndelay_ns = 10_000_000\n"
    if kind == SLOW:
        plan = plan.replace("[homeward]", "jitter = { uniform = { most_ns = 20_000_000 } }\n[homeward]")
    (directory / "plan.toml").write_text(plan)
    far_tap = f"exec {TOMPION} tap --device f0 --write {directory}/far.pcapng --quiet"
    command = [TOMPION, "testbed", "--plan", directory / "plan.toml", "--quiet", "--far-end", reflect, "--far-end", far_tap]
    done = subprocess.run([*map(str, command), "--", "bash", "-c", sender], capture_output=True, text=True, timeout=300)
    joined = directory / "joined"
    taps = [f"--tap=near={directory}/near.pcapng", f"--tap=far={directory}/far.pcapng"]
    told = subprocess.run([str(TOMPION), "join", f"{directory}/run", *taps, "--out", str(joined)], capture_output=True, text=True)
    if told.returncode:
        sys.exit(f"benches/marks.py: {kind}, {side}: {done.stderr}{told.stderr}")
    return polars.read_parquet(joined / "packet-delay.packets.parquet"), polars.read_parquet(joined / "packet-delay.packet-marks.parquet")


def above_usual(column):
    return column - column.quantile(0.25)


def judged(packets, marks, side, causes):
    """Of one run: how many probes were held up there, how many of these are marked and by the planted cause; how many were not, and
    how many of these are marked."""
    packets = packets.with_row_index("row")
    if side == "here":
        local = (packets["user_received_ns"] - packets["user_sent_ns"]) - (packets["tap_near_homeward_ns"] - packets["tap_near_outward_ns"])
    else:
        local = packets["tap_far_homeward_ns"] - packets["tap_far_outward_ns"]
    excess = above_usual(local)
    known = excess.is_not_null() & packets["received_ns"].is_not_null() & packets["sent_ns"].is_not_null()
    held_up = set(packets.filter(known & (excess > HELD_UP_NS))["row"])
    usual = set(packets.filter(known & (excess.abs() <= USUAL_NS))["row"])
    there = marks.filter(polars.col("side").is_in(SIDES[side]))
    marked, named = set(there["row"]), set(there.filter(polars.col("cause").is_in(causes))["row"])
    return {
        "held_up": len(held_up),
        "marked": len(held_up & marked),
        "named": len(held_up & named),
        "usual": len(usual),
        "wrongly": len(usual & marked),
    }


def conditions():
    kinds = [(kind, side) for kind in CAUSES for side in SIDES]
    return kinds + [(kind, "here") for kind in (AT_REST, BUSY, SLOW)]


def show(found):
    print(f"  {'planted':28} {'side':8} {'held up':>8} {'marked':>8} {'by name':>8} {'usual':>7} {'marked':>8}")
    missed = False
    for (kind, side), sums in found.items():
        share = lambda part, whole: f"{100 * sums[part] / sums[whole]:.1f} %" if sums[whole] else "-"
        print(
            f"  {kind:28} {side:8} {sums['held_up']:>8} {share('marked', 'held_up'):>8} "
            f"{share('named', 'held_up') if kind in CAUSES else '':>8} {sums['usual']:>7} {share('wrongly', 'usual'):>8}"
        )
        if kind in CAUSES and sums["held_up"]:
            missed |= sums["marked"] < 0.99 * sums["held_up"] or sums["named"] < 0.9 * sums["held_up"]
        missed |= sums["wrongly"] > 0.02 * sums["usual"]
    print("to reach: of those held up 99 % marked, 90 % by the planted cause; of the usual ones at most 2 % marked")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one block of 200 probes")
    parser.add_argument("--blocks", type=int)
    parser.add_argument("--json", action="store_true", help="print as JSON")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("benches/marks.py: network namespaces take root")
    blocks, count = (options.blocks or 1, 200) if options.quick else (options.blocks or 3, 600)
    order, found = random.Random(), {}
    with tempfile.TemporaryDirectory(prefix="tompion-bench-") as directory:
        for block in range(blocks):
            for number, (kind, side) in enumerate(order.sample(conditions(), len(conditions()))):
                packets, marks = measured(kind, side, count, Path(directory, f"{block}-{number}"))
                for which in SIDES if kind not in CAUSES else [side]:
                    sums = found.setdefault((kind, which), {})
                    for name, value in judged(packets, marks, which, CAUSES.get(kind, set())).items():
                        sums[name] = sums.get(name, 0) + value
            print(f"block {block + 1} of {blocks}", file=sys.stderr, flush=True)
    ordered = {key: found[key] for key in sorted(found, key=lambda key: (list(CAUSES).index(key[0]) if key[0] in CAUSES else 9, key))}
    if options.json:
        print(json.dumps([{"planted": kind, "side": side, **sums} for (kind, side), sums in ordered.items()], indent=2))
        return 0
    return 2 if show(ordered) else 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
