"""Which probes an end held up, and by what: disturbances planted at either end of a path of 20 ms, against taps.

    python benches/marks.py [--quick] [--blocks N] [--json]

Sender and far end are the namespaces of `tompion testbed`. In each block, in random order and on each side: a CPU quota that
others use up, stops of 50 ms at random moments, real-time bursts of 30 ms on the CPU of who sends or answers, and a queue on
the own device; besides, nothing planted, a CPU load at both ends, and a path whose delay varies by up to 20 ms. What a tap at
the sender's device and one at the far end's saw of each probe is the truth: a probe was held up here where its round trip in
the program is longer by 100 us, above what a quarter of them keep to, than at the tap; at the far end where it stayed so
much longer between its two passes of the tap there. It was not where that is within 20 us. It was held up by what is planted
where that, by its own log, went on for half of that time at least. The machine disturbs probes besides: those count as held
up, not by name. The far end tells its own marks. What marks a probe under way, while the machine stands still, no tap on
that machine can judge: it is counted by itself. Exit status 0: all is reached, 2: something is missed.
"""

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars

ROOT = Path(__file__).resolve().parents[1]
TOMPION = ROOT / "target/release/tompion"
US = 1_000
HELD_UP_NS, USUAL_NS = 100 * US, 20 * US
QUEUE = "tbf rate 20mbit burst 6000 limit 262144"
CAUSES = {"quota": "throttled", "stops": "stopped", "bursts": "preempted", "queue": "queued"}
AT_REST, BUSY, SLOW = "nothing", "cpu at both ends", "a path that varies"
SIDES = {"here": ("sending", "queued", "receiving"), "far end": ("far-end",)}
# What plants it: argv is the process, the log, and what it takes besides. A line of the log is from when until when it went on.
PLANTS = {
    "stops": """
import os, random, signal, sys, time
pid, log = int(sys.argv[1]), open(sys.argv[2], "w", 1)
while True:
    time.sleep(random.uniform(0.25, 0.45))
    os.kill(pid, signal.SIGSTOP)
    began = time.time_ns()
    time.sleep(0.05)
    log.write(f"{began} {time.time_ns()}\\n")
    os.kill(pid, signal.SIGCONT)
""",
    "bursts": """
import os, random, sys, time
log, cpu = open(sys.argv[2], "w", 1), int(sys.argv[3])
os.sched_setaffinity(0, {cpu})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
while True:
    began = time.time_ns()
    while time.time_ns() < began + 30_000_000:
        pass
    log.write(f"{began} {time.time_ns()}\\n")
    time.sleep(random.uniform(0.2, 0.35))
""",
    # The kernel tells at the end of each time how long that was.
    "quota": """
import os, re, sys, time
log, group = open(sys.argv[2], "w", 1), sys.argv[3]
if os.fork() == 0:
    open(group + "/cgroup.procs", "w").write("0")
    while True:
        pass
def throttled():
    text = open(group + "/cpu.stat").read()
    found = re.search(r"throttled_time (\\d+)", text)
    return int(found[1]) if found else 1000 * int(re.search(r"throttled_usec (\\d+)", text)[1])
before = throttled()
while True:
    time.sleep(0.001)
    now = throttled()
    if now > before:
        at = time.time_ns()
        log.write(f"{at - (now - before)} {at}\\n")
        before = now
""",
    "queue": """
import socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for _ in range(40):
        try:
            out.sendto(bytes(1400), (sys.argv[3], 9))
        except OSError:
            pass
    time.sleep(0.15)
""",
}


def plant(kind, device, to, group, log, directory):
    """What disturbs the process `$who` from now on, as shell text."""
    if kind not in PLANTS:
        return ""
    program = directory / f"{kind}.py"
    program.write_text(PLANTS[kind])
    last = max(os.sched_getaffinity(0))
    besides = {"bursts": last, "quota": group, "queue": to}.get(kind, "")
    before = {"bursts": f"taskset -acp {last} $who >/dev/null; ", "queue": f"tc qdisc replace dev {device} root {QUEUE}; "}
    return before.get(kind, "") + f"python3 {program} $who {log} {besides} & "


def begun_in(kind, group):
    """What begins a command in the group that has a quota, as a container's is begun in its own; nothing where none is planted."""
    return f"""sh -c 'echo 0 >{group}/cgroup.procs; exec "$@"' sh""" if kind == "quota" else ""


