"""Runs that another program wrote: does Tompion accept them, and are its figures right?

Every run here is planted, so what a report must say is known: it is computed from the planted
values by NumPy, or exactly where float64 would not do. The generator was made by somebody
who knew docs/run-format.md and not the code.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import struct
import subprocess
import tempfile
import time
import zlib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import ROOT, TOMPION
from heavy import duckdb, pandas, polars
from run_generator import (BIN_COLUMNS, CAUSES, HISTOGRAM_COLUMNS, LEFT_OUT, MARKS,
                           PARTS_COLUMNS, QUANTILES, SAMPLE_COLUMNS, Trial, bin_middles,
                           bin_ranges, checksum, order, write_run)

PROGRAM = str(TOMPION)
FACTORS = {"probe": "wake-up", "method": "usleep", "load": "idle", "target": "100us"}
STALLS = {"probe": "stalls", "method": "busy-loop", "load": "idle"}
LOW, HIGH = -2**63, 2**63 - 1
BOTH_FORMS = pytest.mark.parametrize("finished", [True, False], ids=["finished", "in samples"])


# --- helpers -------------------------------------------------------------------------------


def run_program(*arguments, memory=None) -> subprocess.CompletedProcess:
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, preexec_fn=limit if memory else None)


def report(run: Path) -> dict:
    done = run_program("report", run, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def cell(run: Path, **levels) -> dict:
    """The cell of a report that has these levels; the only one without any."""
    cells = [c for c in report(run)["cells"] if levels.items() <= c["factors"].items()]
    assert len(cells) == 1
    return cells[0]


def refusal(run: Path, **options) -> str:
    return refused(run_program("report", run, "--format", "json", **options))


def refused(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("tompion: "), done.stderr
    return done.stderr


def numpy_figures(value_ps) -> dict | None:
    """What NumPy makes of values, in nanoseconds."""
    if len(value_ps) == 0:
        return None
    values = np.asarray(value_ps) / 1000
    quartiles = np.quantile(values, [0.25, 0.75])
    return {name: np.quantile(values, q) for name, q in QUANTILES.items()} | {
        "samples": len(values), "min_ns": values.min(), "max_ns": values.max(),
        "mean_ns": values.mean(),
        "standard_deviation_ns": np.std(values, ddof=1) if len(values) > 1 else None,
        "median_absolute_deviation_ns": np.median(np.abs(values - np.median(values))),
        "half_interquartile_range_ns": (quartiles[1] - quartiles[0]) / 2,
    }


def exact_figures(value_ps) -> dict:
    """The same in rational numbers, for values that float64 does not hold."""
    values = sorted(Fraction(int(value)) / 1000 for value in value_ps)

    def quantile(ordered, q):
        place = Fraction(q).limit_denominator(10**4) * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (place - low) * (ordered[high] - ordered[low])

    mean = sum(values) / len(values)
    figures = {name: quantile(values, q) for name, q in QUANTILES.items()}
    variance = sum((v - mean)**2 for v in values) / (len(values) - 1)
    deviations = sorted(abs(v - figures["median_ns"]) for v in values)
    return {name: float(figure) for name, figure in figures.items()} | {
        "samples": len(values), "min_ns": float(values[0]), "max_ns": float(values[-1]),
        "mean_ns": float(mean), "standard_deviation_ns": float(variance) ** 0.5,
        "median_absolute_deviation_ns": float(quantile(deviations, 0.5)),
        "half_interquartile_range_ns": float(figures["p75_ns"] - figures["p25_ns"]) / 2,
    }


def assert_figures(found: dict | None, expected: dict | None, rel=1e-9, of_largest=0.0):
    """`of_largest` is an absolute tolerance, as a share of the largest value."""
    if expected is None:
        assert found is None
        return
    assert found is not None and found["samples"] == expected["samples"]
    largest = max(abs(expected["min_ns"]), abs(expected["max_ns"]))
    wrong = {name: (found[name], figure) for name, figure in expected.items()
             if found[name] != figure
             and found[name] != pytest.approx(figure, rel=rel, abs=of_largest * largest)}
    assert not wrong, f"found and expected: {wrong}"


def trial(value_ps, at_ns=None, factors=FACTORS, **more) -> Trial:
    at_ns = np.arange(len(value_ps)) * 1000 if at_ns is None else at_ns
    return Trial(factors, at_ns=at_ns, value_ps=np.asarray(value_ps, np.int64), **more)


def some_values(count=1000, seed=1) -> np.ndarray:
    return np.random.default_rng(seed).integers(10**6, 10**9, count)


def exact_bins(value_ps, filled=False) -> dict:
    """Bins of values, as columns of `bins`."""
    low, high = bin_ranges(np.asarray(value_ps, np.int64))
    low, first, count = np.unique(low, return_index=True, return_counts=True)
    return {"low_ps": low, "high_ps": high[first], "count": count,
            "filled": np.full(len(low), filled)}


def change_record(run: Path, change) -> None:
    """Changes `run.json` and gives it the checksum of what it then is."""
    record = json.loads((run / "run.json").read_text())
    del record["crc32"]
    change(record)
    body = json.dumps(record, indent=2)[:-2]
    (run / "run.json").write_text(body + ',\n  "crc32": "%08x"\n}\n' % zlib.crc32(body.encode()))


def replace_column(run: Path, name: str, column: str, values: pa.Array) -> None:
    """Replaces a column of a table of trial 0 in a run that is not finished.

    For values of which the generator could not make a summary; that stays as it was.
    """
    path = run / f"samples/00000.{'' if name == 'samples' else name + '.'}parquet"
    table = pq.read_table(path)
    table = table.set_column(table.schema.get_field_index(column), column, values)
    pq.write_table(table, path)
    columns = list({"samples": SAMPLE_COLUMNS, "bins": BIN_COLUMNS}[name])
    change_record(run, lambda record: record["trials"][0]["tables"][name].update(
        crc32=checksum(table, columns)))


# --- numbers of rows -----------------------------------------------------------------------


@BOTH_FORMS
def test_a_trial_without_rows(tmp_path, finished):
    found = cell(write_run(tmp_path / "run", [Trial(FACTORS)], finished))
    assert found["measured"] is None and found["undisturbed"] is None
    assert found["marked_samples"] == 0


@BOTH_FORMS
def test_a_trial_without_rows_after_another(tmp_path, finished):
    values = some_values()
    run = write_run(tmp_path / "run", [trial(values), Trial(FACTORS, block=1)], finished)
    assert_figures(cell(run)["measured"], numpy_figures(values))


def test_a_trial_without_rows_before_another(tmp_path):
    """The page: `row_group` "means nothing where `rows` is 0"."""
    values = some_values()
    run = write_run(tmp_path / "run", [Trial(FACTORS), trial(values, block=1)])
    assert_figures(cell(run)["measured"], numpy_figures(values))


@BOTH_FORMS
def test_one_row(tmp_path, finished):
    found = cell(write_run(tmp_path / "run", [trial([1234567])], finished))
    assert_figures(found["measured"], numpy_figures([1234567]))
    assert found["measured"]["standard_deviation_ns"] is None


def test_millions_of_distinct_values(tmp_path, record_property, capsys):
    count = 10**7 if os.environ.get("TOMPION_LONG") else 10**6
    values = np.random.default_rng(2).permutation(np.arange(count, dtype=np.int64) * 997 + 123456)
    run = write_run(tmp_path / "run", [trial(values)])
    began, most_kb = time.monotonic(), 0
    with (tmp_path / "report.json").open("w") as out:
        process = subprocess.Popen([PROGRAM, "report", run, "--format", "json"], stdout=out)
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text()
            most_kb = max([most_kb] + [int(line.split()[1]) for line in status.splitlines()
                                       if line.startswith("VmHWM")])
            time.sleep(0.02)
    seconds = time.monotonic() - began
    assert process.returncode == 0
    record_property("seconds", seconds)
    record_property("peak_kb", most_kb)
    with capsys.disabled():
        # 10^7 in `make test-full`.
        print(f"\n{count} values: report took {seconds:.1f} s and {most_kb / 1e3:.0f} MB")
    report = json.loads((tmp_path / "report.json").read_text())
    found = report["cells"][0]
    # So many that those within 0.025 % of one another were taken together, which is told.
    expected = numpy_figures(values)
    assert_figures(found["measured"], expected, rel=2.5e-4)
    assert_figures(found["measured"], {name: expected[name] for name in ("samples", "min_ns", "max_ns")})
    assert any("0.025 %" in sentence for sentence in report["limitations"]), report["limitations"]
    exact_mean = float(Fraction(int(values.sum()), 1000 * count))
    assert found["measured"]["mean_ns"] == pytest.approx(exact_mean, rel=1e-9)


# --- ends of the ranges --------------------------------------------------------------------


@BOTH_FORMS
@pytest.mark.parametrize("values", [
    [LOW, HIGH],
    [LOW] * 5,
    [HIGH] * 5,
    [LOW, HIGH, 9 * 10**18, -9 * 10**18, 0, 1, -1],
    [LOW, LOW + 1, HIGH - 1, HIGH] + [9 * 10**18, -9 * 10**18] * 500,
], ids=["both ends", "lowest", "highest", "mixed", "many"])
def test_values_at_the_ends_of_their_range(tmp_path, finished, values):
    """float64 holds such values to 1.1e-16; sums of opposite ones are exact only to a share
    of the largest value, so that this is what the tolerance is a share of."""
    run = write_run(tmp_path / "run", [trial(values)], finished)
    assert_figures(cell(run)["measured"], exact_figures(values), rel=1e-12, of_largest=1e-12)


def test_other_columns_at_the_ends_of_their_range(tmp_path):
    values = some_values(5)
    run = write_run(tmp_path / "run", [trial(
        values, at_ns=[0, 0, 5, HIGH, HIGH], n=[1, 1, 1, 2, 2**32 - 1],
        missed=[0, 0, 0, 0, 2**32 - 1], duration_ns=2**62, started_ns=2**62)])
    found = cell(run)
    assert_figures(found["measured"], numpy_figures(values[:3]))
    assert_figures(found["batched"], numpy_figures(values[3:]))


@pytest.mark.parametrize("column", [{"at_ns": [-1, 0, 1]}, {"mark": [None, "drunk", None]}])
def test_values_beyond_their_range_are_refused(tmp_path, column):
    assert "unreadable samples" in refusal(write_run(tmp_path / "run",
                                                     [Trial(FACTORS, **{"at_ns": [0, 1, 2],
                                                            "value_ps": [1, 2, 3]} | column)]))


@pytest.mark.parametrize("trials, most", [(1, 2**62), (2, 2**61), (3, 2**60), (5, 2**59)])
def test_numbers_of_a_trial_add_up_over_the_run(tmp_path, trials, most):
    def written(name, duration_ns):
        return write_run(tmp_path / name, [trial(some_values(9), block=block,
                                                 duration_ns=duration_ns)
                                           for block in range(trials)])

    assert cell(written("largest", most))["measured"]["samples"] == 9 * trials
    words = f"trial 0.duration_ns is {most + 1}, at most {most}"
    assert words in refusal(written("larger", most + 1))


# --- gaps ----------------------------------------------------------------------------------


def filled_by_hand(values, missed, period_ns) -> list[int]:
    return [int(value) - k * period_ns * 1000
            for value, most in zip(values, missed) for k in range(int(most) + 1)]


@BOTH_FORMS
def test_missed_periods(tmp_path, finished):
    random = np.random.default_rng(3)
    values, missed = some_values(500), random.integers(0, 4, 500) * (random.random(500) < 0.1)
    mark = [None, "own", "warm-up", "smi (polled)", "recorder"] * 100
    counted = [i for i in range(500) if mark[i] not in LEFT_OUT]
    run = write_run(tmp_path / "run", [trial(values, missed=missed, mark=mark,
                                             period_ns=100_000)], finished)
    found = cell(run)
    assert found["missed_periods"] == missed[counted].sum()
    assert_figures(found["measured"], numpy_figures(values[counted]))
    expected = filled_by_hand(values[counted], missed[counted], 100_000)
    assert_figures(found["missed_filled"], numpy_figures(expected))


def test_filled_values_below_zero_count(tmp_path):
    run = write_run(tmp_path / "run", [trial([5 * 10**8, 10**8], missed=[20, 0],
                                             period_ns=100_000)])
    expected = filled_by_hand([5 * 10**8, 10**8], [20, 0], 100_000)
    assert_figures(cell(run)["missed_filled"], numpy_figures(expected))


def test_without_a_period_nothing_is_filled(tmp_path):
    run = write_run(tmp_path / "run", [trial(some_values(3), missed=[1, 0, 2])])
    assert cell(run)["missed_filled"] is None and cell(run)["missed_periods"] is None


def test_missing_blocks(tmp_path):
    values = [some_values(seed=block) for block in (0, 2, 5)]
    run = write_run(tmp_path / "run", [trial(v, block=b) for v, b in zip(values, (0, 2, 5))],
                    status="interrupted")
    found = cell(run)
    assert found["blocks"] == 3
    assert_figures(found["measured"], numpy_figures(np.concatenate(values)))


@pytest.mark.parametrize("values, missed, period_ns", [
    ([LOW, 5], [3, 0], 100_000), ([7, 5], [3, 0], 2**64 - 1)], ids=["value", "period"])
def test_filled_values_beyond_the_range_are_refused(tmp_path, values, missed, period_ns):
    """The page: neither a period nor what stands for a missed one may be beyond int64."""
    run = write_run(tmp_path / "run", [trial(values, missed=missed, period_ns=period_ns)])
    assert "its checksum fits, so that whoever wrote it made the mistake" in refusal(run)


# --- marks ---------------------------------------------------------------------------------


@BOTH_FORMS
def test_marks_of_every_kind(tmp_path, finished):
    mark = [m for known in MARKS for m in (None, known, known)] * 3
    values = some_values(len(mark))
    found = cell(write_run(tmp_path / "run", [trial(values, mark=mark)], finished))
    counted = np.array([m not in LEFT_OUT for m in mark])
    ordinary = np.array([m is None for m in mark])
    assert_figures(found["measured"], numpy_figures(values[counted]))
    assert_figures(found["undisturbed"], numpy_figures(values[ordinary]))
    assert found["marked_samples"] == (~ordinary).sum()
    assert found["disturbed_samples"] == (counted & ~ordinary).sum()
    reasons = {(r["cause"], r["known_by"]): r["samples"] for r in found["marked_by_reason"]}
    assert reasons == {(cause, by): 6 for cause in CAUSES for by in ("event", "counter", "polled")}


def test_all_samples_left_out_or_disturbed(tmp_path):
    left_out, disturbed = FACTORS | {"load": "cpu"}, FACTORS | {"load": "io"}
    run = write_run(tmp_path / "run", [
        trial([1, 2, 3], factors=left_out, mark=["warm-up", "recorder", "warm-up"]),
        trial([1, 2, 3], factors=disturbed, mark=["own", "smi", "unknown (polled)"])])
    assert cell(run, load="cpu")["measured"] is None
    assert_figures(cell(run, load="io")["measured"], numpy_figures([1, 2, 3]))
    assert cell(run, load="io")["undisturbed"] is None


def test_batches_are_figures_of_their_own(tmp_path):
    values, mark = some_values(1100), np.array([None] * 1100, object)
    mark[:10], mark[1000:1003] = "warm-up", "warm-up"
    n = np.where(np.arange(1100) < 1000, 1, 100)
    found = cell(write_run(tmp_path / "run", [trial(
        values, n=n, mark=mark, factors={"probe": "read-cost", "method": "rdtsc"})]))
    assert_figures(found["measured"], numpy_figures(values[10:1000]))
    assert_figures(found["batched"], numpy_figures(values[1003:]))


# --- stalls and bins -----------------------------------------------------------------------


def stalls_trial(block=0) -> tuple[Trial, np.ndarray]:
    """A busy loop with three stalls, the values of which are known, and 100000 iterations."""
    rows = np.array([1_500_000_000, 40_000_000, 3_000_000_000])
    binned = np.random.default_rng(block).integers(5, 999_999, 100_000)
    parts = {"at_ns": [3_500_000, 3_500_000, 8_960_000, 17_000_000],
             "ns": [1_000_000, 500_000, 40_000, 3_000_000],
             "cause": ["preempted", "tick", "unknown", "stolen"],
             "by": ["cc1[42]", "local_timer", None, None],
             "source": ["event", "counter", None, "polled"],
             "because": ["could run and did not", "timer", "nothing seen", "counted"]}
    causes = [{"cause": cause, "by": by, "ns": ns, "parts": 1, "longest_ns": ns}
              for cause, by, ns in zip(parts["cause"], parts["by"], parts["ns"])]
    causes.sort(key=lambda cause: -cause["ns"])
    found = {"threshold_ns": 1000, "iterations": 100_003, "loop_period_ns": 500.0,
             "wall_ns": 60_000_000, "observed_ns": 59_000_000, "own_ns": 1_000_000, "stalls": 3,
             "lost_ns": 4_540_000, "rows_lost": 0, "causes": causes}
    table = pa.table({name: pa.array(parts[name], kind) for name, kind in PARTS_COLUMNS.items()})
    planted = Trial(STALLS, at_ns=[5_000_000, 9_000_000, 20_000_000], value_ps=rows, block=block,
                    bins=exact_bins(binned), threshold_ps=999_999, side_tables={"parts": table},
                    findings={"stalls": found}, measurement={"floor_ns": 500.0})
    return planted, np.concatenate([rows, bin_middles(binned)])


@BOTH_FORMS
def test_stalls_with_parts_and_bins(tmp_path, finished):
    planted, values = zip(*(stalls_trial(block) for block in range(2)))
    found = cell(write_run(tmp_path / "run", planted, finished))
    assert_figures(found["measured"], numpy_figures(np.concatenate(values)))
    stalls = found["stalls"]
    assert {name: stalls[name] for name in ("stalls", "lost_ns", "observed_ns", "iterations")} == {
        "stalls": 6, "lost_ns": 9_080_000, "observed_ns": 118_000_000, "iterations": 200_006}
    assert stalls["lost_share"] == pytest.approx(9.08 / 118, rel=1e-12)
    assert stalls["longest_ns"] == 3_000_000
    lost = {(c["cause"], c["by"]): (c["lost_ns"], c["parts"]) for c in stalls["causes"]}
    assert lost == {("preempted", "cc1[42]"): (2_000_000, 2), ("unknown", None): (80_000, 2),
                    ("tick", "local_timer"): (1_000_000, 2), ("stolen", None): (6_000_000, 2)}


@BOTH_FORMS
@pytest.mark.parametrize("sign", [1, -1], ids=["positive", "negative"])
def test_binned_values_of_every_size(tmp_path, finished, sign):
    """Up to 2^52, both signs; a value counts as the middle of its bin, rounded down."""
    sizes = np.unique(2 ** np.random.default_rng(4).uniform(0, 52, 3000) // 1).astype(np.int64)
    binned = sign * np.concatenate([sizes, [0, 1, 2047, 2048, 2049, 2**52]])
    rows = [2**52 + 5, 2**52 + 5_000]
    run = write_run(tmp_path / "run", [trial(rows, bins=exact_bins(binned), threshold_ps=2**52)],
                    finished)
    expected = np.concatenate([rows, bin_middles(binned)])
    assert_figures(cell(run)["measured"], numpy_figures(expected), of_largest=1e-12)
    assert np.all(np.abs(bin_middles(binned) - binned) <= np.abs(binned) * 1e-3)


@BOTH_FORMS
def test_bins_of_missed_periods(tmp_path, finished):
    binned, fill, rows = some_values(500), some_values(50, seed=9), np.array([10**10, 2 * 10**10])
    parts = exact_bins(binned), exact_bins(fill, filled=True)
    bins = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    run = write_run(tmp_path / "run", [trial(rows, bins=bins, threshold_ps=10**9, missed=[3, 0],
                                             period_ns=10**6, mark=["own", None])], finished)
    found, middles = cell(run), bin_middles(binned)
    assert_figures(found["measured"], numpy_figures(np.concatenate([rows, middles])))
    assert_figures(found["undisturbed"], numpy_figures(np.concatenate([rows[1:], middles])))
    expected = np.concatenate([filled_by_hand(rows, [3, 0], 10**6), middles, bin_middles(fill)])
    assert_figures(found["missed_filled"], numpy_figures(expected))
    assert found["missed_periods"] == 53


def test_counts_at_the_end_of_their_range(tmp_path):
    """The page: those of a trial add up to 2^62 at most."""
    low = [5, 1000, 2000]
    run = write_run(tmp_path / "run", [trial([10**6], bins=exact_bins(low), threshold_ps=10**5)],
                    finished=False)
    replace_column(run, "bins", "count", pa.array([HIGH] * 3, pa.int64()))
    assert "count more than" in refusal(run)


# --- timer events --------------------------------------------------------------------------


@BOTH_FORMS
def test_intervals_of_timer_events(tmp_path, finished):
    """They are the differences of `at_ns`; where each event is set anew, the first is `at_ns`."""
    at_ns = np.cumsum(np.random.default_rng(6).integers(900_000, 1_200_000, 500))
    factors = {"probe": "timer-events", "method": "io-uring", "load": "idle", "target": "1ms"}
    run = write_run(tmp_path / "run", [
        trial(some_values(500), at_ns, factors | {"form": "grid"}, period_ns=10**6),
        trial(some_values(500), at_ns, factors | {"form": "rearmed"})], finished)
    for form, intervals in (("grid", np.diff(at_ns)), ("rearmed", np.diff(at_ns, prepend=0))):
        found = cell(run, form=form)["timer_events"]
        assert found["events"] == 500 and found["intervals"] == len(intervals)
        assert found["mean_interval_ns"] == pytest.approx(intervals.mean(), rel=1e-9)
        assert found["standard_deviation_n_ns"] == pytest.approx(intervals.std(), rel=1e-9)


# --- side tables ---------------------------------------------------------------------------


def unknown_side_table() -> pa.Table:
    return pa.table({
        "lost": pa.array([True, None, False, True]),
        "hop": pa.array([1, None, -2**31, 2**31 - 1], pa.int32()),
        "length": pa.array([None, 0, 2**32 - 1, 64], pa.uint32()),
        "sent_ns": pa.array([None, LOW, HIGH, 0], pa.int64()),
        "sequence": pa.array([2**64 - 1, 0, None, 1], pa.uint64()),
        "jitter": pa.array([float("nan"), -0.0, None, float("inf")], pa.float64()),
        "to": pa.array(["10.0.0.1", None, "", "Zoë\n→"]),
        "never": pa.array([None] * 4, pa.string()),
        "block": pa.array(["own", "column", None, "of it"]),
    })


@BOTH_FORMS
def test_an_unknown_side_table_is_kept_and_ignored(tmp_path, finished):
    table, values = unknown_side_table(), some_values()
    packets = {"probe": "packet", "method": "udp"}
    trials = [trial(values, factors=packets, side_tables={"hops": table}),
              trial(values, factors=packets, block=1, side_tables={"hops": table.slice(0, 0)}),
              trial(values, block=1, side_tables={"hops": table.slice(2)})]
    run = write_run(tmp_path / "run", trials, finished)
    before = {path: path.read_bytes() for path in run.rglob("*.parquet")}
    found = report(run)
    assert_figures(next(c for c in found["cells"] if c["factors"] == packets)["measured"],
                   numpy_figures(np.concatenate([values, values])))
    assert "Zoë" not in json.dumps(found, ensure_ascii=False)
    assert {path: path.read_bytes() for path in run.rglob("*.parquet")} == before
    side = run / ("packet.hops.parquet" if finished else "samples/00000.hops.parquet")
    read = pq.ParquetFile(side).read_row_group(0)
    assert checksum(read, table.column_names) == checksum(table, table.column_names)


def test_the_content_of_an_unknown_side_table_is_checked(tmp_path):
    run = write_run(tmp_path / "run", [trial([1, 2], side_tables={"hops": unknown_side_table()})])
    change_record(run, lambda record: record["trials"][0]["tables"]["hops"].update(crc32="0" * 8))
    assert "hops" in refusal(run)


def test_as_many_tables_as_are_allowed(tmp_path):
    tables = {f"t{number}": pa.table({"x": [number]}) for number in range(15)}
    some = dict(list(tables.items())[:14])  # with samples and histograms these are 16
    assert report(write_run(tmp_path / "run", [trial([1, 2], side_tables=some)]))
    refusal(write_run(tmp_path / "more", [trial([1, 2], side_tables=tables)]))


# --- runs as a whole -----------------------------------------------------------------------


@BOTH_FORMS
def test_several_probes_and_factors(tmp_path, finished):
    trials, planted = [], {}
    for block in range(6):
        for probe in ("wake-up", "read-cost", "timer-events", "packet"):
            for load in ("idle", "cpu:threads=2"):
                factors = {"probe": probe, "load": load, "mark": "a", "Größe": "5 µs"}
                if probe == "wake-up":
                    factors |= {"target": "1ms"}
                values = some_values(200, seed=len(trials))
                trials.append(trial(values, factors=factors, block=block))
                planted.setdefault((probe, load), []).append(values)
    run = write_run(tmp_path / "run", trials, finished)
    found = report(run)
    assert found["trials"] == len(trials) and len(found["cells"]) == 8
    for (probe, load), values in planted.items():
        assert_figures(cell(run, probe=probe, load=load)["measured"],
                       numpy_figures(np.concatenate(values)))


@pytest.mark.parametrize("listed", [0, 2, 5])
def test_a_run_whose_process_died(tmp_path, listed):
    values = [some_values(seed=block) for block in range(5)]
    trials = [trial(v, block=block) for block, v in enumerate(values)]
    run = write_run(tmp_path / "run", trials, finished=False, listed=listed, status="running",
                    finished_at=None)
    assert_figures(cell(run)["measured"], numpy_figures(np.concatenate(values)))
    if listed < 4:
        (run / "samples/00003.parquet").unlink()
        assert_figures(cell(run)["measured"], numpy_figures(np.concatenate(values[:3])))


def test_figures_to_compare(tmp_path):
    before = [some_values(seed=block) for block in range(6)]
    runs = [write_run(tmp_path / name, [trial(v * factor, block=b) for b, v in enumerate(before)])
            for name, factor in (("a", 1), ("b", 3))]
    done = run_program("compare", *runs, "--json", "--figures", "median,max")
    assert done.returncode == 0, done.stderr
    found = {c["figure"]: c["values"] for c in json.loads(done.stdout)["comparisons"]}
    # Of all blocks, which have one size here; quantiles from bins are within 0.05 %.
    for name, figure, error in (("median", np.median, 5e-4), ("max", np.max, 1e-9)):
        of_cell = figure(np.concatenate(before)) / 1000
        assert found[name] == pytest.approx([of_cell, 3 * of_cell], rel=error)


@pytest.mark.parametrize("form", ["csv", "md", "html"])
def test_other_forms_of_the_report(tmp_path, form):
    run = write_run(tmp_path / "run", [stalls_trial()[0], trial([LOW, HIGH]), Trial(FACTORS)])
    done = run_program("report", run, "--format", form)
    assert done.returncode == 0 and done.stdout, done.stderr


# --- damage --------------------------------------------------------------------------------


def everything() -> list[Trial]:
    return [stalls_trial()[0], trial(some_values(), side_tables={"hops": unknown_side_table()})]


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("where", [0.0, 0.1, 0.4, 0.7, 0.9999])
def test_a_flipped_bit_in_any_file_is_refused(tmp_path, where):
    run = write_run(tmp_path / "run", everything())
    files = sorted(path for path in run.iterdir() if path.name != "report.html")
    assert len(files) == 7
    for path in files:
        whole = path.read_bytes()
        flip(path, int(where * len(whole)))
        refusal(run)
        path.write_bytes(whole)
    report(run)


def test_a_flipped_bit_is_refused_or_changes_nothing_before_a_run_is_finished(tmp_path):
    """The files of such a run have no checksum as a whole, only the tables in them."""
    run = write_run(tmp_path / "run", everything(), finished=False)
    right = report(run)["cells"]
    for path in sorted(run.rglob("*.*")):
        whole, refusals = path.read_bytes(), 0
        for place in np.linspace(0, len(whole) - 1, 25).astype(int):
            flip(path, place)
            done = run_program("report", run, "--format", "json")
            if done.returncode == 0:
                assert json.loads(done.stdout)["cells"] == right
            else:
                refused(done)
                refusals += 1
            path.write_bytes(whole)
        assert refusals > 0, path


def test_a_file_that_is_cut_short_or_missing_is_refused(tmp_path):
    run = write_run(tmp_path / "run", everything())
    for path in sorted(run.iterdir()):
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        refusal(run)
        path.unlink()
        refusal(run)
        path.write_bytes(whole)
    report(run)


def test_files_that_trials_name_are_not_removed(tmp_path):
    """Without `files` the run is wrong.  That is to be said; it is no reason to remove it."""
    run = write_run(tmp_path / "run", [trial(some_values())])
    change_record(run, lambda record: record.pop("files"))
    refusal(run)
    assert (run / "wake-up.parquet").exists()


def told_of(run: Path) -> str:
    return "\n".join(report(run)["limitations"])


def test_a_writers_mistakes_are_told_of_a_run_that_can_be_read(tmp_path):
    run = write_run(tmp_path / "run", [trial(some_values(seed=b), block=b) for b in range(3)])
    words = "is not known: `started_at` is no time by RFC 3339", "of the cell and the block of one before it ("
    assert not any(word in told_of(run) for word in words)
    change_record(run, lambda record: record.update(started_at="yesterday"))
    assert words[0] in told_of(run)
    for screen in ([], ["--screen"]):
        assert f"WRITTEN WRONGLY: When the run began {words[0]}" in " ".join(run_program("report", run, *screen).stdout.split())
    twice = write_run(tmp_path / "twice", [trial(some_values(seed=b), block=b // 2) for b in range(4)])
    assert "Trial 1 is " + words[1] in told_of(twice) and "block 0), and so are 1 more: " in told_of(twice)
    done = run_program("compare", run, twice, "--json")
    remarks = [(remark["run"], remark["remark"]) for remark in json.loads(done.stdout)["remarks"]]
    assert [any(of == str(name) and word in text for of, text in remarks)
            for name, word in zip((run, twice), words)] == [True, True]


def test_a_run_with_all_that_was_planned_is_not_said_to_lack_some_of_it(tmp_path):
    blocks = [trial(some_values(seed=b), block=b) for b in range(3)]
    run = write_run(tmp_path / "run", blocks, status="interrupted", finished_at=None)
    assert "The run is not finished, though all 3 planned trials were measured." in told_of(run)
    less = write_run(tmp_path / "less", blocks[:2], status="interrupted", finished_at=None,
                     design={"order": "", "seed": 0, "cells": 1, "blocks": 3})
    assert "The run is not finished: 2 of 3 planned trials were measured." in told_of(less)


# --- other programs ------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["generated", "measured"])
def some_run(request, tmp_path_factory) -> Path:
    run = tmp_path_factory.mktemp(request.param) / "run"
    if request.param == "measured":
        done = run_program("check", "--out", run, "--duration", "4s", "--loads", "idle", "--blocks",
                           "2", "--methods", "usleep,rdtsc,timerfd", "--quiet")
        assert done.returncode == 0, done.stderr
        return run
    marks = np.array([None, None, "own", "warm-up", "recorder"] * 200, object)
    return write_run(run, [
        trial(some_values(seed=10 * block + place), mark=marks, block=block,
              factors={"probe": probe, "method": "usleep", "load": load})
        for block in range(3) for place, (probe, load) in enumerate(
            [("wake-up", "idle"), ("wake-up", "cpu"), ("read-cost", "idle")])])


def medians_by_duckdb(path: Path, factors: list[str], block: int) -> dict:
    by = ", ".join(f'"{factor}"' for factor in factors)
    rows = duckdb.sql(f"""select {by}, median(value_ps) / 1000 from read_parquet('{path}')
        where n = 1 and block = {block} and (mark is null or mark not in ('warm-up', 'recorder'))
        group by {by}""")
    return {tuple(row[:-1]): row[-1] for row in rows.fetchall()}


def medians_by_pandas(path: Path, factors: list[str], block: int) -> dict:
    samples = pandas.read_parquet(path)
    counted = samples[(samples["n"] == 1) & (samples["block"] == block)
                      & ~samples["mark"].isin(["warm-up", "recorder"])]
    medians = counted.groupby(factors, dropna=False)["value_ps"].median() / 1000
    keys = medians.index if len(factors) > 1 else [(key,) for key in medians.index]
    return {tuple(None if pandas.isna(level) else level for level in key): median
            for key, median in zip(keys, medians)}


def medians_by_polars(path: Path, factors: list[str], block: int) -> dict:
    """The example of the page, with all factors, of a block, and without batches."""
    samples = polars.read_parquet(path)
    left_out = polars.col("mark").is_in(["warm-up", "recorder"]).fill_null(False)
    counted = samples.filter(~left_out & (polars.col("n") == 1) & (polars.col("block") == block))
    medians = counted.group_by(factors).agg(polars.median("value_ps") / 1000)
    return {row[:-1]: row[-1] for row in medians.rows()}


@pytest.mark.parametrize("medians", [medians_by_polars, medians_by_pandas, medians_by_duckdb])
def test_other_programs_find_the_same_medians(some_run, medians):
    """Of each trial; a cell's figures are of the mean of its blocks, which is not their business."""
    trials = json.loads((some_run / "run.json").read_text())["trials"]
    for probe in {t["factors"]["probe"] for t in trials}:
        path = some_run / f"{probe}.parquet"
        here = [t for t in trials if t["factors"]["probe"] == probe]
        factors = sorted({factor for t in here for factor in t["factors"]})
        for block in {t["block"] for t in here}:
            expected = {tuple(t["factors"].get(factor) for factor in factors):
                        t["summary"]["measured"]["median_ns"] for t in here if t["block"] == block}
            assert medians(path, factors, block) == pytest.approx(expected, rel=1e-12)


