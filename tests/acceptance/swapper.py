"""Somebody who owns the directory that a run is begun in, and puts others in the run's place
while it is written."""

import contextlib
import os
import signal
import tempfile
import time
from pathlib import Path

NOBODY = 65534


@contextlib.contextmanager
def place_for_all():
    """A directory that anybody may go through: those of pytest are closed to others whenever
    another one begins."""
    with tempfile.TemporaryDirectory(prefix="tompion-test-", ignore_cleanup_errors=True) as made:
        os.chmod(made, 0o711)
        yield Path(made)


@contextlib.contextmanager
def swapping(place, others):
    """While `place/run` is written, its owner moves it to `place/away` and back, and has its name
    lead to each of `others` in turn."""
    child = os.fork()
    if child == 0:
        try:
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            swap(place / "run", place / "away", others)
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)


def swap(run, away, others):
    while not (run / "run.json").exists():
        time.sleep(0.0002)
    turn = 0
    while True:
        os.rename(run, away)
        os.symlink(others[turn % len(others)], run)
        time.sleep(0.001)
        os.unlink(run)
        os.rename(away, run)
        time.sleep(0.0005)
        turn += 1
