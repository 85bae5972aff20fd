"""`tompion preload`: what it looks at, and what it refuses to start."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import tompion
from preload_bench import BOOT_ID, IS_ROOT, READS_CLOCK, bench, cc, loaded, preload, refused


def test_scripts_are_followed_to_their_interpreters(bench):
    script = bench / "tool.py"
    script.write_text("#!/usr/bin/env python3\nimport sys\nprint(sys.argv)\n")
    script.chmod(0o755)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = preload(bench, "--", script, "a", env={"PATH": path})
    assert done.stdout.decode() == f"['{script}', 'a']\n", done.stderr
    plain = bench / "plain.sh"
    plain.write_text("echo shell $1\n")
    plain.chmod(0o755)
    assert preload(bench, "--", plain, "b").stdout == b"shell b\n"
    for line, words in [
        (f"#!{bench}/static", ["statically linked", f"run by {bench}/static"]),
        ("#!/nonexistent/sh", ["its interpreter", "/nonexistent/sh: no such file"]),
        ("#!/usr/bin/env no-such-program", ["no-such-program: not found in PATH"]),
        ("#!/usr/bin/env -S -i python3", ["env clear the environment"]),
        ("#!/bin/sh\r", ["carriage return"]),
    ]:
        script.write_text(line + "\n")
        refused(preload(bench, "--", script), script, *words)


def patched(bench, name, change):
    data = bytearray((bench / "clock").read_bytes())
    change(data)
    (bench / name).write_bytes(data)
    (bench / name).chmod(0o755)
    return bench / name


def test_programs_that_cannot_be_reached_are_not_started(bench):
    refused(preload(bench, "--", bench / "static"), "statically linked", "Rust or C library")
    pie = cc(bench / "static-pie", READS_CLOCK, "-static-pie")
    refused(preload(bench, "--", pie), pie, "statically linked")
    narrow = patched(bench, "narrow", lambda d: d.__setitem__(4, 1))
    refused(preload(bench, "--", narrow), narrow, "built for 32-bit")
    musl = cc(bench / "musl", READS_CLOCK, "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")
    refused(preload(bench, "--", musl), "/lib/ld-musl-x86_64.so.1", "another C library")
    note = ["objcopy", "--add-section", f".note.go.buildid={BOOT_ID}"]
    subprocess.run([*note, bench / "clock", bench / "go"], check=True)
    refused(preload(bench, "--", bench / "go"), "a Go program", "C library")
    junk = patched(bench, "junk", lambda d: d.__setitem__(slice(0, 4), b"\0\1\2\3"))
    refused(preload(bench, "--", junk), "neither an ELF program nor a script")


def test_a_real_go_program_is_recognised(bench, tmp_path):
    """Go's own formatter, as it is and stripped: to compile one takes half a minute of libraries first."""
    if not shutil.which("go"):
        pytest.skip("no Go here")
    root = subprocess.run(["go", "env", "GOROOT"], capture_output=True, text=True, check=True).stdout.strip()
    program, stripped = Path(root) / "bin/gofmt", tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, program], check=True)
    for go in (program, stripped):
        refused(preload(bench, "--", go), "a Go program")


def test_commands_that_cannot_be_run_are_told(bench, tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("#!/bin/sh\n")
    for command, words in [
        ("no-such-command", ["no-such-command: not found in PATH"]),
        ("", ["not found in PATH"]),
        (tmp_path / "absent", [f"{tmp_path}/absent: no such file"]),
        (plain / "below", ["no such file"]),
        (plain, ["not executable"]),
        (tmp_path, ["is a directory"]),
    ]:
        refused(preload(bench, "--", command), *words)


@pytest.mark.skipif(not IS_ROOT, reason="gives files away")
def test_programs_with_other_rights_are_not_started(bench):
    program = bench / "rights"
    shutil.copy(bench / "clock", program)
    program.chmod(0o4755)
    assert preload(bench, "--", program).returncode == 0, "root's own gains root nothing"
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    refused(preload(bench, "--", program, **nobody), "set-user-ID", "loader then ignores")
    program.chmod(0o2755)
    refused(preload(bench, "--", program, **nobody), "set-group-ID")
    program.chmod(0o711)
    refused(preload(bench, "--", program, **nobody), "cannot be read")
    program.chmod(0o755)
    assert len(loaded(preload(bench, "--", program, **nobody))) == 1
    # CAP_NET_RAW, permitted and effective; revision 2.
    value = b"".join(n.to_bytes(4, "little") for n in (0x02000001, 1 << 13, 0, 0, 0))
    try:
        os.setxattr(program, "security.capability", value)
    except OSError as error:
        pytest.skip(f"no file capabilities here: {error}")
    assert loaded(preload(bench, "--", program)), "root gains nothing by them"
    refused(preload(bench, "--", program, **nobody), "file capabilities")


def test_the_kernel_agrees_on_who_gets_other_rights(bench):
    """What is refused for its rights is indeed not reached, by LD_PRELOAD alone."""
    if not IS_ROOT:
        pytest.skip("gives files away")
    program = bench / "witness"
    shutil.copy(bench / "clock", program)
    program.chmod(0o4755)
    done = subprocess.run(
        [program],
        env={"LD_PRELOAD": str(bench / "stand_in.so")},
        capture_output=True,
        user=65534,
    )
    assert done.returncode == 0 and b"loaded" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["COMMAND"]),
        (["--"], ["COMMAND"]),
        (["--policy", "auto,tsc", "true"], ["auto,tsc", "two policies for clocks"]),
        (["--policy", "tsc", "--policy", "tsc", "true"], ["two policies for clocks"]),
        (["--policy", "kernel", "--always", "true"], ["--always", "--policy kernel", "leave one"]),
        (["--policy", "hpet", "true"], ["hpet", "auto, tsc, kernel, hybrid"]),
        (["--policy", "", "true"], ["auto, tsc, kernel, hybrid"]),
        (["--polcy", "tsc", "true"], ["--policy"]),
        (["--budget", "5%", "true"], ["--policy hybrid"]),
        (["--policy", "hybrid", "--budget", "0", "true"], ["above 0 and up to 1"]),
        (["--policy", "hybrid", "--budget", "-0.5", "true"], ["above 0 and up to 1"]),
        (["--policy", "hybrid", "--budget", "120%", "true"], ["above 0 and up to 1"]),
        (["--policy", "hybrid", "--budget", "much", "true"], ["0.05 or 5%"]),
    ],
)
def test_bad_options_get_one_clear_line(bench, arguments, words):
    refused(preload(bench, *arguments), *words)


def test_libraries_that_cannot_be_used_are_told(bench, tmp_path):
    text = tmp_path / "text.so"
    text.write_text("not a library, but long enough to be looked at")
    spaced, coloned = tmp_path / "a b.so", tmp_path / "a:b.so"
    for name in (spaced, coloned):
        shutil.copy(bench / "stand_in.so", name)
    for library, words in [
        (tmp_path / "absent.so", ["cannot be read", "No such file"]),
        (text, ["not a shared library"]),
        (bench / "clock", ["a program, not a shared library"]),
        (spaced, ["LD_PRELOAD cannot express a path with a space"]),
        (coloned, ["LD_PRELOAD cannot express a path with a colon"]),
    ]:
        refused(tompion("preload", "--library", library, "true"), library, *words)
