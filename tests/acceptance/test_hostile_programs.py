"""`tompion preload` of programs that lie about themselves: one line or started as ever, soon and in
little memory; and nothing of theirs acts on a terminal."""

import os
import struct
import subprocess

from conftest import TOMPION
from hostile_elf import (
    DYNAMIC,
    DYNSYM,
    FAR,
    INTERP,
    LOADER,
    NEEDED,
    NOTE,
    RUNPATH,
    STRINGS,
    program,
    section,
    segment,
    strings,
    write,
)
from preload_bench import bench, refused

# The longest that a look may take, on a busy machine too, and the most memory.
LIMIT_S = 5
MOST_BYTES = 256 << 20
# In place of holes as large as disks allow: what would take them in takes more than is there.
HUGE = 3 << 30
ESCAPES = b"\x1b]0;mine\x07\x1b[2J"
NO_PROGRAM = "neither an ELF program nor a script"


def looked_at(bench, *arguments):
    return subprocess.run(
        ["prlimit", f"--as={MOST_BYTES}", "--core=0", TOMPION, "preload", "--library", bench / "stand_in.so", *arguments],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=LIMIT_S,
    )


def started(bench, path):
    """It became the program, which is none and dies at once."""
    done = looked_at(bench, "--", path)
    assert done.returncode < 0 and done.stderr == b"", done


def needing(path, *texts, tags=()):
    text, places = strings(texts)
    tags = [*tags, *[NEEDED] * (len(texts) - len(tags))]
    return program(path, list(zip(tags, places)), text)


def test_tables_that_a_file_says_it_has_are_not_all_read(bench, tmp_path):
    told = segment(INTERP, 1 << 20, len(LOADER) + 1)
    pieces = [(1 << 20, LOADER + b"\0")]
    for size in (HUGE, 1 << 40):
        path = write(tmp_path / "dynamic", [told, segment(DYNAMIC, 1 << 21, size)], pieces, size=2 * size)
        refused(looked_at(bench, "--", path), NO_PROGRAM)
        path = write(tmp_path / "loader", [segment(INTERP, 1 << 20, size)], pieces, size=2 * size)
        refused(looked_at(bench, "--", path), NO_PROGRAM)
        # Symbols and sections tell no more than who imports what.
        tables = [section(0, 0, 0), section(DYNSYM, 1 << 25, size, 2, 24), section(STRINGS, 1 << 26, 4096)]
        started(bench, program(tmp_path / "symbols", [], b"", sections=tables, size=2 * size))
        path = program(tmp_path / "sections", [], b"", sections=[section(0, 0, size // 64)], size=2 * size)
        with open(path, "r+b") as file:
            # More than the header can say: the first section says how many.
            file.seek(60)
            file.write(bytes(4))
        started(bench, path)


def test_one_table_that_many_headers_name_is_read_a_few_times(bench, tmp_path):
    notes = struct.pack("<III", 0, 0, 0) * 87381
    path = write(tmp_path / "notes", [segment(NOTE, FAR, len(notes))] * 65000, [(FAR, notes)])
    refused(looked_at(bench, "--", path), NO_PROGRAM)
    names = (b"x" * 4095 + b"\0") * 300
    symbols = b"".join(struct.pack("<IBBHQQ", i % (len(names) - 1), 18, 0, 0, 0, 0) for i in range(1 << 20))
    tables = [section(0, 0, 0), section(DYNSYM, 1 << 25, len(symbols), 2, 24), section(STRINGS, 1 << 26, len(names))]
    pieces = [(1 << 25, symbols), (1 << 26, names)]
    started(bench, program(tmp_path / "symbols", [], b"", pieces=pieces, sections=tables))


def test_libraries_without_end_are_told_in_a_few_lines(bench, tmp_path):
    itself = [bytes(tmp_path) + b"/." * i + b"/itself" for i in range(1, 1900)]
    lists = b":".join(b"%x" % i for i in range(800))
    absent = [b"lib%d.so" % i for i in range(60_000)]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, cut in [
        (needing(tmp_path / "itself", *itself), True),
        (needing(tmp_path / "absent", *absent), True),
        (needing(tmp_path / "lists", lists, *absent[:5000], tags=[RUNPATH]), True),
        (needing(tmp_path / "origin", b"$ORIGIN" * 500, *absent, tags=[RUNPATH]), True),
        (needing(tmp_path / "pipes", bytes(pipe)), False),
        (needing(tmp_path / "controls", b"lib" + ESCAPES + b"\n.so"), False),
    ]:
        done = looked_at(bench, "--explain", "--", path)
        told = done.stderr.decode()
        assert done.returncode < 0 and "Not found or not readable: " in told, done
        assert ("more libraries, or larger ones, than are looked at" in told) == cut, told
        assert len(told) < 20_000 and not set(told) & set("\x1b\x07"), told
    assert "Not found or not readable: controls, lib ]0;mine  [2J .so\n" in told


def test_scripts_that_lead_nowhere_are_refused_in_one_line(bench, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o755)
    script = tmp_path / "script"
    for content, words in [
        (b"#!" + b"a" * (1 << 20), "its #! line is longer than the kernel reads"),
        (b"#!" + bytes(script) + b"\n", "leads from script to script without end"),
        (b"#!" + bytes(pipe) + b"\n", "not a regular file"),
        (b"#!/" + ESCAPES + b"\n", "no such file"),
    ]:
        script.write_bytes(content)
        script.chmod(0o755)
        assert "\x1b" not in refused(looked_at(bench, "--", script), words)
    with open(script, "wb") as file:
        file.truncate(1 << 40)
    refused(looked_at(bench, "--", script), NO_PROGRAM)
    script.write_bytes(b"#!/bin/sh " + ESCAPES + b"\n")
    told = looked_at(bench, "--explain", "--", script).stderr.decode()
    assert f"runs {script} (#! /bin/sh  ]0;mine  [2J)" in told, told


def test_the_loader_that_counts_is_the_one_that_the_kernel_takes(bench, tmp_path):
    musl = b"/lib/ld-musl.so.1\0"
    both = [segment(INTERP, FAR, len(musl)), segment(INTERP, 4096, len(LOADER) + 1)]
    pieces = [(4096, LOADER + b"\0"), (FAR, musl)]
    refused(looked_at(bench, "--", write(tmp_path / "musl", both, pieces)), "loaded by /lib/ld-musl.so.1")
    started(bench, write(tmp_path / "glibc", both[::-1], pieces))
