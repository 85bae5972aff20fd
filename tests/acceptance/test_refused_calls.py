"""Sandboxes that refuse a system call: a method or a kind of evidence is not available, and the
run goes on; or it ends in one line. Never a panic, a death, a hang or a process left behind."""

import errno
import functools
import json
import os
import re
import signal
import subprocess
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import TOMPION, tompion
from preload import program

ERRORS = ["EPERM", "ENOSYS"]

# Without these no process of ours gets to the point of saying what it misses, each with why.
NEEDED = {
    "execve": "starts the program: without it there is none",
    "arch_prctl": "the C library ends a process that cannot have what is a thread's own",
    "mprotect": "the C library does not start with read-only data that can be written to",
    "mmap": "Rust's runtime ends a process that gets no stack for signals",
    "poll": "Rust's runtime ends a process whose standard streams it cannot see",
    "rt_sigaction": "Rust's runtime ends a process that cannot ignore SIGPIPE",
    "futex": "the C library ends a process that cannot wait for a lock",
    "close": "Rust's standard library panics where a directory that was read cannot be closed",
    "read": "no file can be read, from the first random number on",
    "write": "there is no way to say anything",
    "exit": "the C library asks for it again and again",
    "exit_group": "the same",
}

# What is measured, by command; short, and with all kinds of evidence.
CHECK = ["check", "--duration", "1s", "--blocks", "1", "--loads", "idle,cpu:threads=2+network",
         "--methods", "clock-monotonic,usleep,timerfd,ppoll,tompion-hybrid", "--targets", "1ms"]
COMMANDS = {
    "check": CHECK,
    "quick": ["check", "--quick", "--duration", "4s", "--blocks", "1", "--loads", "idle", "--targets", "1ms"],
    "read-cost": ["measure", "read-cost", "--duration", "500ms"],
    "wake-up": ["measure", "wake-up", "--duration", "1s", "--targets", "1ms"],
    "timer-events": ["measure", "timer-events", "--duration", "1s", "--periods", "1ms", "--no-search"],
    "stalls": ["measure", "stalls", "--duration", "500ms"],
    "loads": ["measure", "wake-up", "--duration", "2s", "--targets", "1ms", "--methods", "usleep", "--loads",
              "io+hd+memory:size=16M+disk-read+udp+download+file-server"],
    "report": ["report"],
}
# Those whose refusal once hung, killed or confused something, in a few seconds.
QUICK = {
    "check": ["clock_nanosleep", "kill", "perf_event_open", "prctl", "recvfrom", "sched_setscheduler", "waitid"],
    "timer-events": ["rt_sigtimedwait", "timer_delete"],
    "report": ["openat2", "pread64"],
}
LONGEST_S = 90
# Several wait at once.
LANES = 4 * (os.cpu_count() or 1)


@functools.cache
def numbers():
    """System calls of this machine, by name."""
    done = subprocess.run(["cc", "-E", "-dM", "-include", "sys/syscall.h", "-xc", "/dev/null"],
                          capture_output=True, text=True, check=True)
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)$", done.stdout, re.M)}


def refusing(calls, error, *arguments):
    """The command line that runs the program without these calls."""
    listed = ",".join(str(numbers()[call]) for call in calls)
    return [program("refuse.c"), str(getattr(errno, error)), listed, TOMPION, *arguments]


