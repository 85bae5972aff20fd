"""The preload library, call by call: each does what the C library's does.

The programs of tests/programs check themselves against the kernel's clock, read by
real system calls; what they print is compared with a plain run.
"""

import itertools
import re
import signal
from pathlib import Path

import pytest

from preload import LIBRARY, PLAIN, PROGRAMS, check, every_mode, every_policy, library, program, run

# What the library replaces, and nothing else.
REPLACED = {
    "clock_gettime",
    "gettimeofday",
    "time",
    "clock_nanosleep",
    "nanosleep",
    "usleep",
    "sleep",
    "prctl",
}


@every_policy
def test_exactly_the_promised_calls_are_replaced(mode, tmp_path):
    # Without this all the other tests could pass beside a library that does nothing.
    run(
        mode,
        "env",
        "LD_BIND_NOW=1",
        "LD_DEBUG=bindings",
        f"LD_DEBUG_OUTPUT={tmp_path}/bindings",
        program("arguments.c"),
        status=0,
    )
    text = "".join(f.read_text() for f in tmp_path.iterdir())
    bound = {}
    for line in text.splitlines():
        found = re.search(r"binding file (\S+) .* to (\S+) .*symbol `(\w+)'", line)
        if found and found[2].endswith("/" + LIBRARY.name):
            bound.setdefault(found[1], set()).add(found[3])
    assert bound[str(program("arguments.c"))] == REPLACED
    # What others get from us is no more than that (no memcpy, no malloc).
    others = set().union(*(symbols for file, symbols in bound.items() if LIBRARY.name not in file))
    assert others == REPLACED


@every_mode
def test_clocks_agree_with_the_kernel_in_all_threads(mode):
    check(mode, "agree.c")


@every_mode
def test_every_argument_gets_the_answer_of_the_c_library(mode):
    done = check(mode, "arguments.c")
    assert "clock_nanosleep(3, 0, 0): 22, errno 77" in done.stdout
    assert "nanosleep(negative ns): -1, errno 22" in done.stdout
    assert "nanosleep(NULL): -1, errno 14" in done.stdout


@every_mode
@pytest.mark.parametrize("source", ["restart", "process"])
def test_signal_storm_with_remainders(mode, source):
    # Signals of a timer: test_libfaketime_eintr_remainders.
    check(mode, "signals.c", source)


@every_mode
@pytest.mark.parametrize("order", ["first", "last"])
def test_errno_is_zero_at_the_start_and_left_alone_by_calls_that_succeed(mode, order):
    watcher = library("errno_kept.c", "-DLIBRARY")
    done = check(mode, "errno_kept.c", **{order: (watcher,)})
    assert "constructor: 0, main: 0\n" in done.stdout
    assert "library's constructor: 0\n" in done.stdout
    assert "library's destructor: 78\n" in done.stdout


@every_mode
def test_sleeps_are_cancellation_points_and_clocks_are_not(mode):
    check(mode, "cancel.c")


@every_mode
def test_a_handler_may_jump_out_of_a_sleep(mode):
    check(mode, "jump.c")


@every_mode
def test_waits_of_the_kernel_agree_with_the_clocks(mode):
    check(mode, "wait_calls.c")


@every_mode
def test_small_stacks_are_enough(mode):
    # Bound at once: the dynamic loader alone takes more than the room that is left.
    done = check(mode, "small_stacks.c", flags=("-Wl,-z,now",))
    print(done.stderr)


@every_mode
@pytest.mark.parametrize("flags", [("-Wl,-z,now",), ("-Wl,-z,lazy",), ("-fno-plt",), ("-no-pie",)])
def test_time_is_called_as_in_a_plain_run_where_it_is_not_replaced(mode, flags):
    # By the program and by a library that it loads later; a stranger's comes first.
    path = program("time_binding.c", *flags, "-ldl")
    plugin = library("time_binding.c", "-DPLUGIN", *(f for f in flags if f != "-no-pie"))
    strangers = [library("foreign_time.c", *uses) for uses in ([], ["-DUSES_LIBC"])]
    answers = run(mode, path, plugin, status=0).stdout.splitlines()
    plain = run(PLAIN, path, plugin, status=0).stdout.splitlines()
    expected = plain if "tsc" not in mode else [LIBRARY.name] * 2 + ["one pointer"]
    assert [Path(line).name for line in answers] == [Path(line).name for line in expected]
    assert answers[2] == "one pointer"
    for order, stranger in itertools.product(("first", "last"), strangers):
        answers = run(mode, path, plugin, status=0, **{order: [stranger]}).stdout
        assert answers.splitlines() == [str(stranger)] * 2 + ["one pointer"], order


@every_mode
@pytest.mark.parametrize("base", ["0xfffffff00000", "0x7ffffff00000", "0x7f0000000000"])
def test_libraries_linked_for_addresses_that_they_do_not_get(mode, base):
    # What the loader moves down has the distance as a huge number.
    plugin = library("time_binding.c", "-DPLUGIN")
    flags = ("-DPLUGIN", f"-Wl,-Ttext-segment={base}")
    odd = [library("time_binding.c", *flags, f"-DCOPY={n}") for n in (1, 2)]
    for path in (program("time_binding.c", "-ldl"), program("time_binding.c", "-Wl,-z,now", "-ldl")):
        answers = run(mode, path, plugin, last=odd, status=0).stdout.splitlines()
        expected = run(PLAIN, path, plugin, last=odd, status=0).stdout.splitlines()
        if "tsc" in mode:
            expected[:2] = [str(LIBRARY)] * 2
        assert answers == expected


