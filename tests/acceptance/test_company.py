"""What a check measures by several sleepers at once, beside one sleeper alone."""

import json
import subprocess

import numpy as np
import pytest
from scipy import stats

from conftest import ROOT, planted, tompion
from runs import record_of, table_of
from test_lab import needs_guest

# Of its limit, that company may move a judged quantile by.
SMALL = 0.02
# A sleeper of 20 ms alone has a thousand samples in that time, with which a p99.9 is seen at all.
ALONE_S = 22
COMPANY_S = 4
TURNS = 3
# Quantiles below it are seen in short turns, and many of them take out how a machine differs from one second to the next.
SHORT_S = 2
SHORT_TURNS = 6
# Of the CPUs, that others may use in a turn, and how often one is measured again for that.
QUIET = 0.05
AGAIN = 3
# Below the judged quantile, where a run says precisely how late sleeps end.
PRECISE = [0.5, 0.9]
# Of the interval for each quantile and load, at each of two looks: 99 % for both.
LEVEL = 0.995


def moved_by(alone, company):
    """How much company adds: the Hodges-Lehmann shift, and its interval by the rank test (Hollander, Wolfe and Chicken
    2014, section 4.3), which takes no figure for its spread and no shape of it for granted."""
    differences = np.sort(np.subtract.outer(company, alone).ravel())
    below = np.cumsum(ranks_by_chance(len(alone), len(company)))
    lowest = np.count_nonzero(below <= (1 - LEVEL) / 2)
    assert lowest > 0, "too few turns for this level"
    return np.median(differences), differences[lowest - 1], differences[-lowest]


def ranks_by_chance(n, m):
    """How likely each value of the Mann-Whitney statistic is where both are alike."""
    ways = np.zeros((n + 1, m + 1, n * m + 1))
    ways[0, :, 0] = ways[:, 0, 0] = 1
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            ways[i, j] = ways[i, j - 1]
            ways[i, j, j:] += ways[i - 1, j, : n * m + 1 - j]
    return ways[n, m] / ways[n, m].sum()


def answer(alone, company, allowed):
    """Whether company moves it by no more than is allowed: "yes", "no", or "cannot tell"."""
    _, low, high = moved_by(alone, company)
    if low > allowed or high < -allowed:
        return "no"
    return "yes" if max(abs(low), abs(high)) <= allowed else "cannot tell"


def test_an_effect_of_company_is_told_from_noise():
    """Of quantiles drawn as they are on a busy machine: what moves is found, what does not is not, and noise far above what
    is allowed is said to be that."""
    random = np.random.default_rng(7)
    n = 2 * TURNS

    def answers(shift, spread, draws=400):
        told = [answer(random.normal(0, spread, n), random.normal(shift, spread, n), 100) for _ in range(draws)]
        return {name: told.count(name) / draws for name in set(told)}

    assert answers(400, 40).get("no", 0) > 0.95
    assert answers(0, 20).get("yes", 0) > 0.95
    assert answers(0, 1_000).get("cannot tell", 0) > 0.95
    # At the edge of what is allowed it is wrong no more often than its level says, and some for chance.
    assert answers(100, 40).get("no", 0) < 0.03
    # As SciPy reckons.
    for _ in range(20):
        alone, company = random.normal(0, 1, n), random.normal(0.5, 1, n)
        test = stats.mannwhitneyu(company, alone, method="exact", alternative="less")
        assert np.cumsum(ranks_by_chance(n, n))[int(test.statistic)] == pytest.approx(test.pvalue)


def in_company(directory):
    """What a check measures in company: beside which loads, by target and how many sleepers."""
    subprocess.run([planted(), "check", "--seed", "1", "--quiet", "--out", directory], check=True, timeout=60)
    factors = [t["factors"] for t in json.loads((directory / "run.json").read_text())["trials"]]
    found = {}
    for f in factors:
        if "company" in f:
            found.setdefault((f["target"], int(f["company"])), set()).add(f["load"])
    assert found, "nothing is measured in company"
    return {what: sorted(loads) for what, loads in found.items()}


