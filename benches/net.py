"""Round trips beside those of others, and beside what a tap on the path saw.

    python benches/net.py [--quick] [--blocks N] [--json]

Sender, router and far end are namespaces (`tompion testbed --bottleneck kernel`); the truth of each probe is what a
tap on the router's device towards the sender saw of it, so that the far end's stay falls out. Six blocks; in each,
all conditions in random order, and in each of these all programs in random order with 400 probes, one each 10 ms.
Of each run: the 99th percentile of the error. Ratios are taken within blocks, intervals over blocks (Student's t of
the logarithms, 95 %). Then 50 000 probes a second by Tompion, all stamps, and by irtt, for 10 s, three times. At
last a QEMU guest's round trips to its host, against a tap on the host's side.

One kernel stamps all of it on virtual Ethernet, which flatters kernel stamps: no device's delay is between them and
the tap. `--quick`: three blocks of 150 probes, and once 3 s. Exit status 0: all is reached, 2: something is missed,
3: something cannot be told.
"""

import argparse
import contextlib
import json
import math
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import net_guest
import net_peers
import net_tap
from net_peers import PEERS, PORTS, TOMPION
from scipy import stats

# The way out is the kernel's, and there is no relay on the way home.
PLAN = "[outward.bottleneck]\nrate_bps = 300_000_000\nlimit = { bytes = 2_000_000 }\n"
QUEUE = ("tbf", "rate", "50mbit", "burst", 15140, "limit", 262144)
OURS, OURS_BY_USER = "tompion, kernel stamps", "tompion, user stamps"
AT_REST, BUSY, QUEUED = "at rest", "beside cpu on all CPUs", "own device's queue full"
# By condition and program: how many times our error theirs has to be.
TO_REACH = {
    BUSY: {"ping": 5, "irtt": 20, "sockperf": 20, "stamp-suite": 20},
    QUEUED: {name: 50 for name in ("ping", "irtt", "sockperf", "stamp-suite", "fping")},
}
PER_SECOND = 50_000


def words(command):
    return [str(word) for word in command]


class Testbed:
    """A testbed that waits, and how to be at its places."""

    TRIES = 3

    def __init__(self, directory):
        self.plan = Path(directory, "plan.toml")
        self.plan.write_text(PLAN)

    def __enter__(self):
        command = words([TOMPION, "testbed", "--bottleneck", "kernel", "--plan", self.plan, "--quiet"])
        for _ in range(self.TRIES):
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            lines = [self.process.stdout.readline() for _ in range(3)]
            time.sleep(0.5)
            if all(lines) and self.process.poll() is None:
                break
            # Busy as it was, the path was not what it was to be.
            self.process.wait()
        else:
            sys.exit("benches/net.py: no path")
        self.places = {}
        for line in lines:
            name = "far end" if line.startswith("far end") else line.split()[0]
            self.places[name] = re.search(r"--net=(\S+)", line)[1]
        self.sender, self.far = (re.search(r"198\.18\.\d+\.\d+", line)[0] for line in lines[:2])
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    def at(self, place, command):
        return words(["nsenter", f"--net={self.places[place]}", *command])

    def tap(self):
        return net_tap.Tap("rs", self.places["router"])


