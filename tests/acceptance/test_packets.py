"""Round trips over loopback, with a reflector whose behaviour is planted."""

import contextlib
import json
import os
import re
import signal
import socket
import statistics
import struct
import subprocess
import threading
import time
from pathlib import Path

import pytest
from conftest import TOMPION, tompion
from test_parts import BURSTS, BUSY, started
from test_time_limits import ROOT_ONLY, cpu_quota

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
    assert told["ends"]["verdict"] == "far-end" and told["ends"]["held_up_at_far_end"] >= 6, told["ends"]
    # What is left of the round trip does not know of it.
    assert told["path"]["max_ns"] < told["far_stay"]["max_ns"] / 4
    for added in told["added"]:
        assert added["max_ns"] < told["far_stay"]["max_ns"] / 2, added


def held_up_by(ends):
    """Probes held up while sending or receiving, by cause and who."""
    found = {}
    for by in ends["held_up_by"]:
        if by["side"] != "queued":
            key = by["cause"], re.sub(r"\[\d+\]$", "", by["by"] or "")
            found[key] = found.get(key, 0) + by["probes"]
    return found


@ROOT_ONLY
@pytest.mark.parametrize("planted", ["hog", "quota", "stop"])
def test_who_held_probes_up_here_is_told(planted):
    """Real-time bursts of 30 ms in 300 on the CPU that ping is bound to, a quota of 30 ms in 100 that another program of its
    group uses up, or a ping that is stopped for 50 ms now and then, while each reply takes 40 ms. The machine, and the far end,
    may hold others up: each try is told."""
    last, seen = max(os.sched_getaffinity(0)), []
    wanted = {"hog": ("preempted", "zqbursts"), "quota": ("throttled", ""), "stop": ("stopped", "")}[planted]
    for _ in range(3):
        with contextlib.ExitStack() as stack:
            port = stack.enter_context(delayed(0.04))
            ping = [TOMPION, "ping", "127.0.0.1", "--port", port, "--count", 200, "--interval", "10ms", "--json"]
            before = "exec"
            if planted == "hog":
                stack.enter_context(started([[BURSTS, "zqbursts", str(last)]]))
                before = f"exec taskset -c {last}"
            elif planted == "quota":
                group = stack.enter_context(cpu_quota(f"tompion-ping-{os.getpid()}", 30_000, 100_000))
                [busy] = stack.enter_context(started([[BUSY, "zqbusy"]]))
                group.write_text(str(busy.pid))
                before = f"echo 0 >{group}; exec"
            sender = subprocess.Popen(["bash", "-c", f'{before} "$@"', "bash", *map(str, ping)], stdout=subprocess.PIPE, text=True)
            if planted == "stop":
                for _ in range(6):
                    time.sleep(0.2)
                    sender.send_signal(signal.SIGSTOP)
                    time.sleep(0.05)
                    sender.send_signal(signal.SIGCONT)
            ends = json.loads(sender.communicate(timeout=60)[0])["ends"]
        found = held_up_by(ends)
        seen.append((found, ends["not_observed"], ends["observer_cpu"]))
        # Of some twenty, fourteen of each hundred milliseconds' worth, and twenty-five.
        least = {"hog": 10, "quota": 60, "stop": 20}[planted]
        if found.get(wanted, 0) >= least and ends["not_observed"] is None:
            print(seen)
            return
    pytest.fail(f"{seen}")


def test_what_is_not_observed_has_no_cause():
    with reflecting() as (_, port, _):
        told = ping(port, "--count", 40, "--interval", "5ms", "--no-observe", "--no-heartbeat")
    ends = told["ends"]
    assert ends["held_up_by"] is None and ends["observer_cpu"] is None and ends["heartbeat_cpu"] is None, ends
    assert ends["held_up_under_way"] is None


