"""What observing costs: a probe with the observer, without, and without again.

Every block measures each of them once for some tenths of a second, in random order, so
that they share the machine's state. Changes are paired by block: their Hodges-Lehmann
estimate with its 95 % interval by Wilcoxon's signed ranks, which a few blocks that
something else disturbed do not move. `make test-full` holds the observer that runs by
default to 2 % on the median and 5 % on the p95; the row without against without again
tells what this machine can resolve. Reading a clock takes a whole number of the
counter's steps, so that medians are often exactly the same.

    python benches/observer.py [--minutes 8] [--check]
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy
from scipy.stats import norm

ROOT = Path(__file__).resolve().parents[1]
TOMPION = ROOT / "target/release/tompion"
LIMITS = {"median": 0.02, "p95": 0.05}
QUANTILES = {"median": "median_ns", "p95": "p95_ns"}
# One of each kind that `--observe auto` treats differently, with its share of the time.
PROBES = {
    "sleep of 100 us": (
        ("wake-up", "--methods", "clock-nanosleep-abs", "--targets", "100us"),
        0.8,
    ),
    "clock_gettime": (("read-cost", "--methods", "clock-monotonic"), 0.2),
}
# Blocks of one run, of three trials each, and how long a trial takes with all around it.
BLOCKS = 60
TRIAL_SECONDS = 0.2


def measure(directory, probe):
    slack = ("--slack", "default") if probe[0] == "wake-up" else ()
    subprocess.run(
        [
            *(str(TOMPION), "measure", *probe, *slack, "--observe", "off,off,auto"),
            *("--blocks", str(BLOCKS), "--duration", f"{3 * BLOCKS * TRIAL_SECONDS:.0f}s"),
            *("--out", str(directory), "--quiet"),
        ],
        check=True,
    )
    return json.loads((directory / "run.json").read_text())["trials"]


def ratios(trials, one, other, key):
    """one / other, block by block."""
    by = {}
    for trial in trials:
        summary = trial["summary"]["measured"]
        if summary:
            by[trial["block"], trial["factors"]["observe"]] = summary[key]
    blocks = sorted({block for block, _ in by})
    pairs = [(by.get((b, one)), by.get((b, other))) for b in blocks]
    return [a / b for a, b in pairs if a and b]


def shift(ratios):
    """The Hodges-Lehmann estimate of the change and its 95 % interval (Hollander and
    Wolfe, Nonparametric Statistical Methods, section 3.3: large samples)."""
    logs = numpy.log(ratios)
    n = len(logs)
    if n < 20:
        raise SystemExit(f"observer.py: {n} blocks are too few; give it more --minutes")
    first, second = numpy.triu_indices(n)
    walsh = numpy.sort((logs[first] + logs[second]) / 2)
    spread = norm.ppf(0.975) * (n * (n + 1) * (2 * n + 1) / 24) ** 0.5
    low = int(n * (n + 1) / 4 - spread)
    middle = numpy.median(walsh)
    return numpy.expm1([middle, walsh[low], walsh[len(walsh) - 1 - low]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--check", action="store_true", help="fail unless within the limits")
    options = parser.parse_args()
    failed = False
    print(f"{'probe':<18}{'compared':<18}{'of':<8}{'blocks':>6}  {'change [95 %]':<26}limit")
    for name, (probe, share) in PROBES.items():
        found = {}
        end = time.monotonic() + 60 * options.minutes * share
        while True:
            with tempfile.TemporaryDirectory() as directory:
                trials = measure(Path(directory) / "run", probe)
            for one, quantile in itertools.product(("auto", "off again"), QUANTILES):
                new = ratios(trials, one, "off", QUANTILES[quantile])
                found.setdefault((one, quantile), []).extend(new)
            if time.monotonic() > end:
                break
        for (one, quantile), values in found.items():
            change, low, high = shift(values)
            limit = LIMITS[quantile]
            within = -limit <= low and high <= limit
            failed |= one == "auto" and not within
            compared = "observed / not" if one == "auto" else "not again / not"
            text = f"{100 * change:+.2f} % [{100 * low:+.2f}, {100 * high:+.2f}]"
            verdict = f"{100 * limit:.0f} %: {'met' if within else 'NOT met'}"
            print(f"{name:<18}{compared:<18}{quantile:<8}{len(values):>6}  {text:<26}{verdict}")
    return 1 if failed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
