"""What a check measures by several sleepers at once, beside one sleeper alone."""

import json
import subprocess

import numpy as np

from conftest import planted, tompion

# Of its limit, that company may move a judged quantile by.
SMALL = 0.02
# A sleeper of 20 ms alone has a thousand samples in that time, with which a p99.9 is seen at all.
ALONE_S = 22
COMPANY_S = 4
TURNS = 2


def in_company(directory):
    """What a check measures in company: how many sleepers, by target; and its loads."""
    subprocess.run([planted(), "check", "--seed", "1", "--quiet", "--out", directory], check=True, timeout=60)
    factors = [t["factors"] for t in json.loads((directory / "run.json").read_text())["trials"]]
    found = {f["target"]: int(f["company"]) for f in factors if "company" in f}
    assert found, "nothing is measured in company"
    return found, sorted({f["load"] for f in factors})


def judged(run, target):
    """The judged quantile and the limit of each use that is judged at this target, by use and load."""
    profiles = json.loads(tompion("report", run, "--json", check=0).stdout)["assessment"]["profiles"]
    # A use of a shorter period may be said to fail by this one, too.
    here = [p for p in profiles if (p["method"] or {}).get("target") == target]
    return {(p["name"], v["load"]): (v["estimate_ns"], v["limit_ns"]) for p in here for v in p["by_load"]}


def test_company_moves_a_judged_quantile_by_little(tmp_path):
    """Alone and in company by turns, ABBA; alone against alone shows what differs by itself. A quick check has no more."""
    pairs, loads = in_company(tmp_path / "planned")
    for target, sleepers in pairs.items():
        seen = {1: [], sleepers: []}
        for turn, n in enumerate([1, sleepers, sleepers, 1] * TURNS):
            seconds = (ALONE_S if n == 1 else COMPANY_S) * len(loads)
            out = tmp_path / f"{target}-{turn}"
            tompion("measure", "wake-up", "--methods", "clock-nanosleep-abs", "--targets", target, "--slack", "default",
                    "--sleepers", n, "--loads", ",".join(loads), "--duration", f"{seconds}s", "--blocks", 2,
                    "--seed", turn + 1, "--quiet", "--out", out, check=0, timeout=300)
            seen[n].append(judged(out, target))
        assert {load for _, load in seen[1][0]} == set(loads), seen
        for key, (_, limit_ns) in seen[1][0].items():
            alone, company = (np.array([found[key][0] for found in seen[n]]) for n in (1, sleepers))
            moved = abs(np.median(company) - np.median(alone))
            by_itself = alone.max() - alone.min()
            print(f"{key}: {sleepers} sleepers moved it by {moved / 1e3:.0f} us, alone it differs by {by_itself / 1e3:.0f} us; "
                  f"{SMALL * limit_ns / 1e3:.0f} us are allowed (alone {alone / 1e3}, in company {company / 1e3})")
            assert moved <= SMALL * limit_ns + by_itself, key
