"""Runs whose truth is known, from files to words: intervals printed or refused as docs/validity.md
says, ranges of blocks that disagree, changes on the way, and quantiles beyond the samples."""

import json
import re
from statistics import NormalDist

import numpy as np
import pytest
from conftest import tompion
from known_series import FACTORS, MEDIAN_PS, SECOND, SIGMA, blocks_of, lognormal, trials
from run_generator import Trial, write_run
from test_other_writers import refusal, replace_column

import pyarrow as pa

SHOWN = {"median_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99, "p99_9_ns": 0.999}
NORMAL = {0.5: 0.0, 0.99: 2.3263478740408408}


def report(run):
    return json.loads(tompion("report", run, "--json", check=0).stdout)


def told(run, form=None):
    arguments = ["--format", form] if form else []
    return tompion("report", run, *arguments, check=0).stdout


def us(ns):
    """Nanoseconds in microseconds with three digits, as the report has them."""
    return f"{ns / 1000:.{0 if ns >= 99_950 else 1}f} µs"


def only_cell(found):
    assert len(found["cells"]) == 1
    return found["cells"][0]


@pytest.fixture(scope="module")
def cell_of(tmp_path_factory):
    """The cell of a run of 8 blocks of 4000 samples of a series, with its run; made once each."""
    known = {}

    def of(name):
        if name not in known:
            blocks = blocks_of(name)
            run = write_run(tmp_path_factory.mktemp("known") / "run", trials(blocks))
            known[name] = blocks, run, only_cell(report(run))
        return known[name]

    return of


@pytest.mark.parametrize("name", ["independent", "AR(0.9)", "AR(0.999)", "stalls of 10", "stalls of 50",
                                  "trend of 3 %", "regimes", "the ends of the range"])
def test_figures_are_those_of_numpy(cell_of, name):
    blocks, _, cell = cell_of(name)
    exact = blocks.ravel().astype(np.longdouble)
    assert cell["measured"]["samples"] == exact.size
    for figure, q in SHOWN.items():
        expected = float(np.quantile(exact, q) / 1000)
        assert cell["measured"][figure] == pytest.approx(expected, rel=1e-12), figure


@pytest.mark.parametrize("name, figures", [("independent", ("median_ns", "p99_ns")), ("AR(0.9)", ("median_ns", "p99_ns")),
                                           ("stalls of 10", ("median_ns", "p99_ns")), ("stalls of 50", ("median_ns",)),
                                           ("trend of 3 %", ("median_ns", "p99_ns"))])
def test_an_interval_that_holds_is_printed(cell_of, name, figures):
    blocks, run, cell = cell_of(name)
    for figure in figures:
        found = cell["measured"]["over_blocks"][figure]
        assert found["no_interval"] is None and found["range_of_blocks"] is None, (figure, found)
        low, high = found["interval"]["low_ns"], found["interval"]["high_ns"]
        assert low <= cell["measured"][figure] <= high and high / low < 1.3
        if name in ("independent", "AR(0.9)"):
            truth = MEDIAN_PS / 1000 * np.exp(SIGMA * NORMAL[SHOWN[figure]])
            assert low <= truth <= high
    assert cell["no_median_interval"] is None
    assert "no 95 % interval" not in told(run)


@pytest.mark.parametrize("name, figure, words", [
    ("independent", "p99_9_ns", "32000 samples; an interval of this quantile needs 60000"),
    ("AR(0.999)", "median_ns", "values drift within blocks; it takes longer blocks"),
    ("AR(0.999)", "p99_ns", "values drift within blocks; it takes longer blocks"),
    ("stalls of 50", "p99_ns", "a few bursts decide where it lies; it takes more blocks"),
    ("regimes", "p99_ns", "blocks differ by more than chance; it takes finding out what changes between them"),
])
def test_an_interval_that_would_not_hold_is_refused_with_its_reason(cell_of, name, figure, words):
    _, run, cell = cell_of(name)
    found = cell["measured"]["over_blocks"][figure]
    assert (found["interval"], found["no_interval"]) == (None, words)
    if figure == "median_ns":
        assert cell["no_median_interval"] == f"no 95 % interval: {words}"
        for form in (None, "md", "html"):
            assert f"¹ no 95 % interval: {words}." in " ".join(told(run, form).split()), form


def test_the_reasons_are_those_of_the_documentation(cell_of):
    from conftest import ROOT
    documented = (ROOT / "docs/validity.md").read_text()
    for name in ("AR(0.999)", "stalls of 50", "regimes"):
        for found in cell_of(name)[2]["measured"]["over_blocks"].values():
            words = found["no_interval"]
            if words and not words[0].isdigit():
                assert f"| {words} |" in documented, words


def test_blocks_of_two_kinds_show_their_range(cell_of):
    blocks, run, cell = cell_of("regimes")
    medians = np.median(blocks, axis=1) / 1000
    found = cell["measured"]["over_blocks"]["median_ns"]["range_of_blocks"]
    assert (found["low_ns"], found["high_ns"]) == pytest.approx((medians.min(), medians.max()), rel=1e-12)
    words = f"{us(medians.min())} to {us(medians.max())} (blocks)"
    for form in (None, "md", "html"):
        assert words in told(run, form), form
    _, run, cell = cell_of("the ends of the range")
    # Blocks of one kind, however far apart their samples lie.
    assert cell["measured"]["over_blocks"]["median_ns"]["range_of_blocks"] is None
    apart = np.where(np.arange(8) % 2, 9 * 10**18, -9 * 10**18)
    run = write_run(run.parent / "apart", trials(np.repeat(apart, 100).reshape(8, 100)))
    found = only_cell(report(run))["measured"]["over_blocks"]["median_ns"]["range_of_blocks"]
    assert found == {"low_ns": -9e15, "high_ns": 9e15}


def test_a_fast_trial_does_not_outvote_slow_ones(tmp_path):
    """usleep beside a load that one trial did not meet: it ends by time and brings most samples."""
    rng = np.random.default_rng(5)
    blocks = [3.8e9 * (1 + 0.02 * rng.standard_normal(60)) for _ in range(7)]
    blocks.insert(4, 67e6 * (1 + 0.02 * rng.standard_normal(3000)))
    blocks = [block.astype(np.int64) for block in blocks]
    run = write_run(tmp_path / "run", trials(blocks))
    cell = only_cell(report(run))
    assert cell["measured"]["median_ns"] > 3.7e6
    range_ = re.compile(r"6[67]\.\d µs to 3\.8\d ms \(blocks\)")
    for form in (None, "md", "html"):
        assert range_.search(told(run, form)), form
    # In the plot, too: one block of eight is fast.
    page = told(run, "html")
    assert "in the mean of the blocks' distributions" in page.replace("&#39;", "'")


def test_what_is_no_number_is_refused(tmp_path):
    blocks = blocks_of("independent", 2, 100)
    run = write_run(tmp_path / "samples", trials(blocks), finished=False)
    replace_column(run, "samples", "value_ps", pa.array(np.full(100, np.nan)))
    assert "samples" in refusal(run)
    run = write_run(tmp_path / "record", trials(blocks, measurement={"floor_ns": float("nan")}))
    assert "NaN" in (run / "run.json").read_text()
    refusal(run)


# --- what wanders from block to block --------------------------------------------------------

WANDERING = ("AR(0.99)", "long memory", "30 % between blocks")
DRIFTS = "values drift within blocks; it takes longer blocks"
DIFFER = "blocks differ by more than chance; it takes finding out what changes between them"


def truth_ns(q):
    return MEDIAN_PS / 1000 * np.exp(SIGMA * NormalDist().inv_cdf(q))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", WANDERING)
def test_of_what_wanders_nothing_false_is_printed(tmp_path, name, seed):
    run = write_run(tmp_path / "run", trials(blocks_of(name, seed=seed)))
    found = report(run)
    cell = only_cell(found)
    quantiles = SHOWN | {"p99_99_ns": 0.9999}
    reasons = set()
    for figure, q in quantiles.items():
        over = cell["measured"]["over_blocks"][figure]
        if over["interval"]:
            assert over["no_interval"] is None
            assert over["interval"]["low_ns"] <= truth_ns(q) <= over["interval"]["high_ns"], (figure, over)
        else:
            reasons.add(over["no_interval"])
    # The p99 of eight blocks of any of these is known by none of them.
    p99 = cell["measured"]["over_blocks"]["p99_ns"]
    assert (p99["interval"], p99["no_interval"]) == (None, DIFFER if "between" in name else DRIFTS)
    assert all(why in (DRIFTS, DIFFER) or why.startswith("32000 samples; ") for why in reasons)
    for profile in found["assessment"]["profiles"]:
        for load in profile["by_load"]:
            keeps = truth_ns(load["quantile"]) <= load["limit_ns"]
            assert load["outcome"] in ("inconclusive", "near-limit", "pass" if keeps else "fail"), load
            assert load["reason"] or load["outcome"] in ("pass", "fail"), load
    for q in cell["tail"]["quantiles"]:
        assert q["refused"] if not q["extrapolated"] else q["low_ns"] <= truth_ns(q["quantile"]) <= q["high_ns"]
    assert not any(series["found"] for series in found["change_points"]["series"])
    for form in (None, "md", "html"):
        text = " ".join(told(run, form).split())
        # Where the median has no interval the reason stands below its table.
        why = cell["measured"]["over_blocks"]["median_ns"]["no_interval"]
        assert why is None or f"no 95 % interval: {why}" in text, form
        assert "Not for VoIP" not in text and "Good for" not in text, form


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", WANDERING)
def test_two_runs_of_what_wanders_are_not_said_to_differ(tmp_path, name, seed):
    """One series that goes on, cut into two runs."""
    blocks = blocks_of(name, blocks=16, seed=seed)
    a = write_run(tmp_path / "a", trials(blocks[:8]))
    b = write_run(tmp_path / "b", trials(blocks[8:]), started_at="2026-01-02T03:04:20Z")
    gates = ("--fail-if", "usleep median > 0", "--fail-if", "usleep p99 < 0")
    done = tompion("compare", a, b, "--json", "--within-run", *gates)
    found = json.loads(done.stdout)
    for row in found["comparisons"]:
        assert row["outcome"] in ("no-difference-found", "not-decidable"), row
        if row["ratio_interval"]:
            low, high = row["ratio_interval"]
            assert low < 1 < high, row
        if name == "long memory" and row["figure"] in ("median", "p99"):
            assert row["outcome"] == "not-decidable" and row["drift"]["kind"] == "within-blocks", row
            assert "values drift within" in row["sentence"]
    assert all(gate["judgement"] == "inconclusive" for gate in found["gates"]) and done.returncode == 3


@pytest.mark.parametrize("name", ["independent", "trend of 3 %", "AR(0.9)"])
def test_a_row_shows_the_interval_that_a_gate_is_judged_by(tmp_path, name):
    blocks = blocks_of(name, blocks=16)
    a = write_run(tmp_path / "a", trials(blocks[:8]))
    b = write_run(tmp_path / "b", trials(blocks[8:]), started_at="2026-01-02T03:04:20Z")
    gates = ("--fail-if", "usleep median > +50%", "--fail-if", "usleep p99 > +1ms")
    found = json.loads(tompion("compare", a, b, "--json", "--within-run", *gates).stdout)
    rows = {row["figure"]: row for row in found["comparisons"]}
    for gate, (figure, interval) in zip(found["gates"], [("median", "ratio"), ("p99", "shift")], strict=True):
        row = rows[figure]
        assert gate["judgement"] == "pass" and gate["change"] == row[interval]
        assert gate["change_interval"] == row[f"{interval}_interval"]
        assert "with 95 % confidence and drift allowed for, between" in row["sentence"]
    text = " ".join(tompion("compare", a, b, "--within-run", *gates).stdout.split())
    assert "interval of this comparison alone, which allows for drift;" in text


def test_a_gate_does_not_pass_by_what_a_trend_hides(tmp_path):
    """All becomes faster by 2 % a block; the second run is 30 % slower, and looks 11 % slower."""
    rng = np.random.default_rng(9)
    values = lognormal(rng.standard_normal((16, 4000))) * 0.98 ** np.arange(16)[:, None]
    blocks = (values * np.where(np.arange(16) < 8, 1, 1.3)[:, None]).astype(np.int64)
    a = write_run(tmp_path / "a", trials(blocks[:8]))
    b = write_run(tmp_path / "b", trials(blocks[8:]), started_at="2026-01-02T03:04:20Z")
    gate = ("--within-run", "--fail-if", "usleep median > +20%")
    done = tompion("compare", a, b, *gate, "--json", check=3)
    [judged] = json.loads(done.stdout)["gates"]
    assert (judged["judgement"], judged["undecided"]) == ("inconclusive", "drift")
    low, high = judged["change_interval"]
    assert low < 1.2 < high
    told = " ".join(tompion("compare", a, b, *gate, check=3).stdout.split())
    assert "not decidable: " in told and "INCONCLUSIVE" in told.upper()
    # Taken by turns nothing is hidden: one pair a block.
    both = [trial for number in range(8) for trial in (
        Trial({**FACTORS, "timer-slack": slack}, at_ns=np.arange(1, 4001) * 100_000, block=number,
              value_ps=(values[2 * number + place] * times).astype(np.int64),
              started_ns=(2 * number + place) * SECOND, duration_ns=SECOND // 2)
        for place, (slack, times) in enumerate((("1ns", 1), ("default", 1.3))))]
    turns = write_run(tmp_path / "turns", both)
    tompion("compare", turns, "--by", "timer-slack", "--fail-if", "usleep median > +20%", check=2)


# --- changes on the way --------------------------------------------------------------------


def spread(rng, count, step=1.0, where=0.5):
    """Medians with a spread of 10 % that are `step` times as large from a part of them on."""
    level = np.where(np.arange(count) < where * count, 1.0, step)
    return 50e6 * level * (1 + 0.1 * rng.standard_normal(count))


def of_medians(rng, medians, size=101):
    """Blocks of these medians."""
    within = np.linspace(0.8, 1.2, size)
    return [(median * rng.permutation(within)).astype(np.int64) for median in medians]


def test_a_step_across_blocks_is_found_with_its_time_and_size(tmp_path):
    rng = np.random.default_rng(3)
    run = write_run(tmp_path / "run", trials(of_medians(rng, spread(rng, 60, 1.2))))
    [series] = report(run)["change_points"]["series"]
    assert (series["of"], series["within_block"], series["figures"]) == ("median", None, 60)
    [change] = series["found"]
    assert abs(change["at_ns"] - 30 * SECOND) <= 2 * SECOND
    assert change["between_ns"][0] <= 30 * SECOND <= change["between_ns"][1]
    assert change["ratio_interval"]["low"] <= 1.2 <= change["ratio_interval"]["high"]
    assert change["before_ns"] == pytest.approx(50e3, rel=0.05) and change["p"] <= 0.05
    seconds, by = change["at_ns"] / SECOND, round(100 * (change["ratio"] - 1))
    words = f"usleep, 100 µs, idle: the median of blocks rose by {by} %"
    for form in (None, "md", "html"):
        text = " ".join(told(run, form).split())
        assert words in text and f"{seconds:.1f} s into the run" in text, (form, text)


def test_a_step_that_is_known_to_the_figure_has_no_range(tmp_path):
    rng = np.random.default_rng(3)
    run = write_run(tmp_path / "run", trials(of_medians(rng, spread(rng, 60, 20.0))))
    [change] = report(run)["change_points"]["series"][0]["found"]
    assert change["between_ns"] == [change["at_ns"]] * 2
    text = " ".join(told(run).split())
    assert f"{change['at_ns'] / SECOND:.1f} s into the run, from " in text, text


def test_a_run_without_a_step_says_so(tmp_path):
    rng = np.random.default_rng(4)
    run = write_run(tmp_path / "run", trials(of_medians(rng, spread(rng, 60))))
    [series] = report(run)["change_points"]["series"]
    assert series["found"] == [] and series["not_looked_for"] is None
    for form in (None, "md", "html"):
        assert "No change found in 1 series" in told(run, form)
    few = write_run(tmp_path / "few", trials(of_medians(rng, spread(rng, 8))))
    [series] = report(few)["change_points"]["series"]
    assert series["found"] is None
    assert series["not_looked_for"] == "change points take 16 figures, not 8"
    assert "Changes were not looked for" in told(few, "md")
    assert "No change found" not in told(few, "md")


def test_a_step_within_a_long_trial_is_found(tmp_path):
    rng = np.random.default_rng(6)
    values = lognormal(rng.standard_normal(12_000)) * np.where(np.arange(12_000) < 8_000, 1, 1.6)
    run = write_run(tmp_path / "run", trials([values.astype(np.int64)], length_ns=60 * SECOND))
    [_, series] = report(run)["change_points"]["series"]
    assert (series["within_block"], series["figures"]) == (0, 60)
    [change] = series["found"]
    assert abs(change["at_ns"] - 40 * SECOND) <= 2 * SECOND
    assert change["ratio_interval"]["low"] <= 1.6 <= change["ratio_interval"]["high"]
    assert "the median within block 0 rose by" in " ".join(told(run).split())


def test_a_change_of_the_rate_of_stalls_is_found(tmp_path):
    rng = np.random.default_rng(7)
    seconds, rates = 60, np.where(np.arange(60) < 20, 10, 40)
    at_ns = np.concatenate([np.sort(rng.integers(s * SECOND, (s + 1) * SECOND, rng.poisson(rate)))
                            for s, rate in enumerate(rates)])
    length_ns = 5_000
    found = {"threshold_ns": 1000, "iterations": 10**9, "loop_period_ns": 50.0, "wall_ns": seconds * SECOND,
             "observed_ns": seconds * SECOND, "own_ns": 0, "stalls": len(at_ns), "lost_ns": length_ns * len(at_ns),
             "rows_lost": 0, "causes": []}
    trial = Trial({"probe": "stalls", "method": "busy-loop", "load": "idle"}, at_ns=at_ns,
                  value_ps=np.full(len(at_ns), length_ns * 1000), duration_ns=seconds * SECOND,
                  findings={"stalls": found})
    run = write_run(tmp_path / "run", [trial])
    series = [s for s in report(run)["change_points"]["series"] if s["within_block"] == 0]
    [change] = series[0]["found"]
    assert abs(change["at_ns"] - 20 * SECOND) <= 2 * SECOND
    assert change["before_stalls_per_second"] == pytest.approx(10, rel=0.2)
    assert change["after_stalls_per_second"] == pytest.approx(40, rel=0.1)
    assert "the number of stalls within block 0 rose to" in " ".join(told(run).split())


# --- beyond the samples --------------------------------------------------------------------


def test_a_tail_is_extrapolated_and_says_so(tmp_path):
    blocks = blocks_of("independent", 8, 250, seed=2)
    run = write_run(tmp_path / "run", trials(blocks))
    found = report(run)
    tail = only_cell(found)["tail"]
    assert [q["quantile"] for q in tail["quantiles"]] == [0.999, 0.9999]
    for q, normal in zip(tail["quantiles"], (3.090232306167814, 3.719016485455709)):
        truth = MEDIAN_PS / 1000 * np.exp(SIGMA * normal)
        assert q["extrapolated"] and q["low_ns"] <= truth <= q["high_ns"]
        assert q["samples_expected_beyond"] == pytest.approx(2000 * (1 - q["quantile"]))
    for form in (None, "md", "html"):
        text = " ".join(told(run, form).split())
        assert "p99.9, extrapolated" in text or "extrapolated" in text and "p99.9," in text, form
    # In no verdict: those go by what was sampled.
    verdicts = [load for profile in found["assessment"]["profiles"] for load in profile["by_load"]]
    assert verdicts and all(load["outcome"] != "pass" for load in verdicts if load["quantile"] == 0.999)


@pytest.mark.parametrize("name, size, words", [
    ("AR(0.9)", 4000, "the largest samples come in clusters"),
    ("regimes", 500, "blocks disagree"),
    ("independent", 50, "a tail takes 500 samples, not 400"),
])
def test_a_tail_that_cannot_be_told_is_refused_with_its_reason(tmp_path, name, size, words):
    run = write_run(tmp_path / "run", trials(blocks_of(name, 8, size)))
    for q in only_cell(report(run))["tail"]["quantiles"]:
        assert not q["extrapolated"] and words in q["refused"]
    ticket = " ".join(told(run, "md").split())
    # Of a handful of samples nobody asks for a p99.9.
    assert ("Beyond the samples" not in ticket) if size == 50 else (words in ticket)


def test_enough_samples_are_not_extrapolated(tmp_path):
    run = write_run(tmp_path / "run", trials(blocks_of("independent", 8, 8000)))
    cell = only_cell(report(run))
    assert [q["quantile"] for q in cell["tail"]["quantiles"]] == [0.9999]
    assert cell["measured"]["over_blocks"]["p99_9_ns"]["interval"] is not None
