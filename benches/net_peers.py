"""Who measures round trips in `benches/net.py`: how each is started, what it printed of each probe, and by
what a tap knows that probe again. All figures are in ns, and have the far end's stay in them: it is in what the
tap saw, too, and falls out of the difference."""

import json
import math
import re
import socket
import statistics
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import numpy
from net_tap import round_trips

ROOT = Path(__file__).resolve().parents[1]
TOMPION = ROOT / "target/release/tompion"
ROUND_TRIPS = ROOT / "target/release/examples/round_trips"
STAMP_SUITE = ROOT / ".cache/bin/stamp-suite"

INTERVAL_MS = 10
PORTS = {"tompion": 8620, "stamp-suite": 8621, "irtt": 2112, "sockperf": 11111, "sink": 9}
STAMP_OWN_PORT = 8622
MS = 1_000_000
ICMP_REQUEST, ICMP_REPLY = 8, 0


def decimal_ns(text, unit):
    """A number as it was printed, in ns."""
    return round(float(text) * unit)


# What each printed: by name of the figure, the round trip of each probe by its key.


def parse_tompion(text, *_):
    kernel, user = {}, {}
    for line in text.splitlines():
        sequence, by_user, _, by_kernel = line.split(",")
        for took, told in ((user, by_user), (kernel, by_kernel)):
            if told:
                took[int(sequence)] = int(told)
    return {"tompion, kernel stamps": kernel, "tompion, user stamps": user}


def parse_ping(text, *_):
    found = re.findall(r"icmp_seq=(\d+) ttl=\d+ time=([\d.]+) ms", text)
    return {"ping": {int(number): decimal_ns(ms, MS) for number, ms in found}}


def parse_fping(text, *_):
    found = re.findall(r"\[(\d+)\], \d+ bytes, ([\d.]+) ms", text)
    return {"fping": {int(number): decimal_ns(ms, MS) for number, ms in found}}


def parse_irtt(text, *_):
    """From its clock's readings: what it calls the round trip is without the server's time between its own two
    stamps."""
    took = {}
    for trip in json.loads(text)["round_trips"]:
        client = trip["timestamps"]["client"]
        if trip["lost"] == "false":
            took[trip["seqno"]] = client["receive"]["monotonic"] - client["send"]["monotonic"]
    return {"irtt": took}


def parse_stamp_suite(text, *_):
    found = re.findall(r"seq=(\d+) rtt=([\d.]+)ms", text)
    return {"stamp-suite": {int(number): decimal_ns(ms, MS) for number, ms in found}}


def parse_sockperf(_, log, seen):
    """Its log has a line for each message: when it was sent and when its answer came, in seconds of its own clock.
    The first 400 ms are not in it, and no number says so: the lines belong to where their answers lie steadily
    behind those that the tap saw (`seen`, by key: request and reply)."""
    lines = [line.split(",") for line in log.splitlines()]
    rows = [[int(word.replace(".", "")) for word in line[1:3]] for line in lines if len(line) == 4 and line[0].isdigit()]
    keys = sorted(seen)

    def unsteady(first):
        behind = [received - seen[key][1] for key, (_, received) in zip(keys[first:], rows)]
        middle = statistics.median(behind)
        return statistics.median(abs(each - middle) for each in behind)

    if not rows or len(rows) > len(keys):
        return {"sockperf": {}}
    first = min(range(len(keys) - len(rows) + 1), key=unsteady)
    return {"sockperf": {key: received - sent for key, (sent, received) in zip(keys[first:], rows)}}


# What a tap knows a probe by: whether it is a request, and its number; None of all others.


def of_echo(packet):
    if packet.protocol != socket.IPPROTO_ICMP or len(packet.payload) < 8:
        return None
    kind, _, _, _, number = struct.unpack_from("!BBHHH", packet.payload)
    return (kind == ICMP_REQUEST, number) if kind in (ICMP_REQUEST, ICMP_REPLY) else None


def of_udp(port, read):
    """`read` says the number of a payload, or None; requests go to the port."""

    def key(packet):
        if packet.protocol != socket.IPPROTO_UDP or port not in packet.ports:
            return None
        is_request = packet.ports[1] == port
        number = read(packet.payload, is_request)
        return None if number is None else (is_request, number)

    return key


def number_of_stamp(payload, is_request):
    at = 0 if is_request else 24
    return struct.unpack_from("!I", payload, at)[0] if len(payload) >= 44 else None


IRTT_MAGIC, IRTT_OTHER = b"\x14\xa7\x5b", 0x01 | 0x04 | 0x08


def number_of_irtt(payload, _):
    """Behind magic, flags and token; not of packets that open or close."""
    is_echo = payload[:3] == IRTT_MAGIC and len(payload) >= 16 and not payload[3] & IRTT_OTHER
    return struct.unpack_from("<I", payload, 12)[0] if is_echo else None


