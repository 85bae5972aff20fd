"""What the tests of rank statistics share: our answers, and those of R."""

import json
import os
import subprocess
import tempfile

import numpy
import pytest

from conftest import AT_END, ROOT, example

DATA = ROOT / "crates/tompion-stats/tests/data"


@pytest.fixture(scope="module")
def ask():
    program = example("tompion-stats", "witness")

    def run(do, **request):
        line = json.dumps({"do": do, **request}, default=lambda a: a.tolist())
        done = subprocess.run([program], input=line, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return run


def r(code):
    """What R shows, as lists by name."""
    return dict(r_lines(code))


def r_lines(code):
    """What R shows: names with lists of numbers, in order."""
    show = "show <- function(name, x) cat(name, sprintf('%.17g', x), '\\n')\n"
    done = subprocess.run(
        ["R", "--vanilla", "--no-echo"], input=show + code, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = (line.split() for line in done.stdout.splitlines())
    return [(name, [float(x) for x in numbers]) for name, *numbers in lines]


def vector(values):
    """R code for a vector; long ones go through a file, which R reads far faster than code."""
    values = numpy.asarray(values)
    if len(values) < 1000:
        return "c(" + ",".join(map(repr, values.tolist())) + ")"
    with tempfile.NamedTemporaryFile(prefix="tompion-", suffix=".bin", delete=False) as file:
        values.astype("float64").tofile(file)
    AT_END.callback(os.unlink, file.name)
    return f"readBin('{file.name}', 'double', {len(values)})"


def close(got, want, rel=1e-9, absolute=0.0):
    assert got == pytest.approx(want, rel=rel, abs=absolute)
