"""What the default `tompion check` promises, on the machine it runs on."""

import json
import subprocess
import sys

import jsonschema
import pytest

from conftest import ROOT, tompion
from heavy import polars
from runs import require_few_files


def median(run, **factors):
    return cell(run, **factors)["measured"]["median_ns"]


def cell(run, **factors):
    found = [c for c in run.json["cells"] if c["factors"] == factors]
    assert len(found) == 1, factors
    return found[0]


def wake(method, load="idle", slack=None, target="100us"):
    key = {"probe": "wake-up", "method": method, "target": target, "load": load}
    return key if slack is None else key | {"timer-slack": slack}


def test_it_keeps_its_limits_of_time_memory_and_disk(default_run):
    print(
        f"{default_run.seconds:.1f} s, peak {default_run.peak_bytes / 1e6:.0f} MB, "
        f"{default_run.bytes / 1e6:.0f} MB on disk"
    )
    assert default_run.status == 0, default_run.stderr
    assert default_run.seconds <= default_run.LONGEST_S
    assert default_run.peak_bytes <= 300e6
    assert default_run.bytes <= 200e6


def blocks_measured(default_run):
    """All, but for a run in half the time on a slow machine, which leaves some out and says so."""
    blocks = len({trial["block"] for trial in default_run.record["trials"]})
    if default_run.OPTIONS and blocks < 8:
        print(f"{blocks} blocks of 8 in half the time")
        assert blocks >= 4
        assert f"after {blocks} of 8 blocks" in default_run.stdout, default_run.stdout
        return blocks
    assert blocks == 8
    return blocks


def test_every_cell_is_there_in_every_block(default_run):
    design = default_run.record["design"]
    assert design["blocks"] == 8
    blocks = blocks_measured(default_run)
    per_block = {}
    for trial in default_run.record["trials"]:
        per_block.setdefault(trial["block"], []).append(json.dumps(trial["factors"], sort_keys=True))
    for keys in per_block.values():
        assert len(keys) == len(set(keys)) == design["cells"]
    orders = [tuple(keys) for keys in per_block.values()]
    assert len(set(orders)) == blocks, "the order of cells was not random"
    loads = {c["factors"]["load"] for c in default_run.json["cells"]}
    assert loads == {"idle", "cpu", "network"}


def test_read_cost_has_the_samples_asked_for(default_run):
    for c in default_run.json["cells"]:
        f = c["factors"]
        if f["probe"] != "read-cost":
            continue
        wanted = 1_000_000 if f["load"] == "idle" else 100_000
        if f["method"].startswith("syscall"):
            wanted //= 10
        wanted = wanted * blocks_measured(default_run) // 8
        # A stall may end a trial by its time limit; it then says so.
        enough = c["measured"]["samples"] >= wanted
        assert enough or c["trials_ended_by_time"] > 0, (f, c["measured"]["samples"])
        if f["load"] == "idle":
            assert c["measured"]["samples"] >= 0.8 * wanted, f


