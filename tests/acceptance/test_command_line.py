"""Exit statuses, one-line errors, help, man pages, completions, static binary."""

import json
import os
import resource
import shutil
import subprocess
import tempfile
import time

import pytest

from conftest import ROOT, TOMPION, planted, tompion

SHORT = ("--loads", "idle", "--duration", "2s", "--quiet")


def test_a_required_profile_that_fails_gives_status_2(tmp_path):
    # Default slack alone costs 50 us; 100 Gbit/s leaves 0.12 us between packets.
    done = tompion(
        *("check", *SHORT, "--out", tmp_path / "r", "--methods", "usleep", "--slack", "default"),
        *("--targets", "100us", "--blocks", 6, "--require", "pacing-100g"),
        program=planted(),
    )
    assert done.returncode == 2, done.stderr


def test_a_required_profile_that_is_undecided_gives_status_3(tmp_path):
    # One block has no interval over blocks.
    done = tompion(
        *("check", *SHORT, "--out", tmp_path / "r", "--methods", "usleep"),
        *("--targets", "100us", "--blocks", 1, "--require", "voip"),
        program=planted(),
    )
    assert done.returncode == 3, done.stderr


def test_a_required_profile_that_passes_gives_status_0(tmp_path):
    done = tompion(
        *("check", "--loads", "idle", "--duration", "400s", "--quiet", "--out", tmp_path / "r"),
        *("--methods", "clock-nanosleep-abs", "--targets", "20ms", "--blocks", 64),
        *("--require", "voip"),
        program=planted(),
    )
    assert done.returncode == 0, done.stderr
    # Nobody takes it for a measurement.
    assert "planted" in (tmp_path / "r/report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ([], "tompion check"),
        (["chek"], "check"),
        (["check", "--quik"], "--quick"),
        (["check", "--targets", "100"], "100us"),
        (["check", "--targets", "0us"], "1ns"),
        (["check", "--loads", "cup"], "cpu"),
        (["check", "--loads", "cpu:threads=0"], "threads"),
        (["check", "--loads", "idle,idle"], "twice"),
        (["check", "--methods", "snooze"], "tompion list"),
        (["check", "--require", "golf"], "voip"),
        (["check", "--require", "voip", "--methods", "rdtsc"], "add a method that waits"),
        (["check", "--policy", "fifo:200"], "1..99"),
        (["check", "--blocks", "0"], "at least 1"),
        (["check", "--samples", "0"], "at least 1"),
        (["check", "--wake-samples", "0"], "at least 1"),
        (["check", "--cpu", "9999"], "CPU 9999 does not exist; this machine has 0"),
        (["measure", "stalls", "--cpus", "0,8191"], "CPU 8191 does not exist; this machine has 0"),
        (["load", "cpu", "--cpu", "8191", "--for", "1s"], "CPU 8191 does not exist"),
        (["load", "disk-read:irq=8191", "--for", "1s"], "CPU 8191 does not exist"),
        (
            ["measure", "stalls", "--loads", "disk-read:irq=8191", "--duration", "9s"],
            "CPU 8191 does not exist",
        ),
        (["check", "--seed", "abc"], "such as 42"),
        (["check", "--duration", "-5s"], "--duration: no value may be negative"),
        (["check", "--out", "/dev/null/r"], "Not a directory"),
        (["check", "--out", "/proc/nowhere"], "/proc/nowhere"),
        (["check", "--out", "/etc"], "not empty"),
        (["check", "--out", "/dev/full"], "no directory; choose another"),
        # Where nothing can be written, before anything else is looked at.
        (["check", "--out", "/etc", "--cpu", "9999"], "not empty"),
        (["lab", "run", ROOT / "plans/quick.toml", "--out", "/etc"], "/etc: exists and is not empty"),
        (["report", "/nonexistent", "--format", "run", "--out", "/etc"], "/etc: exists and is not empty"),
        (["report", "/nonexistent", "--format", "svg", "--out", "/dev/full"], "/dev/full: exists and is no directory"),
        (["report", "/nonexistent", "--format", "md", "--out", "/nowhere/run.md"], "/nowhere/run.md"),
        (["report", "/nonexistent"], "not a run directory"),
        (["report", "/etc"], "not a run directory"),
        (["completions", "tcl"], "bash"),
        (["peer", "--listen", "here"], "here"),
    ],
)
def test_bad_input_gets_one_clear_line_and_status_1(tmp_path, arguments, hint):
    done = tompion(*arguments, cwd=tmp_path)
    assert done.returncode == 1, done.stdout
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("tompion: ") and hint in done.stderr, done.stderr
    assert done.stderr.count("(os error") <= 1, "the cause is told once"
    assert list(tmp_path.iterdir()) == [], "something was left behind"


