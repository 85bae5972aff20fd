"""Timer events as the program measures and tells them."""

import json

import pytest

from conftest import tompion


def events(directory, *arguments):
    tompion("measure", "timer-events", "--out", directory, "--quiet", *arguments, check=0)
    return json.loads(tompion("report", directory, "--json", check=0).stdout)


def test_a_period_shorter_than_the_mechanism_holds_shows_missed_periods(tmp_path):
    arguments = ("--methods", "timerfd", "--periods", "1us", "--events", 2000, "--blocks", 1)
    result = events(tmp_path / "r", *arguments, "--no-search", "--forms", "grid")
    cell = result["cells"][0]
    # Every event is there, but where a busy machine ends the trial by its time, and what it
    # came too late for is counted.
    samples = cell["measured"]["samples"]
    assert samples == 2000 or (samples > 100 and cell["trials_ended_by_time"] == 1)
    assert cell["missed_periods"] > samples
    figures = cell["timer_events"]
    print(f"{cell['missed_periods']} missed, mean interval {figures['mean_interval_ns']:.0f} ns")
    assert figures["mean_interval_ns"] > 1500


def test_both_forms_keep_long_periods_and_tell_their_figures(tmp_path):
    """Beside other work an event of a millisecond comes late by more than one: each try is told."""
    arguments = ("--methods", "clock-nanosleep-abs,ticker", "--periods", "1ms", "--events", 300)
    seen = []
    for attempt in range(4):
        result = events(tmp_path / str(attempt), *arguments, "--no-search", "--blocks", 2)
        assert len(result["cells"]) == 4
        figures = [cell["timer_events"] for cell in result["cells"]]
        assert all(f["mtie"] and f["tdev"] for f in figures)
        seen.append([f["mean_interval_ns"] for f in figures])
        if seen[-1] == pytest.approx([1e6] * 4, rel=0.5):
            return
    pytest.fail(f"{seen}")


def test_the_smallest_period_held_is_searched_for_and_told(tmp_path):
    arguments = ("--methods", "ticker", "--forms", "grid", "--periods", "100us", "--events", 100)
    result = events(tmp_path / "r", *arguments, "--blocks", 1)
    (hold,) = result["holds"]
    assert hold["attempts"] and hold["most_missed"] == 0.001
    for attempt in hold["attempts"]:
        assert len(attempt["periods"]) == len(attempt["missed"]) <= 3
        if attempt["held"]:
            assert all(m <= 0.001 * p for m, p in zip(attempt["missed"], attempt["periods"]))
    if hold["smallest_ns"] is not None:
        assert hold["smallest_ns"] in [a["period_ns"] for a in hold["attempts"] if a["held"]]
    text = tompion("report", tmp_path / "r", check=0).stdout
    assert "Smallest period held" in text
