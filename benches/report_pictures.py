"""A real report as the documentation shows it: the head of its page, and its printed form.

    python benches/report_pictures.py [RUN]

Without a run `tompion check` makes one; best on a machine that does nothing else. The
page is redacted, since pictures are for everybody.
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
HEAD = {"width": 1100, "height": 1500}
MOST_BYTES = 1_000_000


def pictures(page_file):
    """Writes both, and returns their names."""
    head, printed = IMAGES / "report.png", IMAGES / "report-printed.pdf"
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=HEAD)
        page.goto(page_file.as_uri())
        page.screenshot(path=head)
        # Size and margins are the style sheet's.
        page.pdf(path=printed, prefer_css_page_size=True)
        browser.close()
    return head, printed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", nargs="?", type=Path, help="a run's directory")
    run = parser.parse_args().run
    with tempfile.TemporaryDirectory() as scratch:
        if run is None:
            run = Path(scratch) / "run"
            subprocess.run([TOMPION, "check", "--quiet", "--out", run], check=True)
        page_file = Path(scratch) / "report.html"
        report = (TOMPION, "report", run, "--format", "html", "--redact", "--out", page_file)
        subprocess.run(report, check=True)
        made = pictures(page_file)
    for file in made:
        size = file.stat().st_size
        print(f"{file.relative_to(ROOT)}: {size / 1e3:.0f} kB")
        if size > MOST_BYTES:
            sys.exit(f"{file.name} is larger than {MOST_BYTES / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
