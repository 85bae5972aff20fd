"""`--profiles FILE`: a run judged by the user's own limits."""

import json
import subprocess

import pytest

from conftest import planted, tompion
from runs import record_of, write_record

CHECK = ["check", "--methods", "clock-nanosleep-abs", "--loads", "idle", "--blocks", "8", "--duration", "400s", "--seed", "1"]
OWN = """
[[profile]]
name = "easy"
title = "what any machine can"
quantile = 0.5
period = "100us"
limit = "1s"
[[profile]]
name = "hard"
quantile = 0.5
period = "100us"
limit = "1ns"
[[profile]]
name = "voip"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("profiles")
    (place / "own.toml").write_text(OWN)
    return place


def run(place, *arguments):
    command = [str(word) for word in (planted(), *arguments)]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=100)


def test_a_run_is_judged_by_own_limits_and_by_none_else(place):
    done = run(place, *CHECK, "--profiles", "own.toml", "--json", "--out", "run")
    assert done.returncode == 0, done.stderr
    judged = {use["name"]: use for use in json.loads(done.stdout)["assessment"]["profiles"]}
    assert list(judged) == ["easy", "hard", "voip"]
    assert (judged["easy"]["outcome"], judged["hard"]["outcome"]) == ("pass", "fail")
    assert judged["easy"]["title"] == "what any machine can"
    assert judged["hard"]["requirement"] == "median of wake-up latency at most 1.00 ns"
    # The run keeps them.
    again = tompion("report", "run", "--json", cwd=place, check=0)
    assert json.loads(again.stdout)["assessment"]["profiles"] == json.loads(done.stdout)["assessment"]["profiles"]
    assert again.stderr == ""
    for options in ((), ("--format", "md"), ("--html", "-")):
        shown = tompion("report", "run", *options, cwd=place, check=0).stdout
        assert "what any machine can" in shown and "audio" not in shown
    assert tompion("report", "run", "--require", "hard", "--quiet", cwd=place).returncode == 2
    # Again by others, from the same run.
    (place / "other.toml").write_text("[[profile]]\nname = 'audio-48k-64'\n")
    page = (place / "run/report.html").read_bytes()
    other = tompion("report", "run", "--profiles", "other.toml", cwd=place, check=0).stdout
    assert "what any machine can" not in other and "audio" in other and "Report:" not in other
    # What others say of it does not take the place of its page, nor of what it keeps.
    assert (place / "run/report.html").read_bytes() == page
    tompion("report", "run", "--profiles", "other.toml", "--html", "other.html", "--quiet", cwd=place, check=0)
    assert "what any machine can" not in (place / "other.html").read_text()
    refused = tompion("report", "run", "--profiles", "other.toml", "--format", "run", "--out", "copy", cwd=place, check=1)
    assert "leave it out with --format run" in refused.stderr and not (place / "copy").exists()


def test_a_redacted_run_is_judged_alike_by_uses_without_a_name(place):
    run(place, *CHECK, "--profiles", "own.toml", "--out", "named")
    tompion("report", "named", "--redact", "--format", "run", "--out", "without", cwd=place, check=0)
    assert not any(b"easy" in file.read_bytes() or b"any machine can" in file.read_bytes() for file in (place / "without").iterdir())
    judged = [
        json.loads(tompion("report", name, "--json", cwd=place, check=0).stdout)["assessment"]["profiles"]
        for name in ("named", "without")
    ]
    assert [use["name"] for use in judged[1]] == ["use-1", "use-2", "voip"]
    assert [use["outcome"] for use in judged[0]] == [use["outcome"] for use in judged[1]]


@pytest.mark.parametrize("form", ["md", "json", "html", "csv", "verdict-json", None])
def test_uses_that_judge_a_redacted_run_anew_lose_their_names_too(place, form):
    if not (place / "anew").exists():
        run(place, *CHECK, "--out", "anew")
        (place / "secret.toml").write_text(OWN.replace("easy", "zq-martin").replace("what any machine can", "Zqmartin at 10.99.2.3"))
    options = ["--html", "-"] if form == "html" else ["--format", form] if form else ["--screen"]
    shown = tompion("report", "anew", "--redact", "--profiles", "secret.toml", *options, cwd=place, check=0).stdout
    assert "zq" not in shown.lower() and "10.99" not in shown
    assert "use-" in shown or form == "csv"
    # It is required by the name that the user knows.
    done = tompion("report", "anew", "--redact", "--profiles", "secret.toml", "--require", "zq-martin", "--screen", cwd=place, check=0)
    assert "use-1: pass" in done.stdout and "zq" not in done.stdout


def test_limits_that_no_use_can_have_judge_nothing(place):
    kept = place / "kept"
    run(place, *CHECK, "--profiles", "own.toml", "--out", kept)
    record = record_of(kept)
    record["profiles"][1]["limit_ns"] = 9e99
    write_record(kept, record)
    refused = tompion("report", kept, cwd=place, check=1)
    assert len(refused.stderr.splitlines()) == 1 and "run.json: profiles: use 2: " in refused.stderr, refused.stderr
    tompion("report", kept, "--profiles", "own.toml", cwd=place, check=0)


@pytest.mark.parametrize(("name", "status"), [("easy", 0), ("hard", 2), ("viop", 1), ("audio-48k-64", 1)])
def test_what_is_required_is_one_of_them(place, tmp_path, name, status):
    done = run(place, *CHECK, "--profiles", "own.toml", "--require", name, "--quiet", "--out", tmp_path / "run")
    assert done.returncode == status, done.stderr
    if status == 1:
        assert f"unknown profile `{name}`" in done.stderr and len(done.stderr.splitlines()) == 1
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (OWN.replace("0.5", "5"), "own.toml:5:12: quantile: a number from 0.5 to 0.99999 is wanted"),
        (OWN.replace('"1ns"', '"1"'), "own.toml:12:9: limit: "),
        (OWN.replace("limit", "limits"), "own.toml:7:1: a use has no `limits`; did you mean `limit`?"),
        ("[[profile]", "own.toml:1:"),
        ("x" * (1 << 18) + "x", "longer than 262144 bytes"),
        (b"\xff", "no text in UTF-8"),
        (None, "own.toml"),
        ("profile = []", "own.toml:1:11: profile: empty; write [[profile]] for each use"),
    ],
)
def test_a_mistake_is_told_with_its_place_before_anything_is_measured(tmp_path, content, told):
    if content is not None:
        (tmp_path / "own.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run(tmp_path, *CHECK, "--profiles", "own.toml", "--out", "run")
    assert done.returncode == 1 and told in done.stderr, done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("period", "least"), [("10s", 480), ("1h", 172800)])
def test_a_period_for_which_there_is_no_time_is_refused_before_anything_is_measured(tmp_path, period, least):
    (tmp_path / "own.toml").write_text(f"[[profile]]\nname = 'far'\nquantile = 0.99\nperiod = '{period}'\nlimit = '1ms'\n")
    done = run(tmp_path, "check", "--quick", "--profiles", "own.toml", "--out", "run")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert "profile `far`: a few sleeps of " in done.stderr and f"at least --duration {least}s" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("voip:remdy", "after the colon stands `remedy` or nothing"),
        ("voip,audio-48k-64", "one profile each"),
        ("VoIP", "did you mean `voip`?"),
        (":remedy", "a profile is missing"),
    ],
)
def test_what_is_required_wrongly_is_told_what_would_be_right(tmp_path, name, told):
    done = run(tmp_path, "check", "--quick", "--require", name, "--out", "run")
    assert done.returncode == 1 and told in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