def number_of_sockperf(payload, _):
    return struct.unpack_from("!Q", payload)[0] if len(payload) >= 14 else None


@dataclass
class Peer:
    """One program and its far end."""

    name: str
    # From addresses and the number of probes to a command, and one with the name of its log, if it has one.
    asks: Callable
    parse: Callable
    key: Callable
    answers: Callable | None = None

    def errors(self, text, log, frames):
        """By figure: how far each probe is off what the tap saw, in ns, and how many of those that are told
        the tap did not see."""
        seen = round_trips(frames, self.key, home=True)
        truth = {key: home - out for key, (out, home) in seen.items()}
        for name, told in self.parse(text, log, seen).items():
            both = told.keys() & truth.keys()
            yield name, [abs(told[key] - truth[key]) for key in both], len(told.keys() - truth.keys())


def error(errors):
    """What is told of the errors of a figure's probes."""
    return {
        "median_ns": float(numpy.quantile(errors, 0.5)),
        "p99_ns": float(numpy.quantile(errors, 0.99)),
        "probes": len(errors),
    }


def in_s(count):
    return count * INTERVAL_MS / 1000


PEERS = [
    Peer(
        "tompion",
        lambda sender, far, count, log: [ROUND_TRIPS, f"{far}:{PORTS['tompion']}", INTERVAL_MS * 1000, count],
        parse_tompion,
        of_udp(PORTS["tompion"], number_of_stamp),
        lambda far: [TOMPION, "reflect", "--listen", f"{far}:{PORTS['tompion']}", "--rate", 10_000, "--quiet"],
    ),
    Peer(
        "ping",
        lambda sender, far, count, log: ["ping", "-n", "-i", INTERVAL_MS / 1000, "-c", count, far],
        parse_ping,
        of_echo,
    ),
    Peer(
        "fping",
        lambda sender, far, count, log: ["fping", "-c", count, "-p", INTERVAL_MS, "-t", 500, far],
        parse_fping,
        of_echo,
    ),
    Peer(
        "irtt",
        lambda sender, far, count, log: [
            *("irtt", "client", "-Q", "-i", f"{INTERVAL_MS}ms", "-d", f"{count * INTERVAL_MS}ms", "-o", "-"),
            f"{far}:{PORTS['irtt']}",
        ],
        parse_irtt,
        of_udp(PORTS["irtt"], number_of_irtt),
        lambda far: ["irtt", "server", "-b", f"{far}:{PORTS['irtt']}", "-i", "0"],
    ),
    Peer(
        "sockperf",
        lambda sender, far, count, log: [
            *("sockperf", "ping-pong", "-i", far, "-p", PORTS["sockperf"], "-t", math.ceil(in_s(count) + 0.45)),
            *("--mps", 1000 // INTERVAL_MS, "--full-log", log),
        ],
        parse_sockperf,
        of_udp(PORTS["sockperf"], number_of_sockperf),
        lambda far: ["sockperf", "server", "-i", far, "-p", PORTS["sockperf"]],
    ),
    Peer(
        "stamp-suite",
        lambda sender, far, count, log: [
            *(STAMP_SUITE, "--remote-addr", far, "--remote-port", PORTS["stamp-suite"], "--local-addr", sender),
            *("--local-port", STAMP_OWN_PORT, "--count", count, "--send-delay", INTERVAL_MS, "--timeout", 1, "-R"),
        ],
        parse_stamp_suite,
        of_udp(PORTS["stamp-suite"], number_of_stamp),
        lambda far: [
            *(STAMP_SUITE, "--is-reflector", "--local-addr", far, "--local-port", PORTS["stamp-suite"]),
            "--stateful-reflector",
        ],
    ),
]

# Bursts that keep a queue of 50 Mbit/s busy for 48 of 50, and nobody who answers them.
BURST, BYTES, RATE = 80, 1400, 48_000_000
FILLER = f"""
import socket, sys, time
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.connect((sys.argv[1], {PORTS["sink"]}))
packet, gap, due = bytes({BYTES}), {BURST} * ({BYTES} + 42) * 8 / {RATE}, time.monotonic()
while True:
    for _ in range({BURST}):
        try:
            own.send(packet)
        except OSError:
            pass
    due += gap
    time.sleep(max(0, due - time.monotonic()))
"""
SINK = f"""
import socket, sys, time
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind((sys.argv[1], {PORTS["sink"]}))
while True:
    time.sleep(60)
"""


def fill(far):
    return [sys.executable, "-c", FILLER, far]


def sink(far):
    return [sys.executable, "-c", SINK, far]
