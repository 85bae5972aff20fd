"""`tompion watch` on a terminal: what it shows, keys, ends, what it leaves behind."""

import json
import os
import re
import select
import signal
import time
from pathlib import Path

import pytest

from conftest import ROOT, TOMPION, example, tompion
from runs import require_few_files
from terminal import Terminal
from test_time_limits import ROOT_ONLY, cpu_quota

FIGURES = re.compile(r"now p50 +[\d.]+ (ns|us|ms)  p99 +[\d.]+ (ns|us|ms)  max")


def watch(tmp_path, *arguments, **how):
    command = [TOMPION, "watch", "--out", tmp_path / "run", *arguments]
    return Terminal(command, **how)


def cells(directory):
    """Which cells a run holds, as the report tells it."""
    report = tompion("report", directory, "--json", check=0)
    record = json.loads((directory / "run.json").read_text())
    assert json.loads(report.stdout)
    return record, {tuple(sorted(trial["factors"].items())) for trial in record["trials"]}


def levels(record, factor):
    return {trial["factors"].get(factor) for trial in record["trials"]}


def test_it_shows_figures_switches_by_keys_and_leaves_a_run_behind(tmp_path):
    with watch(tmp_path, "--loads", "idle,cpu:threads=2", "--targets", "1ms,2ms") as shown:
        shown.until(lambda text: FIGURES.search(text))
        text = shown.until("Stalls lost")
        assert "running" in text and "idle | clock-nanosleep-abs 1ms | any CPU" in text
        assert re.search(r"Clock \S+, (synchronised|NOT synchronised)", text), text
        assert re.search(r"Steal (\S+ % now|not )", text), text
        assert re.search(r"own: drawing [\d.<]+ %, observing [\d.<]+ %", text), text
        shown.press("m")
        shown.until(lambda text: "usleep 1ms" in text and FIGURES.search(text))
        shown.press("l")
        shown.until(lambda text: "cpu:threads=2 | usleep" in text and FIGURES.search(text))
        shown.press("tc")
        shown.until(lambda text: "usleep 2ms | CPU" in text and FIGURES.search(text))
        shown.press("?")
        shown.until("Any key closes this help")
        shown.press("xp")
        shown.until("PAUSED")
        shown.press("q")
        assert shown.end() == 0
        assert shown.is_restored()
        assert b"tompion report" in shown.raw
    require_few_files(tmp_path / "run")
    record, _ = cells(tmp_path / "run")
    assert record["status"] == "complete"
    assert levels(record, "probe") == {"wake-up", "stalls"}
    assert levels(record, "load") == {"idle", "cpu:threads=2"}
    assert levels(record, "method") >= {"clock-nanosleep-abs", "usleep", "busy-loop"}
    assert levels(record, "target") >= {"1ms", "2ms"}
    assert len(levels(record, "cpu")) == 2, "free, and pinned"


@pytest.mark.parametrize("how", ["ctrl-c", "SIGTERM", "SIGHUP", "hang-up"])
def test_every_end_gives_the_terminal_back_and_keeps_what_was_measured(tmp_path, how):
    with watch(tmp_path, "--loads", "idle") as shown:
        shown.until(lambda text: FIGURES.search(text))
        if how == "ctrl-c":
            shown.press("\x03")
        elif how == "hang-up":
            # What ssh leaves when it is cut off.
            os.close(shown.slave)
            os.close(shown.master)
            shown.slave = shown.master = None
            assert shown.process.wait(timeout=60) == 130
        else:
            shown.signal(getattr(signal, how))
        if how != "hang-up":
            assert shown.end() == 130
            assert shown.is_restored()
    record, _ = cells(tmp_path / "run")
    assert record["status"] == "interrupted" and record["trials"]


@pytest.mark.parametrize("where", [[], ["thread"]])
def test_a_panic_gives_the_terminal_back_before_its_message(where):
    with Terminal([example("tompion-watch", "screen_panic"), *where]) as shown:
        assert shown.end() == 101
        assert shown.is_restored()
        left = shown.raw.find(b"\x1b[?1049l")
        assert 0 < left < shown.raw.find(b"planted")


