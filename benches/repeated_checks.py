"""How often a check decides, and how often it is wrong: many of them against one long run.

    python benches/repeated_checks.py DIR [--checks 10] [--every 15m] [--quick] [--long 30m] [--program FILE]

Measures what is not in DIR yet, so that a series may be broken off and gone on with: default checks
that begin so long after one another (`--quick` for quick ones), and a long check between them.
What counts is a pair of a use and a load. Its truth is the long run's verdict. Prints how many each check
decides of those that the long run decided and that are not within 25 % of their limit there, the median
over the checks, and each verdict, near the limit or not, that contradicts the long run: "pass" or "with N"
where that says "FAIL", and "FAIL" where that says "pass". All checks count.
"""

import argparse
import json
import re
import statistics
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOMPION = ROOT / "target/release/tompion"
SECONDS = {"s": 1, "m": 60, "h": 3600}
# A figure so near to its limit is not held against anybody.
NEAR = 0.25
DECIDED = ("pass", "fail", "with-remedy")


def span(text):
    number, unit = re.fullmatch(r"(\d+)([smh])", text).groups()
    return int(number) * SECONDS[unit]


def check(program, directory, *options):
    """A check that keeps its run there; one that is there already is not measured again."""
    if not (directory / "run.json").exists():
        command = [str(program), "check", "--quiet", "--out", str(directory), *options]
        began = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        print(f"{directory.name}: {time.monotonic() - began:.1f} s", flush=True)


def pairs(program, directory):
    """Each use under each load."""
    command = [str(program), "report", str(directory), "--format", "verdict-json"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return {(use["name"], under["load"]): under for use in told["uses"] for under in use["by_load"]}


def known(under):
    """Whether the long run knows which way this pair has to end."""
    late_ns = under["late_ns"]
    near = late_ns is not None and abs(late_ns / under["limit_ns"] - 1) < NEAR
    return under["outcome"] in DECIDED and not near


def late(under):
    ns = under["late_ns"]
    return "too few samples for a figure" if ns is None else f"{ns / 1e3:.1f} us"


def contradicts(told, truth):
    if told == "fail":
        return truth == "pass"
    return told in ("pass", "with-remedy") and truth == "fail"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--checks", type=int, default=10)
    parser.add_argument("--every", type=span, default="15m")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--long", default="30m")
    parser.add_argument("--program", type=Path, default=TOMPION, help="what checks and reports")
    chosen = parser.parse_args()
    kind, options = ("quick", ["--quick"]) if chosen.quick else ("default", [])
    chosen.directory.mkdir(parents=True, exist_ok=True)

    checks = [chosen.directory / f"{kind}-{number + 1:02}" for number in range(chosen.checks)]
    long_run = chosen.directory / "long"
    for number, directory in enumerate(checks):
        began = time.monotonic()
        new = not (directory / "run.json").exists()
        check(chosen.program, directory, *options)
        if number == max(1, len(checks) // 2) - 1:
            check(chosen.program, long_run, "--duration", chosen.long)
        if new and directory != checks[-1]:
            time.sleep(max(0, chosen.every - (time.monotonic() - began)))

    truth = pairs(chosen.program, long_run)
    asked = [pair for pair, under in truth.items() if known(under)]
    print(f"\n{len(truth)} pairs, of which {len(asked)} are known by the long run and not within 25 % of their limit")
    shares, verdicts, wrong = [], 0, []
    for directory in checks:
        told = pairs(chosen.program, directory)
        decided = [pair for pair in asked if pair in told and told[pair]["outcome"] in DECIDED]
        missed = [f"{use} {load}" for use, load in asked if (use, load) not in decided]
        shares.append(len(decided) / max(1, len(asked)))
        print(f"{directory.name}: {len(decided)} decided ({shares[-1]:.0%}); open: {', '.join(missed) or 'none'}")
        for pair, under in told.items():
            if pair in truth and under["outcome"] in DECIDED:
                verdicts += 1
                if contradicts(under["outcome"], truth[pair]["outcome"]):
                    wrong.append((directory.name, *pair, under, truth[pair]))
    print(f"the median decides {statistics.median(shares):.0%}")
    print(f"{len(wrong)} of {verdicts} verdicts contradict the long run ({len(wrong) / max(1, verdicts):.1%})")
    for name, use, load, under, long in wrong:
        print(
            f"  {name}: {use} under {load} is {under['outcome']} ({late(under)} of"
            f" {under['limit_ns'] / 1e3:.1f} us), in the long run {long['outcome']} ({late(long)})"
        )


main()
