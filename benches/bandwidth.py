"""How far off `tompion bandwidth` is, over paths of the testbed whose truth is known.

    python benches/bandwidth.py [--estimates 30] [--program FILE] [--quick]

Each cell is a link, what others send over it, and a method with its timers; cells go in random order. The truth
is the link's rate less the others', which come at equal intervals, as IP has it. Prints for each cell how many
estimates ended by a number, their error in % of the capacity (median of the sizes, and the size that 90 % keep
to), how often their interval holds the truth, what they took, and how the others ended. That the relay was late
meanwhile is told by the testbed, and makes all estimates of that run void: it is repeated, and counted.
"""

import argparse
import json
import random
import statistics
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOMPION = ROOT / "target/release/tompion"
# Of a frame, IP has all but the header of Ethernet.
HEADER = 14
LINKS = [(300, cross) for cross in range(0, 300, 50)] + [(1_000, cross) for cross in (0, 300, 500)]
WAYS = [("tompion", "precise")]
OTHER_WAYS = [("tompion", "system"), ("yaz", "precise"), ("yaz", "system"), ("kite2", "precise"), ("chirp", "precise")]
OTHER_LINKS = [(300, 100)]
TRIES = 4
# A relay that is late more often holds up what is measured.
MOST_FALSE = 25


def estimates(program, rate, cross, method, timers, count, rtt):
    """What they came to, and how often the relay was late."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "told.json"
        ask = f"{program} bandwidth $FAR_END --count {count} --method {method} --timers {timers} --max-time 30s --json >{out}"
        far_end = f"exec {program} reflect --listen 0.0.0.0:862 --quiet"
        others = ["--cross", f"{cross}M"] if cross else []
        command = [program, "testbed", "--rtt", rtt, "--rate", f"{rate}M", *others, "--far-end", far_end, "--", "sh", "-c", ask]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
        late = sum(": false at " in line for line in done.stderr.splitlines())
        try:
            return json.loads(out.read_text())["estimates"], late
        except json.JSONDecodeError:
            return [], late


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def row(rate, cross, size, ended):
    of_ip = size / (size + HEADER)
    truth, capacity = (rate - cross) * 1e6 * of_ip, rate * 1e6 * of_ip
    found = [one["ending"]["estimate"] for one in ended if one["ended"] == "estimate"]
    named = Counter(one["ended"] for one in ended if one["ended"] != "estimate")
    if not found:
        return f"{0:>3} of {len(ended):<3} {'':>48} {dict(named) or ''}"
    off = [abs(one["available_bps"] - truth) / capacity * 100 for one in found]
    held = [one["interval_bps"][0] <= truth <= one["interval_bps"][1] for one in found if one["interval_bps"]]
    width = [(high - low) / capacity * 100 for low, high in (one["interval_bps"] for one in found if one["interval_bps"])]
    holds = f"{sum(held) / len(held):>6.0%} {statistics.median(width):>6.2f}" if held else f"{'':>13}"
    took = statistics.median(one["lasts_ns"] for one in ended) / 1e9
    sent = statistics.median(one["bytes"] for one in ended) / 1e6
    numbers = f"{statistics.median(off):>7.2f} {quantile(off, 0.9):>7.2f} {max(off):>7.2f} {holds} {took:>6.2f} {sent:>5.2f}"
    return f"{len(found):>3} of {len(ended):<3} {numbers}   {dict(named) or ''}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--estimates", type=int, default=30)
    parser.add_argument("--program", type=Path, default=TOMPION)
    parser.add_argument("--rtt", default="2ms")
    parser.add_argument("--quick", action="store_true", help="the default method alone, ten estimates")
    chosen = parser.parse_args()
    cells = [(link, way) for link in LINKS for way in WAYS]
    if chosen.quick:
        chosen.estimates = 10
    else:
        cells += [(link, way) for link in OTHER_LINKS for way in OTHER_WAYS]
    random.Random(1).shuffle(cells)
    rows = {}
    for (rate, cross), (method, timers) in cells:
        void = 0
        for _ in range(TRIES):
            ended, late = estimates(chosen.program, rate, cross, method, timers, chosen.estimates, chosen.rtt)
            if ended and late <= MOST_FALSE:
                break
            void += 1
        rows[rate, cross, method, timers] = row(rate, cross, 1_500, ended) + (f"   {void} void" if void else "")
    print("link  cross  method   timers    numbers      error in % of capacity       interval       s    MB")
    print("Mbit/s                                       median    90 %    most  holds  width")
    for (rate, cross, method, timers), text in sorted(rows.items()):
        print(f"{rate:>5} {cross:>5}  {method:<8} {timers:<8} {text}")


if __name__ == "__main__":
    main()