def test_an_absent_cpu_is_refused_and_nothing_is_left(tmp_path):
    done = tompion(
        "check", *SHORT, "--cpu", "9999", "--methods", "usleep", "--out", tmp_path / "r"
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and "CPU 9999" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root, to become somebody without rights")
def test_who_may_not_leave_the_idle_policy_is_told_what_it_takes():
    def idle():
        resource.setrlimit(resource.RLIMIT_NICE, (0, 0))
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))

    with tempfile.TemporaryDirectory(prefix="tompion-") as place:
        # The program where everybody may go, unlike the directory of this project perhaps.
        os.chmod(place, 0o777)
        program = shutil.copy(TOMPION, place)
        done = subprocess.run(
            [program, "check", *SHORT, "--methods", "usleep", "--out", f"{place}/r"],
            preexec_fn=idle, user=65534, group=65534, extra_groups=[], capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=60,
        )
        assert not os.path.exists(f"{place}/r")
    [line] = done.stderr.splitlines()
    assert done.returncode == 1 and "scheduling policy other" in line
    assert "leaving SCHED_IDLE" in line and "RLIMIT_NICE" in line and "RTPRIO" not in line


def test_every_command_has_help_with_examples():
    top = tompion("--help", check=0).stdout
    for command in ("check", "report", "env", "list", "load", "peer", "man", "completions"):
        assert command in top
        assert "Examples:" in tompion(command, "--help", check=0).stdout, command
    assert tompion("--version", check=0).stdout.startswith("tompion ")


def test_env_and_list_print_tables_and_json():
    environment = json.loads(tompion("env", "--json", check=0).stdout)
    assert environment["hostname"] == os.uname().nodename
    assert os.uname().release in tompion("env", check=0).stdout
    names = json.loads(tompion("list", "--json", check=0).stdout)
    assert {
        "probes",
        "read_cost_methods",
        "wake_up_methods",
        "timer_event_methods",
        "loads",
        "platforms",
        "profiles",
    } == set(names)
    text = tompion("list", check=0).stdout
    for section in names.values():
        for entry in section:
            assert entry["name"] in text


def test_man_pages_render_without_a_warning(tmp_path):
    tompion("man", "--out", tmp_path / "man", check=0)
    pages = sorted((tmp_path / "man").iterdir())
    assert {"tompion.1", "tompion-check.1", "tompion-report.1"} <= {p.name for p in pages}
    for page in pages:
        done = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", str(page)],
            capture_output=True,
            text=True,
            env=os.environ | {"MANPAGER": "cat", "MANROFFSEQ": "", "LC_ALL": "C.UTF-8"},
        )
        assert done.returncode == 0 and len(done.stdout) > 300, page
        assert done.stderr == "", (page, done.stderr)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_name_every_option_of_check(shell):
    text = tompion("completions", shell, check=0).stdout
    for option in ("quick", "loads", "require", "duration"):
        assert option in text
    # What stands in their values, too: a method, a load, a use.
    for name in ("clock-nanosleep-abs", "memory-bus", "audio-48k-64"):
        assert name in text
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)


