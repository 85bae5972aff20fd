"""What `cargo publish` would send of `tompion-time` builds, documents and tests itself alone."""

import os
import subprocess
import tarfile

from conftest import ROOT


def run(directory, *command, **environment):
    done = subprocess.run(
        command, cwd=directory, env=os.environ | environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_the_packed_crate_stands_alone(tmp_path):
    built = str(tmp_path / "target")
    # A change that is not committed yet is tested, too.
    pack = ["--allow-dirty", "--no-verify", "--target-dir", built]
    run(ROOT, "cargo", "package", "--locked", "-p", "tompion-time", *pack)
    [crate] = (tmp_path / "target/package").glob("tompion-time-*.crate")
    with tarfile.open(crate) as packed:
        packed.extractall(tmp_path, filter="data")
    alone = tmp_path / crate.stem
    told = run(alone, "cargo", "test", "--all-features", "--locked", "--offline", CARGO_TARGET_DIR=built)
    assert told.count("test result: ok.") >= 9
    run(alone, "cargo", "check", "--locked", "--offline", CARGO_TARGET_DIR=built, RUSTFLAGS="-D warnings")
    run(alone, "cargo", "doc", "--no-deps", "--offline", CARGO_TARGET_DIR=built, RUSTDOCFLAGS="-D warnings")
