"""`tompion testbed`: paths whose truth is known, by witnesses that know nothing of it."""

import csv
import json
import os
import pty
import re
import signal
import subprocess
import time

import pytest
from conftest import ROOT, TOMPION, tompion

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces take root")

DOCS = (ROOT / "docs/testbed.md").read_text()


def on_testbed(*arguments, check=0):
    return tompion("testbed", *arguments, check=check)


def test_iperf3_sees_the_rate_of_the_link(tmp_path):
    """UDP, headers added, while the sender sends more than the link takes. What holds up the relay takes from the rate, so
    that some seconds have less, and the one after it may have more: each try is told."""
    seen = []
    for _ in range(6):
        # Below the relay: beside other work neither would keep up.
        client = f"chrt -f 20 iperf3 -c $FAR_END -u -b 130M -l 1472 -t 5 --get-server-output --json >{tmp_path}/told.json"
        done = on_testbed("--rtt", "10ms", "--rate", "100M", "--far-end", "exec chrt -f 20 iperf3 -s --json", "--", "sh", "-c", client)
        told = json.loads((tmp_path / "told.json").read_text())["server_output_json"]
        # Whole seconds: the first has the beginning in it, and the whole the wait for the end.
        seconds = [i["sum"]["bits_per_second"] for i in told["intervals"] if i["sum"]["seconds"] > 0.9][1:]
        rates = [second * 1514 / 1472 / 100e6 for second in seconds]
        seen.append((rates, done.stderr))
        if sum(abs(rate - 1) <= 0.01 for rate in rates) >= 2:
            return
    pytest.fail(f"{seen}")


def test_what_is_lost_is_what_the_file_says(tmp_path):
    """A program that numbers its datagrams, and one that hears them."""
    hears = "import socket as s\nl=s.socket(2,2);l.bind(('',7));l.settimeout(2)\n"
    hears += f"f=open('{tmp_path}/heard','wb',0)\nwhile 1: f.write(l.recv(9))"
    says = "import os,socket as s,time\nc=s.socket(2,2);c.connect((os.environ['FAR_END'],7))\n"
    says += "for n in range(400): c.send(b'%09d'%n); time.sleep(.0005)\ntime.sleep(.2)"
    (tmp_path / "hears.py").write_text(hears)
    truth = tmp_path / "truth.csv"
    on_testbed(
        *("--rtt", "4ms", "--loss", "25%", "--seed", "5", "--truth", truth),
        *("--far-end", f"exec python3 {tmp_path}/hears.py", "--", "python3", "-c", says),
    )
    heard = (tmp_path / "heard").read_bytes()
    heard = {int(heard[at : at + 9]) for at in range(0, len(heard), 9)}
    rows = [r for r in csv.DictReader(truth.open()) if r["way"] == "outward" and r["bytes"] == "51"]
    assert len(rows) == 400
    rows.sort(key=lambda row: int(row["number"]))
    assert heard == {n for n, row in enumerate(rows) if row["fate"] == "sent"}
    assert 60 <= 400 - len(heard) <= 140


def test_delays_one_way_are_those_of_the_path_within_what_they_may_be_off(tmp_path):
    """Both ends have one clock, which the probes do not know: 16 ms out, 4 ms home."""
    (tmp_path / "plan.toml").write_text("[outward]\ndelay_ns = 16_000_000\n[homeward]\ndelay_ns = 4_000_000\n")
    ping = f"{TOMPION} ping $FAR_END --one-way --count 200 --interval 10ms --json > {tmp_path}/told.json"
    far_end = f"exec {TOMPION} reflect --listen 0.0.0.0:862 --quiet"
    # What the machine did to the path meanwhile is another's matter.
    on_testbed("--plan", tmp_path / "plan.toml", "--far-end", far_end, "--", "sh", "-c", ping, check=None)
    told = json.loads((tmp_path / "told.json").read_text())["one_way"]
    [clock] = told["far_clock"]
    low, high = clock["rate_between_ppm"]
    assert low <= 0 <= high, told
    # Half of 20 ms each, off by 6 of 10.
    for way, true in [("outward", 16), ("homeward", 4)]:
        median = told[way]["median_ns"] / 1e6
        assert abs(median - 10) < 0.5 and abs(median - true) <= told["may_be_off_ns"] / 1e6, told
    assert abs(clock["ahead_ns"] / 1e6 - 6) < 0.5, told


def test_tcps_estimate_is_that_of_the_path(tmp_path):
    """A path of 20 ms. What the machine does besides makes the estimate longer: each try is told."""
    ping = f"{TOMPION} ping $FAR_END --tcp --count 100 --interval 20ms --json > {tmp_path}/told.json"
    far_end = f"exec {TOMPION} reflect --listen 0.0.0.0:862 --tcp --quiet"
    seen = []
    for _ in range(3):
        on_testbed("--rtt", "20ms", "--far-end", far_end, "--", "sh", "-c", ping, check=None)
        tcp = json.loads((tmp_path / "told.json").read_text())["tcp"]
        seen.append(tcp)
        smoothed = tcp["smoothed"]
        # In whole microseconds.
        assert 19_999_000 <= tcp["least_ns"] < 22_000_000 and smoothed["min_ns"] >= tcp["least_ns"], tcp
        if smoothed["samples"] >= 40 and smoothed["median_ns"] < 24_000_000 and tcp["sent_again"] == 0:
            return
    pytest.fail(f"{seen}")