def test_a_load_works_between_two_rests_and_the_clock_has_a_line_through_these():
    """Both ends have one clock, which the probes do not know."""
    with reflecting() as (_, port, _):
        told = ping(port, "--one-way", "--rest", "1s", "--load", "cpu:threads=1", "--count", 50, "--interval", "20ms")
    assert told["sent"] == 150
    at_rest = told["one_way"].get("at_rest")
    load = told["load"]
    assert load["load"] == "cpu:threads=1" and 0.5e9 < load["observed_ns"] < 3e9 and load["cpu_time_ns"] > 0.1e9, load
    # Where the machine was so busy that the clock seems to have been set there is none.
    if len(told["one_way"]["far_clock"]) == 1:
        assert 80 <= at_rest["probes"] <= 100 and abs(at_rest["rate_ppm"]) < 200, told["one_way"]


def test_it_goes_on_until_enough_probes_are_clean_or_says_why_not():
    with reflecting() as (process, port, _):
        told = ping(port, "--clean", 40, "--interval", "5ms")
        assert told["ends"]["clean"] >= 40 and 40 <= told["probes"] < 400, told["ends"]
        is_over = threading.Event()

        def stop():
            while not is_over.wait(0.05):
                process.send_signal(signal.SIGSTOP)
                time.sleep(0.05)
                process.send_signal(signal.SIGCONT)

        stopper = threading.Thread(target=stop)
        stopper.start()
        options = ["--port", port, "--clean", 110, "--count", 120, "--interval", "5ms", "--quiet"]
        done = tompion("ping", "127.0.0.1", *options)
        is_over.set()
        stopper.join()
    assert done.returncode == 1, done.stderr
    assert re.search(r"^tompion: \d+ of 1\d\d probes are clean, 110 were wanted: .* at the far end [1-9]\d", done.stderr), done.stderr
    for options, why in [
        (["--clean", 50, "--count", 20], "--count 20 are fewer"),
        (["--clean", 50, "--interval", "500us"], "at least 1ms"),
    ]:
        done = tompion("ping", "127.0.0.1", *options)
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and why in done.stderr, done.stderr


def test_of_several_hosts_the_one_that_stands_still_is_named():
    """In any order. The machine may hold others up, too: each try is told."""
    port, hosts, seen = free_port(), [f"127.0.0.{n}" for n in (11, 12, 13)], []
    far_ends = [subprocess.Popen([TOMPION, "reflect", "--listen", f"{host}:{port}", "--quiet"]) for host in hosts]
    try:
        time.sleep(0.5)
        for order in (hosts, hosts[::-1], hosts):
            sender = subprocess.Popen([TOMPION, "ping", *order, "--port", str(port), "--json", "--count", "100", "--interval",
                                       "20ms"], stdout=subprocess.PIPE, text=True)
            for _ in range(6):
                time.sleep(0.15)
                far_ends[1].send_signal(signal.SIGSTOP)
                time.sleep(0.1)
                far_ends[1].send_signal(signal.SIGCONT)
            told = json.loads(sender.communicate(timeout=30)[0])
            assert [target["host"] for target in told["targets"]] == order
            verdicts = {target["host"]: target["ends"]["verdict"] for target in told["targets"]}
            held_up = {target["host"]: target["ends"]["held_up_at_far_end"] for target in told["targets"]}
            seen.append((verdicts, held_up))
            if verdicts[hosts[1]] == "far-end" and max(held_up, key=held_up.get) == hosts[1]:
                break
        else:
            pytest.fail(f"{seen}")
    finally:
        for process in far_ends:
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=20)
    for arguments, why in [
        (["127.0.0.1", "127.0.0.1"], "are one host, 127.0.0.1: name it once"),
        (["127.0.0.1", "127.0.0.2", "--one-way"], "--one-way takes a single host, not 2"),
    ]:
        done = tompion("ping", *arguments)
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and why in done.stderr, done.stderr


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