@contextlib.contextmanager
def running(command):
    child = subprocess.Popen(words(command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield child
    finally:
        child.send_signal(signal.SIGINT)
        try:
            child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


@contextlib.contextmanager
def condition(path, name):
    if name == BUSY:
        with running([TOMPION, "load", "cpu", "--quiet"]):
            time.sleep(0.5)
            yield
    elif name == QUEUED:
        subprocess.run(path.at("sender", ["tc", "qdisc", "replace", "dev", "s0", "root", *QUEUE]), check=True)
        try:
            with running(path.at("sender", net_peers.fill(path.far))):
                time.sleep(0.5)
                yield
        finally:
            subprocess.run(path.at("sender", ["tc", "qdisc", "del", "dev", "s0", "root"]), check=True)
    else:
        yield


def ask(path, peer, count):
    """The errors of one run by figure, in ns, and how many probes are left out of them."""
    with tempfile.NamedTemporaryFile("r") as log, path.tap() as tap:
        command = path.at("sender", peer.asks(path.sender, path.far, count, log.name))
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        time.sleep(0.1)
        written = log.read()
    found = {}
    for name, errors, left_out in peer.errors(done.stdout, written, tap.frames):
        if tap.dropped or len(errors) < count / 2:
            sys.exit(f"benches/net.py: {name}: {len(errors)} of {count} probes, the tap dropped {tap.dropped}: {done.stderr}")
        found[name] = net_peers.error(errors) | {"left_out": left_out}
    return found


def errors(path, blocks, count, order):
    """What was found, by condition and figure: a list of blocks."""
    found = {name: {} for name in (AT_REST, BUSY, QUEUED)}
    for block in range(blocks):
        for name in order.sample(list(found), len(found)):
            with condition(path, name):
                for peer in order.sample(PEERS, len(PEERS)):
                    for figure, errors in ask(path, peer, count).items():
                        found[name].setdefault(figure, []).append(errors)
        print(f"block {block + 1} of {blocks}", file=sys.stderr, flush=True)
    return found


def interval(ratios):
    """The geometric mean and its 95 % interval."""
    logs = [math.log(r) for r in ratios]
    half = stats.t.ppf(0.975, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    mean = statistics.fmean(logs)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def verdict(low, high, limit):
    return "reached" if low >= limit else "missed" if high < limit else "cannot be told"


def compared(found):
    """A row for each condition and figure, with how many times our error it has and what is to be reached."""
    rows = []
    for name, figures in found.items():

        def ratio(theirs, ours):
            pairs = zip(figures[theirs], figures[ours], strict=True)
            return interval([t["p99_ns"] / o["p99_ns"] for t, o in pairs])

        for figure, blocks in figures.items():
            row = {
                "condition": name,
                "figure": figure,
                "median_us": statistics.median(b["median_ns"] for b in blocks) / 1e3,
                "p99_us": statistics.median(b["p99_ns"] for b in blocks) / 1e3,
                "probes": sum(b["probes"] for b in blocks),
                "left_out": sum(b["left_out"] for b in blocks),
            }
            limit = TO_REACH.get(name, {}).get(figure)
            if figure == OURS_BY_USER:
                # Against irtt, which stamps where we do then.
                row["what"], limit = "irtt's / ours", 1
                row["ratio"], row["low"], row["high"] = ratio("irtt", figure)
            elif figure != OURS:
                row["what"] = "theirs / ours"
                row["ratio"], row["low"], row["high"] = ratio(figure, OURS)
            if limit is not None:
                row |= {"to_reach": limit, "verdict": verdict(row["low"], row["high"], limit)}
            rows.append(row)
    return rows


def used(command):
    """What a command printed, and the CPU time of it and its children in seconds."""
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return out.read(), usage.ru_utime + usage.ru_stime


def told_of_rate(text):
    """Of `tompion ping --json`: probes, how many of them were lost, and stamps that are missing."""
    told = json.loads(text[text.index("{") :])
    missing = sum(row["count"] for row in told["missing"])
    missing += sum(told["answered"] - row["samples"] for row in told["round_trips"])
    return told["sent"], told["probes"] - told["answered"], missing


def told_by_irtt(text):
    """Probes that it sent, and how many came back."""
    sent, received = re.search(r"packets sent/received[^:]*: (\d+)/(\d+)", text).groups()
    return int(sent), int(received)


def at_rate(path, times, seconds, directory, order):
    """Probes at a high rate: rows of who, how many were sent and lost, and CPU microseconds a probe."""
    key = Path(directory, "key")
    key.write_text("a key of more than sixteen bytes\n")
    key.chmod(0o600)
    # Strangers get 20 000 a second in all.
    port = PORTS["tompion"] + 10
    far = [TOMPION, "reflect", "--listen", f"{path.far}:{port}", "--key", key, "--quiet"]
    interval = 1_000_000 // PER_SECOND
    ours = [TOMPION, "ping", path.far, "--port", port, "--key", key, "--json"]
    ours += ["--interval", f"{interval}us", "--count", PER_SECOND * seconds]
    irtt = ["irtt", "client", "-q", "-i", f"{interval}us", "-d", f"{seconds}s", f"{path.far}:{PORTS['irtt']}"]
    rows = []
    with running(path.at("far end", far)):
        time.sleep(0.5)
        for _ in range(times):
            for name in order.sample(["tompion", "irtt"], 2):
                text, cpu = used(path.at("sender", ours if name == "tompion" else irtt))
                try:
                    if name == "tompion":
                        sent, lost, missing = told_of_rate(text)
                    else:
                        sent, received = told_by_irtt(text)
                        lost, missing = sent - received, None
                except (ValueError, AttributeError):
                    sys.exit(f"benches/net.py: {name}: {text.strip()[-500:]}")
                row = {"figure": name, "asked": PER_SECOND * seconds, "sent": sent, "lost": lost, "missing": missing}
                rows.append(row | {"cpu_us": 1e6 * cpu / max(1, sent)})
    return rows


def is_held(row):
    """All that was asked for was sent, and nothing is missing."""
    return row["sent"] == row["asked"] and row["lost"] == 0 == row["missing"]


def show(rows, rates, guest, no_guest):
    for name in dict.fromkeys(row["condition"] for row in rows):
        print(f"\nError of the round trip, {name}, in us")
        print(f"  {'':24} {'median':>9} {'p99':>9} {'probes':>7}  times the error [95 %]")
        for row in sorted((r for r in rows if r["condition"] == name), key=lambda r: r["p99_us"]):
            line = f"  {row['figure']:24} {row['median_us']:9.1f} {row['p99_us']:9.1f} {row['probes']:7}"
            if "ratio" in row:
                line += f"  {row['what']} {row['ratio']:.1f} [{row['low']:.1f}, {row['high']:.1f}]"
            if "to_reach" in row:
                line += f"  to reach {row['to_reach']}: {row['verdict']}"
            print(line.rstrip())
    print(f"\n{PER_SECOND:,} probes a second")
    for row in rates:
        line = f"  {row['figure']:10} {row['sent']:>8} of {row['asked']} sent, {row['lost']} lost"
        if row["missing"] is not None:
            line += f", {row['missing']} stamps missing: {'reached' if is_held(row) else 'missed'}"
        print(f"{line}, CPU {row['cpu_us']:.2f} us a probe")
    print(f"\nError of a guest's round trips, in us{f': NOT MEASURED: {no_guest}' if no_guest else ''}")
    for row in guest:
        figures = f"median {row['median_ns'] / 1e3:.1f}, p99 {row['p99_ns'] / 1e3:.1f} of {row['probes']} probes"
        print(f"  {row['figure']:24} {row['condition']}: {figures}")


def status(rows, rates):
    verdicts = {row.get("verdict") for row in rows}
    if not all(is_held(row) for row in rates if row["figure"] == "tompion"):
        verdicts.add("missed")
    return 2 if "missed" in verdicts else 3 if "cannot be told" in verdicts else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three blocks of 150 probes, and once 3 s")
    parser.add_argument("--blocks", type=int, help="blocks [default: 6; 3 with --quick]")
    parser.add_argument("--json", action="store_true", help="print as JSON")
    options = parser.parse_args()
    blocks = options.blocks or (3 if options.quick else 6)
    if blocks < 3:
        parser.error("--blocks must be at least 3")
    if os.geteuid() != 0:
        sys.exit("benches/net.py: network namespaces take root")
    count, times, seconds, of_guest = (150, 1, 3, 200) if options.quick else (400, 3, 10, 2000)
    order = random.Random()
    with (
        tempfile.TemporaryDirectory(prefix="tompion-bench-") as directory,
        Testbed(directory) as path,
        contextlib.ExitStack() as far,
    ):
        for answers in [net_peers.sink, *(peer.answers for peer in PEERS if peer.answers)]:
            far.enter_context(running(path.at("far end", answers(path.far))))
        time.sleep(1)
        rows = compared(errors(path, blocks, count, order))
        rates = at_rate(path, times, seconds, directory, order)
    guest, no_guest = net_guest.errors(of_guest)
    if options.json:
        print(json.dumps({"errors": rows, "rates": rates, "guest": guest, "no_guest": no_guest}, indent=2))
    else:
        show(rows, rates, guest, no_guest)
    return status(rows, rates)


if __name__ == "__main__":
    sys.exit(main())
