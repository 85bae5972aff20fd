"""ELF files that lie: what stands where is said, and nothing of it has to be true."""

import platform
import struct

MACHINE = {"x86_64": 62, "aarch64": 183}[platform.machine()]
LOADER = {"x86_64": b"/lib64/ld-linux-x86-64.so.2", "aarch64": b"/lib/ld-linux-aarch64.so.1"}[platform.machine()]

LOAD, DYNAMIC, INTERP, NOTE = 1, 2, 3, 4
NEEDED, STRTAB, STRSZ, RPATH, RUNPATH = 1, 5, 10, 15, 29
STRINGS, DYNSYM = 3, 11
HEADER, SEGMENT, SECTION, SYMBOL = 64, 56, 64, 24


def segment(kind, offset, size):
    """A program header; addresses are offsets."""
    return struct.pack("<IIQQQQQQ", kind, 4, offset, offset, offset, size, size, 1)


def section(kind, offset, size, link=0, entry=0):
    return struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, offset, size, link, 0, 1, entry)


def dynamic(*entries):
    return b"".join(struct.pack("<qQ", tag, value) for tag, value in [*entries, (0, 0)])


def write(path, segments, pieces=(), sections=(), size=None):
    """Headers, then each piece of content at its offset, the rest of `size` a hole."""
    segments = list(segments)
    sections_at = HEADER + SEGMENT * len(segments) if sections else 0
    header = b"\x7fELF\2\1\1" + bytes(9)
    header += struct.pack(
        "<HHIQQQIHHHHHH",
        *(3, MACHINE, 1, 0, HEADER, sections_at, 0),
        *(HEADER, SEGMENT, len(segments), SECTION, len(sections), max(len(sections), 1) - 1),
    )
    with open(path, "wb") as file:
        file.write(header + b"".join(segments) + b"".join(sections))
        for offset, content in pieces:
            assert offset >= HEADER + SEGMENT * len(segments) + SECTION * len(sections)
            file.seek(offset)
            file.write(content)
        if size is not None:
            file.truncate(size)
    path.chmod(0o755)
    return path


FAR = 1 << 24


def program(path, entries, strings, more=(), pieces=(), **also):
    """One that glibc's loader would load: `entries` of its dynamic segment, beside `strings`."""
    text = b"\0" + strings
    table = dynamic((STRTAB, FAR), (STRSZ, len(text)), *entries)
    loader_at, table_at = FAR - 4096, FAR + len(text)
    return write(
        path,
        [
            segment(INTERP, loader_at, len(LOADER) + 1),
            segment(LOAD, FAR, len(text)),
            segment(DYNAMIC, table_at, len(table)),
            *more,
        ],
        [(loader_at, LOADER + b"\0"), (FAR, text), (table_at, table), *pieces],
        **also,
    )


def strings(texts):
    """Texts behind one another, and where in a table that begins with NUL each begins."""
    at, places = 1, []
    for text in texts:
        places.append(at)
        at += len(text) + 1
    return b"".join(text + b"\0" for text in texts), places
