"""`benches/net.py`: what it reads of each program's output, what it takes for true, and how it judges."""

import struct
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "benches"))
import net
import net_guest
import net_peers
import net_tap

# Some lines of what each printed, on loopback.
PRINTED = Path(__file__).parent / "bench_net"
PEERS = {peer.name: peer for peer in net_peers.PEERS}


@pytest.mark.parametrize(
    "name, told",
    [
        (
            "tompion",
            {
                "tompion, kernel stamps": {0: 72_327, 1: 77_665, 2: 74_511},
                "tompion, user stamps": {0: 136_102, 1: 159_116, 2: 160_078},
            },
        ),
        ("ping", {"ping": {1: 158_000, 2: 39_000, 3: 40_000}}),
        ("fping", {"fping": {0: 56_000, 1: 40_000, 2: 39_000}}),
        ("irtt", {"irtt": {0: 3_888_897, 1: 8_050_167, 2: 690_225}}),
        ("stamp-suite", {"stamp-suite": {0: 408_000, 1: 4_193_000, 2: 205_000}}),
    ],
)
def test_what_each_printed_is_read_probe_by_probe(name, told):
    found = PEERS[name].parse((PRINTED / f"{name}.out").read_text(), "", {})
    assert {figure: dict(list(took.items())[:3]) for figure, took in found.items()} == told


def test_messages_of_sockperf_are_found_again_though_its_log_has_no_numbers():
    log = (PRINTED / "sockperf.log").read_text()
    answered = [412_118_537, 422_091_828, 437_527_290, 442_095_725, 452_014_486, 462_006_535]
    took = [146_968, 120_258, 5_555_720, 123_903, 42_634, 34_962]
    for before in (0, 3, 40):
        # Those before and behind are steady, too, but not where the third was late.
        at = [10_000_000 * n + 1_000 * (n % 3) for n in range(before)]
        at += [10**9 + ns + 900 * (n % 2) for n, ns in enumerate(answered)]
        at += [2 * 10**9 + 10_000_000 * n for n in range(4)]
        seen = {number: (home - 70_000, home) for number, home in enumerate(at, 1)}
        found = PEERS["sockperf"].parse("", log, seen)["sockperf"]
        assert list(found.items()) == list(enumerate(took, before + 1))
    assert PEERS["sockperf"].parse("", log, {1: (0, 1)})["sockperf"] == {}


def frame(source, to, ports, payload, protocol=17, ttl=63):
    """An Ethernet frame of IPv4, with UDP's header where there are ports."""
    if protocol == 17:
        payload = struct.pack("!HHHH", *ports, 8 + len(payload), 0) + payload
    addresses = bytes(map(int, f"{source}.{to}".split(".")))
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, ttl, protocol, 0) + addresses
    return bytes(12) + b"\x08\x00" + header + payload


HERE, THERE = "198.18.0.1", "198.18.0.17"


def test_a_round_trip_is_from_a_request_to_its_first_reply_on_the_routers_near_side():
    def stamp(number, home, at):
        ports = (40000, 8620) if not home else (8620, 40000)
        ends = (HERE, THERE) if not home else (THERE, HERE)
        payload = struct.pack("!I", number) + bytes(40) if not home else bytes(24) + struct.pack("!I", number) + bytes(16)
        return at, home, frame(*ends, ports, payload)

    frames = [stamp(0, False, 100), stamp(1, False, 200), stamp(1, True, 350), stamp(0, True, 400), stamp(0, True, 900)]
    # A reply to nothing, a request without a reply, somebody else's, and what is none of either.
    frames += [stamp(7, True, 950), stamp(2, False, 960)]
    frames += [(970, False, frame(HERE, THERE, (1, 2), bytes(60))), (980, False, b"\0" * 20), (990, True, b"")]
    peer = PEERS["tompion"]
    assert net_tap.round_trips(frames, peer.key, home=True) == {0: (100, 400), 1: (200, 350)}
    text = "0,1300,,310\n1,1150,,\n5,9,9,9\n"
    errors = {name: (sorted(errors), left_out) for name, errors, left_out in peer.errors(text, "", frames)}
    # What the tap did not see is left out, and counted.
    assert errors == {"tompion, kernel stamps": ([10], 1), "tompion, user stamps": ([1000, 1000], 1)}


