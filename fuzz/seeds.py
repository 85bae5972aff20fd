#!/usr/bin/env python3
"""Writes what the corpora begin with: something sound for each target, and the inputs that once did
harm. `make fuzz` finds more by itself; what is worth keeping of that is copied beside these.

    .cache/venv/bin/python fuzz/seeds.py
"""

import io
import json
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/acceptance"))

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CORPUS = ROOT / "fuzz/corpus"
EDGES = [2**31 - 1, -2**31, 2**32 - 1, 2**40, 2**62, 9 * 10**18, -9 * 10**18, 2**63 - 1, -2**63]


def put(target, name, content):
    place = CORPUS / target
    place.mkdir(parents=True, exist_ok=True)
    (place / name).write_bytes(content.encode() if isinstance(content, str) else bytes(content))


def short(content):
    """Bytes behind a length of one byte."""
    content = content.encode() if isinstance(content, str) else content
    return bytes([len(content)]) + content


def number(value):
    """A whole number as fuzz/src/input.rs reads it: 64 bits."""
    return b"\x83" + struct.pack("<q", value)


def unpacked(name):
    with tarfile.open(ROOT / f"tests/golden/{name}.tar.gz") as packed:
        files = (m for m in packed if m.isfile())
        return {m.name.split("/", 1)[1]: packed.extractfile(m).read() for m in files}


# --- runs ----------------------------------------------------------------------------------

# A change: what, which file, where; fuzz/src/run_files.rs has their meaning.
FLIP, SET, WRITE, INSERT, DELETE, CUT, REPEAT, REPLACE, NUMBER, TEXT, REMOVE, HOLE = range(12)
SMALL, UNFINISHED, VERSION_2, VERSION_1 = range(4)
# Of the small finished run, by name.
BINS, HISTOGRAMS, RUN_JSON, STALLS, PARTS, WAKE_UP = range(6)
# Of the unfinished one.
UNLISTED = 6
FROM_END = 0x80


# With it a report of the run is made, which takes most of the time.
REPORTED = 0x80


def change(what, file, at=0, more=b""):
    return struct.pack("<BBH", what, file, at) + more


def parquet(**more):
    """Samples of two trials."""
    columns = {"at_ns": pa.array(np.arange(40, dtype=np.int64) * 1000),
               "value_ps": pa.array(np.arange(40, dtype=np.int64) * 1000),
               "n": pa.array(np.ones(40, np.uint32)), "missed": pa.array(np.zeros(40, np.uint32)),
               "mark": pa.nulls(40, pa.string())} | more
    return as_bytes(pa.concat_tables(2 * [pa.table(columns)]).combine_chunks(), row_group_size=40)


def as_bytes(table, compression="snappy", **options):
    out = io.BytesIO()
    pq.write_table(table, out, compression=compression, write_statistics=False, **options)
    return out.getvalue()


def zigzag(value):
    rest, encoded = value << 1, bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes(encoded) + bytes([rest])


