"""Series of known truth, in picoseconds, as runs: what docs/validity.md draws, from files on.

Blocks follow one another in one series. Latencies are lognormal with a median of 50 us and a
sigma of 0.5, unless said otherwise.
"""

import numpy as np
from run_generator import Trial

MEDIAN_PS, SIGMA = 50e6, 0.5
FACTORS = {"probe": "wake-up", "method": "usleep", "target": "100us", "load": "idle"}
SECOND = 1_000_000_000


def lognormal(normal):
    return MEDIAN_PS * np.exp(SIGMA * normal)


def autoregression(rng, count, phi):
    noise = rng.standard_normal(count) * np.sqrt(1 - phi**2)
    noise[0] = rng.standard_normal()
    values = np.empty(count)
    last = 0.0
    for i, step in enumerate(noise):
        last = phi * last + step
        values[i] = last
    return values


def long_memory(rng, count):
    """Autoregressions whose time constants double from 1 to half a million samples, with variances
    that fall as their power of -0.2: what many short memories add up to (Granger 1980)."""
    times = 2.0 ** np.arange(20)
    variances = times**-0.2 / np.sum(times**-0.2)
    parts = zip(times, variances, strict=True)
    return sum(np.sqrt(variance) * autoregression(rng, count, np.exp(-1 / time)) for time, variance in parts)


def between_blocks(rng, blocks, size, share):
    """A share of the variance of the logarithms lies between blocks."""
    of_blocks = np.repeat(rng.standard_normal(blocks), size)
    return np.sqrt(share) * of_blocks + np.sqrt(1 - share) * rng.standard_normal(blocks * size)


def stalls(rng, count, together):
    """0.5 % of samples in stalls of so many in a row, each later by five medians times Pareto."""
    values = lognormal(rng.standard_normal(count))
    for begin in np.flatnonzero(rng.random(count) < 0.005 / together):
        later = 5 * MEDIAN_PS * (1 - rng.random()) ** (-1 / 1.5)
        values[begin : begin + together] += later
    return values


def regimes(rng, blocks, size):
    """Every third block is twice as slow."""
    slow = np.repeat(np.arange(blocks) % 3 == 2, size)
    return lognormal(rng.standard_normal(blocks * size)) * np.where(slow, 2, 1)


SERIES = {
    "independent": lambda rng, blocks, size: lognormal(rng.standard_normal(blocks * size)),
    "AR(0.9)": lambda rng, blocks, size: lognormal(autoregression(rng, blocks * size, 0.9)),
    "AR(0.99)": lambda rng, blocks, size: lognormal(autoregression(rng, blocks * size, 0.99)),
    "AR(0.999)": lambda rng, blocks, size: lognormal(autoregression(rng, blocks * size, 0.999)),
    "30 % between blocks": lambda rng, blocks, size: lognormal(between_blocks(rng, blocks, size, 0.3)),
    "long memory": lambda rng, blocks, size: lognormal(long_memory(rng, blocks * size)),
    "stalls of 10": lambda rng, blocks, size: stalls(rng, blocks * size, 10),
    "stalls of 50": lambda rng, blocks, size: stalls(rng, blocks * size, 50),
    "trend of 3 %": lambda rng, blocks, size: lognormal(rng.standard_normal(blocks * size))
    * np.linspace(1, 1.03, blocks * size),
    "regimes": regimes,
    "the ends of the range": lambda rng, blocks, size: np.where(rng.random(blocks * size) < 0.3, -9e18, 9e18),
}


def blocks_of(name, blocks=8, size=4000, seed=1):
    """The series in equal blocks of whole picoseconds."""
    values = SERIES[name](np.random.default_rng(seed), blocks, size)
    return values.round().astype(np.int64).reshape(blocks, size)


def trials(blocks, factors=FACTORS, length_ns=SECOND, **more):
    """A trial for each block, one after the other; samples at equal distances."""
    def trial(number, values):
        at_ns = (np.arange(len(values)) + 1) * length_ns // len(values)
        return Trial(factors, at_ns=at_ns, value_ps=values, block=number, started_ns=number * length_ns,
                     duration_ns=length_ns, **more)

    return [trial(number, values) for number, values in enumerate(blocks)]
