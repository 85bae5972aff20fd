"""ARCHITECTURE.md is true: its map, the files that it names, where unsafe code is, where rules
are decided, and who uses which library."""

import re
import tomllib

import pytest
from conftest import ROOT

TEXT = (ROOT / "ARCHITECTURE.md").read_text()
CRATES = {path.parent.name: tomllib.loads(path.read_text()) for path in ROOT.glob("crates/*/Cargo.toml")}
# Room that is kept free.
LATER = {"kernel/", "xen/"}


def rows(heading):
    """Cells of the first table below a heading, without its head."""
    part = f"\n{TEXT}".split(f"\n{heading}\n", 1)[1]
    table = re.search(r"(?:^\|.*\n)+", part, re.MULTILINE)[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


def users():
    """Library to the crates whose program or library is built with it."""
    found = {}
    for name, manifest in CRATES.items():
        tables = [manifest, *manifest.get("target", {}).values()]
        for table in tables:
            for library in [*table.get("dependencies", {}), *table.get("build-dependencies", {})]:
                if not library.startswith("tompion"):
                    found.setdefault(library, set()).add(name.removeprefix("tompion-"))
    return found


def test_each_crate_is_in_the_map_once_and_in_the_drawing():
    named = [name.strip("`") for name, *_ in rows("# Architecture")]
    assert sorted(named) == sorted(CRATES)
    drawn = TEXT.split("```text", 1)[1].split("```", 1)[0]
    # What is not drawn is said below the drawing.
    words = set(re.findall(r"[\w-]+", drawn)) | {
        word.removeprefix("tompion-") for word in re.findall(r"`([\w-]+)`", TEXT.split("## What grows")[0].split("Not drawn:")[1])
    }
    assert [name for name in CRATES if name.removeprefix("tompion-") not in words] == []


def test_unsafe_code_is_where_the_map_says():
    for name, _, where in rows("# Architecture"):
        source = ROOT / "crates" / name.strip("`") / "src"
        found = {
            path.relative_to(source).as_posix()
            for path in source.rglob("*.rs")
            if re.search(r"^(?!\s*//).*\bunsafe (?:\{|fn|impl|extern)", path.read_text(), re.MULTILINE)
            and not path.stem.endswith("tests")
        }
        if where == "none":
            assert found == set(), name
        elif files := re.findall(r"`([\w/]+\.rs)`", where):
            more = {f for f in found if not any(f == g or f.startswith(g.removesuffix(".rs") + "/") for g in files)}
            if "exported functions" not in where:
                assert (name, more) == (name, set())


def ships_with(pattern):
    """Files with code that ships in which the pattern is found."""
    found = set()
    for path in (ROOT / "crates").glob("*/src/**/*.rs"):
        name = path.relative_to(ROOT / "crates").as_posix()
        code = re.sub(r"#\[cfg\([^\]]*\btest\b[^\]]*\)\]\s+mod \w+ \{.*", "", path.read_text(), flags=re.DOTALL)
        code = re.sub(r"//.*|\"[^\"\n]*\"", "", code)
        is_test = re.search(r"/(?:tests?|models)(?:/|\.rs)", name)
        # Benchmarks of our own run where they may do anything.
        ours = name.startswith(("tompion-time-bench/", "tompion-validity/"))
        if not is_test and not ours and re.search(pattern, code):
            found.add(name)
    return found


def test_nothing_that_ships_sleeps_by_the_standard_library():
    """Its sleep panics where a sandbox refuses `clock_nanosleep`; `tompion_time::os::sleep` finds
    another way."""
    # The method that measures just that.
    found = ships_with(r"\bthread::(?:sleep\b|\{[^}]*\bsleep\b)")
    assert found == {"tompion-probe/src/wake_up/methods/std_sleep.rs"}


def test_nothing_that_ships_starts_threads_that_may_panic():
    """`thread::spawn` and a scope's `spawn` do where the system has no thread; builders of threads
    say so."""
    # In a guest of ours, which refuses nothing.
    assert ships_with(r"\b(?:thread::spawn|scope\.spawn)\(") == {"tompion-guest/src/init.rs"}


def test_nothing_that_ships_hears_of_children_by_the_standard_library_alone():
    """It panics or waits for ever where a sandbox refuses what it hears with; `tompion_child` asks
    first."""
    found = ships_with(r"Command::new\([^;]*?\.(?:output|spawn|status)\(\)|\bcommand\s*\.(?:output|spawn|status)\(\)")
    # In a guest of ours; and before one is begun.
    assert found == {"tompion-child/src/lib.rs", "tompion-guest/src/init.rs", "tompion-guest/src/libraries.rs"}


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_each_file_that_is_named_is_there(page):
    named = set(re.findall(r"`([\w./-]+\.(?:rs|py|toml|patch|md|json)|[\w-]+/(?:[\w/-]*))`", (ROOT / page).read_text()))
    folders = [ROOT / d for d in ("crates", "tests", ".ci", "docs", "plans", "claims", "schema", "fuzz") if (ROOT / d).exists()]
    files = [str(path.relative_to(ROOT)) for folder in folders for path in folder.rglob("*")] + ["tests/", "plans/"]
    # Files of a run, and of other projects.
    known = LATER | {"run.json", "samples/", "target/test/tried-again"}
    missing = [
        name
        for name in sorted(named - known)
        if not (ROOT / name).exists()
        and not any(f == name.rstrip("/") or f.endswith("/" + name.rstrip("/")) for f in files)
    ]
    assert missing == []


def test_each_path_is_there_as_it_is_written():
    """Paths start in `crates/` or beside it, those on unsafe code in the sources of their
    crate: nobody has to guess which of several files is meant."""
    missing = []
    for line in TEXT.splitlines():
        starts = [ROOT, ROOT / "crates"]
        if row := re.match(r"\| `([\w-]+)` \|", line):
            starts.append(ROOT / "crates" / row[1] / "src")
        for name in re.findall(r"`([\w.-][\w./-]*)`", line):
            if ("/" in name or name.endswith(".rs")) and name not in LATER:
                if not any((start / name).exists() for start in starts):
                    missing.append(name)
    assert missing == []


def test_where_it_is_decided_covers_each_page_and_has_a_file_for_each_part():
    part = TEXT.split("\n## Where it is decided\n", 1)[1]
    pages = {page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md")}
    # Words alone.
    pages.remove("docs/glossary.md")
    assert sorted(pages - set(re.findall(r"\]\((docs/[^)#]+)", part))) == []
    table = [line.strip("|").split(" | ") for line in part.splitlines() if line.startswith("| ")]
    uneven = [what.strip() for what, where in table if len(what.split("; ")) != len(where.split("; "))]
    assert uneven == []


def test_each_library_is_there_for_a_reason_and_its_users_are_named():
    real, said = users(), {}
    for names, by, why in rows("## Dependencies, and why each is there"):
        assert why
        names = [name for name in re.split(r"[, ()]+|with ", names) if name in real]
        assert names, "a row about nothing that is used"
        expected = set().union(*(real[name] for name in names))
        assert set(re.split(r"[,;] ", by)) == expected, names
        said.update(dict.fromkeys(names))
    assert sorted(set(real) - set(said)) == []
