"""libfaketime (https://github.com/wolfcw/libfaketime) replaces the same calls to another
end. Beside it the time is what it says. And what was reported against it is a test here,
each of its troubles named after the issue.
"""

import shutil

import pytest

from preload import (
    LIBRARY,
    PLAIN,
    check,
    command,
    every_mode,
    every_policy,
    faketime,
    jemalloc,
    library,
    program,
    run,
)

# jemalloc works with the clock all the time: memory is given back at once, by a
# thread of its own.
BUSY_JEMALLOC = {"MALLOC_CONF": "background_thread:true,dirty_decay_ms:1,muzzy_decay_ms:1"}


# Beside it -------------------------------------------------------------------------


# The beginning of 2020, and 21 minutes later.
BEGIN_2020 = 1577836800
ASKED = "2020-01-01 00:21:00"
TOLD = f"{BEGIN_2020 + 1260}"


@every_mode
@pytest.mark.parametrize("order", ["first", "last"])
def test_the_time_is_what_libfaketime_says(mode, order):
    # The time stands still: all calls tell the same.
    env = {"FAKETIME": ASKED, "TZ": "UTC"}
    done = run(mode, program("told_times.c"), **{order: [faketime()]}, env=env, status=0)
    assert done.stdout == " ".join([TOLD] * 4) + "\n"
    done = run(mode, "date", "+%s", **{order: [faketime()]}, env=env, status=0)
    assert done.stdout == TOLD + "\n"


@every_mode
@pytest.mark.parametrize("order", ["first", "last"])
def test_time_runs_and_sleeps_last_as_libfaketime_says(mode, order):
    # Four times as fast: sleeps of four seconds in all are over after one.
    env = {"FAKETIME": "+0 x4", "TZ": "UTC"}
    done = run(mode, program("told_times.c"), "1", **{order: [faketime()]}, env=env, status=0)
    assert done.stdout == "told: as asked, kernel's: less\n"


@every_policy
def test_its_command_may_run_ours_and_ours_may_run_it(mode):
    path = program("told_times.c")
    # The time runs on, from its process's start.
    its = ["faketime", ASKED]
    env = {"TZ": "UTC"}
    for line in ([*its, *command(mode, path)], command(mode, *its, path)):
        told = run(PLAIN, *line, env=env, status=0).stdout.split()
        assert len(told) == 4 and all(0 <= int(s) - int(TOLD) < 20 for s in told), (line, told)


def test_the_library_says_that_libfaketime_comes_next():
    settings = {"LD_PRELOAD": f"{LIBRARY}:{faketime()}", "TOMPION_PRELOAD": "clock=tsc,explain"}
    done = run(PLAIN, program("told_times.c"), env=settings, status=0)
    assert f"clock: that of {faketime()}, which comes next" in done.stderr


# What was reported against it ------------------------------------------------------


@every_mode
def test_libfaketime_124_signal_safety(mode):
    # clock_gettime and time have to be async-signal-safe; there they initialised in
    # the first call, through dlsym and malloc, and took locks.
    check(mode, "signal_safety.c")


@every_mode
@pytest.mark.parametrize("order", ["first", "last"])
def test_libfaketime_130_malloc_through_dlsym(mode, order):
    # An allocator that reads the clock: the clock's dlsym called the allocator
    # again, for ever. With issues 365 and 391 the same happened with AddressSanitizer.
    allocator = library("clock_in_malloc.c", "-fno-builtin")
    done = check(mode, "allocate.c", allocator.name, **{order: (allocator,)})
    assert "the allocator was called" in done.stderr
    done = run(
        mode,
        "perl",
        "-e",
        'print join(",", map { $_ * 2 } 1 .. 500)',
        status=0,
        **{order: (allocator,)},
    )
    assert done.stdout.endswith(",1000")


@every_mode
def test_libfaketime_331_fork_deadlock(mode):
    # A child of a program with threads waited for a lock that some thread held.
    check(mode, "fork_storm.c", 48)


@every_mode
def test_libfaketime_469_condvar_clocks(mode):
    # A wait on CLOCK_MONOTONIC was handed a time of another clock: it hung. The
    # report's program waits on std::chrono::steady_clock; here it must end in time.
    check(mode, "cxx_waits.cc")
    check(mode, "wait_calls.c")


@every_mode
def test_libfaketime_eintr_remainders(mode):
    # Interrupted sleeps told wrong remainders, or the wrong call's error.
    check(mode, "signals.c", "timer")


@every_mode
@pytest.mark.parametrize("order", ["first", "last", "linked"])
def test_libfaketime_jemalloc(mode, order):
    # Issues 130, 327, 333 and 478: hung or "unexpected recursive calls".
    if order == "linked":
        options = {"flags": ("-Wl,--no-as-needed", str(jemalloc()))}
    else:
        options = {order: (jemalloc(),)}
    check(mode, "allocate.c", "libjemalloc", env=BUSY_JEMALLOC, **options)
    check(mode, "fork_storm.c", 16, env=BUSY_JEMALLOC, **options)


def refusal(path, *arguments):
    """The one line with which the command refuses a program, which does not run."""
    done = run("auto", path, *arguments)
    assert done.status == 1, done
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert str(path) in done.stderr
    return done.stderr


@pytest.mark.parametrize("kind", ["-static", "-static-pie"])
def test_libfaketime_bypassed_by_static_programs(kind):
    path = program("asan_error.c", kind)
    assert "statically linked" in refusal(path)


@pytest.mark.parametrize("kind", ["dynamic", "-static", "the Go tool"])
def test_libfaketime_bypassed_by_go_programs(kind):
    # Go calls the kernel itself; a Go program linked dynamically is no better off.
    if kind == "the Go tool":
        path = shutil.which("go")
        if path is None:
            pytest.skip("no Go program here")
        assert "Go" in refusal(path, "version")
        return
    path = program("go_like.c", *([] if kind == "dynamic" else [kind]))
    assert run("plain", path, status=0).stdout == "the program ran\n"
    assert "Go" in refusal(path).replace(str(path), "")
