"""What grows stands in one list: the names of probes, methods, loads, platforms, forms and sections are in no
other list, and in no `match`, outside the file of each."""

import re

import pytest
from conftest import ROOT

LISTS = [
    "crates/tompion-run/src/probes.rs",
    "crates/tompion-probe/src/wake_up/methods.rs",
    "crates/tompion-probe/src/read_cost/sources.rs",
    "crates/tompion-probe/src/timer_events/mechanisms.rs",
    "crates/tompion-load/src/loads.rs",
    "crates/tompion-platforms/src/platform.rs",
    "crates/tompion-report/src/forms.rs",
    "crates/tompion-report/src/sections.rs",
]

# Words that mean something else there, and what only looks like a list.
OTHERWISE = {
    ("crates/tompion/src/cli/report.rs", "html"): "options",
    ("crates/tompion/src/commands/list.rs", "platforms"): "a key of JSON",
    ("crates/tompion-assess/src/compare/figure.rs", "stalls"): "the figures compared of each probe",
    ("crates/tompion-assess/src/compare/figure.rs", "timer-events"): "the figures compared of each probe",
    ("crates/tompion-papers/src/claims/decide/bounds.rs", "disk-read"): "the claim of a paper is about it",
    ("crates/tompion-papers/src/claims/decide/observed.rs", "host"): "platforms that share a kernel",
    ("crates/tompion-guest/src/setup.rs", "network"): "a key of the guest's settings",
    ("crates/tompion-observe/src/observer/gauges.rs", "cpu"): "files of pressure stall information",
    ("crates/tompion-host/src/clock.rs", "rdtscp"): "a flag of /proc/cpuinfo",
    ("crates/tompion-host/src/container.rs", "oci"): "the value of an environment variable",
    ("crates/tompion-report/src/environment/words.rs", "cpu"): "words in capitals",
    ("crates/tompion-assess/src/compare/environment.rs", "clock"): "a part of the environment",
    ("crates/tompion-load/src/spec/values.rs", "others"): "the CPUs of neighbours",
    ("crates/tompion-report/src/documents/program.rs", "stalls"): "the heading of a column",
    ("crates/tompion-report/src/plot/limits.rs", "limits"): "a kind of plot",
    ("crates/tompion-report/src/among.rs", "host"): "the platforms of a published table",
    ("crates/tompion-report/src/grid.rs", "cpu"): "the loads of a published table",
}

# Words for what probes measure; those that are not named there go by their own name.
WORDS = [
    "crates/tompion-assess/src/compare/figure.rs",
    "crates/tompion-report/src/documents/compare/words.rs",
    "crates/tompion-assess/src/verdict/profile.rs",
]


def names(file):
    """What the entries of a list are called."""
    found = set()
    text = (ROOT / file).read_text()
    modules = re.findall(r"^        ([a-z0-9_]+),$", text, re.MULTILINE)
    assert len(modules) > 3, file
    for module in modules:
        entry = ((ROOT / file).with_suffix("") / f"{module}.rs").read_text()
        block = entry[entry.index("static ENTRY") :]
        [name] = re.findall(r"^    (?:    )?name: (.*),$", block, re.MULTILINE)[:1]
        if name.endswith("::NAME"):
            # That of packets is with the table that they are kept in.
            recorded = {"packet_delay": "crates/tompion-path/src/stamps/recorded.rs"}
            probe = (ROOT / recorded.get(module, f"crates/tompion-probe/src/{module}.rs")).read_text()
            [name] = re.findall(r"^pub const NAME: &str = (.*);$", probe, re.MULTILINE)
        if name.isupper():
            # Which load is none the model says.
            model = (ROOT / "crates/tompion-model/src/factors.rs").read_text()
            [name] = re.findall(rf"^(?:pub(?:\(.*\))? )?const {name}: &str = (.*);$", entry + model, re.MULTILINE)
        found |= set(re.findall(r'"([^"]+)"', name))
    assert len(found) >= len(modules), file
    # Rest is what every load is compared with.
    return found - {"idle"}


def offences(text, known):
    """Lines in which names of one list stand as a list or as the arm of a `match`, with one
    of them."""
    for number, line in enumerate(text.split("#[cfg(test)]")[0].splitlines(), 1):
        quoted = [word for word in re.findall(r'"([a-z0-9-]+)"', line) if word in known]
        if not quoted or line.strip().startswith("//"):
            continue
        in_list = len(set(quoted)) > 1 or re.fullmatch(r'\s*"[^"]+",', line)
        in_match = re.search(rf'"({"|".join(map(re.escape, quoted))})"\s*(\||=>)', line)
        if in_list or in_match:
            yield number, quoted[0]


@pytest.mark.parametrize("file", LISTS, ids=lambda f: f.split("/")[-1])
def test_names_stand_in_no_other_list(file):
    known = names(file)
    found = []
    own = [list_.removesuffix(".rs") for list_ in LISTS]
    for source in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        name = str(source.relative_to(ROOT))
        # The clock library has names of its own; findings are about published tables; what is planted
        # is for tests, as the series of validity are.
        left_out = ("crates/tompion-time", "crates/tompion-findings", "crates/tompion-validity", *own, *WORDS)
        if name.startswith(left_out) or "/tests" in name or source.stem == "planted":
            continue
        for number, word in offences(source.read_text(), known):
            if (name, word) not in OTHERWISE:
                found.append(f"{name}:{number}: {word}")
    assert not found, f"in a list or match beside {file}: {found}"


def test_a_second_list_would_be_seen():
    known = {"usleep", "timerfd"}
    seen = offences('const A: [&str; 2] = ["usleep", "timerfd"];', known)
    assert list(seen) == [(1, "usleep")]
    assert list(offences('    "usleep" => 1,', known)) == [(1, "usleep")]
    assert list(offences('    "timerfd",', known)) == [(1, "timerfd")]
    assert list(offences('    let a = cell("usleep");', known)) == []