def judged(run, target):
    """The judged quantile and the limit of each use that is judged at this target, by use and load."""
    profiles = json.loads(tompion("report", run, "--json", check=0).stdout)["assessment"]["profiles"]
    # A use of a shorter period may be said to fail by this one, too.
    here = [p for p in profiles if (p["method"] or {}).get("target") == target]
    return {(p["name"], v["load"]): (v["estimate_ns"], v["limit_ns"]) for p in here for v in p["by_load"]}


def precise(run):
    """How late sleeps end in ns, at each of the precise quantiles, by load."""
    late = {}
    for trial in record_of(run)["trials"]:
        values = table_of(run, trial)["value_ps"].to_numpy() / 1e3
        late.setdefault(trial["factors"]["load"], []).append(values)
    return {load: np.quantile(np.concatenate(values), PRECISE) for load, values in late.items()}


def take_turns(directory, target, sleepers, loads, seconds, turns, first_seed):
    """Alone and in company by turns, ABBA, so long each and load: the number of sleepers and the run."""
    for seed, n in enumerate([1, sleepers, sleepers, 1] * turns, start=first_seed):
        for attempt in range(AGAIN + 1):
            out = directory / f"{target}-{'-'.join(loads)}-{seed}-{attempt}"
            measure(out, target, n, loads, seconds[n > 1], seed)
            others = used_by_others(out)
            if others <= QUIET:
                break
            # A longer turn meets more of what others do, and has a later quantile by that alone.
            print(f"others used {others:.0%} of the CPUs in a turn of {n} sleepers: measured again", flush=True)
        yield n, out


def used_by_others(run):
    """Share of the CPUs that other programs and the host took during the trials."""
    used = [t["cpu_use"] for t in record_of(run)["trials"] if t.get("cpu_use")]
    taken = sum(u["programs_ns"] + (u["stolen_ns"] or 0) for u in used)
    return taken / max(1, sum(u["watched_ns"] * u["cpus"] for u in used))


def measure(out, target, n, loads, seconds, seed):
    tompion("measure", "wake-up", "--methods", "clock-nanosleep-abs", "--targets", target, "--slack", "default",
            "--sleepers", n, "--loads", ",".join(loads), "--duration", f"{seconds * len(loads)}s", "--blocks", 2,
            "--seed", seed, "--quiet", "--out", out, check=0, timeout=300)


def told(what, of, sleepers, allowed):
    middle, low, high = moved_by(of[1], of[sleepers])
    found = answer(of[1], of[sleepers], allowed)
    print(f"{what}: {sleepers} sleepers move it by {middle / 1e3:.0f} us [{low / 1e3:.0f}, {high / 1e3:.0f}] "
          f"in {len(of[1])} and {len(of[sleepers])} turns, {allowed / 1e3:.0f} us are allowed: {found}", flush=True)
    assert found != "no", what
    return found


def test_company_moves_a_judged_quantile_by_little(tmp_path):
    """Where a machine's quantile differs more by itself than company may move it, that says so and does not fail; the median
    has to be shown not to move. Loads for which lower quantiles differ too much have as many turns again; the level of the
    intervals holds for both looks."""
    for (target, sleepers), loads in in_company(tmp_path / "planned").items():
        columns, allowed = {}, {}
        for n, run in take_turns(tmp_path, target, sleepers, loads, (ALONE_S, COMPANY_S), TURNS, 1):
            for (use, load), (estimate_ns, limit_ns) in judged(run, target).items():
                allowed[load] = min(SMALL * limit_ns, allowed.get(load, np.inf))
                columns.setdefault((use, load), {1: [], sleepers: []})[n].append(estimate_ns)
        assert set(allowed) == set(loads), allowed
        for (use, load), of in columns.items():
            told(f"{use} {load} judged", of, sleepers, allowed[load])
        late, answers, unsure = {}, {}, loads
        for look in (1, 2):
            for n, run in take_turns(tmp_path, target, sleepers, unsure, (SHORT_S, SHORT_S), SHORT_TURNS, 1_000 * look):
                for load, at in precise(run).items():
                    for q, ns in zip(PRECISE, at):
                        late.setdefault((load, q), {1: [], sleepers: []})[n].append(ns)
            answers |= {(load, q): told(f"{target} {load} p{100 * q:g}", of, sleepers, allowed[load])
                        for (load, q), of in late.items() if load in unsure}
            unsure = sorted({load for (load, _), found in answers.items() if found == "cannot tell"})
            if not unsure:
                break
        assert all(answers[load, 0.5] == "yes" for load in loads), answers


