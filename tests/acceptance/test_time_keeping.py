"""What is said of the wall clock beside a real chronyd, in network namespaces of its own. It runs
with -x: nothing here touches the machine's clock."""

import contextlib
import json
import subprocess
import time
from pathlib import Path

import pytest
from conftest import ROOT, TOMPION

CHRONYD = ROOT / ".cache/guest/bin/chronyd"
SERVER, CLIENT, NOBODY = "192.0.2.1", "192.0.2.2", "192.0.2.9"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout


@contextlib.contextmanager
def namespace():
    """A network namespace without a name: a process that is in it, and in the test's session."""
    holder = subprocess.Popen(["unshare", "-n", "sleep", "120"])
    try:
        mine = Path("/proc/self/ns/net").readlink()
        other = Path(f"/proc/{holder.pid}/ns/net")
        for _ in range(200):
            if other.readlink() != mine:
                break
            time.sleep(0.01)
        yield holder.pid
    finally:
        holder.kill()
        holder.wait()


def inside(pid, *command):
    return ["nsenter", "-n", "-t", str(pid), *map(str, command)]


@contextlib.contextmanager
def chronyd(pid, directory, name, *lines):
    settings = directory / f"{name}.conf"
    text = [*lines, f"pidfile {directory}/{name}.pid", "bindcmdaddress /"]
    settings.write_text("\n".join(text) + "\n")
    command = inside(pid, CHRONYD, "-x", "-d", "-u", "root", "-f", settings)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def network():
    """Two namespaces, joined: the server's and the client's."""
    with namespace() as server, namespace() as client:
        try:
            run(*inside(server, "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", client))
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network can be made here: {error.stderr}")
        for pid, device, address in [(server, "v0", SERVER), (client, "v1", CLIENT)]:
            run(*inside(pid, "ip", "address", "add", f"{address}/24", "dev", device))
            for name in (device, "lo"):
                run(*inside(pid, "ip", "link", "set", name, "up"))
        yield server, client


def environment(pid):
    return json.loads(run(*inside(pid, TOMPION, "env", "--json")))


def answering(pid):
    """The keepers that answer in that namespace."""
    keepers = environment(pid)["time_keeping"]["keepers"]
    return [k for k in keepers if k["in_step"] is not None]


def test_a_real_chronyd_is_asked_for_its_state_its_bound_and_its_sources(network, tmp_path):
    server, client = network
    assert answering(client) == [], "nobody answers yet"
    lines = [f"server {SERVER} iburst minpoll -2 maxpoll 0", f"server {NOBODY} iburst"]
    with chronyd(client, tmp_path, "client", *lines):
        seen = []
        for _ in range(100):
            if seen := answering(client):
                break
            time.sleep(0.1)
        (before,) = seen
        assert (before["name"], before["running"], before["in_step"]) == ("chrony", True, False)
        assert before["error_at_most_ns"] is None
        with chronyd(server, tmp_path, "server", "local stratum 1", "allow", "cmdport 0"):
            for _ in range(150):
                (now,) = answering(client)
                if now["in_step"]:
                    break
                time.sleep(0.2)
            assert now["in_step"], now
            # Both have one clock: what chrony says is wrong, and within its own bound.
            assert abs(now["offset_ns"]) <= now["error_at_most_ns"] < 1_000_000_000, now
            assert now["stratum"] == 2
            states = {source["name"]: source["state"] for source in now["sources"]}
            assert states == {SERVER: "selected", NOBODY: "unreachable"}
            text = run(*inside(client, TOMPION, "env"))
            # With -x it knows the time and leaves the clock alone.
            assert "it does not correct the clock" in text
            assert "chrony keeps the wall clock in step" not in text
