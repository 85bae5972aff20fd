"""Round trips over loopback, with a reflector whose behaviour is planted."""

import contextlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest
from conftest import TOMPION, tompion

MS = 1_000_000


def free_port(family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as found:
        found.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def reflecting(*options, address="127.0.0.1"):
    """A reflector, its port, and what it told when it has ended."""
    port = free_port(socket.AF_INET6 if ":" in address else socket.AF_INET)
    listen = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    process = subprocess.Popen([TOMPION, "reflect", "--listen", listen, "--json", *map(str, options)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = {}
    try:
        assert "answering on" in process.stderr.readline()
        yield process, port, told
    finally:
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
    told.update(json.loads(out))
    assert process.returncode == 0


def ping(port, *options, host="127.0.0.1", check=0):
    done = tompion("ping", host, "--port", port, "--json", *options, check=check)
    return json.loads(done.stdout)


def seen_from(told, vantage):
    return next(row for row in told["round_trips"] if row["vantage"] == vantage)


@pytest.fixture
def key(tmp_path):
    file = tmp_path / "key"
    file.write_text("0123456789abcdef0123456789abcdef\n")
    file.chmod(0o600)
    return file


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("with_key", [False, True], ids=["open", "keyed"])
def test_each_probe_is_stamped_at_each_place(address, with_key, key):
    options = ["--key", key] if with_key else []
    with reflecting(*options, address=address) as (_, port, served):
        told = ping(port, "--count", 30, "--interval", "5ms", *options, host=address)
    assert told["sent"] == told["answered"] == 30 and told["lost"] == 0
    assert [row["vantage"] for row in told["round_trips"]] == ["user", "qdisc", "kernel"]
    assert all(row["samples"] == 30 for row in told["round_trips"])
    # Each lies within the one before, and so does the far end's stay within the innermost.
    medians = [row["median_ns"] for row in told["round_trips"]]
    assert medians == sorted(medians, reverse=True)
    assert 0 < told["far_stay"]["median_ns"] < medians[-1]
    assert told["far_end"]["receives_by"] == "kernel" and told["far_end"]["follows_up"]
    # That of the last reply would come with the next one.
    assert 25 <= told["followed_up"] <= 29
    assert not told["missing"] and not told["disorder"] and not told["oddities"]
    assert served["received"] == served["answered"] == 30
    assert served["answered_bytes"] == served["received_bytes"]


def test_a_reflector_that_stands_still_shows_in_its_stay_and_nowhere_else():
    """Stopped for 200 ms while probes wait in its socket: the kernel has stamped them."""
    with reflecting() as (process, port, _):
        def stop():
            time.sleep(0.5)
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.2)
            process.send_signal(signal.SIGCONT)

        stopper = threading.Thread(target=stop)
        stopper.start()
        told = ping(port, "--count", 60, "--interval", "20ms")
        stopper.join()
    assert told["answered"] == 60
    assert 120 * MS < told["far_stay"]["max_ns"] < 400 * MS
    # What is left of the round trip does not know of it.
    assert told["path"]["max_ns"] < told["far_stay"]["max_ns"] / 4
    for added in told["added"]:
        assert added["max_ns"] < told["far_stay"]["max_ns"] / 2, added


def test_a_sender_that_stands_still_shows_in_the_program_alone():
    with reflecting() as (_, port, _):
        sender = subprocess.Popen([TOMPION, "ping", "127.0.0.1", "--port", str(port), "--json", "--count", "40",
                                   "--interval", "20ms"], stdout=subprocess.PIPE, text=True)
        time.sleep(0.4)
        sender.send_signal(signal.SIGSTOP)
        time.sleep(0.2)
        sender.send_signal(signal.SIGCONT)
        told = json.loads(sender.communicate(timeout=30)[0])
    # Probes were late by as much as it stood still, and that is told; none was left out.
    assert told["sent"] == 40 and told["lateness"]["max_ns"] > 120 * MS
    assert seen_from(told, "kernel")["max_ns"] < 100 * MS


def test_a_host_without_a_far_end_answers_echo_requests():
    told = json.loads(tompion("ping", "127.0.0.1", "--icmp", "--count", 10, "--interval", "10ms", "--json", check=0).stdout)
    assert told["answered"] == 10 and told["protocol"] == "icmp"
    assert seen_from(told, "kernel")["samples"] == 10
    assert told["far_stay"] is None


def test_a_published_measurement_has_its_size_and_its_interval():
    with reflecting() as (_, port, _):
        sender = subprocess.Popen([TOMPION, "ping", "127.0.0.1", "--port", str(port), "--json", "--preset", "whiteaker"],
                                  stdout=subprocess.PIPE, text=True)
        time.sleep(2)
        sender.send_signal(signal.SIGINT)
        told = json.loads(sender.communicate(timeout=30)[0])
    # What was measured is kept.
    assert sender.returncode == 130 and 4 <= told["answered"] <= 20
    assert told["bytes"] == 100 and told["interval_ns"] == 250 * MS


def test_at_a_high_rate_no_probe_and_no_stamp_is_lost():
    with reflecting() as (_, port, served):
        told = ping(port, "--count", 4000, "--interval", "250us")
    assert told["sent"] == told["answered"] == 4000, told
    assert [row["samples"] for row in told["round_trips"]] == [4000] * 3
    assert served["transmit_stamps_missing"] == 0


def test_without_the_kernels_stamps_the_programs_serve_and_it_says_so():
    with reflecting() as (_, port, _):
        told = ping(port, "--count", 5, "--interval", "5ms", "--user-stamps")
    assert [row["vantage"] for row in told["round_trips"]] == ["user"]
    assert told["transmit_stamps"] == told["receive_stamps"] == "user"


@contextlib.contextmanager
def answering(how):
    """A far end of a few lines: for each request what `how` makes of it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.bind(("127.0.0.1", 0))
        end.settimeout(0.2)
        done = threading.Event()

        def serve():
            while not done.is_set():
                with contextlib.suppress(TimeoutError):
                    request, source = end.recvfrom(2048)
                    for reply in how(request):
                        end.sendto(reply, source)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield end.getsockname()[1]
        finally:
            done.set()
            thread.join()


def ntp(offset_s=0.0):
    now = time.time() + offset_s + 2_208_988_800
    return struct.pack("!II", int(now), int(now % 1 * 2**32))


def reply_to(request, received, sent, sequence=None):
    number = request[:4]
    base = struct.pack("!4s8sHH8s4s8sHHB3s", sequence or number, sent, 0x8001, *struct.unpack("!H", request[14:16]),
                       received, number, request[4:12], *struct.unpack("!H", request[12:14]), 0, 64, b"\0" * 3)
    return base + request[44:]


def test_a_far_end_with_one_stamp_or_none_is_named():
    def one(request):
        now = ntp()
        return [reply_to(request, now, now)]

    with answering(one) as port:
        told = ping(port, "--count", 5, "--interval", "5ms")
    assert ["the reflector's two stamps are the same", 5] in told["oddities"]
    with answering(lambda request: [reply_to(request, bytes(8), bytes(8))]) as port:
        told = ping(port, "--count", 5, "--interval", "5ms")
    assert ["the reflector does not say when it received", 5] in told["oddities"]
    assert told["far_stay"] is None and told["answered"] == 5


def test_a_follow_up_stamp_that_was_in_the_reply_already_is_not_the_kernels():
    last = []

    def repeating(request):
        received, sent = ntp(-0.0001), ntp()
        reply = bytearray(reply_to(request, received, sent))
        # The first TLV of ours; its value: number and stamp of the reply before, and how that was taken.
        assert reply[45] == 7
        reply[44] = 0
        if last:
            reply[48:61] = b"".join(last) + b"\2"
        last[:] = [request[:4], sent]
        return [bytes(reply)]

    with answering(repeating) as port:
        told = ping(port, "--count", 10, "--interval", "5ms")
    assert told["answered"] == 10 and told["followed_up"] == 0 and not told["far_end"]["follows_up"]


def test_duplicates_reordering_and_loss_are_those_that_were_planted():
    kept, count = [], [0]

    def bad(request):
        number = count[0]
        count[0] += 1
        reply = reply_to(request, ntp(), ntp())
        if number == 3:
            return []
        if number == 5:
            return [reply, reply, reply]
        if number == 8:
            kept.append(reply)
            return []
        return [reply, *(kept.pop() for _ in list(kept))]

    with answering(bad) as port:
        told = ping(port, "--count", 20, "--interval", "10ms", "--timeout", "2s")
    assert (told["lost"], told["duplicates"], told["reordered"]) == (1, 2, 1), told


def test_a_clock_that_is_hours_off_at_the_far_end_does_no_harm():
    with answering(lambda request: [reply_to(request, ntp(7200), ntp(7200.001))]) as port:
        told = ping(port, "--count", 5, "--interval", "5ms")
    # Its stay of a millisecond cannot be true within a shorter round trip, and is left out then.
    assert told["answered"] == 5 and seen_from(told, "kernel")["max_ns"] < 1000 * MS


@pytest.mark.parametrize(
    "options, told",
    [
        (["no-such-host.invalid"], "no-such-host.invalid: "),
        (["127.0.0.1", "--port", "{closed}", "--count", "3", "--timeout", "200ms"], "no reply from .*Connection refused"),
        (["127.0.0.1", "--size", "50"], "a probe has 72 to "),
        (["127.0.0.1", "--icmp", "--size", "20"], "a probe has 44 to "),
        (["127.0.0.1", "--count", "0"], "no probes measure nothing"),
        (["127.0.0.1", "--interval", "0s"], "out of range"),
        (["127.0.0.1", "--key", "/nonexistent"], "/nonexistent"),
        (["127.0.0.1", "-6"], "127.0.0.1 has no IPv6 address"),
        (["127.0.0.1", "--count", "99999999999"], "at most"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(options, told):
    options = [option.format(closed=free_port()) for option in options]
    done = tompion("ping", *options, "--json", check=1)
    assert re.search(told, done.stderr), done.stderr
    assert done.stderr.count("\n") == 1 and not done.stdout, done.stdout


def test_somebody_who_does_not_answer_or_says_something_else_is_named(key):
    with answering(lambda request: []) as port:
        done = tompion("ping", "127.0.0.1", "--port", port, "--count", 3, "--timeout", "200ms", "--quiet", check=1)
    assert re.fullmatch(r"tompion: no reply from 127.0.0.1:\d+ to 3 probes\n", done.stderr)
    with answering(lambda request: [b"what?"]) as port:
        done = tompion("ping", "127.0.0.1", "--port", port, "--count", 3, "--timeout", "200ms", check=1)
    assert "3 packets came that are no replies" in done.stderr
    # A key that the far end does not have.
    with reflecting("--key", key) as (_, port, served):
        done = tompion("ping", "127.0.0.1", "--port", port, "--count", 3, "--timeout", "200ms", check=1)
    assert "no reply" in done.stderr and served["answered"] == 0
    key.chmod(0o644)
    done = tompion("ping", "127.0.0.1", "--key", key, check=1)
    assert "can be read by others" in done.stderr


def test_a_port_that_is_taken_or_not_allowed_is_said_in_one_line():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        done = tompion("reflect", "--listen", f"127.0.0.1:{taken.getsockname()[1]}", check=1)
    assert done.stderr.count("\n") == 1 and "cannot listen on" in done.stderr
    if os.getuid() == 0:
        # As somebody without rights: the port is below 1024.
        done = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps=-all", TOMPION, "reflect"],
                              capture_output=True, text=True, timeout=20)
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and "862" in done.stderr, done.stderr


def test_beside_rubbish_it_goes_on_answering():
    """Rates of strangers are the library's tests: loopback has none."""
    with reflecting() as (_, port, served):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.bind(("127.0.0.1", 0))
            for n in range(500):
                stranger.sendto(os.urandom(n % 200), ("127.0.0.1", port))
        told = ping(port, "--count", 10, "--interval", "5ms")
    assert told["answered"] == 10
    assert served["answered_bytes"] <= served["received_bytes"]
