"""What observing costs: sleeps with the observer, without, and without again.

Every block measures each of them once, in random order. Ratios are paired by block:
their geometric mean with its 95 % interval. `make test-full` holds the observer that
runs by default to 2 % on the median and 5 % on the p95; the row without against without
again tells what this machine can resolve.

    python benches/observer.py [--minutes 8] [--check]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from preload import interval

ROOT = Path(__file__).resolve().parents[1]
TOMPION = ROOT / "target/release/tompion"
LIMITS = {"median": 0.02, "p95": 0.05}
QUANTILES = {"median": "median_ns", "p95": "p95_ns"}
METHODS = "usleep,clock-nanosleep-abs"


def measure(directory, minutes, blocks):
    subprocess.run(
        [
            *(str(TOMPION), "measure", "wake-up", "--methods", METHODS, "--targets", "1ms"),
            *("--slack", "default", "--observe", "off,off,auto", "--out", str(directory)),
            *("--blocks", str(blocks), "--duration", f"{60 * minutes:.0f}s", "--quiet"),
        ],
        check=True,
    )
    return json.loads((directory / "run.json").read_text())["trials"]


def ratios(trials, method, one, other, key):
    """one / other, block by block."""
    by = {}
    for trial in trials:
        factors = trial["factors"]
        summary = trial["summary"]["measured"]
        if factors["method"] == method and summary:
            by[trial["block"], factors["observe"]] = summary[key]
    blocks = sorted({block for block, _ in by})
    pairs = [(by.get((b, one)), by.get((b, other))) for b in blocks]
    return [a / b for a, b in pairs if a and b]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--blocks", type=int, default=60)
    parser.add_argument("--check", action="store_true", help="fail unless within the limits")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        trials = measure(Path(directory) / "run", options.minutes, options.blocks)
    print(f"{'sleep of 1 ms':<22}{'compared':<24}{'of':<8}{'change [95 %]':<28}limit")
    failed = False
    for method in METHODS.split(","):
        for name, one in [("observed / not", "auto"), ("not again / not", "off again")]:
            for quantile, key in QUANTILES.items():
                found = interval(ratios(trials, method, one, "off", key))
                change, low, high = (ratio - 1 for ratio in found)
                limit = LIMITS[quantile]
                within = -limit <= low and high <= limit
                failed |= one == "auto" and not within
                verdict = f"{100 * limit:.0f} %: {'met' if within else 'NOT met'}"
                text = f"{100 * change:+.2f} % [{100 * low:+.2f}, {100 * high:+.2f}]"
                print(f"{method:<22}{name:<24}{quantile:<8}{text:<28}{verdict}")
    return 1 if failed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
