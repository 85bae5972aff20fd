"""Statistics of many raw samples, ours beside SciPy + scikit-posthocs.

    python benches/stats.py [--rounds N] [--check] [--json]

Ten groups of 10^6 samples like wake-up latencies (heavy-tailed, in ps rounded to ns, thus
with ties) are summarised (count, mean, standard deviation, quantiles), turned into CCDFs and
compared by Kruskal-Wallis and Dunn (Holm); counting the raw samples is part of it. Each side
runs in a process of its own that first loads the input; time and peak memory count from
there. Sides take turns in random order, and must find the same figures. Ours runs on one
thread; two threads stand beside. Then our own cost at 10^7 and 10^8 samples in all.
Ratios are geometric means with 95 % intervals over rounds. Limits: at least 150 times
faster, in at most a fifth of the peak memory. --check: exit status 1 where one is missed.
"""

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[1]
OURS = ROOT / "target/release/examples/bench_stats"
GROUPS = 10
FASTER = 150.0
SMALLER = 5.0
QUANTILES = [0.5, 0.9, 0.99, 0.999]


def generate(path, per_group):
    """Groups whose medians differ by some 0.01 %, written one after another."""
    draw = numpy.random.default_rng(20260701)
    with open(path, "wb") as file:
        for group in range(GROUPS):
            body = draw.lognormal(math.log(55e6 + 5e3 * group), 0.1, per_group)
            late = draw.random(per_group) < 0.01
            body[late] += draw.pareto(1.1, late.sum()) * 20e6
            numpy.rint(body.clip(max=1e15) / 1000).astype("int64").tofile(file)


def peer(path):
    """The same by SciPy and scikit-posthocs; runs in a process of its own."""
    import scikit_posthocs
    from scipy import stats

    values = numpy.fromfile(path, "int64")
    groups = numpy.split(values, GROUPS)
    # Once on a little, so that no import and no first call is timed.
    analyse([g[:100] for g in groups], stats, scikit_posthocs)
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    started = time.perf_counter()
    results = analyse(groups, stats, scikit_posthocs)
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "peak_bytes": memory("VmHWM") - before, "results": results}))


def analyse(groups, stats, scikit_posthocs):
    summaries = []
    for group in groups:
        distinct, counts = numpy.unique(group, return_counts=True)
        ccdf = counts[::-1].cumsum()[::-1] / len(group)
        quantiles = numpy.quantile(group, QUANTILES).tolist()
        summaries.append(
            [len(group), group.mean(), group.std(ddof=1), quantiles, len(distinct), ccdf.mean()]
        )
    kruskal = stats.kruskal(*groups)
    table = scikit_posthocs.posthoc_dunn(groups, p_adjust="holm").to_numpy()
    dunn = table[numpy.triu_indices(len(groups), 1)].tolist()
    return {"summaries": summaries, "h": kruskal.statistic, "p": kruskal.pvalue, "dunn": dunn}


def memory(line):
    """A line of this process's memory, in bytes."""
    for row in Path("/proc/self/status").read_text().splitlines():
        if row.startswith(line + ":"):
            return int(row.split()[1]) * 1024
    raise LookupError(line)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"benches/stats.py: {' '.join(map(str, command))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def ours(path, threads=1):
    return run([OURS, path, str(GROUPS), str(threads)])


def theirs(path):
    return run([sys.executable, __file__, "--peer", path])


def same(a, b, where="results"):
    """Stops unless both sides found the same figures."""
    if isinstance(a, dict):
        for key in a:
            same(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, list):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{where}[{i}]")
    elif not math.isclose(a, b, rel_tol=1e-7, abs_tol=1e-300):
        sys.exit(f"benches/stats.py: the sides differ: {where}: {a} and {b}")


def interval(ratios):
    """The geometric mean and its 95 % interval."""
    from scipy import stats

    logs = numpy.log(ratios)
    half = stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / math.sqrt(len(logs))
    return {name: math.exp(logs.mean() + side * half) for name, side in (("ratio", 0), ("low", -1), ("high", 1))}


def judge(name, ratios, limit):
    """A target is missed when the mean ratio is below its limit."""
    found = interval(ratios)
    return {"what": name, **found, "limit": limit, "met": found["ratio"] >= limit}


def compare(path, rounds):
    order = random.Random()
    sides = {
        "SciPy + scikit-posthocs": lambda: theirs(path),
        "ours": lambda: ours(path),
        "ours, two threads": lambda: ours(path, 2),
    }
    measured = {name: [] for name in sides}
    for _ in range(rounds):
        turn = list(sides)
        order.shuffle(turn)
        for name in turn:
            measured[name].append(sides[name]())
    peers, one, two = measured.values()
    for side in (one, two):
        same(side[0]["results"], peers[0]["results"])

    def ratios(side, key):
        return [theirs[key] / ours[key] for theirs, ours in zip(peers, side)]

    verdicts = [
        judge("times faster", ratios(one, "seconds"), FASTER),
        judge("times less memory", ratios(one, "peak_bytes"), SMALLER),
        {"what": "times faster, two threads", **interval(ratios(two, "seconds"))},
        {"what": "times less memory, two threads", **interval(ratios(two, "peak_bytes"))},
    ]
    medians = {
        name: {key: float(numpy.median([m[key] for m in runs])) for key in ("seconds", "peak_bytes")}
        for name, runs in measured.items()
    }
    return medians, verdicts


def own_cost(directory, rounds):
    """Seconds and peak bytes of ours alone, the fastest of the rounds."""
    rows = {}
    for per_group in (10**6, 10**7):
        path = Path(directory, "samples")
        generate(path, per_group)
        for threads in (1, 2):
            best = min((ours(path, threads) for _ in range(rounds)), key=lambda m: m["seconds"])
            best.pop("results")
            rows[f"{GROUPS * per_group:.0e} samples, {threads} thread{'s' * (threads - 1)}"] = best
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="exit status 1 where a limit is missed")
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        return peer(options.peer)
    if options.rounds < 2:
        parser.error("--rounds must be at least 2")
    with tempfile.TemporaryDirectory(prefix="tompion-bench-") as directory:
        path = Path(directory, "samples")
        generate(path, 10**6)
        medians, verdicts = compare(path, options.rounds)
        cost = own_cost(directory, min(options.rounds, 3))
    if options.json:
        print(json.dumps({"medians": medians, "verdicts": verdicts, "own_cost": cost}, indent=2))
    else:
        show(options.rounds, medians, verdicts, cost)
    return int(options.check and not all(v.get("met", True) for v in verdicts))


def show(rounds, medians, verdicts, cost):
    print(f"{GROUPS} groups of 10^6 samples, {rounds} rounds; peak memory above the loaded input")
    for name, m in medians.items():
        print(f"  {name:26} {m['seconds']:9.3f} s {m['peak_bytes'] / 2**20:9.1f} MiB")
    for v in verdicts:
        limit = f"  limit {v['limit']:g}: {'met' if v['met'] else 'missed'}" if "limit" in v else ""
        print(f"  {v['ratio']:7.1f} {v['what']} [{v['low']:.1f}, {v['high']:.1f}]{limit}")
    print("our own cost, counting included")
    for name, m in cost.items():
        print(
            f"  {name:26} {m['seconds']:9.3f} s (counting {m['counting_s']:.3f}) "
            f"{m['peak_bytes'] / 2**20:9.1f} MiB, {m['distinct']} distinct values"
        )


if __name__ == "__main__":
    sys.exit(main())