COLOUR = re.compile(rb"\x1b\[[0-9;]*\b[34]8;|\x1b\[3[0-7]m|\x1b\[9[0-7]m")


@pytest.mark.parametrize("how", [{"NO_COLOR": "1"}, {"TERM": "vt100"}, {"TERM": "xterm"}])
def test_colours_are_left_out_where_they_are_not_wanted_or_not_known(tmp_path, how):
    with watch(tmp_path, "--loads", "idle", environment=how) as shown:
        shown.until(lambda text: FIGURES.search(text))
        shown.press("q")
        assert shown.end() == 0
        assert bool(COLOUR.search(shown.raw)) == (how.get("TERM") == "xterm")
        assert shown.is_restored()


def test_a_terminal_may_change_its_size(tmp_path):
    with watch(tmp_path, "--loads", "idle", columns=60, rows=20) as shown:
        shown.until("60x20 is too small: 80x24 needed; q quits")
        for columns, rows in [(80, 24), (132, 43), (60, 20), (80, 24)]:
            shown.resize(columns, rows)
            if columns < 80:
                shown.until("60x20 is too small: 80x24 needed; q quits")
                continue
            foot = lambda text: "q quit" in text.splitlines()[-1]  # noqa: E731
            text = shown.until(lambda text: FIGURES.search(text) and foot(text))
            # All of it is used: the time stands at the right edge.
            assert re.search(r"running \d\d:\d\d$", text.splitlines()[0]), text
            assert len(text.splitlines()) == rows and "Worst cases" in text
        shown.press("q")
        assert shown.end() == 0
        assert shown.is_restored()
    assert cells(tmp_path / "run")[0]["status"] == "complete"


def memory_mb(shown, line):
    status = Path(f"/proc/{shown.process.pid}/status").read_text()
    return next(int(row.split()[1]) / 1000 for row in status.splitlines() if row.startswith(line))


