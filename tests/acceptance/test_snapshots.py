"""What the program prints is an interface: help, lists and the forms of a report, word by word.

After a wanted change: TOMPION_SNAPSHOTS=write .cache/venv/bin/pytest tests/acceptance/test_snapshots.py
"""

import os
import re
import tarfile

import pytest
from conftest import ROOT, tompion

SNAPSHOTS = ROOT / "tests/snapshots"
GOLDEN = ROOT / "tests/golden"


def held(name, found):
    """Holds a text against the one that is checked in."""
    file = SNAPSHOTS / name
    if os.environ.get("TOMPION_SNAPSHOTS") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(found)
    assert found == file.read_text()


def commands(path=()):
    """Every command with its help, commands of commands included."""
    text = tompion(*path, "--help", check=0).stdout
    yield path, text
    # Those of the program itself are in groups, each with a title of its own.
    before_options = text.split("\nOptions:\n")[0]
    at = re.search(r"^(Commands|Everyday):\n", before_options, re.MULTILINE)
    listed = before_options[at.end() :] if at else ""
    names = re.findall(r"^  ([a-z][a-z-]*) ", listed, re.MULTILINE)
    for name in names:
        if name != "help":
            yield from commands((*path, name))


def test_help_of_every_command():
    texts = [f"$ tompion {' '.join((*path, '--help'))}\n{text}" for path, text in commands()]
    assert len(texts) > 20
    held("help.txt", "\n".join(texts))


@pytest.mark.parametrize("form", ["md", "csv", "json"])
@pytest.mark.parametrize("run", ["version-1", "version-2", "version-2-packets"])
def test_reports_of_golden_runs(run, form, tmp_path):
    with tarfile.open(GOLDEN / f"{run}.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    done = tompion("report", run, "--format", form, cwd=tmp_path, check=0)
    held(f"{run}.{form}", done.stdout)


def test_a_summary_on_a_terminal(tmp_path):
    with tarfile.open(GOLDEN / "version-2.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    done = tompion("report", "version-2", cwd=tmp_path, check=0)
    held("version-2.txt", done.stdout)
