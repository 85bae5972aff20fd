"""What the parts of `make test` tell of their tests: which were tried again, with what was
seen of each, and which failed, with the command that runs just that. One file a part, in
target/test/, since parts run beside one another; .ci/test shows them all in the end."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIRECTORY = ROOT / "target/test"
# Of what was seen, the end; the whole stands in the log of the part.
LINES = 25


def new(part):
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    for kind in ("again", "failed"):
        (DIRECTORY / f"{part}.{kind}").unlink(missing_ok=True)


def _add(part, kind, text):
    with open(DIRECTORY / f"{part}.{kind}", "a") as file:
        file.write(text + "\n")


def again(part, test, how, seen):
    """`how` it ended; `seen` is the evidence of the failures."""
    tail = "\n".join(f"    {line}" for line in seen.strip().splitlines()[-LINES:])
    _add(part, "again", f"{test}: {how}\n{tail}")


def failed(part, test, command):
    _add(part, "failed", f"{test}\n    {command}")


def read(kind, part="*"):
    """What all parts told, or one of them."""
    files = sorted(DIRECTORY.glob(f"{part}.{kind}"))
    return "".join(file.read_text() for file in files)


def relative(path):
    return os.path.relpath(path, ROOT)
