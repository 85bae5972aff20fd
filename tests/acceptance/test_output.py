"""What goes where: the page, standard output, the terminal."""

import json
import os
import re
import stat
import subprocess
import threading

import pytest

from conftest import TOMPION, planted, tompion
from terminal import in_terminal

SMALL = ("--loads", "idle", "--methods", "usleep,timerfd,rdtsc", "--targets", "100us,1ms")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run too small for any p99.9."""
    directory = tmp_path_factory.mktemp("small") / "run"
    tompion(
        *("check", *SMALL, "--duration", "2s", "--blocks", 6, "--wake-samples", 240, "--seed", 1),
        *("--quiet", "--out", directory),
        program=planted(),
        check=0,
    )
    return directory


def bare(text):
    return re.sub("\x1b\\[[0-9;]*[A-Za-z]", "", text)


def test_the_page_goes_into_a_pipe_without_replacing_it(run, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    tompion("report", run, "--html", pipe, "--quiet", check=0)
    reader.join(timeout=10)
    assert got and got[0].startswith("<!DOCTYPE html>") and got[0].endswith("</html>")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_to_the_page_is_followed_and_stays(run, tmp_path):
    (tmp_path / "link.html").symlink_to("real.html")
    for _ in range(2):
        tompion("report", run, "--html", "link.html", "--quiet", cwd=tmp_path, check=0)
        assert (tmp_path / "link.html").is_symlink()
        assert (tmp_path / "real.html").read_text().startswith("<!DOCTYPE html>")


def test_the_page_may_have_a_bare_name_or_go_to_standard_output(run, tmp_path):
    tompion("report", run, "--html", "x.html", "--quiet", cwd=tmp_path, check=0)
    page = tompion("report", run, "--html", "-", cwd=tmp_path, check=0).stdout
    assert page == (tmp_path / "x.html").read_text()
    both = tompion("report", run, "--html", "-", "--json", cwd=tmp_path, check=1)
    assert "standard output" in both.stderr and both.stdout == ""
    assert [p.name for p in tmp_path.iterdir()] == ["x.html"]


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["list"], ["env"], ["env", "--json"], ["completions", "fish"], ["report"]],
    ids=" ".join,
)
def test_a_full_standard_output_is_an_error(run, arguments):
    if arguments == ["report"]:
        arguments = ["report", run, "--json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [TOMPION, *arguments], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "tompion: standard output: No space left on device (os error 28)\n"


@pytest.mark.parametrize("json_or_text", [[], ["--json"]], ids=["text", "json"])
def test_a_reader_who_has_seen_enough_is_no_error(run, json_or_text):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [TOMPION, "report", run, *json_or_text], stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_quantiles_that_samples_cannot_support_are_not_told(run):
    text = tompion("report", run, check=0).stdout
    profiles = json.loads(tompion("report", run, "--json", check=0).stdout)["assessment"]["profiles"]
    short = [v for p in profiles for v in p["by_load"] if v["samples_missing"] > 0]
    assert any(v["quantile"] == 0.999 for v in short), "240 samples support no p99.9"
    assert "? too few samples" in text and not re.search(r"[?✓✗] p99\.9†? [0-9]", text)
    for verdict in short:
        missing = f"{verdict['samples_missing']:,}".replace(",", "\u202f")
        assert f"({missing} more)" in text
    # They ended by their number or by their time.
    assert re.search(r"run again with .*(--wake-samples [0-9]{4,}|--duration [0-9]+[smh])", " ".join(text.split()))
    page = (run / "report.html").read_text()
    table = page[page.index("<table class=\"profiles\"") :].split("</table>")[0]
    assert "p99.9 <b>" not in table and "too few samples" in table


def test_findings_and_tables_name_a_target_alike(run):
    assert "100us" not in tompion("report", run, check=0).stdout.split("Report:")[0]


@pytest.mark.parametrize("columns", [40, 58, 80])
def test_the_summary_keeps_within_the_terminal(run, columns):
    lines = bare(in_terminal(columns, "report", run)).replace("\r", "").splitlines()
    summary = lines[: next(i for i, l in enumerate(lines) if l.startswith("Report:"))]
    assert len(summary) > 20
    assert max(map(len, summary)) <= columns, max(summary, key=len)


def test_a_watched_program_shows_the_time_that_is_left_and_pipes_stay_clean():
    watch = ("measure", "stalls", "--pid", os.getpid(), "--duration", "2s")
    text = in_terminal(60, *watch)
    assert not re.search("\x1b\\[[0-9]*A", text), "the cursor went up"
    lines = [bare(l) for l in re.split("[\r\n]", text) if " s left" in bare(l)]
    assert len(lines) > 5 and max(map(len, lines)) <= 60, lines
    assert f"watching process {os.getpid()}" in lines[0]
    left = [int(re.search(r"(\d+) s left", l)[1]) for l in lines]
    assert left[0] == 2 and left[-1] <= 1 and left == sorted(left, reverse=True), left
    assert tompion(*watch[:-1], "300ms", check=0).stderr == ""


@pytest.mark.parametrize("columns", [50, 80])
def test_progress_is_one_line_that_never_wraps(tmp_path, columns):
    text = in_terminal(columns, "check", *SMALL, "--duration", "3s", "--out", tmp_path / "r")
    assert not re.search("\x1b\\[[0-9]*A", text), "the cursor went up"
    shown = [l for l in re.split("[\r\n]", text) if " left" in bare(l) and "/" in bare(l)]
    lines = [bare(l) for l in shown]
    assert len(lines) > 10 and max(map(len, lines)) <= columns
    left = [int(re.search(r"(\d+) s left", l)[1]) for l in lines]
    assert left[0] <= 3 and left[-1] <= 1, left


def test_a_terminal_without_escape_sequences_gets_none(run):
    assert "\x1b" in in_terminal(80, "report", run, "--screen")
    assert "\x1b" not in in_terminal(80, "report", run, "--screen", term="dumb")
    assert "\x1b" not in in_terminal(80, "check", *SMALL, "--duration", "1s", "--out", run.parent / "dumb", term="dumb")


def test_columns_of_a_terminal_count_without_its_rows(run):
    for rows in (0, 24):
        lines = bare(in_terminal(80, "report", run, "--screen", rows=rows)).splitlines()
        shown = [line for line in lines if not line.startswith(("Report:", "Run:"))]
        assert max(map(len, shown)) <= 80
