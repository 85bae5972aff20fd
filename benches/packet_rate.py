"""What packet rate some 200 clock reads and one sleep a packet allow on this machine.

    python benches/packet_rate.py [--write] [--blocks N]

Kirova 2019 counts more than 200 clock reads and about one sleep for each packet of a
bandwidth estimator, Korniichuk 2017 counts 187 and one. Whether that is so only those
programs could tell; what it would allow is measured here, in two runs of a quarter of a
minute together: packets a second = 1 / (reads * read cost + wake-up latency), once with the
standard functions (clock_gettime, usleep) and once with precise ones (the counter,
Tompion's hybrid sleep). Medians within each block; the interval of the median over blocks
comes from order statistics. `--write` writes the evidence that the register of claims
names; record it on a machine that does nothing else.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from scipy import stats

ROOT = Path(__file__).resolve().parents[1]
EVIDENCE = ROOT / "claims/evidence"
PACKET_BIT = 8 * 1500
CONFIDENCE = 0.95
COMMAND = "python benches/packet_rate.py --write"
PAPERS = {"kirova-2019": 200, "korniichuk-2017": 187}
WAYS = {
    "standard functions": ("clock-monotonic", "usleep"),
    "precise functions": ("rdtscp", "tompion-hybrid"),
}


def measure(tompion, probe, directory, *options):
    """Records a run, and returns it with the hash of its `run.json`."""
    command = [str(tompion), "measure", probe, "--loads", "idle", "--quiet", "--out", str(directory)]
    subprocess.run([*command, *map(str, options)], check=True, stdin=subprocess.DEVNULL)
    text = (directory / "run.json").read_bytes()
    return json.loads(text), hashlib.sha256(text).hexdigest()


def medians(run, figure, **factors):
    """The median of each block in the cell with these factors."""
    found = {}
    for trial in run["trials"]:
        if all(trial["factors"].get(f) == level for f, level in factors.items()):
            found[trial["block"]] = trial["summary"][figure]["median_ns"]
    return found


def rates(reads, run_reads, run_wakes, way):
    """Packets a second, block by block."""
    clock, sleep = WAYS[way]
    slack = {"timer-slack": "default"} if sleep == "usleep" else {}
    costs = medians(run_reads, "batched", method=clock)
    lates = medians(run_wakes, "measured", method=sleep, **slack)
    both = sorted(costs.keys() & lates.keys())
    return sorted(1e9 / (reads * costs[b] + lates[b]) for b in both)


def interval(values):
    """The interval of the median by order statistics, with what confidence it has."""
    n = len(values)
    for k in range(n // 2, 0, -1):
        covered = 1 - 2 * stats.binom.cdf(k - 1, n, 0.5)
        if covered >= CONFIDENCE:
            return values[k - 1], values[n - k], covered
    sys.exit(f"packet_rate: {n} blocks are too few for an interval; 6 or more are needed")


def six(x):
    """Six significant digits, as all evidence has."""
    return float(f"{x:.5e}")


def finding(paper, reads, runs, load):
    effects, told = [], []
    for way in WAYS:
        values = rates(reads, *runs, way)
        low, high, covered = interval(values)
        middle = statistics.median(values)
        effects.append(
            {
                "what": f"packets a second that {reads} reads and one sleep allow, {way}",
                "value": six(middle),
                "unit": "1/s",
                "interval": {"low": six(low), "high": six(high), "confidence": six(covered)},
                "method": "median over blocks, order statistics",
            }
        )
        rate = f"{middle:,.0f} a second ({middle * PACKET_BIT / 1e9:.2f} Gbit/s at 1500 bytes)"
        told.append(f"{rate} with {way}")
    return {
        "claim": f"{paper}/reads-per-packet",
        "outcome": "not-decidable",
        "because": "The count is the program's and was not checked. On this machine, with a load "
        f"average of {load:.1f} from other work, {reads} reads and one sleep a packet would allow "
        f"{' and '.join(told)}.",
        "effects": effects,
    }


def machine(run):
    e = run["environment"]
    v = e["virtualization"]
    names = [n for n in (v["hypervisor"], v["machine_monitor"]) if n]
    return {
        "cpu": f"{e['machine']['cpu_model']}, {e['machine']['cpus_online']} CPUs",
        "virtualization": ", ".join(names) or "none",
        "kernel": e["kernel"]["release"],
        "clocksource": e["clock"]["clocksource"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write claims/evidence")
    parser.add_argument("--blocks", type=int, default=24, help="blocks of each run [default: 24]")
    parser.add_argument("--tompion", type=Path, default=ROOT / "target/release/tompion")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as directory:
        directory = Path(directory)
        blocks = ("--blocks", options.blocks)
        reads = ("--methods", "rdtscp,clock-monotonic", "--samples", 200_000)
        wakes = ("--methods", "usleep,tompion-hybrid", "--targets", "100us", "--samples", 8000)
        recorded = [
            measure(options.tompion, "read-cost", directory / "reads", *reads, *blocks),
            measure(options.tompion, "wake-up", directory / "wakes", *wakes, *blocks),
        ]
    runs = [run for run, _ in recorded]
    for paper, count in PAPERS.items():
        found = finding(paper, count, runs, load)
        evidence = {
            "schema_version": 1,
            "paper": paper,
            "tompion_version": runs[0]["tool"].split()[-1],
            "command": COMMAND,
            "source": {
                "kind": "runs",
                "machine": machine(runs[0]),
                "emulated": bool(runs[0]["environment"]["virtualization"]["emulated"]),
                "runs": [
                    {"started_at": run["started_at"], "run_json_sha256": sha}
                    for run, sha in recorded
                ],
            },
            "findings": [found],
        }
        print(f"{found['claim']}: {found['because']}")
        for effect in found["effects"]:
            print(f"    {effect['what']}: {effect['value']:,.0f} [{effect['interval']}]")
        if options.write:
            path = EVIDENCE / f"{paper}-packet-rate.json"
            path.write_text(json.dumps(evidence, indent=2) + "\n")


if __name__ == "__main__":
    main()
