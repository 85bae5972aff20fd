"""A `/run` of one's own, so that tests of `tompion advise`, of which one runs at a time on
a machine, can run beside each other and leave no record on the machine."""

import contextlib
import fcntl
import functools
import os
import subprocess
import tempfile
from pathlib import Path

CLOCKSOURCE = "/sys/devices/system/clocksource/clocksource0"


class OwnRun:
    """Where commands find `/run`, and what has to stand before them."""

    def __init__(self, prefix, directory):
        self.prefix = prefix
        self.directory = directory
        self.record = directory / "tompion/advise.json"


@functools.cache
def may_mount():
    probe = ["unshare", "--mount", "mount", "--bind", "/tmp", "/run"]
    try:
        return subprocess.run(probe, capture_output=True).returncode == 0
    except OSError:
        return False


def mounted(place, over):
    """Commands see each directory of `place` in place of the one it is mapped to."""
    mounts = "".join(f"mount --bind '{place / name}' {there} && " for name, there in over.items())
    return ["unshare", "--mount", "sh", "-c", f'{mounts}exec "$@"', "sh"]


@contextlib.contextmanager
def own_run(place):
    """Below `place` where this process may mount; else the machine's, for one test at a
    time."""
    directory = place / "run"
    if may_mount():
        directory.mkdir()
        yield OwnRun(mounted(place, {"run": "/run"}), directory)
        return
    # Whoever may not write to /run takes no turns there.
    lock = Path(tempfile.gettempdir()) / f"tompion-test-advise-{os.getuid()}.lock"
    with lock.open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield OwnRun([], Path("/run"))
