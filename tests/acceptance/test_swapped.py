"""Root writes a run into a directory of another user, who swaps it for links meanwhile."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import TOMPION, planted, tompion
from swapper import NOBODY, place_for_all, swapping
from test_writers import PLAN

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="another user takes root")

CONTENT = dict.fromkeys(("run.json", "report.html", "lab.jsonl", "samples/00000.parquet"), "mine")


def content(directory):
    return {
        str(p.relative_to(directory)): p.read_text() for p in directory.rglob("*") if p.is_file()
    }


@pytest.fixture
def places():
    """A directory of somebody else's, one of ours that he is after, and one of his that is full of
    links to it."""
    with place_for_all() as here:
        yield planted_in(here)


def planted_in(here):
    place, victim = here / "theirs", here / "victim"
    for name, text in CONTENT.items():
        (victim / name).parent.mkdir(parents=True, exist_ok=True)
        (victim / name).write_text(text)
    place.mkdir()
    fake = place / "fake"
    fake.mkdir()
    for name in ("run.json", "report.html", "samples"):
        (fake / name).symlink_to(victim / name)
    for directory in (place, fake):
        os.chown(directory, NOBODY, NOBODY)
    return place, victim, [victim, fake]


def run_of(place):
    """Where the run is by now."""
    [run] = [d for d in (place / "run", place / "away") if not d.is_symlink() and d.is_dir()]
    assert run.stat().st_uid == 0
    return run


METHODS = ("--methods", "usleep,nanosleep,rdtsc", "--loads", "idle")
CHECK = (*METHODS, "--blocks", 6, "--duration", "5s", "--seed", 1)
WATCH = ("--plain", "--for", "800ms", "--loads", "io")


@pytest.mark.parametrize(
    "program, arguments, times",
    [(planted, ("check", *CHECK), 3), (lambda: TOMPION, ("watch", *WATCH), 1)],
    ids=["check", "watch"],
)
def test_a_run_whose_directory_is_swapped_is_whole_where_it_was_moved(
    places, program, arguments, times
):
    place, victim, others = places
    for _ in range(times):
        with swapping(place, others):
            done = subprocess.run(
                [str(program()), *map(str, arguments), "--out", str(place / "run")],
                capture_output=True,
                text=True,
                timeout=60,
            )
        assert content(victim) == CONTENT
        assert done.returncode == 0, done.stderr
        run = run_of(place)
        record = json.loads((run / "run.json").read_text())
        assert record["status"] == "complete" and record["trials"]
        assert all((run / listed["file"]).is_file() for listed in record["files"])
        if arguments[0] == "check":
            assert (run / "report.html").read_text().endswith("</html>")
        tompion("report", run, "--json", check=0)
        for name in ("run", "away"):
            left = place / name
            left.unlink() if left.is_symlink() else subprocess.run(["rm", "-rf", left], check=True)


def test_the_page_of_a_joined_run_is_written_into_no_other(tmp_path):
    """A run of root's is put in the place of the one that is being joined."""
    packets = ("packet-delay", "--to", "127.0.0.1", "--icmp", "--probes", 40, "--intervals", "10ms", "--loads", "idle")
    tap = subprocess.Popen([TOMPION, "tap", "--device", "lo", "--icmp", "--quiet", "--write", tmp_path / "tap.pcapng"])
    try:
        time.sleep(0.5)
        tompion("measure", *packets, "--blocks", 1, "--out", tmp_path / "packets", "--quiet", check=0)
    finally:
        tap.send_signal(signal.SIGINT)
        tap.wait(timeout=20)
    with place_for_all() as here:
        place, victim, _ = planted_in(here)
        subprocess.run(["rm", "-rf", victim], check=True)
        subprocess.run(["cp", "-r", tmp_path / "packets", victim], check=True)
        (victim / "report.html").write_text("mine")
        for _ in range(3):
            with swapping(place, [victim]):
                done = tompion("join", tmp_path / "packets", "--tap", f"lo={tmp_path}/tap.pcapng", "--out", place / "run")
            assert (victim / "report.html").read_text() == "mine"
            assert done.returncode == 0, done.stderr
            assert (run_of(place) / "report.html").read_text().rstrip().endswith("</html>")
            for name in ("run", "away"):
                left = place / name
                left.unlink() if left.is_symlink() else subprocess.run(["rm", "-rf", left], check=True)


def test_a_lab_whose_directory_is_swapped_has_its_files_where_nobody_else_comes(places, tmp_path):
    place, victim, others = places
    (tmp_path / "plan.toml").write_text(PLAN)
    before = {p.name for p in victim.iterdir()}
    for _ in range(3):
        with swapping(place, others):
            done = tompion("lab", "run", tmp_path / "plan.toml", "--out", place / "run", "--quiet")
        assert content(victim) == CONTENT and {p.name for p in victim.iterdir()} == before
        assert (done.returncode, done.stderr) == (0, "")
        run = run_of(place)
        record = json.loads((run / "run.json").read_text())
        assert record["status"] == "complete" and len(record["trials"]) == 1
        [told] = [note["text"] for note in record["notes"] if "had their files in" in note["text"]]
        assert f"belongs to user {NOBODY}" in told
        assert not list(run.glob("scratch-*")) and not list(Path("/var/tmp").glob("tompion-lab-*"))
        for name in ("run", "away"):
            left = place / name
            left.unlink() if left.is_symlink() else subprocess.run(["rm", "-rf", left], check=True)
