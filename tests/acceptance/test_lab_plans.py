"""The plans that are shipped, and what runs say of claims: nothing is measured for long."""

import json
import os
import re
import shutil
import subprocess
from datetime import datetime

import pytest

from conftest import ROOT, TOMPION, tompion

PLANS = sorted((ROOT / "plans").glob("*.toml"))
HOURS = 6
# plans/quick.toml, for a first look.
QUICK_S = 300
LONG = "TOMPION_LONG" in os.environ
RUNSC = ROOT / ".cache/bin/runsc"


def test_there_is_a_plan_for_each_of_the_four_papers():
    assert {"kirova-2019", "perneel-2015", "adamczyk-2015", "whiteaker-2011", "quick"} <= {p.stem for p in PLANS}
    docs = (ROOT / "docs/papers-plans.md").read_text() + (ROOT / "docs/lab.md").read_text()
    for plan in PLANS:
        assert f"plans/{plan.name}" in docs, plan.name


@pytest.mark.parametrize("plan", PLANS, ids=lambda p: p.stem)
def test_every_plan_can_be_carried_out_within_hours(plan, monkeypatch):
    # As `make lab` finds gVisor.
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{RUNSC.parent}")
    monkeypatch.chdir(ROOT)
    found = json.loads(tompion("lab", "plan", plan, "--probe", "--json", check=0).stdout)
    cells, prospect = found["cells"], found["prospect"]
    print(f"{plan.stem}: {len(cells)} cells, {prospect['cells']} here, {prospect['expected_s']:.0f} s")
    assert cells and 0 < prospect["expected_s"] < (QUICK_S if plan.stem == "quick" else HOURS * 3600)
    # Absent ones are listed with the reason.
    assert all(p["present"] or p["absent"] for p in found["platforms"])
    # None says by itself that it can show nothing. One of them has what it takes within each of its cells.
    least = prospect["least_adjusted_p"]
    assert least is None or least <= 0.05 or plan.stem == "whiteaker-2011", prospect


@pytest.mark.skipif(not LONG, reason="some five minutes: set TOMPION_LONG")
@pytest.mark.skipif(
    os.geteuid() != 0
    or not RUNSC.exists()
    or None in map(shutil.which, ("qemu-system-x86_64", "runc", "make", "cargo")),
    reason="root, QEMU, runc and, in .cache/bin, runsc are not all here",
)
def test_a_first_look_at_four_platforms_takes_less_than_five_minutes(tmp_path):
    out = tmp_path / "run"
    # It builds what is missing first; only the lab itself has a limit.
    done = subprocess.run(
        ["make", "lab", f"ARGS=--out {out}"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    run = json.loads((out / "run.json").read_text())
    began, ended = (datetime.fromisoformat(run[key]) for key in ("started_at", "finished_at"))
    print(f"the lab took {(ended - began).total_seconds():.0f} s")
    assert run["status"] == "complete" and (ended - began).total_seconds() < QUICK_S
    told = tompion("report", out, "--format", "md", check=0).stdout
    sections = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", told, re.M | re.S))
    for section in ("Platforms", "Is time good enough here?"):
        for platform in ("host", "runc", "runsc", "qemu (emulated)"):
            assert platform in sections[section], (section, platform, told)


def test_a_run_without_the_cells_decides_nothing_in_one_line(tmp_path):
    out = tmp_path / "run"
    # Fewer blocks than any rule asks for.
    short = ["--methods", "rdtscp", "--blocks", 2, "--duration", "1s"]
    tompion("measure", "read-cost", *short, "--out", out, "--quiet", check=0)
    done = tompion("claims", "--decide", out, check=1)
    assert len(done.stderr.splitlines()) == 1 and "nothing in it decides a claim" in done.stderr
    assert "kirova-2019/samples-are-not-normal" in done.stderr and not done.stdout
    done = tompion("lab", "summary", out, check=1)
    assert len(done.stderr.splitlines()) == 1 and "no run of a lab" in done.stderr


def test_a_pipe_that_nobody_writes_to_keeps_nothing_waiting(tmp_path):
    """A plan and a file of profiles are named by the user; a stranger may have put a pipe there."""
    os.mkfifo(tmp_path / "pipe")
    for command in (["lab", "plan"], ["testbed", "--plan"], ["check", "--profiles"]):
        words = [*command, tmp_path / "pipe", *(["--", "true"] if command[0] == "testbed" else [])]
        done = tompion(*words, timeout=20)
        # Nobody writes: an empty file, which as a path is one without any delay, held or not on a busy machine.
        assert done.returncode in ((0, 1) if command[0] == "testbed" else (1,)), done.stderr
    plan = ROOT / "plans/quick.toml"
    done = subprocess.run(["bash", "-c", f"exec {TOMPION} lab plan <(sleep 1; cat {plan})"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
