"""`tompion compare --factors` agrees with SciPy, scikit-posthocs and R on the figures of trials."""

import itertools
import json
import shutil

import numpy
import pytest

from conftest import tompion
from heavy import scikit_posthocs, stats
from rank_witness import close
from run_generator import Trial, write_run
from test_rank_factorial import FIGURES, in_r

BLOCKS, SAMPLES = 6, 101
METHODS, LOADS, PLATFORMS = ["clock-nanosleep", "nanosleep", "usleep"], ["cpu", "idle"], ["host", "runc"]


def key(method, load, **more):
    return {"probe": "wake-up", "method": method, "target": "100us", "load": load, **more}


def trials_of(random, cells, middle, blocks=BLOCKS, samples=SAMPLES):
    """Trials of cells, whose medians scatter by a tenth around `middle` of each."""
    for block, (at, factors) in itertools.product(range(blocks), enumerate(cells)):
        around = middle(factors) * random.lognormal(0, 0.1)
        values = (around * random.lognormal(0, 0.3, samples)).astype("int64")
        yield Trial(factors, at_ns=numpy.arange(samples) * 1000, value_ps=values, block=block,
                    started_ns=block * 10_000 + at)


def middle(factors):
    """A method and a load that matter, together more than either; platforms do not."""
    slow = 2.0 if factors["method"] == "usleep" else 1.0
    return 50e6 * slow * (3.0 if factors["load"] == "cpu" and slow > 1 else 1.0)


def medians_of(trials, names):
    """Rows of levels and the median of each trial in nanoseconds."""
    return [([t.factors[n] for n in names], float(numpy.median(t.value_ps)) / 1000) for t in trials]


def by_level(rows, at, levels):
    return [[value for names, value in rows if names[at] == level] for level in levels]


def analysed(*arguments, status=0):
    done = tompion("compare", *map(str, arguments), "--json", check=status)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    cells = [key(m, lo) for m, lo in itertools.product(METHODS, LOADS)]
    trials = list(trials_of(numpy.random.default_rng(7), cells, middle))
    return write_run(tmp_path_factory.mktemp("factors") / "two", trials), trials


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    each = itertools.product(METHODS, LOADS, PLATFORMS)
    cells = [key(m, lo, platform=p) for m, lo, p in each]
    trials = list(trials_of(numpy.random.default_rng(8), cells, middle))
    return write_run(tmp_path_factory.mktemp("factors") / "three", trials), trials


def test_each_factor_alone_matches_scipy_and_scikit_posthocs(two):
    run, trials = two
    [group] = analysed(run, "--factors", "method,load")["groups"]
    assert group["levels"] == {"method": METHODS, "load": LOADS}
    rows = medians_of(trials, ["method", "load"])
    [median] = [f for f in group["figures"] if f["figure"] == "median"]
    assert (median["trials"], median["blocks"], median["cells"], median["unit"]) == (36, BLOCKS, 6, "ns")
    for at, (one, levels) in enumerate(zip(median["one_factor"], [METHODS, LOADS])):
        groups = by_level(rows, at, levels)
        want = stats.kruskal(*groups)
        got = one["kruskal_wallis"]
        close([got["h"], got["p"]], [want.statistic, want.pvalue])
        close(got["epsilon_squared"], want.statistic / (len(rows) - 1))
        close(one["middles"], [float(numpy.median(g)) for g in groups])
        dunn = scikit_posthocs.posthoc_dunn(groups, p_adjust="holm").to_numpy()
        ranks = numpy.split(stats.rankdata(numpy.concatenate(groups)), numpy.cumsum([len(g) for g in groups])[:-1])
        tukey = stats.tukey_hsd(*ranks).pvalue
        for pair in one["pairs"]:
            i, j = map(levels.index, pair["levels"])
            close(pair["dunn"]["p_adjusted"], dunn[i, j])
            close(pair["tukey"]["p"], tukey[i, j], rel=1e-5, absolute=1e-9)
            above = numpy.greater.outer(groups[j], groups[i]).mean()
            close(pair["vargha_delaney_a"], above)
    found = {one["factor"]: one["kruskal_wallis"]["p"] for one in median["one_factor"]}
    assert found["method"] < 0.001