@contextlib.contextmanager
def delayed(seconds):
    """A far end that keeps each request for so long, and says so."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.bind(("127.0.0.1", 0))
        done = threading.Event()

        def serve():
            kept = []
            while not done.is_set():
                left = kept[0][0] - time.monotonic() if kept else 0.2
                end.settimeout(max(left, 1e-4))
                with contextlib.suppress(TimeoutError):
                    request, source = end.recvfrom(2048)
                    kept.append((time.monotonic() + seconds, request, ntp(), source))
                while kept and kept[0][0] <= time.monotonic():
                    _, request, received, source = kept.pop(0)
                    end.sendto(reply_to(request, received, ntp()), source)

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


def test_a_far_ends_clock_is_found_to_drift_and_to_be_set():
    """It is 3 s ahead, gains 500 ppm, and is set back by 50 ms half way: far more than a busy machine does."""
    began, seen = time.time(), []

    def drifting(request):
        seen.append(request)
        ahead = 3 + 500e-6 * (time.time() - began) - (0.05 if len(seen) > 150 else 0)
        return [reply_to(request, ntp(ahead), ntp(ahead))]

    with answering(drifting) as port:
        told = ping(port, "--one-way", "--count", 300, "--interval", "10ms")["one_way"]
    before, after = told["far_clock"]
    assert before["from_probe"] == 1 and 149 <= after["from_probe"] <= 155, told
    assert abs(after["step_ns"] + 50 * MS) < MS and abs(before["ahead_ns"] - 3000 * MS) < MS
    for stretch in (before, after):
        low, high = stretch["rate_between_ppm"]
        assert low <= 500 <= high and low <= stretch["rate_ppm"] <= high, told
    assert told["outward"]["samples"] >= 280 and 0 < told["may_be_off_ns"] < 5 * MS


def test_of_a_far_end_without_a_clock_no_delays_one_way_are_told():
    with answering(lambda request: [reply_to(request, bytes(8), bytes(8))]) as port:
        done = tompion("ping", "127.0.0.1", "--port", port, "--one-way", "--count", 20, "--interval", "5ms", check=1)
    assert done.stderr.count("\n") == 1 and "delays one way are not known: 0 replies have stamps of the far end" in done.stderr
    # What was measured is shown all the same.
    assert "20 probes sent, 20 answered" in done.stdout


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


class FarEnd:
    """Answers each probe, the nth after `keep(n)` seconds, by a clock that is so far off. What came, with its TTL, its
    TOS and the kernel's stamp; and how long it kept each, in nanoseconds by its own two stamps."""

    # Of linux/in.h and asm-generic/socket.h.
    RECVTOS, RECVTTL, TIMESTAMPNS, TOS, TTL = 13, 12, 35, 1, 2

    def __init__(self, keep=lambda n: 0, offset_s=0):
        self.keep, self.offset_s, self.heard, self.stays = keep, offset_s, [], []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.2)
        for level, option in [(0, self.RECVTTL), (0, self.RECVTOS), (socket.SOL_SOCKET, self.TIMESTAMPNS)]:
            self.socket.setsockopt(level, option, 1)
        self.port = self.socket.getsockname()[1]
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.serve)

    def serve(self):
        while not self.done.is_set():
            with contextlib.suppress(TimeoutError):
                data, control, _, source = self.socket.recvmsg(2048, 256)
                said = {(level, kind): value for level, kind, value in control}
                seconds, ns = struct.unpack("qq", said[socket.SOL_SOCKET, self.TIMESTAMPNS])
                arrived = 10**9 * seconds + ns
                self.heard.append((data, said[0, self.TTL][0], said[0, self.TOS][0], arrived))
                time.sleep(self.keep(len(self.heard)))
                sent = time.time_ns()
                self.socket.sendto(reply_to(data, *(ntp_of(at + self.offset_s * 10**9) for at in (arrived, sent))), source)
                self.stays.append(sent - arrived)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()
        self.socket.close()