def announcing(content, rows, announced):
    """A file whose footer announces other rows than it has."""
    length = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - length:-8].replace(zigzag(rows), zigzag(announced))
    return content[:-8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def runs():
    for target in ("run-raw", "run-repaired"):
        for base, name in enumerate(["finished", "unfinished", "version-2", "version-1"]):
            put(target, f"sound-{name}", [base | REPORTED])
            put(target, f"footer-bit-{name}", bytes([base]) + change(FLIP | FROM_END, 2, 60, b"\3"))
        for file in range(6):
            put(target, f"bit-{file}", bytes([SMALL]) + change(FLIP, file, 200, b"\5"))
            put(target, f"cut-{file}", bytes([SMALL]) + change(CUT, file, 400))
        put(target, "run-json-of-4-gib", bytes([SMALL]) + change(HOLE, RUN_JSON, 0, b"\x20"))
        put(target, "samples-of-4-tib", bytes([SMALL]) + change(HOLE, WAKE_UP, 0, b"\x2a"))
        put(target, "gone", bytes([SMALL]) + change(REMOVE, WAKE_UP))
        put(target, "gone-unfinished", bytes([UNFINISHED]) + change(REMOVE, 2))
        # Of the trial that no list has, one that is described wrongly.
        for i in range(8):
            put(target, f"description-{i}", bytes([UNFINISHED]) + change(TEXT, UNLISTED, 0, struct.pack("<H", i) + short("other")))
            put(target, f"number-of-a-description-{i}",
                bytes([UNFINISHED | REPORTED]) + change(NUMBER, UNLISTED, 0, struct.pack("<HB", i, 4) + number(EDGES[i])))
        put(target, "escape-in-a-text", bytes([SMALL]) + change(TEXT, RUN_JSON, 0, b"\7\0" + short("\x1b[2Jx\n")))
    hostile = {
        "missed-2-32": parquet(missed=pa.array(np.array([0] * 35 + [2**32 - 1] * 5, np.uint32))),
        "missed-2-32-once": parquet(missed=pa.array(np.array([0] * 39 + [2**32 - 1], np.uint32))),
        "values-of-9e18": parquet(value_ps=pa.array(np.array([9 * 10**18, -9 * 10**18] * 20))),
        "values-at-both-ends": parquet(value_ps=pa.array(np.array([2**63 - 1, -2**63] * 20))),
        "batches-of-2-32": parquet(n=pa.array(np.full(40, 2**32 - 1, np.uint32))),
        "negative-times": parquet(at_ns=pa.array(np.arange(40) - 20)),
        "unknown-mark": parquet(mark=pa.array(["drunk"] * 40)),
        "rows-2-62": announcing(parquet(), 40, 2**62),
        "rows-2-40": announcing(parquet(), 40, 2**40),
        "no-column": as_bytes(pa.table({"value_ps": pa.array([1] * 80)}), row_group_size=40),
    }
    for name, content in hostile.items():
        put("run-repaired", name, bytes([SMALL | REPORTED]) + change(REPLACE, WAKE_UP, 0, content))
    numbers = b"".join(change(NUMBER, RUN_JSON, 0, struct.pack("<HB", 31 * i, 4) + number(edge))
                       for i, edge in enumerate(EDGES))
    put("run-repaired", "numbers-at-edges", bytes([SMALL | REPORTED]) + numbers)
    # One of the earlier version whose process was killed before its first trial was listed.
    record = json.loads(unpacked("version-1-marks")["run.json"])
    record |= {"status": "running", "trials": [], "notes": ["a remark"]}
    for target in ("run-raw", "run-repaired"):
        put(target, "unlisted-version-1", bytes([VERSION_1]) + change(REPLACE, 0, 0, json.dumps(record).encode()))
    for i, edge in enumerate(EDGES):
        put("run-repaired", f"number-at-edge-{i}",
            bytes([i % 4 | REPORTED]) + change(NUMBER, RUN_JSON, 0, struct.pack("<HB", 17 * i + 3, 4) + number(edge)))


def parquet_files():
    put("parquet-file", "samples", parquet())
    for name in ("wake-up", "stalls.parts", "bins"):
        put("parquet-file", f"golden-{name}", unpacked("version-2")[f"{name}.parquet"])
    bit = bytearray(unpacked("version-2")["wake-up.parquet"])
    bit[2097] ^= 1 << 7
    put("parquet-file", "bit-on-which-the-library-panics", bit)
    one = pa.table({"a": pa.array(np.arange(1234, dtype=np.int64))})
    for power in (31, 40, 62):
        put("parquet-file", f"rows-2-{power}", announcing(as_bytes(one), 1234, 2**power))
    rows = 50_000_000
    many = pa.table({"a": pa.array(np.zeros(rows, np.int64))})
    put("parquet-file", "50-million-rows",
        as_bytes(many, row_group_size=rows, data_page_size=1 << 30, write_batch_size=rows, max_rows_per_page=rows))
    for kind in (pa.string(), pa.bool_(), pa.float64(), pa.uint64(), pa.int32()):
        values = pa.array(["a", None, "ccc"] * 9) if kind == pa.string() else pa.array([0, None, 1] * 9).cast(kind)
        put("parquet-file", f"column-of-{kind}", as_bytes(pa.table({"a": values})))
        put("parquet-file", f"pages-2-of-{kind}", as_bytes(pa.table({"a": values}), data_page_version="2.0"))
    texts = pa.table({"a": pa.array([f"text {i}" for i in range(50)])})
    for packed in ("gzip", "none"):
        put("parquet-file", f"packed-by-{packed}", as_bytes(texts, compression=packed))
    for version in ("1.0", "2.0"):
        put("parquet-file", f"lengths-in-pages-{version[0]}", as_bytes(
            texts, use_dictionary=False, column_encoding={"a": "DELTA_LENGTH_BYTE_ARRAY"}, data_page_version=version))
    put("parquet-file", "no-rows", as_bytes(one.slice(0, 0)))
    put("parquet-file", "96-bits", as_bytes(pa.table({"a": pa.array([0, 1], pa.timestamp("ns"))}),
                                            use_deprecated_int96_timestamps=True))
    required = pa.schema([pa.field("a", pa.string(), nullable=False)])
    put("parquet-file", "lengths-of-all", as_bytes(
        texts.cast(required), use_dictionary=False, column_encoding={"a": "DELTA_LENGTH_BYTE_ARRAY"}))
    for encoding in ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "PLAIN"):
        put("parquet-file", f"texts-{encoding.lower()}",
            as_bytes(texts, use_dictionary=False, column_encoding={"a": encoding}))


def samples(values, how=0, missed=b""):
    """A trial's rows, as fuzz/src/targets/report.rs reads them, each once."""
    rows = b"".join(bytes([how]) + number(value) + missed + b"\0" for value in values)
    return bytes([len(values)]) + rows


def stall_parts(*parts):
    """Parts of stalls, and the figures of their probe."""
    rows = b"".join(number(at) + number(length) + bytes([cause]) + (b"\1" + short(by) if by else b"\0") + short("why")
                    for at, length, cause, by in parts)
    figures = [100, 10**6, 20, 10**8, 9 * 10**7, len(parts), sum(part[1] for part in parts)]
    return bytes([len(parts)]) + rows + b"".join(map(number, figures))


def reports():
    # The first byte chooses the form. What stands behind a trial's samples is its beginning, its
    # length, and a period with those that were missed.
    forms = ["html", "md", "csv", "run", "json", "png", "svg"]
    probes = ["wake-up", "wake-up-on-a-grid", "read-cost", "timer-events", "stalls"]
    times = number(0) + number(10**8)
    stalls = stall_parts((1000, 5000, 0, "hog[77]"), (10**7, 4000, 1, ""), (2 * 10**7, 5500, 0, "hog[77]"))
    for i, probe in enumerate(probes):
        has_period = probe in ("wake-up-on-a-grid", "timer-events")
        end = times + (number(10**6) + number(2) if has_period else b"") + (stalls if probe == "stalls" else b"")
        how = 4 if has_period else 0
        values = [1000 * (i * i % 23) for i in range(1, 24)]
        for form in ("md", "json"):
            trial = bytes([how, i, 0]) + samples(values) + end
            put("report", f"{probe}-as-{form}", bytes([forms.index(form)]) + b"\3" + 4 * trial)
    # Of 11 stamps that one byte asks for: all, and every other one.
    rows = struct.pack("<IB", 100, 255) + b"".join(number(1000 * n) for n in range(11))
    rows += struct.pack("<IB", 100, 0x55) + b"".join(number(10**6 + 1000 * n) for n in range(6))
    for vantage, form in enumerate(("md", "json", "html")):
        trial = bytes([0, 5, 0]) + samples([7000, 5000]) + times + bytes([vantage, 2]) + rows
        trial += short("192.0.2.7") + number(2) + number(1) + number(1) + short("a remark")
        put("report", f"packet-delay-as-{form}", bytes([forms.index(form)]) + b"\3" + 4 * trial)
    tail = bytes([32, 0, 1]) + samples([10**6] * 5) + times + number(100) + number(50_000)
    tail += 2 * (b"\2" + 2 * (number(40_000) + struct.pack("<I", 1000)))
    put("report", "bins", bytes([forms.index("json")]) + b"\3" + 4 * tail)
    loaded = bytes([16 + 8 + 2, 2, 1]) + samples([10**6] * 5) + times + number(30) + 3 * number(10)
    loaded += short("cpu") + 4 * number(10**8) + number(5)
    put("report", "load-and-granularity", bytes([forms.index("json")]) + b"\3" + 4 * loaded)
    ends = [2**63 - 1, -2**63, 9 * 10**18, -9 * 10**18, 0, 2**53]
    put("report", "values-at-both-ends", b"\0\0" + bytes([0, 0, 0]) + samples(ends))
    put("report", "values-of-9e18", b"\6\1" + 2 * (bytes([0, 0, 0]) + samples(2 * ends[2:4])))
    put("report", "missed-2-32", b"\4\0" + bytes([4, 1, 0]) + samples([10**8] * 3, 4, number(2**32 - 1))
        + 2 * number(10**9) + number(200_000) + number(10))
    put("report", "one-value", b"\1\0" + bytes([0, 2, 0]) + samples([7]))
    put("report", "no-value", b"\2\2" + 3 * (bytes([0, 0, 0]) + samples([])))
    put("report", "formula", b"\2\0" + bytes([1, 0, 2]) + short("=1+1") + samples(range(9)))
    for seed in range(6):
        put("report", f"any-{seed}", np.random.default_rng(seed).integers(0, 256, 500, np.uint8).tobytes())


