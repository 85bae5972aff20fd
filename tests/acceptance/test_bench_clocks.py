"""`benches/clocks.py`: what it plants, and how it judges what is made of that."""

import sys

import numpy as np
import pytest

from conftest import ROOT

sys.path.append(str(ROOT / "benches"))

import clocks

MS = 1_000_000


def stamps(count=400):
    """A path of 12 ms out and 8 ms home, of which every third probe waits for 2 ms on the way out."""
    sent = 1_700_000_000_000_000_000 + 50 * MS * np.arange(count, dtype=np.int64)
    came = sent + 12 * MS + np.where(np.arange(count) % 3 == 0, 2 * MS, 0)
    return np.stack([sent, came, came + 50_000, came + 50_000 + 8 * MS], axis=1)


def right(moved):
    """What who knows everything would say of moved stamps."""
    true = stamps(len(moved))
    out, home = true[:, 1] - true[:, 0] - 2 * MS, true[:, 3] - true[:, 2] + 2 * MS
    is_set = abs(moved[-1, 1] - true[-1, 1] - clocks.AHEAD_NS) > 4 * MS and abs(moved[-1, 1] - true[-1, 1]) > 0
    ppm = 0.0 if (moved == true).all() else clocks.PPM
    found = [[0.0, ppm, ppm - 1, ppm + 1, 0.0]]
    # 80 ppm of 20 s are 1.6 ms.
    if is_set:
        found.append([len(moved) / 2, ppm, ppm - 1, ppm + 1, 5e6])
    return found, np.stack([np.arange(len(moved)), out, home], axis=1)


def test_what_is_right_is_reached():
    figures = clocks.judged(stamps(), clocks.QUEUED, right)
    assert set(figures) == set(clocks.TO_REACH)
    assert all(clocks.is_reached(name, figure) for name, figure in figures.items()), figures
    assert "queueing attributed to its side" not in clocks.judged(stamps(), clocks.AT_REST, right)


@pytest.mark.parametrize(
    "change, missed",
    [
        (lambda c, d: (c[0].__setitem__(1, c[0][1] + 0.1), d)[1], {"drift is off by, ppm"}),
        (lambda c, d: d + [0, 20_000, 20_000], {"delays one way: median off by, us", "delays one way: p99 off by, us"}),
        (lambda c, d: (c.append([9, 0, 0, 0, 7e6]), d)[1], {"steps invented"}),
        (lambda c, d: (c[-1].__setitem__(0, c[-1][0] + 3), d)[1], {"step is off by, probes"}),
        (lambda c, d: np.stack([d[:, 0], d[:, 1].min() + (d[:, 1] - d[:, 1].min()) // 2, d[:, 2]], axis=1), {"queueing attributed to its side", "delays one way: p99 off by, us"}),
    ],
    ids=["drift", "delays", "a step too many", "a step too late", "half of the queueing"],
)
def test_what_is_wrong_is_missed(change, missed):
    def wrong(moved):
        found, delays = right(moved)
        return found, change(found, delays)

    figures = clocks.judged(stamps(), clocks.QUEUED, wrong)
    assert {name for name, figure in figures.items() if not clocks.is_reached(name, figure)} >= missed, figures
    assert clocks.judged(stamps(), clocks.QUEUED, right) != figures


def test_a_clock_that_is_moved_is_ahead_gains_and_is_set():
    true = stamps(401)
    moved = clocks.moved(true, clocks.PPM, clocks.STEP_NS)
    assert (moved[:, [0, 3]] == true[:, [0, 3]]).all()
    off = moved[:, 1] - true[:, 1] - clocks.AHEAD_NS
    assert off[0] == pytest.approx(1120, abs=2) and off[199] == pytest.approx(80e-6 * 199 * 50 * MS, rel=0.01)
    assert off[200] - off[199] == pytest.approx(clocks.STEP_NS + 4_000, abs=200)
    assert (clocks.moved(true, 0, 0) == true).all()
