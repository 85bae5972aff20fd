"""Runs held against each other: planted shifts are found, gates judge by intervals."""

import ctypes
import fcntl
import json
import os
import shutil
import subprocess
import tarfile
from math import comb

import numpy as np
import pytest

from conftest import ROOT, TOMPION, tompion
from run_generator import Trial, write_run
from runs import record_of, write_record

PR_SET_TIMERSLACK = 29
# Far above what a machine at rest adds to a median.
PLANTED_NS = 5_000_000
# A neighbour's load may be larger still for a while; each try is told.
ATTEMPTS = 3


def slack_of(nanoseconds):
    def prepare():
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0)

    return prepare


def record(directory, *arguments, slack_ns=50_000, levels="default"):
    """A run whose process has this timer slack, which kernels add to sleeps."""
    command = [TOMPION, "measure", "wake-up", "--methods", "usleep", "--targets", "100us"]
    subprocess.run(
        [*command, "--slack", levels, "--quiet", "--out", directory, *arguments],
        preexec_fn=slack_of(slack_ns),
        check=True,
        timeout=60,
    )
    return directory


class Runs(dict):
    """Runs alike, and some whose sleeps take up to five milliseconds longer; each is made
    when a test first asks for it."""

    USUAL = ("--blocks", "8", "--duration", "4s")
    SINGLE = ("--blocks", "1", "--duration", "2s")
    HOW = {
        "before": (USUAL, {}),
        "slow": (USUAL, {"slack_ns": PLANTED_NS}),
        "again": (USUAL, {}),
        "one": (SINGLE, {}),
        "other": (SINGLE, {"slack_ns": PLANTED_NS}),
        "tiny": (("--blocks", "1", "--samples", "20"), {}),
        "levels": (("--blocks", "8", "--duration", "6s"), {"levels": "default,5ms"}),
    }

    def __init__(self, base):
        super().__init__()
        self.base = base

    def __missing__(self, name):
        arguments, how = self.HOW[name]
        self[name] = record(self.base / name, *arguments, **how)
        return self[name]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return Runs(tmp_path_factory.mktemp("compare"))


def compared(*arguments, status=0):
    done = tompion("compare", *arguments, "--json", check=status)
    return json.loads(done.stdout)


def attempts(check, directory):
    """Calls `check` with an empty directory until it holds, a few times at most."""
    told = []
    for number in range(ATTEMPTS):
        try:
            return check(directory / str(number))
        except AssertionError as error:
            told.append(str(error))
    pytest.fail("\n".join(told))


def test_a_planted_shift_is_found_with_its_size_and_its_cause_is_listed(tmp_path):
    attempts(planted_shift, tmp_path)


def planted_shift(directory):
    usual = ("--blocks", "8", "--duration", "4s")
    directory.mkdir()
    before = record(directory / "before", *usual)
    slow = record(directory / "slow", *usual, slack_ns=PLANTED_NS)
    found = compared(before, slow)
    slack = [d for d in found["environment_differences"] if d["what"] == "clock timer slack ns"]
    assert slack[0]["values"] == ["50000", str(PLANTED_NS)]
    [median] = [c for c in found["comparisons"] if c["figure"] == "median"]
    assert median["outcome"] == "differs" and median["basis"] == "trials"
    assert min(median["replicates"]) >= 6 and median["vargha_delaney_a"] == 1.0
    # The kernel uses all of the slack where no other timer ends the sleep earlier.
    assert 0.3 * PLANTED_NS < median["shift"] < 1.1 * PLANTED_NS, median
    low, high = median["shift_interval"]
    assert 0 < low <= median["shift"] <= high
    assert median["p"] == pytest.approx(2 / comb(sum(median["replicates"]), median["replicates"][0]))
    assert median["sentence"].startswith("These two runs differ in the median")


def test_gates_judge_by_intervals(tmp_path):
    attempts(gates, tmp_path)


