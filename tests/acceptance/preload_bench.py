"""For the tests of `tompion preload`: a stand-in for the preload library, and programs.

The stand-in tells on standard error what it finds in its environment.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import TOMPION

STAND_IN = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void tell(void) {
    const char *settings = getenv("TOMPION_PRELOAD"), *libraries = getenv("LD_PRELOAD");
    fprintf(stderr, "loaded %s | %s\\n", settings ? settings : "-", libraries ? libraries : "-");
}
"""
READS_CLOCK = """
#include <stdio.h>
#include <time.h>
int main(int argc, char **argv) {
    struct timespec t;
    for (int i = 0; i < argc; i++) printf("%s\\n", argv[i]);
    return clock_gettime(CLOCK_MONOTONIC, &t);
}
"""
SONAME = "-Wl,-soname,libtompion_preload.so"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
IS_ROOT = os.geteuid() == 0


def cc(out, source, *options):
    subprocess.run(["cc", "-xc", "-", "-o", out, *options], input=source, text=True, check=True)
    return out


@pytest.fixture(scope="module")
def bench():
    """A directory with the stand-in library and programs, open to all users."""
    with tempfile.TemporaryDirectory(prefix="tompion-preload-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        cc(directory / "stand_in.so", STAND_IN, "-shared", "-fPIC", SONAME)
        cc(directory / "clock", READS_CLOCK)
        cc(directory / "static", READS_CLOCK, "-static")
        yield directory


def preload(bench, *arguments, env=None, **more):
    """Runs the command with the stand-in library; bytes in, bytes out."""
    return subprocess.run(
        [TOMPION, "preload", "--library", bench / "stand_in.so", *arguments],
        env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"} | (env or {}),
        capture_output=True,
        timeout=60,
        **({"stdin": subprocess.DEVNULL} | more),
    )


def loaded(done):
    """What the stand-in found: settings and libraries, of each process."""
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith("loaded ")]
    return [tuple(line.removeprefix("loaded ").split(" | ")) for line in lines]


def refused(done, *words):
    """One line, status 1, nothing started."""
    error = done.stderr.decode() if isinstance(done.stderr, bytes) else done.stderr
    assert done.returncode == 1, error
    assert not done.stdout
    assert len(error.splitlines()) == 1 and error.startswith("tompion: "), error
    for word in words:
        assert str(word) in error, error
    return error
