"""One plan over four kinds of platform: what was planted in one of them shows there, and in
no other."""

import json
import os
import shutil
import statistics
import subprocess
import time
import warnings

import pytest

from conftest import ROOT, tompion
from heavy import polars
from runs import table_of
from test_lab import LONG, left, record, write

GVISOR = ROOT / ".cache/bin/runsc"
REPLICATES = 4 if LONG else 1
# Within this time all of it has to show, beside other tests too.
LONGEST_S = 600 if LONG else 300
# Light, or what shares a quota or an emulated CPU with it comes to nothing for minutes.
CPU = "cpu:threads=1:level=10"

# All the weight for the container with the quota: else what runs beside it, and not the
# quota, would take its CPU away.
PLAN = """
name = "four platforms"
seed = 11
replicates = {replicates}
loads = ["idle", "{cpu}"]

[[platforms]]
kind = "host"

[[platforms]]
kind = "oci"
runtime = "runc"
shares = 262144
quota = "20ms"
period = "100ms"

{gvisor}
[[platforms]]
kind = "qemu"

[[probes]]
kind = "read-cost"
methods = ["clock-monotonic", "syscall-clock-monotonic"]
samples = 2000
time = "500ms"

# A second of it measures: letting a load settle and opening events take the rest. That is
# ten periods of the quota, in two cells of each replicate: of 20 stalls a quarter must show.
[[probes]]
kind = "stalls"
time = "1s"
"""


def gvisor():
    """gVisor's runsc, if it is there or installed. Building it takes longer than this test,
    so only `make test-full` does; none where there is no Go either."""
    told = ""
    if LONG:
        built = subprocess.run([ROOT / ".ci/gvisor", GVISOR.parent], capture_output=True, text=True)
        told = f": {built.stdout}{built.stderr}"
    if GVISOR.exists():
        return GVISOR
    found = shutil.which("runsc")
    if found is None:
        # In the summary of all tests, too.
        warnings.warn(f"gVisor is left out{told}", stacklevel=1)
    return found


def medians(run, platform, method, load):
    """Median read cost of each replicate, in nanoseconds: of single reads, or of batches
    where the time was enough for these alone."""
    wanted = {"probe": "read-cost", "platform": platform, "method": method}
    return [
        (trial["summary"]["measured"] or trial["summary"]["batched"])["median_ns"]
        for trial in run["trials"]
        if wanted.items() <= trial["factors"].items() and trial["factors"].get("load", "idle") == load
    ]


def throttled_ms(out, run, platform):
    """Stalls by a quota, in ms, over all replicates and loads."""
    found = []
    for trial in run["trials"]:
        if trial["factors"]["platform"] == platform and trial["factors"]["probe"] == "stalls":
            parts = table_of(out, trial, "parts")
            found += (parts.filter(polars.col("cause") == "throttled")["ns"] / 1e6).to_list()
    return found


def faults(out, run, levels):
    """What speaks against the truths that were planted."""
    host, runc, sandbox, machine = levels
    found = []
    for load in ("idle", CPU):
        slower = {"clock-monotonic": machine, "syscall-clock-monotonic": sandbox}
        for method, platform in slower.items():
            if platform is None:
                continue
            here, there = (medians(run, p, method, load) for p in (host, platform))
            assert len(here) == len(there) == REPLICATES, (method, load, here, there)
            if statistics.median(there) <= 1.3 * statistics.median(here):
                found.append(f"{method} beside {load}: {platform} {there}, {host} {here} ns")
    ms = throttled_ms(out, run, runc)
    near = [x for x in ms if 70 <= x <= 90]
    if len(near) < 5 * REPLICATES:
        found.append(f"{runc}: {len(near)} stalls of 80 ms by its quota among {sorted(ms)}")
    # A quota above the tests themselves is everybody's who shares their group.
    if run["environment"]["cgroup"]["quota_us"] is None:
        for other in filter(None, (host, sandbox, machine)):
            if by_quota := throttled_ms(out, run, other):
                found.append(f"{other}: throttled for {by_quota} ms")
    return found


@pytest.mark.skipif(
    not (ROOT / ".cache/guest/bin").exists() and "TOMPION_GUEST" not in os.environ,
    reason="no guest: make guest builds one, on x86-64",
)
def test_what_is_planted_in_one_platform_of_four_shows_there_alone(tmp_path):
    runsc = gvisor()
    table = f'[[platforms]]\nname = "gvisor"\nkind = "oci"\nruntime = "{runsc}"\n' if runsc else ""
    plan = write(tmp_path, PLAN.format(gvisor=table, replicates=REPLICATES, cpu=CPU))
    platforms = 4 if runsc else 3
    out = tmp_path / "run"
    before = time.monotonic()
    tompion("lab", "run", plan, "--out", out, "--quiet", cwd=ROOT, timeout=1200, check=0)
    seconds = time.monotonic() - before
    print(f"the lab took {seconds:.0f} s")
    assert seconds < LONGEST_S
    run = record(out)
    assert left(out) == [] and run["status"] == "complete"
    assert len(run["platforms"]) == platforms and len(run["trials"]) == platforms * 2 * 3 * REPLICATES
    sandbox = "gvisor" if runsc else None
    seen = faults(out, run, ("host", "runc", sandbox, "qemu (emulated)"))
    assert not seen, "\n".join(seen)
    compared = json.loads(tompion("compare", out, "--by", "platform", "--json", check=0).stdout)
    assert compared["paired"] and len(compared["sides"]) == platforms
    told = tompion("report", out, "--format", "md", check=0).stdout
    assert "qemu (emulated)" in told and "no evidence about hardware" in told