def gates(directory):
    runs = Runs(directory)
    cell = "wake-up/usleep/100us/idle"
    slower = (runs["before"], runs["slow"], "--within-run", "--fail-if")
    assert compared(*slower, f"{cell} median > +10%", status=2)["gates"][0]["judgement"] == "fail"
    passed = compared(*slower, f"{cell} median > +10s", "--fail-if", "usleep median > +9000000%")
    assert [g["judgement"] for g in passed["gates"]] == ["pass", "pass"]
    few = compared(runs["tiny"], runs["other"], "--fail-if", f"{cell} median > +50%", status=3)
    assert few["gates"][0]["judgement"] == "inconclusive"
    # Several gates: the worst tells.
    both = ("--within-run", "--fail-if", f"{cell} median > +10s", "--fail-if", f"{cell} median > +1us")
    assert tompion("compare", runs["before"], runs["slow"], *both).returncode == 2
    done = tompion("compare", *slower, "wake-up/nanosleep median > +10%", check=1)
    assert "no cell of" in done.stderr and done.stderr.count("\n") == 1


def test_two_runs_alike_pass_a_wide_gate(runs):
    evidence = []
    for other in ("again", "levels"):
        gate = "timer-slack=default/idle median > +100%"
        judged = tompion("compare", runs["before"], runs[other], "--json", "--within-run", "--fail-if", gate)
        done = json.loads(judged.stdout)
        evidence.append(done["gates"][0])
        if done["gates"][0]["judgement"] == "pass":
            return
    pytest.fail(str(evidence))


def test_levels_of_one_run_are_paired_by_block(tmp_path):
    attempts(paired_levels, tmp_path)


def paired_levels(directory):
    arguments = ("--blocks", "8", "--duration", "6s")
    run = record(directory, *arguments, levels="default,5ms")
    found = compared(run, "--by", "timer-slack")
    assert found["paired"] and found["sides"] == ["5ms", "default"]
    [median] = [c for c in found["comparisons"] if c["figure"] == "median"]
    blocks = median["replicates"][0]
    assert blocks >= 6 and median["replicates"] == [blocks, blocks]
    assert median["outcome"] == "differs" and median["shift"] < -0.3 * PLANTED_NS, median
    assert median["p"] == pytest.approx(2 / 2**blocks)


def lasting(run, directory, seconds):
    """The run as if its trials had taken so long."""
    shutil.copytree(run, directory)
    told = record_of(directory)
    for trial in told["trials"]:
        trial["duration_ns"] = seconds * 1_000_000_000
    write_record(directory, told)
    return directory


def test_single_trials_rest_on_stretches_or_are_not_decidable(runs, tmp_path):
    def median(a, b):
        found = compared(runs[a], runs[b], "--figures", "median")["comparisons"]
        assert len(found) == 1
        return found[0]

    for name in ("one", "other"):
        runs[f"long {name}"] = lasting(runs[name], tmp_path / name, seconds=130)
    long = median("long one", "long other")
    # How long a stretch has to be, the machine's unrest at the moment decides.
    assert long["basis"] == "stretches", long
    if long["outcome"] == "not-decidable":
        assert long["need"] > long["have"] > 10
    else:
        assert long["shift"] > 0.2 * PLANTED_NS
    if long.get("ratio") is not None:
        assert 0 < long["ratio_interval"][0] <= long["ratio"] <= long["ratio_interval"][1]
    short = median("one", "other")
    assert (short["outcome"], short["basis"]) == ("not-decidable", "stretches"), short
    assert short["instead"]["trials"] == 4 and short["instead"]["seconds"] >= 120
    assert "a single one of some" in short["sentence"]
    few = median("one", "tiny")
    assert (few["outcome"], few["basis"]) == ("not-decidable", "stretches"), few
    assert few["have"] == min(few["have_on_each_side"]) < max(few["have_on_each_side"])
    assert few["need"] > few["have"] and "not decidable with so few" in few["sentence"]


def test_too_few_trials_are_told_of_each_side(runs):
    [median] = compared(runs["before"], runs["one"], "--figures", "median")["comparisons"]
    blocks = median["trials"][0]
    assert median["outcome"] == "not-decidable" and median["trials"] == [blocks, 1]
    assert median["have_on_each_side"] == [blocks, 1] and median["need"] == 4
    assert f"has {blocks} trials and {runs['one']} 1 trial" in median["sentence"]


