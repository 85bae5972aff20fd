"""Summary statistics agree with NumPy and SciPy to 1e-9."""

import json
import subprocess

import numpy
import pytest

from conftest import example
from heavy import stats


@pytest.fixture(scope="module")
def summarise():
    program = example("tompion-store", "summarise")

    def run(values):
        done = subprocess.run(
            [str(program)],
            input="\n".join(map(str, values)),
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    return run


def generate():
    random = numpy.random.default_rng(20260101)
    heavy = random.pareto(1.1, 20_001) * 1e5
    mixed = numpy.concatenate([random.normal(50_000, 300, 9_990), random.pareto(0.8, 10) * 1e9])
    return {
        "heavy tail": heavy.clip(max=1e15).astype("int64"),
        "ties": random.integers(20, 30, 10_000) * 1_000,
        "one value": numpy.full(7, 123),
        "two values": numpy.array([1, 2]),
        "negative": random.integers(-5_000_000, 5_000_000, 4_999),
        "rare stalls": mixed.clip(max=1e15).astype("int64"),
        "large offset": random.integers(0, 1000, 5_000) + 10**14,
    }


@pytest.mark.parametrize("name", generate())
def test_summaries_match(summarise, name):
    values = generate()[name]
    ns = values / 1000
    got = summarise(values)
    quantiles = {
        "min_ns": 0,
        "p25_ns": 0.25,
        "median_ns": 0.5,
        "p75_ns": 0.75,
        "p90_ns": 0.9,
        "p95_ns": 0.95,
        "p99_ns": 0.99,
        "p99_9_ns": 0.999,
        "p99_99_ns": 0.9999,
        "max_ns": 1,
    }
    want = {key: numpy.quantile(ns, q) for key, q in quantiles.items()}
    want["mean_ns"] = ns.mean()
    # Without the offset: floating-point nanoseconds near 10^11 keep too few digits.
    want["standard_deviation_ns"] = (values - values.min()).std(ddof=1) / 1000
    want["median_absolute_deviation_ns"] = stats.median_abs_deviation(values) / 1000
    want["half_interquartile_range_ns"] = stats.iqr(values) / 2000
    assert got["samples"] == len(values)
    for key, value in want.items():
        assert got[key] == pytest.approx(value, rel=1e-9, abs=1e-9), key
