"""Reading runs, and changing them as somebody might who knows docs/run-format.md."""

import json
import zlib

from heavy import polars


def record_of(directory):
    """What `run.json` holds, without its checksum."""
    record = json.loads((directory / "run.json").read_text())
    record.pop("crc32", None)
    return record


def write_record(directory, record):
    """Writes `run.json`, with its checksum from format version 2 on."""
    body = json.dumps(record, indent=2)
    if record["schema_version"] > 1:
        body = body[:-2]
        body += ',\n  "crc32": "%08x"\n}\n' % zlib.crc32(body.encode())
    (directory / "run.json").write_text(body)


def require_few_files(directory, beside=()):
    """A finished run: what it lists, its page where there is one, and what is `beside` it."""
    found = {str(p.relative_to(directory)) for p in directory.rglob("*")}
    listed = {f["file"] for f in record_of(directory)["files"]}
    assert listed and len(found) <= 12, found
    assert found - {"report.html"} == listed | {"run.json", *beside}


def table_of(directory, trial, name="samples"):
    """A table of a trial of a finished run, as polars reads it."""
    at = trial["tables"][name]
    rows = polars.read_parquet(directory / at["file"])
    if "trial" in rows.columns:
        rows = rows.filter(polars.col("trial") == trial["id"])
    assert len(rows) == at["rows"]
    return rows
