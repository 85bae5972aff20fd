"""The HTML report in headless Chromium: nothing missing, nothing broken."""

import shutil

import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


def open_page(browser, run, width, scheme="light", javascript=True):
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        java_script_enabled=javascript,
    )
    page = context.new_page()
    page.problems = []
    page.on("console", lambda m: page.problems.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: page.problems.append(str(e)))
    page.on(
        "request",
        lambda r: None if r.url.startswith(("file:", "data:")) else page.problems.append(r.url),
    )
    page.goto((run.directory / "report.html").as_uri())
    return page


def test_it_is_small_and_loads_nothing_from_elsewhere(default_run, browser):
    assert (default_run.directory / "report.html").stat().st_size < 6_000_000
    page = open_page(browser, default_run, 1200)
    assert page.problems == []


def test_every_plot_is_drawn(default_run, browser):
    page = open_page(browser, default_run, 1200)
    plots = page.evaluate(
        """() => [...document.querySelectorAll('figure svg')].filter(s => s.viewBox.baseVal.width > 100).map(svg => {
            for (let d = svg.closest('details'); d; d = d.parentElement.closest('details')) d.open = true;
            const box = svg.getBoundingClientRect();
            const marks = [...svg.querySelectorAll('path, polyline, circle, line')]
                .filter(m => { const b = m.getBBox(); return b.width > 0 || b.height > 0; }).length;
            return {width: box.width, height: box.height, marks,
                    text: svg.textContent.trim().length};
        })"""
    )
    assert len(plots) >= 6, "samples over time and CCDFs of both probes"
    for plot in plots:
        assert plot["width"] > 100 and plot["height"] > 80, plot
        assert plot["marks"] > 10 and plot["text"] > 20, plot


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1000, 1800])
def test_nothing_runs_off_the_page(default_run, browser, width, scheme):
    page = open_page(browser, default_run, width, scheme)
    overflow = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert overflow <= 0
    colors = page.evaluate(
        """() => { const s = getComputedStyle(document.body);
                   return [s.color, s.backgroundColor]; }"""
    )
    luminance = [sum(map(int, c[c.index("(") + 1 : -1].split(",")[:3])) for c in colors]
    assert (luminance[0] > luminance[1]) == (scheme == "dark"), colors


def test_the_verdicts_need_no_sideways_scrolling_on_a_phone(default_run, browser):
    page = open_page(browser, default_run, 400)
    wide = page.evaluate(
        """() => { const box = document.querySelector('table.profiles').parentElement;
                   return [box.scrollWidth, box.clientWidth]; }"""
    )
    assert wide[0] <= wide[1], wide
    # Stacked, each outcome still says to which load it belongs.
    loads = page.evaluate(
        """() => [...document.querySelectorAll('table.profiles tbody tr:first-child td')]
                 .map(td => getComputedStyle(td, '::before').content)"""
    )
    assert loads == ['"Overall"', '"Idle"', '"Under cpu"', '"Under network"']


def test_the_verdict_comes_first(default_run, browser):
    page = open_page(browser, default_run, 1200, javascript=False)
    headline = default_run.json["assessment"]["headline"]
    text = page.inner_text("body")
    assert headline in text
    assert text.index(headline) < 400
    everything = page.text_content("body").lower()
    for word in ("median", "half the interquartile range", "rdtsc", "clocksource"):
        assert word in everything, word
