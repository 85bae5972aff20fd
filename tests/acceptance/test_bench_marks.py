"""`benches/marks.py`: what it takes for held up, by what, and how it judges."""

import sys

import numpy as np
import polars
from conftest import ROOT

sys.path.insert(0, str(ROOT / "benches"))

import marks  # noqa: E402

MS = 1_000_000


def tables(extra, held):
    """Probes each 20 ms that take 20 ms, with so much more before the tap, behind it, and at the far end; and marks."""
    rows = []
    for n, (sending, receiving, stay) in enumerate(extra):
        at = {"user_sent": n * 20 * MS}
        steps = [("tap_near_outward", 10_000 + sending), ("tap_far_outward", 10 * MS), ("far_sent", 30_000)]
        steps += [("tap_far_homeward", 10_000 + stay), ("tap_near_homeward", 10 * MS), ("user_received", 30_000 + receiving)]
        now = at["user_sent"]
        for name, ns in steps:
            now += ns
            at[name] = now
        rows.append({f"{name}_ns": ns for name, ns in at.items()})
    columns = {"row": [row for row, _, _ in held], "side": [side for _, side, _ in held], "cause": [cause for *_, cause in held]}
    return polars.DataFrame(rows), polars.DataFrame(columns, schema={"row": polars.UInt32, "side": polars.Utf8, "cause": polars.Utf8})


def test_what_is_planted_is_told_from_what_the_machine_did():
    extra = [(0, 0, 0)] * 100
    extra[10], extra[20], extra[30] = (0, 8 * MS, 0), (0, 5 * MS, 0), (300_000, 0, 0)
    # The reply to the tenth came 20.05 ms after it was sent; the planted stop ended as it was had.
    came = 10 * 20 * MS + 20 * MS + 50_000
    packets, found = tables(extra, [(10, "receiving", "stopped"), (20, "receiving", "stopped"), (55, "sending", "tick"), (56, "under-way", "unseen")])
    sums = marks.judged(packets, found, [(came, came + 8 * MS)], "here", "stops")
    assert sums == {"held_up": 3, "marked": 2, "by_it": 1, "by_it_marked": 1, "named": 1, "usual": 97, "wrongly": 1, "under_way": 1}
    assert marks.missed(sums) == []
    assert marks.missed(sums | {"named": 0}) == ["named"] and marks.missed(sums | {"wrongly": 2}) == ["usual"]
    assert marks.missed(sums | {"by_it_marked": 0, "named": 0}) == ["marked", "named"]


def test_a_queue_is_on_the_way_out():
    extra = [(0, 0, 0)] * 100
    extra[10], extra[20] = (8 * MS, 0, 0), (0, 8 * MS, 0)
    packets, found = tables(extra, [(10, "queued", "queued"), (20, "receiving", "preempted")])
    sums = marks.judged(packets, found, [], "here", "queue")
    assert (sums["held_up"], sums["by_it"], sums["named"]) == (2, 1, 1)
    # At the far end it is behind the program's word that it sends.
    extra[30], extra[40] = (0, 0, 8 * MS), (0, 0, 6 * MS)
    packets, found = tables(extra, [(30, "far-end", "queued"), (40, "far-end", "unknown")])
    early = polars.when(polars.arange(0, 100) == 40).then(polars.col("tap_far_homeward_ns")).otherwise(polars.col("far_sent_ns"))
    sums = marks.judged(packets.with_columns(far_sent_ns=early), found, [], "far end", "queue")
    assert (sums["held_up"], sums["by_it"], sums["named"]) == (2, 1, 1)


def test_the_far_end_is_judged_by_its_own_tap():
    extra = [(0, 0, 0)] * 100
    extra[10], extra[20], extra[99] = (0, 0, 50 * MS), (9 * MS, 0, 0), (0, 0, 50 * MS)
    packets, found = tables(extra, [(10, "far-end", "stopped")])
    came = 10 * 20 * MS + 10 * MS + 10_000
    sums = marks.judged(packets, found, [(came - MS, came + 49 * MS)], "far end", "stops")
    # The last one has no later reply.
    assert (sums["held_up"], sums["marked"], sums["by_it"], sums["named"]) == (1, 1, 1, 1)


def test_what_is_missing_is_not_judged():
    packets, found = tables([(0, 0, 0)] * 100, [])
    packets = packets.with_columns(tap_near_homeward_ns=polars.when(polars.arange(0, 100) < 40).then(None).otherwise(polars.col("tap_near_homeward_ns")))
    sums = marks.judged(packets, found, [], "here", marks.AT_REST)
    assert (sums["usual"], sums["held_up"], sums["by_it"]) == (60, 0, 0)
    assert np.allclose(marks.within([(0, 10), (20, 30)], np.array([5.0, 12]), np.array([25.0, 18])), [10, 0])
