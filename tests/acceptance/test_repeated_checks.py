"""`benches/repeated_checks.py` in virtual time: what it counts as decided, as open and as contradicting the long run."""

import os
import subprocess
import sys

import pytest

from conftest import ROOT, planted

# Of sleeps that end 55 to 61 us late, one in fifty thrice as late: known to keep the one limit, and to exceed the other
# by less than a quarter.
USES = """
[[profile]]
name = "frame"
quantile = 0.99
period = "1ms"
limit = "400us"
[[profile]]
name = "tight"
quantile = 0.99
period = "1ms"
limit = "150us"
"""
# What is planted in which check: all sleeps are late; those with the default slack are; too few samples.
PROGRAM = """#!/bin/sh
more="--profiles {uses}"
case "$1" in
check) more="$more --loads idle --seed 1"; echo "$*" >>{measured} ;;
esac
case "$*" in
*default-02*) export PLANTED_SLEEP_NS=900000 ;;
*default-03*) export PLANTED_SLACK_NS=900000 ;;
*default-04*) export PLANTED_SAMPLES=6 ;;
esac
exec {planted} "$@" $more
"""


def told(line, lines):
    [found] = [told for told in lines if told.startswith(line)]
    return found


@pytest.fixture
def program(tmp_path):
    """The planted program with what is planted in each check, and the file that tells which were measured."""
    uses, measured, program = tmp_path / "uses.toml", tmp_path / "measured", tmp_path / "tompion"
    uses.write_text(USES)
    program.write_text(PROGRAM.format(uses=uses, measured=measured, planted=planted()))
    program.chmod(0o755)
    return program, measured


def series(directory, program, *options):
    command = [sys.executable, ROOT / "benches/repeated_checks.py", directory, "--program", program, "--every", "0s",
               "--long", "5m", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=os.environ | {"PLANTED_SAMPLES": "20000"})
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    return done.stdout.splitlines()


def test_a_planted_contradiction_is_counted_and_nothing_else(tmp_path, program):
    program, measured = program
    directory = tmp_path / "series"
    lines = series(directory, program, "--checks", "4")
    # The long one lies in the middle.
    order = [line.split("--out ")[1].split()[0].rsplit("/")[-1] for line in measured.read_text().splitlines()]
    assert order == ["default-01", "default-02", "long", "default-03", "default-04"]
    assert "2 pairs, of which 1 are known by the long run and not within 25 % of their limit" in lines
    # A use that fails as it is and passes with a remedy is decided, too.
    for number in (1, 2, 3):
        told(f"default-0{number}: 1 decided (100%); open: none", lines)
    told("default-04: 0 decided (0%); open: frame idle", lines)
    told("the median decides 100%", lines)
    told("1 of ", lines)
    [why] = [line for line in lines if line.startswith("  ")]
    assert why.startswith("  default-02: frame under idle is fail (") and "us of 400.0 us), in the long run pass (" in why

    # A series that was broken off goes on: what is there is not measured again, and counts.
    measured.unlink()
    again = series(directory, program, "--checks", "5")
    assert [line.split("--out ")[1].split()[0].rsplit("/")[-1] for line in measured.read_text().splitlines()] == ["default-05"]
    assert told("default-05: 1 decided", again) and told("1 of ", again)