@contextlib.contextmanager
def quota(name):
    """A control group of either version that has 30 ms in 100; nothing where none can be made."""
    first, unified = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
    is_first = (first / "cpu.cfs_quota_us").parent.is_dir() and (first / "cgroup.procs").exists()
    group = (first if is_first else unified) / name
    try:
        group.mkdir()
        if is_first:
            (group / "cpu.cfs_period_us").write_text("100000")
            (group / "cpu.cfs_quota_us").write_text("30000")
        else:
            (group / "cpu.max").write_text("30000 100000")
    except OSError as error:
        sys.exit(f"benches/marks.py: no group with a CPU quota: {error}")
    try:
        yield group
    finally:
        # Members that have just ended keep a group busy for a moment.
        for _ in range(100):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.05)


def measured(kind, side, count, directory, group):
    """The run, joined with what both taps saw: its stamps, its marks, and when the planted thing went on."""
    directory.mkdir()
    log = directory / "planted"
    here, far = (kind, None) if side == "here" else (None, kind)
    reflect = f"{begun_in(far, group)} {TOMPION} reflect --listen 0.0.0.0:862 --quiet & who=$!; sleep 0.3; "
    reflect += plant(far, "f0", "198.18.0.1", group, log, directory) + "wait $who"
    measure = f"{TOMPION} measure packet-delay --to $FAR_END --probes {count} --intervals 20ms --blocks 1 "
    measure += f"--loads {'cpu' if kind == BUSY else 'idle'} --quiet --out {directory}/run"
    sender = f"{TOMPION} tap --device s0 --write {directory}/near.pcapng --quiet & tap=$!; sleep 0.5; "
    sender += f"{begun_in(here, group)} {measure} & who=$!; sleep 0.3; {plant(here, 's0', '$FAR_END', group, log, directory)}"
    sender += "wait $who; status=$?; kill -INT $tap; wait $tap; exit $status"
    varies = "jitter = { uniform = { most_ns = 20_000_000 } }\n" if kind == SLOW else ""
    plan = directory / "plan.toml"
    plan.write_text(f"[outward]\ndelay_ns = 10_000_000\n{varies}[homeward]\ndelay_ns = 10_000_000\n")
    far_tap = f"exec {TOMPION} tap --device f0 --write {directory}/far.pcapng --quiet"
    command = [TOMPION, "testbed", "--plan", plan, "--quiet", "--far-end", reflect, "--far-end", far_tap, "--", "bash", "-c", sender]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300)
    joined = directory / "joined"
    taps = [f"--tap=near={directory}/near.pcapng", f"--tap=far={directory}/far.pcapng"]
    told = subprocess.run([str(TOMPION), "join", f"{directory}/run", *taps, "--out", str(joined)], capture_output=True, text=True)
    if told.returncode:
        sys.exit(f"benches/marks.py: {kind}, {side}: {done.stderr}{told.stderr}")
    lines = log.read_text().splitlines() if log.exists() else []
    spans = [tuple(map(int, line.split())) for line in lines if len(line.split()) == 2]
    tables = [polars.read_parquet(joined / f"packet-delay.{name}.parquet") for name in ("packets", "packet-marks")]
    return (*tables, spans)


def above_usual(column):
    """By how much each is above what a quarter keep to."""
    return column - np.nanquantile(column, 0.25)


def within(spans, begin, end):
    """How much of each time lies within these spans, of which none lies within another."""
    shared = np.zeros(len(begin))
    for from_ns, until_ns in spans:
        shared += np.clip(np.minimum(end, until_ns) - np.maximum(begin, from_ns), 0, None)
    return shared


