"""Runs as large as honest ones get, written trial by trial: `python large_run.py DIR [STEP_PS [SEED]]`.

A hundred trials of a million latencies with a heavy tail, in steps of so many picoseconds: in
whole nanoseconds a trial has some ten thousand values, in picoseconds hardly two are the same.
"""

import itertools
import sys
from collections.abc import Sequence

import numpy
from run_generator import Trial, write_run

ROWS, TRIALS = 10**6, 100
METHODS = ("clock-nanosleep-abs", "usleep")
LOADS = ("idle", "cpu")


class Trials(Sequence):
    """Each trial is made when it is asked for, so that writing a run takes the memory of one."""

    def __init__(self, step_ps=1000, seed=0):
        self.step_ps, self.seed = step_ps, seed

    def __len__(self):
        return TRIALS

    def __getitem__(self, number):
        if not 0 <= number < TRIALS:
            raise IndexError(number)
        return Trial(self.factors(number), at_ns=self.ends(number), value_ps=self.values(number), block=number // 4)

    def factors(self, number):
        load, method = list(itertools.product(LOADS, METHODS))[number % 4]
        return {"probe": "wake-up", "method": method, "target": "100 µs", "timer-slack": "1 ns", "load": load}

    def values(self, number):
        draw = numpy.random.default_rng(TRIALS * self.seed + number)
        values = draw.lognormal(numpy.log(55e3), 0.1, ROWS)
        late = draw.random(ROWS) < 0.01
        values[late] += draw.pareto(1.1, late.sum()) * 20e3
        steps = numpy.rint(values.clip(max=1e9) * (1000 / self.step_ps))
        return steps.astype(numpy.int64) * self.step_ps

    def ends(self, number):
        return numpy.cumsum(self.values(number) // 1000 + 100_000)


if __name__ == "__main__":
    write_run(sys.argv[1], Trials(*map(int, sys.argv[2:])))
