"""Runs programs plain and under `tompion preload`; compiles the test programs.

A plain run shows that the test program itself is right: what it checks holds for
the C library. While there is no preload library yet, TOMPION_TESTS_PLAIN_ONLY=1
skips the other half; without it a missing library is a failure.
"""

import difflib
import functools
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import AT_END, ROOT, TOMPION

PROGRAMS = ROOT / "tests/programs"
LIBRARY = TOMPION.parent / "libtompion_preload.so"

PLAIN = "plain"
# `--always`: where the kernel's own clock is as fast the library would step aside, and
# the tests would show nothing.
OPTIONS = {
    "auto": ["--policy", "auto"],
    "tsc": ["--policy", "tsc", "--always"],
    "kernel": ["--policy", "kernel"],
    # Enough of a budget that hybrid sleeps spin most of the time.
    "tsc,hybrid": ["--policy", "tsc,hybrid", "--always", "--budget", "0.5"],
}
POLICIES = list(OPTIONS)

# Runs a test once plain and once under each policy.
every_mode = pytest.mark.parametrize("mode", [PLAIN, *POLICIES])
every_policy = pytest.mark.parametrize("mode", POLICIES)

# Far more than any of the programs needs, even on a busy machine.
TIMEOUT_S = 30

# Puts libraries before and after what LD_PRELOAD holds by then, and goes on.
AROUND = """
LD_PRELOAD="$1${1:+${LD_PRELOAD:+:}}$LD_PRELOAD"
LD_PRELOAD="$LD_PRELOAD${2:+${LD_PRELOAD:+:}}$2"
export LD_PRELOAD
shift 2
exec "$@"
"""


def command(mode, *argv, first=(), last=()):
    """The command line that runs `argv` in this mode.

    `first` and `last` are libraries that come before and after ours in LD_PRELOAD.
    """
    argv = [str(a) for a in argv]
    if first or last:
        around = [":".join(map(str, libraries)) for libraries in (first, last)]
        argv = ["sh", "-c", AROUND, "sh", *around, *argv]
    if mode == PLAIN:
        return argv
    if not LIBRARY.exists() and os.environ.get("TOMPION_TESTS_PLAIN_ONLY") == "1":
        pytest.skip("no preload library yet")
    assert LIBRARY.exists(), f"{LIBRARY} is missing: run `make build` first"
    return [str(TOMPION), "preload", *OPTIONS[mode], "--", *argv]


def run(mode, *argv, first=(), last=(), env=None, timeout=TIMEOUT_S, status=None):
    """Runs a program to its end and returns status, stdout and stderr.

    A program that hangs is killed with all that it started, and fails the test.
    """
    line = command(mode, *argv, first=first, last=last)
    process = subprocess.Popen(
        line,
        env=os.environ | (env or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        pytest.fail(f"hung for {timeout} s: {' '.join(line)}\n{stdout[-2000:]}\n{stderr[-2000:]}")
    if status is not None:
        assert process.returncode == status, (
            f"status {process.returncode}: {' '.join(line)}\n{stdout[-2000:]}\n{stderr[-2000:]}"
        )
    return SimpleNamespace(status=process.returncode, stdout=stdout, stderr=stderr)


# What test programs printed in plain runs, by their command lines.
_plain_outputs = {}


def check(mode, name, *arguments, flags=(), first=(), last=(), env=None):
    """Runs a test program, which checks itself and ends with status 0; what it
    prints is what it prints in a plain run. Returns the finished run."""
    path = program(name, *flags)
    key = (path, arguments, first, last)
    options = {"first": first, "last": last, "env": env, "status": 0}
    if mode == PLAIN or key not in _plain_outputs:
        done = run(PLAIN, path, *arguments, **options)
        _plain_outputs[key] = done.stdout
    if mode != PLAIN:
        done = run(mode, path, *arguments, **options)
        lines = [text.splitlines() for text in (_plain_outputs[key], done.stdout)]
        changes = difflib.unified_diff(*lines, PLAIN, mode, n=1, lineterm="")
        assert lines[0] == lines[1], "\n".join(changes)
    return done


@functools.cache
def _directory():
    directory = tempfile.mkdtemp(prefix="tompion-programs-")
    AT_END.callback(shutil.rmtree, directory, ignore_errors=True)
    return Path(directory)


@functools.cache
def program(name, *flags, shared=False):
    """A program of tests/programs, compiled once a session. `name` with suffix;
    `shared` makes a library of it."""
    source = PROGRAMS / name
    compiler = "g++" if source.suffix == ".cc" else "cc"
    made = _directory() / f"{len(list(_directory().iterdir()))}-{source.stem}"
    if shared:
        made = made.with_name(f"lib{made.name}.so")
        flags = ("-shared", "-fPIC", *flags)
    line = [compiler, "-O2", "-g", "-Wall", "-Wextra", "-o", made, source, "-pthread", *flags]
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True)
    assert done.returncode == 0, f"cannot compile {name}:\n{done.stderr}"
    return made


def library(name, *flags):
    """A library of tests/programs, to link with or to preload."""
    return program(name, *flags, shared=True)


def jemalloc():
    """Debian's jemalloc, by its path."""
    found = [p for p in Path("/usr/lib").rglob("libjemalloc.so.2")]
    assert found, "libjemalloc2 is missing: run `make test-packages`"
    return found[0]


def faketime():
    """Debian's libfaketime, by its path."""
    found = [p for p in Path("/usr/lib").rglob("faketime/libfaketime.so.1")]
    assert found, "libfaketime is missing: run `make test-packages`"
    return found[0]
