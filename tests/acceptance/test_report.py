"""The report in other forms, and of a run with many trials."""

import csv
import io
import json
import statistics
import struct
import subprocess
import xml.etree.ElementTree as xml

import pytest
from playwright.sync_api import sync_playwright

from conftest import TOMPION, tompion
from test_page import ARGUMENTS, CHROMIUM, OVERLAPS


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A real run of more than 500 trials."""
    directory = tmp_path_factory.mktemp("many") / "run"
    wake_up = ("measure", "wake-up", "--targets", "100us", "--slack", "default")
    size = ("--samples", "20", "--blocks", "65", "--loads", "idle")
    tompion(*wake_up, *size, "--quiet", "--out", directory, check=0)
    return directory


def test_a_page_of_500_trials_opens_quickly(many):
    assert len(json.loads((many / "run.json").read_text())["trials"]) >= 500
    assert (many / "report.html").stat().st_size < 6_000_000
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        times = []
        for _ in range(5):
            page = browser.new_page(viewport={"width": 1200, "height": 900})
            page.goto((many / "report.html").as_uri(), wait_until="load")
            times.append(
                page.evaluate("performance.getEntriesByType('navigation')[0].loadEventStart")
            )
            assert page.evaluate(OVERLAPS) == []
            page.close()
        browser.close()
    median = statistics.median(times)
    print(f"navigation start to load event: {median:.0f} ms")
    # The goal is 2 s on a quiet machine; tests share theirs.
    assert median < 4_000, times


def test_every_form_tells_the_same_figures(many, tmp_path):
    summary = json.loads(tompion("report", many, "--format", "json", check=0).stdout)
    rows = list(csv.DictReader(io.StringIO(tompion("report", many, "--format", "csv", check=0).stdout)))
    assert len(rows) == len(summary["cells"])
    for row, cell in zip(rows, summary["cells"]):
        assert row["method"] == cell["factors"]["method"]
        assert float(row["median_ns"]) == cell["measured"]["median_ns"]
    tompion("report", many, "--format", "md", "--out", tmp_path / "run.md", check=0)
    text = (tmp_path / "run.md").read_text()
    assert text.startswith(f"# {summary['assessment']['headline'].split('_')[0][:40]}")
    assert "## Is the clock right?" in text


def test_plots_become_files(many, tmp_path):
    tompion("report", many, "--format", "svg", "--out", tmp_path / "svg", check=0)
    tompion("report", many, "--format", "png", "--out", tmp_path / "png", check=0)
    drawings = sorted((tmp_path / "svg").iterdir())
    pictures = sorted((tmp_path / "png").iterdir())
    assert [d.stem for d in drawings] == [p.stem for p in pictures]
    assert len(drawings) >= 8
    for drawing, picture in zip(drawings, pictures):
        root = xml.parse(drawing).getroot()
        content = picture.read_bytes()
        assert content.startswith(b"\x89PNG")
        width, height = struct.unpack(">II", content[16:24])
        assert abs(width - 2 * float(root.get("width"))) <= 1
        assert abs(height - 2 * float(root.get("height"))) <= 1
        assert len(content) > 10_000, f"{picture.name} is nearly empty"


def test_redacted_pages_name_nobody(many):
    # The kernel's word, not ours, for who this is.
    host = subprocess.run(["uname", "-n"], capture_output=True, text=True, check=True).stdout.strip()
    for form in ("html", "md", "json", "csv"):
        text = tompion("report", many, "--format", form, "--redact", check=0).stdout
        assert str(many) not in text and str(TOMPION) not in text, form
        if form == "json":
            summary = json.loads(text)
            assert summary["environment"]["hostname"] == ""
            assert summary["command_line"] == ["(left out)"]
        else:
            assert f"<b>{host}</b>" not in text and f"{host}," not in text


def test_a_wrong_wish_is_one_line(many, tmp_path):
    done = tompion("report", many, "--format", "png", check=1)
    assert "--out DIR" in done.stderr and done.stderr.count("\n") == 1
    done = tompion("report", tmp_path, "--format", "md", check=1)
    assert "not a run directory" in done.stderr
