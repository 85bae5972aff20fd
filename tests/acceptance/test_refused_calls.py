"""Sandboxes that refuse a system call: a method or a kind of evidence is not available, and the
run goes on; or it ends in one line. Never a panic, a death, a hang or a process left behind."""

import json
import os
import subprocess

import pytest
from conftest import TOMPION, tompion
from own_run import may_mount
from refused import (
    ERRORS,
    Advise,
    Container,
    DryAdvise,
    Lab,
    Peer,
    Report,
    Restore,
    Watch,
    measured,
    problems,
    refusing,
    run,
)
from test_writers import PLAN

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
    "rt_sigreturn": "no process comes back from a signal",
    "exit": "the C library asks for it again and again",
    "exit_group": "the same",
}

ISOLATED = pytest.mark.skipif(os.geteuid() != 0 or not may_mount(), reason="takes a /run of its own")
# Short, and with all kinds of evidence.
COMMANDS = {
    "check": measured("check", "--duration", "1s", "--blocks", "1", "--loads", "idle,cpu:threads=2+network", "--methods",
                      "clock-monotonic,usleep,timerfd,ppoll,tompion-hybrid", "--targets", "1ms"),
    "quick": measured("check", "--quick", "--duration", "4s", "--blocks", "1", "--loads", "idle", "--targets", "1ms"),
    "read-cost": measured("measure", "read-cost", "--duration", "500ms"),
    "wake-up": measured("measure", "wake-up", "--duration", "1s", "--targets", "1ms"),
    "timer-events": measured("measure", "timer-events", "--duration", "1s", "--periods", "1ms", "--no-search"),
    "stalls": measured("measure", "stalls", "--duration", "500ms"),
    "loads": measured("measure", "wake-up", "--duration", "2s", "--targets", "1ms", "--methods", "usleep", "--loads",
                      "io+hd+memory:size=16M+disk-read+udp+download+file-server"),
    "report": Report,
    "watch": Watch,
    "watch-plain": measured("watch", "--plain", "--for", "1500ms", "--loads", "idle,cpu", "--targets", "1ms",
                            quiet=()),
    "lab": Lab,
    "container": Container,
    "dry-advise": DryAdvise,
    "advise": Advise,
    "restore": Restore,
    "peer": Peer,
}
NEED_A_RUN_OF_THEIR_OWN = {"lab", "container", "advise", "restore"}
# Those whose refusal once hung, killed or confused something, in a few seconds.
QUICK = {
    "check": ["clock_nanosleep", "kill", "perf_event_open", "prctl", "recvfrom", "sched_setscheduler", "waitid"],
    "timer-events": ["rt_sigtimedwait", "timer_delete"],
    "report": ["openat2", "pread64"],
    "lab": ["clone3", "recvfrom", "unlinkat"],
    "dry-advise": ["wait4"],
    "advise": ["ioctl"],
    "peer": ["clone3", "setsockopt"],
}


def each(names):
    return [pytest.param(name, marks=ISOLATED if name in NEED_A_RUN_OF_THEIR_OWN else ()) for name in names]


@pytest.mark.parametrize("name", each(QUICK))
def test_a_run_goes_on_or_ends_in_one_line_whatever_is_refused(name, tmp_path):
    assert problems(COMMANDS[name], QUICK[name], tmp_path, ERRORS[:1]) == []


@pytest.mark.parametrize("name", each(COMMANDS))
def test_each_system_call_of_a_run_may_be_refused(name, tmp_path):
    calls = COMMANDS[name](tmp_path / "traced").traced()
    assert problems(COMMANDS[name], calls - set(NEEDED), tmp_path) == []


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
    assert "the kernel does not say whether it is" in report["clock"]["answer"]


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


def without_devices(tmp_path, *command):
    """In a machine whose /dev has no random numbers."""
    mounts = "mount -t tmpfs tmpfs /dev && mknod /dev/null c 1 3 && exec \"$@\""
    return subprocess.run(["unshare", "--mount", "sh", "-c", mounts, "sh", *map(str, command)], cwd=tmp_path,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)


@ISOLATED
def test_without_random_numbers_a_command_ends_in_one_line(tmp_path):
    a_run = tmp_path / "run"
    measure = ["measure", "read-cost", "--duration", "1s", "--quiet"]
    tompion(*measure, "--out", a_run, check=0)
    (tmp_path / "plan.toml").write_text(PLAN)
    # Where getrandom(2) has some, only what writes a run needs the device.
    for name, arguments in [("other", measure), ("lab", ["lab", "run", tmp_path / "plan.toml", "--quiet"])]:
        done = without_devices(tmp_path, TOMPION, *arguments, "--out", tmp_path / name)
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done
        assert done.stderr.startswith("tompion: random numbers") and "/dev/urandom" in done.stderr
        assert not (tmp_path / name).exists()
    assert without_devices(tmp_path, TOMPION, "report", a_run, "--quiet").returncode == 0
    for arguments in (["report", a_run], ["list"], [*measure, "--out", tmp_path / "other"]):
        done = without_devices(tmp_path, *refusing(["getrandom"], "EPERM", *arguments))
        assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1, done
        assert "getrandom(2)" in done.stderr
    # Nor where it is refused in another way, for which the device is not asked.
    for errno in ("EACCES", "EIO", "EINVAL", "EAGAIN"):
        status, _, told, _ = run(refusing(["getrandom"], errno, "report", a_run))
        assert status == 1 and told.count("\n") == 1 and "getrandom(2)" in told, (status, told)
    # One of them is enough.
    status, _, told, _ = run(refusing(["getrandom"], "ENOSYS", *measure, "--out", tmp_path / "third"))
    assert (status, told) == (0, "")
