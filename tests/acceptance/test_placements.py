"""Placements of `tompion lab`: guests beside the measuring one, what they take from it, and
nothing left of them however the lab ends."""

import json
import os
import re
import shutil
import signal
import time
from collections import defaultdict
from pathlib import Path

import pytest

from conftest import ROOT, tompion
from heavy import polars
from runs import table_of
from test_lab import JOURNALS, LONG, left, ledger, lineage, processes, record, start, write

# Tests that carry a plan out and may be refused what it takes.
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="control groups are made by root alone")
HAS_GUEST = shutil.which("qemu-system-x86_64") and (ROOT / ".cache/guest/kernel").exists()
HAS_RUNC = shutil.which("runc") is not None

# One more guest beside the measuring one, on the same CPU. All guests together have a
# weight against whatever else runs on a busy machine. Stalls are told from 1 ms on: an
# emulator's own threads hold the guest up for less.
SHARED = """
name = "two on one CPU"
seed = 1
replicates = 1
{platforms}
[[placements]]
name = "shared"
pinning = "one-cpu"
cpus = "{cpu}"
together = {{ weight = 10000 }}
measure = {{ weight = {weight} }}
[[placements.guests]]
role = "load"
load = "cpu:1"
[[probes]]
kind = "stalls"
threshold = "1ms"
time = "4s"
"""
HOST = '[[platforms]]\nkind = "host"'
QEMU = '[[platforms]]\nkind = "qemu"'
RUNC = '[[platforms]]\nkind = "oci"\nruntime = "runc"'


def cpu_times():
    """Of each CPU the ticks of `/proc/stat`, as a list."""
    lines = Path("/proc/stat").read_text().splitlines()
    fields = [line.split() for line in lines if line.startswith("cpu") and line[3] != " "]
    return {int(f[0][3:]): list(map(int, f[1:9])) for f in fields}


def quieter_cpu():
    """The CPU that did less in the last second."""

    def busy():
        return {cpu: sum(ticks[:3]) + sum(ticks[5:]) for cpu, ticks in cpu_times().items()}

    before = busy()
    time.sleep(1)
    after = busy()
    return min(os.sched_getaffinity(0), key=lambda cpu: after[cpu] - before[cpu])