def secrets():
    put("redaction", "none", b"\0\0")
    for kind in range(9):
        planted = b"".join(struct.pack("<HB", 5 * i + kind, kind) + b"\1\2\3\4\5\6" + b"\1\2" for i in range(8))
        put("redaction", f"kind-{kind}", bytes([1 if kind % 2 else 8 * kind]) + planted)
    for seed in range(4):
        any_bytes = np.random.default_rng(seed).integers(0, 256, 120, np.uint8).tobytes()
        put("redaction", f"any-{seed}", b"\1" + any_bytes)


# --- the lab -------------------------------------------------------------------------------


def plans():
    put("lab-plan", "golden", (ROOT / "tests/golden/plan.toml").read_text())
    for plan in sorted((ROOT / "plans").glob("*.toml")):
        put("lab-plan", plan.stem, plan.read_text())
    put("lab-plan", "platforms", """
seed = 3
replicates = 4000000000
loads = ["idle", "cpu:threads=2", "network:peer=h:9000:key=/k", "memory:size=4M:threads=2", "cpu:cpus=0-3,5", "download:peer=h:1"]
time = "300ms"
[[platforms]]
kind = "host"
[[platforms]]
kind = "oci"
runtime = "runc"
[[platforms]]
kind = "qemu"
[[platforms]]
kind = "ssh"
host = "u@-oProxyCommand=x"
[[platforms]]
kind = "firecracker"
[[placements]]
name = "crowded"
scenario = "2"
[[probes]]
kind = "stalls"
[[probes]]
kind = "timer-events"
methods = ["timerfd"]
periods = ["5ms", "1ns", "584y"]
""")
    put("lab-plan", "loads", """
replicates = 2
loads = ["idle", "memory:size=8G:threads=2", "cpu:cpus=0-3,5", "udp:rate=10M"]
[[platforms]]
kind = "host"
[[probes]]
kind = "read-cost"
""")
    put("lab-plan", "placements", """
replicates = 2
loads = ["idle"]
[[platforms]]
kind = "host"
[[placements]]
name = "one-load-guest"
pinning = "one-cpu"
cpus = "0-1"
host_load = "cpu:2"
measure = { weight = 400, quota = "20ms", period = "100ms" }
together = { weight = 10000 }
[[placements.guests]]
role = "load"
load = "cpu:1"
count = 3
weight = 100
[[placements]]
name = "two"
[[placements.guests]]
role = "measure"
[[placements.guests]]
role = "idle"
[[placements]]
scenario = "two-to-all-memory"
[[probes]]
kind = "stalls"
""")
    put("lab-plan", "mistakes", """
name = 7
seed = -1
replicates = 0
loads = ["idle+cpu", "cpu+cpu", "cpu", "cpu", "udp:rate=1", "network:peer=-h", "network:peer=h:0", "download", "memory:size=1", "hd:x", "chess", 5]
time = "1 fortnight"
extra = 1
[[platforms]]
kind = "qemu"
machine = "microv"
[[platforms]]
kind = "docker"
[[placements]]
name = "a b"
pinning = "none"
cpus = "3-1"
together = "all"
measure = { weight = 0, quota = "2ms", period = "1ms" }
[[placements]]
name = "x"
together = { quota = "1ms", period = "10ms" }
measure = { quota = "2ms", period = "10ms" }
[[placements.guests]]
role = "idle"
load = "cpu:1"
[[placements.guests]]
role = "measure"
load = "cpu:1"
[[placements.guests]]
role = "load"
[[placements.guests]]
count = 2
[[placements.guests]]
role = "load"
load = "idle"
[[placements.guests]]
role = "cook"
[[placements]]
name = "x"
scenario = "crowded"
host_load = "idle"
[[placements]]
[[probes]]
[[probes]]
kind = "stals"
[[probes]]
kind = "chess"
[[probes]]
kind = "read-cost"
methods = []
time = "1ns"
[[probes]]
kind = "read-cost"
[[probes]]
kind = "timer-events"
search = 3
policies = ["fifo:100"]
""")
    put("lab-plan", "escape-in-a-name", '[[placements]]\nscenario = "all\\t-to-all-cp\\u202e"\n[[platforms]]\nkind = "a\\u001b[2J"\n')
    put("lab-plan", "no-tables", "platforms = 1\nplacements = [2]\nprobes = { kind = 1 }\n")
    put("lab-plan", "for-days", """
replicates = 3000
loads = ["idle", "network:peer=h", "file-server:peer=h:1", "hd:irq=1", "udp:rate=100K"]
time = "60s"
[[platforms]]
kind = "qemu"
cpus = 8
memory = 65536
[[platforms]]
kind = "qemu"
name = "other"
[[probes]]
kind = "stalls"
[[probes]]
kind = "read-cost"
""")
    put("lab-plan", "largest-size", """
loads = ["memory:size=17179869183G"]
[[platforms]]
kind = "host"
[[probes]]
kind = "read-cost"
""")
    sizes = [f"memory:size={2**64 // 1024**power - 1}{unit}" for power, unit in ((3, "G"), (2, "M"), (1, "K"), (3, "g"))]
    put("lab-plan", "largest-sizes", f"loads = {json.dumps(sizes)}\n")
    docs = (ROOT / "docs").rglob("*.md")
    found = [block for page in sorted(docs) for block in page.read_text().split("```toml\n")[1:]]
    for i, block in enumerate(found):
        if "[[platforms]]" in block:
            put("lab-plan", f"docs-{i}", block.split("```")[0])


