"""Sandboxes that refuse a system call: a method is not available, and the run goes on."""

import ctypes
import json
import platform
import struct
import subprocess

import pytest
from conftest import TOMPION

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of its system calls")

CALLS = {"timerfd_create": 283, "clock_nanosleep": 230, "nanosleep": 35, "ppoll": 271}
ERRORS = {"EPERM": 1, "ENOSYS": 38}


def refusing(calls, error):
    """Refuses system calls of what is started, as a seccomp profile does."""
    lines = [(0x20, 0, 0, 0)]  # the number
    for i, call in enumerate(calls):
        lines.append((0x15, len(calls) - i, 0, CALLS[call]))
    lines += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050000 | ERRORS[error])]
    # Struct sock_filter: a 16-bit code, two jumps, a 32-bit operand.
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    described = ctypes.create_string_buffer(
        struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(program))
    )
    libc = ctypes.CDLL(None, use_errno=True)

    # The program must live until then.
    def begin(_kept=program):
        assert libc.prctl(38, 1, 0, 0, 0) == 0
        assert libc.prctl(22, 2, described, 0, 0) == 0

    return begin


def run(calls, error, *arguments):
    return subprocess.run(
        [TOMPION, *map(str, arguments)],
        preexec_fn=refusing(calls, error),
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    "calls, methods, error",
    [(["timerfd_create"], ["timerfd"], "EPERM"), (["ppoll"], ["ppoll"], "ENOSYS")],
    ids=["timerfd", "ppoll"],
)
def test_a_method_that_a_sandbox_refuses_is_left_out_and_the_run_goes_on(tmp_path, calls, methods, error):
    out = tmp_path / "run"
    done = run(calls, error, "check", "--loads", "idle", "--duration", "2s", "--blocks", "1",
               "--targets", "1ms", "--slack", "default", "--out", out, "--quiet")
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if "not available, left out" in line]
    assert [line.split(": ")[2] for line in told] == methods, done.stderr
    assert "os error" in told[0]
    record = json.loads((out / "run.json").read_text())
    measured = {t["factors"]["method"] for t in record["trials"]}
    # Beside other tests there is not time for all.
    assert not measured & set(methods) and len(measured) > 3, measured
    # Who names it is told, in one line.
    done = run(calls, error, "measure", "wake-up", "--methods", methods[0], "--duration", "1s",
               "--out", tmp_path / "other")
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and methods[0] in done.stderr
    assert not (tmp_path / "other").exists()
    listed = run(calls, error, "list").stdout
    assert f"(not available: {methods[0]}: " in listed