def test_what_befell_a_run_is_told(runs, tmp_path):
    shutil.copytree(runs["again"], tmp_path / "early")
    told = record_of(tmp_path / "early")
    note = {"kind": "interrupted", "text": "A signal (SIGINT) ended the run."}
    told |= {"status": "interrupted", "notes": [note]}
    told["throttling"] = {"periods": 40, "throttled_periods": 7, "throttled_ns": 1_000_000}
    write_record(tmp_path / "early", told)
    found = compared(runs["before"], tmp_path / "early")
    remarks = [r["remark"] for r in found["remarks"] if r["run"] == str(tmp_path / "early")]
    assert "A signal (SIGINT) ended the run." in remarks
    assert any("It was interrupted" in r for r in remarks)
    assert any("7 of 40 periods" in r for r in remarks)
    text = tompion("compare", runs["before"], tmp_path / "early", check=0).stdout
    assert text.startswith("! ") and "7 of 40 periods" in " ".join(text.split())


def test_policies_of_one_run_are_levels_though_the_usual_one_has_no_name(tmp_path):
    policies = ("--policy", "other,fifo:50", "--blocks", "7", "--duration", "3s")
    try:
        run = record(tmp_path / "policies", *policies)
    except subprocess.CalledProcessError:
        pytest.skip("real-time policies are not allowed here")
    found = compared(run, "--by", "policy", "--figures", "median")
    assert found["sides"] == ["fifo:50", "other"]
    [median] = found["comparisons"]
    assert median["cell"] == "wake-up/usleep/100us/idle" and min(median["trials"]) >= 2


def test_published_figures_stand_beside_the_whole_run_whatever_its_levels(runs):
    alone = compared(runs["levels"], "published:kirova-2019")
    levels = compared(runs["levels"], "published:kirova-2019", "--by", "timer-slack")
    assert levels["published"] == alone["published"] and levels["comparisons"]


def test_a_run_stands_beside_published_figures(runs):
    found = compared(runs["before"], "published:kirova-2019")
    [beside] = found["published"]
    assert found["comparisons"] is None and "Kirova" in beside["citation"]
    rows = {r["statistic"]: r for r in beside["rows"]}
    host = [p for p in rows["median_ns"]["published"] if p["label"] == "host"]
    # Table 2, uSleep on the host at rest, in the paper's own digits.
    printed = json.loads(tompion("published", "kirova-2019/table-2", "--json", check=0).stdout)
    assert host and host[0]["source"].startswith("kirova-2019/table-2 usleep/host/idle")
    assert str(host[0]["value_ns"]).split(".")[0] in json.dumps(printed)
    assert len(beside["caveats"]) > 3
    text = tompion("compare", runs["before"], "published:kirova-2019", check=0).stdout
    assert "virtualbox" in text and "half interquartile range" in text


def test_the_terminal_form_says_it_in_words(tmp_path):
    # On a busy machine two runs may differ by more than what is planted: another two then.
    attempts(terminal_form, tmp_path)


