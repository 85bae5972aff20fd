"""`tompion compare --switch`: two commands by turns, in random order, before halves of blocks of one run."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from conftest import TOMPION, planted, tompion

# What is measured in virtual time: eight blocks of a second.
WHAT = "measure wake-up --methods usleep --targets 100us --slack default --loads idle --observe off"
WHAT = [*WHAT.split(), "--duration", "8s", "--blocks", "8"]
# The second block begins with B, the third with A.
SEED = "1"
# All becomes slower by so much from block to block.
DRIFT = 0.03


def by_turns(directory, a, b, *options, status=0, drift=DRIFT, what=(), factor="factor", seed=SEED):
    """The program on a machine that drifts, whose latency a file multiplies."""
    environment = {"PLANTED_FACTOR_FILE": str(directory / factor), "PLANTED_DRIFT": str(drift)}
    done = subprocess.run(
        [planted(), "compare", "--switch", a, b, *options, "--", *WHAT, "--seed", seed, "--out", "run", *what],
        cwd=directory,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == status, done.stderr
    return done


def sets(directory, factor, name):
    """A command that makes all slower by a factor, and writes its name down."""
    return f"echo {factor} > factor; echo {name} >> order"


def record_of(directory):
    return json.loads((directory / "run" / "run.json").read_bytes().rpartition(b"}")[0] + b"}")


def notes(directory):
    return [note["text"] for note in record_of(directory)["notes"]]


def order(directory):
    """In which order the commands ran, a text of two letters a block."""
    letters = (directory / "order").read_text().replace("\n", "")
    return [letters[at : at + 2] for at in range(0, len(letters), 2)]


def test_the_commands_run_by_turns_and_an_effect_is_found_under_a_drift(tmp_path):
    done = by_turns(tmp_path, sets(tmp_path, 1, "a"), sets(tmp_path, 1.05, "b"), "--json")
    assert len(order(tmp_path)) == 8 and set(order(tmp_path)) == {"ab", "ba"}
    # The run knows it: by when its trials began.
    trials = sorted(record_of(tmp_path)["trials"], key=lambda trial: trial["started_ns"])
    assert "".join(trial["factors"]["switch"] for trial in trials) == "".join(order(tmp_path))
    found = json.loads(done.stdout)
    assert (found["by"], found["sides"], found["paired"]) == ("switch", ["a", "b"], True)
    median = found["comparisons"][0]
    assert (median["figure"], median["outcome"]) == ("median", "differs")
    assert 1.03 < median["ratio"] < 1.07
    low, high = median["ratio_interval"]
    assert low < 1.05 < high
    # The run is one like any other, and compares by itself.
    again = tompion("compare", tmp_path / "run", "--by", "switch", "--json", check=0)
    assert json.loads(again.stdout)["comparisons"] == found["comparisons"]
    told, left = notes(tmp_path)
    assert "echo 1.05" in told and told.index("switch=a") < told.index("switch=b")
    last = {"a": "echo 1 >", "b": "echo 1.05 >"}[order(tmp_path)[-1][-1]]
    assert left.startswith(f"All is left as `{last}")
    assert (tmp_path / "run" / "report.html").exists()


def test_which_command_comes_first_is_drawn_from_the_seed(tmp_path):
    def ran(name, seed=SEED):
        directory = tmp_path / name
        directory.mkdir()
        by_turns(directory, "echo a >> order", "echo b >> order", seed=seed)
        assert "is drawn for each block" in record_of(directory)["design"]["order"]
        return order(directory)
    usual = ran("usual")
    assert usual == ran("again")
    others = [ran(f"seed-{seed}", str(seed)) for seed in (101, 102, 103)]
    # Neither always the same nor A B B A: that keeps in step with what goes by turns, too.
    assert len({tuple(pairs) for pairs in others}) == 3
    assert all(pairs != ["ab", "ba"] * 4 for pairs in [usual, *others])


def test_commands_that_change_nothing_differ_by_nothing_where_separate_runs_would(tmp_path):
    done = by_turns(tmp_path, "true", "true", "--json")
    for row in json.loads(done.stdout)["comparisons"]:
        assert row["outcome"] == "no-difference-found", row
        low, high = row["ratio_interval"]
        assert low < 1 < high and high / low < 1.1
    # The same machine in two runs, one after the other.
    for begins, name in (1, "first"), (9, "second"):
        environment = {"PLANTED_DRIFT": str(DRIFT), "PLANTED_BEGINS_S": str(begins)}
        command = [planted(), *WHAT, "--quiet", "--out", tmp_path / name]
        subprocess.run(command, env={**os.environ, **environment}, check=True, timeout=60)
    apart = tompion("compare", tmp_path / "first", tmp_path / "second", "--json")
    median = json.loads(apart.stdout)["comparisons"][0]
    first, second = median["values"]
    # What would be taken for the effect of whatever was changed between them.
    assert second / first > 1.15 and median["outcome"] != "no-difference-found"


def test_the_table_names_the_commands_and_the_run(tmp_path):
    done = by_turns(tmp_path, sets(tmp_path, 1, "a"), sets(tmp_path, 2, "b"), "--fail-if", "usleep median > +50%", status=2)
    assert "Levels of switch compared, paired by block" in done.stdout
    assert "echo 2 > factor" in done.stdout and done.stdout.endswith("Run:    run\n")


def test_what_commands_print_goes_to_standard_error(tmp_path):
    done = by_turns(tmp_path, "echo one", "echo two >&2", "--json")
    json.loads(done.stdout)
    assert done.stderr.count("one") == done.stderr.count("two") == 8


def test_a_failing_command_ends_the_run_in_one_line_and_keeps_what_was_measured(tmp_path):
    fails = "echo x >> order; test $(wc -l < order) -lt 3"
    done = by_turns(tmp_path, "true", fails, "--switch-back", "touch back", status=1)
    [line] = done.stderr.splitlines()
    assert line.startswith(f"tompion: `{fails}` ended with exit status 1, before the half of block 3 with switch=b")
    assert "What was measured is in run." in line and "`touch back` was run at the end." in line
    assert done.stdout == "" and (tmp_path / "back").exists()
    # The third block has its first half: a comes before b there.
    record = record_of(tmp_path)
    assert (record["status"], len(record["trials"])) == ("interrupted", 5)
    compared = tompion("compare", tmp_path / "run", "--by", "switch", "--json", check=0)
    assert json.loads(compared.stdout)["comparisons"][0]["outcome"] == "not-decidable"


def test_a_command_that_hangs_is_killed_with_all_that_it_started(tmp_path):
    hangs = f"{sys.executable} -c 'import time; time.sleep(600)' {tmp_path} & wait"
    done = by_turns(tmp_path, "true", hangs, "--switch-timeout", "300ms", status=1)
    assert "had not ended after 300ms (--switch-timeout)" in done.stderr
    everyone = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert f"time.sleep(600)' {tmp_path}" not in everyone.stdout
    assert f"time.sleep(600) {tmp_path}" not in everyone.stdout


def test_a_command_at_the_end_that_fails_is_told_after_the_comparison(tmp_path):
    done = by_turns(tmp_path, "true", "true", "--switch-back", "exit 7", status=1)
    assert "--switch-back: `exit 7` ended with exit status 7" in done.stderr
    assert "Levels of switch compared" in done.stdout
    assert "`exit 7` ended with exit status 7" in notes(tmp_path)[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1])
def test_a_signal_ends_it_in_order_and_the_command_at_the_end_is_run(tmp_path, number):
    hangs = "test -e order && { touch hangs; sleep 600; }; echo x > order"
    words = shlex.split(f"--switch true '{hangs}' --switch-back 'touch back' --")
    process = subprocess.Popen(
        [planted(), "compare", *words, *WHAT, "--seed", SEED, "--out", "run"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # In the background of some shells it is ignored.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    until = time.monotonic() + 30
    while not (tmp_path / "hangs").exists():
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout) == (130, "")
    assert stderr.startswith("tompion: interrupted. What was measured is in run.")
    assert (tmp_path / "back").exists()
    record = record_of(tmp_path)
    # A B, and before B of the second block it hung.
    assert (record["status"], len(record["trials"])) == ("interrupted", 2)


@pytest.mark.parametrize(
    "words, told",
    [
        (["--switch", "true", "--", "measure", "wake-up"], "2 values required"),
        (["--switch", "true", "false"], "<measure ...>"),
        (["--switch", "true", "false", "--", "check"], "and no other command"),
        (["--switch", "true", "false", "--", "measure", "wakeup"], "after --: "),
        (["--switch", "true", "false", "--", "measure", "--help"], "after --: "),
        (["--switch", "true", "false", "--", "measure", "wake-up", "--json"], "write it before"),
        (["--switch", "true", "false", "--by", "load", "--", "measure", "wake-up"], "cannot be used with"),
        (["run", "--", "measure", "wake-up"], "--switch"),
        (["run", "--switch-back", "true"], "--switch"),
    ],
)
def test_wrong_options_get_one_line(tmp_path, words, told):
    done = subprocess.run(
        [planted(), "compare", *words], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert told in line
    assert not any(tmp_path.iterdir())


def test_a_neighbour_that_is_stopped_and_continued_takes_its_share_of_the_cpu(tmp_path):
    """Known truth in real time: a busy loop on the same CPU, with SIGSTOP and SIGCONT."""
    cpu = min(os.sched_getaffinity(0))
    busy = [sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"]
    with subprocess.Popen(busy) as neighbour:
        try:
            for attempt in range(3):
                done = tompion(
                    *("compare", "--json", "--switch", f"kill -STOP {neighbour.pid}"),
                    *(f"kill -CONT {neighbour.pid}", "--", "measure", "stalls", "--cpus", str(cpu)),
                    *("--loads", "idle", "--duration", "12s", "--blocks", "8"),
                    *("--out", tmp_path / f"run-{attempt}"),
                    check=0,
                )
                [lost] = [r for r in json.loads(done.stdout)["comparisons"] if r["figure"] == "lost"]
                print(lost["outcome"], lost["values"], lost.get("shift"), lost.get("p"))
                # Half of what nobody else takes.
                if lost["outcome"] == "differs" and 0.05 < lost["shift"] < 0.7:
                    break
            else:
                pytest.fail("the neighbour was not found")
        finally:
            neighbour.kill()
