"""Exact permutation tests agree with SciPy's, relabelling by relabelling."""

import json
import subprocess

import numpy
import pytest

from conftest import example
from heavy import stats

CONFIDENCE = 0.9


@pytest.fixture(scope="module")
def permute():
    program = example("tompion-stats", "permute")

    def run(requests):
        done = subprocess.run(
            [str(program)], input=json.dumps(requests), capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    return run


def independent(a, b):
    def rank_sum(x, y, axis):
        return stats.rankdata(numpy.concatenate([x, y], axis=axis), axis=axis)[
            ..., x.shape[axis] :
        ].sum(axis=axis)

    return stats.permutation_test(
        (a, b), rank_sum, permutation_type="independent", vectorized=True, n_resamples=numpy.inf
    ).pvalue


def paired(a, b):
    def signed_ranks(x, y, axis):
        return (numpy.sign(y - x) * stats.rankdata(abs(y - x), axis=axis)).sum(axis=axis)

    return stats.permutation_test(
        (a, b), signed_ranks, permutation_type="samples", vectorized=True, n_resamples=numpy.inf
    ).pvalue


TESTS = {"independent": independent, "paired": paired}


def generate():
    random = numpy.random.default_rng(20260606)
    for n, m in [(2, 2), (2, 5), (4, 4), (7, 3), (6, 8), (8, 8)]:
        yield "independent", random.normal(0, 1, n), random.normal(0.7, 1, m)
        yield "independent", random.integers(0, 4, n), random.integers(0, 6, m)
        yield "independent", random.pareto(0.8, n) * 1e9, random.pareto(0.8, m) * 3e9
    for n in (2, 5, 8, 12):
        yield "paired", random.normal(0, 1, n), random.normal(0.7, 1, n)
        # Ties among the differences, and differences of zero.
        yield "paired", random.integers(0, 4, n), random.integers(0, 6, n)
        yield "paired", random.pareto(0.8, n) * 1e9, random.pareto(0.8, n) * 3e9


def test_permutation_tests_match(permute):
    cases = [(d, a.astype(float), b.astype(float)) for d, a, b in generate()]
    answers = permute(
        [
            {"a": a.tolist(), "b": b.tolist(), "design": d, "confidence": CONFIDENCE}
            for d, a, b in cases
        ]
    )
    intervals = 0
    for (design, a, b), got in zip(cases, answers, strict=True):
        assert got["p"] == pytest.approx(TESTS[design](a, b), rel=1e-9), (design, a, b)
        if got["low"] is None:
            assert got["least_p"] > 1 - CONFIDENCE
            continue
        intervals += 1
        # The interval holds the shifts that SciPy's test does not reject.
        beside = 1e-6 * (1 + abs(got["low"]) + abs(got["high"]))
        for end, outwards in ((got["low"], -beside), (got["high"], beside)):
            assert TESTS[design](a, b - (end + outwards)) <= 1 - CONFIDENCE + 1e-9
            if got["high"] - got["low"] > 4 * beside:
                inside = [TESTS[design](a, b - s) for s in (end, end - outwards)]
                assert max(inside) > 1 - CONFIDENCE
    assert intervals > 20