def test_the_checksum_that_the_page_gives_for_two_rows_is_theirs():
    table = pa.table({
        "at_ns": pa.array([1_100_000, 4_350_000], pa.int64()),
        "value_ps": pa.array([100_000_000, 350_000_000], pa.int64()),
        "n": pa.array([1, 1], pa.uint32()),
        "missed": pa.array([0, 2], pa.uint32()),
        "mark": pa.array([None, "warm-up"], pa.string()),
    })
    page = (ROOT / "docs/run-format.md").read_text()
    assert f"with the checksum `{checksum(table, table.column_names)}`" in page
    for row in table.to_pylist():
        assert f"| {row['at_ns']} | {row['value_ps']} | {row['n']} | {row['missed']} |" in page


def test_samples_that_duckdb_wrote_are_read(tmp_path):
    """It says in the older way alone that a number has no sign."""
    run = write_run(tmp_path / "run", [trial(some_values())])
    before = report(run)
    file = run / f"{FACTORS['probe']}.parquet"
    duckdb.sql(f"copy (select * from '{file}') to '{tmp_path / 'new'}' (format parquet, compression snappy)")
    (tmp_path / "new").replace(file)

    def its_size(record):
        [entry] = [f for f in record["files"] if f["file"] == file.name]
        entry |= {"bytes": file.stat().st_size, "crc32": f"{zlib.crc32(file.read_bytes()):08x}"}

    change_record(run, its_size)
    assert report(run)["cells"] == before["cells"]


