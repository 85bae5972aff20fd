"""The tools of `make sanitize miri loom` find what they are there for: defects that are planted
in what they run, each seen by its tool, with the words in which it says so. That they find
nothing where nothing is planted is what the targets of make themselves show."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

PATCHES = ROOT / "tests/patches"
SANITIZE = ROOT / ".ci/sanitize"

# What is planted, the tool, the crate, and what the tool says of it.
PLANTED = [
    ("a-fence-that-is-missing", "loom", "time", "torn"),
    ("a-state-shown-before-it-is-written", "loom", "time", r"panicked at .*slots/models\.rs"),
    ("a-pin-let-go-too-early", "loom", "time", "Causality violation"),
    ("a-value-shown-before-it-is-made", "loom", "time", "Causality violation"),
    ("a-pin-let-go-too-early", "tsan", "time", "ThreadSanitizer: data race"),
    ("a-value-shown-before-it-is-made", "miri", "time", "Data race detected"),
    ("a-read-beyond-a-struct", "asan", "c", "AddressSanitizer: stack-buffer-overflow"),
    ("an-object-used-when-it-is-gone", "asan", "c", "AddressSanitizer: heap-use-after-free"),
    ("a-read-beyond-a-struct", "miri", "c", "Undefined Behavior: memory access failed"),
    ("an-object-used-when-it-is-gone", "miri", "c", "Undefined Behavior: .*(dangling|freed)"),
    ("a-header-that-nobody-wrote", "miri", "frame", "Undefined Behavior: .*uninitialized"),
    ("a-number-behind-the-end", "miri", "observe", "Undefined Behavior: "),
]


def planted(patch, tree):
    """A copy of the project with a patch."""
    files = subprocess.run(
        ["git", "ls-files", "-z", "Cargo.*", "crates", "fuzz", ".ci", "schema"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")[:-1]
    for file in files:
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tree / file)
    subprocess.run(["git", "apply", PATCHES / f"{patch}.patch"], cwd=tree, check=True)


@pytest.mark.parametrize(("patch", "tool", "crate", "words"), PLANTED, ids=lambda value: str(value))
def test_a_planted_defect_is_found(patch, tool, crate, words, tmp_path):
    planted(patch, tmp_path)
    # Of two copies of a crate cargo takes either: what others wrote alone is kept.
    target = ROOT / "target/planted"
    for old in sorted((target / tool).rglob("*tompion*"), reverse=True):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    done = subprocess.run(
        [tmp_path / ".ci/sanitize", tool, "--only", crate, "--target", target],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=1800,
    )
    told = done.stdout + done.stderr
    if "NOT RUN" in told:
        assert done.returncode == 0
        pytest.skip(told.strip().splitlines()[-1])
    assert done.returncode == 1, told[-3000:]
    assert re.search(words, told), told[-6000:]
    assert f"{tool}: tompion-{crate}: FAILED" in told, told[-3000:]


def sanitize(tmp_path, *arguments, **environment):
    return subprocess.run(
        [sys.executable, SANITIZE, *arguments, "--target", tmp_path],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_what_cannot_be_run_is_told_as_such(tmp_path):
    """Without rustup, and where it can install nothing."""
    names = ["python3", "env", "uname"]
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in names:
        (tools / name).symlink_to(shutil.which(name))
    done = sanitize(tmp_path, "asan", "miri", PATH=str(tools))
    assert done.returncode == 0, done.stderr
    asan, miri = done.stdout.splitlines()
    assert asan.startswith("asan: NOT RUN: there is no rustup; nothing is known of what reads")
    assert miri.startswith("miri: NOT RUN: there is no rustup")

    rustup = tools / "rustup"
    rustup.write_text("#!/bin/sh\n[ \"$1 $2\" = 'toolchain list' ] && echo stable\n")
    rustup.chmod(0o755)
    [told] = sanitize(tmp_path, "tsan", PATH=f"{tools}:/usr/bin:/bin").stdout.splitlines()
    assert re.match(r"tsan: NOT RUN: nightly-\d{4}-\d\d-\d\d cannot be installed", told)
    rustup.write_text("#!/bin/sh\n[ \"$1 $2\" = 'toolchain list' ] && echo nightly; [ $1 != component ]\n")
    told = sanitize(tmp_path, "miri", PATH=f"{tools}:/usr/bin:/bin").stdout.splitlines()
    assert told[-1].startswith("miri: NOT RUN: rustup cannot add miri to nightly")