def terminal_form(directory):
    directory.mkdir()
    usual = ("--blocks", "8", "--duration", "4s")
    before = record(directory / "before", *usual)
    slow = record(directory / "slow", *usual, slack_ns=PLANTED_NS)
    done = tompion("compare", before, slow, "--within-run", "--fail-if", "usleep p90 > +1us")
    assert done.returncode == 2, done.stdout
    assert "clock timer slack ns" in done.stdout and "✗ FAIL" in done.stdout
    assert all(len(line) <= 100 for line in done.stdout.splitlines()), done.stdout
    assert "These two runs differ in the" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("{before}", "{before}"), "given twice"),
        (("{before}", "{before}/"), "are one run: it would be compared with itself"),
        (("{before}", "{again}", "--fail-if", "idle lost > +1pp"), "has no figure `lost`"),
        (("{before}", "published:nobody-1900"), "known papers are"),
        (("{before}", "{again}", "--by", "load"), "within one run"),
        (("{before}", "--by", "load"), "the only level of `load` is `idle`"),
        (("{before}", "--by", "colour"), "no trial has a factor `colour`"),
        (("{levels}", "--by", "slack"), "no trial has a factor `slack`; did you mean `timer-slack`?"),
        (("{before}", "{again}", "--statistics", ""), "the name of a statistic is empty; known are min"),
        (("{before}", "{again}", "--fail-if", "idle p98 > +5%"), "unknown statistic"),
        (("{before}", "{again}", "--fail-unless", "idle p99 > +5%"), "there is no `within`"),
        (("{before},{before}", "{again}"), "given twice"),
        (("{before},/nowhere", "{again}"), "/nowhere"),
        (("{before}", "{again}", "--figures", "p98"), "unknown statistic"),
        (("{before}", "{again}", "--level", "2"), "a level is a number"),
        (("{before}", "/nowhere"), "/nowhere"),
    ],
)
def test_mistakes_are_one_line(runs, arguments, says):
    done = tompion("compare", *(a.format_map(runs) for a in arguments), check=1)
    assert says in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_run_is_not_compared_with_its_copy(tmp_path):
    a, b = two_runs(tmp_path, np.random.default_rng(5).standard_normal(1_600))
    copy = shutil.copytree(a, tmp_path / "copy")
    for sides, first in (((a, copy), a), ((copy, a), copy), ((f"{a},{copy}", b), a), ((b, f"{a},{copy}"), a)):
        done = tompion("compare", *sides, check=1)
        assert done.stderr.count("\n") == 1 and f" is a copy of {first}: " in done.stderr, done.stderr
        assert "the same run_id" in done.stderr
    # Nor with one that it wrote itself, without names or with them, or a copy of that.
    for name, source, more in [("plain", a, []), ("redacted", a, ["--redact"]), ("again", tmp_path / "redacted", [])]:
        tompion("report", source, "--format", "run", *more, "--out", tmp_path / name, check=0)
        done = tompion("compare", a, tmp_path / name, check=1)
        assert f" is a copy of {a}: both have the same run_id" in done.stderr, done.stderr
    tompion("compare", a, b, check=0)
    # An id may be written in another way.
    told = record_of(copy)
    write_record(copy, told | {"run_id": "{" + told["run_id"].upper() + "}"})
    assert "the same run_id" in tompion("compare", a, copy, check=1).stderr
    # Where it is missing the record tells, if nobody changed it.
    for run in (a, copy):
        told = record_of(run)
        del told["run_id"]
        write_record(run, told)
    assert "the same run.json" in tompion("compare", a, copy, check=1).stderr
    write_record(copy, told | {"finished_at": "2026-01-01T00:00:00Z"})
    assert outcomes(a, copy)["median"]["shift"] == 0


def test_a_run_that_has_just_begun_holds_nothing_to_compare(tmp_path):
    a, _ = two_runs(tmp_path, np.random.default_rng(5).standard_normal(1_600))
    begun = write_run(tmp_path / "begun", [], finished=False, status="running")
    for arguments in ((a, begun), (begun, "--by", "load"), (a, begun, "--factors", "run,load")):
        done = tompion("compare", *arguments, check=1)
        assert done.stderr.count("\n") == 1 and f"{begun} holds no trial" in done.stderr, done.stderr
        assert "its measurement ended before the first was saved" in done.stderr
    # Whoever writes a run holds its directory's lock.
    directory = os.open(begun, os.O_RDONLY)
    fcntl.flock(directory, fcntl.LOCK_EX)
    done = tompion("compare", a, begun, check=1)
    assert "its measurement has just begun; wait for it" in done.stderr
    os.close(directory)


def test_different_parameters_are_refused_unless_told(runs, tmp_path):
    pinned = record(tmp_path / "pinned", "--blocks", "8", "--duration", "4s", "--cpu", "0")
    done = tompion("compare", runs["before"], pinned, check=1)
    assert "pinned to a CPU: no in" in done.stderr and done.stderr.count("\n") == 1
    found = compared(runs["before"], pinned, "--allow-mixed")
    assert found["parameter_mismatches"][0]["what"] == "pinned to a CPU"


