"""Factorial analyses on ranks agree with R's aov on ranks and on aligned ranks to 1e-9."""

import csv
import itertools

import numpy
import pytest

from rank_witness import DATA, ask, close, r, vector  # noqa: F401

# Aligns by base R alone: what the model leaves, and the effect by inclusion and exclusion.
R_ALIGNED = """
effect <- function(f) {
  e <- 0
  for (k in 0:length(f)) for (s in combn(length(f), k, simplify = FALSE)) {
    m <- if (k == 0) mean(y) else do.call(ave, c(list(y), d[f[s]]))
    e <- e + (-1)^(length(f) - k) * m
  }
  e
}
left <- residuals(aov(model, d))
for (f in effects) {
  name <- paste(f, collapse = ':')
  d$y <- rank(y)
  a <- anova(aov(model, d))
  h <- a[name, 2] / var(rank(y))
  show(paste0('srh-', name), c(a[name, 2], a[name, 1], h, pchisq(h, a[name, 1], lower.tail = FALSE),
    a['Residuals', 2], a['Residuals', 1]))
  d$y <- rank(round((left + effect(f)) / max(abs(y)), 11))
  a <- anova(aov(model, d))
  show(paste0('art-', name), c(a[name, 2], a[name, 1], a[name, 4], a[name, 5], a['Residuals', 2],
    a['Residuals', 1]))
}
"""
FIGURES = ("sum_of_squares", "df", "statistic", "p", "error_sum_of_squares", "error_df")


def in_r(factors, rows, single):
    """Both analyses of a table by R."""
    columns = ", ".join(
        f"{name} = factor(c({','.join(repr(levels[i]) for levels, _ in rows)}))"
        for i, name in enumerate(factors)
    )
    sets = [s for k in range(1, len(factors) + 1) for s in itertools.combinations(factors, k)]
    if single:
        sets.pop()
    listed = ", ".join("c(" + ",".join(map(repr, s)) + ")" for s in sets)
    model = " + ".join(":".join(s) for s in sets)
    return r(
        f"y <- {vector([value for _, value in rows])}\nd <- data.frame(y = y, {columns})\n"
        f"effects <- list({listed})\nmodel <- y ~ {model}\n" + R_ALIGNED
    )


def compare(ask, factors, rows, single=False):
    want = in_r(factors, rows, single)
    for do, prefix in {"aligned-ranks": "art", "scheirer-ray-hare": "srh"}.items():
        got = ask(do, factors=factors, rows=rows)
        assert got["untested"] == (":".join(factors) if single else None)
        assert len(got["effects"]) == len(want) / 2
        for name, effect in got["effects"].items():
            theirs = want[f"{prefix}-{name}"]
            close([effect[f] for f in FIGURES], theirs, absolute=1e-12)
        if prefix == "art":
            assert got["largest_aligned_f"] < 1e-9
    return want


def designs():
    random = numpy.random.default_rng(20260602)
    kinds = {
        "ties": lambda at: int(random.integers(0, 8)) + at[0],
        "heavy tails": lambda at: round(float(random.pareto(0.9)) * 1000 * (1 + at[-1]), 3),
        "crossed": lambda at: float(random.normal(30 * (at[0] + at[1]) % 60, 5)),
    }
    shapes = [((2, 3), 5), ((4, 2), 12), ((3, 2, 4), 3), ((2, 2, 2), 40), ((4, 3), 1), ((3, 2, 4), 1)]
    for (kind, value), (shape, per_cell) in itertools.product(kinds.items(), shapes):
        rows = [
            ([f"l{i}" for i in at], value(at))
            for at in itertools.product(*map(range, shape))
            for _ in range(per_cell)
        ]
        random.shuffle(rows)
        yield pytest.param(rows, per_cell == 1, id=f"{kind} {shape} x {per_cell}")


@pytest.mark.parametrize("rows, single", list(designs()))
def test_both_analyses_match_r(ask, rows, single):  # noqa: F811
    factors = ["A", "B", "C"][: len(rows[0][0])]
    compare(ask, factors, rows, single)


@pytest.mark.parametrize("name", ["midichlorians", "rats"])
def test_worked_examples(ask, name):  # noqa: F811
    lines = (line for line in (DATA / f"{name}.csv").read_text().splitlines() if line[0] != "#")
    header, *body = csv.reader(lines)
    compare(ask, header[:2], [(line[:2], float(line[2])) for line in body])


def test_a_lopsided_table_is_refused(ask):  # noqa: F811
    rows = [(["a", "x"], 1), (["a", "y"], 2), (["b", "x"], 3), (["b", "y"], 4), (["b", "y"], 5)]
    error = ask("aligned-ranks", factors=["A", "B"], rows=rows)["error"]
    assert error.startswith("unbalanced table: 1 for A=a B=x but 2 for A=b B=y")
    error = ask("scheirer-ray-hare", factors=["A", "B"], rows=rows[:3])["error"]
    assert error.startswith("no value for A=b B=y")