def archive(*entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, content, more in entries:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for key, value in more.items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(content))
    end = out.getvalue()
    return end[:len(end.rstrip(b"\0")) + 511 & ~511] + bytes(1024)


def archives():
    run = ("run.json", b"{}", {})
    link = {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}
    hostile = {
        "sound": [run, ("samples/00000.parquet", b"PAR1", {})],
        "link": [run, ("samples/0.parquet", b"", link)],
        "linked-directory": [("samples", b"", {"type": tarfile.SYMTYPE, "linkname": "/etc"}), run],
        "hard-link": [run, ("samples/0.parquet", b"", {"type": tarfile.LNKTYPE, "linkname": "run.json"})],
        "pipe": [run, ("samples/0.parquet", b"", {"type": tarfile.FIFOTYPE})],
        "sparse-of-1-tib": [run, ("samples/0.parquet", b"", {"type": tarfile.GNUTYPE_SPARSE, "size": 0})],
        "upwards": [run, ("samples/../../x.parquet", b"x", {})],
        "absolute": [run, ("/samples/x.parquet", b"x", {})],
        "twice": [run, run],
        "long-name": [run, ("samples/" + "x" * 300 + ".parquet", b"x", {})],
        "directory": [("samples/", b"", {"type": tarfile.DIRTYPE, "mode": 0o755}), run],
    }
    for name, entries in hostile.items():
        put("result-archive", name, b"\0" + archive(*entries))
    bomb = bytearray(archive(run))
    bomb[124:136] = b"\x80" + (1 << 62).to_bytes(11, "big")
    put("result-archive", "size-of-2-62", b"\2" + bytes(bomb))
    put("result-archive", "frame", b"\3" + frame(b"TOMPCEL\n", 3, [archive(run)]))
    put("result-archive", "frame-of-2-64", b"\3" + b"TOMPCEL\n" + struct.pack("<IIIQI", 3, 0, 0, 2**64 - 1, 0))
    put("result-archive", "words", b"\1Segmentation fault\n")


def frame(magic, layout, parts, kind=0, status=0):
    head = magic + struct.pack("<III", layout, kind, status) + b"".join(struct.pack("<Q", len(p)) for p in parts)
    return head + struct.pack("<I", zlib.crc32(head + b"".join(parts))) + b"".join(parts)


def frames():
    good = frame(b"TOMPGST\n", 2, [b"out" * 50, b"a warning\n"], status=7 << 8)
    put("guest-frame", "behind-the-mark", b"\1" + good)
    put("guest-frame", "without-a-mark", b"\0" + good + bytes(512))
    put("guest-frame", "refused", b"\3" + frame(b"TOMPGST\n", 2, [b"no such program", b""], kind=1))
    put("guest-frame", "earlier-layout", b"\0" + b"TOMPGST\n\1" + bytes(600))
    put("guest-frame", "lengths-of-2-64", b"\3TOMPGST\n" + struct.pack("<IIIQQI", 2, 0, 0, 2**64 - 1, 2**64 - 1, 0) + bytes(512))
    put("guest-frame", "nothing", b"\1" + bytes(512))


# --- the kernel ----------------------------------------------------------------------------


def record(kind, misc, body):
    return struct.pack("=IHH", kind, misc, 8 + len(body)) + body


def sample(of, tid, at, raw, cpu=0):
    body = struct.pack("=QIIQIIi", of, 1, tid, at, cpu, 0, len(raw))
    return record(9, 0, body + raw)


def beside(kind, misc, own, tid, at, cpu=0):
    return record(kind, misc, own + struct.pack("=iiQQQ", 1, tid, at, cpu, 7))


def switch(prev, state, following):
    return struct.pack("=8x16sixxxxq16siI", b"one", prev, state, b"two", following, 0)


def perf():
    out, preempted = 1 << 13, 1 << 14
    thread = beside(14, out | preempted, b"", 42, 100) + beside(14, 0, b"", 42, 200) + beside(14, out, b"", 42, 300)
    put("perf-records", "thread", b"\0" + struct.pack("<H", len(thread)) + thread + b"\2\0")
    cpu = b"".join([
        sample(1, 42, 100, switch(42, 1, 77)), sample(2, 1, 150, struct.pack("=24xi", 42)),
        sample(3, 1, 160, struct.pack("=24xii", 42, 0)), sample(4, 1, 170, struct.pack("=24xii", 42, 1)),
        sample(1, 77, 200, switch(77, 0, 42)),
        sample(5, 42, 210, struct.pack("=8xiI4s", 9, 16 | 4 << 16, b"eth0")), sample(6, 42, 230, struct.pack("=8xi", 9)),
        sample(7, 42, 240, struct.pack("=8xI", 1)), sample(8, 42, 250, struct.pack("=8xI", 1)),
        sample(9, 42, 260, b""), sample(10, 42, 270, b""), sample(11, 42, 280, b""), sample(12, 42, 290, b""),
        beside(2, 0, struct.pack("=QQ", 1, 5), 42, 300), sample(1, 42, 400, switch(42, 0, 77)),
        beside(3, 0, struct.pack("=ii16s", 1, 42, b"new"), 42, 410),
        beside(15, out, struct.pack("=ii", 1, 77), 42, 420), beside(5, 0, bytes(24), 42, 430),
        sample(1, 77, 500, switch(77, 0, 43)),
    ])
    rest = thread
    for name, how in (("cpu", 0), ("namespace", 2)):
        put("perf-records", name, bytes([how]) + struct.pack("<H", len(cpu)) + cpu + b"\0\2" + rest)
    put("perf-records", "shifted", b"\1" + number(-2**63) + struct.pack("<H", len(cpu)) + cpu + b"\0\2" + rest)
    lost = -2**31
    put("perf-records", "least-number", b"\2" + struct.pack("<H", 0) + b"\0\0" + sample(1, 42, 100, switch(lost, 0, lost)))
    put("perf-records", "no-length", b"\0" + struct.pack("<H", 8) + struct.pack("=IHH", 9, 0, 0) + b"\0\0")


