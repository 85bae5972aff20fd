"""Taps: beside a measurement, and as captures, which Scapy reads that knows nothing of them."""

import json
import os
import re
import signal
import struct
import subprocess
import sys
import time

import pytest
from conftest import TOMPION, planted, tompion
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapNgReader
from test_packets import ping, reflecting, seen_from

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="taps take CAP_NET_RAW")


def test_a_tap_of_the_own_device_lies_between_its_queue_and_its_driver():
    with reflecting() as (_, port, _):
        for interval in ["5ms", "500us"]:
            told = ping(port, "--count", 200, "--interval", interval, "--tap")
            assert [row["vantage"] for row in told["round_trips"]] == ["user", "qdisc", "tap", "kernel"]
            assert all(row["samples"] == 200 for row in told["round_trips"]), told["missing"]
            # Each lies within the one before, of every packet.
            assert not told["missing"] and not told["disorder"]
            assert told["tap"] == {"device": "lo", "outward": 200, "homeward": 200, "dropped": 0}
            medians = [row["median_ns"] for row in told["round_trips"]]
            assert medians == sorted(medians, reverse=True)


def test_a_tap_knows_each_kind_of_probe(tmp_path):
    key = tmp_path / "key"
    key.write_text("0123456789abcdef0123456789abcdef\n")
    key.chmod(0o600)
    for address, options in [("127.0.0.1", ["--key", key]), ("::1", []), ("::1", ["--key", key])]:
        with reflecting(*options, address=address) as (_, port, _):
            told = ping(port, "--count", 10, "--interval", "5ms", "--format", "ptp", "--tap=lo", *options, host=address)
        assert seen_from(told, "tap")["samples"] == 10
    for address in ["127.0.0.1", "::1"]:
        done = tompion("ping", address, "--icmp", "--count", 10, "--interval", "5ms", "--tap", "--json", check=0)
        assert seen_from(json.loads(done.stdout), "tap")["samples"] == 10
    done = tompion("ping", "127.0.0.1", "--icmp", "--count", 5, "--interval", "5ms", "--tap", check=0)
    assert re.search(r"^  tap +5 ", done.stdout, re.M) and re.search(r"^  qdisc and tap ", done.stdout, re.M)
    assert re.search(r"^tap: at lo$", done.stdout, re.M), done.stdout


def captured(file):
    """What Scapy reads of a capture: packets with their stamps."""
    packets = []
    with RawPcapNgReader(str(file)) as reader:
        for bytes_, about in reader:
            assert about.tsresol == 1_000_000_000 and about.ifname == b"lo"
            packets.append(((about.tshigh << 32) + about.tslow, Ether(bytes_)))
    return packets


class Tapping:
    """`tompion tap` that runs until it is told to end."""

    def __init__(self, file, *options, device="lo"):
        command = [TOMPION, "tap", "--device", device, "--write", file, *map(str, options)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # Frames are kept from the moment at which its socket is bound.
        end = time.monotonic() + 20
        while not self.is_open() and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)

    def is_open(self):
        try:
            # A packet socket that is bound has the number of its device, 1 or more, in the fifth column.
            sockets = open(f"/proc/{self.process.pid}/net/packet").read().splitlines()[1:]
            bound = {line.split()[8] for line in sockets if line.split()[4] != "0" and line.split()[5] == "1"}
            files = os.listdir(f"/proc/{self.process.pid}/fd")
            links = [os.readlink(f"/proc/{self.process.pid}/fd/{fd}") for fd in files]
            return any(link == f"socket:[{inode}]" for link in links for inode in bound)
        except OSError:
            return False

    def end(self, with_signal=signal.SIGINT):
        self.process.send_signal(with_signal)
        return self.wait()

    def wait(self):
        out, errors = self.process.communicate(timeout=20)
        return self.process.returncode, out, errors


