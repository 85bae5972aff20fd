"""Scapy's own STAMP packets have the fields that ours have, byte for byte."""

import random
import struct
import subprocess

import pytest
from conftest import example
from scapy.contrib.stamp import (
    ErrorEstimate,
    STAMPSessionReflectorTestUnauthenticated,
    STAMPSessionSenderTestUnauthenticated,
    STAMPTestTLV,
)

NOW = 1_790_000_000_000_000_000
# From 1900 to 1970.
NTP_SECONDS = 2_208_988_800


def packets(*lines):
    """What the example writes for each line."""
    program = example("tompion-stamp", "stamp_packets")
    done = subprocess.run([program], input="\n".join(lines), capture_output=True, text=True, check=True)
    answers = done.stdout.splitlines()
    assert not [line for line in answers if line.startswith("error")]
    return [bytes.fromhex(line) for line in answers]


def line(name, **fields):
    return " ".join([name, *(f"{key}={value}" for key, value in fields.items())])


def estimate(packet):
    """An Error Estimate as Scapy reads it: S, Z, and its seconds by RFC 4656."""
    return packet.S, packet.Z, packet.multiplier * 2.0 ** (packet.scale - 32)


def ns(stamp, z):
    """A stamp as Scapy has it, in ns since 1970."""
    if z:
        seconds, part = divmod(int(stamp), 1 << 32)
        return seconds * 10**9 + part
    return round((stamp - NTP_SECONDS) * 10**9)


def drawn(seed):
    draw = random.Random(seed)
    error = [(draw.getrandbits(1), draw.choice(["ntp", "ptp"]), draw.randrange(1, 10 ** draw.randrange(1, 12))) for _ in range(2)]
    return {
        "sequence": draw.getrandbits(32),
        "sent": NOW + draw.randrange(-(10**17), 10**17),
        "error": error[0],
        "ssid": draw.getrandbits(16),
        "received": NOW + draw.randrange(-(10**17), 10**17),
        "sender_sequence": draw.getrandbits(32),
        "sender_sent": NOW + draw.randrange(-(10**17), 10**17),
        "sender_error": error[1],
        "ttl": draw.getrandbits(8),
    }


def words(fields):
    return fields | {key: "/".join(map(str, fields[key])) for key in ("error", "sender_error")}


def same_estimate(found, said):
    synchronized, form, error_ns = said
    s, z, seconds = estimate(found)
    assert (s, z) == (synchronized, form == "ptp")
    assert error_ns <= seconds * 1e9 * (1 + 1e-12) <= error_ns * (1 + 1 / 127) + 1


def test_base_packets_have_the_fields_that_scapy_finds():
    cases = [drawn(seed) for seed in range(200)]
    requests = packets(*(line("request", **words(case)) for case in cases))
    replies = packets(*(line("reply", **words(case)) for case in cases))
    for case, request, reply in zip(cases, requests, replies, strict=True):
        found = STAMPSessionSenderTestUnauthenticated(request)
        assert (found.seq, found.ssid, found.mbz, found.tlv_objects) == (case["sequence"], case["ssid"], 0, [])
        assert ns(found.ts, found.err_estimate.Z) == case["sent"]
        same_estimate(found.err_estimate, case["error"])

        found = STAMPSessionReflectorTestUnauthenticated(reply)
        assert (found.seq, found.ssid) == (case["sequence"], case["ssid"])
        assert (found.seq_sender, found.ttl_sender) == (case["sender_sequence"], case["ttl"])
        assert (found.mbz1, found.mbz2, found.tlv_objects) == (0, 0, [])
        assert ns(found.ts, found.err_estimate.Z) == case["sent"]
        assert ns(found.ts_rx, found.err_estimate.Z) == case["received"]
        assert ns(found.ts_sender, found.err_estimate_sender.Z) == case["sender_sent"]
        same_estimate(found.err_estimate, case["error"])
        same_estimate(found.err_estimate_sender, case["sender_error"])