@pytest.mark.parametrize("name", ["two", "three"])
def test_all_factors_together_match_r(request, name):
    run, trials = request.getfixturevalue(name)
    factors = ["method", "load", "platform"][: 2 if name == "two" else 3]
    [group] = analysed(run, "--factors", ",".join(factors))["groups"]
    median = group["figures"][0]
    want = in_r(factors, medians_of(trials, factors), False)
    total = len(trials) - 1
    for ours, theirs in {"aligned_ranks": "art", "scheirer_ray_hare": "srh"}.items():
        found = median[ours]
        assert len(found["effects"]) == len(want) / 2 and found["untested"] is None
        for effect in found["effects"]:
            figures = want[f"{theirs}-{':'.join(effect['factors'])}"]
            close([effect[f] for f in FIGURES], figures, absolute=1e-12)
            share = effect["sum_of_squares"] / (effect["sum_of_squares"] + effect["error_sum_of_squares"])
            close(effect["eta_squared"], share if theirs == "art" else effect["statistic"] / total)
    cells = {}
    for levels, value in medians_of(trials, factors):
        cells.setdefault(tuple(levels), []).append(value)
    spread = stats.levene(*cells.values(), center="median")
    close([median["brown_forsythe"]["f"], median["brown_forsythe"]["p"]], list(spread))
    p = {":".join(e["factors"]): e["p"] for e in median["aligned_ranks"]["effects"]}
    # Planted: method, load, and the two together.
    assert max(p["method"], p["load"], p["method:load"]) < 0.001


def test_the_papers_own_form_takes_one_figure_of_each_cell(two):
    run, trials = two
    [group] = analysed(run, "--factors", "method,load")["groups"]
    cells = {}
    for trial in trials:
        at = (trial.factors["method"], trial.factors["load"])
        cells.setdefault(at, []).append(numpy.asarray(trial.value_ps) / 1000)
    pooled = {at: numpy.concatenate(values) for at, values in cells.items()}
    figures = {
        "median": numpy.median,
        "MAD": lambda v: numpy.subtract(*numpy.quantile(v, [0.75, 0.25])) / 2,
        "max": numpy.max,
        "min": numpy.min,
    }
    assert [f["figure"] for f in group["papers_own_form"]] == list(figures)
    for found in group["papers_own_form"]:
        assert (found["cells"], found["without_replicates"]) == (6, True)
        rows = [(at, figures[found["figure"]](values)) for at, values in pooled.items()]
        for at, (one, levels) in enumerate(zip(found["one_factor"], [METHODS, LOADS])):
            groups = by_level(rows, at, levels)
            want = stats.kruskal(*groups)
            close([one["kruskal_wallis"]["h"], one["kruskal_wallis"]["p"]], [want.statistic, want.pvalue])
            dunn = scikit_posthocs.posthoc_dunn(groups, p_adjust="holm").to_numpy()
            for pair in one["pairs"]:
                i, j = map(levels.index, pair["levels"])
                close(pair["dunn"]["p_adjusted"], dunn[i, j])
    told = tompion("compare", run, "--factors", "method,load").stdout
    assert "~ The papers' own form" in told and "~ method" in told


def test_figures_are_chosen_and_blocks_without_them_left_out(tmp_path):
    random = numpy.random.default_rng(9)
    cells = [key(m, lo) for m, lo in itertools.product(METHODS, LOADS)]
    trials = list(trials_of(random, cells, middle))
    # Too few for a p99, and for nothing else.
    trials[7].at_ns, trials[7].value_ps = trials[7].at_ns[:50], trials[7].value_ps[:50]
    run = write_run(tmp_path / "run", trials)
    [group] = analysed(run, "--factors", "method,load", "--statistics", "p99,max")["groups"]
    p99, longest = group["figures"]
    assert (p99["figure"], p99["blocks"], p99["blocks_left_out"]) == ("p99", BLOCKS - 1, 1)
    assert (longest["figure"], longest["blocks"], longest["blocks_left_out"]) == ("max", BLOCKS, 0)
    assert any("1 block is left out" in line for line in p99["assumptions"])


