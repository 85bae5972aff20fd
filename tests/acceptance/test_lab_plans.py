"""The plans that are shipped, and what runs say of claims: nothing is measured for long."""

import json

import pytest

from conftest import ROOT, tompion

PLANS = sorted((ROOT / "plans").glob("*.toml"))
HOURS = 6


def test_there_is_a_plan_for_each_of_the_three_papers():
    assert {"kirova-2019", "perneel-2015", "adamczyk-2015", "quick"} <= {p.stem for p in PLANS}
    docs = (ROOT / "docs/papers-plans.md").read_text() + (ROOT / "docs/lab.md").read_text()
    for plan in PLANS:
        assert f"plans/{plan.name}" in docs, plan.name


@pytest.mark.parametrize("plan", PLANS, ids=lambda p: p.stem)
def test_every_plan_can_be_carried_out_within_hours(plan):
    found = json.loads(tompion("lab", "plan", plan, "--json", check=0).stdout)
    cells, prospect = found["cells"], found["prospect"]
    print(f"{plan.stem}: {len(cells)} cells, {prospect['cells']} here, {prospect['expected_s']:.0f} s")
    assert cells and 0 < prospect["expected_s"] < HOURS * 3600
    # Absent ones are listed with the reason.
    assert all(p["present"] or p["absent"] for p in found["platforms"])
    # None says by itself that it can show nothing.
    least = prospect["least_adjusted_p"]
    assert least is None or least <= 0.05, prospect


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