def formats():
    text = """name: sched_switch
ID: 372
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;
\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;

print fmt: "prev_comm=%s", { 0x00000001, "S" }, { 0x00000002, "D" }, { 4, "T" }, { 0x8, "t" }
"""
    put("tracefs-format", "sched-switch", short(bytes(range(64))) + text.encode())
    far = text.replace("offset:24", f"offset:{2**64 - 1}")
    put("tracefs-format", "field-beyond-all-records", short(bytes(64)) + far.encode())
    elsewhere = "ID: 1\n\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n"
    put("tracefs-format", "text-elsewhere", short(bytes(12) + struct.pack("<I", 16 | 5 << 16) + b"eth0\0") + elsewhere.encode())
    put("tracefs-format", "text-of-64-kib", short(bytes(12) + struct.pack("<I", 0xFFFFFFFF)) + elsewhere.encode())


# --- programs ------------------------------------------------------------------------------


def programs():
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        (place / "x.c").write_text("int nanosleep(void); int clock_gettime(void); int f(void) { return nanosleep() + clock_gettime(); }")
        (place / "y.c").write_text("int g(void) { return 1; }")
        small = ["-nostdlib", "-s", "-O1", "-Wl,-z,max-page-size=512,-z,noseparate-code,--build-id=none,--hash-style=sysv"]
        link = lambda *arguments: subprocess.run(["gcc", *small, *arguments], cwd=place, check=True)
        link("-shared", "-fPIC", "-Wl,-soname,liby.so", "-o", "liby.so", "y.c")
        link("-shared", "-fPIC", "-Wl,-rpath,$ORIGIN/a:/b,--disable-new-dtags", "-o", "rpath.so", "x.c", "liby.so")
        link("-shared", "-fPIC", "-Wl,-rpath,$ORIGIN/a:/b,--enable-new-dtags", "-o", "runpath.so", "x.c", "liby.so")
        link("-pie", "-fPIE", "-Wl,-e,f", "-Wl,--unresolved-symbols=ignore-all", "-o", "program", "x.c")
        for name in ("liby.so", "rpath.so", "runpath.so", "program"):
            put("elf", name, (place / name).read_bytes())
    good = (CORPUS / "elf/runpath.so").read_bytes()
    # Segments that lie at the end of all addresses.
    far = bytearray(good)
    count, size, at = struct.unpack_from("<H", far, 56)[0], struct.unpack_from("<H", far, 54)[0], struct.unpack_from("<Q", far, 32)[0]
    for i in range(count):
        if struct.unpack_from("<I", far, at + i * size)[0] == 1:
            struct.pack_into("<Q", far, at + i * size + 8, 2**64 - 1)
    put("elf", "segments-beyond-all-files", far)
    put("elf", "other-byte-order", good[:5] + b"\2" + good[6:64])
    put("elf", "32-bits", good[:4] + b"\1" + good[5:64])
    put("elf", "nothing-but-the-magic", good[:4])
    entry = lambda key, value: struct.pack("=iIIIQ", 0x303, key, value, 0, 0)
    names = b"libc.so.6\0/lib/libc.so.6\0libx.so\0/lib/libx.so\0"
    start = 48 + 2 * 24
    cache = b"glibc-ld.so.cache1.1" + struct.pack("=II20x", 2, len(names)) + entry(start, start + 10) + entry(start + 25, start + 33) + names
    put("ld-cache", "two", short("libc.so.6") + cache)
    put("ld-cache", "behind-an-older-table", short("libx.so") + b"ld.so-1.7.0\0" + bytes(20) + cache)
    put("ld-cache", "count-of-2-32", short("libc.so.6") + cache[:20] + b"\xff" * 4 + cache[24:])
    put("ld-cache", "texts-beyond-it", short("") + cache[:52] + b"\xff" * 8 + cache[60:])


# --- the peer, journals, logs --------------------------------------------------------------


