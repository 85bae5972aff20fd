"""`tompion measure packet-delay`: round trips in a run, with other programs as witnesses."""

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest
from conftest import TOMPION, planted, tompion
from heavy import polars
from refused import without
from test_packets import MS, answering, delayed, free_port, ntp, reflecting, reply_to
from test_parts import BURSTS, started
from test_time_limits import ROOT_ONLY

VANTAGES = ["user", "qdisc", "kernel", "path"]
# Which stamps a round trip is between.
STAMPS = {
    "user": ("user_sent_ns", "user_received_ns"),
    "qdisc": ("scheduled_ns", "received_ns"),
    "kernel": ("sent_ns", "received_ns"),
}


def measure(run, *options, to="127.0.0.1", check=0):
    return tompion("measure", "packet-delay", "--to", to, "--out", run, "--quiet", *options, check=check)


def record(run):
    return json.loads((run / "run.json").read_text())


def stamps(run):
    return polars.read_parquet(run / "packet-delay.packets.parquet")


def cells(run):
    """Cells of the report by vantage point and load."""
    told = json.loads(tompion("report", run, "--json", check=0).stdout)
    return {(c["factors"]["vantage"], c["factors"]["load"]): c for c in told["cells"]}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Three blocks beside two loads, against a reflector on loopback. Where the machine was held up so long that a trial's
    time was over before all its probes were due, it is measured again: each try is told."""
    seen = []
    with reflecting() as (_, port, _):
        for _ in range(3):
            run = tmp_path_factory.mktemp("packets") / "run"
            measure(run, "--port", port, "--probes", 120, "--intervals", "5ms", "--blocks", 3, "--loads", "idle,cpu")
            due = [t["findings"]["round_trips"]["due"] for t in record(run)["trials"]]
            if all(of_trial == 40 for of_trial in due):
                return run
            seen.append(due)
    pytest.fail(f"due of 40 probes: {seen}")


def test_each_block_has_a_trial_for_each_vantage_point_of_one_moment(run):
    trials = record(run)["trials"]
    assert record(run)["status"] == "complete" and len(trials) == 3 * 2 * 4
    for block in range(3):
        for load in ["idle", "cpu"]:
            same = [t for t in trials if t["block"] == block and t["factors"]["load"] == load]
            assert [t["factors"]["vantage"] for t in same] == VANTAGES
            assert len({t["started_ns"] for t in same}) == 1
            for trial in same:
                found = trial["findings"]["round_trips"]
                assert found["due"] == 40 and found["answered"] + found["lost"] == 40
                is_path = trial["factors"]["vantage"] == "path"
                assert ("left_out" in found) == is_path
                assert trial["tables"]["samples"]["rows"] == found["answered"] - found["without_value"] - found.get("left_out", 0)
                assert ("packets" in trial["tables"]) == (trial["factors"]["vantage"] == "user")
                assert trial["factors"]["target"] == "5ms" and trial["factors"]["method"] == "stamp"


def test_samples_are_the_round_trips_that_polars_finds_in_the_table(run):
    table, samples = stamps(run), polars.read_parquet(run / "packet-delay.parquet")
    trials = record(run)["trials"]
    for trial in trials:
        if "packets" not in trial["tables"]:
            continue
        packets = table.filter((polars.col("trial") == trial["id"]) & (polars.col("outcome") == "answered"))
        assert len(packets) > 30
        # The kernel stamped every packet of loopback, and says why where it did not.
        for column in ["user_sent_ns", "scheduled_ns", "sent_ns", "received_ns", "user_received_ns"]:
            why = column.replace("_ns", "_missing")
            assert packets.filter(polars.col(column).is_null() != polars.col(why).is_not_null()).is_empty()
        for vantage, (out, home) in STAMPS.items():
            [of] = [t["id"] for t in trials if (t["factors"] | {"vantage": 0}, t["block"])
                    == (trial["factors"] | {"vantage": 0}, trial["block"]) and t["factors"]["vantage"] == vantage]
            want = (packets[home] - packets[out]).drop_nulls().sort() * 1000
            found = samples.filter(polars.col("trial") == of)["value_ps"].sort()
            assert found.to_list() == want.to_list(), vantage
        # Each round trip lies within the one before.
        wider = packets["user_received_ns"] - packets["user_sent_ns"]
        for out, home in list(STAMPS.values())[1:]:
            narrower = packets[home] - packets[out]
            assert (narrower <= wider).sum() >= 0.99 * len(packets)
            wider = narrower


@ROOT_ONLY
def test_round_trips_that_were_held_up_here_are_marked_with_their_cause(tmp_path):
    """Real-time bursts of 30 ms in 300 on the CPU of the measurement: one round trip in ten or more, as the program sees them,
    and none as the kernel does, whose stamps lie below that. The machine may hold others up: each try is told."""
    last, seen = max(os.sched_getaffinity(0)), []
    for attempt in range(3):
        run = tmp_path / f"run-{attempt}"
        with delayed(0.04) as port, started([[BURSTS, "zqbursts", str(last)]]):
            measure(run, "--port", port, "--probes", 400, "--intervals", "10ms", "--blocks", 1, "--loads", "idle", "--cpu", last)
        trials = {t["factors"]["vantage"]: t for t in record(run)["trials"]}
        marked = {vantage: {m["cause"]: m["samples"] for m in t["observation"]["marked"]} for vantage, t in trials.items()}
        seen.append(marked)
        if marked["user"].get("preempted", 0) >= 20:
            break
    else:
        pytest.fail(f"{seen}")
    # The machine itself may have stood still.
    assert set(marked["kernel"]) <= {"stolen", "unseen"} and 0 < trials["user"]["observation"]["own_cpu_share"] < 0.3
    samples = polars.read_parquet(run / "packet-delay.parquet")
    of_user = samples.filter(polars.col("trial") == trials["user"]["id"])
    of_mark = of_user.filter(polars.col("mark").str.starts_with("preempted"))["value_ps"]
    assert len(of_mark) == marked["user"]["preempted"]
    assert (of_mark > of_user["value_ps"].median() + 5 * MS * 1000).sum() >= 10
    summary = trials["user"]["summary"]
    assert summary["undisturbed"]["samples"] < summary["measured"]["samples"], summary
    told = cells(run)["user", "idle"]
    assert told["undisturbed"]["samples"] == summary["undisturbed"]["samples"] and told["measured"]["samples"] > 390, told


def test_the_report_says_what_lies_between(run):
    told = cells(run)
    assert set(told) == {(v, load) for v in VANTAGES for load in ["idle", "cpu"]}
    for load in ["idle", "cpu"]:
        between = {t["name"]: t for t in told["user", load]["round_trips"]["between"]}
        assert {"user and qdisc", "qdisc and kernel", "far end's stay", "path beyond kernel", "PDV of the path",
                "IPDV of the path", "sent late by"} <= set(between)
        # By polars, over all blocks, which have one size here.
        ids = [t["id"] for t in record(run)["trials"] if t["factors"]["load"] == load]
        packets = stamps(run).filter(polars.col("trial").is_in(ids) & (polars.col("outcome") == "answered"))
        added = packets["scheduled_ns"] - packets["user_sent_ns"] + packets["user_received_ns"] - packets["received_ns"]
        assert len(added) == between["user and qdisc"]["probes"]
        assert between["user and qdisc"]["median_ns"] == pytest.approx(added.median(), abs=1000)
        assert between["user and qdisc"]["max_ns"] == added.max()
        assert told["user", load]["round_trips"]["lost_share"] == 0
    text = tompion("report", run, "--format", "md", check=0).stdout
    assert "What lies between" in text and "far end's stay" in text and "120 probes of " in text
    page = (run / "report.html").read_text()
    assert page.count("vantage kernel") > 1 and "What lies between" in page
    screen = tompion("report", run, check=0).stdout
    assert "user and qdisc" in screen and max(map(len, screen.splitlines())) <= 100


def test_vantage_points_and_runs_are_compared_like_any_other_cell(run, tmp_path):
    told = json.loads(tompion("compare", run, "--by", "vantage", "--json", check=0).stdout)
    assert told

    def late(ms):
        def reply(request):
            received = ntp()
            time.sleep(ms / 1e3)
            return [reply_to(request, received, ntp())]

        return reply

    runs = []
    for ms in [1, 6]:
        with answering(late(ms)) as port:
            runs.append(tmp_path / f"{ms}ms")
            measure(runs[-1], "--port", port, "--probes", 120, "--intervals", "15ms", "--blocks", 3)
    before, after = (cells(r) for r in runs)
    for vantage in ["user", "qdisc", "kernel"]:
        more = after[vantage, "idle"]["measured"]["median_ns"] - before[vantage, "idle"]["measured"]["median_ns"]
        assert 3 * MS < more < 8 * MS, (vantage, more)
        # The far end said how long it kept them, and that is not the path's.
        gate = f"packet-delay/stamp/15ms/vantage={vantage}/idle median > +50%"
        done = tompion("compare", *runs, "--within-run", "--fail-if", gate)
        assert done.returncode in (2, 3), done.stdout + done.stderr
    for measured, run_ in zip((before, after), runs):
        path = measured["path", "idle"]["measured"]
        left_out = [t["findings"]["round_trips"]["left_out"] for t in record(run_)["trials"] if t["factors"]["vantage"] == "path"]
        # Of a far end that keeps probes now shorter and now longer few are clean; then nothing is said.
        assert path["median_ns"] < 3 * MS if path else max(left_out) >= 20, (path, left_out)
    between = [{t["name"]: t["median_ns"] for t in c["user", "idle"]["round_trips"]["between"]} for c in (before, after)]
    assert between[1]["far end's stay"] - between[0]["far end's stay"] > 3 * MS
    assert between[1]["path beyond kernel"] < 3 * MS


def test_a_reflector_that_stands_still_shows_in_its_stay_and_not_in_the_path(tmp_path):
    with reflecting() as (process, port, _):
        def stop():
            time.sleep(1.2)
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.2)
            process.send_signal(signal.SIGCONT)

        stopper = threading.Thread(target=stop)
        stopper.start()
        measure(tmp_path / "run", "--port", port, "--probes", 150, "--intervals", "20ms", "--blocks", 1)
        stopper.join()
    cell = cells(tmp_path / "run")["kernel", "idle"]
    between = cells(tmp_path / "run")["user", "idle"]["round_trips"]["between"]
    most = {t["name"]: t["max_ns"] for t in between}
    assert 120 * MS < most["far end's stay"] < 400 * MS, most
    assert most["path beyond kernel"] < most["far end's stay"] / 4, most
    assert most["PDV of the path"] < most["far end's stay"] / 4, most
    # The round trip itself has it, at each vantage point; the path has none of the probes that it held up.
    assert cell["measured"]["max_ns"] > 120 * MS
    path = cells(tmp_path / "run")["path", "idle"]
    assert path["round_trips"]["probes"]["left_out"] >= 5, path
    # Where the machine held up most of the others, too, it has none at all.
    assert path["measured"] is None or path["measured"]["max_ns"] < most["far end's stay"] / 4, path


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces take root")
def test_a_planted_delay_is_found_at_the_kernels_vantage_point(tmp_path):
    run = tmp_path / "run"
    command = f'tompion measure packet-delay --to "$FAR_END" --icmp --probes 200 --blocks 2 --out {run} --quiet'
    path = f"{TOMPION.parent}:{os.environ['PATH']}"
    done = subprocess.run([TOMPION, "testbed", "--rtt", "20ms", "--", "sh", "-c", command], env=os.environ | {"PATH": path},
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = cells(run)
    kernel = told["kernel", "idle"]["measured"]
    assert kernel["samples"] == 200 and 20 * MS <= kernel["min_ns"]
    assert kernel["median_ns"] < 21 * MS, kernel
    between = {t["name"]: t for t in told["user", "idle"]["round_trips"]["between"]}
    # No layer of this machine has it, and the far end tells nothing of itself.
    assert between["user and qdisc"]["median_ns"] < MS and between["qdisc and kernel"]["median_ns"] < MS
    assert "far end's stay" not in between and "PDV with the far end's stay" in between


def test_lost_late_and_repeated_ones_are_counted_and_no_samples(tmp_path):
    count = [0]

    def bad(request):
        number = count[0]
        count[0] += 1
        reply = reply_to(request, ntp(), ntp())
        # The first three are from the look whether anybody answers.
        if number in (6, 7):
            return []
        if number == 9:
            time.sleep(0.3)
        return [reply, reply] if number == 12 else [reply]

    with answering(bad) as port:
        measure(tmp_path / "run", "--port", port, "--probes", 30, "--intervals", "20ms", "--blocks", 1, "--timeout", "200ms")
    for trial in record(tmp_path / "run")["trials"]:
        found = trial["findings"]["round_trips"]
        assert found["due"] == 30 and found["lost"] >= 3 and found["late_replies"] >= 1 and found["duplicates"] == 1
        assert trial["tables"]["samples"]["rows"] == found["answered"] - found["without_value"] - found.get("left_out", 0)
        assert trial["summary"]["measured"]["max_ns"] <= 200 * MS
    packets = stamps(tmp_path / "run")
    assert packets["outcome"].value_counts().sort("outcome")["outcome"].to_list() == ["answered", "lost"]
    lost = packets.filter((polars.col("outcome") == "lost") & polars.col("arrival").is_null())
    assert len(lost) == 2 and lost["received_missing"].to_list() == ["lost", "lost"]
    text = tompion("report", tmp_path / "run", "--format", "md", check=0).stdout
    assert re.search(r"\d lost \(\d.* %\), up to \d+ in a row, \d+ of them answered after 200 ms", text), text


def test_an_interrupt_keeps_what_was_measured(tmp_path):
    with reflecting() as (_, port, _):
        options = ["--port", port, "--preset", "whiteaker", "--blocks", 1, "--out", tmp_path / "run", "--quiet"]
        command = [TOMPION, "measure", "packet-delay", "--to", "127.0.0.1", *map(str, options)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        time.sleep(5)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 130, told
    assert record(tmp_path / "run")["status"] == "interrupted"
    [user, *_] = record(tmp_path / "run")["trials"]
    found = user["findings"]["round_trips"]
    assert 5 <= found["answered"] < 100 and found["lost"] == 0
    assert found["bytes"] == 100 and found["interval_ns"] == 250 * MS


def test_without_the_kernels_stamps_there_is_one_vantage_point(tmp_path):
    with reflecting() as (_, port, _):
        measure(tmp_path / "run", "--port", port, "--probes", 20, "--intervals", "5ms", "--blocks", 1, "--user-stamps")
    assert [t["factors"]["vantage"] for t in record(tmp_path / "run")["trials"]] == ["user"]


def test_where_the_kernel_refuses_stamps_its_trials_are_there_and_empty(tmp_path):
    """As in gVisor, which knows no SO_TIMESTAMPING, old or new."""
    sandbox = without(["setsockopt:37", "setsockopt:65"], "ENOPROTOOPT")
    with reflecting() as (_, port, _):
        options = ["--port", port, "--probes", 20, "--intervals", "5ms", "--blocks", 1]
        command = [*sandbox, TOMPION, "measure", "packet-delay", "--to", "127.0.0.1", *options, "--out", tmp_path / "run"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr
        ping = [*sandbox, TOMPION, "ping", "127.0.0.1", "--port", port, "--count", 5, "--interval", "5ms"]
        told = subprocess.run(list(map(str, ping)), capture_output=True, text=True, timeout=60).stdout
    by_vantage = {t["factors"]["vantage"]: t for t in record(tmp_path / "run")["trials"]}
    assert list(by_vantage) == VANTAGES
    assert by_vantage["user"]["summary"]["measured"]["samples"] == 20
    for vantage in ["qdisc", "kernel"]:
        trial = by_vantage[vantage]
        assert trial["summary"].get("measured") is None, trial
        assert trial["findings"]["round_trips"]["without_value"] == 20
        assert {m["why"] for m in trial["findings"]["round_trips"]["missing"]} == {"refused"}, trial
    assert "The kernel gives no stamps here (Protocol not available" in told


def test_a_redacted_run_keeps_its_stamps_and_not_its_far_end(tmp_path):
    with reflecting() as (_, port, _):
        measure(tmp_path / "run", "--port", port, "--probes", 20, "--intervals", "5ms", "--blocks", 1, to="localhost")
    assert f"localhost:{port}" in (tmp_path / "run/run.json").read_text()
    tompion("report", tmp_path / "run", "--redact", "--format", "run", "--out", tmp_path / "given", check=0)
    text = (tmp_path / "given/run.json").read_text()
    assert "localhost" not in text and str(port) not in text
    names = ["outcome", "user_sent_ns", "received_ns", "sent_missing"]
    assert stamps(tmp_path / "given")[names].equals(stamps(tmp_path / "run")[names])
    assert {t["factors"]["vantage"] for t in json.loads(text)["trials"]} == set(VANTAGES)


def test_it_is_a_probe_of_the_lab(tmp_path):
    plan = """
