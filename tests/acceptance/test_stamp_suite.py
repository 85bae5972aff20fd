"""Tompion's sender and stamp-suite's reflector, and the other way round.

`.ci/stamp-suite` builds it, in `make test-full`. With TOMPION_RECORD=DIR both sides' packets are written to DIR,
as crates/tompion-stamp/tests/stamp-suite has them, where `make test` replays them.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import stamp_wire as wire
from conftest import ROOT
from test_packets import free_port, ping, reflecting, seen_from
from test_reflectors import forge

sys.path.append(str(ROOT / "benches"))
import net_tap

SUITE = shutil.which(ROOT / ".cache/bin/stamp-suite")
pytestmark = pytest.mark.skipif(SUITE is None, reason="not built: .ci/stamp-suite .cache/bin")

# stamp-suite reads a file of hexadecimal digits as the bytes that these are; we take it as it is.
KEY = "thirty-two bytes, none of them 0"
ADDRESSES = {"4": "127.0.0.1", "6": "::1"}
COUNT = 30
# Exchanges that a record keeps.
KEPT = 6

each_mode = pytest.mark.parametrize("mode", ["open", "keyed"])


def each_way(test):
    return pytest.mark.parametrize("family", ADDRESSES)(each_mode(test))


@pytest.fixture
def key(tmp_path, mode):
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(0o600)
    return file if mode == "keyed" else None


def with_key(key):
    return ["--auth-mode", "A", "--hmac-key-file", str(key)] if key else []


@contextlib.contextmanager
def suite_reflecting(address, *options):
    port = free_port(socket.AF_INET6 if ":" in address else socket.AF_INET)
    command = [SUITE, "--is-reflector", "--local-addr", address, "--local-port", str(port), "--stateful-reflector"]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait_until_taken(address, port, process)
        yield port
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def wait_until_taken(address, port, process):
    until = time.monotonic() + 20
    while time.monotonic() < until:
        assert process.poll() is None, process.stdout.read()
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as other:
            try:
                other.bind((address, port))
            except OSError:
                return
        time.sleep(0.05)
    pytest.fail("stamp-suite opens no socket")


def suite_asks(address, port, *options):
    """What stamp-suite's sender tells."""
    own = free_port(socket.AF_INET6 if ":" in address else socket.AF_INET)
    command = [SUITE, "--remote-addr", address, "--remote-port", str(port), "--local-addr", address, "--local-port", str(own)]
    command += ["--count", str(COUNT), "--send-delay", "20", "--timeout", "1", "--output-format", "json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@contextlib.contextmanager
def recorded(name, port, about):
    """The packets to and from a port of this machine, written down where that is wanted."""
    directory = os.environ.get("TOMPION_RECORD")
    if directory is None:
        yield
        return
    with net_tap.Tap("lo") as tap:
        yield
    requests, lines = 0, [f"# {about}", "# Who, when a tap on lo saw it (ns since 1970), TTL or hop limit, UDP payload"]
    for at, outgoing, frame in tap.frames:
        packet = net_tap.Packet(frame)
        # On lo each is seen twice.
        if not outgoing or packet.protocol != socket.IPPROTO_UDP or port not in packet.ports:
            continue
        is_request = packet.ports[1] == port
        requests += is_request
        if requests > KEPT:
            break
        lines.append(f"{'request' if is_request else 'reply'} {at} {packet.ttl} {packet.payload.hex()}")
    Path(directory, f"{name}.txt").write_text("\n".join(lines) + "\n")


@each_way
def test_its_reflector_answers_our_sender(family, mode, key):
    address = ADDRESSES[family]
    options = ["--key", key] if key else []
    with suite_reflecting(address, *with_key(key)) as port:
        about = f"stamp-suite 1.0.0 answers tompion ping, {mode}, IPv{family}" + (f"; key: {KEY}" if key else "")
        with recorded(f"it-answers-{mode}-{family}", port, about):
            told = ping(port, "--count", COUNT, "--interval", "20ms", *options, host=address)
    assert told["sent"] == told["answered"] == COUNT
    assert not told["oddities"] and not told["missing"] and told["duplicates"] == told["reordered"] == 0
    far = told["far_end"]
    assert far["follows_up"] and far["ttl"] == 64 and far["tompion"] is None
    # Its kernel's stamps follow; that of the last reply would come with the next one.
    assert COUNT - 5 <= told["followed_up"] < COUNT
    assert 0 < told["far_stay"]["median_ns"] < seen_from(told, "kernel")["median_ns"]


@each_way
def test_our_reflector_answers_its_sender(family, mode, key):
    address = ADDRESSES[family]
    options = ["--key", key] if key else []
    asks = ["--ssid", "4711", "--follow-up-telemetry", "--direct-measurement", "--timestamp-info", *with_key(key)]
    with reflecting(*options, address=address) as (_, port, served):
        about = f"tompion reflect answers stamp-suite 1.0.0, {mode}, IPv{family}" + (f"; key: {KEY}" if key else "")
        with recorded(f"it-asks-{mode}-{family}", port, about):
            told = suite_asks(address, port, *asks)
    assert (told["packets_sent"], told["packets_received"]) == (COUNT, COUNT)
    found = told["measurements"]
    tlvs = found["tlv_validation"]
    assert tlvs["rejected_replies"] == 0 and tlvs["evaluated_replies"] == COUNT
    assert not any(tlvs["flags"].values()), tlvs
    if key:
        assert tlvs["hmac"]["verified"] == COUNT, tlvs["hmac"]
    assert sum(count["observed"] for kind, count in tlvs["by_type"].items() if kind in "357") == 3 * COUNT
    # It knows again the replies that our follow-up stamps are of.
    follow = found["follow_up"]
    assert follow["matched"] >= COUNT - 5 and follow["unmatched"] == follow["ambiguous"] == 0, follow
    direct = found["direct_measurement"]
    assert direct["forward_missing"] == direct["reverse_missing"] == 0 == direct["discontinuities"], direct
    assert served["received"] == served["answered"] == COUNT
    assert served["answered_bytes"] == served["received_bytes"]


@pytest.mark.parametrize("mode", ["keyed"])
def test_with_another_key_neither_answers_the_other(mode, key, tmp_path):
    other = tmp_path / "other"
    other.write_text(KEY[::-1])
    other.chmod(0o600)
    with reflecting("--key", other) as (_, port, served):
        assert suite_asks("127.0.0.1", port, *with_key(key))["packets_received"] == 0
    assert dict(served["silent"])["wrong key"] == served["received"] == COUNT


@pytest.mark.skipif(os.geteuid() != 0, reason="forged packets take CAP_NET_RAW")
@each_mode
def test_a_reflector_of_ours_and_one_of_its_fall_silent(mode, key):
    options = ["--key", key] if key else []
    with reflecting(*options) as (_, own, served), suite_reflecting("127.0.0.1", *with_key(key)) as other:
        with net_tap.Tap("lo") as tap:
            for number in range(20):
                ends = [("127.0.0.1", own), ("127.0.0.1", other)]
                forge(*(ends if number % 2 else reversed(ends)), wire.request(number, key=KEY.encode() if key else None))
            time.sleep(2.0)
    ours = [set(net_tap.Packet(frame).ports) == {own, other} for _, outgoing, frame in tap.frames if outgoing]
    # A forged packet, its answer, and where that was ours an answer to it that we leave alone.
    assert 40 <= sum(ours) <= 60
    assert dict(served["silent"])["look like replies"] == 20