@pytest.mark.parametrize("version", ["version-1", "version-2"])
def test_summaries_alone_are_not_believed(tmp_path, version):
    """Tripled in run.json, they are those of the samples, or the run is damaged."""
    with tarfile.open(ROOT / f"tests/golden/{version}.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    honest = next(tmp_path.rglob("run.json")).parent
    tripled = tmp_path / "tripled"
    shutil.copytree(honest, tripled)
    record = json.loads((tripled / "run.json").read_text())
    for trial in record["trials"]:
        for view in ("measured", "missed_filled"):
            summary = trial["summary"].get(view) or {}
            summary |= {k: 3 * v for k, v in summary.items() if k.endswith("_ns") and v}
    (tripled / "run.json").write_text(json.dumps(record))
    done = tompion("compare", honest, tripled, "--json")
    if version == "version-2":
        assert done.returncode == 1 and "the run is damaged" in done.stderr
        return
    rows = json.loads(done.stdout)["comparisons"]
    values = [row["values"] for row in rows if None not in row["values"]]
    assert len(values) > 5 and all(a == b for a, b in values)


def test_a_gate_sees_missed_periods(tmp_path):
    """Ten of 2000 wake-ups come twenty periods late: the p99 of what was measured does not move."""
    def run_of(name, late):
        period, trials = 100_000_000, []
        for block in range(8):
            values = np.random.default_rng(block).integers(50_000_000, 60_000_000, 2000)
            missed = np.zeros(2000, np.int64)
            if late:
                values[100::200], missed[100::200] = 20 * period + 5_000_000, 20
            factors = {"probe": "wake-up", "method": "timerfd", "target": "100us", "load": "idle"}
            trials.append(Trial(factors, at_ns=np.arange(2000) * 100_000, value_ps=values, missed=missed,
                                block=block, period_ns=period // 1000))
        return write_run(tmp_path / name, trials)
    runs = run_of("before", False), run_of("after", True)
    gates = compared(*runs, "--within-run", "--fail-if", "wake-up/timerfd p99 > +20%", status=2)["gates"]
    assert [gate["judgement"] for gate in gates] == ["fail"]
    assert gates[0]["change"] > 10


MEDIAN_PS, SIGMA = 50_000_000, 0.5
CELL = {"probe": "wake-up", "method": "usleep", "target": "100us", "load": "idle"}


def autoregression(random, size, coefficient):
    value, steps = random.standard_normal(), random.standard_normal(size)
    scale = np.sqrt(1 - coefficient**2)
    series = np.empty(size)
    for i, step in enumerate(steps):
        series[i] = value = coefficient * value + scale * step
    return series


def run_of(directory, logarithms, blocks=8, minute=0, blocks_of=None):
    """A run of lognormal values, cut into blocks that follow one another."""
    values = (MEDIAN_PS * np.exp(SIGMA * logarithms)).astype(np.int64)
    parts = np.split(values, blocks) if blocks_of is None else blocks_of
    trials = [Trial(CELL, at_ns=np.arange(len(part)) * 100_000, value_ps=part, block=i,
                    started_ns=i * 1_000_000_000) for i, part in enumerate(parts)]
    return write_run(directory, trials, started_at=f"2026-01-02T03:{minute:02}:00Z")


def two_runs(directory, logarithms):
    """Both cut from one series that goes on: an unchanged machine."""
    a, b = np.split(logarithms, 2)
    return run_of(directory / "a", a), run_of(directory / "b", b, minute=1)


def outcomes(*arguments):
    return {c["figure"]: c for c in compared(*arguments)["comparisons"]}


def test_values_are_the_cells_one_figure(tmp_path):
    """A fast trial brings most samples and outvotes nobody: as in a report."""
    slow, fast = np.full(20, 3_800_000_000), np.full(1000, 67_000_000)
    runs = [run_of(tmp_path / name, np.zeros(0), blocks_of=[slow] * 7 + [fast]) for name in "ab"]
    found = outcomes(*runs)
    # The fast one alone has samples enough for a p99 of its own.
    for figure in ("median", "p99"):
        assert found[figure]["values"] == pytest.approx([3_800_000] * 2, rel=5e-4)
    told = json.loads(tompion("report", runs[0], "--json", check=0).stdout)
    assert "3800000" in json.dumps(told)


def test_values_are_the_cells_one_figure_where_trials_are_too_few_to_compare(tmp_path):
    """What is tried then, stretches of one trial, says nothing of all."""
    blocks = [np.full(500, us * 1_000_000) for us in (100, 200, 300)]
    runs = [run_of(tmp_path / name, np.zeros(0), blocks_of=blocks) for name in "ab"]
    median = outcomes(*runs)["median"]
    assert median["outcome"] == "not-decidable" and median["values"] == pytest.approx([200_000] * 2, rel=5e-4), median


def test_a_drift_through_two_runs_is_no_difference(tmp_path):
    """A trend of 6 %: the exact test alone, p, finds the medians different."""
    random = np.random.default_rng(4)
    climb = np.log(1 + 0.06 * np.linspace(0, 1, 64_000)) / SIGMA
    runs = two_runs(tmp_path, random.standard_normal(64_000) + climb)
    median = outcomes(*runs)["median"]
    assert median["p"] < 0.01 and median["outcome"] == "not-decidable", median
    assert median["drift"]["kind"] == "across-replicates"
    assert 1 < median["drift"]["step_ratio"] < 1.01
    low, high = median["ratio_interval"]
    assert low < 1 < high and "a steady drift of +0." in median["sentence"]
    text = " ".join(tompion("compare", *runs, check=0).stdout.split())
    assert "not decidable for drift" in text
    assert "drift there: with drift allowed for, p is above the level." in text
    gates = ("--within-run", "--fail-if", "usleep median > 0")
    [gate] = compared(*runs, *gates, status=3)["gates"]
    assert gate["judgement"] == "inconclusive" and gate["undecided"] == "drift"


@pytest.mark.parametrize("seed", [7, 29])
def test_a_wander_through_two_runs_is_no_difference(tmp_path, seed):
    """An autoregression with coefficient 0.999: the exact test alone, p, finds medians different."""
    series = autoregression(np.random.default_rng(seed), 16_000, 0.999)
    found = outcomes(*two_runs(tmp_path, series))
    assert found["median"]["p"] < 0.01
    told = {(c["outcome"], c["drift"]["kind"]) for c in found.values()}
    assert told == {("not-decidable", "within-blocks")}, found


def test_independent_runs_are_decided(tmp_path):
    random = np.random.default_rng(2)
    found = outcomes(*two_runs(tmp_path, random.standard_normal(16_000)))
    for row in found.values():
        assert row["outcome"] == "no-difference-found", row
        assert 1.01 < row["detectable_ratio"] < 1.4
    assert "would have been found in 80 % of cases" in found["median"]["sentence"]
    text = " ".join(tompion("compare", tmp_path / "a", tmp_path / "b", check=0).stdout.split())
    assert "would have been found in 80 % of cases" in text


def test_a_change_the_other_way_than_from_a_to_b_is_explained(tmp_path):
    random = np.random.default_rng(11)
    def run_with(name, minute, levels_us):
        blocks = [(us * 1e6 * random.uniform(0.999, 1.001, 200)).astype(np.int64) for us in levels_us]
        return run_of(tmp_path / name, np.zeros(0), blocks_of=blocks, minute=minute)
    runs = run_with("a", 0, [100, 10, 100, 10, 100, 10, 100, 100]), run_with("b", 1, [11, 200, 11, 200, 11, 200, 11, 11])
    found = outcomes(*runs)
    a, b = found["median"]["values"]
    assert b - a < -80_000 and 900 < found["median"]["shift"] < 1_100
    text = " ".join(tompion("compare", *runs, check=0).stdout.split())
    assert "In 1 row the change goes the other way than from A to B: these are the figures of whole sides, " in text


def test_runs_are_replicates_of_sides_that_have_several(tmp_path):
    random = np.random.default_rng(6)
    def runs_of(name, level, count):
        names = []
        for i in range(count):
            scatter = np.log(level * (1 + 0.02 * random.standard_normal())) / SIGMA
            # A, B, A, B ...
            run = run_of(tmp_path / f"{name}{i}", scatter + random.standard_normal(8_000), minute=2 * i + (name == "b"))
            names.append(str(run))
        return ",".join(names)
    a, b = runs_of("a", 1, 5), runs_of("b", 1.2, 5)
    median = outcomes(a, b)["median"]
    assert (median["basis"], median["replicates"]) == ("runs", [5, 5])
    assert median["outcome"] == "differs" and median["p"] == pytest.approx(2 / comb(10, 5))
    assert "is longer with" in median["sentence"]
    # A gate on several runs a side needs no leave.
    [gate] = compared(a, b, "--fail-if", "usleep median > +5%", status=2)["gates"]
    assert gate["judgement"] == "fail"
    few = outcomes(a.rsplit(",", 2)[0], b.rsplit(",", 2)[0])["median"]
    assert (few["outcome"], few["have"], few["need"]) == ("not-decidable", 3, 4)
    assert "3 runs each" in few["sentence"]
    # A directory whose name has a comma is one run.
    shutil.copytree(tmp_path / "a0", tmp_path / "x,y")
    [one] = compared(tmp_path / "x,y", tmp_path / "b0", "--statistics", "median")["comparisons"]
    assert one["basis"] == "trials"


def test_a_gate_on_one_run_a_side_is_not_decided(tmp_path):
    random = np.random.default_rng(7)
    a = run_of(tmp_path / "a", random.standard_normal(8_000))
    b = run_of(tmp_path / "b", random.standard_normal(8_000) + 2, minute=1)
    gate = ("--fail-if", "usleep median > +20%")
    done = tompion("compare", a, b, *gate, check=3)
    assert done.stderr.count("\n") == 1 and "--within-run" in done.stderr
    assert "one run a side" in " ".join(done.stdout.split())
    assert tompion("compare", a, b, *gate, "--within-run", check=2).stderr == ""


def test_what_is_required_has_to_be_shown(tmp_path):
    random = np.random.default_rng(8)
    runs = two_runs(tmp_path, random.standard_normal(16_000))
    slower = run_of(tmp_path / "slower", random.standard_normal(8_000) + 1, minute=1)
    def judged(other, gate, status):
        done = compared(runs[0], other, "--within-run", "--fail-unless", gate, status=status)
        [gate] = done["gates"]
        return gate
    gate = judged(runs[1], "usleep median within 10%", 0)
    assert gate["judgement"] == "pass" and gate["fail_unless"] and gate["fail_if"] is None
    low, high = gate["change_interval"]
    assert 0.9 < low < 1 < high < 1.1
    assert judged(slower, "usleep median within 10%", 2)["judgement"] == "fail"
    assert judged(slower, "usleep median no worse than 10%", 2)["judgement"] == "fail"
    tight = judged(runs[1], "usleep median within 1%", 3)
    assert tight["judgement"] == "inconclusive" and tight["replicates_needed"] > 8
    assert (tight["estimator"], tight["replicates"]) == ("ratio-of-geometric-means", [8, 8])
    assert tight["confidence"] == pytest.approx(0.9)
    [other] = compared(*runs, "--within-run", "--fail-if", "usleep median > +50%")["gates"]
    assert (other["estimator"], other["confidence"]) == ("hodges-lehmann", pytest.approx(0.95))
    # Eight are more than it would take, but the margin is where the change is.
    near = judged(slower, f"usleep median within {100 * (np.exp(SIGMA) - 1):.2f}%", 3)
    assert near["replicates_needed"] <= 8 and near["replicates"] == [8, 8], near
    text = tompion("compare", *runs, "--within-run", "--fail-unless", "usleep p99 within 50%", check=0).stdout
    assert "(ratio of geometric means, 90 % interval)" in " ".join(text.split())
    assert "fail unless usleep p99 within 50%" in text