def test_the_median_of_a_cell_is_that_of_the_mean_of_its_blocks(some_run):
    """Each block weighs the same: by NumPy's weighted quantile, within the values next to it."""
    for cell in report(some_run)["cells"]:
        samples = pandas.read_parquet(some_run / f"{cell['factors']['probe']}.parquet")
        for factor, level in cell["factors"].items():
            samples = samples[samples[factor] == level]
        counted = samples[(samples["n"] == 1) & ~samples["mark"].isin(["warm-up", "recorder"])]
        if not len(counted):
            continue
        weights = 1 / counted.groupby("block")["value_ps"].transform("size")
        ends = [np.quantile(counted["value_ps"], q, weights=weights, method="inverted_cdf") / 1000
                for q in (0.5 - 2 / len(counted), 0.5 + 2 / len(counted))]
        assert ends[0] <= cell["measured"]["median_ns"] <= ends[1]


def test_our_checksums_are_those_of_the_program(some_run):
    """Every table of a run, read back by pyarrow, has the checksum that run.json gives it."""
    columns = {"samples": list(SAMPLE_COLUMNS), "histograms": list(HISTOGRAM_COLUMNS)}
    for record in json.loads((some_run / "run.json").read_text())["trials"]:
        for name, place in record["tables"].items():
            table = pq.ParquetFile(some_run / place["file"]).read_row_group(place["row_group"])
            assert table.num_rows == place["rows"]
            assert checksum(table, columns[name]) == place["crc32"]


