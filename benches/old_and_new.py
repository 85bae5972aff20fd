"""Two builds of a program by turns: does the new one cost more than the old?

    python benches/old_and_new.py OLD NEW [--times 10] [--limit 1.03] [--figure PATH] -- ARGUMENTS

Runs `OLD ARGUMENTS` and `NEW ARGUMENTS` in turn, each first in every other pair, and prints
their medians and the median ratio of the pairs with an interval of at least 95 % by ranks
(sign test), of CPU time and peak memory. CPU time is that of the process and its children, so
that what else the machine does matters little; the peak is at least Python's own 16 MB.
--limit: exit status 1 where the median ratio of CPU time, or of the figure, is above it.

    python benches/old_and_new.py old/tompion new/tompion -- report RUN --json

With --figure, the same of a figure in the JSON that the programs print. `*` is all of a list,
`role=ours` those of a list that have that key so; of several numbers the median counts. Both
programs must be built by `cargo build --release`: what the tests build lies in the same place.

    python benches/old_and_new.py old/tompion-time-bench new/tompion-time-bench \\
        --figure 'read.sections.*.sources.role=ours.block_ns.*' -- --only read --quick --json
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile


def run(program, arguments, figure):
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([program, *arguments], stdout=out)
        _, status, used = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status) != 0:
            sys.exit(f"{program} {' '.join(arguments)}: status {os.waitstatus_to_exitcode(status)}")
        measured = {"CPU s": used.ru_utime + used.ru_stime, "peak MB": used.ru_maxrss * 1024 / 1e6}
        if figure:
            out.seek(0)
            # Null where the machine let none be measured.
            found = [n for n in numbers(json.load(out), figure.split(".")) if n is not None]
            if not found:
                sys.exit(f"{program}: its JSON has no {figure}")
            measured[figure] = statistics.median(found)
    return measured


def numbers(value, path):
    if not path:
        yield value
    elif path[0] == "*":
        for element in value:
            yield from numbers(element, path[1:])
    elif "=" in path[0]:
        key, wanted = path[0].split("=", 1)
        for element in value:
            if element.get(key) == wanted:
                yield from numbers(element, path[1:])
    elif path[0] in value:
        yield from numbers(value[path[0]], path[1:])


def interval(values, level=0.95):
    """(low, high, its level) for the median, by ranks; None of fewer than six values."""
    ordered, n = sorted(values), len(values)
    for cut in range(n // 2, 0, -1):
        outside = 2 * sum(math.comb(n, k) for k in range(cut)) / 2**n
        if 1 - outside >= level:
            return ordered[cut - 1], ordered[n - cut], 1 - outside
    return None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--times", type=int, default=10, help="pairs [10]")
    parser.add_argument("--limit", type=float, help="largest median ratio")
    parser.add_argument("--figure", help="path of a figure in the programs' JSON")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    asked = parser.parse_args(sys.argv[1:end])
    arguments = sys.argv[end + 1 :]
    pairs = []
    for turn in range(asked.times):
        programs = [asked.old, asked.new][:: -1 if turn % 2 else 1]
        pair = [run(program, arguments, asked.figure) for program in programs]
        pairs.append(pair[:: -1 if turn % 2 else 1])
    is_beyond = False
    for name in pairs[0][0]:
        old, new = ([measured[name] for measured in side] for side in zip(*pairs))
        ratios = [n / o for o, n in zip(old, new)]
        middle = statistics.median(ratios)
        bounds = interval(ratios)
        within = f"{bounds[0]:.3f} to {bounds[1]:.3f} ({bounds[2]:.1%})" if bounds else "too few pairs"
        print(f"{name}: old {statistics.median(old):.4g}, new {statistics.median(new):.4g}, "
              f"ratio {middle:.3f}, {within}, {len(ratios)} pairs")
        is_judged = asked.limit is not None and name == (asked.figure or "CPU s")
        is_beyond |= is_judged and middle > asked.limit
    return 1 if is_beyond else 0


if __name__ == "__main__":
    sys.exit(main())
