"""Runs and labs as large as honest ones get: nothing of them is refused, and what they take is
told. `make test` reads smaller ones (test_other_writers, test_lab)."""

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import threading
import time

import numpy
import pytest
from conftest import TOMPION, tompion
from large_run import TRIALS, Trials
from run_generator import write_run
from test_lab import left, record, write

STEPS_PS = {"nanoseconds": 1000, "picoseconds": 1}


@pytest.fixture(scope="module", params=STEPS_PS)
def large(request, tmp_path_factory):
    """Two runs that differ by chance, and what the first was made of."""
    directory, step_ps = tmp_path_factory.mktemp(request.param), STEPS_PS[request.param]
    trials = Trials(step_ps)
    yield write_run(directory / "a", trials), write_run(directory / "b", Trials(step_ps, seed=1)), trials
    shutil.rmtree(directory)


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
    """Within 15 s of CPU time and 256 MB, whatever its resolution; two are compared within a second."""
    run, other, trials = large
    told = []
    for arguments in (["report", run, "--json"], ["report", run, "--html", tmp_path / "page.html"],
                      ["compare", run, "--by", "load"], ["compare", run, other, "--json"]):
        printed, cpu, mb = cost(*arguments)
        told.append(f"{' '.join(map(str, arguments))}: {cpu:.1f} s of CPU time, {mb:.0f} MB")
        assert cpu < (15 if arguments[0] == "report" else 1) and mb < 256, told[-1]
        if arguments[0] == "report" and arguments[2] == "--json":
            cells = json.loads(printed)["cells"]
    with capsys.disabled():
        print("", *told, sep="\n")
    assert len(json.loads(printed)["comparisons"]) == 8
    assert len(cells) == 4
    # Beyond 2^18 distinct values of a trial those within 2^-12 are taken together.
    error = 1e-12 if trials.step_ps == 1000 else 2**-12
    for first, cell in enumerate(sorted(cells, key=lambda c: (c["factors"]["load"] == "cpu", c["factors"]["method"]))):
        values = numpy.concatenate([trials.values(number) for number in range(first, TRIALS, 4)]) / 1000
        assert cell["factors"] == trials.factors(first)
        assert cell["measured"]["samples"] == len(values)
        for name, q in (("median_ns", 0.5), ("p99_99_ns", 0.9999)):
            assert cell["measured"][name] == pytest.approx(numpy.quantile(values, q), rel=error)
        assert cell["measured"]["max_ns"] == pytest.approx(values.max(), rel=1e-12)


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
