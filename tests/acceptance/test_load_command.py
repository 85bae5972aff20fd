"""`tompion load`: a load by itself."""

import json
import os
import signal
import subprocess
import time

import pytest

from conftest import TOMPION, load_workers, tompion


def load(*arguments, **more):
    return json.loads(tompion("load", *arguments, "--json", check=0, **more).stdout)


def attempts(measure, as_expected, times=5):
    """Other programs want the machine too: one of a few measurements must do."""
    seen = []
    for _ in range(times):
        seen.append(measure())
        if as_expected(seen[-1]):
            return seen[-1]
    pytest.fail(f"never as expected: {seen}")


def test_a_level_is_kept():
    attempts(
        lambda: load("cpu:threads=1:level=25", "--for", "3s"),
        lambda did: abs(did["busy_cpus"] - 0.25) < 0.05,
    )


def test_joined_loads_report_each_part(tmp_path):
    did = load("network+cpu:threads=1+hd", "--for", "2s", "--dir", tmp_path)
    assert [part["load"] for part in did["parts"]] == ["cpu:threads=1", "hd", "network"]
    for part in did["parts"]:
        assert part["operations_per_second"] > 0 and part["busy_cpus"] > 0
        assert part["context_switches_per_second"] > 0 and part["interrupts_per_second"] > 0
    assert did["bytes"] == sum(part["bytes"] or 0 for part in did["parts"]) > 0
    assert not list(tmp_path.iterdir())


def test_writes_keep_their_limit(tmp_path):
    did = load("io+hd", "--for", "2s", "--dir", tmp_path, "--write-limit", "8M")
    assert 1 << 16 < did["bytes"] <= 8 << 20
    done = tompion("load", "io", "--for", "10s", "--write-limit", "1K", "--dir", tmp_path)
    assert done.returncode == 1 and "need a budget" in done.stderr


def test_text_names_what_was_done():
    text = tompion("load", "cpu:threads=2", "--for", "500ms", check=0).stdout
    for word in ("cpu:threads=2 (built-in)", "operations", "CPU time", "context switches", "interrupts"):
        assert word in text
    assert tompion("load", "cpu:threads=2", "--for", "500ms", "--quiet", check=0).stdout == ""


@pytest.mark.parametrize(("time_option", "status"), [((), 0), (("--for", "1h"), 130)])
def test_interrupting_ends_in_order_and_prints(time_option, status):
    marker = "cpu:threads=3:level=7:period=13ms"
    process = subprocess.Popen(
        [TOMPION, "load", marker, *time_option, "--json"], stdout=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 20
    while not load_workers(marker) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == status
    assert json.loads(out)["operations"] > 0
    assert not load_workers(marker)


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["cup"], "cpu"),
        (["idle"], "absence of load"),
        (["cpu+idle"], "combines with nothing"),
        (["cpu:cpus=1023", "--for", "1s"], "does not exist"),
        (["cpu:cpus=others", "--for", "1s"], "pin it to one"),
        (["io", "--dir", "/nonexistent"], "not an existing directory"),
        (["io", "--write-limit", "many"], "500M"),
        (["udp:peer=127.0.0.1:1", "--for", "1s"], "far end"),
        (["nfs:dir=/proc", "--for", "1s"], "not on an NFS mount"),
        ([], "LOAD"),
    ],
)
def test_bad_input_is_one_line(arguments, hint):
    done = tompion("load", *arguments)
    assert done.returncode == 1 and done.stdout == ""
    assert hint in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_peer_takes_datagrams_and_files(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()
    peer = subprocess.Popen(
        [TOMPION, "peer", "--listen", "127.0.0.1:5219", "--dir", there],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert "listening" in peer.stderr.readline()
        time.sleep(0.5)
        attempts(
            lambda: load("udp:rate=10M:peer=127.0.0.1:5219", "--for", "3s"),
            lambda did: 9e6 < did["bytes_per_second"] * 8 < 11e6,
        )
        did = load("file-server:peer=127.0.0.1:5219+download:peer=127.0.0.1:5219", "--for", "2s")
        assert all(part["bytes"] > 0 for part in did["parts"])
    finally:
        peer.send_signal(signal.SIGINT)
        peer.wait(timeout=20)
    assert not list(here.iterdir()) and not list(there.iterdir())


@pytest.mark.skipif(os.cpu_count() < 2, reason="there is no second CPU")
def test_lists_of_cpus_fit_into_lists_of_loads(tmp_path):
    levels = ["idle", "cpu:threads=2:cpus=0,0", "memory:size=64K:cpus=others"]
    tompion(
        *("check", "--loads", ",".join(levels), "--cpu", "0", "--methods", "usleep"),
        *("--targets", "100us", "--blocks", 2, "--duration", "5s", "--quiet", "--out", tmp_path / "r"),
        check=0,
    )
    trials = json.loads((tmp_path / "r/run.json").read_text())["trials"]
    seen = {trial["factors"]["load"] for trial in trials}
    assert seen == {"idle", "cpu:threads=2:cpus=0", "memory:size=64K:cpus=others"}
