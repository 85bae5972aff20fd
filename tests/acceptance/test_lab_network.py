"""Platforms that are joined to a testbed: where their packets pass, what they wait for, and what a plan may say of it."""

import json
import os
import shutil
import subprocess

import pytest

from conftest import tompion
from runs import table_of
from test_lab import needs_guest

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces and containers are root's")
needs_runc = pytest.mark.skipif(shutil.which("runc") is None, reason="no runc")
MS = 1_000_000

HOST = '[[platforms]]\nkind = "host"\nnetwork = "host"\n'
CONTAINER = '[[platforms]]\nname = "{0}"\nkind = "oci"\nruntime = "runc"\nnetwork = "{0}"\n'
PROBE = '[[probes]]\nkind = "packet-delay"\nto = "far-end"\nintervals = ["20ms"]\nprobes = {}\ntime = "{}"\n'


def carried_out(tmp_path, text):
    """What a plan gave: of each platform the round trips by vantage point, in nanoseconds, and the run's record."""
    (tmp_path / "plan.toml").write_text(text)
    directory = tmp_path / "run"
    tompion("lab", "run", tmp_path / "plan.toml", "--out", directory, "--quiet", check=0)
    record = json.loads((directory / "run.json").read_text())
    assert record["status"] == "complete"
    trips = {}
    for trial in record["trials"]:
        factors = trial["factors"]
        values = sorted(ps / 1000 for ps in table_of(directory, trial)["value_ps"])
        trips.setdefault(factors["platform"], {})[factors["vantage"]] = values
    return trips, record


def median(values):
    return values[len(values) // 2]


@needs_runc
def test_each_kind_of_network_leads_to_the_far_end_and_its_tap_joins_by_itself(tmp_path):
    kinds = ["bridge", "macvlan"]
    plan = 'seed = 1\nreplicates = 1\n[testbed]\nrtt = "10ms"\n' + HOST
    plan += CONTAINER.format("host").replace('name = "host"', 'name = "same"')
    plan += "".join(CONTAINER.format(kind) for kind in kinds) + PROBE.format(40, "2s")
    before = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True).stdout
    trips, record = carried_out(tmp_path, plan)
    assert sorted(trips) == sorted(["host", "same", *kinds])
    for platform, by in trips.items():
        assert sorted(by) == sorted(["user", "qdisc", "kernel", "path", "host"]), platform
        assert len(by["user"]) == len(by["host"]) == 40
        # What holds anything up makes it longer, never shorter.
        assert 10 * MS <= by["host"][0] <= by["kernel"][0] + MS, (platform, by["host"][0], by["kernel"][0])
        assert by["kernel"][0] <= by["user"][0] < 12 * MS, (platform, by["user"][0])
    told = [t["findings"]["round_trips"]["to"] for t in record["trials"]]
    assert all(to.endswith(":862") for to in told)
    assert before == subprocess.run(["ip", "-o", "link"], capture_output=True, text=True).stdout
    # The split of the report has the tap between the instance's kernel and the path.
    report = json.loads(tompion("report", tmp_path / "run", "--json", check=0).stdout)
    tables = [cell["round_trips"]["between"] for cell in report["cells"] if cell["round_trips"]["between"]]
    assert all(any(row["name"] == "kernel and host" for row in table) for table in tables)


@needs_runc
def test_what_a_neighbour_sends_waits_in_the_hosts_device_and_there_alone(tmp_path):
    """A device of 10 Mbit/s with room for 50 ms, which is sent more than it takes: what a container on a bridge waits for
    there comes after its own kernel's stamp, and that of one that shares the host's network before it."""
    plan = 'seed = 1\nreplicates = 1\nloads = ["idle", "cpu:1"]\n'
    plan += '[testbed]\nrtt = "2ms"\nown_rate = "10M"\nown_queue = "62500"\n'
    plan += CONTAINER.format("bridge") + CONTAINER.format("host").replace('name = "host"', 'name = "same"')
    plan += '[[placements]]\nname = "beside"\nloads = ["idle"]\n'
    plan += '[[placements.guests]]\nrole = "load"\nload = "udp:peer=far-end:5210:rate=12M"\n'
    plan += PROBE.format(100, "3s")
    seen = []
    for attempt in range(3):
        place = tmp_path / str(attempt)
        place.mkdir()
        trips, record = carried_out(place, plan)
        loads = {trial["factors"]["load"] for trial in record["trials"]}
        assert loads == {"idle"}
        bridge, same = trips["bridge"], trips["same"]
        # On the way out the tap stands behind the queue.
        waits = {
            "behind the own kernel": median(bridge["kernel"]) - median(bridge["host"]),
            "before it": median(bridge["qdisc"]) - median(bridge["kernel"]),
            "of one that shares the network, before": median(same["qdisc"]) - median(same["kernel"]),
            "and behind": median(same["kernel"]) - median(same["host"]),
        }
        seen.append(waits)
        behind, before, shared, shared_behind = waits.values()
        if 35 * MS < behind < 60 * MS and 35 * MS < shared < 60 * MS and max(before, shared_behind) < 3 * MS:
            return
    pytest.fail(f"{seen}")


