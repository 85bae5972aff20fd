"""Writes Tompion runs, format version 2, from nothing but their public description.

The description is docs/run-format.md and schema/run.schema.json of Tompion; no code of
Tompion is used.  A run is a directory.  `write_run` writes it in either of its two forms:

* finished: one Parquet file for each probe, with one row group for each trial;
* not finished: a file for each trial in `samples/`, with the trial's description in the footer.

    trial = Trial({"probe": "wake-up", "method": "usleep"}, at_ns=[10, 20], value_ps=[7, 9])
    write_run("/tmp/run", [trial])
"""

from __future__ import annotations

import json
import os
import struct
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

LEFT_OUT = ("warm-up", "recorder")
CAUSES = ("preempted", "throttled", "stopped", "waited", "page-fault", "tick", "hard-interrupt",
          "softirq", "migration", "stolen", "smi", "unseen", "clock-step", "queued", "own", "unknown")
MARKS = LEFT_OUT + tuple(c + s for c in CAUSES for s in ("", " (counted)", " (polled)"))

SAMPLE_COLUMNS = {"at_ns": pa.int64(), "value_ps": pa.int64(), "n": pa.uint32(),
                  "missed": pa.uint32(), "mark": pa.string()}
BIN_COLUMNS = {"low_ps": pa.int64(), "high_ps": pa.int64(), "count": pa.int64(),
               "filled": pa.bool_()}
HISTOGRAM_COLUMNS = {"view": pa.string(), "low_ps": pa.int64(), "high_ps": pa.int64(),
                     "count": pa.int64()}
PARTS_COLUMNS = {"at_ns": pa.int64(), "ns": pa.int64(), "cause": pa.string(),
                 "by": pa.string(), "source": pa.string(), "because": pa.string()}
QUANTILES = {"p25_ns": 0.25, "median_ns": 0.5, "p75_ns": 0.75, "p90_ns": 0.9, "p95_ns": 0.95,
             "p99_ns": 0.99, "p99_9_ns": 0.999, "p99_99_ns": 0.9999}
VIEWS = ("measured", "undisturbed", "missed_filled", "batched")


@dataclass
class Trial:
    """One trial.  Sample columns that are left out have their ordinary value in every row."""

    factors: Mapping[str, str]
    at_ns: Any = ()
    value_ps: Any = ()
    n: Any = None  # operations that a value is the average of
    missed: Any = None  # periods missed before a sample
    mark: Any = None  # texts, None for ordinary samples
    block: int = 0
    period_ns: int | None = None
    started_ns: int = 0
    duration_ns: int = 1_000_000_000
    bins: Mapping[str, Any] | None = None  # the columns of `bins`: storage is then `tail`
    threshold_ps: int = 0  # of that storage
    side_tables: Mapping[str, pa.Table] = field(default_factory=dict)
    findings: Mapping[str, Any] | None = None
    measurement: Mapping[str, Any] = field(default_factory=dict)  # replaces the defaults
    load: Mapping[str, Any] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)  # further keys in `run.json`

    def samples(self) -> pa.Table:
        rows = len(self.value_ps)
        ordinary = {"n": np.ones(rows, np.uint32), "missed": np.zeros(rows, np.uint32),
                    "mark": pa.nulls(rows, pa.string())}
        given = {name: getattr(self, name) for name in SAMPLE_COLUMNS}
        return _table(SAMPLE_COLUMNS, {name: ordinary[name] if column is None else column
                                       for name, column in given.items()})

    def values(self) -> dict[str, np.ndarray]:
        """The values in picoseconds behind each set of figures of the summary."""
        value = np.asarray(self.value_ps, np.int64)
        single = np.ones(len(value), bool) if self.n is None else np.asarray(self.n) == 1
        counts, ordinary = np.ones(len(value), bool), np.ones(len(value), bool)
        if self.mark is not None:
            mark = np.asarray(self.mark, object)
            counts, ordinary = ~np.isin(mark, LEFT_OUT), np.equal(mark, None)
        sets = {"measured": value[single & counts], "batched": value[~single & counts]}
        if not np.all(ordinary[single & counts]):
            sets["undisturbed"] = value[single & ordinary]
        if self.period_ns is not None:
            missed = (np.zeros(len(value), np.uint32) if self.missed is None
                      else np.asarray(self.missed))[single & counts]
            sets["missed_filled"] = fill_missed(sets["measured"], missed, self.period_ns)
        if self.bins is not None:
            filled = np.asarray(self.bins["filled"], bool)
            binned = bin_middles(np.asarray(self.bins["low_ps"], np.int64))
            count = np.asarray(self.bins["count"], np.int64)
            for view in sets.keys() - {"batched"}:
                here = ~filled | (view == "missed_filled")
                sets[view] = np.concatenate([sets[view], np.repeat(binned[here], count[here])])
        return {view: values for view, values in sets.items() if len(values)}

    def missed_periods(self) -> int | None:
        if self.period_ns is None:
            return None
        sets = self.values()
        return len(sets.get("missed_filled", ())) - len(sets.get("measured", ()))

    def marked_samples(self) -> int:
        return 0 if self.mark is None else sum(mark is not None for mark in self.mark)


