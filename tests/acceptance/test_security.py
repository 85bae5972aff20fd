"""Each promise of docs/threat-model.md names a test, and that test is there."""

import re

from conftest import ROOT

MODEL = ROOT / "docs/threat-model.md"


def promises():
    """What is promised, and the test that is named beside it."""
    section = MODEL.read_text().split("\n## Promises\n")[1].split("\n## ")[0]
    rows = [line.strip("| \n").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return [(cells[0], cells[-1].strip("` ")) for cells in rows[1:]]


def test_each_promise_names_a_test_that_is_there():
    found = promises()
    assert len(found) > 20
    for promise, named in found:
        file, _, test = named.partition("::")
        assert (ROOT / file).is_file(), f"{promise}: there is no {file}"
        assert re.search(rf"\b(def|fn) {test}\(", (ROOT / file).read_text()), f"{promise}: no {named}"


def test_no_promise_is_without_a_test():
    for promise, named in promises():
        assert re.fullmatch(r"[\w/.-]+::\w+", named), f"{promise}: {named!r} names no test"
    # What is refused beyond a limit is promised with it.
    text = (ROOT / "SECURITY.md").read_text()
    assert "docs/threat-model.md" in text and "How to report" in text
