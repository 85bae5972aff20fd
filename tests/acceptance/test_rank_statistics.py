"""Rank statistics agree with SciPy, scikit-posthocs and R to 1e-9, the studentized range to 1e-6."""

import itertools
import math

import numpy
import pytest

from rank_witness import ask, close, r, r_lines, vector  # noqa: F401
from heavy import integrate, optimize, scikit_posthocs, stats


def grouped(groups):
    """R code that makes x, the values, and g, their groups."""
    labels = numpy.repeat(numpy.arange(len(groups)), [len(g) for g in groups])
    return f"x <- {vector(numpy.concatenate(groups))}; g <- factor({vector(labels)})\n"


def latencies(random, n, shift=0):
    """Like wake-up latencies: a narrow body and a heavy tail, in whole units."""
    body = random.lognormal(4, 0.3, n) + shift
    tail = random.pareto(1.2, n) * 1e4 * (random.random(n) < 0.02)
    return (body + tail).clip(max=1e15).astype("int64")


def generate():
    random = numpy.random.default_rng(20260601)
    return {
        "ties": [random.integers(20, 30 + i, 200) for i in range(4)],
        "heavy tails": [(random.pareto(0.9, 500 + i) * 1e6).astype("int64") for i in range(5)],
        "tiny": [numpy.array(v) for v in ([5], [3, 9], [1, 4, 7])],
        "tiny with ties": [numpy.array(v) for v in ([5], [5, 9], [1, 5, 7])],
        "huge": [latencies(random, 100_000, shift) for shift in (0, 0.1, 1)],
        "huge beside tiny": [latencies(random, 100_000), numpy.array([40, 60, 900]), numpy.array([70])],
        "all apart": [numpy.arange(900), numpy.arange(900) + 10_000],
        "negative": [random.integers(-1000, 1000, n) for n in (20, 35, 50)],
    }


GROUPS = generate()
every = pytest.mark.parametrize("name", GROUPS)
ADJUSTMENTS = {"none": None, "bonferroni": "bonferroni", "holm": "holm", "benjamini-hochberg": "fdr_bh"}


@every
def test_counting(ask, name):
    for values in GROUPS[name]:
        got = ask("summary", groups=[values])
        distinct, counts = numpy.unique(values, return_counts=True)
        assert got["ccdf_values"] == distinct.tolist()
        close(got["ccdf_shares"], (counts[::-1].cumsum()[::-1] / len(values)).tolist())
        close([got["count"], got["mean"]], [len(values), values.mean()])
        if len(values) > 1:
            close(got["sd"], values.std(ddof=1))
        else:
            assert got["sd"] is None
        close(got["quantiles"], numpy.quantile(values, [0.5, 0.9, 0.99, 0.999]).tolist())


@every
def test_kruskal_wallis(ask, name):
    groups = GROUPS[name]
    got = ask("kruskal", groups=groups)
    want = stats.kruskal(*groups)
    close([got["h"], got["p"]], [want.statistic, want.pvalue])
    found = r(
        grouped(groups)
        + "k <- kruskal.test(x, g); show('h', k$statistic); show('p', k$p.value); show('df', k$parameter)"
    )
    close([got["h"], got["p"], got["df"]], [found["h"][0], found["p"][0], found["df"][0]])
    close(got["epsilon_squared"], want.statistic / (sum(map(len, groups)) - 1))


@every
def test_dunn(ask, name):
    groups = GROUPS[name]
    for ours, theirs in ADJUSTMENTS.items():
        want = scikit_posthocs.posthoc_dunn(groups, p_adjust=theirs).to_numpy()
        for pair in ask("dunn", groups=groups, adjustment=ours):
            close(pair["p_adjusted"], want[tuple(pair["pair"])])


def test_adjusted_p(ask):
    random = numpy.random.default_rng(3)
    p = numpy.concatenate([random.random(30), [0.02, 0.02, 0.0, 1.0, 1e-300]])
    found = r(f"p <- {vector(p)}\nfor (m in c('holm', 'bonferroni', 'BH')) show(m, p.adjust(p, m))")
    for ours, theirs in {"holm": "holm", "bonferroni": "bonferroni", "benjamini-hochberg": "BH"}.items():
        close(ask("adjust", p=p, adjustment=ours), found[theirs])