def test_our_order_of_values_is_that_of_the_program(some_run):
    """How the values of a trial follow one another, from the page alone."""
    looked_at = 0
    for record in json.loads((some_run / "run.json").read_text())["trials"]:
        place = record["tables"]["samples"]
        table = pq.ParquetFile(some_run / place["file"]).read_row_group(place["row_group"]).to_pydict()
        trial = Trial(record["factors"], **{name: table[name] for name in SAMPLE_COLUMNS})
        measured = trial.values().get("measured", ())
        if record["storage"]["kind"] == "complete" and len(measured) >= 64:
            stated, ours = record["summary"]["measured"]["order"], order(measured)
            assert {key: pytest.approx(ours[key], rel=6e-3, abs=1e-9) for key in ours} == stated
            looked_at += 1
        elif record["summary"]["measured"]:
            assert "order" not in record["summary"]["measured"]
    assert looked_at >= 4


# --- what would take memory or time without end ----------------------------------------------


def limited(*arguments) -> tuple[subprocess.CompletedProcess, int]:
    """What the program answers within a minute beside others, and the most memory it was seen to have, in MiB."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=out, stderr=err)
        until, most_kb = time.monotonic() + 60, 0
        while process.poll() is None:
            if time.monotonic() > until:
                process.kill()
            status = Path(f"/proc/{process.pid}/status").read_text()
            most_kb = max([most_kb] + [int(line.split()[1]) for line in status.splitlines()
                                       if line.startswith("VmHWM")])
            time.sleep(0.005)
        out.seek(0), err.seek(0)
        done = subprocess.CompletedProcess(arguments, process.returncode, out.read(), err.read())
    return done, most_kb // 1024


def refused_within_limits(run: Path, *words: str) -> None:
    done, memory = limited("report", run, "--format", "json")
    assert done.returncode == 1 and done.stdout == "", (done.returncode, done.stderr)
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("tompion: "), done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert memory < 256, memory


@pytest.mark.parametrize("period_ns", [0, 1, 1000, 2_000_000])
def test_four_billion_missed_periods_in_one_row(tmp_path, period_ns):
    values = some_values(100)
    values[50] = 2**63 - 1
    run = write_run(tmp_path / "run", [trial(values, period_ns=period_ns)], finished=False)
    missed = np.zeros(100, np.uint32)
    missed[50] = 2**32 - 1
    replace_column(run, "samples", "missed", pa.array(missed))
    done, memory = limited("report", run, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert memory < 256, memory
    [found] = json.loads(done.stdout)["cells"]
    filled = found["missed_filled"]
    assert filled["samples"] == 100 + 2**32 - 1
    assert filled["max_ns"] == found["measured"]["max_ns"]
    middle = (2**63 - 1 - 2**31 * period_ns * 1000) / 1000
    assert filled["median_ns"] == pytest.approx(middle, rel=1e-3)


def test_rows_that_take_no_bytes_are_refused(tmp_path):
    rows = 8 * 10**6
    run = write_run(tmp_path / "run", [trial(some_values(10))], finished=False)
    zeros = pa.array(np.zeros(rows, np.int64))
    table = pa.table({"at_ns": zeros, "value_ps": zeros,
                      "n": pa.array(np.ones(rows, np.uint32)),
                      "missed": pa.array(np.zeros(rows, np.uint32)),
                      "mark": pa.nulls(rows, pa.string())})
    path = run / "samples/00000.parquet"
    pq.write_table(table, path, row_group_size=rows)
    change_record(run, lambda record: record["trials"][0]["tables"]["samples"].update(
        rows=rows, crc32="00000000"))
    assert path.stat().st_size < 10**6
    refused_within_limits(run, "trial 0: 8000000 rows in", "2 a byte")


def test_one_long_text_in_every_row_is_refused(tmp_path):
    """A file holds it once; read as it stands there it would fill any memory, and its checksum
    would take hours."""
    rows, length = 10**6, 10**5
    run = write_run(tmp_path / "run", [trial(some_values(10), side_tables={
        "flows": pa.table({"flow": pa.array(["x"])})})], finished=False)
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["x" * length]))
    path = run / "samples/00000.flows.parquet"
    pq.write_table(pa.table({"flow": texts}), path, row_group_size=rows)
    change_record(run, lambda record: record["trials"][0]["tables"]["flows"].update(
        rows=rows, crc32="00000000"))
    assert path.stat().st_size < 10**5
    refused_within_limits(run, "00000.flows.parquet: 100000000000 bytes of text in", "64 a byte")


def test_texts_announced_behind_levels_of_another_kind_are_refused(tmp_path):
    """Such levels have no length before them: who looks for the texts behind it looks elsewhere than the library, which reserved
    2^45 places and died."""
    def number(value):
        out = b""
        while value >= 128:
            out += bytes([value & 127 | 128])
            value >>= 7
        return out + bytes([value])

    rows = 32
    run = write_run(tmp_path / "run", [trial([1000] * rows, mark=["tick"] * rows)])
    path = run / "wake-up.parquet"
    table = pq.read_table(path)
    pq.write_table(table, path, compression="none", use_dictionary=[c for c in table.column_names if c != "mark"],
                   column_encoding={"mark": "DELTA_LENGTH_BYTE_ARRAY"}, write_statistics=False)
    column = pq.ParquetFile(path).metadata.row_group(0).column(table.column_names.index("mark"))
    content = bytearray(path.read_bytes())
    start, size = column.data_page_offset, column.total_compressed_size
    chunk = bytes(content[start:start + size])
    # Of the page's header: values, their encoding, and those of both kinds of levels.
    header = chunk.index(bytes([0x15, rows * 2, 0x15, 12, 0x15, 6, 0x15, 6]))
    page = chunk.index(b"\0\0", header + 8) + 2
    content[start + header + 5] = 8
    for at, texts in ((4, 2**45), (4 + rows, 0)):
        announced = number(128) + number(4) + number(texts) + number(0)
        content[start + page + at:start + page + at + len(announced)] = announced
    content[start + page:start + page + 4] = struct.pack("<I", rows)
    path.write_bytes(content)
    crc32 = f"{zlib.crc32(content):08x}"
    change_record(run, lambda record: [file.update(crc32=crc32, bytes=len(content)) for file in record["files"]
                                       if file["file"] == path.name])
    refused_within_limits(run, "levels written as BIT_PACKED are not read")


def test_a_text_of_a_dictionary_that_no_row_has_is_refused(tmp_path):
    """Packed it takes a twentieth of its length."""
    run = write_run(tmp_path / "run", [trial(some_values(10), side_tables={"flows": pa.table({"flow": pa.array(["x"])})})],
                    finished=False)
    texts = pa.DictionaryArray.from_arrays(pa.array([1], pa.int32()), pa.array(["x" * (200 << 20), "x"]))
    pq.write_table(pa.table({"flow": texts}), run / "samples/00000.flows.parquet", compression="snappy", store_schema=False)
    refused_within_limits(run, "a dictionary of 20971", "at most 67108864 are read")


def test_long_texts_of_many_tables_are_refused_in_seconds(tmp_path):
    """Each within its limit, and all in kilobytes; their checksums together would take minutes."""
    trials, rows, length = 100, 6400, 10**4
    flows = pa.table({"flow": pa.array(["x" * length] * rows)})
    run = write_run(tmp_path / "run", [trial(some_values(10), side_tables={"flows": flows})], finished=False)
    files = ["samples/{:05}.parquet", "samples/{:05}.flows.parquet"]
    for number in range(1, trials):
        for file in files:
            shutil.copy(run / file.format(0), run / file.format(number))

    def many(record):
        first = json.dumps(record["trials"][0])
        record["trials"] = [json.loads(first.replace("samples/00000.", f"samples/{i:05}.")) | {"id": i, "block": i}
                            for i in range(trials)]

    change_record(run, many)
    assert sum(path.stat().st_size for path in run.rglob("*")) < 5 * 10**6
    refused_within_limits(run, "00067.flows.parquet: 4352000000 bytes of text in", "a run has at most 4294967296")


def test_a_run_json_without_end_is_refused(tmp_path):
    run = write_run(tmp_path / "run", [trial(some_values(10))])
    with (run / "run.json").open("r+") as file:
        file.truncate(6 << 30)
    refused_within_limits(run, "run.json", "at most")


def test_a_run_json_full_of_holes_is_refused(tmp_path):
    """Within the limit, and not a block on the disk."""
    run = write_run(tmp_path / "run", [trial(some_values(10))])
    with (run / "run.json").open("r+") as file:
        file.truncate(1 << 25)
    refused_within_limits(run, "run.json", "not text")


@BOTH_FORMS
def test_a_parquet_file_full_of_holes_is_refused(tmp_path, finished):
    """Hashing it would take an hour, and its length would account for any number of rows."""
    run = write_run(tmp_path / "run", [trial(some_values(10))], finished)
    path = run / ("wake-up.parquet" if finished else "samples/00000.parquet")
    footer = path.read_bytes()[-4000:]
    with path.open("r+b") as file:
        file.truncate(1 << 40)
        file.seek(-len(footer), os.SEEK_END)
        file.write(footer)

    def lengthen(record):
        for file in record["files"]:
            if file["file"] == path.name:
                file["bytes"] = 1 << 40

    change_record(run, lengthen)
    refused_within_limits(run, path.name, "mostly holes")


def test_methods_that_each_have_a_load_of_their_own_take_no_memory_of_their_product(tmp_path):
    trials = [trial([5000, 6000], factors=FACTORS | {"method": f"m{i}", "load": f"cpu:threads={i}"})
              for i in range(1, 1000)]
    run = write_run(tmp_path / "run", trials)
    for form in ("html", "md"):
        done, memory = limited("report", run, "--format", form)
        assert done.returncode == 0, done.stderr
        assert memory < 256, memory
        assert "m999" in done.stdout and "cpu:threads=999" in done.stdout


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("own", [("load",), ("load", "platform"), ("method",)], ids="-".join)
def test_thousands_of_cells_are_reported_in_seconds(tmp_path, own):
    """Each with levels of its own: what looks through all cells for each of them takes minutes, where this takes two or
    three seconds of a CPU that others leave alone."""
    cells = 2560
    sleep = FACTORS | {"method": "clock-nanosleep-abs", "target": "1ms"}
    # Names of factors and other levels take some 70 bytes; these take what is left.
    each = 32 // len(own)
    trials = [trial(some_values(20, seed=i), factors=sleep | {name: f"cpu:threads={i:0{max(4, each - 12)}}" for name in own})
              for i in range(cells)]
    run = write_run(tmp_path / "run", trials)
    every = (None, "html", "json", "md", "csv", "verdict-json") if "TOMPION_LONG" in os.environ else (None, "html")
    for form in every if own == ("load",) else every[:1]:
        before = cpu_seconds()
        done, memory = limited("report", run, *(["--format", form] if form else []))
        assert done.returncode == 0, (form, done.stderr)
        assert cpu_seconds() - before < 10, form
        assert memory < 256, (form, memory)
        assert len(done.stdout.encode()) < 10_000 or form != "verdict-json"


@pytest.mark.parametrize("places", [256, 257])
def test_uses_of_ones_own_at_hundreds_of_places_are_reported_in_seconds_or_refused(tmp_path, places):
    """What looks through all cells for each verdict takes minutes."""
    sleep = FACTORS | {"method": "clock-nanosleep-abs", "target": "1ms"}
    trials = [trial(some_values(20, seed=i), factors=sleep | {"platform": f"p{i}"}) for i in range(places)]
    run = write_run(tmp_path / "run", trials)
    uses = [{"name": f"u{i}", "title": f"use {i}", "quantile": 0.5 + 0.005 * i, "period_ns": 1_000_000, "limit_ns": 1000 * (i + 1)}
            for i in range(64)]
    change_record(run, lambda record: record.update(profiles=uses))
    if places > 256:
        refused_within_limits(run, "64 uses of its own, to be judged at 257 loads and places")
        return
    for form in ("json", "html", "md"):
        before = cpu_seconds()
        done, memory = limited("report", run, "--format", form)
        assert done.returncode == 0, (form, done.stderr)
        assert cpu_seconds() - before < 10 and memory < 256, (form, cpu_seconds() - before, memory)


@pytest.mark.parametrize("finished", [True, False], ids=["finished", "in samples"])
@pytest.mark.parametrize("cells, length, told", [(2561, 8, "2561 cells; a run has at most 2560"),
                                                 (4000, 900, "bytes of names and levels"),
                                                 (260, 1024, "a run has at most 262144")])
def test_cells_beyond_what_a_report_holds_are_refused(tmp_path, cells, length, told, finished):
    """Of 4,000 platforms with names of their own a page took 680 MB."""
    trials = [trial([1], factors=FACTORS | {"platform": f"{i:0{length}}"}) for i in range(cells)]
    run = write_run(tmp_path / "run", trials, finished=finished)
    refused_within_limits(run, told)


@pytest.mark.parametrize("values", ["notes", "texts", "objects", "factors", "findings", "trials"])
def test_a_run_json_of_very_many_values_is_refused_or_takes_little(tmp_path, values):
    """Three bytes of JSON may take a hundred in memory, and each copy of them as much again."""
    def many(record):
        first = record["trials"][0]
        if values == "notes":
            record["notes"] = [{"kind": "a", "text": "b"}] * 500_000
        elif values == "texts":
            first["load"] = {"load": "cpu", "driver": "x", "cpu_time_ns": 1, "observed_ns": 1, "operations": None,
                             "context_switches_per_second": 1.0, "interrupts_per_second": 1.0,
                             "operation": None, "notes": ["b"] * 1_040_000}
        elif values == "objects":
            record["platforms"] = [{}] * 1_000_000
        elif values == "factors":
            first["factors"] |= {f"k{i}": "" for i in range(1_000_000)}
        elif values == "findings":
            first["findings"] = {"unknown": {f"k{i}": [] for i in range(1_000_000)}}
        else:
            record["trials"] = [first | {"id": i, "block": i} for i in range(9000)]

    run = write_run(tmp_path / "run", [trial([])], finished=False)
    change_record(run, many)
    done, memory = limited("report", run, "--format", "json")
    assert memory < 256, (memory, done.stderr)
    assert (done.returncode == 0 or "values" in done.stderr or "factors" in done.stderr
            or "another table's" in done.stderr), done.stderr


def test_more_levels_than_anybody_compares_are_refused(tmp_path):
    of = {"many": 1000, "bearable": 100}
    runs = {name: write_run(tmp_path / name, [trial([5000, 6000], factors=FACTORS | {"method": f"m{i}"})
                                              for i in range(number)]) for name, number in of.items()}
    done, memory = limited("compare", runs["many"], "--by", "method")
    assert done.returncode == 1 and memory < 256, (done.returncode, memory)
    assert "`method` has 1000 levels here; at most 300" in done.stderr and len(done.stderr.splitlines()) == 1
    done, memory = limited("compare", runs["bearable"], "--by", "method", "--json")
    assert done.returncode == 0 and memory < 256, (done.stderr, memory)
    # Each with each, by two statistics.
    assert len(json.loads(done.stdout)["comparisons"]) == 2 * 100 * 99 / 2


def test_missed_periods_beyond_what_a_reader_fills_in_are_refused(tmp_path):
    rows = 10_000
    run = write_run(tmp_path / "run", [trial(some_values(rows), period_ns=0)], finished=False)
    replace_column(run, "samples", "missed", pa.array(np.full(rows, 2**32 - 1, np.uint32)))
    refused_within_limits(run, "missed periods in", "32 a byte")


def missed_run(directory: Path, trials: int, rows: int, missed: int) -> Path:
    """Each row of each trial comes so many periods of 100 us late, at a place of its own."""
    random, period_ps = np.random.default_rng(7), 10**8
    late = [missed * period_ps + random.integers(1, period_ps, rows) for _ in range(trials)]
    run = write_run(directory, [trial(values, period_ns=period_ps // 1000, block=block)
                                for block, values in enumerate(late)], finished=False)
    for number in range(trials):
        path = run / f"samples/{number:05}.parquet"
        table = pq.read_table(path)
        column = pa.array(np.full(rows, missed, np.uint32))
        table = table.set_column(table.schema.get_field_index("missed"), "missed", column)
        pq.write_table(table, path)
        change_record(run, lambda record: record["trials"][number]["tables"]["samples"].update(
            crc32=checksum(table, list(SAMPLE_COLUMNS))))
    return run


def test_many_missed_periods_in_each_of_many_rows_take_little(tmp_path):
    rows, missed, period_ns = 3000, 80_000, 10**5
    run = missed_run(tmp_path / "run", 1, rows, missed)
    done, memory = limited("report", run, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert memory < 128, memory
    [found] = json.loads(done.stdout)["cells"]
    filled = found["missed_filled"]
    assert filled["samples"] == rows * (missed + 1)
    assert filled["max_ns"] == found["measured"]["max_ns"]
    # Each row falls from its value to nearly nothing in equal steps.
    whole = (missed + 0.5) * period_ns
    for figure, share in [("p25_ns", 0.25), ("median_ns", 0.5), ("p99_ns", 0.99)]:
        assert filled[figure] == pytest.approx(share * whole, rel=1e-3), figure
    assert filled["mean_ns"] == pytest.approx(whole / 2, rel=1e-4)


def test_missed_periods_of_many_trials_take_little(tmp_path):
    """Each of them few enough to be filled in one by one; all of them together are not."""
    run = missed_run(tmp_path / "run", 20, 52, 80_000)
    done, memory = limited("report", run, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert memory < 256, memory
    [found] = json.loads(done.stdout)["cells"]
    assert found["missed_filled"]["samples"] == 20 * 52 * 80_001
    assert found["missed_filled"]["median_ns"] == pytest.approx(4e9, rel=1e-3)


def test_more_missed_periods_than_a_run_has_are_refused(tmp_path):
    refused_within_limits(missed_run(tmp_path / "run", 2, 3000, 80_000), "missed periods in", "32 a byte")


def test_one_text_in_every_row_takes_little(tmp_path):
    """As often as the limits let it stand there."""
    rows = 2**21
    run = write_run(tmp_path / "run", [trial(some_values(10), side_tables={
        "flows": pa.table({"flow": pa.array(["x"]), "peer": pa.array(["x"])})})], finished=False)
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["a flow"]))
    table = pa.table({"flow": texts, "peer": texts})
    path = run / "samples/00000.flows.parquet"
    pq.write_table(table, path, row_group_size=rows)
    plain = pa.table({name: column.cast(pa.string()) for name, column in zip(table.column_names, table.columns)})
    change_record(run, lambda record: record["trials"][0]["tables"]["flows"].update(
        rows=rows, crc32=checksum(plain, ["flow", "peer"])))
    assert path.stat().st_size < 10**5
    done, memory = limited("report", run, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert memory < 256, memory



@pytest.mark.parametrize("rows", [2**62, 2**40, 2**31 - 1])
@BOTH_FORMS
def test_a_footer_that_announces_rows_without_end_is_refused(tmp_path, rows, finished):
    """The number of rows stands in the footer twice: of the file and of its row group."""
    run = write_run(tmp_path / "run", [trial(some_values(1234))], finished)
    path = run / ("wake-up.parquet" if finished else "samples/00000.parquet")
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - length:-8].replace(zigzag(1234), zigzag(rows))
    content = content[:-8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    path.write_bytes(content)

    def announce(record):
        record["trials"][0]["tables"]["samples"]["rows"] = rows
        for file in record["files"]:
            if file["file"] == path.name:
                file |= {"bytes": len(content), "crc32": f"{zlib.crc32(content):08x}"}

    change_record(run, announce)
    refused_within_limits(run)


def test_a_footer_with_lists_of_truths_without_end_is_refused(tmp_path):
    """They take no bytes, but time."""
    run = write_run(tmp_path / "run", [trial(some_values(10))], finished=False)
    path = run / "samples/00000.parquet"
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    # Field 100: ten lists of 2^31 - 1 truths each.
    field = b"\x09" + zigzag(100) + b"\xa9" + 10 * b"\xf1\xff\xff\xff\xff\x07"
    footer = content[-8 - length:-9] + field + b"\0"
    path.write_bytes(content[:-8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    refused_within_limits(run, "list of truths")


def zigzag(number: int) -> bytes:
    """A number as Thrift's compact protocol writes it."""
    rest, encoded = number << 1, bytearray()
    while rest > 0x7f:
        encoded.append(rest & 0x7f | 0x80)
        rest >>= 7
    return bytes(encoded) + bytes([rest])
