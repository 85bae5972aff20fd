"""Shared by the acceptance tests: the built program and one default run."""

import json
import resource
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOMPION = ROOT / "target/release/tompion"


def tompion(*arguments, cwd=None, timeout=120, program=TOMPION, check=None):
    """Runs the program and returns the finished process."""
    done = subprocess.run(
        [str(program), *map(str, arguments)],
        cwd=cwd,
        timeout=timeout,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    if check is not None:
        assert done.returncode == check, done.stderr
    return done


def example(package, name):
    """An example program of a crate, as the unit tests have built it already."""
    assert (ROOT / "crates" / package / "examples" / f"{name}.rs").exists()
    # Of the whole workspace: by itself a crate would be built with other features.
    build = ["cargo", "build", "--locked", "--workspace", "--example", name]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return ROOT / "target/debug/examples" / name


def load_workers(marker):
    """Pids of load workers whose command line or open files name `marker`."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if "__load" in command and marker in command:
            found.append(int(entry.name))
    return found


class DefaultRun:
    """One `tompion check` at its defaults, with its cost."""

    def __init__(self, directory):
        self.directory = directory / "run"
        before = time.monotonic()
        self.process = subprocess.Popen(
            [str(TOMPION), "check", "--out", str(self.directory), "--seed", "1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        self.stdout, self.stderr = self.process.communicate(timeout=300)
        self.seconds = time.monotonic() - before
        # The largest child so far; no test before this one runs more.
        self.peak_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        self.status = self.process.returncode
        report = tompion("report", self.directory, "--json", check=0)
        self.json = json.loads(report.stdout)
        self.record = json.loads((self.directory / "run.json").read_text())
        self.bytes = sum(f.stat().st_size for f in self.directory.rglob("*") if f.is_file())


@pytest.fixture(scope="session")
def default_run(tmp_path_factory):
    return DefaultRun(tmp_path_factory.mktemp("default"))


def pytest_collection_modifyitems(items):
    # The default run measures its own peak memory among all children, so its
    # tests come first.
    items.sort(key=lambda item: "default_run" not in getattr(item, "fixturenames", ()))

