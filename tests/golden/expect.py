"""What a golden run holds, told by polars and not by Tompion.

    python tests/golden/expect.py RUN > tests/golden/version-N.json

`crates/tompion-store/tests` holds what every later version reads against it.
"""

import json
import sys
from pathlib import Path

import polars


def table(run, record, trial, name):
    """A table of a trial: by `tables`, or, in version 1, in files named after it."""
    if record["schema_version"] == 1:
        file = trial["sample_file"]
        kind = {"samples": "", "bins": ".bins", "parts": ".stalls"}.get(name)
        if kind is None:
            return None
        path = run / file.replace(".parquet", f"{kind}.parquet")
        return polars.read_parquet(path) if path.exists() else None
    if name not in trial["tables"]:
        return None
    at = trial["tables"][name]
    rows = polars.read_parquet(run / at["file"])
    return rows.filter(polars.col("trial") == trial["id"]) if "trial" in rows.columns else rows


def summed(parts):
    """Stalls by cause: how many parts, their lengths and their times added up."""
    by_cause = parts.group_by("cause").agg(
        polars.len(), polars.sum("ns"), polars.sum("at_ns"), polars.col("by").null_count().alias("by")
    )
    return {
        row["cause"]: [row["len"], row["ns"], row["at_ns"], row["len"] - row["by"]]
        for row in by_cause.sort("cause").iter_rows(named=True)
    }


def stamps(packets):
    """Of each column how many values it has and their sum, modulo 2^64; of words how often each stands there."""

    def told(column):
        there = column.drop_nulls()
        if column.dtype == polars.String:
            words = there.value_counts().sort(column.name)
            return dict(zip(words[column.name].to_list(), words["count"].to_list()))
        return [len(there), sum(there.to_list()) % 2**64]

    return {name: told(packets[name]) for name in packets.columns if name != "trial"}


def expect(run, record, trial):
    samples = table(run, record, trial, "samples")
    bins, parts = (table(run, record, trial, name) for name in ("bins", "parts"))
    counted = ~polars.col("mark").is_in(["warm-up", "recorder"]).fill_null(False)
    single = samples.filter(counted & (polars.col("n") == 1))["value_ps"]
    packets = table(run, record, trial, "packets")
    marks = samples["mark"].drop_nulls().value_counts().sort("mark")
    return {
        "factors": trial["factors"],
        "block": trial["block"],
        "rows": len(samples),
        "last_at_ns": samples["at_ns"].max(),
        "sum_ps": samples["value_ps"].sum(),
        "sum_n": int(samples["n"].cast(polars.Int64).sum()),
        "sum_missed": int(samples["missed"].cast(polars.Int64).sum()),
        "marks": dict(zip(marks["mark"].to_list(), marks["count"].to_list())),
        # Where all have rows; of others the summary is in bins.
        "median_ns": single.median() / 1000 if bins is None else None,
        "stated_median_ns": trial["summary"]["measured"]["median_ns"],
        "binned": None if bins is None else int(bins["count"].sum()),
        "parts": None if parts is None else summed(parts),
    } | ({} if packets is None else {"packets": stamps(packets)})


def main():
    run = Path(sys.argv[1])
    record = json.loads((run / "run.json").read_text())
    told = {
        "schema_version": record["schema_version"],
        "status": record["status"],
        "hostname": record["environment"]["hostname"],
        "clocksource": record["environment"]["clock"]["clocksource"],
        "cpu_model": record["environment"]["machine"]["cpu_model"],
        "platforms": [p["level"] for p in record.get("platforms", [])],
        "trials": [expect(run, record, trial) for trial in record["trials"]],
    }
    print(json.dumps(told, indent=1))


main()