def peers():
    for name in ("network", "download", "udp", "files", "chess"):
        put("peer", f"open-{name}", b"\0tompion 2 %b 00ff\n" % name.encode())
    ask = b"tompion 2 network 00ff\n"
    put("peer", "proof", b"\3" + ask + b"\1")
    put("peer", "proof-of-nothing", b"\1" + ask + b"proof \n")
    put("peer", "other-proof", b"\1" + ask + b"proof " + b"00" * 32 + b"\n")
    put("peer", "no-hexadecimal", b"\1" + ask + b"proof zz\xc3\xa9\n")
    put("peer", "pauses", b"\1tompion\2 2 udp\2 00\n\2proof 0\2\n")
    put("peer", "endless-line", b"\1" + b"x" * 200)
    put("peer", "line-of-128", b"\1tompion 2 udp " + b"0" * 113 + b"\n")
    put("peer", "other-protocol", b"\1GET / HTTP/1.1\r\n\r\n")
    put("peer", "key-short", b"\4short")
    put("peer", "key", b"\4  0123456789abcdef  \n")
    put("peer", "key-long", b"\4" + b"k" * 1000)
    put("peer", "datagram", b"\4tompion1\1\2\3\4\5\6\7\x08zz")
    put("peer", "report", b"\x0c3 4200")
    put("peer", "far-end", b"\x08open\ntoken 002a\n")
    put("peer", "far-end-with-a-key", b"\x09challenge 00ff\ngo\ntoken 002a\n")
    put("peer", "far-end-without-a-key", b"\x09open\n")
    put("peer", "far-end-that-wants-a-key", b"\x08challenge 00ff\n")
    put("peer", "far-end-that-refuses", b"\x08refused \x1b[2J\n")
    put("peer", "far-end-of-another-protocol", b"\x08HTTP/1.1 400\r\n")
    put("peer", "far-end-that-goes-away", b"\x09challenge 00ff\nno\n")
    put("peer", "escape-in-place-of-a-token", "\x08open\n\x1b[2J\u202e\n")
    put("peer", "no-text", b"\x08\xff\n")


def journals():
    irq = "/proc/irq/1/smp_affinity_list"
    base = {"format": 1, "boot_id": "new", "pid": 7, "knob": "irq"}
    one = {"path": irq, "old": "0-1", "new": "new"}
    led = one | {"back": {"value": "1", "seen_in": "/proc/irq/36/smp_affinity_list", "begun": True}}
    records = {
        "one": [one], "led": [led], "nothing": [],
        "other-file": [one | {"path": "/etc/passwd"}],
        "other-file-second": [one, one | {"path": "/etc/passwd"}],
        "upwards": [one | {"path": "/proc/irq/36/../../sys/kernel/core_pattern"}],
        "no-root": [one | {"path": "proc/irq/36/smp_affinity_list"}],
        "other-user": [one | {"new": "other"}],
        "lines": [one | {"old": "1\n2"}],
        "no-file": [one | {"path": "/proc/irq/7/smp_affinity_list"}, one],
        "as-it-was": [one | {"old": "new", "new": "0"}],
        "changed-by-others": [one | {"new": "2"}],
        "gone": [one | {"path": "/proc/irq/99/smp_affinity_list"}],
        "many": [one | {"path": f"/proc/irq/{i}/smp_affinity_list"} for i in range(12)],
    }
    for name, changes in records.items():
        put("journal-advise", name, json.dumps(base | {"changes": changes}))
    put("journal-advise", "format-2", json.dumps(base | {"format": 2, "changes": []}))
    put("journal-advise", "half", json.dumps(base | {"changes": [one]})[:90])
    head = json.dumps({"format": 1, "plan": "loads = []\n", "seed": 5})
    entry = json.dumps({"replicate": 0, "platform": 1, "load": 0, "probe": 0, "name": "runc/idle", "trials": 2,
                        "seconds": 1.5, "failed": "no", "beside": [{"what": "x", "cpus": [1], "seconds": 1, "cpu_seconds": 2}],
                        "notes": ["n"]})
    put("journal-lab", "one", f"{head}\n{entry}\n")
    put("journal-lab", "cut", f"{head}\n{entry}\n{entry[:40]}")
    put("journal-lab", "twice", f"{head}\n{entry}\n{entry}\n")
    put("journal-lab", "empty", "\n")
    put("journal-lab", "format-9", head.replace("1", "9", 1) + "\n")
    put("journal-lab", "no-text", head.encode() + b"\n\xff\xfe\n")
    put("journal-lab", "trials-beyond", f"{head}\n{entry.replace(': 2', ': 18446744073709551615')}\n")
    put("journal-lab", "large-numbers", f"{head}\n{entry.replace('1.5', '1e999')}\n")


def logs():
    begin = short("a comment") + struct.pack("<I", 10**9)
    second = number(10**9)
    values = b"".join(map(number, [3_400, 80_400_000, 2**32 - 1]))
    put("interval-log", "nanoseconds", begin + b"\0" + number(0) + second + b"\3" + values)
    put("interval-log", "tags", begin + b"\1" + number(0) + second + short("cpu+udp/cpu0") + b"\1" + number(5))
    put("interval-log", "bad-tag", begin + b"\1" + number(0) + second + short("a b,c") + b"\0")
    bins = b"".join(number(v) + struct.pack("<I", 7) for v in (-2_000_000, 7_000_000, 0, 2**52))
    put("interval-log", "picoseconds", begin + b"\3" + number(0) + second + short("x") + b"\4" + bins)
    put("interval-log", "edges", short("") + struct.pack("<I", 2**32 - 1) + b"\0" + number(-1) + number(-1)
        + b"\7" + b"".join(map(number, [0, 1, 2**63 - 1, -1, -2**63, 2**62, 2**53])))
    put("interval-log", "nothing", begin + b"\0" + number(0) + second + b"\0")
    put("interval-log", "comments", short("one\ntwo\r#three\n\n") + struct.pack("<I", 0))