@pytest.mark.parametrize("bottleneck", ["relay", "kernel"])
@pytest.mark.parametrize("rate, cross", [("20M", "15M"), ("10M", "9M")])
def test_the_queue_is_as_planned_from_the_first_packet_on(tmp_path, bottleneck, rate, cross):
    """Trains by which cross traffic was measured are gone: a part of the link is free, and nothing waits long."""
    seen = []
    for _ in range(3):
        ping = f"{TOMPION} ping $FAR_END --icmp --count 10 --interval 20ms --json > {tmp_path}/told.json"
        on_testbed("--rtt", "10ms", "--rate", rate, "--cross", cross, "--bottleneck", bottleneck, "--", "sh", "-c", ping)
        told = json.loads((tmp_path / "told.json").read_text())
        [median_ns] = [row["median_ns"] for row in told["round_trips"] if row["vantage"] == "user"]
        seen.append(median_ns / 1e6)
        if median_ns < 20e6:
            return
    pytest.fail(f"{seen}")


def test_probes_past_the_queue_do_not_wait_in_it(tmp_path):
    """The own device sends 10 Mbit/s, with room for 50 ms, and gets more than that."""
    (tmp_path / "flood.py").write_text(
        "import os,socket as s,time\nc=s.socket(2,2);c.connect((os.environ['FAR_END'],9))\nnext=time.monotonic()\n"
        "while 1:\n next+=.0009\n try: c.send(bytes(1400))\n except OSError: pass\n time.sleep(max(0,next-time.monotonic()))\n"
    )
    ping = f"{TOMPION} ping $FAR_END --count 60 --interval 20ms --json"
    script = "tc qdisc add dev s0 root tbf rate 10mbit burst 3028 limit 62500 && "
    script += f"{{ python3 {tmp_path}/flood.py & }} && sleep 1; "
    script += f"{ping} > {tmp_path}/usual.json; {ping} --past-queue > {tmp_path}/past.json; kill %1 2>/dev/null; true"
    far_end = f"exec {TOMPION} reflect --listen 0.0.0.0:862 --quiet"
    seen = []
    for _ in range(3):
        on_testbed("--rtt", "2ms", "--far-end", far_end, "--", "sh", "-c", script, check=None)
        usual, past = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("usual", "past"))
        rows = {name: {row["vantage"]: row for row in told["round_trips"]} for name, told in [("usual", usual), ("past", past)]}
        # Each answered, by its own addresses and with its own stamps, but that of the queue.
        assert past["answered"] >= 55 and sorted(rows["past"]) == ["kernel", "user"], past
        median = {name: row["user"]["median_ns"] / 1e6 for name, row in rows.items()}
        seen.append(median)
        if median["usual"] > 35 and median["past"] < 8:
            return
    pytest.fail(f"{seen}")


@pytest.mark.parametrize("where", ["here", "far-end", "path"])
def test_who_makes_round_trips_long_is_told(tmp_path, where):
    """The sender or the reflector stopped for 80 ms now and then, or a path that delays each probe by up to 20 ms more.
    The machine itself may hold one of them up for longer: each try is told, and has more probes than the last."""
    jitter = "jitter = { uniform = { most_ns = 20_000_000 } }\n" if where == "path" else ""
    (tmp_path / "plan.toml").write_text(f"[outward]\ndelay_ns = 30_000_000\n{jitter}[homeward]\ndelay_ns = 30_000_000\n")
    # Each end has process numbers of its own, and stops its own program.
    stops = "sleep 0.3; kill -STOP $!; sleep 0.08; kill -CONT $!;"
    far_end = f"{TOMPION} reflect --listen 0.0.0.0:862 --quiet & " + (f"while :; do {stops} done" if where == "far-end" else "wait")
    seen = []
    for times in [1, 2, 4, 6]:
        # The path is a relay of this machine: whatever stands still here is on the path, too.
        ping = f"{TOMPION} ping $FAR_END --count {times * 120} --interval 20ms --no-heartbeat --json"
        script = f"{ping} >{tmp_path}/told.json & "
        script += (times * 5 * stops if where == "here" else "") + " wait $!"
        # What the machine did to the path meanwhile is another's matter.
        on_testbed("--plan", tmp_path / "plan.toml", "--far-end", far_end, "--", "sh", "-c", script, check=None)
        ends = json.loads((tmp_path / "told.json").read_text())["ends"]
        seen.append(ends)
        held_up = {"here": ends["held_up_receiving"], "far-end": ends["held_up_at_far_end"], "path": 8}[where]
        varies = ends["clean_path"]["max_ns"] - ends["clean_path"]["min_ns"] if ends["clean_path"] else 0
        # A path that is slow marks nothing and stays in the figure of clean probes; what was stopped does not.
        # Where the machine holds up most of them there is no such figure; the verdict stands all the same.
        is_right = (varies > 10e6 or not ends["clean_path"]) if where == "path" else held_up >= 8
        # Each end has a PID namespace of its own, whose threads the kernel's events have other numbers for.
        assert ends["not_observed"] is None, ends
        side = {"here": "receiving", "far-end": "far-end", "path": None}[where]
        named = sum(held["probes"] for held in ends["held_up_by"] if (held["side"], held["cause"]) == (side, "stopped"))
        if ends["verdict"] == where and ends["clean"] > 40 and is_right and (not side or named >= 8):
            return
    pytest.fail(f"{seen}")


