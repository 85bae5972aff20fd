"""What the preload library does to unmodified programs, beside the plain runs.

    python benches/preload.py [--blocks N] [--json]

Every block runs both sides once, in random order; ratios are taken within blocks, and
intervals over blocks (Student's t of the logarithms, 95 %). Reading a clock is measured
five times in each block and the best taken: the one that nothing disturbed. Limits: reading the clock is
nowhere slower than 0.95 of plain; the median miss of Python's time.sleep(0.001) falls at
least tenfold under `--policy hybrid`. Exit status 0: met, 2: exceeded, 3: inconclusive.
"""

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from scipy import stats

ROOT = Path(__file__).resolve().parents[1]
TOMPION = ROOT / "target/release/tompion"
PYTHON = "/usr/bin/python3"
CLOCKS = {
    "monotonic": "clock_gettime(CLOCK_MONOTONIC)",
    "realtime": "clock_gettime(CLOCK_REALTIME)",
    "gettimeofday": "gettimeofday",
    "time": "time",
}
NOT_SLOWER = 0.95
TENFOLD = 10.0
# The stopwatch is a clock that is not replaced.
SLEEPER = """
import time
def now(): return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
for _ in range({sleeps}):
    start = now()
    time.sleep(0.001)
    print((now() - start) / 1e3 - 1000)
"""


def run(command, policy):
    """Standard output of a command, under the library where a policy is given."""
    if policy is not None:
        command = [str(TOMPION), "preload", "--policy", policy, "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"benches/preload.py: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def interval(ratios):
    """The geometric mean and its 95 % interval."""
    logs = [math.log(r) for r in ratios]
    mean = statistics.fmean(logs)
    half = stats.t.ppf(0.975, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def in_turns(blocks, order, measure, policy):
    """Pairs of what `measure` gives plain and under the policy."""
    pairs = []
    for _ in range(blocks):
        sides = [None, policy]
        order.shuffle(sides)
        found = {side: measure(side) for side in sides}
        pairs.append((found[None], found[policy]))
    return pairs


def verdict(low, high, limit):
    return "met" if low >= limit else "exceeded" if high < limit else "inconclusive"


def reads(blocks, order, milliseconds=6, rounds=5):
    """Reads a second of each clock, plain and with the defaults of `tompion preload`."""
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory, "clock_reads")
        source = ROOT / "tests/programs/clock_reads.c"
        subprocess.run(["cc", "-O2", "-o", program, source], check=True)

        def measure(policy):
            lines = run([str(program), str(milliseconds)], policy).splitlines()
            return dict(line.split("=") for line in lines)

        turns = in_turns(blocks * rounds, order, measure, "auto")
    rows = []
    for name, call in CLOCKS.items():
        key = f"{name}_reads_per_s"
        both = []
        for first in range(0, len(turns), rounds):
            block = turns[first : first + rounds]
            both.append([max(float(turn[side][key]) for turn in block) for side in (0, 1)])
        ratio, low, high = interval([ours / plain for plain, ours in both])
        rows.append(
            {
                "what": call,
                "unit": "ns a read",
                "plain": statistics.median(1e9 / plain for plain, _ in both),
                "preloaded": statistics.median(1e9 / ours for _, ours in both),
                "ratio": ratio,
                "low": low,
                "high": high,
                "limit": NOT_SLOWER,
                "verdict": verdict(low, high, NOT_SLOWER),
            }
        )
    return rows


def sleeps(blocks, order, count=200):
    """The median miss of Python's sleep, plain and under `--policy hybrid`."""

    def measure(policy):
        lines = run([PYTHON, "-c", SLEEPER.format(sleeps=count)], policy).splitlines()
        return statistics.median(map(float, lines))

    pairs = in_turns(blocks, order, measure, "hybrid")
    ratio, low, high = interval([plain / ours for plain, ours in pairs])
    return {
        "what": "python time.sleep(0.001), hybrid",
        "unit": "us late",
        "plain": statistics.median(plain for plain, _ in pairs),
        "preloaded": statistics.median(ours for _, ours in pairs),
        "ratio": ratio,
        "low": low,
        "high": high,
        "limit": TENFOLD,
        "verdict": verdict(low, high, TENFOLD),
    }


def starts(blocks, order):
    """What a process start takes; no limit."""

    def measure(policy):
        library = TOMPION.parent / "libtompion_preload.so"
        environment = {} if policy is None else {"LD_PRELOAD": str(library)}
        loop = f"import os,time\nt=time.monotonic()\nfor _ in range(50): os.waitpid(os.posix_spawn('/bin/true',['true'],{environment!r}),0)\nprint((time.monotonic()-t)/50*1e6)"
        return float(run([PYTHON, "-c", loop], None))

    pairs = in_turns(blocks, order, measure, "auto")
    ratio, low, high = interval([plain / ours for plain, ours in pairs])
    return {
        "what": "start and end of /bin/true",
        "unit": "us",
        "plain": statistics.median(plain for plain, _ in pairs),
        "preloaded": statistics.median(ours for _, ours in pairs),
        "ratio": ratio,
        "low": low,
        "high": high,
        "limit": None,
        "verdict": "",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="print as JSON")
    options = parser.parse_args()
    if options.blocks < 3:
        parser.error("--blocks must be at least 3")
    order = random.Random(os.getpid())
    rows = [
        *reads(options.blocks, order),
        sleeps(options.blocks, order),
        starts(options.blocks, order),
    ]
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        print(f"{options.blocks} blocks, both sides in each; ratio above 1: better than plain")
        print(f"{'':34} {'unit':10} {'plain':>8} {'ours':>8}  ratio [95 % interval]")
        for row in rows:
            limit = f"  limit {row['limit']:g}: {row['verdict']}" if row["limit"] else ""
            print(
                f"{row['what']:34} {row['unit']:10} {row['plain']:8.2f} {row['preloaded']:8.2f}"
                f"  {row['ratio']:.3f} [{row['low']:.3f}, {row['high']:.3f}]{limit}"
            )
    verdicts = {row["verdict"] for row in rows}
    return 2 if "exceeded" in verdicts else 3 if "inconclusive" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
