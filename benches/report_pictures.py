"""Real reports as the documentation shows them: the head of a page, and a printed one.

    python benches/report_pictures.py [RUN [QUICK]]

Without runs `tompion check` makes them, and the one to print with --quick, since a
repository is no place for dozens of sheets; best on a machine that does nothing else.
The pages are redacted, since pictures are for everybody.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
TOMPION = ROOT / "target/release/tompion"
IMAGES = ROOT / "docs/images"
# As large as a README shows it without shrinking the text to nothing.
HEAD = {"width": 1300, "height": 1090}
MOST_BYTES = 1_200_000


def page_of(run, options, scratch):
    """The page of a run, which is made with `options` where there is none."""
    if run is None:
        run = scratch / "-".join(["run", *options])
        subprocess.run([TOMPION, "check", "--quiet", *options, "--out", run], check=True)
    page = scratch / "-".join(["report", *options, ".html"])
    report = (TOMPION, "report", run, "--format", "html", "--redact", "--out", page)
    subprocess.run(report, check=True)
    return page


def pictures(head_of, print_of):
    """Writes both, and returns their names."""
    head, printed = IMAGES / "report.png", IMAGES / "report-printed.pdf"
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=HEAD)
        page.goto(head_of.as_uri())
        page.screenshot(path=head)
        page.goto(print_of.as_uri())
        # Size and margins are the style sheet's.
        page.pdf(path=printed, prefer_css_page_size=True)
        browser.close()
    return head, printed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", nargs="?", type=Path, help="a run whose head is shown")
    parser.add_argument("quick", nargs="?", type=Path, help="a run that is printed")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        pages = page_of(given.run, [], scratch), page_of(given.quick, ["--quick"], scratch)
        made = pictures(*pages)
    for file in made:
        size = file.stat().st_size
        print(f"{file.relative_to(ROOT)}: {size / 1e3:.0f} kB")
        if size > MOST_BYTES:
            sys.exit(f"{file.name} is larger than {MOST_BYTES / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