def test_a_capture_has_the_test_packets_and_nothing_else(tmp_path):
    file, host = tmp_path / "tap.pcapng", "127.0.7.1"
    # An address of its own: other tests ask loopback for echoes.
    with reflecting(address=host) as (_, port, _):
        tapping = Tapping(file, "--port", port, "--host", host, "--json")
        began = time.time_ns()
        ping(port, "--count", 10, "--interval", "5ms", host=host)
        ended = time.time_ns()
        tompion("ping", host, "--icmp", "--count", 3, "--interval", "5ms", "--quiet", check=0)
        # Of another port, and no test packets.
        with reflecting(address=host) as (_, other, _):
            ping(other, "--count", 5, "--interval", "5ms", host=host)
        status, out, errors = tapping.end()
    assert (status, errors) == (0, "")
    told = json.loads(out)
    # On loopback every frame goes out and comes in.
    assert (told["packets"], told["stamp_requests"], told["stamp_replies"]) == (52, 20, 20)
    assert (told["echo_requests"], told["echo_replies"], told["dropped"]) == (6, 6, 0)
    assert told["ended"] == "stopped" and told["file"] == str(file)
    packets = captured(file)
    assert len(packets) == 52
    probes = [(ns, packet) for ns, packet in packets if UDP in packet]
    assert all(port in (packet[UDP].sport, packet[UDP].dport) for _, packet in probes)
    assert all(began < ns < ended for ns, _ in probes)
    # Fine as the kernel's, not rounded.
    assert len({ns % 1000 for ns, _ in probes}) > 5
    assert {packet[ICMP].type for _, packet in packets if ICMP in packet} == {0, 8}


def test_it_ends_after_a_count_or_a_time_and_goes_by_hosts(tmp_path):
    with reflecting() as (_, port, _):
        tapping = Tapping(tmp_path / "count", "--port", port, "--count", 7, "--quiet")
        ping(port, "--count", 10, "--interval", "5ms")
        assert tapping.wait() == (0, "", "")
        assert len(captured(tmp_path / "count")) == 7
        tapping = Tapping(tmp_path / "time", "--port", port, "--duration", "2s", "--host", "192.0.2.7", "--json")
        ping(port, "--count", 5, "--interval", "5ms")
        status, out, _ = tapping.wait()
        assert status == 0 and json.loads(out)["ended"] == "duration"
        assert json.loads(out)["packets"] == 0
        # Among them what other programs send meanwhile and the kernel's filter cannot tell, as fragments.
        assert json.loads(out)["others"] >= 20
        tapping = Tapping(tmp_path / "icmp", "--icmp", "--host", "127.0.0.1", "--host", "::1", "--count", 1000)
        tompion("ping", "127.0.0.1", "--icmp", "--count", 3, "--interval", "5ms", "--quiet", check=0)
        status, out, errors = tapping.end()
        # What was captured is kept, and not all that was asked for.
        assert status == 130 and "lo: 12 packets (ICMP echo: 6 requests, 6 replies)" in out and not errors
        assert len([1 for _, packet in captured(tmp_path / "icmp") if packet[IP].dst == "127.0.0.1"]) == 12


def test_killed_it_leaves_what_was_there_and_nothing_beside(tmp_path):
    file = tmp_path / "tap.pcapng"
    file.write_text("old")
    tapping = Tapping(file, "--icmp")
    tompion("ping", "127.0.0.1", "--icmp", "--count", 3, "--interval", "5ms", "--quiet", check=0)
    tapping.end(signal.SIGKILL)
    assert file.read_text() == "old" and os.listdir(tmp_path) == ["tap.pcapng"]


def test_a_pipe_has_packets_while_they_are_captured(tmp_path):
    tapping = Tapping("-", "--icmp")
    try:
        tompion("ping", "127.0.0.1", "--icmp", "--count", 3, "--interval", "5ms", "--quiet", check=0)
        os.set_blocking(tapping.process.stdout.fileno(), False)
        there = b""
        for _ in range(200):
            time.sleep(0.02)
            there += tapping.process.stdout.buffer.raw.read(1 << 16) or b""
            if len(there) > 12 * 100:
                break
        assert there[:4] == bytes.fromhex("0a0d0d0a") and len(there) > 12 * 100
    finally:
        os.set_blocking(tapping.process.stdout.fileno(), True)
        tapping.process.send_signal(signal.SIGINT)
        tapping.process.stdout.buffer.read()
        errors = tapping.process.stderr.read()
        assert tapping.process.wait(timeout=20) == 0
    assert "ICMP echo: 6 requests, 6 replies" in errors