@pytest.mark.parametrize(
    "name, request_, reply",
    [
        ("ping", b"\x08\0\0\0\0\1\0\5", b"\0\0\0\0\0\1\0\5"),
        ("irtt", b"\x14\xa7\x5b\0" + bytes(8) + b"\5\0\0\0", b"\x14\xa7\x5b\x02" + bytes(8) + b"\5\0\0\0"),
        ("sockperf", struct.pack("!QHI", 5, 1, 14), struct.pack("!QHI", 5, 0, 14)),
        ("stamp-suite", struct.pack("!I", 5) + bytes(40), bytes(24) + struct.pack("!I", 5) + bytes(16)),
    ],
)
def test_probes_are_known_again_by_their_numbers(name, request_, reply):
    peer = PEERS[name]
    port = net_peers.PORTS.get(name, 0)
    protocol = 1 if name == "ping" else 17
    out = net_tap.Packet(frame(HERE, THERE, (4000, port), request_, protocol))
    home = net_tap.Packet(frame(THERE, HERE, (port, 4000), reply, protocol))
    assert (peer.key(out), peer.key(home)) == ((True, 5), (False, 5))
    # Another length, another port or protocol.
    assert peer.key(net_tap.Packet(frame(HERE, THERE, (4000, port), request_[:6], protocol))) is None
    assert peer.key(net_tap.Packet(frame(HERE, THERE, (4000, port + 1), request_, 6 if name == "ping" else 17))) is None


def test_packets_that_open_or_close_a_session_of_irtt_are_no_probes():
    for flags in (1, 4, 3):
        payload = b"\x14\xa7\x5b" + bytes([flags]) + bytes(12)
        assert PEERS["irtt"].key(net_tap.Packet(frame(HERE, THERE, (9, net_peers.PORTS["irtt"]), payload))) is None


def blocks(*p99_us):
    return [{"median_ns": 500.0 * p, "p99_ns": 1e3 * p, "probes": 400, "left_out": 0} for p in p99_us]


def test_ratios_are_taken_within_blocks_and_held_against_what_is_to_be_reached():
    ours, by_user = blocks(1, 10, 100), blocks(50, 500, 5000)
    found = {
        net.BUSY: {
            net.OURS: ours,
            net.OURS_BY_USER: by_user,
            # Always six times ours; below five; now more, now less.
            "ping": blocks(6, 60, 600),
            "irtt": blocks(50, 500, 5000),
            "sockperf": blocks(4, 40.1, 399),
            "stamp-suite": blocks(5, 900, 1000),
            "fping": blocks(2, 20, 200),
        }
    }
    rows = {row["figure"]: row for row in net.compared(found)}
    assert "ratio" not in rows[net.OURS] and rows[net.OURS]["p99_us"] == 10
    assert rows["ping"]["ratio"] == pytest.approx(6) and rows["ping"]["verdict"] == "reached"
    assert rows["sockperf"]["verdict"] == "missed" and rows["stamp-suite"]["verdict"] == "cannot be told"
    assert rows["irtt"]["ratio"] == pytest.approx(50) and rows["irtt"]["verdict"] == "reached"
    assert rows[net.OURS_BY_USER]["ratio"] == pytest.approx(1) and "verdict" not in rows["fping"]
    assert rows["ping"]["probes"] == 1200


def test_a_guests_figures_are_held_against_its_hosts_tap_and_say_how_it_was_run():
    port = net_peers.PORTS["tompion"]
    out = [(1000 * n, False, frame(THERE, HERE, (4000, port), struct.pack("!I", n) + bytes(40))) for n in range(4)]
    home = [(1000 * n + 300, True, frame(HERE, THERE, (port, 4000), bytes(24) + struct.pack("!I", n) + bytes(16))) for n in range(4)]
    text = "QEMU, emulated\n" + "".join(f"{n},900,,{500 + n}\n" for n in range(4))
    kernel, user = net_guest.figures(text, out + home, 4)
    assert kernel["condition"] == "guest, QEMU, emulated" and (kernel["figure"], user["figure"]) == (net.OURS, net.OURS_BY_USER)
    assert kernel["median_ns"] == 201.5 and user["p99_ns"] == 600 and kernel["probes"] == 4
    with pytest.raises(RuntimeError, match="1 of 4 probes were seen"):
        net_guest.figures(text, out[:1] + home[:1], 4)


def test_a_rate_is_held_where_nothing_is_missing():
    text = '{"sent": 9, "probes": 10, "answered": 8, "missing": [{"count": 2}], "round_trips": [{"samples": 8}, {"samples": 7}]}'
    assert net.told_of_rate(text) == (9, 2, 3)
    row = {"figure": "tompion", "asked": 10, "sent": 10, "lost": 0, "missing": 0}
    assert net.is_held(row) and not any(net.is_held(row | bad) for bad in ({"sent": 9}, {"lost": 1}, {"missing": 1}))
    assert net.status([{"verdict": "reached"}], [row]) == 0
    assert net.status([{"verdict": "reached"}], [row | {"lost": 1}]) == 2
    assert net.status([{"verdict": "cannot be told"}], [row]) == 3