def test_runs_are_taken_together_or_are_a_factor(two, tmp_path):
    run, trials = two
    doubled = [Trial(t.factors, at_ns=t.at_ns, value_ps=2 * t.value_ps, block=t.block) for t in trials]
    slow = write_run(tmp_path / "slow", doubled)
    [together] = analysed(run, slow, "--factors", "method,load")["groups"]
    assert together["figures"][0]["trials"] == 2 * len(trials)
    found = analysed(run, slow, "--factors", "run,load")["groups"]
    assert [g["common"]["method"] for g in found] == METHODS
    for group in found:
        [of_run, _] = group["figures"][0]["one_factor"]
        assert of_run["factor"] == "run" and of_run["levels"] == sorted(map(str, [run, slow]))


def test_timer_slack_of_methods_on_which_it_does_not_act(tmp_path):
    usual = {"timer-slack": "default"}
    cells = [key("usleep", lo, **usual) for lo in LOADS] + [key("timerfd", lo) for lo in LOADS]
    run = write_run(tmp_path / "run", list(trials_of(numpy.random.default_rng(1), cells, middle)))
    [group] = analysed(run, "--factors", "method,load")["groups"]
    assert group["levels"]["method"] == ["timerfd", "usleep"]


@pytest.mark.parametrize(
    "factors, told",
    [
        ("method", "1 factor is given: two or three"),
        ("method,load,target,policy", "4 factors are given"),
        ("method,method", "factor `method` is named twice"),
        ("method,loa", "no trial has a factor `loa`; did you mean `load`?"),
        ("method,loud", "no trial has a factor `loud`; factors with several are load, method"),
        ("method,target", "the only level of `target` is `100us`; factors with several are"),
        ("run,load", "the only level of `run` is"),
    ],
)
def test_wrong_factors_get_one_line(two, factors, told):
    done = tompion("compare", two[0], "--factors", factors, check=1)
    [line] = done.stderr.splitlines()
    assert told in line and done.stdout == ""


def test_a_run_and_its_copy_are_not_analysed_together(two, tmp_path):
    copy = shutil.copytree(two[0], tmp_path / "copy")
    done = tompion("compare", two[0], copy, "--factors", "run,load", check=1)
    assert f"{copy} is a copy of {two[0]}" in done.stderr and done.stderr.count("\n") == 1


def test_cells_that_make_no_table_get_one_line(tmp_path):
    cells = [key("usleep", "idle"), key("usleep", "cpu"), key("nanosleep", "idle")]
    run = write_run(tmp_path / "run", list(trials_of(numpy.random.default_rng(2), cells, middle)))
    done = tompion("compare", run, "--factors", "method,load", check=1)
    [line] = done.stderr.splitlines()
    assert "3 of 4 combinations of levels were measured" in line
    done = tompion("compare", run, "--factors", "method,load", "--by", "load", check=1)
    assert "cannot be used with" in done.stderr


def test_loads_are_held_against_rest(two):
    # In the order of their names another load would come first.
    assert LOADS == ["cpu", "idle"]
    assert analysed(two[0], "--by", "load")["sides"] == ["idle", "cpu"]


def test_a_run_with_very_many_levels_is_told_so(tmp_path):
    cells = [key(f"method-{n}", lo) for n, lo in itertools.product(range(41), LOADS)]
    run = write_run(tmp_path / "run", list(trials_of(numpy.random.default_rng(4), cells, middle, 1, 3)))
    done = tompion("compare", run, "--factors", "method,load", check=1)
    assert "method has 41 levels, and pairs of at most 40 are tested" in done.stderr


def test_one_block_leaves_the_highest_interaction_untested(tmp_path):
    cells = [key(m, lo) for m, lo in itertools.product(METHODS, LOADS)]
    run = write_run(tmp_path / "run", list(trials_of(numpy.random.default_rng(3), cells, middle, blocks=1)))
    [group] = analysed(run, "--factors", "method,load")["groups"]
    median = group["figures"][0]
    assert median["aligned_ranks"]["untested"] == "method:load" and median["brown_forsythe"] is None
    assert any("cannot be tested" in line for line in median["assumptions"])


def test_a_labs_report_has_them_and_no_other(two, three):
    text = tompion("report", three[0], "--format", "md").stdout
    assert "## Factors" in text
    assert "Tests on ranks of trials by method, load, platform" in text
    assert "method × load × platform" in text and "papers' own form" in text
    assert "Tests on ranks of trials by" not in tompion("report", two[0], "--format", "md").stdout