@every
def test_mann_whitney(ask, name):
    a, b = GROUPS[name][:2]
    tied = len(numpy.unique(numpy.concatenate([a, b]))) < len(a) + len(b)
    for tail in ("two-sided", "greater", "less"):
        for ours, theirs in {"auto": "auto", "normal": "asymptotic"}.items():
            if theirs == "auto" and len(a) + len(b) > 10_000 and not tied:
                continue
            want = stats.mannwhitneyu(a, b, alternative=tail, method=theirs)
            got = ask("mann-whitney", groups=[a, b], tail=tail, method=ours)
            close([got["u"], got["p"]], [want.statistic, want.pvalue])
    if tied:
        refused = ask("mann-whitney", groups=[a, b], tail="less", method="exact")
        assert "tied" in refused["error"]


@pytest.mark.parametrize("sizes", [(1, 1), (3, 2), (8, 7), (3, 2000), (8, 300), (25, 30), (45, 45)])
def test_exact_p(ask, sizes):
    random = numpy.random.default_rng(sizes)
    values = random.permutation(sum(sizes)) * 3
    a, b = values[: sizes[0]], values[sizes[0] :]
    words = {"two-sided": "two.sided", "greater": "greater", "less": "less"}
    found = r(
        f"a <- {vector(a)}; b <- {vector(b)}\n"
        "for (w in c('two.sided', 'greater', 'less')) show(w, wilcox.test(a, b, w, exact=TRUE)$p.value)"
    )
    for tail, word in words.items():
        got = ask("mann-whitney", groups=[a, b], tail=tail, method="exact")
        assert got["exact"]
        close(got["p"], found[word][0])
        if min(sizes) <= 8:
            close(got["p"], stats.mannwhitneyu(a, b, alternative=tail, method="exact").pvalue)