def usleep_elsewhere(slack_ns):
    """Median wake-up latency of usleep(100), by a program that is not ours."""
    program = f"""
import ctypes, time
libc = ctypes.CDLL(None)
libc.prctl(29, {slack_ns}, 0, 0, 0)
def once():
    before = time.monotonic_ns()
    libc.usleep(100)
    return time.monotonic_ns() - before - 100_000
print(sorted(once() for _ in range(3001))[1500])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_timer_slack_gains_what_this_machine_allows(default_run):
    # Default slack adds 50 us to the latency that the machine has anyway, so the
    # gain is fivefold only where that latency is below 12.5 us. An independent
    # program tells what it is here; where it allows a gain of 5, ours is 5.
    elsewhere = usleep_elsewhere(50_000) / usleep_elsewhere(1)
    slow = median(default_run, **wake("usleep", slack="default"))
    fast = median(default_run, **wake("usleep", slack="1ns"))
    print(f"usleep(100us): 1 ns of slack is {slow / fast:.1f} times better ({elsewhere:.1f} elsewhere)")
    assert 30_000 <= slow - fast <= 70_000
    assert 0.5 <= slow / fast / elsewhere <= 2
    if elsewhere >= 7:
        assert slow / fast >= 5


def test_default_slack_is_the_slack_that_programs_have(default_run):
    normal = default_run.record["environment"]["clock"]["timer_slack_ns"]
    assert normal == 50_000
    seen = {
        (t["factors"]["timer-slack"], t["measurement"]["timer_slack_ns"])
        for t in default_run.record["trials"]
        if "timer-slack" in t["factors"]
    }
    assert seen == {("default", normal), ("1ns", 1)}


def test_hybrid_sleep_is_at_least_a_twentyfold_gain(default_run):
    gain = median(default_run, **wake("usleep", slack="default")) / median(
        default_run, **wake("tompion-hybrid")
    )
    print(f"100us: Tompion's hybrid sleep is {gain:.0f} times better than usleep")
    assert gain >= 20


def test_cpu_load_shows_in_the_tail_of_usleep(default_run):
    p99 = {
        load: cell(default_run, **wake("usleep", load, slack))["measured"]["p99_ns"]
        for load in ("idle", "cpu")
        for slack in ["default"]
    }
    print(f"usleep(100us) p99: idle {p99['idle']:.0f} ns, cpu {p99['cpu']:.0f} ns")
    # Mostly forty times; a host that has too little for its machines makes an idle one late, too.
    assert p99["cpu"] >= 2 * p99["idle"]


def test_loads_prove_that_they_ran(default_run):
    # In a short trial a load that mostly waits may use less than can be told: none in all of its trials.
    used = {}
    for trial in default_run.record["trials"]:
        load, evidence = trial["factors"]["load"], trial["load"]
        assert evidence is not None
        if load == "idle":
            continue
        assert evidence["operations"] > 0, trial["id"]
        used[load] = used.get(load, 0) + evidence["cpu_time_ns"]
        assert evidence["context_switches_per_second"] > 0
    assert used and min(used.values()) > 0, used


def test_run_json_conforms_to_the_schema(default_run):
    schema = json.loads((ROOT / "schema/run.schema.json").read_text())
    jsonschema.validate(default_run.record, schema)


def test_a_finished_run_is_at_most_a_dozen_files(default_run):
    require_few_files(default_run.directory)


def test_polars_opens_the_samples_and_finds_the_same_medians(default_run):
    checked = 0
    tables = {}
    for file in default_run.record["files"]:
        if file["file"].count(".") == 1 and file["file"] not in ("bins.parquet", "histograms.parquet"):
            rows = polars.read_parquet(default_run.directory / file["file"])
            tables[file["file"]] = {
                trial[0]: rows for trial, rows in rows.group_by("trial", maintain_order=True)
            }
    for trial in default_run.record["trials"][::7]:
        if trial["storage"]["kind"] != "complete":
            # Of a busy loop's iterations most are in bins.
            assert trial["factors"]["probe"] == "stalls"
            continue
        if trial["tables"]["samples"]["rows"] == 0:
            continue
        table = tables[trial["tables"]["samples"]["file"]][trial["id"]]
        assert table.columns[-5:] == ["at_ns", "value_ps", "n", "missed", "mark"]
        for factor, level in trial["factors"].items():
            assert (table[factor] == level).all()
        assert table["at_ns"].is_sorted()
        assert table.height == trial["tables"]["samples"]["rows"]
        mark = polars.col("mark")
        # Disturbed samples count; what is left out is Tompion's own.
        left_out = mark.is_in(["warm-up", "recorder"]).fill_null(False)
        values = table.filter(~left_out & (polars.col("n") == 1))["value_ps"]
        undisturbed = table.filter(mark.is_null() & (polars.col("n") == 1))["value_ps"]
        told = trial["summary"].get("undisturbed")
        if told is not None:
            assert len(undisturbed) == told["samples"]
            assert undisturbed.median() / 1000 == pytest.approx(told["median_ns"], rel=1e-12)
        expected = trial["summary"]["measured"]
        if expected is None:
            assert len(values) == 0
            continue
        assert len(values) == expected["samples"]
        assert values.median() / 1000 == pytest.approx(expected["median_ns"], rel=1e-12)
        assert values.max() / 1000 == pytest.approx(expected["max_ns"], rel=1e-12)
        checked += 1
    assert checked > 50


def test_the_summary_is_what_a_person_expects(default_run):
    lines = default_run.stdout.splitlines()
    assert lines[0].strip(), "the verdict comes first"
    for word in ("usleep", "tompion-hybrid", "median", "p99", "max", "report.html"):
        assert word in default_run.stdout, word
    assert max(map(len, lines)) <= 100
    assert default_run.stderr == "", "quiet in a pipe"


def test_profiles_are_judged(default_run):
    names = {p["name"] for p in default_run.json["assessment"]["profiles"]}
    assert {
        "pacing-300m",
        "pacing-1g",
        "pacing-10g",
        "pacing-100g",
        "packet-scheduler-12us",
        "audio-48k-64",
        "control-1khz",
        "voip",
        "game-128hz",
    } <= names


def test_the_report_is_made_again_the_same(default_run):
    first = (default_run.directory / "report.html").read_bytes()
    again = default_run.directory / "again.html"
    tompion("report", default_run.directory, "--html", again, "--quiet", check=0)
    assert again.read_bytes() == first
    again.unlink()