replicates = 1
[[platforms]]
kind = "host"
[[probes]]
kind = "packet-delay"
to = "127.0.0.1"
port = "{port}"
probes = 40
intervals = ["5ms"]
time = "1s"
"""
    with reflecting() as (_, port, _):
        (tmp_path / "plan.toml").write_text(plan.format(port=port))
        tompion("lab", "run", tmp_path / "plan.toml", "--out", tmp_path / "run", "--quiet", check=0)
    trials = record(tmp_path / "run")["trials"]
    assert [t["factors"]["vantage"] for t in trials] == VANTAGES
    assert len(stamps(tmp_path / "run")) == 40
    (tmp_path / "plan.toml").write_text(plan.format(port=1).replace('to = "127.0.0.1"', ""))
    done = tompion("lab", "plan", tmp_path / "plan.toml", check=1)
    assert "packet-delay needs `to`" in done.stderr


@pytest.mark.parametrize("beside", ["counters", "off", "auto,counters"])
def test_what_is_observed_cannot_be_chosen(tmp_path, beside):
    done = measure(tmp_path / "run", "--icmp", "--observe", beside, check=1)
    assert "--observe: trials of packet delay are always watched with all the evidence there is; leave it out" in done.stderr
    assert done.stderr.count("\n") == 1 and not (tmp_path / "run").exists()
    assert "Not selectable here" in tompion("measure", "packet-delay", "--help", check=0).stdout


def test_with_a_key_a_stranger_that_wants_one_answers_and_without_it_does_not(tmp_path):
    key = tmp_path / "key"
    key.write_text("0123456789abcdef0123456789abcdef\n")
    key.chmod(0o600)
    with reflecting("--key", key) as (_, port, told):
        measure(tmp_path / "run", "--port", port, "--probes", 40, "--intervals", "5ms", "--blocks", 1, "--key", key)
        done = measure(tmp_path / "none", "--port", port, check=1)
    assert "no reply from 127.0.0.1" in done.stderr and not (tmp_path / "none").exists()
    assert record(tmp_path / "run")["trials"][0]["findings"]["round_trips"]["answered"] == 40
    assert "0123456789abcdef" not in (tmp_path / "run/run.json").read_text()
    key.chmod(0o644)
    done = measure(tmp_path / "none", "--port", port, "--key", key, check=1)
    assert "can be read by others (mode 0644): chmod 600" in done.stderr and done.stderr.count("\n") == 1


def test_the_machines_timer_slack_is_told_and_not_that_of_who_asked(run):
    """A real-time or precise caller's slack would be told as the machine's."""
    with open("/proc/self/timerslack_ns") as own:
        assert record(run)["environment"]["clock"]["timer_slack_ns"] == int(own.read())


def test_a_planted_machine_has_its_trials_too(tmp_path):
    tompion("measure", "packet-delay", "--to", "127.0.0.1", "--icmp", "--out", tmp_path / "run", "--quiet",
            program=planted(), check=0)
    assert {t["factors"]["vantage"] for t in record(tmp_path / "run")["trials"]} == set(VANTAGES)


@pytest.mark.parametrize(
    "options, told",
    [
        ([], "--to <HOST>"),
        (["--to", "no-such-host.invalid"], "no-such-host.invalid: "),
        (["--to", "127.0.0.1", "--port", "{closed}"], "no reply from 127.0.0.1.*Connection refused"),
        (["--to", "127.0.0.1", "--size", "50"], "a probe has 72 to "),
        (["--to", "127.0.0.1", "--size", "x"], "no length of a packet"),
        (["--to", "127.0.0.1", "--port", "0"], "from 1 to 65535"),
        (["--to", "two words"], "no name of a host"),
        (["--to", "127.0.0.1", "--preset", "kirova"], "use whiteaker"),
        (["--to", "127.0.0.1", "--preset", "whiteaker", "--size", "99"], "cannot be used with"),
        (["--to", "127.0.0.1", "--probes", "0"], "at least 1"),
        (["--to", "127.0.0.1", "--icmp", "--intervals", "10ms,10ms"], "named twice"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_leaves_nothing(options, told, tmp_path):
    options = [option.format(closed=free_port()) for option in options]
    done = tompion("measure", "packet-delay", *options, "--out", tmp_path / "run", check=1)
    assert re.search(told, done.stderr), done.stderr
    assert done.stderr.count("\n") == 1 and not (tmp_path / "run").exists()


def test_somebody_who_says_something_else_is_named(tmp_path):
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(answering(lambda request: [b"what?"]))
        done = measure(tmp_path / "run", "--port", port, check=1)
    assert "3 packets came that are no replies" in done.stderr and not (tmp_path / "run").exists()
