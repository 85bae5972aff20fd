"""The answer of a lab: on the same screen, a column for each platform in place of each load."""

import json
import re

import numpy as np
import pytest

from conftest import tompion
from known_series import trials
from run_generator import write_run
from terminal import in_terminal
from test_answer import screen_of

US = 1_000_000
GAME = "128 Hz game server"
LOOP = "1 kHz control loop"


def lab(path, platforms, loads=("idle", "cpu")):
    """A run of platforms: each a level in microseconds of its sleep, and of its hybrid sleep if it has one."""
    blocks = [np.arange(1_000) % 7 for _ in range(6)]
    written = []
    for platform, (sleep, hybrid) in platforms.items():
        for number, load in enumerate(loads):
            ways = [("clock-nanosleep-abs", {"timer-slack": "default"}, sleep)]
            if hybrid is not None:
                ways.append(("tompion-hybrid", {}, hybrid))
            for target in ("1ms", "7812500ns"):
                for method, more, level in ways:
                    factors = {"probe": "wake-up", "method": method, "target": target, "load": load,
                               "platform": platform, **more}
                    level_ps = level * (1 + 3 * number) * US
                    written += trials([values * 1000 + level_ps for values in blocks], factors)
    return write_run(path, written)


def one(lines, start):
    [line] = [line for line in lines if line.startswith(start)]
    return line


def test_platforms_are_columns_and_a_use_has_the_worst_of_their_loads(tmp_path):
    # At rest 300 us do for the game, beside the load 1200 us do not: its limit is 781 us.
    run = lab(tmp_path / "run", {"host": (20, None), "runc": (300, None), "runsc": (300, 10)})
    for columns in (80, 100):
        lines = screen_of(in_terminal(columns, "report", run, "--screen"))
        assert len(lines) <= 40 and max(map(len, lines[:-2])) <= columns
        assert re.split(r" {2,}", one(lines, "Fit for")) == ["Fit for", "host", "runc", "runsc"]
        for use in (GAME, LOOP):
            line = one(lines, use)
            cells = [line[28 + 13 * i:40 + 13 * i].strip() for i in range(3)]
            # With how late it is under the load that decides.
            assert cells == ["pass", "FAIL 1.20 ms", "with 1"], line
        # A line for each load, under a title that names quantile and period.
        assert one(lines, "Late by, p99 (1 ms period)")
        [rest] = [line for line in lines if line.startswith("at rest")]
        assert rest.split("  ")[-1].strip() == "300 µs" and "20.0 µs" in rest
        assert "1.20 ms" in one(lines, "under cpu load")
        question = " ".join(" ".join(lines).split("Can you trust time here?")[1].split())
        assert "PARTLY" in question and re.search(r"[1-9] of 9 uses on host, ", question)
        assert "worst of 2 loads" in question
        # The advice has its platform, its loads and its quantile; where nothing was tried nothing is advised.
        step = " ".join(lines).split("1  hybrid sleep")[1]
        assert re.search(r"runsc: p99 at rest 300 µs → 10\.0 µs,\s+p99 under cpu load 1\.20 ms → 40\.0 µs", step), step
        assert "runc:" not in step and "host:" not in step
    answer = json.loads(tompion("report", run, "--format", "verdict-json", check=0).stdout)
    cause = answer["cause"]
    assert cause.startswith("No fault found on host: "), cause
    assert re.search(r"on runc: [^.]*the load cpu itself delays sleeps\.", cause), cause
    assert re.search(r"on runsc: [^.]*limits tighter than the kernel sleeps, step 1 mends it[.;]", cause), cause
    assert answer["trusted"] == "PARTLY" and answer["why"].replace(" ", "") in question.replace(" ", "")


def test_more_platforms_and_long_names_than_fit_are_said(tmp_path):
    names = ["host", "a-rather-long-platform-name", "a-rather-long-platform-twin", "c", "d", "e", "f"]
    run = lab(tmp_path / "run", {name: (20 + i, 5) for i, name in enumerate(names)}, ("idle", "cpu", "io", "busy"))
    uses = "".join(f"[[profile]]\nname = 'use-{i}'\ntitle = 'use {i}'\nquantile = 0.99\nperiod = '1ms'\n"
                   f"limit = '{i + 1}00us'\n" for i in range(40))
    (tmp_path / "uses.toml").write_text(uses)
    for columns, shown in ((80, 4), (100, 5)):
        for options in ((), ("--profiles", tmp_path / "uses.toml")):
            lines = screen_of(in_terminal(columns, "report", run, "--screen", *options))
            assert len(lines) <= 40 and max(map(len, lines[:-2])) <= columns
            heads = one(lines, "Fit for").split()[2:]
            # By name, as the report has them.
            assert heads == ["[1]", "[2]", "c", "d", "e"][:shown]
            legend = one(lines, "[1]")
            assert "a-rather-long-platform-name" in legend and "[2] a-rather-long-platform-twin" in legend
            said = " ".join(lines)
            assert f"{7 - shown} more platforms and 1 more load." in said
            if options:
                assert re.search(r"[0-9]+ more uses in the report", said)


@pytest.mark.parametrize("loads", [("idle",), ("cpu",)])
def test_a_lab_with_one_load_says_which(tmp_path, loads):
    run = lab(tmp_path / "run", {"host": (20, None), "runc": (300, None)}, loads)
    said = " ".join(tompion("report", run, "--screen", check=0).stdout.split())
    assert {"idle": "measured at rest only", "cpu": "measured under cpu load only"}[loads[0]] in said
    assert "worst of" not in said


def test_lab_run_ends_with_the_answer_and_verbose_with_everything(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text("""
replicates = 2
loads = ["idle"]
[[platforms]]
kind = "host"
[[probes]]
kind = "wake-up"
methods = ["usleep"]
targets = ["1ms"]
time = "100ms"
""")
    done = tompion("lab", "run", plan, "--out", tmp_path / "run", check=0)
    lines = screen_of(done.stdout)
    assert len(lines) <= 40 and "Can you trust time here?" in done.stdout
    assert "Report:" in lines[-2] and "Run:" in lines[-1]
    again = tompion("report", tmp_path / "run", "--screen", check=0)
    assert screen_of(again.stdout)[:-2] == lines[:-2]
    more = tompion("lab", "run", plan, "--verbose", "--out", tmp_path / "more", check=0)
    assert "Late by: how late" not in more.stdout and "Is the clock right?" in more.stdout and len(more.stdout) > len(done.stdout)
