"""`tompion reflect` on the open Internet: what strangers get out of it, by real sockets."""

import contextlib
import os
import random
import socket
import struct
import subprocess
import sys
import time

import pytest
import stamp_wire as wire
from conftest import ROOT, TOMPION, tompion
from test_packets import reflecting

sys.path.append(str(ROOT / "benches"))
import net_tap

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="forged packets take CAP_NET_RAW")

KEY = b"a key of more than sixteen bytes"
MS = 1_000_000


@pytest.fixture
def key_file(tmp_path):
    file = tmp_path / "key"
    file.write_bytes(KEY + b"\n")
    file.chmod(0o600)
    return file


@contextlib.contextmanager
def sender(port, address="127.0.0.1"):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind((address, 0))
        own.connect(("127.0.0.1", port))
        yield own


def replies(own, seconds=0.5):
    """All that comes until nothing has come for so long, with its time in ns."""
    own.settimeout(seconds)
    found = []
    with contextlib.suppress(TimeoutError):
        while True:
            packet = own.recv(65_535)
            found.append((time.monotonic_ns(), packet))
    return found


def test_who_may_gets_the_replies_it_asks_for_and_no_more_than_that(key_file):
    with reflecting("--key", key_file, "--grant-replies", 4) as (_, port, served), sender(port) as own:
        own.send(wire.request(0, wire.control(300, 3, 20 * MS), KEY))
        came = replies(own)
        assert [len(packet) for _, packet in came] == [300] * 3
        assert all(wire.is_authentic(packet, KEY) for _, packet in came)
        # Numbered one by one, all to the one request, and none of them refused.
        assert [struct.unpack_from("!I", packet)[0] for _, packet in came] == [0, 1, 2]
        assert {packet[48:52] for _, packet in came} == {bytes(4)}
        for _, packet in came:
            found = dict((kind, flags) for flags, kind, _ in wire.options(packet, 112))
            assert found[wire.CONTROL] == 0
        # A gap may be longer where this machine is busy; all of them together are not shorter.
        assert came[2][0] - came[0][0] > 25 * MS
        # More than is granted: one, as long as the request.
        for number, asked in enumerate([(300, 5, 20 * MS), (1500, 2, 20 * MS), (300, 2, 100)], 1):
            packet = wire.request(number, wire.control(*asked), KEY)
            own.send(packet)
            [(_, reply)] = replies(own, 0.3)
            assert len(reply) == len(packet)
            assert (wire.NOT_CONFORMANT, wire.CONTROL) in [option[:2] for option in wire.options(reply, 112)]
    assert (served["replies_granted"], served["replies_refused"], served["repeated"]) == (1, 3, 2)
    assert (served["received"], served["answered"]) == (4, 6)


def test_who_may_not_gets_one_reply_and_is_counted(key_file):
    asked = wire.control(1400, 100, 0)
    for options, key, base in [(["--key", key_file], KEY, 112), ([], None, 44)]:
        with reflecting(*options) as (_, port, served), sender(port) as own:
            packet = wire.request(0, asked, key)
            own.send(packet)
            [(_, reply)] = replies(own)
            assert len(reply) == len(packet)
            assert (wire.NOT_CONFORMANT, wire.CONTROL) in [option[:2] for option in wire.options(reply, base)]
        assert (served["replies_granted"], served["replies_refused"], served["repeated"]) == (0, 1, 0)
        assert served["answered_bytes"] == served["received_bytes"]


def test_no_source_gets_more_bytes_than_it_sent():
    """Requests good and bad, of many lengths, from several addresses."""
    draw = random.Random(7)
    with reflecting() as (_, port, served), contextlib.ExitStack() as stack:
        sources = [stack.enter_context(sender(port, f"127.0.0.{n}")) for n in range(2, 8)]
        sent, got, count = [0] * len(sources), [0] * len(sources), [0] * len(sources)
        for number in range(600):
            at = draw.randrange(len(sources))
            packet = bytearray(wire.request(number, draw.choice([b"", wire.control(9000, 50, 1), wire.tlv(1, bytes(200))])))
            for _ in range(draw.randrange(4)):
                packet[draw.randrange(len(packet))] = draw.randrange(256)
            packet = packet[: draw.choice([len(packet), draw.randrange(len(packet))])]
            sources[at].send(packet)
            sent[at] += len(packet)
            count[at] += 1
        for at, own in enumerate(sources):
            came = replies(own, 0.3)
            got[at] = sum(len(packet) for _, packet in came)
            assert 10 < len(came) <= count[at], (at, len(came), count[at])
    assert all(g <= s for g, s in zip(got, sent)), (got, sent)
    assert served["answered_bytes"] == sum(got) and served["received"] == 600