def test_json_goes_to_standard_output_alone(tmp_path):
    done = tompion(
        *("check", "--loads", "idle", "--duration", "1s", "--methods", "rdtsc,usleep"),
        *("--blocks", 2, "--json", "--out", tmp_path / "r"),
        check=0,
        program=planted(),
    )
    result = json.loads(done.stdout)
    assert result["schema_version"] == 1 and done.stderr == ""


def test_quick_takes_at_most_half_a_minute(tmp_path):
    before = time.monotonic()
    tompion("check", "--quick", "--quiet", "--out", tmp_path / "r", check=0)
    seconds = time.monotonic() - before
    print(f"--quick took {seconds:.1f} s")
    assert seconds <= 30


def test_the_static_binary_runs_alone(tmp_path):
    static = ROOT / "dist/tompion"
    kind = subprocess.run(["file", "-L", static], capture_output=True, text=True)
    dynamic = subprocess.run(["ldd", static], capture_output=True, text=True)
    assert "statically linked" in dynamic.stdout + dynamic.stderr + kind.stdout or (
        "not a dynamic executable" in dynamic.stderr
    )
    arguments = ("check", "--loads", "idle,cpu:threads=4", "--duration", "14s", "--blocks", "2")
    if os.geteuid() != 0:
        tompion(*arguments, "--out", tmp_path / "r", program=static, check=0)
        return
    # An empty root: nothing of Rust, no C library, only /proc, /sys and /dev.
    root = tmp_path / "root"
    for name in ("proc", "sys", "dev", "tmp"):
        (root / name).mkdir(parents=True)
    (root / "tompion").write_bytes(static.read_bytes())
    (root / "tompion").chmod(0o755)
    script = (
        f"mount -t proc proc {root}/proc; mount -t sysfs sys {root}/sys;"
        f"mount --bind /dev {root}/dev;"
        f"exec chroot {root} /tompion {' '.join(arguments)} --out /tmp/r"
    )
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-ec", script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    record = json.loads((root / "tmp/r/run.json").read_text())
    # A busy machine may take longer than the blocks' time; none of them is cut.
    assert record["status"] in ("complete", "time-limit") and record["trials"]


def test_real_time_policy_has_no_slack_factor(tmp_path):
    done = tompion(
        *("check", *SHORT, "--policy", "other,fifo:10", "--methods", "usleep", "--blocks", 2),
        *("--targets", "200us", "--out", tmp_path / "r"),
    )
    if done.returncode == 1 and "fifo" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "r/run.json").read_text())
    keys = [t["factors"] for t in record["trials"]]
    assert any(k.get("policy") == "fifo:10" for k in keys)
    assert all(("timer-slack" in k) == ("policy" not in k) for k in keys)


@pytest.mark.parametrize("load", [
    *("io", "hd", "disk-read", "file-server", "memory", "memory-bus", "network", "download", "udp"),
    *("cpu:threads=2+network", "stress-ng:cpu=1", "iperf3"),
])
def test_every_load_runs_beside_a_check_and_leaves_nothing(tmp_path, load):
    directory = tmp_path / "r"
    tompion(
        *("check", "--loads", f"idle,{load}", "--methods", "usleep", "--targets", "100us"),
        *("--blocks", 1, "--duration", "2s", "--quiet", "--out", directory),
        check=0,
    )
    record = json.loads((directory / "run.json").read_text())
    loaded = [t for t in record["trials"] if t["factors"]["load"] == load]
    # Both slacks, or the one that a busy machine had time for.
    assert 1 <= len(loaded) <= 2
    for trial in loaded:
        assert trial["load"]["cpu_time_ns"] > 0 or trial["load"]["operations"] > 0
    names = {f["file"] for f in record["files"]} | {"run.json", "report.html"}
    assert {p.name for p in directory.iterdir()} == names


