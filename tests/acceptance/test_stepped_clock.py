"""A time of day that is set while a run is measured: told, and otherwise without effect. In virtual
time; crates/tompion-guest/tests/all/stepped.rs sets that of a guest."""

import json
from datetime import datetime, timedelta

import pytest
from conftest import planted, tompion

OPTIONS = ["check", "--duration", "10s", "--blocks", "3", "--loads", "idle,cpu", "--seed", "1", "--quiet"]


def measured(out, seconds, monkeypatch):
    """The record and the report of a run whose time of day is set by so many seconds."""
    monkeypatch.setenv("PLANTED_STEP_S", str(seconds))
    tompion(*OPTIONS, "--out", out, program=planted(), check=0)
    report = tompion("report", out, "--json", check=0)
    return json.loads((out / "run.json").read_text()), json.loads(report.stdout)


@pytest.mark.parametrize("seconds", [3600, -3600], ids=["ahead", "back"])
def test_a_step_of_the_time_of_day_is_told_and_changes_no_figure(tmp_path, monkeypatch, seconds):
    plain, plain_report = measured(tmp_path / "plain", 0, monkeypatch)
    record, report = measured(tmp_path / "stepped", seconds, monkeypatch)
    # What is measured, and when since the run began.
    for key in ["cells", "assessment", "time_lost", "holds"]:
        assert report[key] == plain_report[key], key
    without_day = [{k: v for k, v in t.items() if k != "started_at"} for t in record["trials"]]
    assert without_day == [{k: v for k, v in t.items() if k != "started_at"} for t in plain["trials"]]
    # Times of day are those of their moment.
    moved = [
        datetime.fromisoformat(a["started_at"]) - datetime.fromisoformat(b["started_at"])
        for a, b in zip(record["trials"], plain["trials"])
    ]
    assert set(moved) == {timedelta(0), timedelta(seconds=seconds)} and moved == sorted(moved, key=abs)
    # Told once, by its size.
    assert [step["step_ns"] for step in report["clock"]["steps"]] == [seconds * 10**9]
    assert plain_report["clock"]["steps"] == []
    told = [text for text in report["limitations"] if "time of day was set" in text]
    assert len(told) == 1 and ("+3600 s" if seconds > 0 else "−3600 s") in told[0]
    text = tompion("report", tmp_path / "stepped", "--format", "md", check=0).stdout
    assert "set 1 time during the run" in text
