"""Time, CPU quotas and disk space: what a run is promised is what it gets."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import TOMPION, planted, tompion

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def record_of(directory):
    return json.loads((directory / "run.json").read_text())


@pytest.mark.parametrize(
    "arguments",
    [
        ("--duration", "1ns"),
        ("--duration", "5s", "--loads", "idle,io,hd,memory,memory-bus,network,cpu,cpu:threads=2"),
        ("--duration", "2s", "--loads", "idle", "--methods", "usleep", "--targets", "1h"),
        ("--loads", "idle", "--methods", "timerfd", "--targets", "20s"),
    ],
)
def test_a_time_that_does_not_hold_one_pass_is_refused_at_once(tmp_path, arguments):
    before = time.monotonic()
    done = tompion("check", *arguments, cwd=tmp_path)
    assert time.monotonic() - before < 5
    assert done.returncode == 1 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "one pass" in done.stderr and "at least --duration" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_more_blocks_than_the_time_holds_end_in_time_and_say_so(tmp_path):
    directory = tmp_path / "r"
    before = time.monotonic()
    done = tompion(
        *("check", "--blocks", 1_000_000, "--duration", "2s", "--loads", "idle"),
        *("--methods", "usleep,rdtsc", "--out", directory),
        check=0,
    )
    seconds = time.monotonic() - before
    assert seconds < 10, seconds
    assert "1000000 blocks" in done.stderr and "will end the run" in done.stderr
    assert "TIME LIMIT" in done.stdout and "interrupted" not in done.stdout.lower()
    record = record_of(directory)
    assert record["status"] == "time-limit"
    # Whole blocks only.
    assert len(record["trials"]) % record["design"]["cells"] == 0
    assert len(record["trials"]) > 0


def test_a_shortened_quick_run_is_not_called_interrupted(tmp_path):
    directory = tmp_path / "r"
    before = time.monotonic()
    done = tompion("check", "--quick", "--duration", "4s", "--out", directory, check=0)
    seconds = time.monotonic() - before
    print(f"--duration 4s took {seconds:.1f} s")
    # Four seconds, one of overtime, start, the trial under way, the report.
    assert seconds < 9
    assert record_of(directory)["status"] == "time-limit"
    assert "interrupted" not in done.stdout.lower()


SIGNALS = [(n, m) for n in ("SIGINT", "SIGTERM") for m in ("usleep", "std-sleep", "tompion-hybrid")]


@pytest.mark.parametrize(("number", "method"), [*SIGNALS, ("SIGHUP", "usleep")])
def test_a_signal_ends_a_run_during_a_long_sleep(tmp_path, method, number):
    number = getattr(signal, number)
    process = subprocess.Popen(
        [TOMPION, "check", "--loads", "idle", "--methods", method, "--targets", "60s"]
        + ["--duration", "10h", "--out", str(tmp_path / "r"), "--quiet"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # Under `nohup` it would go on.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    while not (tmp_path / "r/run.json").exists():
        time.sleep(0.02)
    time.sleep(1.5)
    before = time.monotonic()
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - before < 5
    assert process.returncode == 130, errors
    # Of a first sleep that was not slept to its end nothing is kept: it would be the newest run there is, and empty.
    assert "nothing was measured, so nothing is kept" in errors and not (tmp_path / "r/run.json").exists()


def test_every_cell_gets_samples_however_long_its_target(tmp_path):
    directory = tmp_path / "r"
    tompion(
        *("check", "--out", directory, "--duration", "6s", "--loads", "idle", "--quiet"),
        *("--methods", "usleep,tompion-hybrid", "--targets", "100us,10ms"),
        check=0,
    )
    report = json.loads(tompion("report", directory, "--json", check=0).stdout)
    [blocks] = {cell["blocks"] for cell in report["cells"]}
    print(f"{blocks} of 8 blocks")
    # All eight, unless the machine stalls; then the same for each cell.
    assert blocks >= 2
    for cell in report["cells"]:
        # Five in each block, less what a stalled machine misses.
        assert cell["measured"]["samples"] >= 2 * blocks, cell["name"]


def test_profiles_are_judged_on_methods_that_count_the_periods_they_miss(tmp_path):
    def verdicts(name, methods):
        tompion(
            *("check", "--loads", "idle,cpu:threads=8", "--duration", "6s", "--quiet"),
            *("--methods", methods, "--targets", "40us,1ms", "--out", tmp_path / name),
            check=0,
            program=planted(),
        )
        result = json.loads(tompion("report", tmp_path / name, "--json", check=0).stdout)
        # At other periods there is nothing to judge.
        judged = [p for p in result["assessment"]["profiles"] if p["method"]]
        assert {p["name"] for p in judged} == {"pacing-300m", "audio-48k-64", "control-1khz"}
        return result["cells"], judged

    cells, profiles = verdicts("both", "usleep,clock-nanosleep-abs")
    for profile in profiles:
        assert profile["method"]["method"] == "clock-nanosleep-abs"
        assert profile["missed_filled"] and "relative" not in profile["requirement"]
        for verdict in profile["by_load"]:
            factors = profile["method"] | {"load": verdict["load"]}
            filled = next(c["missed_filled"] for c in cells if c["factors"] == factors)
            name = {0.99: "p99_ns", 0.999: "p99_9_ns"}[verdict["quantile"]]
            assert verdict["estimate_ns"] == pytest.approx(filled[name], rel=1e-9)
    _, profiles = verdicts("relative", "usleep")
    assert all("relative sleeps" in p["requirement"] for p in profiles)


def controllers(group):
    """What version 2 of control groups lets the children of that group limit."""
    try:
        return (group / "cgroup.subtree_control").read_text().split()
    except OSError:
        return []


@contextlib.contextmanager
def cpu_quota(name, quota_us, period_us):
    """A control group of either version; yields the file that takes its members."""
    first, unified = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
    if (first / "cpu.cfs_quota_us").parent.is_dir() and (first / "cgroup.procs").exists():
        group = first / name
        settings = {"cpu.cfs_period_us": period_us, "cpu.cfs_quota_us": quota_us}
    elif "cpu" in controllers(unified):
        group = unified / name
        settings = {"cpu.max": f"{quota_us} {period_us}"}
    else:
        pytest.skip("no CPU controller to make a group of")
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"cannot make a control group: {error}")
    try:
        try:
            for file, value in settings.items():
                (group / file).write_text(str(value))
        except OSError as error:
            pytest.skip(f"cannot set a CPU quota: {error}")
        yield group / "cgroup.procs"
    finally:
        # Members that have just ended keep a group busy for a moment.
        for _ in range(100):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.05)


@ROOT_ONLY
def test_quick_keeps_its_time_under_a_cpu_quota_and_tells_of_it(tmp_path):
    took = []
    # A fifth of a CPU of which a hypervisor takes its share: each try is told.
    for attempt in range(3):
        directory = tmp_path / str(attempt)
        with cpu_quota(f"tompion-test-{os.getpid()}-{attempt}", 20_000, 100_000) as members:
            before = time.monotonic()
            done = subprocess.run(
                ["bash", "-c", 'echo $$ > "$0"; exec "$@"', str(members), str(TOMPION)]
                + ["check", "--quick", "--out", str(directory)],
                capture_output=True,
                text=True,
                timeout=120,
                stdin=subprocess.DEVNULL,
            )
            took.append(time.monotonic() - before)
        assert done.returncode == 0, done.stderr
        record = record_of(directory)
        loads = {t["factors"]["load"] for t in record["trials"]}
        print(f"--quick took {took[-1]:.1f} s with a fifth of a CPU, beside {sorted(loads)}")
        if took[-1] <= 30 and loads == {"idle", "busy", "network"}:
            break
    assert took[-1] <= 30, took
    assert record["environment"]["cgroup"]["quota_cpus"] == 0.2
    seen = record["throttling"]
    # The load wants more than a CPU, and the busy loop another.
    assert seen["throttled_periods"] > seen["periods"] / 3 > 30
    assert seen["throttled_ns"] > 0
    assert loads == {"idle", "busy", "network"}, "a load had no turn"
    told = " ".join(done.stdout.split())
    assert re.search(r"Here FAIL throttled in \d+ % of its periods of 100 ms: CPU quota of 0.20 CPUs", told), told
    # By its name the group is nobody's unit: its own file is named.
    group = members.parent
    is_v2 = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    lifts = f"echo 'max 100000' > {group}/cpu.max" if is_v2 else f"echo -1 > {group}/cpu.cfs_quota_us"
    assert lifts in told, told
    report = json.loads(tompion("report", directory, "--json", check=0).stdout)
    assert any("CPU quota" in text for text in report["limitations"])
    assert "CPU quota" in (directory / "report.html").read_text()


@ROOT_ONLY
def test_a_nearly_full_disk_is_enough_for_a_small_run_but_not_for_writing_loads(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    check = f"{TOMPION} check --quiet --duration 4s --blocks 2 --methods rdtsc"
    script = f"""
        mount -t tmpfs -o size=200m tmpfs {disk} || exit 9
        head -c 170M /dev/zero > {disk}/fill
        {check} --loads idle --out {disk}/a; echo "$?" >&2
        {check} --loads idle,io --out {disk}/b; echo "$?" >&2
        {check} --loads idle,io --out {tmp_path}/c --load-dir {disk}; echo "$?" >&2
        ls {disk}
        umount {disk}
        mount -t tmpfs -o size=300k tmpfs {disk} || exit 9
        {check} --loads idle --out {disk}/a; echo "$?" >&2
        umount {disk}
    """
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["a", "fill"], done.stdout
    lines = done.stderr.splitlines()
    statuses = [line for line in lines if line.isdigit()]
    assert statuses == ["0", "1", "1", "1"], done.stderr
    told = [line for line in lines if not line.isdigit()]
    assert len(told) == 3, done.stderr
    assert all("must leave 20 % free" in line and "--load-dir" in line for line in told[:2])
    assert "0.3 MB are available" in told[2] and "20 %" not in told[2]