def test_the_plan_of_the_docs_is_one(tmp_path):
    plan = re.search(r"```toml\n(.*?)```", DOCS, re.S)[1]
    (tmp_path / "plan.toml").write_text(plan)
    on_testbed("--plan", tmp_path / "plan.toml", "--", "true")
    (tmp_path / "plan.toml").write_text(plan.replace("share = 0.01", "share = 1.01"))
    done = on_testbed("--plan", tmp_path / "plan.toml", "--", "true", check=1)
    assert "share" in done.stderr and len(done.stderr.splitlines()) == 1
    (tmp_path / "plan.toml").write_text("outward = 7")
    done = on_testbed("--plan", tmp_path / "plan.toml", "--", "true", check=1)
    assert "plan.toml" in done.stderr


def test_both_ends_can_be_entered_until_it_is_interrupted():
    devices = set(os.listdir("/sys/class/net"))
    child = subprocess.Popen(
        [TOMPION, "testbed", "--rtt", "2ms", "--quiet"], stdout=subprocess.PIPE, text=True
    )
    lines = [child.stdout.readline().split() for _ in range(2)]
    try:
        for line, device in zip(lines, ("s0", "f0")):
            entrance = line[line.index("nsenter") : -1]
            told = subprocess.run([*entrance, "ip", "-br", "addr"], capture_output=True, text=True, check=True)
            address = next(word for word in line if word.startswith("198.18."))
            assert device in told.stdout and address in told.stdout
        assert set(os.listdir("/sys/class/net")) == devices
    finally:
        child.send_signal(signal.SIGINT)
        # The path is measured once more.
        assert child.wait(timeout=30) == 0


def test_the_router_can_be_entered_where_the_kernel_is_the_path():
    command = [TOMPION, "testbed", "--bottleneck", "kernel", "--rate", "100M", "--quiet"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = [child.stdout.readline().split() for _ in range(3)][2]
        assert line[:3] == ["router", "rs,", "rf"]
        seen = []
        for _ in range(3):
            # A list that changes while it is taken is refused.
            told = subprocess.run([*line[3:-1], "ip", "-br", "link"], capture_output=True, text=True)
            seen.append((told.returncode, told.stdout, told.stderr))
            if told.returncode == 0 and "rs@" in told.stdout and "rf@" in told.stdout:
                break
        else:
            pytest.fail(f"{seen}")
    finally:
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=30)


def test_an_interrupt_of_a_terminal_is_the_commands_own_matter():
    script = "trap 'sleep 1; exit 5' INT; echo ready; while :; do sleep 0.05; done"
    far_end = f"exec {TOMPION} reflect --listen 0.0.0.0:862 --quiet"
    child, terminal = pty.fork()
    if child == 0:
        os.execv(TOMPION, [TOMPION, "testbed", "--quiet", "--far-end", far_end, "--", "sh", "-c", script])
    try:
        seen = b""
        while b"ready" not in seen:
            seen += os.read(terminal, 1 << 12)
        os.write(terminal, b"\x03")
        deadline = time.monotonic() + 20
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert os.waitstatus_to_exitcode(ended[1]) == 5
    finally:
        os.close(terminal)


def test_an_interrupt_of_the_testbed_alone_ends_the_command():
    child = subprocess.Popen(
        [TOMPION, "testbed", "--", "sleep", "600"], start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    assert "before:" in child.stderr.readline()
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=20) == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["--rate", "fast", "--", "true"], "fast"),
        (["--loss", "2", "--", "true"], "share"),
        (["--mtu", "100", "--", "true"], "MTU of 100"),
        (["--bottleneck", "kernel", "--", "true"], "rate"),
        (["--rate", "100M", "--cross", "100M", "--", "true"], "leaves nothing"),
        (["--", "/no/such"], "/no/such"),
        (["--far-end", "exit 3", "--", "sleep", "60"], "ended early"),
        (["--plan", "/no/such", "--", "true"], "/no/such"),
    ],
)
def test_bad_input_is_one_line(arguments, told):
    done = on_testbed("--quiet", *arguments, check=1)
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 or done.stderr.startswith("tompion: error")


def test_without_rights_it_says_so():
    done = subprocess.run(
        ["setpriv", "--bounding-set", "-sys_admin", TOMPION, "testbed", "--", "true"], capture_output=True, text=True
    )
    assert done.returncode == 1 and "CAP_SYS_ADMIN" in done.stderr
    assert len(done.stderr.splitlines()) == 1
