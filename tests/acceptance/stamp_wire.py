"""STAMP's packets by hand (RFC 8762, RFC 8972), for tests that are somebody else's sender."""

import hashlib
import hmac
import struct
import time

# From 1900 to 1970.
NTP_SECONDS = 2_208_988_800
HMAC, CONTROL = 8, 12
# What a request had asked for was not done.
NOT_CONFORMANT = 0x10


def now():
    seconds, ns = divmod(time.time_ns(), 10**9)
    return struct.pack("!II", (seconds + NTP_SECONDS) % 2**32, (ns << 32) // 10**9)


def tag(key, *parts):
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()[:16]


def tlv(kind, value):
    return struct.pack("!BBH", 0x80, kind, len(value)) + value


def control(length, replies, interval_ns):
    """A request for replies of another length, or several."""
    return tlv(CONTROL, struct.pack("!HHI4x", length, replies, interval_ns))


def request(sequence, tlvs=b"", key=None, ssid=77):
    """A request of now, in authenticated mode where there is a key."""
    if key is None:
        return struct.pack("!I8sHH28x", sequence, now(), 0x8001, ssid) + tlvs
    base = struct.pack("!I12x8sHH68x", sequence, now(), 0x8001, ssid)
    sealed = tlvs + tlv(HMAC, tag(key, base[:4], tlvs)) if tlvs else b""
    return base + tag(key, base) + sealed


def is_authentic(packet, key):
    """Whether the tag of a base packet is right."""
    return hmac.compare_digest(tag(key, packet[:96]), packet[96:112])


def options(packet, base):
    """The TLVs behind a base packet: (flags, type, value)."""
    found, at = [], base
    while at + 4 <= len(packet):
        flags, kind, length = struct.unpack_from("!BBH", packet, at)
        found.append((flags, kind, packet[at + 4 : at + 4 + length]))
        at += 4 + length
    return found
