"""Shared by the acceptance tests: the built program and one default run."""

import atexit
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from own_run import may_mount

ROOT = Path(__file__).resolve().parents[2]
TOMPION = ROOT / "target/release/tompion"

# What is done when the tests are; workers that run beside one another leave without `atexit`, and
# who only imports this file has nothing else.
AT_END = contextlib.ExitStack()
atexit.register(AT_END.close)


def own_state():
    """A place for the runs that are given none, so that those of whoever runs the tests are not in the way. It is
    locked as long as this process lives: what killed ones left goes."""
    for left in Path(tempfile.gettempdir()).glob("tompion-state-*"):
        # One that was just made may not be locked yet.
        with contextlib.suppress(OSError), opened(left) as lock:
            if time.time() - left.stat().st_mtime > 60:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left)
    state = Path(tempfile.mkdtemp(prefix="tompion-state-"))
    lock = AT_END.enter_context(opened(state))
    fcntl.flock(lock, fcntl.LOCK_EX)
    AT_END.callback(shutil.rmtree, state, ignore_errors=True)
    return state


@contextlib.contextmanager
def opened(directory):
    """A directory as a file descriptor."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


os.environ["XDG_STATE_HOME"] = str(own_state())


def once(tmp_path_factory, name, make):
    """What `make` puts into the directory that it is given, made once for all tests and workers of this session."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    directory, made = base / name, base / f"{name}.made"
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(directory, ignore_errors=True)
            make(directory)
            made.touch()
    return directory


