"""The report in other forms, and of a run with a dozen platforms and many trials."""

import csv
import io
import json
import shutil
import statistics
import struct
import subprocess
import tarfile
import time
import xml.etree.ElementTree as xml

import jsonschema
import pytest
from playwright.sync_api import sync_playwright

from conftest import ROOT, TOMPION, tompion
from runs import record_of, write_record
from test_page import ARGUMENTS, CHROMIUM, CUT, OVERLAPS, browser, planted, printed  # noqa: F401


@pytest.fixture(scope="module")
def platforms(tmp_path_factory):
    """A planted run of twelve platforms, 420 cells and 840 trials."""
    return planted(tmp_path_factory, 2, 150, 12, "idle")


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A real run, as small as can be: one sample a cell is not far."""
    directory = tmp_path_factory.mktemp("own") / "run"
    wake_up = ("measure", "wake-up", "--methods", "usleep,timerfd,busy-wait", "--targets", "100us")
    size = ("--samples", "5", "--blocks", "1", "--loads", "idle")
    tompion(*wake_up, *size, "--quiet", "--out", directory, check=0)
    return directory


def test_what_is_saved_conforms_to_the_schema_which_can_refuse(platforms, own):
    schema = json.loads((ROOT / "schema/run.schema.json").read_text())
    for directory in (platforms, own):
        record = json.loads((directory / "run.json").read_text())
        jsonschema.validate(record, schema)
        record["trials"][0]["block"] = "many"
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(record, schema)


@pytest.mark.parametrize("version, schema", [(1, "run-v1.schema.json"), (2, "run.schema.json")])
def test_golden_runs_conform_to_the_schemas_of_their_versions(version, schema):
    with tarfile.open(ROOT / f"tests/golden/version-{version}.tar.gz") as packed:
        record = json.load(packed.extractfile(f"version-{version}/run.json"))
    assert record["schema_version"] == version
    jsonschema.validate(record, json.loads((ROOT / "schema" / schema).read_text()))


def test_a_page_of_a_dozen_platforms_opens_within_two_seconds(platforms):
    record = json.loads((platforms / "run.json").read_text())
    assert len(record["trials"]) >= 500
    bytes_ = (platforms / "report.html").stat().st_size
    assert bytes_ < 6_000_000
    # The machine may be busy with other tests just now: of several rounds the best counts,
    # none of which a page that itself takes 2 s would pass.
    end = time.monotonic() + 90
    medians = []
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        while not medians or (min(medians) >= 2_000 and time.monotonic() < end):
            times = []
            for _ in range(5):
                page = browser.new_page(viewport={"width": 1200, "height": 900})
                page.goto((platforms / "report.html").as_uri(), wait_until="load")
                start = "performance.getEntriesByType('navigation')[0].loadEventStart"
                times.append(page.evaluate(start))
                page.close()
            medians.append(statistics.median(times))
        browser.close()
    trials = len(record["trials"])
    print(
        f"{trials} trials, {bytes_ / 1e6:.1f} MB: navigation start to load event "
        f"{min(medians):.0f} ms, median of 5 (rounds: {[round(m) for m in medians]})"
    )
    assert min(medians) < 2_000, medians


@pytest.mark.parametrize("width", [400, 1000, 1800])
def test_a_dozen_platforms_do_not_overlap(platforms, browser, width):  # noqa: F811
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto((platforms / "report.html").as_uri())
    assert page.evaluate(OVERLAPS) == []
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overflow) <= 0
    # The reader may have a plot for each platform.
    part = page.locator("#wake-up-100us")
    part.locator("select").select_option("platform")
    titles = part.locator("figure h4").all_inner_texts()
    assert any("site-11" in t for t in titles), titles
    assert page.evaluate(OVERLAPS) == []
    page.close()


def test_a_dozen_platforms_are_printed_whole(platforms, browser):  # noqa: F811
    with printed(browser, platforms, javascript=False) as page:
        assert page.evaluate(CUT) == []
        # No plot is higher than a sheet, 710 pixels: the end of a page would part it.
        high = "() => [...document.querySelectorAll('svg.plot')].map(p => p.getBoundingClientRect().height)"
        heights = page.evaluate(high)
        assert len(heights) > 50 and max(heights) < 710


def test_every_form_tells_the_same_figures(platforms, tmp_path):
    summary = json.loads(tompion("report", platforms, "--format", "json", check=0).stdout)
    text = tompion("report", platforms, "--format", "csv", check=0).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(summary["cells"])
    for row, cell in zip(rows, summary["cells"]):
        assert row["method"] == cell["factors"]["method"]
        assert row["platform"] == cell["factors"]["platform"]
        assert float(row["median_ns"]) == cell["measured"]["median_ns"]
    tompion("report", platforms, "--format", "md", "--out", tmp_path / "run.md", check=0)
    text = (tmp_path / "run.md").read_text()
    assert text.startswith("# Can you trust time here? ")
    assert "## Is the clock right?" in text
    assert text.count("site-07") >= 35, "a line for each of its cells"


def test_each_use_has_one_row_for_all_platforms(platforms, browser, tmp_path):  # noqa: F811
    summary = json.loads(tompion("report", platforms, "--format", "json", check=0).stdout)
    verdicts = summary["assessment"]["profiles"]
    uses = {v["title"] for v in verdicts}
    names = sorted({v["platform"] for v in verdicts})
    assert len(names) == 12 and len(verdicts) == 12 * len(uses)
    # What a terminal shows comes with the page.
    shown = tompion("report", platforms, "--html", tmp_path / "page.html", check=0).stdout
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto((tmp_path / "page.html").as_uri())
    section = page.locator("#uses")
    section.locator("> summary").click()
    tables = section.locator("table.profiles:visible")
    heads = [t.strip() for i in range(tables.count()) for t in tables.nth(i).locator("thead th").all_inner_texts()]
    assert sorted(set(heads) - {"Use"}) == names, heads
    assert tables.first.locator("tbody tr").count() == len(uses)
    page.close()
    text = tompion("report", platforms, "--format", "md", check=0).stdout
    part = text.split("## Is time good enough here?")[1].split("### Each by itself")[0]
    rows = [line for line in part.splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + len(uses) and all(name in rows[0] for name in names), rows[0]
    told = {"pass": "✓", "fail": "✗", "inconclusive": "?"}
    first = next(row for row in rows if row.startswith("| " + verdicts[0]["title"].split("|")[0][:12]))
    assert told[verdicts[0]["outcome"]] in first
    part = shown.split("Is time good enough here?")[1]
    assert any(all(name in line for name in names[:3]) for line in part.splitlines()), part[:2000]


def test_plots_become_files(own, tmp_path):
    tompion("report", own, "--format", "svg", "--out", tmp_path / "svg", check=0)
    tompion("report", own, "--format", "png", "--out", tmp_path / "png", check=0)
    drawings = sorted((tmp_path / "svg").iterdir())
    pictures = sorted((tmp_path / "png").iterdir())
    assert [d.stem for d in drawings] == [p.stem for p in pictures]
    assert len(drawings) >= 4, "distributions, and samples over time by three methods"
    for drawing, picture in zip(drawings, pictures):
        root = xml.parse(drawing).getroot()
        words = " ".join(root.itertext())
        # A picture travels without its page: it says where it comes from.
        assert "Measured by tompion" in words
        assert any(unit in words for unit in (" ns", " µs", " ms", " s")), drawing.name
        content = picture.read_bytes()
        assert content.startswith(b"\x89PNG")
        width, height = struct.unpack(">II", content[16:24])
        assert abs(width - 2 * float(root.get("width"))) <= 1
        assert abs(height - 2 * float(root.get("height"))) <= 1
        assert len(content) > 10_000, f"{picture.name} is nearly empty"


def test_plots_of_two_runs_do_not_mix(own, tmp_path):
    plots = ("report", own, "--format", "svg", "--out", tmp_path)
    tompion(*plots, check=0)
    made = sorted(tmp_path.iterdir())
    # The same again is welcome, among others it is not.
    tompion(*plots, check=0)
    made[0].rename(tmp_path / "another.svg")
    made[1].unlink()
    done = tompion(*plots, check=1)
    assert "another.svg" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not made[1].exists(), "nothing is written beside another run's plots"


def test_a_dash_is_standard_output(own):
    for form in ("html", "md", "csv", "json"):
        named = tompion("report", own, "--format", form, "--out", "-", check=0)
        assert named.stdout == tompion("report", own, "--format", form, check=0).stdout != ""


def test_redacted_pages_name_nobody(own, tmp_path):
    # The kernel's word, not ours, for who this is.
    host = subprocess.run(["uname", "-n"], capture_output=True, text=True, check=True).stdout.strip()

    def nobody(form, text):
        assert str(own) not in text and str(TOMPION) not in text, form
        assert f"<b>{host}</b>" not in text and f"{host}," not in text, form

    for form in ("html", "md", "json", "csv"):
        text = tompion("report", own, "--format", form, "--redact", check=0).stdout
        nobody(form, text)
        if form == "json":
            summary = json.loads(text)
            assert summary["environment"]["hostname"] == ""
            assert summary["command_line"] == ["(left out)"]
    for form in ("svg", "png"):
        tompion("report", own, "--format", form, "--redact", "--out", tmp_path / form, check=0)
    for file in (tmp_path / "svg").iterdir():
        nobody(file.name, file.read_text())
    # Pictures carry no text but what is drawn, which is that of the drawings.
    for file in (tmp_path / "png").iterdir():
        content = file.read_bytes()
        assert b"tEXt" not in content and b"iTXt" not in content and b"eXIf" not in content


def test_a_run_that_was_cut_short_has_every_form(own, tmp_path):
    """What a killed process leaves: its samples, and a record that says it still runs."""
    subprocess.run(["cp", "-a", str(own), str(tmp_path / "run")], check=True)
    record = record_of(tmp_path / "run")
    record["status"] = "running"
    record["trials"] = record["trials"][:1]
    write_record(tmp_path / "run", record)
    for form in ("html", "md", "json", "csv"):
        text = tompion("report", tmp_path / "run", "--format", form, check=0).stdout
        if form == "md":
            assert text.index("**Interrupted**") < text.index("## ")
        elif form == "html":
            assert text.index("Interrupted") < text.index("<h2>")
    tompion("report", tmp_path / "run", "--format", "svg", "--out", tmp_path / "svg", check=0)
    assert list((tmp_path / "svg").iterdir())


@pytest.mark.parametrize("form", ["html", "md", "csv", "json", "png", "svg"])
def test_a_wrong_wish_is_one_line(own, tmp_path, form):
    # Not a run; and a place where nothing can be written.
    place = tmp_path / "out"
    done = tompion("report", tmp_path, "--format", form, "--out", place, check=1)
    assert "not a run directory" in done.stderr and done.stderr.count("\n") == 1
    assert not place.exists(), "nothing is made for a run that is none"
    (tmp_path / "file").write_text("")
    done = tompion("report", own, "--format", form, "--out", tmp_path / "file" / "x", check=1)
    assert str(tmp_path / "file") in done.stderr and done.stderr.count("\n") == 1, done.stderr
    if form in ("png", "svg"):
        done = tompion("report", own, "--format", form, check=1)
        assert "--out DIR" in done.stderr and done.stderr.count("\n") == 1
        done = tompion("report", own, "--format", form, "--out", tmp_path / "file", check=1)
        assert "file: exists and is no directory" in done.stderr and done.stderr.count("\n") == 1


def test_a_run_that_cannot_be_written_to_is_reported_all_the_same(own, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(own, run)
    page = run / "report.html"
    page.unlink()
    as_json = tompion("report", run, "--json", check=0)
    assert json.loads(as_json.stdout)["cells"] and not as_json.stderr
    assert not page.exists(), "who asks for JSON asks for no page"
    # In the place of the page something that no page can replace.
    (page / "in the way").mkdir(parents=True)
    shown = tompion("report", run, check=0)
    assert "usleep" in shown.stdout and f"{page}" not in shown.stdout
    assert len(shown.stderr.splitlines()) == 1 and f"warning: {page}" in shown.stderr
    # Asked for by name it is an error.
    assert str(page) in tompion("report", run, "--html", page, check=1).stderr


def test_a_run_whose_process_was_killed_is_not_called_interrupted(tmp_path):
    run = tmp_path / "run"
    line = [TOMPION, "check", "--loads", "idle", "--duration", "20s", "--quiet", "--out", run]
    process = subprocess.Popen(line, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while len(list(run.glob("samples/*.parquet"))) < 20:
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.05)
    alive = tompion("report", run, check=0).stdout
    process.kill()
    process.wait()
    process.stderr.close()
    dead = tompion("report", run, check=0).stdout
    for text, told in ((alive, "the process that writes it is still at work."), (dead, "the process that wrote it ended early.")):
        text = " ".join(text.split())
        assert "NOT FINISHED: The run is not finished: " in text
        assert "INTERRUPTED" not in text and f"This run is not finished: {told}" in text
