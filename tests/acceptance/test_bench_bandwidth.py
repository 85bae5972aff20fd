"""`benches/bandwidth.py`: how far off an estimate is, and what is made of many."""

import sys

from conftest import ROOT

sys.path.append(str(ROOT / "benches"))
import bandwidth

OF_IP = 1500 / 1514


def estimate(available, low, high):
    of = {"available_bps": available, "capacity_bps": 300e6, "interval_bps": [low, high], "trains": 9, "left_out": 0}
    return {"ended": "estimate", "ending": {"estimate": of}, "lasts_ns": 2e8, "bytes": 1_500_000}


def test_errors_are_parts_of_the_capacity_and_other_endings_are_counted():
    truth = 200e6 * OF_IP
    ended = [
        estimate(truth, truth - 1e6, truth + 1e6),
        estimate(truth + 3e6 * OF_IP, truth - 1e6, truth + 9e6),
        # An interval that does not hold the truth.
        estimate(truth - 9e6 * OF_IP, truth - 1e7, truth - 1e6),
        {"ended": "host-limited", "ending": {}, "lasts_ns": 2e8, "bytes": 1_500_000},
    ]
    words = bandwidth.row(300, 100, 1_500, ended).split()
    assert words[:3] == ["3", "of", "4"]
    median, ninety, most, holds = words[3:7]
    assert (median, ninety, most, holds) == ("1.00", "3.00", "3.00", "67%")
    assert words[8:10] == ["0.20", "1.50"] and "host-limited" in words[10], words
    assert "host-limited" in bandwidth.row(300, 100, 1_500, ended[3:])