# One CPU of 1000 million instructions a second, whose time stands still while the host has it: what differs there is the
# machine's own doing. A fast machine takes a fraction of that for the same.
VIRTUAL = """
name = "company"
replicates = 1
loads = ["{load}"]
[[platforms]]
kind = "qemu"
accel = "tcg"
icount = 0
start_within = "20m"
"""
PROBE = """
[[probes]]
kind = "wake-up"
methods = ["clock-nanosleep-abs"]
targets = [{targets}]
slack = ["default"]
sleepers = {sleepers}
time = "{seconds}s"
"""
VIRTUAL_TURNS = 10
# Seconds of each turn.
VIRTUAL_ALONE_S = 8
VIRTUAL_COMPANY_S = 3
# The tick of its kernel is 4 ms: so many of 20 ms wake up on one CPU, none within a tick of the last.
BY_TICKS = 4


@needs_guest
@pytest.mark.parametrize("load", ["idle", "busy", "network"])
def test_company_moves_no_judged_quantile_where_no_host_disturbs(tmp_path, load):
    """In virtual time. A load that makes sleepers wait for the tick lets even one alone differ more from one turn to the
    next, by where in the tick it wakes up; that company ends no such wait is seen there by how long they are."""
    period_ns, all_sleepers = 20_000_000, 24
    makes_wait = load == "network"
    sleepers = BY_TICKS if makes_wait else all_sleepers
    # The same cell once a turn: a nanosecond more makes it another.
    targets = ", ".join(f'"{period_ns + turn}ns"' for turn in range(VIRTUAL_TURNS))
    plan = VIRTUAL.format(load=load)
    for n, seconds in [(1, VIRTUAL_ALONE_S), (sleepers, VIRTUAL_COMPANY_S)]:
        plan += PROBE.format(targets=targets, sleepers=n, seconds=seconds * VIRTUAL_TURNS)
    (tmp_path / "plan.toml").write_text(plan)
    out = tmp_path / "run"
    tompion("lab", "run", tmp_path / "plan.toml", "--out", out, "--quiet", cwd=ROOT, timeout=3600, check=0)
    late = {1: [], sleepers: []}
    for trial in record_of(out)["trials"]:
        n = int(trial["factors"].get("company", 1))
        late[n].append(table_of(out, trial)["value_ps"].to_numpy() / 1e3)
    [limit_ns] = {limit for (_, limit) in judged_as_planned(tmp_path).values()}
    of = {n: [np.quantile(values, 0.999) for values in turns] for n, turns in late.items()}
    found = told(f"voip {load} p99.9", of, sleepers, SMALL * limit_ns)
    if not makes_wait:
        assert found == "yes"
        return
    # Of all 24 none would wait for longer than to the next one.
    waits = {n: np.mean(np.concatenate(turns) > 1.25 * period_ns / all_sleepers) for n, turns in late.items()}
    print(f"{load}: {waits[1]:.2%} alone and {waits[sleepers]:.2%} of {sleepers} wait for longer than "
          f"{1.25 * period_ns / all_sleepers / 1e3:.0f} us", flush=True)
    assert min(waits.values()) > 0.001, waits


def judged_as_planned(directory):
    subprocess.run([planted(), "check", "--seed", "1", "--quiet", "--out", directory / "planned"], check=True, timeout=60)
    return {use: found for use, found in judged(directory / "planned", "20ms").items() if use[0] == "voip"}