@every_mode
def test_time_does_not_go_back_when_the_counter_is_forbidden(mode):
    check(mode, "time_forbidden.c")


@every_mode
def test_a_program_may_have_its_own_functions_for_memory_and_objects(mode):
    check(mode, "own_mprotect.c", flags=("-rdynamic", "-ldl"))


@every_mode
@pytest.mark.parametrize("binding", ["LD_BIND_NOW", "LD_BIND_LATER"])
def test_a_function_of_another_version_is_not_taken_for_the_clock(mode, binding):
    # No program that is bound to libc's time would get it.
    symbols = PROGRAMS / "other_version.map"
    other = library("foreign_time.c", f"-Wl,--version-script={symbols}")
    path, plugin = program("time_binding.c", "-ldl"), library("time_binding.c", "-DPLUGIN")
    answers = run(mode, path, plugin, last=[other], env={binding: "1"}, status=0).stdout
    assert str(other) not in answers
    # Nor does it hide one that comes after it.
    stranger = library("foreign_time.c", "-DUSES_LIBC")
    answers = run(mode, path, plugin, last=[other, stranger], env={binding: "1"}, status=0).stdout
    assert answers.splitlines()[:2] == [str(stranger)] * 2


@every_mode
def test_functions_of_another_version_are_not_taken_for_the_sleeps(mode):
    symbols = PROGRAMS / "other_version.map"
    other = library("foreign_sleep.c", f"-Wl,--version-script={symbols}")
    check(mode, "arguments.c", last=(other,))


# The counter is forbidden ---------------------------------------------------------


@every_policy
@pytest.mark.parametrize("when", ["first", "between", "thread", "inherited", "flip", "exec"])
def test_no_fault_where_the_counter_is_forbidden(mode, when):
    path = program("tsc_forbidden.c")
    plain = run(PLAIN, path, when)
    # The C library itself faults (status 4) wherever its clocks use the counter.
    assert plain.status in (0, 4), plain.stderr
    done = run(mode, path, when, status=0)
    assert done.stdout.endswith("all checks passed\n")


@every_policy
def test_a_program_that_begins_with_the_counter_forbidden_fares_as_ever(mode):
    # The prohibition outlives exec, and the C library's loader reads the counter: no
    # program starts, and no library can do anything about it.
    forbidden = "import ctypes, os; ctypes.CDLL(None).prctl(26, 2, 0, 0, 0); "
    forbidden += "os.execv('/bin/true', ['true'])"
    plain = run(PLAIN, "python3", "-c", forbidden).status
    assert plain in (0, -signal.SIGSEGV)
    assert run(mode, program("tsc_forbidden.c"), "exec-forbidden").status in (0, plain)


# Sandboxes -----------------------------------------------------------------------


@every_policy
@pytest.mark.parametrize("what", ["read", "read-first", "nothing"])
@pytest.mark.parametrize("how", ["filter", "seccomp", "eperm", "strict"])
def test_sandboxed_programs_live_where_a_plain_run_lives(mode, how, what):
    path = program("sandbox.c")
    plain = run(PLAIN, path, how, what)
    if plain.status != 0:
        # Strict mode forbids the counter too, and so the C library's own clock.
        assert plain.status in (-signal.SIGSYS, -signal.SIGKILL, -signal.SIGSEGV)
        pytest.skip(f"a plain run dies too ({signal.Signals(-plain.status).name})")
    assert run(mode, path, how, what, status=0).stdout == plain.stdout == "inside\nread\n"


# Descriptors, namespaces, order ----------------------------------------------------


@every_mode
def test_descriptors_are_those_of_a_plain_run(mode):
    done = check(mode, "descriptors.c")
    assert "opened 0 1 2 3 4\n" in done.stdout


@every_policy
def test_a_shell_sees_the_same_open_files(mode):
    listing = ["sh", "-c", "sleep 0.01; ls /proc/self/fd; exec 3</dev/null; ls /proc/self/fd"]
    assert run(mode, *listing, status=0).stdout == run(PLAIN, *listing, status=0).stdout


@every_mode
@pytest.mark.parametrize("how", ["fork", "clone", "exec", "setns"])
def test_clocks_are_right_in_a_new_time_namespace(mode, how):
    path = program("time_namespace.c")
    plain = run(PLAIN, path, how)
    if plain.status == 77:
        pytest.skip(plain.stdout.strip())
    assert run(mode, path, how, status=0).stdout == plain.stdout


@every_mode
@pytest.mark.parametrize("order", ["linked", "first", "last"])
def test_clocks_and_sleeps_before_and_after_our_own_life(mode, order):
    early = library("early_library.c")
    if order == "linked":
        done = check(mode, "early_program.c", flags=("-Wl,--no-as-needed", early))
    else:
        done = check(mode, "early_program.c", **{order: (early,)})
    lines = done.stdout.splitlines()
    assert lines[0] == "preinit array" and lines[-1] == "last destructor"
    assert len(lines) == 10


@every_mode
def test_fork_clone_vfork_spawn_and_exec_in_a_thread_storm(mode):
    check(mode, "fork_storm.c", 160)


@every_policy
def test_status_and_streams_are_the_programs(mode):
    done = run(mode, "sh", "-c", "echo out; echo err >&2; exit 42")
    assert (done.status, done.stdout, done.stderr) == (42, "out\n", "err\n")
    assert run(mode, "sh", "-c", "kill -TERM $$").status == -signal.SIGTERM