def test_exact_p_of_three_beside_a_hundred_thousand(ask):
    """All triples of ranks whose sum is as small, counted one smallest rank after another."""
    n, u = 100_003, 4_000
    a = [500, 1_200, u + 6 - 1_700]
    b = numpy.setdiff1d(numpy.arange(1, n + 1), a)
    count = 0
    for first in range(1, u // 3 + 3):
        second = numpy.arange(first + 1, (u + 6 - first) // 2 + 1)
        count += numpy.maximum(0, (u + 6 - first - second).clip(max=n) - second).sum()
    got = ask("mann-whitney", groups=[a, b], tail="less", method="auto")
    assert got["exact"] and got["u"] == u
    close(got["p"], float(count) / math.comb(n, 3))


@every
def test_superiority(ask, name):
    a, b = GROUPS[name][:2]
    got = ask("effect", groups=[a, b])
    n, m = len(a), len(b)
    of_a, of_b = placements(a, b), placements(b, a)
    close(got["a"], of_a.mean())
    close(got["cliffs_delta"], 2 * of_a.mean() - 1, absolute=1e-15)
    if got["method"] == "LogitBrunnerMunzel":
        u, v = of_a.var(ddof=1) / n, of_b.var(ddof=1) / m
        df = (u + v) ** 2 / (u**2 / (n - 1) + v**2 / (m - 1))
        w = stats.brunnermunzel(a, b)
        close(abs(of_a.mean() - 0.5) / math.sqrt(u + v), abs(w.statistic))
        half = stats.t.ppf(0.975, df) * math.sqrt(u + v) / (of_a.mean() * of_b.mean())
        logit = math.log(of_a.mean() / of_b.mean())
        want = [1 / (1 + math.exp(-logit - side * half)) for side in (-1, 1)]
    else:
        assert min(n, m) == 1 or of_a.mean() in (0, 1)
        want = newcombe(of_a.mean(), n, m)
    close(got["interval"], want, absolute=1e-15)


def placements(of, against):
    """The share of `against` below each value, equal ones half."""
    against = numpy.sort(against)
    left, right = (numpy.searchsorted(against, of, side) for side in ("left", "right"))
    return (left + right) / 2 / len(against)


def newcombe(a, n, m):
    z = stats.norm.ppf(0.975)

    def outside(t):
        spread = 1 + ((n + m) / 2 - 1) * ((1 - t) / (2 - t) + t / (1 + t))
        return (a - t) ** 2 - z**2 * t * (1 - t) * spread / (n * m)

    low = 0.0 if a == 0 else optimize.brentq(outside, 1e-300, a - 1e-15, xtol=1e-15)
    high = 1.0 if a == 1 else optimize.brentq(outside, a + 1e-15, 1 - 1e-16, xtol=1e-15)
    return [low, high]


@every
def test_shift(ask, name):
    a, b = (g[:1500] for g in GROUPS[name][:2])
    got = ask("effect", groups=[a, b])
    differences = numpy.sort(numpy.subtract.outer(a, b).ravel())
    assert got["shift"] == numpy.median(differences)
    if got["exact"]:
        found = r(
            f"w <- wilcox.test({vector(a)}, {vector(b)}, exact=TRUE, conf.int=TRUE)\n"
            "show('i', w$conf.int); show('e', w$estimate)"
        )
        close(got["shift"], found["e"][0])
        # R gives an interval of a lower level where 95 % cannot be had.
        assert got["shift_interval"] is None
        return
    n, m = len(a), len(b)
    cut = math.floor(n * m / 2 - stats.norm.ppf(0.975) * math.sqrt(n * m * (n + m + 1) / 12))
    want = [differences[cut - 1], differences[-cut]] if cut > 0 else None
    assert got["shift_interval"] == want


@pytest.mark.parametrize("sizes", [(4, 5), (8, 8), (6, 30), (8, 1000)])
def test_exact_shift_interval(ask, sizes):
    random = numpy.random.default_rng(sizes)
    values = random.choice(10**9, sum(sizes), replace=False)
    a, b = values[: sizes[0]], values[sizes[0] :] + 10**8
    for level in (0.8, 0.95):
        got = ask("effect", groups=[a, b], level=level)
        found = r(
            f"w <- wilcox.test({vector(a)}, {vector(b)}, exact=TRUE, conf.int=TRUE, conf.level={level})\n"
            "show('i', w$conf.int); show('e', w$estimate)"
        )
        assert got["exact"] and got["shift_interval"] == found["i"]
        close(got["shift"], found["e"][0])


def test_bootstrap_interval_of_epsilon_squared(ask):
    """Both ends fall where SciPy's bootstrap puts them, within Monte Carlo error."""
    groups = [g[:120] for g in GROUPS["ties"][:3]]
    got = ask("kruskal", groups=groups, resamples=4000)
    n = sum(map(len, groups))
    want = stats.bootstrap(
        groups,
        lambda *g: stats.kruskal(*g).statistic / (n - 1),
        vectorized=False,
        n_resamples=1500,
        method="percentile",
        rng=numpy.random.default_rng(1),
    ).confidence_interval
    width = want.high - want.low
    close(got["interval"], [want.low, want.high], absolute=0.12 * width)


def test_studentized_range(ask):
    """SciPy holds to 1e-9. R's ptukey is itself off by 1e-6, and far more with few degrees of freedom."""
    q = [0.3, 1.0, 2.0, 3.5, 5.0, 8.0, 15.0, 40.0]
    p = [0.5, 0.1, 0.05, 0.01, 1e-4]
    code = []
    answers = {}
    for groups, df in itertools.product((2, 3, 10, 100), (2, 3, 5, 12, 60, 1000, 20_000, 100_000, math.inf)):
        ours = df if df < math.inf else None
        got = answers[groups, df] = ask("studentized-range", groups=groups, df=ours, q=q, p=p)
        close(numpy.add(got["lower"], got["upper"]), numpy.ones(len(q)))
        # From there on SciPy takes df as infinite.
        if df != 100_000:
            close(got["lower"], stats.studentized_range.cdf(q, groups, df), rel=0, absolute=1e-9)
        tail = f"{groups}, {df if ours else 'Inf'}, lower.tail=FALSE"
        code.append(f"show('upper', ptukey({vector(q)}, {tail}))")
        code.append(f"show('p', ptukey({vector(got['upper_quantile'])}, {tail}))")
        code.append(f"show('q', qtukey({vector(p)}, {tail}))")
    lines = r_lines("\n".join(code))
    for i, ((groups, df), got) in enumerate(answers.items()):
        upper, back, quantiles = (numbers for _, numbers in lines[3 * i : 3 * i + 3])
        if df in (60, 1000, 20_000, math.inf):
            close(got["upper"], upper, rel=0, absolute=1e-6)
            close(p, back, rel=0, absolute=2e-6)
            # qtukey does not always find its root.
            found = numpy.isfinite(quantiles)
            close(numpy.array(got["upper_quantile"])[found], numpy.array(quantiles)[found], rel=2e-5)
            assert found.sum() >= 4
        if df == 100_000:
            # What is left of the limit falls as 1 / df.
            near, far, limit = (numpy.array(answers[groups, d]["lower"]) for d in (20_000, df, math.inf))
            close(far - limit, (near - limit) / 5, rel=0, absolute=1e-7)
    for groups, df in ((3, 5), (10, 20), (40, math.inf), (100, 60)):
        ours = df if df < math.inf else None
        found = ask("studentized-range", groups=groups, df=ours, q=[], p=[0.5, 0.05])
        close(found["upper_quantile"], stats.studentized_range.ppf([0.5, 0.95], groups, df), rel=1e-6)


def test_far_tails_of_the_studentized_range(ask):
    """Two groups are Student's t; more with known spread are one integral, else a plain sum."""
    q = [3.0, 10.0, 30.0, 300.0]
    for df in (2, 7, 50, 100_000):
        got = ask("studentized-range", groups=2, df=df, q=q, p=[1e-30])
        want = 2 * stats.t.sf(numpy.array(q) / math.sqrt(2), df)
        for ours, theirs in zip(got["upper"], want):
            if theirs > 1e-290:
                close(ours, theirs, rel=1e-9)
        close(got["upper_quantile"][0], math.sqrt(2) * stats.t.isf(5e-31, df), rel=1e-9)
    for groups in (3, 20, 100):
        got = ask("studentized-range", groups=groups, df=None, q=[6, 12, 25, 45], p=[])
        for w, ours in zip((6, 12, 25, 45), got["upper"]):

            def part(z, w=w, n=groups - 1):
                lower = stats.norm.logcdf(z)
                kept = math.expm1(n * math.log1p(-math.exp(stats.norm.logcdf(z - w) - lower)))
                # Scaled to the peak, since quad cannot see numbers near 1e-300.
                return -math.exp(n * lower - z * z / 2 + w * w / 4) * kept

            whole = integrate.quad(part, w / 2 - 9, w / 2 + 9, epsabs=0, epsrel=1e-11, limit=500)[0]
            close(ours, groups * whole * math.exp(-w * w / 4) / math.sqrt(2 * math.pi), rel=1e-9)
    for groups, df, q in ((3, 5, 200.0), (10, 20, 40.0), (100, 60, 25.0), (50, 3, 1e4)):
        got = ask("studentized-range", groups=groups, df=df, q=[q], p=[])
        close(got["upper"][0], summed_tail(groups, df, q), rel=1e-9)


def summed_tail(groups, df, q):
    """Both integrals by Gauss and Legendre: spreads s of q s < 60, then the largest mean."""
    nodes, weights = numpy.polynomial.legendre.leggauss(300)
    inner_nodes, inner_weights = numpy.polynomial.legendre.leggauss(1000)
    s, z = 30 / q * (nodes + 1), 40 * inner_nodes
    at = z[:, None] - q * s
    lower = stats.norm.logcdf(z)[:, None]
    kept = numpy.expm1((groups - 1) * numpy.log1p(-numpy.exp((stats.norm.logcdf(at) - lower).clip(max=-1e-15))))
    inner = -40 * inner_weights @ (stats.norm.pdf(z)[:, None] * numpy.exp((groups - 1) * lower) * kept)
    density = stats.chi.pdf(s * math.sqrt(df), df) * math.sqrt(df)
    return groups * 30 / q * weights @ (density * inner)


@every
def test_tukey_on_ranks(ask, name):
    groups = GROUPS[name]
    found = r(
        grouped(groups) + "t <- TukeyHSD(aov(rank(x) ~ g))$g\nshow('d', t[, 1]); show('p', t[, 4])"
    )
    got = ask("tukey", groups=groups)
    ranks = numpy.split(stats.rankdata(numpy.concatenate(groups)), numpy.cumsum(list(map(len, groups)))[:-1])
    scipy = stats.tukey_hsd(*ranks) if min(map(len, groups)) > 1 else None
    # With more than 25000 degrees of freedom R, and above 100000 SciPy, take them as infinite.
    coarse = 2e-5 if sum(map(len, groups)) > 25_000 else 0
    for pair, difference, p in zip(got, found["d"], found["p"]):
        # R gives the second group less the first.
        close(pair["difference"], -difference, absolute=1e-9)
        close(pair["p"], p, rel=0, absolute=max(1e-6, coarse))
        if scipy is not None:
            close(pair["p"], scipy.pvalue[tuple(pair["pair"])], rel=0, absolute=max(1e-9, coarse))
