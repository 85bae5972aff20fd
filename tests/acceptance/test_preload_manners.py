"""The preload library is a guest in the program's process, and behaves like one."""

import pytest

from preload import LIBRARY, PLAIN, check, every_mode, every_policy, library, program, run


def explained(*argv, env=None):
    """A program under the library, which says what it does."""
    settings = {"LD_PRELOAD": str(LIBRARY), "TOMPION_PRELOAD": "clock=tsc,always,explain"}
    return run(PLAIN, *argv, env=settings | (env or {}))


@every_mode
def test_the_floating_point_state_is_the_programs(mode):
    check(mode, "float_state.c", flags=("-lm",))


@every_mode
def test_readings_that_are_left_by_longjmp_hinder_no_later_one(mode):
    check(mode, "leave_reads.c")


@every_mode
def test_a_refused_sleep_is_an_error_and_no_spin(mode):
    check(mode, "refused_sleep.c")


@every_policy
@pytest.mark.parametrize(
    "flags",
    [(), ("-DUSES_LIBC",), ("-DUSES_LIBC", "-Wl,--hash-style=sysv")],
    ids=["alone", "uses libc", "old hashes"],
)
def test_another_preloaded_library_keeps_its_clock(mode, flags):
    # `date` reads the clock by clock_gettime; the stranger comes after ours or before.
    stranger = library("foreign_clock.c", *flags)
    plain = run(PLAIN, "date", "+%s", first=[stranger], status=0)
    assert plain.stdout == "42\n"
    for order in ({"first": [stranger]}, {"last": [stranger]}):
        assert run(mode, "date", "+%s", status=0, **order).stdout == "42\n", order


def test_the_library_says_that_another_clock_comes_next():
    stranger = library("foreign_clock.c")
    done = explained("date", "+%s", env={"LD_PRELOAD": f"{LIBRARY}:{stranger}"})
    assert done.stdout == "42\n"
    assert f"clock: that of {stranger}, which comes next" in done.stderr


def test_it_says_at_exit_that_the_counter_was_forbidden():
    done = explained(program("tsc_forbidden.c"), "between")
    assert done.status == 0, done.stderr
    assert "because the program forbade the counter" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("arguments", [(), ("close",)], ids=["said", "closed"])
def test_last_words_leave_errno_to_those_who_come_after_them(arguments):
    # The destructor of another library; and where the program has closed all descriptors.
    watcher = library("errno_kept.c", "-DLIBRARY")
    path = program("errno_kept.c")
    done = explained(path, *arguments, env={"LD_PRELOAD": f"{LIBRARY}:{watcher}"})
    assert done.status == 0, done.stderr
    assert (": at exit: clock: " in done.stderr) == (not arguments)
    assert "library's destructor: 78\n" in done.stdout


def test_last_words_do_not_end_up_in_a_file_of_the_program(tmp_path):
    code = "import os, sys; os.close(2); os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)"
    done = explained("/usr/bin/python3", "-c", code, tmp_path / "own")
    assert done.status == 0
    assert (tmp_path / "own").read_text() == ""
    # They reach the standard error of the start all the same.
    assert ": at exit: clock: " in done.stderr


@pytest.mark.parametrize("settings", ["clock=fast", "budget=2", "turbo"])
def test_settings_that_mean_nothing_are_named_and_do_no_harm(settings):
    done = explained("true", env={"TOMPION_PRELOAD": settings})
    assert done.status == 0
    assert done.stderr.count("\n") == 1 and f'"{settings}"' in done.stderr


def test_hybrid_sleeps_that_were_none_are_told():
    settings = {"TOMPION_PRELOAD": "sleep=hybrid,explain"}
    assert "; 0 hybrid sleeps, " in explained("true", env=settings).stderr
    assert "; 1 hybrid sleeps, " in explained("sleep", "0.01", env=settings).stderr
