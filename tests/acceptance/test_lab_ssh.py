"""`tompion lab` on another machine (far.py)."""

import json
import os

import pytest

from conftest import tompion
from far import far, journals_of, lab, plan
from test_lab import ledger, record, write
from test_lab_bad import WRONG_RESULTS, wrong_program


def test_another_machine_is_measured_and_left_as_it_was(far, tmp_path):
    out = tmp_path / "run"
    file = plan(tmp_path, far.table() + far.table(name="again"), replicates=2)
    done = lab("run", file, "--out", out)
    assert done.returncode == 0, done.stderr
    run = record(out)
    assert run["status"] == "complete"
    keys = sorted((t["factors"]["platform"], t["block"]) for t in run["trials"])
    assert keys == sorted((p, r) for p in ("host", "ssh:far", "again") for r in range(2))
    there = next(p for p in run["platforms"] if p["level"] == "ssh:far")
    assert there["kind"] == "ssh" and there["versions"][0].startswith("Linux ")
    assert there["environment"]["kernel"]["release"] == os.uname().release
    # Without rights there: it is the user of the other machine who measured.
    assert "Accepted publickey for somebody" in far.told()
    assert far.left() == [] and journals_of(out) == []
    report = tompion("compare", out, "--by", "platform", "--json", check=0).stdout
    assert "ssh:far" in report


@pytest.mark.parametrize("machine", [None, "one of both"])
def test_several_machines_are_measured_at_once(far, tmp_path, machine):
    """One that goes by two names, unless the plan says that they are one."""
    out = tmp_path / "run"
    more = {"machine": machine} if machine else {}
    tables = far.table(**more) + far.table("far-second", **more)
    done = lab("run", plan(tmp_path, tables, replicates=2, time="2s"), "--out", out)
    assert done.returncode == 0, done.stderr
    spans = {}
    for trial in record(out)["trials"]:
        begins = trial["started_ns"]
        spans[trial["factors"]["platform"], trial["block"]] = (begins, begins + trial["duration_ns"])
    assert len(spans) == 3 * 2
    for block in range(2):
        here, first, second = (spans[p, block] for p in ("host", "ssh:far", "ssh:far-second"))
        assert overlap(first, second) == (machine is None), spans
        # Nothing comes between this machine and its measurement.
        assert not overlap(here, first) and not overlap(here, second), spans
    assert far.left() == [] and journals_of(out) == []


def overlap(one, other):
    return one[0] < other[1] and other[0] < one[1]


def test_what_keeps_a_machine_from_being_measured_is_one_line_each(far, tmp_path):
    noexec = far.place / "noexec"
    tables = {
        "far-unknown": ({}, "the key of far-unknown is not known here: log in once by hand"),
        "far-changed": ({}, "the key of far-changed is not the one that is known here"),
        "far-refused": ({}, f"far-refused refuses the login (somebody@{far.address}: Permission denied"),
        "far-nobody": ({}, f"no connection to far-nobody: connect to host {far.address} port 2223"),
        "far-no-name.invalid": ({"config": "/dev/null"}, "no connection to far-no-name.invalid: "),
        "far-noexec": ({"directory": str(noexec)}, f"programs cannot be run from {noexec} there"),
        "far-nowhere": ({"directory": "/no/such"}, "/no/such is no place to write"),
        "far-config": ({"config": "/no/such"}, "ssh does not take its configuration: Can't open user config file"),
    }
    text = "".join(far.table(host, **more) for host, (more, _) in tables.items())
    out = tmp_path / "run"
    done = lab("run", plan(tmp_path, text), "--out", out)
    assert done.returncode == 0, done.stderr
    absent = {p["level"]: p.get("absent") for p in record(out)["platforms"]}
    for host, (_, want) in tables.items():
        why = absent[f"ssh:{host}"]
        assert why.startswith(want) and "\n" not in why, (host, why)
        assert f"absent: ssh:{host}: {why}" in done.stderr
    assert absent["host"] is None and len(record(out)["trials"]) == 1
    assert far.left() == []


def test_another_architecture_and_a_talkative_shell_are_told(far, tmp_path):
    """By a `uname` of the other machine's own, and a greeting for whoever logs in."""
    fake = far.place / "fake"
    fake.mkdir()
    (fake / "uname").write_text('#!/bin/sh\n[ "$1" = -m ] && echo riscv64 || exec /bin/uname "$@"\n')
    (fake / "talk").write_text('#!/bin/sh\necho "Welcome to far!"\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n')
    for program in fake.iterdir():
        program.chmod(0o755)
    key = (far.place / "key.pub").read_text()
    keys = far.place / "authorized_keys"
    before = keys.read_text()
    shell = 'exec sh -c "$SSH_ORIGINAL_COMMAND"'.replace('"', '\\"')
    wanted = {
        f'command="PATH={fake}:$PATH {shell}"': "its architecture is riscv64, and ",
        f'command="{fake}/talk"': "its login shell says `Welcome to far!` by itself",
    }
    try:
        for option, want in wanted.items():
            keys.write_text(f"{option} {key}")
            done = lab("plan", plan(tmp_path, far.table()), "--probe", "--json")
            there = json.loads(done.stdout)["platforms"][1]
            assert not there["present"] and there["absent"].startswith(want), there
    finally:
        keys.write_text(before)
    assert far.left() == []


def test_a_program_that_needs_libraries_is_refused(far, tmp_path):
    done = tompion("lab", "plan", plan(tmp_path, far.table()), "--probe", "--program", "/bin/sh", "--json", check=1)
    assert "is not static" in json.loads(done.stdout)["platforms"][1]["absent"]


def test_a_result_that_is_none_is_told_by_another_machine_too(far, tmp_path):
    result, want = WRONG_RESULTS["truncated"]
    program = wrong_program(tmp_path, result)
    out = tmp_path / "run"
    done = tompion("lab", "run", plan(tmp_path, far.table()), "--program", program, "--out", out)
    # The program is wrong for this machine too.
    assert done.returncode == 1 and "no cell could be measured" in done.stderr
    assert [e["failed"] for e in ledger(out)] == [want] * 2, ledger(out)
    assert far.left() == []