def forge(source, to, payload):
    """A datagram with somebody else's address and port."""
    udp = struct.pack("!HHHH", source[1], to[1], 8 + len(payload), 0) + payload
    addresses = socket.inet_aton(source[0]) + socket.inet_aton(to[0])
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, socket.IPPROTO_UDP, 0) + addresses
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        raw.sendto(header + udp, (to[0], 0))


@as_root
@pytest.mark.parametrize("with_key", [False, True], ids=["open", "keyed"])
def test_two_reflectors_that_forged_packets_set_on_each_other_fall_silent(with_key, key_file):
    """Loopback is the hardest case: it is trusted with a hundred thousand packets a second."""
    options = ["--key", key_file] if with_key else []
    with reflecting(*options) as (_, one, first), reflecting(*options) as (_, other, second):
        with net_tap.Tap("lo") as tap:
            for number in range(40):
                payload = wire.request(number, wire.tlv(1, os.urandom(number)), KEY if with_key else None)
                ends = [("127.0.0.1", one), ("127.0.0.1", other)]
                forge(*(ends if number % 2 else reversed(ends)), payload)
            time.sleep(1.0)
            silent_from = time.time_ns()
            time.sleep(1.0)
    assert tap.dropped == 0
    seen = []
    for at, outgoing, frame in tap.frames:
        packet = net_tap.Packet(frame)
        if outgoing and set(packet.ports) == {one, other}:
            seen.append((at, packet))
    forged = 40
    # Each was answered, and that answer by nobody.
    assert forged < len(seen) <= 3 * forged, len(seen)
    assert all(at < silent_from for at, _ in seen)
    for served, own in ((first, one), (second, other)):
        # What is forged bears the other's port: what went there is no more than what came from there.
        came = sum(len(packet.payload) for _, packet in seen if packet.ports[1] == own)
        assert served["answered_bytes"] <= served["received_bytes"] == came
        assert dict(served["silent"])["look like replies"] == forged // 2


ECHO = """
import socket
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end.bind(("127.0.0.1", 0))
print(end.getsockname()[1], flush=True)
while True:
    end.sendto(*end.recvfrom(65535))
"""


@as_root
def test_a_reflector_and_an_echo_fall_silent_with_the_second_packet():
    with reflecting() as (_, own, served):
        child = subprocess.Popen([sys.executable, "-c", ECHO], stdout=subprocess.PIPE, text=True)
        try:
            other = int(child.stdout.readline())
            with net_tap.Tap("lo") as tap:
                forge(("127.0.0.1", other), ("127.0.0.1", own), wire.request(0))
                time.sleep(1.0)
        finally:
            child.kill()
            child.wait()
    ours = [set(net_tap.Packet(frame).ports) == {own, other} for _, outgoing, frame in tap.frames if outgoing]
    # The forged one, the reply to it, and that reply again.
    assert sum(ours) == 3
    assert served["received"] == 2 and dict(served["silent"]) == {"look like replies": 1}


# Makes a new request of whatever comes, so that no shape tells it from a sender.
ASKS_AGAIN = """
import os, socket, struct, time
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.connect((os.environ["FAR_END"], 8620))
own.settimeout(0.9)
count, began = 0, time.monotonic()
own.send(struct.pack("!I40x", 0))
try:
    while True:
        own.recv(65535)
        count, last = count + 1, time.monotonic()
        own.send(struct.pack("!I40x", count))
except TimeoutError:
    print(2 * count + 2, last - began)
"""


@as_root
def test_a_stranger_that_asks_again_for_ever_is_left_alone_within_a_hundred_packets():
    far_end = f"exec {TOMPION} reflect --listen 0.0.0.0:8620 --quiet"
    done = tompion("testbed", "--quiet", "--far-end", far_end, "--", sys.executable, "-c", ASKS_AGAIN, check=0)
    packets, seconds = map(float, done.stdout.split())
    # 32 at once, and a hundred a second: where a round trip takes no more than 2 ms, a hundred in all.
    assert 60 <= packets <= 2 * (32 + 100 * seconds) + 4, (packets, seconds)
    assert packets <= 100 or seconds > 0.1, (packets, seconds)