class Stolen:
    """What each platform's measuring guest lost to others."""

    def __init__(self, out):
        self.share, self.median_ms, self.seen = {}, {}, {}
        for trial in record(out)["trials"]:
            platform = trial["factors"]["platform"]
            stalls = trial["findings"]["stalls"]
            parts = table_of(out, trial, "parts")
            if platform == "host":
                others = parts.filter(polars.col("cause").is_in(["unseen", "steal", "preempted"]))
            else:
                # From within a guest the others are not to be seen: what its own threads did
                # not take, they did. An interrupt of its own may last as long as a slice,
                # where the CPU was taken away in the middle of it.
                others = parts.filter(polars.col("cause") != "preempted")
            self.share[platform] = others["ns"].sum() / stalls["wall_ns"]
            whole = others.group_by("at_ns").agg(polars.col("ns").sum())["ns"] / 1e6
            self.median_ms[platform] = whole.median()
            self.seen[platform] = {
                "stolen": round(self.share[platform], 3),
                "stalls": len(whole),
                "median_ms": whole.median(),
                "causes": [(c["cause"], c["ns"] // 1_000_000) for c in stalls["causes"][:4]],
            }
        self.by_our_host = 0
        for entry in ledger(out):
            self.seen[entry["name"]] = entry.get("beside") or entry.get("failed")

    def beside_our_host(self, share):
        """What is lost in all where the other guest takes this share of what our own host leaves."""
        return 1 - (1 - share) * (1 - self.by_our_host)


def retried(tmp_path, platforms, weight, holds):
    """Carries the plan out until `holds`, at most three times and for about a minute: on a
    shared machine others come in between. Every attempt is told."""
    told, begun = [], time.monotonic()
    for attempt in range(3):
        if attempt and time.monotonic() - begun > 50:
            break
        directory = tmp_path / str(attempt)
        directory.mkdir()
        cpu = quieter_cpu()
        plan = SHARED.format(platforms="\n".join(platforms), cpu=cpu, weight=weight)
        before = cpu_times()[cpu]
        done = tompion("lab", "run", write(directory, plan), "--out", directory / "run", "--quiet")
        assert left(directory / "run") == []
        if done.returncode:
            told.append(done.stderr)
        else:
            stolen = Stolen(directory / "run")
            ticks = [b - a for a, b in zip(before, cpu_times()[cpu])]
            stolen.by_our_host = ticks[7] / max(sum(ticks), 1)
            told.append({"cpu": cpu, "load": os.getloadavg()[0], "steal": round(stolen.by_our_host, 3), **stolen.seen})
            if holds(stolen):
                print(told)
                return
        print(told[-1])
    pytest.fail(f"did not hold in {len(told)} attempts: {told}")


@ROOT_ONLY
@pytest.mark.skipif(not HAS_GUEST, reason="no guest: make guest builds one, on x86-64")
def test_two_virtual_machines_share_a_cpu_evenly_in_slices_of_the_host(tmp_path):
    def holds(stolen):
        [qemu] = [platform for platform in stolen.share if platform != "host"]
        # On the host each stall is a slice of the scheduler's: one that is always runnable
        # takes its turns with another.
        ratio = stolen.median_ms[qemu] / stolen.median_ms["host"]
        return abs(stolen.share[qemu] - stolen.beside_our_host(0.5)) <= 0.1 and 0.75 <= ratio <= 1.25

    retried(tmp_path, [HOST, QEMU], 100, holds)


@ROOT_ONLY
@pytest.mark.skipif(not HAS_GUEST, reason="no guest: make guest builds one, on x86-64")
def test_a_virtual_machine_of_four_times_the_weight_loses_a_fifth(tmp_path):
    def holds(stolen):
        [share] = stolen.share.values()
        return abs(share - stolen.beside_our_host(0.2)) <= 0.1

    retried(tmp_path, [QEMU], 400, holds)


BESIDE = """
seed = 1
replicates = 2
{platforms}
[[placements]]
scenario = "one-to-all"
[[placements]]
scenario = "contention-cpu"
host_load = "cpu:1"
[[placements]]
name = "idle-one"
[[placements.guests]]
role = "idle"
[[placements]]
name = "pair"
[[placements.guests]]
role = "measure"
[[probes]]
kind = "stalls"
time = "1s"
"""


@ROOT_ONLY
def test_neighbours_work_while_it_is_measured_and_are_gone_after(tmp_path):
    out = tmp_path / "run"
    plan = write(tmp_path, BESIDE.format(platforms=HOST + "\n" + RUNC))
    tompion("lab", "run", plan, "--out", out, "--quiet", check=0)
    assert left(out) == []
    entries = {(e["replicate"], e["name"]): e.get("beside", []) for e in ledger(out)}
    assert len(entries) == 2 * 2 * 4
    for (_, name), beside in entries.items():
        what = [neighbour["what"] for neighbour in beside]
        if "/contention-cpu/" in name:
            assert what == ["guest 2 (cpu:threads=1)", "the host (cpu:threads=1)"], beside
            assert all(neighbour["cpu_seconds"] > 0 for neighbour in beside), beside
            assert len(beside[0]["cpus"]) == 1, beside
        else:
            assert what == (["guest 2 (idle)"] if "/idle-one/" in name else []), beside
    trials = [trial["factors"] for trial in record(out)["trials"]]
    assert {f["placement"] for f in trials} == {"one-to-all", "contention-cpu", "idle-one", "pair"}
    # Both of a pair measure, in every replicate; the second is told from the first.
    guests = [f.get("guest") for f in trials if f["placement"] == "pair" and f["platform"] == "host"]
    assert sorted(guests, key=str) == ["2", "2", None, None]
    assert not any("guest" in f for f in trials if f["placement"] != "pair")
    compared = tompion("compare", out, "--by", "placement", "--json", check=0).stdout
    assert len(json.loads(compared)["sides"]) == 4
    text = tompion("report", out, "--format", "md", check=0).stdout
    assert "contention-cpu" in text


# Each guest on a CPU of its own, and a guest alone with a part of one CPU. All guests
# together have a weight against whatever else runs. A second of a cell measures.
PLACES = """
seed = 1
replicates = {replicates}
{platforms}
[[placements]]
name = "apart"
pinning = "one-to-one"
[[placements.guests]]
role = "idle"
[[placements]]
name = "part"
pinning = "one-cpu"
together = {{ weight = 10000 }}
measure = {{ quota = "20ms", period = "100ms" }}
[[probes]]
kind = "stalls"
time = "1s"
"""


def cpus_of(pid):
    """CPUs that any thread of this process may run on; none where it is gone."""
    found = set()
    try:
        for status in Path(f"/proc/{pid}/task").glob("*/status"):
            listed = re.search(r"Cpus_allowed_list:\t(.*)", status.read_text())
            found.add(listed[1])
    except (OSError, TypeError):
        return set()
    return found


def guests_of(lab):
    """CPUs of the guests that a lab runs now, by platform and by what they do."""
    found = defaultdict(set)
    for pid, _, command in processes():
        # `sh` joins a group first, and then becomes the guest.
        role = next((r for r in (b"__cell", b"__neighbour") if b"\0%s\0" % r in command), None)
        if role and not command.startswith(b"sh\0"):
            above = list(lineage(pid))
            if any(number == lab for number, _ in above):
                in_runc = any(b"runc\0" in told for _, told in above)
                found["runc" if in_runc else "host", role.decode()] |= cpus_of(pid)
    return found


@ROOT_ONLY
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two guests apart take two CPUs")
def test_guests_run_where_the_placement_says_and_as_long_as_it_says(tmp_path):
    out = tmp_path / "run"
    platforms = ["host", "runc"] if HAS_RUNC else ["host"]
    replicates = 2 if LONG else 1
    listed = "\n".join([HOST, RUNC][: len(platforms)])
    text = PLACES.format(platforms=listed, replicates=replicates)
    lab = start(write(tmp_path, text), "--out", out, "--quiet")
    seen = defaultdict(set)
    while lab.poll() is None:
        guests = guests_of(lab.pid)
        for platform in platforms:
            both = [frozenset(guests[platform, role]) for role in ("__cell", "__neighbour")]
            # With a neighbour it is the one placement, without one it may be either.
            if all(both):
                seen[platform].add(tuple(both))
        time.sleep(0.02)
    _, told = lab.communicate()
    assert lab.returncode == 0 and left(out) == [], told
    usable = {str(cpu) for cpu in os.sched_getaffinity(0)}
    beside = {(e["name"].split("/")[0], e["name"].split("/")[1]): e.get("beside", []) for e in ledger(out)}
    for platform in platforms:
        assert len(seen[platform]) == 1, seen
        [(measuring, neighbour)] = seen[platform]
        assert len(measuring) == len(neighbour) == 1 and measuring != neighbour, seen
        assert measuring | neighbour <= usable, seen
        # The lab tells the same.
        assert [{str(c) for c in b["cpus"]} for b in beside[platform, "apart"]] == [neighbour], beside
        assert beside[platform, "part"] == []
    throttled = {(platform, name): [] for platform in platforms for name in ("apart", "part")}
    for trial in record(out)["trials"]:
        parts = table_of(out, trial, "parts")
        ms = (parts.filter(polars.col("cause") == "throttled")["ns"] / 1e6).to_list()
        throttled[trial["factors"]["platform"], trial["factors"]["placement"]] += ms
    for platform in platforms:
        # Ten periods of 80 ms in each replicate; where the host takes the CPU meanwhile, one is in pieces.
        of_part = throttled[platform, "part"]
        assert 300 * replicates <= sum(of_part) <= 1000 * replicates, throttled
        assert sum(1 for ms in of_part if 70 <= ms <= 90) >= 2 * replicates and max(of_part) <= 95, throttled
        # A quota above the tests themselves would be everybody's.
        if record(out)["environment"]["cgroup"]["quota_us"] is None:
            assert throttled[platform, "apart"] == [], throttled
    print({place: len(ms) for place, ms in throttled.items()}, dict(seen))


AT_ONCE = f"""
seed = 1
replicates = 6
{HOST}
[[placements]]
name = "pair"
[[placements.guests]]
role = "measure"
[[placements]]
name = "alone"
[[probes]]
kind = "wake-up"
methods = ["usleep"]
targets = ["1ms"]
time = "500ms"
"""


@ROOT_ONLY
def test_guests_that_measure_at_once_are_held_against_each_other(tmp_path):
    out = tmp_path / "run"
    done = tompion("lab", "run", write(tmp_path, AT_ONCE), "--out", out, "--quiet")
    for _ in range(3):
        # Where one came up much later than the other, the cell has failed: others were busy.
        if done.returncode == 2:
            done = tompion("lab", "run", "--resume", out, "--quiet")
    assert done.returncode == 0, done.stderr
    assert left(out) == []
    compared = json.loads(tompion("compare", out, "--by", "guest", "--json", check=0).stdout)
    assert compared["sides"] == ["1", "2"] and compared["paired"]
    rows = compared["comparisons"]
    # One that was measured alone is no first of two.
    assert rows and all(row["factors"]["placement"] == "pair" for row in rows), rows
    assert all(row["trials"] == [6, 6] for row in rows), rows
    # Six pairs are enough to decide on.
    assert any(row.get("replicates") == [6, 6] for row in rows), rows
    # By placement, the pair's second guest has nothing to be held against.
    by_placement = json.loads(tompion("compare", out, "--by", "placement", "--json", check=0).stdout)
    assert by_placement["sides"] == ["alone", "pair"]
    assert all(row["trials"] == [6, 6] for row in by_placement["comparisons"]), by_placement


@ROOT_ONLY
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_neighbours_end_with_the_lab(tmp_path, end):
    """However it ends, and whatever it was about."""
    out = tmp_path / "run"
    plan = BESIDE.format(platforms=RUNC).replace('time = "1s"', 'time = "60s"')
    # Only those with a neighbour that does not measure.
    plan = plan.replace('[[placements]]\nscenario = "one-to-all"\n', "")
    plan = plan.replace('[[placements]]\nname = "pair"\n[[placements.guests]]\nrole = "measure"\n', "")
    assert '"pair"' not in plan
    lab = start(write(tmp_path, plan), "--out", out)

    def neighbours():
        found = []
        for entry in Path("/proc").iterdir():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"__neighbour" in command:
                found.append(entry.name)
        return found

    until = time.monotonic() + 90
    while not neighbours() and lab.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    assert neighbours(), lab.communicate()
    lab.send_signal(end)
    lab.communicate(timeout=90)
    if end == signal.SIGKILL:
        assert list(JOURNALS.glob(f"{lab.pid}-*"))
        assert "cannot" not in tompion("lab", "clean", check=0).stdout
    until = time.monotonic() + 60
    while (left(out) or neighbours()) and time.monotonic() < until:
        time.sleep(0.1)
    assert left(out) == [] and neighbours() == []


def test_placements_that_cannot_be_had_are_told_with_their_place(tmp_path):
    many = len(os.sched_getaffinity(0))
    plan = write(
        tmp_path,
        f"""replicates = 1
{HOST}
[[placements]]
name = "alone"
[[placements]]
name = "apart"
pinning = "one-to-one"
[[placements.guests]]
role = "idle"
count = {many}
[[probes]]
kind = "stalls"
""",
    )
    done = tompion("lab", "plan", plan, check=0)
    assert f"{plan}:6:1: placement `apart` on host: " in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "host/apart/idle/stalls: left out" in done.stdout
    assert "host/alone/idle/stalls: 1 trial" in done.stdout
    parsed = json.loads(tompion("lab", "plan", plan, "--json", check=0).stdout)
    assert parsed["prospect"]["cells"] == 1 and len(parsed["refused"]) == 1
    # With nothing else in it the plan cannot be carried out.
    plan.write_text(plan.read_text().replace('[[placements]]\nname = "alone"\n', ""))
    tompion("lab", "plan", plan, check=1)
    done = tompion("lab", "run", plan, "--out", tmp_path / "none", check=1)
    assert "placement `apart` on host" in done.stderr
    assert not (tmp_path / "none").exists()


@pytest.fixture(scope="module", autouse=True)
def clean_before():
    """What another run of these tests left must not count."""
    tompion("lab", "clean", check=0)