def in_place(script):
    """A shell in a network namespace of its own, gone with it."""
    done = subprocess.run(["unshare", "--net", "sh", "-ec", script, "sh", TOMPION], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr.splitlines()


# Sends what nobody would: probes and replies cut off anywhere, with bytes changed, and noise.
HOSTILE = """
import random, socket, subprocess, sys
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrHopByHop
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw
random.seed(1)
v4, v6 = IP(src="127.0.0.1", dst="127.0.0.1"), IPv6(src="::1", dst="::1")
probe = UDP(sport=862, dport=862) / Raw(bytes(range(112)))
whole = [v4 / probe, v6 / probe, v4 / ICMP() / Raw(b"x" * 40), v6 / ICMPv6EchoRequest(data=b"x" * 40),
         v6 / IPv6ExtHdrHopByHop() / probe, IP(src="127.0.0.1", dst="127.0.0.1", frag=7) / probe,
         IP(src="127.0.0.1", dst="127.0.0.1", options=[bytes([7, 3, 4])]) / probe]
whole = [bytes(Ether(src="00:00:00:00:00:00", dst="00:00:00:00:00:00") / tag / p) for p in whole for tag in (Raw(), Dot1Q(vlan=5))]
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind(("lo", 0))
for n in range(20_000):
    frame = bytearray(random.choice(whole))
    for _ in range(random.randrange(4)):
        frame[random.randrange(len(frame))] = random.randrange(256)
    if n % 3 == 0:
        frame = frame[: random.randrange(14, len(frame) + 1)]
    if n % 7 == 0:
        frame = random.randbytes(random.randrange(14, 2000))
    out.send(frame)
"""


@pytest.mark.parametrize("options", [[], ["--host", "127.0.0.1"], ["--icmp"]])
def test_frames_of_any_kind_neither_end_it_nor_spoil_the_capture(options, tmp_path):
    (tmp_path / "hostile.py").write_text(HOSTILE)
    file = tmp_path / "tap.pcapng"
    status, out, errors = in_place(f"""
        ip link set lo up
        "$1" tap --device lo {" ".join(options)} --write {file} --json & tap=$!
        while ! awk '$6 == 1 {{ f = 1 }} END {{ exit !f }}' /proc/net/packet; do sleep 0.01; done
        {sys.executable} {tmp_path}/hostile.py
        "$1" ping 127.0.0.1 --icmp --count 3 --interval 5ms --quiet
        sleep 0.2
        grep VmHWM /proc/$tap/status >{tmp_path}/most
        kill -INT $tap
        wait $tap""")
    assert status in (0, 130) and not errors, errors
    told = json.loads(out)
    print(told)
    # Probes that were left whole, and the pings after all that.
    assert told["packets"] > 500 and told["echo_requests"] >= 6
    assert int((tmp_path / "most").read_text().split()[1]) < 64 * 1024
    with RawPcapNgReader(str(file)) as reader:
        assert len(list(reader)) == told["packets"]


def test_a_device_that_goes_away_ends_it_and_what_came_before_is_kept(tmp_path):
    file = tmp_path / "tap.pcapng"
    for end in ["ip link delete d0", "ip link set d0 down"]:
        status, _, errors = in_place(f"""
            ip link add d0 type veth peer name d1 && ip link set d0 arp off up && ip link set d1 up && ip link set lo up
            ip address add 192.0.2.1/24 dev d0
            "$1" tap --device d0 --icmp --write {file} --quiet & tap=$!
            while ! awk '$6 == 1 {{ f = 1 }} END {{ exit !f }}' /proc/net/packet; do sleep 0.01; done
            "$1" ping 192.0.2.7 --icmp --count 3 --interval 10ms --timeout 10ms --quiet || true
            sleep 0.2
            {end}
            wait $tap""")
        told = [line for line in errors if "no reply" not in line]
        assert status == 1 and told == ["tompion: d0: cannot read frames: Network is down (os error 100)"], errors
        with RawPcapNgReader(str(file)) as reader:
            assert [about.ifname for _, about in reader] == [b"d0"] * 3
        file.unlink()


@pytest.mark.parametrize(
    "script, told",
    [
        ('"$1" tap --device no0 --write {file}', 'no network device "no0"'),
        ('"$1" tap --device lo --write {file}', "lo: cannot tap it: Network is down"),
        ('ip link set lo up; "$1" tap --device lo --write {file}/none', "creating failed"),
        ('ip link set lo up; "$1" tap --device lo --write {file} --count 0', "capture at least 1"),
        ('ip link set lo up; "$1" tap --device lo --write - --json', "both would go to standard output"),
        ('ip link set lo up; "$1" tap --device lo --write {file} --host no-such-host.invalid', "no-such-host.invalid: "),
        (
            'ip link set lo up; setpriv --bounding-set -net_raw --inh-caps -all "$1" tap --device lo --write {file}',
            "cannot open a tap: Operation not permitted .* \\(it takes CAP_NET_RAW\\)",
        ),
        ('ip link set lo up; "$1" ping 127.0.0.1 --icmp --tap=no0', 'no network device "no0"'),
        ('"$1" ping 192.0.2.7 --icmp --tap', "no device for packets to 192.0.2.7: Network is unreachable"),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_file(script, told, tmp_path):
    file = tmp_path / "tap.pcapng"
    status, out, errors = in_place(script.format(file=file))
    assert status == 1 and len(errors) == 1 and re.search(told, errors[0]), errors
    assert not out and not file.exists()


def test_a_tap_where_the_probes_do_not_pass_is_told_beside_the_measurement():
    status, out, errors = in_place("""
        ip link set lo up; ip link add d0 type veth peer name d1; ip link set d0 up; ip link set d1 up
        "$1" ping 127.0.0.1 --icmp --count 3 --interval 5ms --tap=d0""")
    assert status == 1 and errors == ["tompion: the tap at d0: the tap recorded no packet"], errors
    # What was measured is shown all the same.
    assert re.search(r"^  kernel +3 ", out, re.M)


def between(report, name):
    """What lies between two places, by the cell that has the table of stamps."""
    tables = [cell["round_trips"]["between"] for cell in report["cells"] if cell["round_trips"]["between"]]
    return next(row for row in tables[0] if row["name"] == name)


def joined(run, out, *taps):
    done = tompion("join", run, *(word for tap in taps for word in ("--tap", tap)), "--out", out, "--json", check=0)
    return json.loads(done.stdout)


def test_a_tap_at_the_far_end_sees_what_lies_beyond_the_path_and_the_rest_is_the_path(tmp_path):
    """A path of 10 ms that is the relay's: it lies between the sender's kernel and the tap beyond it."""
    far = ["--far-end", f"exec {TOMPION} reflect --listen 0.0.0.0:862 --quiet"]
    far += ["--far-end", f"exec {TOMPION} tap --device f0 --write {tmp_path}/far.pcapng --quiet"]
    own = f"{TOMPION} tap --device s0 --write {tmp_path}/near.pcapng --quiet & tap=$!; sleep 0.5; "
    measured = f"{TOMPION} measure packet-delay --to $FAR_END --probes 100 --loads idle --blocks 1 --quiet --out {tmp_path}/run"
    ends = "; status=$?; kill -INT $tap; wait $tap; exit $status"
    tompion("testbed", "--rtt", "10ms", "--quiet", *far, "--", "sh", "-c", own + measured + ends, check=0)
    report = joined(tmp_path / "run", tmp_path / "joined", f"near={tmp_path}/near.pcapng", f"far={tmp_path}/far.pcapng")
    cells = {cell["factors"]["vantage"]: cell for cell in report["cells"]}
    assert sorted(cells) == sorted(["user", "qdisc", "kernel", "path", "near", "far"])
    path = between(report, "near and far")
    # What holds up the relay makes it longer for some, never shorter.
    assert abs(path["min_ns"] - 10 * 1_000_000) < 300_000 and path["probes"] == 100, path
    # The sender's tap has its driver's stamp, but for a moment.
    assert abs(between(report, "kernel and near")["median_ns"]) < 200_000
    # Its tap is served before the far end's driver stamps the reply, so that a moment may lie on either side.
    assert abs(between(report, "path beyond far")["median_ns"]) < 300_000
    # It is a run like any other.
    done = tompion("compare", tmp_path / "joined", "--by", "vantage", check=0)
    assert "far" in done.stdout


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run over loopback, and what a tap saw of it."""
    place = tmp_path_factory.mktemp("recorded")
    tapping = Tapping(place / "tap.pcapng", "--icmp", "--quiet")
    ask = ["--to", "127.0.0.1", "--icmp", "--probes", 20, "--intervals", "5ms", "--loads", "idle", "--blocks", 1]
    tompion("measure", "packet-delay", *ask, "--quiet", "--out", place / "run", check=0)
    assert tapping.end()[0] == 0
    return place


def test_a_run_is_joined_with_a_tap_and_told(recorded, tmp_path):
    done = tompion("join", recorded / "run", "--tap", f"lo={recorded}/tap.pcapng", "--out", tmp_path / "joined", check=0)
    assert re.match(r"lo \(at lo\): 20 of 20 probes on their way out, 20 replies on their way home\n", done.stdout)
    assert "kernel and lo" in done.stdout and (tmp_path / "joined/report.html").exists()
    # What names somebody is no name of a tap in a redacted report.
    redacted = tompion("report", tmp_path / "joined", "--redact", "--format", "md", check=0).stdout
    assert "kernel and vantage-1" in redacted, redacted


def test_the_name_of_a_captured_device_controls_no_terminal(recorded, tmp_path):
    named = b"\x02\x00\x02\x00"
    capture = (recorded / "tap.pcapng").read_bytes()
    assert named + b"lo" in capture
    (tmp_path / "tap.pcapng").write_bytes(capture.replace(named + b"lo", named + b"\x1b[", 1))
    done = tompion("join", recorded / "run", "--tap", f"lo={tmp_path}/tap.pcapng", "--out", tmp_path / "joined", check=0)
    assert "20 of 20 probes" in done.stdout and "\x1b" not in done.stdout


def of_length(capture, length):
    """A capture whose first packet claims to be so long."""
    at = capture.index(b"\x06\0\0\0") + 4
    return capture[:at] + length.to_bytes(4, "little") + capture[at + 4 :]


def in_microseconds(capture):
    """The same capture by a clock of microseconds."""
    capture = bytearray(capture.replace(b"\x09\x00\x01\x00\x09", b"\x09\x00\x01\x00\x06", 1))
    at = 0
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        if kind == 6:
            high, low = struct.unpack_from("<II", capture, at + 12)
            high, low = divmod(((high << 32) + low) // 1000, 1 << 32)
            struct.pack_into("<II", capture, at + 12, high, low)
        at += length
    return bytes(capture)


@pytest.mark.parametrize(
    "how, told",
    [
        (lambda bytes_: bytes_[:-3], "tap lo: the capture is cut off at byte"),
        (lambda bytes_: bytes_[:40], "tap lo: the capture is cut off at byte 0"),
        (lambda bytes_: b"", "tap lo: not a capture"),
        (lambda bytes_: of_length(bytes_, 13), "tap lo: the capture is damaged at byte"),
        (lambda bytes_: of_length(bytes_, 0x7FFF_FFF0), "tap lo: a block of 2147483632 bytes at byte .* is larger"),
        (in_microseconds, "1000000 steps a second"),
        ("other", "tap lo: none of the tap's .* is one of the probes|tap lo: the tap is of another time"),
        ("name", 'no tap can be called "user"'),
        ("missing", "tap lo: .*none.pcapng: No such file"),
        ("pipe", "tap lo: .*pipe: no regular file"),
        ("holes", "tap lo: .*tap.pcapng: most of the file is not there"),
        ("run", "the run has no round trips"),
        ("form", "write a name and a file, such as dom0=tap.pcapng"),
    ],
)
def test_what_cannot_be_joined_is_one_line_and_leaves_nothing(how, told, recorded, tmp_path):
    run, tap = recorded / "run", f"lo={tmp_path}/tap.pcapng"
    bytes_ = (recorded / "tap.pcapng").read_bytes()
    if callable(how):
        (tmp_path / "tap.pcapng").write_bytes(how(bytes_))
    elif how == "other":
        tapping = Tapping(tmp_path / "tap.pcapng", "--icmp", "--quiet")
        tompion("ping", "127.0.0.1", "--icmp", "--count", 3, "--interval", "5ms", "--quiet", check=0)
        tapping.end()
    elif how == "name":
        tap = f"user={recorded}/tap.pcapng"
    elif how == "missing":
        tap = f"lo={tmp_path}/none.pcapng"
    elif how == "pipe":
        os.mkfifo(tmp_path / "pipe")
        tap = f"lo={tmp_path}/pipe"
    elif how == "holes":
        # A head of nanoseconds, and hours of nothing.
        with open(tmp_path / "tap.pcapng", "wb") as file:
            file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1))
            file.truncate(1 << 42)
    elif how == "run":
        read_cost = ["--methods", "rdtsc", "--loads", "idle", "--duration", "1s", "--quiet"]
        tompion("measure", "read-cost", *read_cost, "--out", tmp_path / "run", program=planted(), check=0)
        run, tap = tmp_path / "run", f"lo={recorded}/tap.pcapng"
    elif how == "form":
        tap = "tap.pcapng"
    done = tompion("join", run, "--tap", tap, "--out", tmp_path / "joined", check=1)
    assert re.search(told, done.stderr) and done.stderr.count("\n") == 1, done.stderr
    assert not done.stdout and not (tmp_path / "joined").exists()