def tompion(*arguments, cwd=None, timeout=120, program=TOMPION, check=None):
    """Runs the program and returns the finished process."""
    done = subprocess.run(
        [str(program), *map(str, arguments)],
        cwd=cwd,
        timeout=timeout,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    if check is not None:
        assert done.returncode == check, done.stderr
    return done


def example(package, name):
    """An example program of a crate, as `make tests-built` makes it."""
    package_at = ROOT / "crates" / package
    named = (package_at / "examples" / f"{name}.rs").exists()
    assert named or f'name = "{name}"' in (package_at / "Cargo.toml").read_text()
    program = ROOT / "target/release/examples" / name
    if not program.exists():
        subprocess.run([".ci/cargo-tests", "--no-run"], cwd=ROOT, check=True, capture_output=True)
    return program


def planted():
    """The program on a planted machine: `check` and `measure` in virtual time, for what is
    about options, texts, files and exit statuses and not about what was measured."""
    program = ROOT / "dist/planted_time"
    if not program.exists():
        subprocess.run(["make", "planted"], cwd=ROOT, check=True, capture_output=True)
    return program


def load_workers(marker):
    """Pids of load workers whose command line or open files name `marker`."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if "__load" in command and marker in command:
            found.append(int(entry.name))
    return found


class DefaultRun:
    """One `tompion check --all`, with its cost; in `make test` in less than half its time."""

    # How long it measures, and the longest that it may take.
    USUAL = ["--all", "--verbose", "--loads", "idle,cpu,network"]
    OPTIONS, LONGEST_S = (USUAL, 90) if "TOMPION_LONG" in os.environ else ([*USUAL, "--duration", "30s"], 40)

    def __init__(self, directory):
        self.directory = directory / "run"
        outputs = [directory / "stdout", directory / "stderr"]
        before = time.monotonic()
        with open(outputs[0], "wb") as stdout, open(outputs[1], "wb") as stderr:
            process = subprocess.Popen(
                ["timeout", "300", TOMPION, "check", *self.OPTIONS, "--out", self.directory, "--seed", "1"],
                stdout=stdout,
                stderr=stderr,
                stdin=subprocess.DEVNULL,
            )
            # What this one used, whatever other children did.
            _, status, used = os.wait4(process.pid, 0)
        self.seconds = time.monotonic() - before
        self.stdout, self.stderr = (output.read_text() for output in outputs)
        self.peak_bytes = used.ru_maxrss * 1024
        self.status = process.returncode = os.waitstatus_to_exitcode(status)
        report = tompion("report", self.directory, "--json", check=0)
        self.json = json.loads(report.stdout)
        self.record = json.loads((self.directory / "run.json").read_text())
        self.bytes = sum(f.stat().st_size for f in self.directory.rglob("*") if f.is_file())


@pytest.fixture(scope="session")
def default_run(tmp_path_factory):
    return DefaultRun(tmp_path_factory.mktemp("default"))


# Tests that hold on a busy machine too, by file and parts of their names: `make test`
# runs them first, several at a time, and then, one by one, all others, which lean on a
# quiet machine. What stands nowhere here is among the others.
CONCURRENT = {
    # Minutes of virtual machines that boot, and effects far above what others take.
    "test_lab_platforms": "all",
    # Every command shown runs; what a shared machine may change is allowed for.
    "test_docs": "all",
    # Reads planted files, or the project's own.
    "test_circles": "all",
    "test_dependencies": "all",
    "test_sanitizers": "all",
    "test_architecture": "all",
    "test_make": "all",
    # Packets written by an example program.
    "test_stamp_packets": "all",
    # Silences of a second, and counts that no delay makes larger.
    "test_reflectors": "all",
    # What others printed.
    "test_bench_net": "all",
    "test_bench_marks": "all",
    "test_bench_clocks": "all",
    # In virtual time.
    "test_planted_machines": "all",
    "test_decided": "all",
    "test_repeated_checks": "all",
    # The other one measures, in `make test-full`.
    "test_company": ["told_from_noise"],
    "test_hostile_runs": "all",
    "test_hostile_programs": "all",
    "test_known_series": "all",
    "test_hostile_guest": "all",
    "test_security": "all",
    "test_refused_calls": "all",
    "test_stepped_clock": "all",
    # Keys, refusals and strangers; no time below seconds is asked for.
    "test_peer": "all",
    # In virtual time, and figures of what others printed.
    "test_bandwidth": ["virtual_time"],
    "test_bench_bandwidth": "all",
    "test_redact": "all",
    # A daemon is waited for.
    "test_time_keeping": "all",
    # Each kill, signal or full disk must leave what was saved before it.
    "test_known_truth": ["kill_9", "ctrl_c", "full_disk", "gets_no_turn"],
    # States, refusals and arithmetic on what was measured, whatever it was.
    "test_time_limits": [
        "a_time_that_does_not_hold",
        "a_signal_ends",
        "every_cell_gets_samples",
        "profiles_are_judged",
        "nearly_full_disk",
        "more_blocks",
        "shortened_quick",
        # Its own quota is what holds it up, and it tries thrice.
        "keeps_its_time_under_a_cpu_quota",
    ],
    "test_command_line": [
        "every_load",
        "bad_input",
        "idle_policy",
        "absent_cpu",
        "help",
        "env_and_list",
        "man_pages",
        "completions",
        "json_goes",
        "required_profile",
        "static_binary",
    ],
    "test_load_command": [
        "joined_loads",
        "writes_keep",
        "text_names",
        "interrupting",
        "bad_input",
        "a_peer_takes",
        "lists_of_cpus",
    ],
    "test_stalls": ["interval_log", "program_that_is_not_there", "interrupted_loop"],
    # In virtual time; its real check has to keep its time.
    "test_answer": ["fits_on", "more_uses", "no_line", "own_period", "required_use", "for_machines", "stalls_have", "remedy"],
    # What is said of runs whatever they measured, and what a shell offers.
    "test_answer_of_labs": "all",
    # Planted effects, and what is said of bad input.
    "test_packets": ["one_line", "is_named", "were_planted", "hours_off", "beside_rubbish", "ttl", "longer_than_the_path"],
    # Refusals, and states of runs.
    "test_packet_delay": [
        *("an_interrupt", "without_the_kernels", "kernel_refuses", "redacted", "probe_of_the_lab", "cannot_be_chosen"),
        *("stranger", "planted_machine", "one_line", "is_named"),
    ],
    # Counts of packets, devices that go away, and what is said of bad input.
    "test_taps": "all",
    "test_completions": ["names", "offers", "takes_no_name", "real"],
    # A planted shift of some milliseconds, and what is said of runs whatever they measured.
    "test_compare": "all",
    "test_compare_factors": "all",
    # In virtual time.
    "test_compare_switch": "all",
    "test_timer_events": ["shorter_than_the_mechanism", "searched_for"],
    "test_preload_figures": ["too_few"],
    "test_run_directory": "all",
    # Whoever swaps, kills or is in the way may take as long as he likes.
    "test_swapped": "all",
    "test_kills": "all",
    "test_writers": "all",
    "test_snapshots": "all",
    # In virtual time.
    "test_parts": ["planted"],
    "test_extensions": "all",
    "test_one_list": "all",
    # Endings, and effects planted far above what others take: where one takes the CPU
    # from another, the control group of the first is given all the weight.
    "test_lab": "all",
    # States of neighbours, whatever they take; the shares that they take are alone.
    "test_placements": ["cannot_be_had", "neighbours_work", "held_against"],
    # Refusals and failures, with limits of time of their own.
    "test_lab_bad": "all",
    # Another machine, and what cuts it off. Not what a killed lab left there: others clean.
    "test_lab_ssh": "all",
    "test_lab_ssh_lost": ["dies", "cut"],
    # Runs that were planted.
    "test_other_writers": "all",
    # Numbers and texts computed from given data, beside R, NumPy and SciPy.
    "test_rank_statistics": "all",
    "test_rank_factorial": "all",
    "test_permutation": "all",
    "test_statistics": "all",
    "test_published": "all",
    "test_claims": "all",
    # What is wrong with a plan, and a virtual machine whose packets pass, however late.
    "test_lab_network": ["refused_in_a_line", "says_what", "virtual_machine"],
    # Plans that are checked, and runs that decide nothing.
    "test_lab_plans": "all",
    # Programs that check themselves with generous limits of time, and refusals.
    "test_preload_calls": "all",
    "test_preload_command": "all",
    "test_preload_libfaketime": "all",
    "test_preload_manners": "all",
    "test_preload_programs": "all",
    "test_preload_refusals": "all",
    "test_c_library": "all",
    "test_output": "all",
    # Each with a record of its own, and changes that are not the kernel's.
    "test_advise_recovery": "all",
    "test_advise": [
        "dry_run",
        "a_signal_ends",
        "killed_run",
        "whoever_may_not",
        "wrong_options",
        "nothing_to_put_back",
    ],
    # What is shown and kept, whatever was measured.
    "test_watch": "all",
    # Pages of planted samples, and of a run that may be as slow as it likes.
    "test_report": "all",
    "test_runs": "all",
    "test_profiles": "all",
    "test_page": [
        "is_small_and_loads",
        "short_until",
        "without_scripts",
        "summary_is_one_sheet",
        "axe_finds",
        "a_scheme_is",
        "no_plot_has",
        "crosshair",
        "every_plot",
        "desktops_show",
        "script_tells",
        "large_enough",
        "printed_form",
        "nothing_runs_off",
        "sideways_scrolling",
    ],
}

# Each file is one worker's, these first: so none is left alone with a long one in the end.
LONGEST = [
    *("test_docs", "test_page", "test_other_writers", "test_answer", "test_lab", "test_decided", "test_report"),
    *("test_planted_machines", "test_lab_ssh_lost", "test_lab_platforms", "test_rank_statistics", "test_lab_bad"),
    *("test_preload_libfaketime", "test_compare", "test_c_library", "test_lab_ssh", "test_preload_calls"),
    *("test_writers", "test_peer", "test_watch", "test_command_line", "test_placements", "test_lab_plans"),
    *("test_time_limits", "test_kills", "test_preload_programs", "test_hostile_guest", "test_known_truth"),
    *("test_repeated_checks", "test_redact", "test_refused_calls", "test_known_series", "test_stepped_clock"),
    *("test_advise_recovery", "test_load_command", "test_stalls"),
]

# Those of the files above that lean on a quiet machine after all, by their names, with
# brackets if not for all parameters.
ALONE = {
    # The budget's and the busy caller's parts need the CPU.
    "test_the_library_agrees_with_the_kernel",
    # A browser beside eight tests takes five seconds for what takes one.
    "test_a_page_of_a_dozen_platforms_opens_within_two_seconds",
    # They take the CPU, from others too.
    "test_who_held_probes_up_here_is_told",
    "test_a_load_works_between_two_rests_and_the_clock_has_a_line_through_these",
    "test_at_a_high_rate_no_probe_and_no_stamp_is_lost",
    # That some are late and some are not is planted to a fifth of a second.
    "test_lost_late_and_repeated_ones_are_counted_and_no_samples",
    "test_what_is_left_beside_others_is_found",
    # A far end that answers each packet with thousands.
    "test_a_far_end_that_is_none_is_told_in_time",
}

# Those that lean on a quiet machine and leave it one, since they sleep nearly all the time: by
# themselves, several at once.
SLEEPING = {
    "test_a_stopped_process_knows_what_it_missed",
    # Two runs alike must be that to within a hundred per cent.
    "test_two_runs_alike_pass_a_wide_gate",
    # Of its time it computes but a second or two.
    "test_from_command_to_page_it_takes_no_longer_than_promised",
    # A progress line's time left.
    "test_progress_is_one_line_that_never_wraps",
    "test_sleeps_are_hybrid_and_end_in_time",
    "test_time_changes_with_the_second_where_the_counter_serves_it",
    "test_the_known_effect_of_timer_slack_is_found_and_what_has_none_is_listed_so",
    "test_a_program_under_the_preload_library_wakes_up_earlier",
    "test_leaving_a_throttled_group_is_found_to_help_and_the_process_comes_back",
    "test_a_stopped_process_shows_as_one_row_of_that_length",
    "test_both_forms_keep_long_periods_and_tell_their_figures",
    # One that is asked by its replies.
    "test_what_cannot_be_is_told_in_one_line",
    "test_a_reflector_that_remembers_nothing_serves_by_its_replies",
    # A paced sender that is not held up.
    "test_iperf3_paced_udp",
    "test_a_peer_takes_datagrams_and_files",
    # On a busy machine no two CPUs may run at once for long enough to compare their counters,
    # and the library says so, rightly, where the test expects the program's streams alone.
    "test_status_and_streams_are_the_programs",
}

# As above, of those that sleep.
LONGEST_SLEEPING = ["test_preload_precision", "test_testbed", "test_packets", "test_packet_delay"]

# As these do in all their tests that are not concurrent: packets are waited for, in networks of each test's own.
SLEEPING_FILES = {
    "test_packets",
    "test_packet_delay",
    "test_testbed",
    "test_lab_network",
    "test_bandwidth",
}


def is_concurrent(item):
    """Whether this test may run beside others."""
    parts = CONCURRENT.get(item.path.stem, [])
    chosen = parts == "all" or any(part in item.originalname for part in parts)
    if item.path.stem.startswith("test_advise") and os.geteuid() == 0 and not may_mount():
        # One `tompion advise` runs at a time on the machine's own /run.
        return False
    return chosen and (ALONE | SLEEPING).isdisjoint([item.originalname, item.name])


# Long ones that seldom say something new, by their names, with brackets if not for all
# parameters: `make test-full` runs them. Each with what still proves its point in
# `make test`.
FULL = {
    # The whole program with all of tests/extend; that each is a file and a line is seen by
    # test_an_extension_changes_one_line_of_one_file_besides_its_own.
    "test_a_method_is_listed_measured_and_reported",
    "test_a_load_runs_beside_a_measurement_and_is_proved",
    "test_a_platform_is_found_measured_and_told",
    "test_a_keeper_of_the_clock_is_found_where_it_runs",
    "test_a_form_of_the_report_is_offered_and_made",
    "test_a_section_of_the_report_is_in_every_form",
    "test_a_probe_is_offered_everywhere",
    "test_a_probe_is_measured_with_its_side_table_and_reported",
    "test_a_probe_is_part_of_a_plan",
    # The same program against the library linked in other ways: `shared` and `sanitized` run,
    # and test_the_examples_run links in each way.
    "test_the_library_agrees_with_the_kernel[static library]",
    "test_the_library_agrees_with_the_kernel[static program]",
    "test_the_library_agrees_with_the_kernel[sections]",
    # A benchmark: test_preload_precision holds that sleeps are hybrid and readings served.
    "test_reading_the_clock_is_not_slower_and_hybrid_sleeps_are_tenfold_better",
    # Four platforms at once, two of them emulated: test_a_quota_of_one_platform_shows_there_and_
    # nowhere_else has the same truth with two.
    "test_what_is_planted_in_one_platform_of_four_shows_there_alone",
    # Beside its peers, forty seconds at best: that such a hog is found, with its length, is in
    # test_a_real_time_hog_is_found_by_period_length_and_name.
    "test_oslat_and_cyclictest_find_the_same_hog",
    # As long as a reader of the README waits, five minutes: what its plan holds is measured
    # by test_lab_platforms, and that it can be carried out, test_every_plan_can_be tells.
    "test_a_first_look_at_four_platforms_takes_less_than_five_minutes",
    # test_quick_keeps_its_time_under_a_cpu_quota has the same limit with a fifth of a CPU.
    "test_quick_takes_at_most_half_a_minute",
    # The share that weights give is in test_a_virtual_machine_of_four_times_the_weight, a
    # neighbour's slices are in test_the_mode_of_stall_length_is_the_run_length_of_a_neighbour.
    "test_two_virtual_machines_share_a_cpu_evenly_in_slices_of_the_host",
    # Each takes a quarter of a minute to write and to report: of loads alone, and of what is finished, `make test` sees it.
    "test_thousands_of_cells_are_reported_in_seconds[load-platform]",
    "test_thousands_of_cells_are_reported_in_seconds[method]",
    "test_cells_beyond_what_a_report_holds_are_refused[4000-900-bytes of names and levels-in samples]",
    "test_cells_beyond_what_a_report_holds_are_refused[2561-8-2561 cells; a run has at most 2560-in samples]",
    # Compiles it three times: the crate itself is tested by `make test`.
    "test_the_packed_crate_stands_alone",
    # Compiles two crates: codes_of_version_1_never_change has the table by itself.
    "test_a_variant_in_the_middle_of_every_stored_enum_changes_no_checksum",
    # Each of these does with its place what another does that stays: `check --out`, `load --dir`.
    *(
        f"test_each_place_is_written_to_or_refused_in_one_line[{name}]"
        for name in (
            *("measure wake-up --out", "measure wake-up --load-dir", "measure read-cost --out"),
            *("measure read-cost --load-dir", "measure timer-events --out", "measure stalls --out"),
            *("measure timer-events --load-dir", "measure stalls --load-dir", "check --load-dir"),
            *("measure packet-delay --out", "measure packet-delay --load-dir", "watch --load-dir"),
        )
    ),
    # Compiles a crate anew for each tool and defect, with nightly compilers.
    "test_a_planted_defect_is_found",
    # Needs gVisor, which takes minutes to build. Other containers, and another platform whose
    # clock is slow, are in test_lab_platforms.
    "test_gvisor_answers_system_calls_slowly",
    # Two thousand runs, some eight minutes: test_a_run_goes_on_or_ends_in_one_line_whatever_is_refused
    # has the calls that were ever too much.
    "test_each_system_call_of_a_run_may_be_refused",
    # Need stamp-suite, which takes minutes to build: crates/tompion-stamp/tests/all replays what was recorded of them.
    "test_its_reflector_answers_our_sender",
    "test_our_reflector_answers_its_sender",
    "test_with_another_key_neither_answers_the_other",
    "test_a_reflector_of_ours_and_one_of_its_fall_silent",
    # A minute of trials: test_of_several_hosts_the_one_that_stands_still_is_named has one of them, and simulations hundreds.
    "test_of_three_far_ends_who_is_slow_is_told",
    # Minutes of making and measuring: test_millions_of_distinct_values and test_lab have less.
    "test_a_run_of_a_hundred_million_rows_is_read",
    "test_a_lab_of_two_hundred_cells_is_measured_and_read",
    # Seventy-five seconds: the quick one shows the same way from command to page.
    "test_from_command_to_page_it_takes_no_longer_than_promised[default]",
    # A check of 30 s: that a planted neighbour's samples are left out is held in virtual time, that each sleeper in company
    # is told its own turns by of_several_sleepers_each_is_told_its_own_turns.
    "test_what_fails_at_rest_only_where_bursts_of_others_held_it_up_is_inconclusive",
    # Six minutes of measuring: that only what is far from its limit has company is a unit test.
    "test_company_moves_a_judged_quantile_by_little",
    "test_company_moves_no_judged_quantile_where_no_host_disturbs",
    # That a true effect is found, and none where there is none, is seen in virtual time.
    "test_a_neighbour_that_is_stopped_and_continued_takes_its_share_of_the_cpu",
}

# Those that make dead labs and look for what they left on the machine, by their names: no
# other test of the lab may run meanwhile, but they wait more than they measure.
LEFTOVERS = {
    "test_a_lab_killed_at_random_moments_leaves_nothing_to_clean_and_goes_on",
    "test_what_a_killed_lab_left_there_is_found_and_removed",
    "test_neighbours_end_with_the_lab",
}


def pytest_sessionstart(session):
    """Forgets what killed test runs left on other machines of theirs: these went with them, and
    each `lab clean` of the tests would wait for one and fail."""
    # Started by nohup it is ignored, by what the tests start, too.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if hasattr(session.config, "workerinput") or not TOMPION.exists():
        return
    for journal in Path("/run/tompion-lab").glob("*/journal"):
        with contextlib.suppress(OSError):
            if "/pytest-of-" in journal.read_text():
                tompion("lab", "clean", "--forget")
                return


def pytest_sessionfinish():
    AT_END.close()


def pytest_configure(config):
    config.addinivalue_line("markers", "concurrent: holds on a busy machine, beside others")
    config.addinivalue_line("markers", "sleeping: on a quiet machine, several at once")
    config.addinivalue_line("markers", "leftovers: beside anything but the lab's other tests")
    config.addinivalue_line("markers", "full: long, and seldom says something new")
    # What failed, for .ci/acceptance-tests: from the process that hears of all tests.
    told = os.environ.get("TOMPION_FAILURES")
    if told and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Failures(Path(told)))


class Failures:
    """A line for each failed test: its id and what was seen."""

    def __init__(self, file):
        self.file = file
        self.told = set()

    def pytest_runtest_logreport(self, report):
        if report.failed and report.nodeid not in self.told:
            self.told.add(report.nodeid)
            seen = "\n".join([str(report.longreprtext), *(text for _, text in report.sections)])
            with open(self.file, "a") as file:
                print(json.dumps([report.nodeid, seen]), file=file)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if not FULL.isdisjoint([item.originalname, item.name]):
            item.add_marker(pytest.mark.full)
        elif item.originalname in LEFTOVERS:
            item.add_marker(pytest.mark.leftovers)
        elif not SLEEPING.isdisjoint([item.originalname, item.name]):
            item.add_marker(pytest.mark.sleeping)
        elif is_concurrent(item):
            item.add_marker(pytest.mark.concurrent)
        elif item.path.stem in SLEEPING_FILES and item.originalname not in ALONE:
            item.add_marker(pytest.mark.sleeping)

    def place(item):
        # Its tests come first: the longest setup of all.
        default = "default_run" not in getattr(item, "fixturenames", ())
        longest = LONGEST if is_concurrent(item) else LONGEST_SLEEPING
        long = item.path.stem in longest
        return default, longest.index(item.path.stem) if long else len(LONGEST)

    items.sort(key=place)