def judged(packets, marks, spans, side, kind):
    """Of one run: how many probes were held up there, how many of these are marked; by what is planted, and how many of these
    are marked and by name; how many were not held up, and how many of these are marked, and under way."""
    at = {name: packets[f"{name}_ns"].cast(polars.Float64).to_numpy() for name in
          ("user_sent", "tap_near_outward", "tap_far_outward", "far_sent", "tap_far_homeward", "tap_near_homeward", "user_received")}
    if side == "here":
        stretches = [("user_sent", "tap_near_outward"), ("tap_near_homeward", "user_received")]
    else:
        stretches = [("tap_far_outward", "tap_far_homeward")]
    took = [at[end] - at[begin] for begin, end in stretches]
    excess = above_usual(sum(took))
    if kind == "queue":
        # From the program's word that it sends on, whatever the moment.
        planted = above_usual(took[0] if side == "here" else at["tap_far_homeward"] - at["far_sent"])
    else:
        planted = sum(within(spans, np.nan_to_num(at[begin]), np.nan_to_num(at[end])) for begin, end in stretches)
    known = ~np.isnan(excess)
    # The last ones at the far end are told of in no later reply.
    known[-25 if side == "far end" else len(known):] = False
    held_up = known & (excess > HELD_UP_NS)
    by_it = held_up & (planted >= excess / 2) & (kind in CAUSES)
    usual = known & (np.abs(excess) <= USUAL_NS)

    def has(*conditions):
        rows = marks.filter(*conditions)["row"].to_numpy()
        found = np.zeros(len(known), bool)
        found[rows[rows < len(known)]] = True
        return found

    there = has(polars.col("side").is_in(SIDES[side]))
    named = has(polars.col("side").is_in(SIDES[side]), polars.col("cause") == CAUSES.get(kind, ""))
    under_way = has(polars.col("side") == "under-way")
    sums = {"held_up": held_up, "marked": held_up & there, "by_it": by_it, "by_it_marked": by_it & there, "named": by_it & named}
    sums |= {"usual": usual, "wrongly": usual & there, "under_way": usual & under_way}
    return {name: int(rows.sum()) for name, rows in sums.items()}


def conditions():
    kinds = [(kind, side) for kind in CAUSES for side in SIDES]
    return kinds + [(kind, "here") for kind in (AT_REST, BUSY, SLOW)]


def missed(sums):
    """What is not reached."""
    found = []
    if sums["by_it"]:
        found += ["marked"] * (sums["by_it_marked"] < 0.99 * sums["by_it"]) + ["named"] * (sums["named"] < 0.9 * sums["by_it"])
    return found + ["usual"] * (sums["wrongly"] > 0.02 * sums["usual"])


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def show(found):
    print(f"  {'planted':20} {'side':8} {'held up':>8} {'marked':>8} {'by that':>8} {'marked':>8} {'by name':>8} {'usual':>7} {'marked':>8} {'under way':>10}")
    for (kind, side), sums in found.items():
        of_it = [share(sums["by_it_marked"], sums["by_it"]), share(sums["named"], sums["by_it"])]
        not_reached = missed(sums)
        print(
            f"  {kind:20} {side:8} {sums['held_up']:>8} {share(sums['marked'], sums['held_up']):>8} {sums['by_it']:>8} {of_it[0]:>8} "
            f"{of_it[1]:>8} {sums['usual']:>7} {share(sums['wrongly'], sums['usual']):>8} {sums['under_way']:>10}"
            + (f"  missed: {', '.join(not_reached)}" if not_reached else "")
        )
    print("to reach: of those held up by what is planted 99 % marked, 90 % by name; of the usual ones at most 2 % marked")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one block of 200 probes")
    parser.add_argument("--blocks", type=int, help="blocks [default: 3; 1 with --quick]")
    parser.add_argument("--json", action="store_true", help="print as JSON")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("benches/marks.py: network namespaces take root")
    blocks, count = options.blocks or (1 if options.quick else 3), 200 if options.quick else 600
    order, found = random.Random(), {}
    with tempfile.TemporaryDirectory(prefix="tompion-bench-") as directory:
        for block in range(blocks):
            for number, (kind, side) in enumerate(order.sample(conditions(), len(conditions()))):
                with quota(f"tompion-marks-{os.getpid()}") as group:
                    packets, marks, spans = measured(kind, side, count, Path(directory, f"{block}-{number}"), group)
                for which in [side] if kind in CAUSES else SIDES:
                    sums = found.setdefault((kind, which), {})
                    for name, value in judged(packets, marks, spans, which, kind).items():
                        sums[name] = sums.get(name, 0) + value
            print(f"block {block + 1} of {blocks}", file=sys.stderr, flush=True)
    kinds = [*CAUSES, AT_REST, BUSY, SLOW]
    ordered = {key: found[key] for key in sorted(found, key=lambda key: (kinds.index(key[0]), key[1]))}
    if options.json:
        print(json.dumps([{"planted": kind, "side": side, **sums} for (kind, side), sums in ordered.items()], indent=2))
    else:
        show(ordered)
    return 2 if any(map(missed, ordered.values())) else 0


if __name__ == "__main__":
    sys.exit(main())