def daemons():
    """Answers of time keepers, as crates/tompion-host/src/time_keeping/tests.rs has recorded them: how
    each is made, its length, its bytes."""
    def raw(content, how=1):
        return struct.pack("<BH", how, len(content)) + content

    def right(content):
        return raw(content, 2)

    recorded = {}
    tests = (ROOT / "crates/tompion-host/src/time_keeping/tests.rs").read_text()
    for name, text in re.findall(r'^const (\w+): &str = "\\?(.*?)";$', tests, re.MULTILINE | re.DOTALL):
        if not re.search(r"[^0-9a-f\s\\]", text):
            recorded[name] = bytes.fromhex(re.sub(r"[\s\\]", "", text))
    tracking, sources = recorded["TRACKING"], recorded["N_SOURCES"]
    selected, unreachable = recorded["SELECTED"], recorded["UNREACHABLE"]
    put("chronyd", "recorded", raw(tracking) + raw(sources) + raw(selected) + raw(unreachable))
    put("chronyd", "early", raw(recorded["TRACKING_EARLY"]))
    put("chronyd", "cut", raw(tracking[:90]))
    put("chronyd", "another-sequence", raw(tracking[:16] + b"tomq" + tracking[20:]))
    put("chronyd", "silent", b"\0\0\0")
    floats = bytes.fromhex("7fffffff") + bytes(20) + bytes.fromhex("7effffff81000000")
    put("chronyd", "large-numbers", right(tracking[28:64] + floats))
    sources_without_end = right(tracking[28:]) + right(b"\xff" * 4)
    letters = selected[28:28 + 16].replace(b"\xc0\0\2\1", b"\x1b[2J") + selected[28 + 16:]
    reference = bytearray(letters)
    reference[16:18], reference[26:28] = b"\0\1", b"\0\2"
    ipv6, unresolved = bytearray(selected[28:]), bytearray(selected[28:])
    ipv6[16:18], unresolved[16:18] = b"\0\2", b"\0\0"
    put("chronyd", "sources", sources_without_end + b"".join(map(right, (reference, ipv6, unresolved))))
    put("chronyd", "sources-without-end", sources_without_end + 20 * right(selected[28:]))

    system, status = recorded["NTP_SYSTEM"], recorded["NTP_STATUS"]
    put("ntpd", "recorded", raw(system) + raw(status) + raw(recorded["NTP_UNREACHABLE"])
        + raw(recorded["NTP_SELECTED"]))
    put("ntpd", "cut", raw(system[:150]))
    put("ntpd", "another-sequence", raw(system[:2] + b"tp" + system[4:]))
    put("ntpd", "silent", b"\0\0\0")
    variables = "version=\"ntpd 4.2.8\",leap={0},stratum={1},rootdelay={1},rootdisp={1},offset={1},reftime={2},clock={3}"
    for name, values in {
        "large-numbers": ("0", "1e308", "0x0.0", "0xffffffff.ffffffff"), "no-numbers": ("x", "NaN", "0x", "inf"),
        "negative": ("0", "-1e308", "0xffffffff.0", "0x0.0"), "not-in-step": ("3", "16", "0x+1.+1", "0x1.1"),
    }.items():
        put("ntpd", name, right(variables.format(*values).encode()))
    known = right(variables.format("0", "1", "0x0.0", "0x0.0").encode())
    hostile = "srcadr=\x1b[2J\n\u202e(x),reach=0x0".encode()
    put("ntpd", "sources", known + right(bytes.fromhex("000106000002040000030000")) + right(hostile)
        + right(b"srcadr=127.127.1.1," + b"x" * 900) + right(b""))
    put("ntpd", "sources-without-end", known + right(bytes(range(200)) * 2) + 20 * right(b"srcadr=a"))


# What fuzz/src/targets/stamp_packets.rs reads: the side, and before each datagram what is made
# right in it; behind it how many zeros follow.
TO_SENDER, KEYED, TLVS_KEYED, MAY_ASK, STATELESS, PTP = (1 << bit for bit in range(6))
RIGHT_TAG, RIGHT_TLV_TAG, RIGHT_FIELDS, SENT, KERNEL = (1 << bit for bit in range(5))


def stamps():
    def tlv(kind, value, flags=0x80):
        return struct.pack(">BBH", flags, kind, len(value)) + value

    def request(rest=b"", keyed=False, sequence=0):
        stamp = struct.pack(">QHH", 0xee00_0000_8000_0000, 0x8f84, 77)
        if keyed:
            return struct.pack(">I12x", sequence) + stamp + bytes(84) + rest
        return struct.pack(">I", sequence) + stamp + bytes(28) + rest

    def reply(rest=b"", keyed=False, sequence=0):
        stamp = struct.pack(">QHH", 0xee00_0000_8000_1000, 0x8f84, 77)
        sent = struct.pack(">Q", 0xee00_0000_8000_0000)
        if keyed:
            body = struct.pack(">I12x", sequence) + stamp + bytes(4) + sent + bytes(8)
            return body + struct.pack(">I12x", sequence) + sent + b"\x8f\x84" + bytes(6) + b"\x40" + bytes(31) + rest
        return struct.pack(">I", sequence) + stamp + sent + struct.pack(">I", sequence) + sent + b"\x8f\x84\0\0\x40\0\0\0" + rest

    def came(what, datagram, zeros=0):
        return bytes([what]) + short(datagram) + bytes([zeros])

    def answered(what, datagram):
        return bytes([what]) + short(datagram)

    ours = tlv(252, b"\0\0\0\0TMPN\x01" + bytes(15))
    follow, counted, stamps = tlv(7, bytes(16)), tlv(5, bytes(12)), tlv(3, bytes(4))
    asking = stamps + tlv(4, bytes(4)) + counted + follow + ours
    control = tlv(12, struct.pack(">HHI4x", 300, 2, 5000))
    tag = tlv(8, bytes(16))
    put("stamp-packets", "open", bytes([0]) + came(SENT | KERNEL, request()) + came(KERNEL, request(asking, sequence=1), 40))
    put("stamp-packets", "stateless-ptp", bytes([STATELESS | PTP]) + came(0, request(follow)) + came(0x40, request(counted)))
    put("stamp-packets", "keyed", bytes([KEYED]) + b"".join(
        came(RIGHT_TAG | RIGHT_TLV_TAG | SENT | KERNEL, request(stamps + follow + ours + tag, True, n)) for n in range(3)))
    put("stamp-packets", "keyed-replayed", bytes([KEYED]) + 2 * came(RIGHT_TAG, request(b"", True)))
    put("stamp-packets", "keyed-wrong", bytes([KEYED]) + came(0, request(b"", True)) + came(RIGHT_TAG, request(stamps + tag, True)))
    put("stamp-packets", "tlvs-keyed", bytes([TLVS_KEYED]) + came(RIGHT_TLV_TAG, request(asking + tag + tlv(1, bytes(5)))))
    put("stamp-packets", "more-wanted", bytes([KEYED | MAY_ASK]) + came(
        RIGHT_TAG | RIGHT_TLV_TAG | SENT, request(tlv(1, bytes(40)) + control + tag, True)))
    put("stamp-packets", "more-refused", bytes([0]) + came(0, request(control)))
    put("stamp-packets", "malformed", bytes([0]) + came(0, request(stamps + tlv(7, bytes(3)) + stamps)) + came(
        0, request(b"\x80\x01\xff\xff")) + came(0, request(b"\1\2\3")) + came(0, request()[:43]))
    put("stamp-packets", "strangers", bytes([0]) + b"".join(
        came(n << 6, request(tlv(kind, bytes([9]) * 4))) for n, kind in enumerate((0, 2, 253, 255))))
    put("stamp-packets", "a-reply", bytes([0]) + came(0, reply()))
    put("stamp-packets", "answered", bytes([TO_SENDER]) + answered(SENT | RIGHT_FIELDS, reply(tlv(7, bytes(3) + b"\1" * 13, 0) + tlv(
        252, b"\0\0\0\0TMPN\x01\x16" + bytes(14), 0))) + 2 * answered(RIGHT_FIELDS, reply(sequence=1)))
    put("stamp-packets", "answered-keyed", bytes([TO_SENDER | KEYED]) + 2 * answered(
        SENT | RIGHT_FIELDS | RIGHT_TAG | RIGHT_TLV_TAG, reply(tlv(3, b"\1\2\1\2", 0) + tlv(8, bytes(16), 0), True)))
    put("stamp-packets", "answered-late", bytes([TO_SENDER]) + 6 * answered(SENT, b"") + answered(
        RIGHT_FIELDS | 0xc0, reply()) + answered(KERNEL | RIGHT_FIELDS, reply(tlv(4, bytes(4), 0x40) + tlv(3, bytes(4), 0x20))))
    put("stamp-packets", "nothing", b"\0\0")


