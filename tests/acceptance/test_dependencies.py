"""The libraries of others: their licences, where they come from, and which are there twice,
held against deny.toml, as cargo-deny does in `make test-full`."""

import re
import subprocess
import tomllib

import pytest
from conftest import ROOT

DENY = tomllib.loads((ROOT / "deny.toml").read_text())
LOCK = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]


def admitted(expression, licences):
    """Whether these licences are enough for an SPDX expression, in whichever of its spellings."""
    words = re.findall(r"[()]|[\w.+-]+", re.sub(r"\s*/\s*", " OR ", expression))
    python, exception = [], False
    for word in words:
        if exception or word == "WITH":
            # What an exception adds is a permission.
            exception = word == "WITH"
        elif word in ("OR", "AND"):
            python.append(word.lower())
        else:
            python.append(word if word in "()" else str(word in licences))
    return eval(" ".join(python), {"__builtins__": {}})


@pytest.mark.parametrize(
    ("expression", "enough"),
    [
        ("MIT OR GPL-3.0-only", True),
        ("MIT/GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR GPL-3.0-only) AND Zlib", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only", True),
    ],
)
def test_expressions_of_licences_are_understood(expression, enough):
    assert admitted(expression, {"MIT", "Zlib", "Apache-2.0"}) is enough


@pytest.fixture(scope="module")
def packages():
    """Name, version and licences of all that is compiled for one target that Tompion runs on,
    for tests too. On a new machine some that nothing here compiles are fetched for it."""
    command = ["cargo", "tree", "--locked", "--workspace", "--all-features"]
    shape = ["--edges", "normal,build,dev", "--prefix", "none", "--no-dedupe", "--format", "{p}|{l}"]
    target = ["--target", DENY["graph"]["targets"][0]]
    done = subprocess.run([*command, *shape, *target], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = {line for line in done.stdout.splitlines() if line}
    found = [(*re.match(r"(\S+) v(\S+)", row).groups(), row.rsplit("|")[-1]) for row in rows]
    assert len(found) > 200
    return found


def test_each_licence_is_allowed(packages):
    allowed = set(DENY["licenses"]["allow"])
    more = {entry["crate"]: set(entry["allow"]) for entry in DENY["licenses"]["exceptions"]}
    refused = {
        name: licence
        for name, _, licence in packages
        if not admitted(licence or "NONE", allowed | more.get(name, set()))
    }
    assert refused == {}
    expressions = " ".join(licence for *_, licence in packages)
    assert [name for name in allowed if name not in expressions] == [], "allowed, and not needed"


def test_all_comes_from_one_registry():
    sources = {package["name"]: package["source"] for package in LOCK if "source" in package}
    [registry] = DENY["sources"]["allow-registry"]
    assert {name: source for name, source in sources.items() if source != f"registry+{registry}"} == {}
    assert [package["name"] for package in LOCK if "source" in package and "checksum" not in package] == []
    ours = {package["name"] for package in LOCK if "source" not in package}
    assert ours == {path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")} | {"tompion-fuzz"}


def test_what_is_there_in_two_versions_has_a_reason(packages):
    versions = {}
    for name, version, _ in packages:
        versions.setdefault(name, set()).add(version)
    skipped = {entry["crate"]: entry["reason"] for entry in DENY["bans"]["skip"]}
    assert all(skipped.values())

    def names(version, entry):
        return version == entry or version.startswith(f"{entry}.")

    left = {
        name: sorted(v for v in there if not any(names(v, s.split("@")[1]) for s in skipped if s.split("@")[0] == name))
        for name, there in versions.items()
    }
    assert {name: there for name, there in left.items() if len(there) != 1} == {}
    # None that has become one meanwhile.
    idle = [entry for entry in skipped if len(versions.get(entry.split("@")[0], ())) < 2]
    assert idle == []
