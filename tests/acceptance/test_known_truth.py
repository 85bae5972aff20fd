"""Injected causes of known size come out of a real run with that size."""

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import TOMPION, load_workers, tompion
from heavy import polars
from runs import table_of

MS = 1_000_000


def start(*arguments):
    return subprocess.Popen(
        [str(TOMPION), "check", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )


def stopped_run(directory, method):
    """One trial of 1.5 s at 1 ms; stopped for about 50 ms in its middle."""
    process = start(
        *("--out", directory, "--loads", "idle", "--methods", method, "--targets", "1ms"),
        *("--slack", "1ns", "--blocks", 1, "--duration", "1500ms", "--quiet"),
    )
    while not (directory / "run.json").exists():
        time.sleep(0.01)
    time.sleep(0.9)
    before = time.monotonic_ns()
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGCONT)
    stopped = time.monotonic_ns() - before
    process.communicate(timeout=30)
    assert process.returncode == 0
    (trial,) = json.loads((directory / "run.json").read_text())["trials"]
    evidence = trial["observation"]["evidence"]
    had = {item["name"] for item in evidence if item["missing"] is None}
    sees_stops = "turns that the threads had to wait for" in had
    return table_of(directory, trial), stopped, sees_stops


@pytest.mark.parametrize("method", ["nanosleep", "usleep", "clock-nanosleep-abs", "timerfd"])
def test_a_stopped_process_shows_as_one_row_of_that_length(tmp_path, method):
    evidence = []
    # The machine may stall us on its own within the same window: up to three
    # tries, each told.
    for attempt in range(3):
        rows, stopped, sees_stops = stopped_run(tmp_path / str(attempt), method)
        # Between S - d - 1 ms and S + 2 ms, with d = 1 ms.
        low, high = stopped - 2 * MS, stopped + 2 * MS
        late = rows.filter(polars.col("value_ps") / 1000 > low - 10 * MS)
        values = (late["value_ps"] / 1000).to_list()
        missed = late["missed"].to_list()
        evidence.append(f"{method}: stopped {stopped} ns, rows {values}, missed {missed}")
        on_grid = method in ("clock-nanosleep-abs", "timerfd")
        if len(values) != 1 or not low <= values[0] <= high:
            continue
        if sees_stops:
            # By the moment of the stop, whatever else went on; no window around it.
            assert late["mark"].to_list() == ["stopped"], evidence[-1]
            marked = rows.filter(polars.col("mark") == "stopped")
            assert len(marked) <= 2, evidence[-1]
        if on_grid:
            # What the row's own lateness says, hence S/d give or take one.
            assert missed[0] == int(values[0] // MS), evidence[-1]
            if abs(missed[0] - stopped // MS) > 1:
                continue
        else:
            assert missed == [0], evidence[-1]
        print(evidence[-1])
        return
    pytest.fail("\n".join(evidence))


def test_kill_9_at_random_moments_loses_at_most_the_trial_under_way(tmp_path):
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    moments = random.Random(seed)
    recovered = 0
    for i in range(100 if os.environ.get("TOMPION_LONG") else 20):
        directory = tmp_path / f"run{i}"
        process = start(
            *("--out", directory, "--loads", "idle,cpu:threads=4", "--methods"),
            *("usleep,rdtsc,clock-monotonic", "--samples", 20000, "--blocks", 6),
            *("--duration", "3s", "--quiet"),
        )
        time.sleep(moments.uniform(0.02, 3.0))
        before_kill = set()
        # Of a run that ends just now they are brought together, and their directory goes.
        with contextlib.suppress(FileNotFoundError):
            before_kill = {p.name for p in directory.glob("samples/[0-9]*.parquet")}
        process.kill()
        process.wait()
        workers_gone(str(directory), process.pid)
        if not (directory / "run.json").exists():
            assert not before_kill
            continue
        report = tompion("report", directory, "--json")
        assert report.returncode == 0, report.stderr
        result = json.loads(report.stdout)
        # Of those that ended before the kill the files may be together by now.
        saved = sorted(directory.glob("samples/[0-9]*.parquet"))
        trials = sum(c["blocks"] for c in result["cells"])
        assert trials >= len(before_kill)
        if (directory / "samples").exists():
            assert trials == len(saved)
            # Files are numbered without gaps: no earlier trial is missing.
            assert [int(p.stem) for p in saved] == list(range(len(saved)))
        assert not list(directory.rglob(".tmp-*"))
        assert result["status"] in ("interrupted", "time-limit", "complete")
        recovered += trials
    assert recovered > 50, "the kills came too early to tell anything"


def workers_gone(marker, parent):
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        left = [
            p
            for p in load_workers("")
            if orphan_of(p, parent)
        ]
        if not left:
            return
        time.sleep(0.05)
    pytest.fail(f"load workers stayed behind after kill -9: {left} ({marker})")


def orphan_of(pid, parent):
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return False
    # Re-parented or still naming the dead parent.
    return int(fields[1]) in (1, parent) and fields[0] != "Z"


def test_ctrl_c_keeps_what_was_measured(tmp_path):
    directory = tmp_path / "run"
    process = start("--out", directory, "--quick", "--duration", "15s")
    # One file a trial; bins and stalls have files of their own.
    while len(list(directory.glob("samples/?????.parquet"))) < 30:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "interrupted" in out.lower()
    record = json.loads((directory / "run.json").read_text())
    assert record["status"] == "interrupted"
    assert len(record["trials"]) >= 30
    assert (directory / "report.html").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_loses_at_most_the_trial_under_way(tmp_path):
    disk, errors = tmp_path / "disk", tmp_path / "stderr"
    disk.mkdir()
    script = f"""
        set -e
        mount -t tmpfs -o size=600m tmpfs {disk}
        {TOMPION} check --out {disk}/run --loads idle --methods rdtsc,usleep \
            --samples 60000 --duration 20s --blocks 40 --quiet 2>{errors} &
        while [ $(ls {disk}/run/samples 2>/dev/null | wc -l) -lt 10 ]; do sleep 0.05; done
        dd if=/dev/zero of={disk}/fill bs=64k 2>/dev/null || true
        status=0; wait $! || status=$?
        echo "status $status"; cat {errors}; echo ---
        rm {disk}/fill
        {TOMPION} report {disk}/run --json
    """
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    head, _, report = done.stdout.partition("---\n")
    lines = head.splitlines()
    assert lines[0] == "status 1", head
    assert len(lines) == 2 and "No space left" in lines[1], head
    result = json.loads(report)
    assert result["status"] == "interrupted"
    assert sum(c["blocks"] for c in result["cells"]) >= 9


def test_a_load_that_gets_no_turn_for_a_while_is_waited_for(tmp_path):
    # As on a machine on which many programs want the CPU: here somebody stops the load
    # for much longer than a trial lasts.
    process = subprocess.Popen(
        [TOMPION, "check", "--loads", "cpu", "--methods", "clock-monotonic", "--quiet"]
        + ["--duration", "5s", "--out", str(tmp_path / "r")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None:
        workers = []
        with contextlib.suppress(OSError):
            workers = [int(pid) for pid in children.read_text().split()]
        for number, pause in ((signal.SIGSTOP, 0.4), (signal.SIGCONT, 0.6)):
            for pid in workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            time.sleep(pause)
    errors = process.communicate(timeout=60)[1]
    assert process.returncode == 0, errors
    record = json.loads((tmp_path / "r/run.json").read_text())
    waited = [t["load"]["observed_ns"] / 1e6 for t in record["trials"]]
    print(f"looked at for {max(waited):.0f} ms at most")
    assert max(waited) > 100
    assert all(t["load"]["cpu_time_ns"] > 0 for t in record["trials"])