@needs_guest
def test_a_virtual_machine_is_joined_by_a_tap_and_its_host_sees_its_packets(tmp_path):
    """Two of them on one bridge, each by its own addresses; the tap's clock is not that of the guest."""
    plan = 'seed = 1\nreplicates = 1\n[testbed]\nrtt = "10ms"\n'
    plan += '[[platforms]]\nkind = "qemu"\nmemory_mib = 256\nnetwork = "tap"\nstart_within = "120s"\n'
    plan += '[[placements]]\nname = "two"\n[[placements.guests]]\nrole = "load"\nload = "udp:peer=far-end:5210:rate=1M"\n'
    trips, record = carried_out(tmp_path, plan + PROBE.format(30, "2s"))
    [by] = trips.values()
    assert sorted(by) == sorted(["user", "qdisc", "kernel", "path", "host"])
    assert len(by["user"]) == len(by["host"]) >= 25
    assert 10 * MS <= by["host"][0] <= by["kernel"][0] <= by["user"][0], {v: t[:1] for v, t in by.items()}
    [platform] = record["platforms"]
    assert platform["emulated"] and "network by tap" in platform["settings"]
    # What the other sent came to the far end.
    [beside] = [json.loads(line).get("beside") for line in (tmp_path / "run/lab.jsonl").read_text().splitlines()[1:]]
    assert beside[0]["what"].startswith("guest 2 (udp:peer=") and beside[0]["seconds"] > 1, beside


GOOD = 'seed = 1\n[testbed]\nrtt = "10ms"\n' + HOST + PROBE.format(40, "2s")

WRONG = {
    "no testbed": (GOOD.replace('[testbed]\nrtt = "10ms"\n', ""), "far-end is the other end of a [testbed]"),
    "nothing to join": (
        'seed = 1\n' + CONTAINER.format("bridge") + '[[probes]]\nkind = "stalls"\n',
        "6:11: network: what a platform is joined to is a [testbed]",
    ),
    "nobody is joined": (GOOD.replace('network = "host"\n', ""), "no platform is joined to the testbed"),
    "one is not": (GOOD + '[[platforms]]\nkind = "qemu"\n', "does not reach far-end"),
    "another port": (
        GOOD.replace("seed = 1", 'seed = 1\nloads = ["network:peer=far-end:99"]'),
        "far-end:99: the far end of a testbed serves loads on port 5210",
    ),
    "a bridge for this machine": (GOOD.replace('network = "host"', 'network = "bridge"'), "there is no `bridge`"),
    "a virtual machine on a bridge": (
        GOOD + '[[platforms]]\nkind = "qemu"\nnetwork = "bridge"\n',
        "there is no `bridge`; there are none, tap",
    ),
    "gVisor": (GOOD + CONTAINER.format("bridge").replace("runc", "runsc"), "gVisor has a network stack of its own"),
    "a microVM": (GOOD + '[[platforms]]\nkind = "firecracker"\nnetwork = "tap"\n', "has no `network`"),
    "a queue without a rate": (GOOD.replace("rtt =", 'own_queue = "64K"\nrtt ='), "nothing waits before a device without"),
    "no rate": (GOOD.replace("rtt =", 'own_rate = "fast"\nrtt ='), "`fast` is no rate"),
    "no queue": (GOOD.replace("rtt =", 'own_rate = "1M"\nown_queue = "7"\nrtt ='), "`7` is no queue"),
    "a typing error": (GOOD.replace("rtt =", 'own_rat = "1M"\nrtt ='), "did you mean `own_rate`?"),
    "too far": (GOOD.replace('"10ms"', '"11s"'), "rtt: 10s at most"),
    "an unknown load": (
        GOOD + '[[placements]]\nname = "x"\nloads = ["cpu"]\n',
        "loads: the plan has no load `cpu`; it has idle",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_plan_that_cannot_be_is_refused_in_a_line_with_its_place(tmp_path, what):
    text, why = WRONG[what]
    plan = tmp_path / "plan.toml"
    plan.write_text(text)
    done = tompion("lab", "plan", plan, check=1)
    # What the probe goes to and what it goes by may both be wrong.
    lines = done.stderr.splitlines()
    assert 1 <= len(lines) <= 2 and any(why in line for line in lines), done.stderr
    assert all(line.startswith(f"tompion: {plan}:") for line in lines), done.stderr


def test_a_plan_says_what_its_testbed_is(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(GOOD.replace("rtt =", 'own_rate = "100M"\nrtt ='))
    told = tompion("lab", "plan", plan, check=0).stdout
    assert "Testbed\n  round trips of 10ms, a device of the host's of 100 Mbit/s" in told
    asked = json.loads(tompion("lab", "plan", plan, "--json", check=0).stdout)["plan"]
    assert asked["testbed"] == {"rtt_ns": 10 * MS, "own_rate_bps": 100_000_000}
    assert asked["platforms"][0]["network"] == "host"