# --- captures ------------------------------------------------------------------------------

def capture(*blocks, order="<"):
    """A section with these blocks: a type and a body each."""
    section = (0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    return b"".join(block(kind, body, order) for kind, body in (section, *blocks))


def block(kind, body, order="<"):
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + length + body + length


def interface(options=b"", link=1, order="<"):
    return 1, struct.pack(order + "HHI", link, 0, 96) + options


def packet(frame, at=0, steps=10**18, order="<", options=b""):
    body = struct.pack(order + "IIIII", at, steps >> 32, steps & 0xFFFFFFFF, len(frame), len(frame))
    return 6, body + frame + bytes(-len(frame) % 4) + options


def captures():
    nanoseconds = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
    udp = struct.pack(">HHHH", 5000, 862, 8 + 44, 0) + bytes(range(44))
    v4 = struct.pack(">BBHHHBBH4B4B", 0x45, 0xB8, 20 + len(udp), 7, 0x4000, 64, 17, 0, *(10, 0, 0, 1), *(10, 0, 0, 2)) + udp
    v6 = struct.pack(">IHBB", 0x60000000, 8 + len(udp), 60, 64) + bytes(15) + b"\1" + bytes(15) + b"\2"
    v6 += b"\x11\0" + bytes(6) + udp
    ether = bytes(12) + b"\x08\0" + v4
    tagged = bytes(12) + b"\x88\xa8\0\5\x81\0\0\6" + b"\x86\xdd" + v6
    flags = struct.pack("<HHIHH", 2, 4, 2, 0, 0)
    lost = (5, struct.pack("<III", 0, 1, 2) + struct.pack("<HHQHHQHH", 4, 8, 9, 7, 8, 3, 0, 0))
    whole = capture(interface(nanoseconds), packet(ether, options=flags), packet(tagged), lost)
    put("pcapng", "two-packets", whole)
    put("pcapng", "cut-off", whole[:-50])
    named = struct.pack(">HH", 2, 3) + b"em1\0" + struct.pack(">HHB3xHHq", 9, 1, 3, 14, 8, 3600)
    put("pcapng", "big-endian", capture(interface(named, 101, ">"), packet(v4, 0, 5000, ">"), (0x80000001, b"unknown"), order=">"))
    put("pcapng", "two-sections", whole + capture(interface(link=113), interface(link=276), packet(bytes(20) + v4, 1), (3, bytes(12))))
    put("pcapng", "resolution-of-no-clock", capture(interface(struct.pack("<HHB3x", 9, 1, 0xFF)), packet(ether)))
    put("pcapng", "stamp-of-no-date", capture(interface(struct.pack("<HHB3x", 9, 1, 0)), packet(ether, steps=2**64 - 1)))
    put("pcapng", "no-such-interface", capture(interface(), packet(ether, at=2**32 - 1)))
    put("pcapng", "length-of-2-32", capture(interface()) + struct.pack("<II", 6, 2**32 - 4) + bytes(64))
    body = struct.pack("<IIIII", 0, 0, 0, 2**32 - 1, 60) + ether
    put("pcapng", "captured-length-of-2-32", capture(interface(), (6, body)))
    # Of a type (process information) for which the library does not see that it is too short.
    put("pcapng", "length-below-the-frame", capture(interface()) + struct.pack("<III", 0x80000001, 8, 8))
    classic = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 1)
    put("pcapng", "pcap", classic + struct.pack("<IIII", 10**9, 7, len(ether), 1514) + ether)
    put("pcapng", "pcap-cut-off", classic + struct.pack("<IIII", 10**9, 7, 2**20, 1514) + ether)
    put("pcapng", "fragments-within-fragments", capture(interface(link=101), packet(v6[:6] + b"\x2c" + v6[7:40] + b"\x2c\0\0\1\0\0\0\1" * 9)))


def main():
    for write in (runs, parquet_files, reports, secrets, plans, archives, frames, perf, formats, programs, peers, daemons, journals, logs, stamps,
                  captures):
        write()
    for place in sorted(CORPUS.iterdir()):
        sizes = [f.stat().st_size for f in place.iterdir()]
        print(f"{place.name}: {len(sizes)} files, {sum(sizes)} bytes, the largest {max(sizes)}")


main()