def test_it_takes_no_more_memory_than_its_page_says(tmp_path):
    page = (ROOT / "docs/watch.md").read_text()
    often, most = map(int, re.search(r"takes\s+some\s+(\d+)\s+MB[^.]*?(\d+)\s+MB", page).groups())
    with watch(tmp_path, "--loads", "idle,memory", columns=120, rows=40) as shown:
        shown.until(lambda text: FIGURES.search(text))
        taken = []
        for second in range(9):
            if second == 5:
                shown.press("l")
            until = time.monotonic() + 1
            while time.monotonic() < until:
                shown.read(0.02)
                taken.append(memory_mb(shown, "VmRSS"))
        print(f"{sorted(taken)[len(taken) // 2]:.1f} MB, at most {memory_mb(shown, 'VmHWM'):.1f} MB")
        assert sorted(taken)[len(taken) // 2] < often
        assert memory_mb(shown, "VmHWM") < most
        shown.press("q")
        assert shown.end() == 0


def test_a_terminal_without_end_is_drawn_on_in_part(tmp_path):
    with watch(tmp_path, "--loads", "idle") as shown:
        shown.until(lambda text: FIGURES.search(text))
        shown.set_size(65535, 65535)
        time.sleep(1)
        status = Path(f"/proc/{shown.process.pid}/status").read_text()
        [most_kb] = [int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line]
        assert most_kb < 256 * 1024
        # As it comes: to draw so much of it here would take longer than the program does. A key
        # that comes together with a new size is lost in crossterm.
        until = time.monotonic() + 30
        while shown.process.poll() is None and time.monotonic() < until:
            shown.press("q")
            if select.select([shown.master], [], [], 0.5)[0]:
                os.read(shown.master, 1 << 20)
        assert shown.process.wait(timeout=1) == 0
    assert cells(tmp_path / "run")[0]["status"] == "complete"


@ROOT_ONLY
def test_a_quota_stalls_the_loop_with_that_cause_and_is_told(tmp_path):
    """A tenth of a CPU in periods of 100 ms: a loop of 500 ms is stopped for 90 ms at a time."""
    command = ["sh", "-c", 'echo $$ > "$0"; exec "$@"']
    with cpu_quota(f"tompion-test-watch-{os.getpid()}", 10_000, 100_000) as members:
        options = ["--loads", "idle", "--targets", "10ms", "--out", tmp_path / "run"]
        with Terminal([*command, members, TOMPION, "watch", *options]) as shown:
            # Name, share of the loop's time, the longest part. Beside busy neighbours most
            # of what the loop lacks may be theirs.
            row = re.compile(r"throttled +[\d.]+ % +(\d+(?:\.\d+)?) ms")
            longest = lambda text: max(map(float, row.findall(text)), default=0)  # noqa: E731
            shown.until(lambda text: longest(text) > 20, seconds=120)
            text = shown.until(lambda text: re.search(r"CPU quota took [\d.]+ s", text), seconds=120)
            assert "Stalls lost" in text
            shown.press("q")
            assert shown.end(seconds=120) == 0
    record, _ = cells(tmp_path / "run")
    found = [t["findings"]["stalls"] for t in record["trials"] if "findings" in t]
    causes = [c for stalls in found for c in stalls["causes"]]
    assert max(c["longest_ns"] for c in causes if c["cause"] == "throttled") > 20e6, causes
    assert record["throttling"]["throttled_ns"] > 1e9


@ROOT_ONLY
def test_a_stop_of_the_process_is_a_worst_case_of_its_length_with_its_cause(tmp_path):
    with watch(tmp_path, "--loads", "idle") as shown:
        shown.until(lambda text: FIGURES.search(text))
        shown.press("r")
        # Some of them fall between two slices.
        for _ in range(6):
            shown.read(0.4)
            shown.signal(signal.SIGSTOP)
            time.sleep(0.4)
            shown.signal(signal.SIGCONT)
        lengths = re.compile(r"(\d+) ms (?:wake-up|stall  ) *stopped")
        found = lambda text: [int(ms) for ms in lengths.findall(text)]  # noqa: E731
        text = shown.until(lambda text: any(395 <= ms < 2000 for ms in found(text)))
        assert "Worst cases" in text
        shown.press("q")
        assert shown.end() == 0


def test_without_a_terminal_it_says_so_in_a_line(tmp_path):
    done = tompion("watch", "--out", tmp_path / "run")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "--plain" in done.stderr
    assert not (tmp_path / "run").exists()


def test_lines_instead_of_drawing(tmp_path):
    # A loop comes after eight slices, for which four seconds would do; a trial holds ten.
    options = ["--plain", "--for", "8s", "--loads", "idle", "--targets", "1ms"]
    done = tompion("watch", *options, "--out", tmp_path / "run", check=0)
    lines = done.stdout.splitlines()
    sleeps = [line for line in lines if " wake-up idle clock-nanosleep-abs 1ms any CPU: p50 " in line]
    loops = [line for line in lines if re.search(r" stalls idle: \S+ % lost, \d+ stalls", line)]
    assert len(sleeps) >= 4 and loops, done.stdout
    record, _ = cells(tmp_path / "run")
    assert record["status"] == "complete"
    # Slices are joined, and say so.
    assert [t["factors"]["probe"] for t in record["trials"]].count("wake-up") == 1
    assert record["design"]["order"].startswith("live")


def test_what_cannot_be_watched_is_refused_in_a_line(tmp_path):
    for options, want in [
        (["--cpu", "8000"], "--cpu: "),
        (["--methods", "snooze"], "unknown wake-up method"),
        (["--loads", "idle,idle"], "named twice"),
        (["--targets", "100"], "such as 100us"),
        (["--targets", "1ms,3s"], "--targets 3s: "),
        (["--targets", "1ms,1ms"], "target `1ms` is named twice"),
    ]:
        done = tompion("watch", "--plain", "--for", "1s", *options, "--out", tmp_path / "run")
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
        assert want in done.stderr
        assert not (tmp_path / "run").exists()
