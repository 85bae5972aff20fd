"""What passes a device, with the kernel's stamps: the witness of `benches/net.py` and of tests.

Nothing of Tompion is in it, so that it may say what is true. It takes CAP_NET_RAW.
"""

import contextlib
import ctypes
import errno
import socket
import struct
import threading

ETH_P_ALL = 3
SO_ATTACH_FILTER, SO_RCVBUFFORCE, SO_TIMESTAMPNS = 26, 33, 35
SOL_PACKET, PACKET_STATISTICS = 263, 6
CLONE_NEWNET = 0x4000_0000
# More than any request or reply has; what fills queues is longer.
LONGEST = 400
# Drops what is longer: load the length, compare, accept or not.
SHORT_ONES = [(0x80, 0, 0, 0), (0x25, 1, 0, LONGEST), (0x06, 0, 0, 0xFFFF), (0x06, 0, 0, 0)]


def inside(namespace, work):
    """What `work` returns, done by a thread in that network namespace: its sockets stay there."""
    if namespace is None:
        return work()
    found = []

    def enter():
        try:
            with open(namespace) as place:
                if ctypes.CDLL(None, use_errno=True).setns(place.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
            found.append(work())
        except OSError as error:
            found.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if isinstance(found[0], OSError):
        raise found[0]
    return found[0]


class Tap:
    """A tap on a device, from the beginning of a `with` to its end; then `frames` are there: the kernel's
    stamp in ns since 1970, whether the device sent it, and the frame."""

    def __init__(self, device, namespace=None):
        def open_one():
            tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
            code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in SHORT_ONES))
            program = struct.pack("HxxxxxxQ", len(SHORT_ONES), ctypes.addressof(code))
            tap.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
            tap.bind((device, ETH_P_ALL))
            return tap

        self.socket = inside(namespace, open_one)
        self.socket.settimeout(0.05)
        self.frames, self.dropped = [], 0
        self.is_over = threading.Event()
        self.reader = threading.Thread(target=self._read)

    def __enter__(self):
        self.reader.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.reader.join()
        told = self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
        self.dropped = struct.unpack("II", told)[1]
        self.socket.close()

    def _read(self):
        while True:
            try:
                frame, told, _, about = self.socket.recvmsg(2048, 64)
            except TimeoutError:
                # Only then is all of it read.
                if self.is_over.is_set():
                    return
                continue
            except OSError as error:
                # Told once when the device goes down, as a guest's does at its end.
                if error.errno != errno.ENETDOWN:
                    raise
                continue
            for level, kind, data in told:
                if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                    seconds, ns = struct.unpack("qq", data[:16])
                    self.frames.append((seconds * 10**9 + ns, about[2] == socket.PACKET_OUTGOING, frame))


class Packet:
    """An IP packet of a frame: protocol, addresses, TTL or hop limit, and its payload with ports for UDP."""

    def __init__(self, frame):
        self.protocol = self.source = self.to = self.ttl = None
        self.ports, self.payload = (0, 0), b""
        kind, packet = frame[12:14], frame[14:]
        with contextlib.suppress(struct.error, IndexError, ValueError):
            if kind == b"\x08\x00":
                header = 4 * (packet[0] & 15)
                self.ttl, self.protocol = packet[8], packet[9]
                self.source, self.to = (socket.inet_ntop(socket.AF_INET, packet[at : at + 4]) for at in (12, 16))
                rest = packet[header : struct.unpack_from("!H", packet, 2)[0]]
            elif kind == b"\x86\xdd":
                self.protocol, self.ttl = packet[6], packet[7]
                self.source, self.to = (socket.inet_ntop(socket.AF_INET6, packet[at : at + 16]) for at in (8, 24))
                rest = packet[40 : 40 + struct.unpack_from("!H", packet, 4)[0]]
            else:
                return
            if self.protocol == socket.IPPROTO_UDP:
                self.ports, rest = struct.unpack_from("!HH", rest), rest[8:]
            self.payload = rest


def round_trips(frames, key_of, home):
    """When a tap saw each request and the first reply to it, in ns, by key. `key_of` says of a packet (whether it is
    a request, its key), or None where it is neither; `home` is whether replies leave the device."""
    asked, both = {}, {}
    for at, outgoing, frame in frames:
        found = key_of(Packet(frame))
        if found is None:
            continue
        is_request, key = found
        if is_request and outgoing != home:
            asked.setdefault(key, at)
        elif not is_request and outgoing == home and key in asked:
            both.setdefault(key, (asked[key], at))
    return both