def ntp_of(ns):
    return struct.pack("!II", ns // 10**9 + 2_208_988_800, ns % 10**9 * 2**32 // 10**9)


def test_a_far_ends_stay_is_found_behind_a_clock_that_is_hours_off():
    """It keeps each probe for 20 ms at least, and its clock is two hours ahead."""
    with FarEnd(keep=lambda n: 0.02, offset_s=7200) as far:
        told = ping(far.port, "--count", 20, "--interval", "50ms")
    assert told["answered"] == 20
    stay, path, kernel = told["far_stay"], told["path"], seen_from(told, "kernel")
    assert stay["samples"] == path["samples"] == 20
    for figure, kept in [("min_ns", min(far.stays)), ("max_ns", max(far.stays))]:
        assert kept >= 20 * MS and abs(stay[figure] - kept) < 1000, (stay, far.stays)
    # What is left of the round trip is the path, and has nothing of it.
    assert kernel["min_ns"] >= stay["min_ns"] and 0 < path["min_ns"] <= path["median_ns"] < 10 * MS


def test_delay_variation_is_the_paths_and_not_the_far_ends():
    """Every other probe is kept for 30 ms."""
    with FarEnd(keep=lambda n: 0.03 * (n % 2)) as far:
        told = ping(far.port, "--count", 30, "--interval", "50ms")
    kernel, (pdv, ipdv) = seen_from(told, "kernel"), told["variation"]
    assert kernel["max_ns"] - kernel["min_ns"] > 29 * MS
    # On a busy machine some packets wait, but not every other one.
    assert pdv["median_ns"] < 10 * MS and abs(ipdv["median_ns"]) < 10 * MS, told["variation"]
    assert [(v["name"], v["is_of_path"]) for v in told["variation"]] == [("PDV", True), ("IPDV", True)]
    # Without a stay it is in there, and that is said.
    with answering(lambda request: (time.sleep(0.01), [reply_to(request, bytes(8), bytes(8))])[1]) as port:
        done = tompion("ping", "127.0.0.1", "--port", port, "--count", 5, "--interval", "20ms", check=0)
    assert "PDV with far end's stay" in done.stdout and "does not say how long it kept probes" in done.stdout


def test_probes_go_with_the_ttl_the_dscp_and_the_format_that_are_asked_for():
    with FarEnd() as far:
        told = ping(far.port, "--count", 3, "--interval", "5ms", "--ttl", 17, "--dscp", 46, "--format", "ptp")
    assert told["answered"] == 3
    assert {(ttl, tos) for _, ttl, tos, _ in far.heard} == {(17, 46 << 2)}
    for request, *_ in far.heard:
        seconds, nanoseconds, error = struct.unpack_from("!IIH", request, 4)
        # The Z flag of the Error Estimate (RFC 8762); seconds are those since 1970.
        assert error & 0x4000 and abs(seconds - time.time()) < 60 and nanoseconds < 10**9
    with FarEnd() as far:
        ping(far.port, "--count", 1)
    seconds, _, error = struct.unpack_from("!IIH", far.heard[0][0], 4)
    assert not error & 0x4000 and abs(seconds - 2_208_988_800 - time.time()) < 60
    assert far.heard[0][1:3] == (64, 0)


def test_probes_of_a_poisson_process_come_at_random_times_with_the_mean_that_is_asked_for():
    def gaps(*options):
        with FarEnd() as far:
            ping(far.port, "--count", 100, "--interval", "10ms", *options)
        times = [at for *_, at in far.heard]
        assert len(times) == 100
        return [(b - a) / 1e9 for a, b in zip(times, times[1:])]

    random, regular = gaps("--poisson", "--seed", 5), gaps()
    mean = statistics.mean(random)
    # Of an exponential distribution the deviation is the mean; of 99 gaps it is known to a fifth or so.
    assert 0.006 < mean < 0.016 and 0.5 < statistics.pstdev(random) / mean < 1.6, (mean, random)
    # A seventh is longer than twice the mean, and a fifth shorter than a fifth of it.
    assert sum(gap > 0.02 for gap in random) >= 5 and sum(gap < 0.002 for gap in random) >= 8, random
    # By the median of what they are off, since a busy machine holds up a few of them.
    assert statistics.median(abs(gap - 0.01) for gap in regular) < 0.003, regular


def test_hardware_stamps_of_a_device_that_has_none_are_refused_in_one_line():
    for device, told in [
        ("lo", "lo: it cannot stamp every packet in hardware, both ways"),
        ("no-such-device", 'no network device "no-such-device"'),
    ]:
        done = tompion("ping", "127.0.0.1", "--hardware-stamps", device, check=1)
        assert done.stderr == f"tompion: {told}\n" and not done.stdout


def stamp_request(number):
    """A base packet of an unauthenticated sender (RFC 8762)."""
    return struct.pack("!I8sHH28s", number, ntp(), 0x8001, 7, bytes(28))


@pytest.mark.parametrize("stateless", [False, True])
def test_a_stateless_reflector_has_its_requests_numbers_and_another_counts_for_itself(stateless):
    with reflecting(*["--stateless"] * stateless) as (_, port, served):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.settimeout(10)
            sender.connect(("127.0.0.1", port))
            numbers = []
            for number in (70, 5, 900):
                sender.send(stamp_request(number))
                reply = sender.recv(2048)
                assert struct.unpack_from("!I", reply, 24)[0] == number
                numbers.append(struct.unpack_from("!I", reply)[0])
    assert numbers == ([70, 5, 900] if stateless else [0, 1, 2])
    assert served["answered"] == 3


def in_a_namespace(script):
    """Runs a script where `lo` is all there is, and is up."""
    return subprocess.run(["unshare", "--net", "sh", "-c", f"ip link set lo up; {script}"],
                          capture_output=True, text=True, timeout=120)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces take root")


@needs_root
def test_a_stranger_is_answered_at_the_rate_that_is_asked_for(tmp_path):
    """Loopback's own addresses have no limit, so it has one more."""
    done = in_a_namespace(f"""
        ip address add 192.0.2.7/32 dev lo
        {TOMPION} reflect --listen 192.0.2.7:862 --rate 20 --json --quiet & reflector=$!
        sleep 1
        {TOMPION} ping 192.0.2.7 --count 200 --interval 5ms --timeout 300ms --json > {tmp_path}/told
        kill -INT $reflector; wait $reflector""")
    served = json.loads(done.stdout)
    assert served["received"] == 200
    # A second's worth, and what a burst is allowed beyond that.
    assert 5 <= served["answered"] <= 60, served
    assert dict(served["silent"])["beyond the rate of their source"] == 200 - served["answered"]
    # And who asked is told: by a later reply, or that none came any more.
    told = json.loads((tmp_path / "told").read_text())
    assert told["far_end"]["beyond_its_rate"] > 0 or told.get("silent_after") == told["answered"], told


@needs_root
def test_a_probe_that_is_longer_than_the_path_takes_is_told_with_what_it_takes():
    ping_1500 = f"ip link set lo mtu 1400; {TOMPION} ping 127.0.0.1 --count 3 --timeout 200ms"
    for options in ("--size 1500", "--size 1500 --icmp", "--size 1500 --interval 500us"):
        done = in_a_namespace(f"{ping_1500} {options}")
        assert done.returncode == 1 and not done.stdout.strip().endswith("lost"), done.stdout
        assert re.fullmatch(
            r"tompion: no probe could be sent to 127\.0\.0\.1(:862)?: it is longer than the path's MTU of 1400 bytes\n",
            done.stderr,
        ), done.stderr


def test_an_interval_that_cannot_be_held_is_told_with_the_least_that_was():
    """No machine sends a packet each 100 ns."""
    with reflecting() as (_, port, _):
        done = tompion("ping", "127.0.0.1", "--port", port, "--count", 20000, "--interval", "100ns", "--json", check=1)
    found = re.fullmatch(r"tompion: an interval of 100 ns cannot be held here: probes left (.*) apart, the last .* late\n", done.stderr)
    assert found, done.stderr
    value, unit = found[1].split()
    assert float(value) * {"ns": 1, "µs": 1000, "us": 1000}[unit] > 110
    # What was measured is shown all the same.
    assert json.loads(done.stdout)["sent"] == 20000


@pytest.mark.parametrize(
    "options, told",
    [
        (["no-such-host.invalid"], "no-such-host.invalid: "),
        (["127.0.0.1", "--port", "{closed}", "--count", "3", "--timeout", "200ms"], "no reply from .*Connection refused"),
        (["127.0.0.1", "--size", "50"], "a probe has 72 to "),
        (["127.0.0.1", "--icmp", "--size", "20"], "a probe has 44 to "),
        (["127.0.0.1:862"], "127.0.0.1:862: .*; its port is named with --port"),
        (["[::1]:862"], ".*; its port is named with --port"),
        (["127.0.0.1", "--port", "0"], "0 is not in 1"),
        (["127.0.0.1", "--ttl", "0"], "0 is not in 1"),
        (["127.0.0.1", "--count", "0"], "no probes measure nothing"),
        (["127.0.0.1", "--interval", "0s"], "out of range"),
        (["127.0.0.1", "--key", "/nonexistent"], "/nonexistent"),
        (["127.0.0.1", "-6"], "127.0.0.1 has no IPv6 address"),
        (["127.0.0.1", "--past-queue"], "leave by a device without hardware addresses"),
        (["192.0.2.7", "--past-queue", "--interval", "100us"], "--past-queue: takes an --interval of at least 1ms"),
        (["127.0.0.1", "--count", "99999999999"], "at most"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(options, told):
    options = [option.format(closed=free_port()) for option in options]
    done = tompion("ping", *options, "--json", check=1)
    assert re.search(told, done.stderr), done.stderr
    assert done.stderr.count("\n") == 1
    # That nothing came back is a result, too.
    if told.startswith("no reply"):
        assert json.loads(done.stdout)["answered"] == 0
    else:
        assert not done.stdout, done.stdout


def catches(pid, number):
    """Whether a process has a handler for a signal."""
    [caught] = re.findall(r"^SigCgt:\s*([0-9a-f]+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return bool(int(caught, 16) >> (number - 1) & 1)


def test_what_was_ended_before_its_time_says_so():
    with reflecting() as (_, port, _):
        assert ping(port, "--count", 3)["interrupted"] is False
        for hosts in (["127.0.0.1"], ["127.0.0.1", "127.0.0.2"]):
            sender = subprocess.Popen([TOMPION, "ping", *hosts, "--port", str(port), "--json", "--count", "9000", "--interval", "10ms"],
                                      stdout=subprocess.PIPE, text=True)
            until = time.monotonic() + 20
            while not catches(sender.pid, signal.SIGINT) and time.monotonic() < until:
                time.sleep(0.05)
            # From then on it sends.
            time.sleep(1)
            sender.send_signal(signal.SIGINT)
            told = json.loads(sender.communicate(timeout=30)[0])
            assert sender.returncode == 130
            of_all = told.get("targets", [told])
            assert len(of_all) == len(hosts) and all(of["interrupted"] and of["sent"] < 9000 for of in of_all), told


def test_replies_that_all_come_too_late_are_none():
    with reflecting() as (_, port, _):
        done = tompion("ping", "127.0.0.1", "--port", port, "--count", 5, "--timeout", "1us", check=1)
    assert re.search(r"no reply from .* to 5 probes: [1-5] came, all of them later than the timeout of 1.00 µs", done.stderr)
    assert "gives no stamps" not in done.stdout


def test_each_of_several_hosts_has_a_row_whether_it_answers_or_not():
    with reflecting() as (_, port, _):
        hosts = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
        done = tompion("ping", *hosts, "--port", port, "--count", 3, "--timeout", "200ms", "--quiet", "--json", check=1)
    told = json.loads(done.stdout)["targets"]
    assert [(of["host"], of["answered"]) for of in told] == list(zip(hosts, [3, 0, 0]))
    assert "127.0.0.2" in done.stderr and done.stderr.count("\n") == 1


def test_a_far_end_without_an_echo_is_said_in_one_line():
    with reflecting() as (_, port, served):
        done = tompion("ping", "127.0.0.1", "--port", port, "--tcp", "--json", check=1)
        assert done.stderr.count("\n") == 1 and f"no TCP echo at 127.0.0.1:{port}: Connection refused" in done.stderr
    with reflecting("--tcp") as (_, port, served):
        done = tompion("ping", "127.0.0.1", "--port", port, "--tcp", "--interval", "100us", "--json", check=1)
        assert done.stderr.count("\n") == 1 and "--tcp: takes an --interval of at least 1ms" in done.stderr
        told = ping(port, "--tcp", "--count", 30, "--interval", "10ms")["tcp"]
        # The first look has the handshake alone.
        assert 8 <= told["smoothed"]["samples"] <= 29 and told["least_ns"] <= told["smoothed"]["min_ns"], told


def test_somebody_who_does_not_answer_or_says_something_else_is_named(key):
    with answering(lambda request: []) as port:
        done = tompion("ping", "127.0.0.1", "--port", port, "--count", 3, "--timeout", "200ms", "--quiet", check=1)
    assert re.fullmatch(r"tompion: no reply from 127.0.0.1:\d+ to 3 probes: nothing came back \(.*want a key, .*\)\n", done.stderr)
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