def fill_missed(value_ps: np.ndarray, missed: np.ndarray, period_ns: int) -> np.ndarray:
    """The values, and for each one L before which k periods d were missed L - d, ..., L - kd.

    Where these leave the range of int64, the result is in extended precision.
    """
    if not missed.any():
        return value_ps
    again = np.repeat(np.arange(len(value_ps)), missed)
    which = np.arange(len(again)) - np.repeat(np.cumsum(missed, dtype=np.int64) - missed, missed)
    if int(value_ps.min()) - int(missed.max()) * period_ns * 1000 < -2**63:
        exact = value_ps.astype(np.longdouble)
        step = (which + 1).astype(np.longdouble) * (period_ns * 1000)
        return np.concatenate([exact, exact[again] - step])
    return np.concatenate([value_ps, value_ps[again] - (which + 1) * (period_ns * 1000)])


def bin_ranges(value_ps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest value of the bins of three digits in which the values lie.

    Bins of one value below 2048, then 1024 bins for each power of two; below zero mirrored.
    """
    negative = value_ps < 0
    size = np.where(negative, 0 - value_ps.astype(np.uint64), value_ps.astype(np.uint64))
    bits = np.zeros(len(size), np.uint64)  # the length of each size in bits
    for step in (32, 16, 8, 4, 2, 1):
        longer = (size >> bits) >= np.uint64(1 << step)
        bits[longer] += np.uint64(step)
    shift = np.maximum(bits, np.uint64(10)) - np.uint64(10)
    width_less_one = (np.uint64(1) << shift) - np.uint64(1)
    near, far = size & ~width_less_one, size | width_less_one
    far = np.minimum(far, np.where(negative, np.uint64(2**63), np.uint64(2**63 - 1)))
    low = np.where(negative, 0 - far, near).view(np.int64)
    high = np.where(negative, 0 - near, far).view(np.int64)
    return low, high


def bin_middles(low_ps: np.ndarray) -> np.ndarray:
    """As what a value counts in figures that is known by its bin only."""
    low, high = bin_ranges(low_ps)
    return low + (high - low) // 2


def summarise(value_ps: np.ndarray) -> dict[str, Any]:
    """The figures of one set, in nanoseconds, by NumPy's definitions.

    Values that float64 does not hold exactly are taken in extended precision: differences
    of int64 would wrap around.
    """
    exact = value_ps.astype(np.float64)
    if np.abs(exact).max() >= 2.0**53:
        exact = value_ps.astype(np.longdouble)
    median = np.median(exact)
    quartiles = np.quantile(exact, [0.25, 0.75])
    figures = {name: np.quantile(exact, q) for name, q in QUANTILES.items()}
    figures |= {
        "min_ns": exact.min(), "max_ns": exact.max(), "mean_ns": exact.mean(dtype=np.longdouble),
        "median_absolute_deviation_ns": np.median(np.abs(exact - median)),
        "half_interquartile_range_ns": (quartiles[1] - quartiles[0]) / 2,
    }
    if len(exact) > 1:
        figures["standard_deviation_ns"] = exact.std(ddof=1, dtype=np.longdouble)
    in_ns = {name: float(figure / 1000) for name, figure in figures.items()}
    return {"samples": len(exact), "standard_deviation_ns": None} | in_ns


def order(value_ps: np.ndarray) -> dict[str, list[float]]:
    """How values follow one another: the strength of slow movements, and of the next ones."""
    n, edges = len(value_ps), np.arange(65) * len(value_ps) // 64
    wave = np.exp(2j * np.pi * np.outer(np.arange(1, 17), np.arange(64)) / 64)
    slowest, following = [], []
    for q in (0.5, 0.9, 0.99, 0.999):
        threshold = int(np.floor(np.quantile(value_ps.astype(np.longdouble), q)))
        above, at = (np.add.reduceat(here.astype(np.int64), edges[:-1])
                     for here in (value_ps > threshold, value_ps == threshold))
        share = np.clip(((1 - q) * n - above.sum()) / max(at.sum(), 1), 0, 1)
        counts = above + share * at
        power = np.abs(wave @ (counts - counts.sum() / n * np.diff(edges))) ** 2 / n
        slowest.append(power[:3].mean())
        following.append(power[3:].mean())
    return {"slowest": slowest, "next": following}


def checksum(table: pa.Table, columns: Sequence[str]) -> str:
    """The checksum of a table's content."""
    crc = zlib.crc32(struct.pack("<Q", table.num_rows))
    for name in columns:
        column = table[name].combine_chunks()
        crc = zlib.crc32(struct.pack("<I", len(name.encode())) + name.encode(), crc)
        if column.null_count:
            present = column.is_valid().to_numpy(zero_copy_only=False)
            crc = zlib.crc32(b"\1" + present.astype(np.uint8).tobytes(), crc)
            column = column.drop_null()
        else:
            crc = zlib.crc32(b"\0", crc)
        if pa.types.is_string(column.type):
            texts = [text.encode() for text in column.to_pylist()]
            content = b"".join(struct.pack("<I", len(text)) + text for text in texts)
        elif pa.types.is_boolean(column.type):
            content = column.to_numpy(zero_copy_only=False).astype(np.uint8).tobytes()
        else:
            numbers = column.to_numpy(zero_copy_only=False)
            content = numbers.astype(numbers.dtype.newbyteorder("<"), copy=False).tobytes()
        crc = zlib.crc32(content, crc)
    return f"{crc:08x}"


def write_run(directory: str | os.PathLike, trials: Sequence[Trial], finished: bool = True,
              listed: int | None = None, **header: Any) -> Path:
    """Writes a run and returns its directory, which must not exist yet.

    `header` adds to the keys of `run.json`, or replaces them.  `listed` says how many of
    the trials `run.json` lists, for a run whose process died before it wrote the others down.
    """
    run = Path(directory)
    run.mkdir(parents=True)
    records = [_record(number, trial) for number, trial in enumerate(trials)]
    files = _write_together(run, trials, records) if finished else []
    if not finished:
        _write_apart(run, trials, records)
    cells = {tuple(sorted(trial.factors.items())) for trial in trials}
    content = {
        "schema_version": 2, "run_id": str(uuid.uuid4()),
        "status": "complete" if finished else "interrupted",
        "command_line": ["run_generator"], "tool": "run_generator 1",
        "started_at": "2026-01-02T03:04:05Z", "finished_at": "2026-01-02T03:05:06Z",
        "design": {"order": "as given", "seed": 0, "cells": len(cells),
                   "blocks": 1 + max((trial.block for trial in trials), default=0)},
        "environment": {}, "guards": [], "notes": [], "throttling": None, "files": files,
    } | header | {"trials": records[:listed]}
    body = json.dumps(content, indent=2)[:-2]
    text = body + ',\n  "crc32": "%08x"\n}\n' % zlib.crc32(body.encode())
    _write_whole(run / "run.json", lambda path: path.write_text(text, encoding="utf-8"))
    return run


def _record(number: int, trial: Trial) -> dict[str, Any]:
    """A trial as `run.json` has it, without the places of its tables."""
    sets = trial.values()
    summary = {view: summarise(sets[view]) if view in sets else None for view in VIEWS}
    for view in ("measured",) if trial.missed_periods() else ("measured", "missed_filled"):
        if trial.bins is None and len(sets.get(view, ())) >= 64:
            summary[view]["order"] = order(sets[view])
    record = {
        "id": number, "factors": dict(trial.factors), "block": trial.block,
        "started_ns": trial.started_ns, "duration_ns": trial.duration_ns,
        "storage": {"kind": "complete"} if trial.bins is None else
                   {"kind": "tail", "limit_rows": 1 << 20, "threshold_ps": trial.threshold_ps},
        "tables": {},
        "measurement": {
            "technique": "generated", "clock": "none", "blind_spots": "none", "floor_ns": None,
            "wanted_samples": len(trial.value_ps), "ended_by_time": False,
            "memory_locked": False, "period_ns": trial.period_ns,
        } | dict(trial.measurement),
        "load": trial.load,
        "summary": summary | {"missed_periods": trial.missed_periods(),
                              "marked_samples": trial.marked_samples()},
    }
    if trial.findings is not None:
        record["findings"] = dict(trial.findings)
    return record | dict(trial.more)


def _tables(trial: Trial) -> dict[str, pa.Table]:
    """All tables of a trial but its histograms; the samples are the last."""
    tables = dict(trial.side_tables)
    if trial.bins is not None:
        tables["bins"] = _table(BIN_COLUMNS, trial.bins)
    return tables | {"samples": trial.samples()}


def _histograms(trial: Trial) -> pa.Table:
    sets = trial.values()
    parts = []
    for view in (view for view in VIEWS if view in sets):
        values = sets[view]
        if values.dtype != np.int64:  # beyond its range, where there are no bins
            values = np.clip(values, -2.0**63, np.longdouble(2**63 - 1)).astype(np.int64)
        low, high = bin_ranges(values)
        low, first, count = np.unique(low, return_index=True, return_counts=True)
        parts.append(_table(HISTOGRAM_COLUMNS, {"view": [view] * len(low), "low_ps": low,
                                                "high_ps": high[first], "count": count}))
    return pa.concat_tables([_table(HISTOGRAM_COLUMNS, dict.fromkeys(HISTOGRAM_COLUMNS, ()))]
                            + parts)


def _write_together(run: Path, trials: Sequence[Trial],
                    records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Writes the files of a finished run, enters the places of the tables into the records.

    Tables are made one after another as they are written: `trials` may make each trial anew
    when it is asked for, so that a run of any length needs the memory of one.
    """
    groups: dict[str, list[tuple[int, str]]] = {}
    for number, trial in enumerate(trials):
        probe = trial.factors["probe"]
        for name in [*_tables(trial), "histograms"]:
            file = {"samples": f"{probe}.parquet", "bins": "bins.parquet",
                    "histograms": "histograms.parquet"}.get(name, f"{probe}.{name}.parquet")
            groups.setdefault(file, []).append((number, name))
    files = []
    for file, members in groups.items():
        numbers = {number for number, _ in members}
        factors = sorted({factor for number in numbers for factor in records[number]["factors"]}
                         - SAMPLE_COLUMNS.keys() - {"trial", "block"})

        def whole(number: int, name: str) -> tuple[pa.Table, pa.Table]:
            """A table by itself, and with the columns that tell whose it is before its own."""
            trial = trials[number]
            table = _histograms(trial) if name == "histograms" else _tables(trial)[name]
            columns = {"trial": pa.repeat(pa.scalar(number, pa.uint32()), table.num_rows)}
            if name == "samples":
                columns["block"] = pa.repeat(pa.scalar(trial.block, pa.uint32()), table.num_rows)
                for factor in factors:
                    level = pa.scalar(trial.factors.get(factor), pa.string())
                    columns[factor] = pa.repeat(level, table.num_rows)
            columns |= {column: table[column] for column in table.column_names}
            return table, pa.table(columns)

        def row_groups() -> Iterator[pa.Table]:
            group = 0
            for number, name in members:
                table, columns = whole(number, name)
                records[number]["tables"][name] = _place(file, group, table)
                if table.num_rows:
                    group += 1
                    yield columns

        crc = _write_parquet(run / file, whole(*members[0])[1].schema, row_groups())
        files.append({"file": file, "bytes": (run / file).stat().st_size, "crc32": f"{crc:08x}"})
    return files


def _write_apart(run: Path, trials: Sequence[Trial], records: Sequence[dict[str, Any]]) -> None:
    """Writes the files of a run that is not finished, each trial's sample file last."""
    (run / "samples").mkdir()
    for number, trial in enumerate(trials):
        tables = _tables(trial)
        for name, table in tables.items():
            file = f"samples/{number:05}.{'' if name == 'samples' else name + '.'}parquet"
            records[number]["tables"][name] = _place(file, 0, table)
            if name == "samples":
                text = json.dumps(records[number])
                table = table.replace_schema_metadata({
                    "tompion.trial": text, "tompion.trial_crc32": f"{zlib.crc32(text.encode()):08x}"})
            _write_parquet(run / file, table.schema, [table])


def _table(columns: Mapping[str, pa.DataType], values: Mapping[str, Any]) -> pa.Table:
    return pa.table({name: pa.array(values[name], kind) if not isinstance(values[name], pa.Array)
                     else values[name] for name, kind in columns.items()})


def _place(file: str, row_group: int, table: pa.Table) -> dict[str, Any]:
    return {"file": file, "row_group": row_group, "rows": table.num_rows,
            "crc32": checksum(table, table.column_names)}


def _write_parquet(path: Path, schema: pa.Schema, row_groups: Iterable[pa.Table]) -> int:
    """Writes each table as one row group, and returns the CRC-32 of the file."""
    def write(temporary: Path) -> None:
        with pq.ParquetWriter(temporary, schema, compression="snappy") as writer:
            for table in row_groups:
                writer.write_table(table, row_group_size=max(1, table.num_rows))
    _write_whole(path, write)
    crc = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            crc = zlib.crc32(block, crc)
    return crc


def _write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Writes a file under a temporary name, syncs it, and gives it its name."""
    temporary = path.with_name(".tmp-" + path.name)
    write(temporary)
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.rename(path)
