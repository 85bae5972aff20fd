"""Whatever an instance of a lab sends costs its own cell: the lab goes on, and takes no more
memory than honest results need."""

import io
import json
import os
import re
import struct
import subprocess
import tarfile
import time
import zlib
from pathlib import Path

import pytest
from conftest import ROOT, TOMPION, tompion
from test_hostile_runs import rewrite
from test_lab import left, ledger, record, write

WORKER = ROOT / "target/release/tompion-worker"
LAYOUT = 3
MOST_KB = 256 << 10
PLAN = """
seed = 5
replicates = {replicates}
[[platforms]]
kind = "host"
start_within = "6s"
[[probes]]
kind = "wake-up"
methods = ["usleep"]
targets = ["1ms"]
time = "150ms"
"""


def framed(body, length=None, layout=LAYOUT):
    """A result as docs of tompion-frame have it: with its checksum."""
    head = b"TOMPCEL\n" + struct.pack("<IIIQ", layout, 0, 0, len(body) if length is None else length)
    return head + struct.pack("<I", zlib.crc32(body, zlib.crc32(head))) + body


def packed(*entries):
    """An archive of (name, content or None, changes of the header)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, content, changes in entries:
            entry = tarfile.TarInfo(name)
            entry.size = len(content or b"")
            for key, value in changes.items():
                setattr(entry, key, value)
            tar.addfile(entry, io.BytesIO(content) if content else None)
    return out.getvalue()


def of_directory(directory):
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return packed(*((str(path.relative_to(directory)), path.read_bytes(), {}) for path in files))


class Instance:
    """A lab whose instances run the scripts that are put here, one after another."""

    def __init__(self, directory):
        self.directory = directory
        self.program = directory / "hostile_cell"
        source = ROOT / "tests/programs/hostile_cell.c"
        subprocess.run(["cc", "-static", "-O1", "-Wall", "-Werror", "-o", self.program, source], check=True)

    def run(self, scripts, name):
        """(Exit status, what it said, its peak memory in kB, its directory)."""
        cells = self.directory / f"{name}.cells"
        cells.mkdir()
        for number, script in enumerate(scripts):
            (cells / f"{number}.sh").write_text(script)
        out = self.directory / name
        plan = write(cells, PLAN.format(replicates=len(scripts)))
        words = self.directory / f"{name}.words"
        with words.open("w") as stderr:
            lab = subprocess.Popen(
                [TOMPION, "lab", "run", plan, "--out", out, "--program", self.program],
                env=os.environ | {"HOSTILE_CELL": str(cells), "HOSTILE_WORKER": str(WORKER)},
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr,
            )
            most_kb, until = 0, time.monotonic() + 300
            while lab.poll() is None:
                assert time.monotonic() < until, words.read_text()
                lines = Path(f"/proc/{lab.pid}/status").read_text().splitlines()
                most_kb = max([most_kb, *(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))])
                time.sleep(0.005)
        return lab.returncode, words.read_text(), most_kb, out


@pytest.fixture
def instance(tmp_path):
    return Instance(tmp_path)


class Honest:
    """An honest result, the job that led to it, and what somebody makes of it."""

    def __init__(self, instance):
        self.at = instance.directory
        keep = f'printf %s "$2" > {self.at}/job\n{WORKER} "$@" > {self.at}/honest\nexec cat {self.at}/honest\n'
        status, words, _, _ = instance.run([keep], "first")
        assert status == 0, words
        self.job = (self.at / "job").read_text()
        result = (self.at / "honest").read_bytes()
        archive = result[len(framed(b"")):]
        assert framed(archive) == result
        self.archive = archive

    def changed(self, name, change):
        """The same run with a record that `change` made another, and its checksum."""
        directory = self.at / name
        with tarfile.open(fileobj=io.BytesIO(self.archive)) as tar:
            tar.extractall(directory, filter="data")
        rewrite(directory, change)
        return framed(of_directory(directory))

    def of(self, job):
        return subprocess.run([WORKER, "__cell", job], check=True, capture_output=True).stdout


def twice(record):
    record["trials"].append(record["trials"][0] | {"id": 1})


def elsewhere(record):
    record["trials"][0]["factors"]["load"] = "cpu"


def number_without_end(record):
    record["trials"][0]["duration_ns"] = 2**61


def notes_without_end(record):
    record["notes"] = [{"kind": "x", "text": f"\x1b{number}"} for number in range(1500)]


def missed_without_end(honest):
    """A run of one trial before whose samples more periods were missed than a whole run may have."""
    import numpy
    from run_generator import Trial, write_run

    key = json.loads(tarfile.open(fileobj=io.BytesIO(honest.archive)).extractfile("run.json").read())
    rows = 4096
    trial = Trial(key["trials"][0]["factors"], at_ns=numpy.arange(rows), value_ps=numpy.zeros(rows, numpy.int64),
                  missed=numpy.full(rows, 1 << 17, numpy.uint32), period_ns=1_000_000)
    # The generator would fill them in one by one.
    trial.values = lambda: {"measured": numpy.zeros(rows, numpy.int64)}
    trial.missed_periods = lambda: rows << 17
    return framed(of_directory(write_run(honest.at / "missed", [trial], finished=False)))


def values_without_end(honest):
    """A run of one trial with a table of empty texts that a long one makes look honest."""
    import numpy
    import pyarrow
    from run_generator import Trial, write_run

    key = json.loads(tarfile.open(fileobj=io.BytesIO(honest.archive)).extractfile("run.json").read())
    rows = 1 << 16
    columns = {f"c{i}": pyarrow.array([""] * rows) for i in range(80)}
    columns["pad"] = pyarrow.array([os.urandom(1_000_000).hex()] + [""] * (rows - 1))
    trial = Trial(key["trials"][0]["factors"], at_ns=numpy.arange(10), value_ps=numpy.zeros(10, numpy.int64),
                  side_tables={"parts": pyarrow.table(columns)})
    return framed(of_directory(write_run(honest.at / "values", [trial], finished=False)))


def pages_of_zeros(honest, name, rows, side_columns=0, side="parts"):
    """A run of one trial with as many rows, which hardly take a byte each."""
    import numpy
    import pyarrow
    from run_generator import Trial, write_run

    key = json.loads(tarfile.open(fileobj=io.BytesIO(honest.archive)).extractfile("run.json").read())
    sides = {}
    if side_columns:
        column = pyarrow.array(numpy.zeros(1, numpy.int64))
        sides[side] = pyarrow.table({f"c{i}": column for i in range(side_columns)})
    trial = Trial(key["trials"][0]["factors"], at_ns=numpy.arange(rows), value_ps=numpy.zeros(rows, numpy.int64),
                  side_tables=sides)
    return framed(of_directory(write_run(honest.at / name, [trial], finished=False)))


def text_in_every_row(honest):
    """A run of one trial with a table whose one long text stands in every row."""
    import numpy
    import pyarrow.parquet
    from run_generator import Trial, write_run

    key = json.loads(tarfile.open(fileobj=io.BytesIO(honest.archive)).extractfile("run.json").read())
    trial = Trial(key["trials"][0]["factors"], at_ns=numpy.arange(10), value_ps=numpy.zeros(10, numpy.int64),
                  side_tables={"parts": pyarrow.table({"c": ["x"]})})
    run = write_run(honest.at / "texts", [trial], finished=False)
    texts = pyarrow.DictionaryArray.from_arrays(numpy.zeros(200_000, numpy.int32), pyarrow.array(["x" * 100_000]))
    pyarrow.parquet.write_table(pyarrow.table({"c": texts}), run / "samples/00000.parts.parquet")
    rewrite(run, lambda record: record["trials"][0]["tables"]["parts"].update(rows=200_000))
    return framed(of_directory(run))


def attacks(honest):
    """What an instance does, and why its cell then fails."""
    def sends(result):
        path = honest.at / f"payload-{len(list(honest.at.glob('payload-*')))}"
        path.write_bytes(result)
        return f"exec cat {path}\n"

    def archive(*entries):
        return sends(framed(packed(*entries)))

    link = {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}
    wide = '[' + '{"":0},' * 5_000_000 + '0]'
    return {
        "endless output": ("exec cat /dev/zero\n", "wrote more than 64 MiB to standard output, killed"),
        "endless words": ("while :; do head -c 1000000 /dev/zero; sleep 0.02; done >&2\n", "still running after 6 s, killed"),
        "words without a line's end": ("head -c 9000000 /dev/zero >&2; exit 1\n", "^exit status: 1$"),
        "words that control a terminal": (
            r"printf '\033]0;mine\007\033[2J\nit is \033[31mred\n' >&2; exit 1" + "\n", r"it is  ?\[31mred"),
        "an output that somebody holds": ("sleep 9 & exit 0\n", "still running after 6 s, killed"),
        "no frame": ("exec head -c 5000000 /dev/urandom\n", "no result of tompion"),
        "a frame without end": (sends(framed(b"x" * 100, 2**63)), "truncated"),
        "another layout": (sends(framed(honest.archive, layout=99)), "layout 99"),
        "a flipped bit": (sends(framed(honest.archive)[:-700] + b"\x01" + framed(honest.archive)[-699:]), "damaged"),
        "packed zeros": (sends(framed(zlib.compress(bytes(50_000_000)))), "."),
        "a sparse file of 40 GiB": (
            archive(("run.json", None, {"type": tarfile.GNUTYPE_SPARSE})), "no regular file"),
        "a file that ends beyond its archive": (
            sends(framed(packed(("run.json", None, {}))[:124] + b"%011o\0" % (40 << 30) + bytes(2000))), "."),
        "a link": (archive(("run.json", None, link)), "run.json, which is no regular file"),
        "a directory that is a link": (archive(("samples", None, link)), "no result holds"),
        "a way out": (archive(("samples/../../../x.parquet", b"x", {})), "no result holds"),
        "a name that controls a terminal": (archive(("\x1b[2J\n", b"x", {})), "no result holds"),
        "a result for another cell": (sends(honest.of(honest.job.replace("usleep", "nanosleep"))), "of another cell: "),
        "the same beside another load": (sends(honest.changed("elsewhere", elsewhere)), "of another cell: "),
        "a trial twice": (sends(honest.changed("twice", twice)), "."),
        "a record without end": (
            archive(("run.json", wide.encode(), {})), r"has a run.json of 35000003 bytes, at most \d+ are taken"),
        "a record that is deeper than any": (
            archive(("run.json", b'{"schema_version": 2, "notes": ' + b"[" * 50_000, {})), "."),
        "rows without end": (sends(pages_of_zeros(honest, "rows", (1 << 20) + 1)), "a trial of 1048577 rows"),
        "a text in every row": (sends(text_in_every_row(honest)), "20000000000 bytes of text"),
        "values without end": (sends(values_without_end(honest)), "tables of 15925248 values"),
        "periods missed without end": (sends(missed_without_end(honest)), "536870912 missed periods"),
        "a number that the run cannot add up": (
            sends(honest.changed("number", number_without_end)), "ns after it began, and it took"),
        "a table of its own name": (
            sends(pages_of_zeros(honest, "table", 10, 1, side="t-1")), "a table that this program does not write: t-1"),
        "columns without end": (sends(pages_of_zeros(honest, "columns", 10, 5000)), "5000 columns"),
    }


def test_whatever_an_instance_sends_costs_its_own_cell(instance, tmp_path):
    honest = Honest(instance)
    scripts, wanted = [], []
    for number, (name, (script, why)) in enumerate(attacks(honest).items()):
        scripts.append(script)
        wanted.append((name, why))
        if number % 3 == 2:
            scripts.append(f'exec {WORKER} "$@"\n')
            wanted.append(("honest", None))
    status, words, most_kb, out = instance.run(scripts, "run")
    print(f"peak {most_kb / 1000:.0f} MB\n{words}")
    assert status == 2, words
    found = [entry.get("failed") for entry in ledger(out)]
    assert len(found) == len(wanted)
    for (name, why), failed in zip(wanted, found):
        assert (failed is None) == (why is None), (name, failed)
        if why is not None:
            assert re.search(why, failed) and len(failed) < 500, (name, failed)
            assert not re.search(r"[\x00-\x1f\x7f-\x9f]", failed), (name, failed)
    honest_ones = sum(why is None for _, why in wanted)
    run = record(out)
    assert run["status"] == "incomplete" and len(run["trials"]) == honest_ones
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", words), words
    # One line for each, and nothing else of them.
    failed_lines = [line for line in words.splitlines() if "wake-up failed: " in line]
    assert len(failed_lines) == len(wanted) - honest_ones, words
    assert most_kb < MOST_KB, most_kb
    assert tompion("report", out, "--json", check=0).stdout
    assert not (tmp_path / "x.parquet").exists() and left(out) == []


def test_notes_without_end_keep_no_lab_waiting(instance):
    honest = Honest(instance)
    payload = honest.at / "notes"
    scripts = []
    for number in range(12):
        def change(record, number=number):
            notes_without_end(record)
            for note in record["notes"]:
                note["text"] += f" of {number}"

        result = honest.changed(f"notes-{number}", change)
        payload = honest.at / f"noted-{number}"
        payload.write_bytes(result)
        scripts.append(f"exec cat {payload}\n")
    status, words, _, out = instance.run(scripts, "run")
    assert status == 0, words
    assert all(len(entry["notes"]) <= 16 for entry in ledger(out))
    assert len(record(out)["notes"]) < 16 * 12 + 20
    assert (out / "lab.jsonl").stat().st_size < 100_000