def test_base_packets_that_scapy_builds_are_ours():
    for seed in range(50):
        case = drawn(seed) | {"error": (1, "ptp", 1000), "sender_error": (0, "ptp", 50)}

        def ptp(at):
            return (at // 10**9 << 32) + at % 10**9

        # 1000 ns are 4294.97 of 2^-32 s, 50 ns 214.7.
        mine = ErrorEstimate(S=1, Z=1, scale=5, multiplier=135)
        theirs = ErrorEstimate(S=0, Z=1, scale=0, multiplier=215)
        request = STAMPSessionSenderTestUnauthenticated(err_estimate=mine, seq=case["sequence"], ssid=case["ssid"])
        reply = STAMPSessionReflectorTestUnauthenticated(
            err_estimate=mine, seq=case["sequence"], ssid=case["ssid"],
            err_estimate_sender=theirs, seq_sender=case["sender_sequence"], ttl_sender=case["ttl"],
        )
        # A stamp is taken in the format of the estimate that is there by then.
        request.ts, reply.ts = ptp(case["sent"]), ptp(case["sent"])
        reply.ts_rx, reply.ts_sender = ptp(case["received"]), ptp(case["sender_sent"])
        ours = packets(line("request", **words(case)), line("reply", **words(case)))
        assert [bytes(request), bytes(reply)] == ours


def test_what_a_sender_asks_and_a_reflector_answers_are_tlvs_to_scapy():
    (request,) = packets(line("asking", sequence=3, sent=NOW))
    found = STAMPSessionSenderTestUnauthenticated(request)
    assert (found.seq, len(request)) == (3, 300)
    # U and nothing else.
    assert {int(tlv.flags) for tlv in found.tlv_objects} == {0x80}
    assert [(tlv.type, tlv.len) for tlv in found.tlv_objects] == [(3, 4), (4, 4), (5, 12), (7, 16), (252, 32), (1, 164)]
    assert found.tlv_objects[2].value == struct.pack(">III", 4, 0, 0)

    (reply,) = packets(line("reflected", packet=request.hex(), received=NOW + 1000, sent=NOW + 2000))
    assert len(reply) == len(request)
    back = STAMPSessionReflectorTestUnauthenticated(reply)
    assert (back.seq, back.seq_sender, back.ttl_sender) == (0, 3, 61)
    assert bytes(back.err_estimate_sender) == bytes(found.err_estimate)
    assert ns(back.ts_rx, 0) == NOW + 1000
    assert ns(back.ts, 0) == NOW + 2000
    assert ns(back.ts_sender, 0) == NOW
    assert {int(tlv.flags) for tlv in back.tlv_objects} == {0}
    values = {tlv.type: tlv.value for tlv in back.tlv_objects}
    assert values[3] == bytes([0, 2, 0, 2])
    # DSCP1 and DSCP2 46; RP: nobody permitted it.
    assert values[4] == struct.pack(">HH", 46 << 10 | 46 << 4 | 1, 0)
    assert values[5] == struct.pack(">III", 4, 1, 1)
    assert values[7] == bytes(16)
    # Nor was any left unanswered.
    assert values[252][:10] == b"\0\0\0\0TMPN\x01\x46" and values[252][30:] == bytes(2)
    assert values[1] == found.tlv_objects[5].value


@pytest.mark.parametrize("kind", [0, 2, 9, 100, 253, 255])
def test_what_is_not_known_comes_back_with_u(kind):
    value = bytes(range(1, 9))
    asked = STAMPSessionSenderTestUnauthenticated(
        seq=1, ts=NTP_SECONDS + NOW // 10**9, ssid=5, tlv_objects=[STAMPTestTLV(flags=0x80, type=kind, len=8, value=value)]
    )
    (reply,) = packets(line("reflected", packet=bytes(asked).hex(), received=NOW, sent=NOW + 1))
    (tlv,) = STAMPSessionReflectorTestUnauthenticated(reply).tlv_objects
    assert (int(tlv.flags), tlv.type, tlv.value) == (0x80, kind, value)