def processes(mark):
    """Those in whose environment `mark` stands, by command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
    return found


def run(command):
    """(Exit status or `None` if it hung, standard output, standard error, what it left running)."""
    mark = f"TOMPION_TEST_MARK={uuid.uuid4()}"
    child = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env=os.environ | dict([mark.split("=")]))
    try:
        out, err = child.communicate(timeout=LONGEST_S)
        status = child.returncode
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        status = None
    # What the kernel ends with its parent takes a moment.
    until = time.monotonic() + 5
    while (left := processes(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return status, out, err, left


def arguments(name, out, a_run):
    """The command line of one of COMMANDS, which writes to `out` or reads `a_run`."""
    if name == "report":
        return ["report", a_run, "--html", out]
    return [*COMMANDS[name], "--out", out, "--quiet"]


def traced(name, directory, a_run):
    """System calls of a run that nothing is refused to, of all its processes."""
    told = directory / f"{name}.calls"
    done = subprocess.run(["strace", "-f", "-c", "-U", "name", "-o", told, TOMPION,
                           *arguments(name, directory / f"{name}-traced", a_run)],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    found = set(told.read_text().split()) & set(numbers())
    assert len(found) > 20
    return found


def problem(name, call, error, out, a_run):
    """What is wrong with a run without `call`, in words; `None` where nothing is."""
    status, said, told, left = run(refusing([call], error, *arguments(name, out, a_run)))
    lines = [line for line in told.splitlines() if "not available, left out" not in line]
    if status is None:
        return "hangs"
    if "panicked at" in told + said:
        return f"panics: {told}"
    if left:
        return f"leaves {left}, {status}: {told}"
    if status == 1:
        if len(lines) != 1 or not lines[0].startswith("tompion: "):
            return f"ends in {len(lines)} lines: {told}"
        # Where a run was begun, what it holds can be read.
        if name == "report" or not (out / "run.json").exists():
            return None
    elif status not in (0, 2, 3):
        return f"ends with {status}: {told}"
    if name != "report":
        read = tompion("report", out, "--json")
        if read.returncode != 0:
            return f"ends with {status} and a run that cannot be read: {read.stderr}"
        if status != 1 and not json.loads((out / "run.json").read_text())["trials"]:
            return "has measured nothing, and says nothing of it"
    return None


def problems(name, calls, directory, a_run, errors=ERRORS):
    """What is wrong, each with the call and its error."""
    asked = [(call, error) for call in sorted(calls) for error in errors]
    # Compiled once, before it is started many times at once.
    program("refuse.c")

    def one(call, error):
        return problem(name, call, error, directory / f"{name}-{call}-{error}", a_run)

    with ThreadPoolExecutor(LANES) as lanes:
        found = list(lanes.map(lambda both: one(*both), asked))
    return [f"{name} without {call} ({error}) {what}" for (call, error), what in zip(asked, found) if what]


@pytest.fixture(scope="module")
def a_run(tmp_path_factory):
    """A small one, to be reported."""
    out = tmp_path_factory.mktemp("a-run") / "run"
    tompion(*COMMANDS["check"], "--out", out, "--quiet", check=0)
    return out


@pytest.mark.parametrize("name", QUICK)
def test_a_run_goes_on_or_ends_in_one_line_whatever_is_refused(name, tmp_path, a_run):
    assert problems(name, QUICK[name], tmp_path, a_run, ERRORS[:1]) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_each_system_call_of_a_run_may_be_refused(name, tmp_path, a_run):
    calls = traced(name, tmp_path, a_run)
    assert problems(name, calls - set(NEEDED), tmp_path, a_run) == []


def test_a_sandbox_that_refuses_every_sleep_of_the_kernel_ends_no_run(tmp_path):
    out = tmp_path / "run"
    calls = ["clock_nanosleep", "nanosleep", "ppoll", "timerfd_create"]
    status, _, told, left = run(refusing(calls, "EPERM", "measure", "wake-up", "--duration", "1s",
                                         "--targets", "1ms", "--loads", "idle,cpu:threads=1", "--out", out, "--quiet"))
    assert (status, left) == (0, {}), told
    methods = {t["factors"]["method"] for t in json.loads((out / "run.json").read_text())["trials"]}
    assert methods == {"busy-wait", "tompion-hybrid"}


def test_evidence_that_a_sandbox_refuses_is_told_in_the_report(tmp_path):
    out = tmp_path / "run"
    status, _, told, _ = run(refusing(["perf_event_open", "mlock", "clock_adjtime"], "EPERM", "measure", "wake-up",
                                      "--duration", "1s", "--targets", "1ms", "--out", out, "--quiet"))
    assert (status, told) == (0, "")
    report = json.loads(tompion("report", out, "--json", check=0).stdout)
    limits = " ".join(report["limitations"])
    assert "Evidence of disturbances that was not available" in limits and "not permitted" in limits.lower()
    assert "ran without locked memory" in limits
    assert "does not say whether its clock is synchronised" in report["clock"]["answer"]


@pytest.mark.parametrize(
    "calls, methods, error",
    [
        (["timerfd_create"], ["timerfd"], "EPERM"),
        # All of the C library's sleeps come to the first.
        (["clock_nanosleep", "ppoll"], ["clock-nanosleep-abs", "nanosleep", "ppoll", "std-sleep", "usleep"], "ENOSYS"),
    ],
    ids=["timerfd", "sleeps"],
)
def test_a_method_that_a_sandbox_refuses_is_left_out_and_the_run_goes_on(tmp_path, calls, methods, error):
    out = tmp_path / "run"
    status, _, told, _ = run(refusing(calls, error, "check", "--loads", "idle", "--duration", "2s", "--blocks", "1",
                                      "--targets", "1ms", "--slack", "default", "--out", out, "--quiet"))
    assert status == 0, told
    left_out = [line for line in told.splitlines() if "not available, left out" in line]
    assert sorted(line.split(": ")[2] for line in left_out) == methods, told
    assert all("os error" in line for line in left_out)
    record = json.loads((out / "run.json").read_text())
    measured = {t["factors"]["method"] for t in record["trials"]}
    # Beside other tests there is not time for all.
    assert not measured & set(methods) and len(measured) > 2, measured
    # Who names it is told, in one line.
    status, _, told, _ = run(refusing(calls, error, "measure", "wake-up", "--methods", methods[0], "--duration", "1s",
                                      "--out", tmp_path / "other"))
    assert status == 1 and told.count("\n") == 1 and methods[0] in told
    assert not (tmp_path / "other").exists()
    _, listed, _, _ = run(refusing(calls, error, "list"))
    assert f"(not available: {methods[0]}: " in listed
