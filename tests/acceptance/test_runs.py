"""Runs that are given no place: where they go, `@N`, `tompion runs`, and what it removes."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import TOMPION, planted
from runs import record_of, write_record
from terminal import Terminal

CHECK = ["check", "--methods", "rdtsc,usleep", "--loads", "idle", "--duration", "2s", "--quiet"]


class Kept:
    """Somebody's runs: three, and what is no run."""

    def __init__(self, home):
        self.home = home
        self.runs = home / ".local/state/tompion/runs"
        self.environment = {k: v for k, v in os.environ.items() if k != "XDG_STATE_HOME"} | {"HOME": str(home)}
        for seed in (1, 2, 3):
            self.run(*CHECK, "--seed", seed, status=0)
        (self.runs / "mine").mkdir()

    def run(self, *arguments, status=None, program=None, environment=None):
        done = subprocess.run(
            [program or planted(), *map(str, arguments)],
            cwd=self.home,
            env=environment or self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert status is None or done.returncode == status, done.stderr
        return done

    def listed(self, *arguments):
        return json.loads(self.run("runs", "--json", *arguments, status=0).stdout)["runs"]


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    return Kept(tmp_path_factory.mktemp("home"))


@pytest.fixture
def kept(three, tmp_path):
    """A copy, to remove from."""
    shutil.copytree(three.home, tmp_path / "home", symlinks=True)
    copy = object.__new__(Kept)
    copy.home, copy.runs = tmp_path / "home", tmp_path / "home/.local/state/tompion/runs"
    copy.environment = three.environment | {"HOME": str(copy.home)}
    return copy


def test_runs_are_kept_in_the_users_state_directory_for_him_alone(three):
    # Nothing is left where the command was called.
    assert [path.name for path in three.home.iterdir()] == [".local"]
    for directory in (three.runs, three.runs.parent):
        assert directory.stat().st_mode & 0o777 == 0o700
    listed = three.listed()
    assert [run["name"] for run in listed] == ["@1", "@2", "@3"]
    for run, seed in zip(listed, (3, 2, 1)):
        assert re.fullmatch(r"\d{8}-\d{6}(-\d+)?", Path(run["path"]).name)
        record = json.loads((Path(run["path"]) / "run.json").read_text())
        assert record["design"]["seed"] == seed and run["trials"] == len(record["trials"]) > 0
        assert run["command"] == " ".join(record["command_line"][1:])
        assert run["status"] == "complete" and run["started_at"] == record["started_at"]
        assert run["bytes"] == sum(f.stat().st_size for f in Path(run["path"]).rglob("*") if f.is_file())
    table = three.run("runs", status=0).stdout.splitlines()
    assert table[0].split() == ["run", "began", "(UTC)", "size", "status", "command"]
    assert [line.split()[0] for line in table[1:4]] == ["@1", "@2", "@3"] and len(table) == 5


def test_xdg_state_home_comes_first_and_without_any_home_one_line_says_so(three, tmp_path):
    there = three.environment | {"XDG_STATE_HOME": str(tmp_path)}
    three.run(*CHECK, environment=there, status=0)
    assert len(list((tmp_path / "tompion/runs").iterdir())) == 1
    # An absolute path is wanted.
    relative = three.environment | {"XDG_STATE_HOME": "here"}
    assert three.run("runs", "--json", environment=relative, status=0).stdout.count('"name"') == 3
    nowhere = three.environment | {"HOME": "/dev/null/home"}
    done = three.run(*CHECK, environment=nowhere, status=1)
    assert len(done.stderr.splitlines()) == 1 and "/dev/null/home" in done.stderr


def test_where_no_run_is_kept_that_is_said(three, tmp_path):
    one = three.listed()[0]["path"]
    none = three.environment | {"XDG_STATE_HOME": str(tmp_path)}
    assert three.run("runs", environment=none, status=0).stdout == f"no runs in {tmp_path}/tompion/runs\n"
    for arguments, number in [
        (["report"], 1),
        (["compare"], 2),
        (["compare", one], 1),
        (["compare", "published:kirova-2019"], 1),
        (["compare", "--by", "load"], 1),
    ]:
        done = three.run(*arguments, environment=none, status=1)
        told = f"tompion: @{number}: there is no such run; {tmp_path}/tompion/runs holds none: `tompion check` measures one\n"
        assert done.stderr == told, arguments


def test_the_home_of_a_user_controls_no_terminal(three, tmp_path):
    """Whatever it is called: a machine reads its name as it is."""
    home = tmp_path / "home\u202e\x1b[2J"
    shutil.copytree(three.home, home)
    done = subprocess.run([TOMPION, "runs", "--json"], env=three.environment | {"HOME": str(home)}, capture_output=True,
                          text=True, check=True)
    assert not set(done.stdout) & {"\u202e", "\x1b"}, done.stdout
    assert all(run["path"].startswith(f"{home}/") for run in json.loads(done.stdout)["runs"])


def test_a_directory_that_others_may_write_to_is_refused(kept):
    kept.runs.chmod(0o777)
    for arguments in (CHECK, ["runs"], ["report", "@1"], ["runs", "--keep", "1", "--prune", "--yes"]):
        done = kept.run(*arguments, status=1)
        assert len(done.stderr.splitlines()) == 1 and "others may write to it" in done.stderr
    assert len(list(kept.runs.iterdir())) == 4


def test_report_and_compare_take_the_newest_and_those_before(three):
    listed = [Path(run["path"]) for run in three.listed()]

    def seed_of(*arguments):
        return json.loads(three.run("report", "--json", *arguments, status=0).stdout)["design"]["seed"]

    assert [seed_of(), seed_of("@"), seed_of("@1"), seed_of("@3"), seed_of(listed[1])] == [3, 3, 3, 1, 2]
    assert "Report: " + str(listed[0]) in three.run("report", status=0).stdout
    for given, names in [
        ([], [listed[1], listed[0]]),
        (["@3"], [listed[2], listed[0]]),
        (["@2", "@3"], [listed[1], listed[2]]),
        (["@3", "@1,@2"], [listed[2], f"{listed[0]},{listed[1]}"]),
    ]:
        # Without the breaks of lines.
        shown = "".join(three.run("compare", *given, status=0).stdout.split())
        assert f"A={names[0]}B={names[1]}Rep" in shown
    three.run("compare", "--by", "timer-slack", status=0)
    done = three.run("compare", "@1", status=1)
    assert "is given twice" in done.stderr
    for name in ("@0", "@x", "@1/", "@99999999999999999999"):
        for arguments in (["report", name], ["compare", name, "@2"], ["compare", f"@2,{name}", "@1"]):
            [line] = three.run(*arguments, status=1).stderr.splitlines()
            assert line.startswith(f"tompion: {name}: names no run; those that were kept are @1, the newest"), line
    # A directory may be called so.
    shutil.copytree(listed[0], three.home / "@x")
    assert seed_of("@x") == 3
    shutil.rmtree(three.home / "@x")
    done = three.run("report", "@4", status=1)
    assert done.stderr.splitlines() == [f"tompion: @4: there is no such run; {three.runs} holds 3 runs"]


def test_nothing_is_removed_without_a_choice_and_a_yes(kept):
    done = kept.run("runs", "--prune", status=1)
    assert "--keep N or --older-than TIME" in done.stderr
    done = kept.run("runs", "--prune", "--keep", "1", status=1)
    assert "nobody to ask" in done.stderr
    done = kept.run("runs", "--older-than", "soon", status=1)
    assert "30d" in done.stderr
    for wrong in ("x", "-1", "1.5"):
        done = kept.run("runs", f"--keep={wrong}", status=1)
        assert f"`{wrong}` is no number of runs; write one such as 10" in done.stderr, done.stderr
    assert len(kept.listed()) == 3


def test_the_question_shows_what_goes_and_only_a_yes_removes_it(kept):
    command = [str(planted()), "runs", "--keep", "2", "--prune"]
    last = Path(kept.listed()[2]["path"])
    for answer, is_left in (("n\n", True), ("y\n", False)):
        with Terminal(command, columns=100, environment=kept.environment | {"XDG_STATE_HOME": ""}) as terminal:
            shown = terminal.until("Remove this run? [y/N]")
            assert "@3" in shown and "@2" not in shown
            terminal.press(answer)
            assert terminal.end() == 0
        assert last.exists() == is_left
    assert len(kept.listed()) == 2 and (kept.runs / "mine").is_dir()


def test_what_is_listed_is_removed_and_nothing_else(kept, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    paths = [Path(run["path"]) for run in kept.listed()]
    (paths[2] / "link").symlink_to(outside)
    (paths[1] / "run.json").write_text("{")
    assert kept.listed("--older-than", "1d") == []
    damaged = kept.listed()[1]
    assert "run.json" in damaged["problem"] and "status" not in damaged
    assert "cannot be read" in kept.run("runs", status=0).stdout
    told = kept.run("runs", "--keep", "1", "--prune", "--yes", "--json", status=0).stdout
    assert [run["path"] for run in json.loads(told)["removed"]] == [str(paths[1]), str(paths[2])]
    assert sorted(path.name for path in kept.runs.iterdir()) == sorted([paths[0].name, "mine"])
    assert (outside / "kept").exists()


def test_what_is_no_run_or_of_a_newer_version_is_left_as_it_is(kept):
    paths = [Path(run["path"]) for run in kept.listed()]
    other = kept.runs / "20200101-000000"
    other.mkdir()
    (other / "mine").write_text("mine")
    write_record(paths[2], record_of(paths[2]) | {"schema_version": 99})
    done = kept.run("runs", "--keep", "0", "--prune", "--yes", status=0)
    assert done.stdout.startswith("removed 2 runs, ")
    left = done.stderr.splitlines()
    assert len(left) == 2 and all("left as it is (" in line for line in left), left
    assert (other / "mine").exists() and paths[2].exists() and not paths[0].exists()
    assert kept.run("runs", "--older-than", "1d", status=0).stdout == f"none of the 2 runs in {kept.runs} matches\n"
    assert f" in 1 of 2 runs in {kept.runs}\n" in kept.run("runs", "--keep", "1", status=0).stdout


def test_a_run_under_way_is_never_removed(kept):
    command = ["check", "--methods", "usleep", "--loads", "idle", "--duration", "30s", "--quiet"]
    here = {str(path) for path in kept.runs.iterdir()}
    # In real time, so that it is under way.
    process = subprocess.Popen([TOMPION, *command], env=kept.environment, cwd=kept.home)
    try:
        for _ in range(600):
            new = {str(path) for path in kept.runs.iterdir()} - here
            if new and (Path(next(iter(new))) / "run.json").exists():
                break
            time.sleep(0.05)
        # Its beginning is kept to the second.
        time.sleep(1)
        done = kept.run("runs", "--older-than", "1ns", "--prune", "--yes")
        assert done.returncode == 1 and "another process writes a run there" in done.stderr
        assert [run["status"] for run in kept.listed()] == ["running"]
    finally:
        process.terminate()
        process.wait(timeout=60)


def test_directories_in_one_another_keep_no_run_from_being_removed(tmp_path):
    """More of them than there are descriptors."""
    kept = Kept(tmp_path)
    oldest = sorted(kept.runs.glob("2*"))[0]
    at = os.open(oldest, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    limited = ["prlimit", "--nofile=256", planted(), "runs", "--keep", "0", "--prune", "--yes"]
    done = subprocess.run([str(word) for word in limited], env=kept.environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in kept.runs.iterdir()] == ["mine"]


def test_a_check_that_is_stopped_before_its_first_measurement_leaves_nothing(tmp_path):
    """Of a hundred thousand days the first trial takes some, by these seeds one that has nothing to keep before it ends."""
    left = 0
    for seed in (3, 4, 8):
        state = tmp_path / str(seed)
        check = subprocess.Popen([TOMPION, "check", "--duration", "100000d", "--seed", str(seed)],
                                 env=os.environ | {"XDG_STATE_HOME": str(state)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(3)
        check.send_signal(signal.SIGINT)
        shown, told = check.communicate(timeout=30)
        assert check.returncode == 130, told
        kept = list(state.rglob("run.json"))
        assert all(record_of(run.parent)["trials"] for run in kept)
        assert bool(kept) == bool(shown) and ("nothing was measured, so nothing is kept" in told) == (not kept), told
        left += len(kept)
    assert left < 3
