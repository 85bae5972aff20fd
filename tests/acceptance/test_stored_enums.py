"""What is stored does not hang on the order of an enum's variants."""

import os
import re
import shutil
import subprocess

from conftest import ROOT

PATCH = ROOT / "tests/patches/a-variant-in-each-stored-enum.patch"


def test_a_variant_in_the_middle_of_every_stored_enum_changes_no_checksum(tmp_path):
    """Runs of all versions are read as before by a program that has one more cause, source,
    mark, status and kind of storage, each in the middle."""
    files = subprocess.run(
        ["git", "ls-files", "-z", "Cargo.*", "crates", "fuzz", "tests/golden", "schema"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in files.stdout.split("\0")[:-1]:
        to = tmp_path / name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, to)
    subprocess.run(["git", "apply", PATCH], cwd=tmp_path, check=True)
    enums = re.findall(r"^\+    Planted,$", PATCH.read_text(), re.MULTILINE)
    assert len(enums) == 5

    # The schema alone does name the variants.
    tests = "golden run_directory --skip the_checked_in_schema_is_that_of_the_types"
    command = f"cargo test --profile bench --locked -p tompion-store --test all -- {tests}"
    done = subprocess.run(
        command.split(),
        cwd=tmp_path,
        # One of its own: of two copies of a crate in one directory cargo takes either.
        env=os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target/variants")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [passed] = re.findall(r"test result: ok\. (\d+) passed; 0 failed", done.stdout)
    assert int(passed) > 10, done.stdout
