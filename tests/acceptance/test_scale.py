"""Runs and labs as large as honest ones get: nothing of them is refused, and what they take is
told. `make test` reads smaller ones (test_other_writers, test_lab)."""

import contextlib
import itertools
import json
import os
import subprocess
import threading
import time
from collections.abc import Sequence

import numpy
import pytest
from conftest import TOMPION, tompion
from run_generator import Trial, write_run
from test_lab import left, record, write

ROWS, TRIALS = 10**6, 100
METHODS = ("clock-nanosleep-abs", "usleep")
LOADS = ("idle", "cpu")


class Trials(Sequence):
    """Latencies with a heavy tail in whole nanoseconds, each trial made when it is asked for."""

    def __len__(self):
        return TRIALS

    def __getitem__(self, number):
        if not 0 <= number < TRIALS:
            raise IndexError(number)
        return Trial(self.factors(number), at_ns=self.ends(number), value_ps=self.values(number), block=number // 4)

    def factors(self, number):
        load, method = list(itertools.product(LOADS, METHODS))[number % 4]
        return {"probe": "wake-up", "method": method, "target": "100 µs", "timer-slack": "1 ns", "load": load}

    def values(self, number):
        draw = numpy.random.default_rng(number)
        values = draw.lognormal(numpy.log(55e3), 0.1, ROWS)
        late = draw.random(ROWS) < 0.01
        values[late] += draw.pareto(1.1, late.sum()) * 20e3
        return numpy.rint(values.clip(max=1e9)).astype(numpy.int64) * 1000

    def ends(self, number):
        return numpy.cumsum(self.values(number) // 1000 + 100_000)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    trials = Trials()
    return write_run(tmp_path_factory.mktemp("large") / "run", trials), trials


def cost(*arguments):
    """(What it printed, CPU seconds, peak memory in MB)."""
    before = os.times()
    process = subprocess.Popen([TOMPION, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    printed, most_kb = [], 0
    reading = threading.Thread(target=lambda: printed.extend(process.communicate()))
    with open(f"/proc/{process.pid}/status") as status:
        reading.start()
        while reading.is_alive():
            with contextlib.suppress(ProcessLookupError):
                status.seek(0)
                lines = status.read().splitlines()
                most_kb = max([most_kb, *(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))])
            reading.join(0.02)
    after = os.times()
    assert process.returncode == 0, printed[1].decode()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return printed[0].decode(), cpu, most_kb / 1e3


def test_a_run_of_a_hundred_million_rows_is_read(large, tmp_path, capsys):
    run, trials = large
    told = []
    for arguments in (["report", run, "--json"], ["report", run, "--html", tmp_path / "page.html"],
                      ["compare", run, "--by", "load"], ["compare", run, "--by", "method", "--json"]):
        printed, cpu, mb = cost(*arguments)
        told.append(f"{' '.join(map(str, arguments))}: {cpu:.1f} s of CPU time, {mb:.0f} MB")
        if arguments[0] == "report" and arguments[2] == "--json":
            cells = json.loads(printed)["cells"]
    with capsys.disabled():
        print("", *told, sep="\n")
    assert len(cells) == 4
    for first, cell in enumerate(sorted(cells, key=lambda c: (c["factors"]["load"] == "cpu", c["factors"]["method"]))):
        values = numpy.concatenate([trials.values(number) for number in range(first, TRIALS, 4)]) / 1000
        assert cell["factors"] == trials.factors(first)
        assert cell["measured"]["samples"] == len(values)
        for name, q in (("median_ns", 0.5), ("p99_99_ns", 0.9999), ("max_ns", 1)):
            assert cell["measured"][name] == pytest.approx(numpy.quantile(values, q), rel=1e-12)


PLAN = """
name = "two hundred cells"
seed = 3
replicates = 10
loads = ["idle", "memory"]
time = "60ms"
[[platforms]]
kind = "host"
"""
PROBE = """
[[probes]]
kind = "wake-up"
methods = ["{method}"]
targets = ["{target}"]
"""


def test_a_lab_of_two_hundred_cells_is_measured_and_read(tmp_path, capsys):
    methods = ("usleep", "nanosleep", "timerfd", "ppoll", "clock-nanosleep-abs")
    probes = itertools.product(methods, ("100us", "1ms"))
    plan = PLAN + "".join(PROBE.format(method=method, target=target) for method, target in probes)
    out = tmp_path / "run"
    began = time.monotonic()
    tompion("lab", "run", write(tmp_path, plan), "--out", out, "--quiet", timeout=1500, check=0)
    run = record(out)
    assert run["status"] == "complete" and len(run["trials"]) == 200 and left(out) == []
    printed, cpu, mb = cost("report", out, "--json")
    assert len(json.loads(printed)["cells"]) == 20
    cost("compare", out, "--by", "load")
    cost("lab", "summary", out)
    with capsys.disabled():
        print(f"\n200 cells in {time.monotonic() - began:.0f} s; report: {cpu:.1f} s of CPU time, {mb:.0f} MB")
