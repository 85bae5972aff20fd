"""A new probe, method, load, platform, form or section is one file and one line: patches in tests/extend, each
applied alone to see what it changes, and all together to see that they work."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT
from heavy import polars

PATCHES = sorted((ROOT / "tests/extend").glob("*.patch"))


def git(*arguments, cwd=ROOT):
    return subprocess.run(["git", *arguments], cwd=cwd, capture_output=True, text=True, check=True)


@pytest.mark.parametrize("patch", PATCHES, ids=lambda p: p.stem)
def test_an_extension_changes_one_line_of_one_file_besides_its_own(patch):
    git("apply", "--check", str(patch))
    numbers = git("apply", "--numstat", str(patch)).stdout.splitlines()
    changed = [line.split("\t") for line in numbers]
    new = {line.split()[-1] for line in git("apply", "--summary", str(patch)).stdout.splitlines()}
    files = [(int(added), int(removed), name) for added, removed, name in changed]
    assert any(name in new for _, _, name in files)
    [(added, removed, _)] = [file for file in files if file[2] not in new]
    assert (added, removed) == (1, 0)


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """The program with all extensions, built in a directory of its own: of two copies of a
    crate in one directory cargo takes either."""
    tree = tmp_path_factory.mktemp("extended")
    files = git("ls-files", "-z").stdout.split("\0")[:-1]
    for name in files:
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tree / name)
    for patch in PATCHES:
        git("apply", str(patch), cwd=tree)
    target = ROOT / "target/extended"
    command = "cargo rustc --release --locked -p tompion --bin tompion -- -C target-feature=+crt-static"
    done = subprocess.run(
        command.split(),
        cwd=tree,
        env=os.environ | {"CARGO_TARGET_DIR": str(target)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    program = target / "release/tompion"

    def run(*arguments, check=0):
        done = subprocess.run(
            [program, *map(str, arguments)], capture_output=True, text=True, timeout=300, cwd=tree
        )
        assert done.returncode == check, done.stdout + done.stderr
        return done.stderr if check else done.stdout

    return run


def complaint(extended, *arguments):
    """The one line in which the program refuses that."""
    [line] = extended(*arguments, check=1).splitlines()
    return line


def methods_of(run):
    record = json.loads((run / "run.json").read_text())
    return {trial["factors"].get("method") for trial in record["trials"]}


def test_a_method_is_listed_measured_and_reported(extended, tmp_path):
    listed = json.loads(extended("list", "--json"))
    assert "futex-wait" in [row["name"] for row in listed["wake_up_methods"]]
    run = tmp_path / "run"
    told = extended(
        *("measure", "wake-up", "--methods", "futex-wait,usleep", "--targets", "1ms"),
        *("--duration", "2s", "--out", run),
    )
    assert "futex-wait" in told
    assert methods_of(run) == {"futex-wait", "usleep"}
    page = (run / "report.html").read_text()
    assert "futex-wait" in page
    report = json.loads(extended("report", run, "--json"))
    assert "futex-wait" in json.dumps(report)


def test_a_keeper_of_the_clock_is_found_where_it_runs(extended):
    command = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'htpdate'); print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", command], stdout=subprocess.PIPE) as running:
        running.stdout.readline()
        keepers = json.loads(extended("env", "--json"))["time_keeping"]["keepers"]
        running.kill()
    [found] = [keeper for keeper in keepers if keeper["name"] == "htpdate"]
    assert found["running"] and found["keeps"] and "whole seconds" in found["note"]


def test_a_probe_is_offered_everywhere(extended):
    listed = json.loads(extended("list", "--json"))["probes"]
    [about] = [row["about"] for row in listed if row["name"] == "hand-over"]
    assert about in extended("list")
    help_ = extended("measure", "--help")
    assert about in help_ and "tompion measure hand-over" in help_
    assert "--samples <N>" in extended("measure", "hand-over", "--help")
    for shell in ("bash", "zsh", "fish"):
        assert "hand-over" in extended("completions", shell)
    assert "such as 100000" in complaint(extended, "measure", "hand-over", "--samples", "x")


def test_a_probe_is_measured_with_its_side_table_and_reported(extended, tmp_path):
    run = tmp_path / "run"
    summary = extended(
        *("measure", "hand-over", "--samples", "2000", "--blocks", "2"),
        *("--loads", "idle,cpu:threads=1", "--duration", "2s", "--out", run),
    )
    assert "hand-over" in summary and "futex" in summary
    assert methods_of(run) == {"futex"}
    samples = polars.read_parquet(run / "hand-over.parquet")
    places = polars.read_parquet(run / "hand-over.places.parquet")
    assert places.columns == ["trial", "at_ns", "from_cpu", "to_cpu"]
    assert len(places) == len(samples) > 100
    # Each hand-over begins where the one before it has ended.
    rows = places.filter(polars.col("trial") == 0)
    assert rows["from_cpu"][1:].to_list()[::2] == rows["to_cpu"][:-1].to_list()[::2]
    assert samples["value_ps"].min() > 0
    assert "hand-over" in (run / "report.html").read_text()
    report = json.loads(extended("report", run, "--json"))
    factors = {cell["factors"]["probe"] for cell in report["cells"]}
    assert factors == {"hand-over"}


def test_a_probe_is_part_of_a_plan(extended, tmp_path):
    plan = tmp_path / "plan.toml"
    with_probe = (
        'replicates = 2\n[[platforms]]\nkind = "host"\n'
        '[[probes]]\nkind = "hand-over"\nsamples = 500\ntime = "300ms"\n'
    )
    plan.write_text(with_probe.replace("samples", "sample"))
    assert "did you mean `samples`?" in complaint(extended, "lab", "plan", plan)
    plan.write_text(with_probe)
    planned = json.loads(extended("lab", "plan", plan, "--json"))["plan"]["probes"]
    assert planned[0]["parameters"] == {"samples": ["500"]}
    run = tmp_path / "lab"
    extended("lab", "run", plan, "--out", run)
    assert methods_of(run) == {"futex"}
    assert len(polars.read_parquet(run / "hand-over.places.parquet")) > 100


def test_a_load_runs_beside_a_measurement_and_is_proved(extended, tmp_path):
    assert "fork" in [row["name"] for row in json.loads(extended("list", "--json"))["loads"]]
    run = tmp_path / "run"
    extended(
        *("measure", "wake-up", "--methods", "usleep", "--targets", "1ms", "--blocks", "2"),
        *("--loads", "idle,fork:pages=10", "--duration", "3s", "--out", run),
    )
    trials = json.loads((run / "run.json").read_text())["trials"]
    proofs = [t["load"] for t in trials if t["factors"]["load"] == "fork:pages=10"]
    assert proofs
    assert all(p["operation"] == "process forked and ended" for p in proofs)
    assert all(p["operations"] > 0 for p in proofs)


def test_a_platform_is_found_measured_and_told(extended, tmp_path):
    there = json.loads(extended("lab", "platforms", "--json"))
    [found] = [p for p in there if p["level"] == "unshare"]
    assert found["present"], found
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'name = "extended"\nreplicates = 2\nloads = ["idle", "fork"]\n'
        '[[platforms]]\nkind = "host"\n[[platforms]]\nkind = "unshare"\nnetwork = "host"\n'
        '[[probes]]\nkind = "wake-up"\nmethods = ["futex-wait"]\ntargets = ["1ms"]\ntime = "300ms"\n'
    )
    run = tmp_path / "lab"
    extended("lab", "run", plan, "--out", run)
    record = json.loads((run / "run.json").read_text())
    assert record["status"] == "complete"
    levels = {(t["factors"]["platform"], t["factors"]["load"]) for t in record["trials"]}
    assert levels == {(p, l) for p in ("host", "unshare") for l in ("idle", "fork")}
    assert [p["settings"] for p in record["platforms"]] == [[], ["network of the host"]]


def test_a_form_of_the_report_is_offered_and_made(extended, tmp_path):
    assert "ndjson" in extended("report", "--help")
    run = tmp_path / "run"
    extended("measure", "read-cost", "--duration", "1s", "--blocks", "2", "--out", run)
    lines = [json.loads(line) for line in extended("report", run, "--format", "ndjson").splitlines()]
    whole = json.loads(extended("report", run, "--json"))
    assert lines[0] == {key: value for key, value in whole.items() if key != "cells"}
    assert [line["cell"] for line in lines[1:]] == whole["cells"]


def test_a_section_of_the_report_is_in_every_form(extended, tmp_path):
    run = tmp_path / "run"
    extended("measure", "read-cost", "--duration", "1s", "--blocks", "2", "--out", run)
    assert "The longest samples" in extended("report", run)
    page = (run / "report.html").read_text()
    assert '<details class="section" id="longest"><summary><h3>The longest samples</h3>' in page
    assert 'aria-label="The longest samples: a bar each, the longest first"' in page
    assert "## The longest samples" in extended("report", run, "--format", "md")
    table, figures = json.loads(extended("report", run, "--json"))["longest"]
    assert len(table["content"]["rows"]) == 10
    assert figures["kind"] == "figures"
    extended("report", run, "--format", "svg", "--out", tmp_path / "plots")
    assert list((tmp_path / "plots").glob("*-the-longest-samples.svg"))
