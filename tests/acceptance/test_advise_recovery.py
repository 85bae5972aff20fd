"""`tompion advise` ended at bad moments, beside others, and by records that lie.

What it changes are files that stand for settings, mounted over the kernel's own where it
alone sees them; the kernel's are changed in guests (crates/tompion-guest/tests/advise.rs)."""

import json
import os
import random
import signal
import subprocess
import time

import pytest

from conftest import TOMPION
from own_run import CLOCKSOURCE, OwnRun, may_mount, mounted
from test_advise import at_a_terminal
from test_time_limits import ROOT_ONLY

pytestmark = [
    ROOT_ONLY,
    pytest.mark.skipif(not may_mount(), reason="may not mount"),
]

CHANGES = ("--system", "--only", "clocksource", "--quiet")
PLAIN = ("--only", "timer-slack", "--duration", "300ms", "--quiet")


class Machine(OwnRun):
    """A machine whose clocksource is a file."""

    def __init__(self, place, old="kvm-clock", offers="kvm-clock planted"):
        super().__init__(mounted(place, {"clock": CLOCKSOURCE, "run": "/run"}), place / "run")
        for name in ("run", "clock"):
            (place / name).mkdir()
        self.value = place / "clock/current_clocksource"
        self.value.write_text(old + "\n")
        (place / "clock/available_clocksource").write_text(offers + "\n")

    def start(self, *arguments, **how):
        return subprocess.Popen(
            [*self.prefix, str(TOMPION), "advise", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **how,
        )

    def run(self, *arguments):
        process = self.start(*arguments)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def says(self):
        return self.value.read_text().strip()

    def until_changed(self):
        end = time.monotonic() + 60
        while self.says() != "planted":
            assert time.monotonic() < end, "never changed"
            time.sleep(0.001)

    def killed_with_a_change(self):
        """Kills runs until one leaves its change behind, as most do."""
        for _ in range(50):
            process = self.start(*CHANGES, "--duration", "60s")
            self.until_changed()
            process.kill()
            process.communicate()
            if self.says() == "planted":
                assert self.record.exists()
                return
        pytest.fail("no kill came while the value was changed")

    def plant(self, **other):
        """A record as a killed run leaves it, but for `other`."""
        boot = open("/proc/sys/kernel/random/boot_id").read().strip()
        path = f"{CLOCKSOURCE}/current_clocksource"
        change = {"path": path, "old": "kvm-clock", "new": "planted"}
        record = {"format": 1, "boot_id": boot, "pid": 1, "knob": "k", "changes": [change]}
        self.record.parent.mkdir(exist_ok=True)
        self.record.write_text(json.dumps(record | other))
        self.record.chmod(0o644)


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def one_line(done, *words):
    assert done.returncode == 1, done
    assert done.stderr.count("\n") == 1 and not done.stdout, done
    for word in words:
        assert word in done.stderr, done.stderr


def test_a_kill_at_any_moment_is_undone_by_restore_and_offered_at_the_next_start(machine):
    moments = random.Random(7)
    for attempt in range(6):
        process = machine.start(*CHANGES, "--duration", "60s")
        if attempt % 2:
            machine.until_changed()
        time.sleep(moments.random() * 0.6)
        process.kill()
        process.communicate()
        if machine.says() == "":
            # Between being emptied and being written, which a file can be; the kernel's own
            # settings take a value as a whole.
            machine.value.write_text("planted\n")
        was_changed, has_record = machine.says() != "kvm-clock", machine.record.exists()
        assert has_record or not was_changed, "changed without a record"
        if has_record:
            one_line(machine.run(*PLAIN), "killed", "`clocksource=planted`", "--restore")
            assert (machine.says() != "kvm-clock") == was_changed, "nothing but told"
        restored = machine.run("--restore")
        assert restored.returncode == 0, restored.stderr
        assert machine.says() == "kvm-clock" and not machine.record.exists()
        word = "put back" if was_changed else "unchanged" if has_record else "nothing to put back"
        assert word in restored.stdout, restored.stdout
    machine.killed_with_a_change()
    done = machine.run("--restore", "--json")
    path = f"{CLOCKSOURCE}/current_clocksource"
    told = json.loads(done.stdout)
    assert told.pop("put_back") == [{"path": path, "value": "kvm-clock"}]
    assert set(told) == {"unchanged", "gone", "left_alone", "failed"} and not any(told.values())
    assert machine.says() == "kvm-clock"
    assert not any(json.loads(machine.run("--restore", "--json").stdout).values())


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_at_any_moment_puts_everything_back(machine, name):
    moments = random.Random(name)
    for attempt in range(3):
        load = ("--load", "cpu:threads=2") if attempt == 1 else ()
        process = machine.start(*CHANGES, "--duration", "60s", *load, start_new_session=True)
        machine.until_changed()
        time.sleep(moments.random() * 0.4)
        # As a terminal sends it: to the load, too.
        os.killpg(process.pid, getattr(signal, name))
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130 and not err, (process.returncode, err)
        assert machine.says() == "kvm-clock" and not machine.record.exists()


def test_nohup_is_heeded(machine):
    process = subprocess.Popen(
        ["nohup", *machine.prefix, TOMPION, "advise", *CHANGES, "--duration", "2s"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    machine.until_changed()
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=60) == 0


def test_what_someone_else_sets_in_the_middle_stays_and_is_named(machine):
    process = machine.start("--system", "--only", "clocksource", "--duration", "4s", "--json")
    machine.until_changed()
    # In one piece, as the kernel takes it: never empty in between.
    with open(machine.value, "r+") as value:
        value.write("theirs".ljust(20, "\n"))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    found = json.loads(out)
    assert machine.says() == "theirs" and not machine.record.exists()
    # Written while it was on, or between two of its trials.
    assert len(found["left_alone"]) == 1 and "`theirs`" in found["left_alone"][0]
    [one] = [k for k in found["knobs"] if k["name"] == "clocksource=planted"]
    assert one["status"] == "refused" and one["reason"] == found["left_alone"][0]
    # And after a kill.
    machine.value.write_text("kvm-clock\n")
    machine.killed_with_a_change()
    machine.value.write_text("theirs\n")
    restored = machine.run("--restore")
    assert restored.returncode == 0 and restored.stdout.startswith("left alone: ")
    assert "`theirs`" in restored.stdout and machine.says() == "theirs"
    assert not machine.record.exists()


def test_a_record_that_others_may_have_written_is_not_gone_by(machine):
    machine.value.write_text("planted\n")
    machine.plant()
    real = machine.record.with_suffix(".real")
    machine.record.rename(real)
    machine.record.symlink_to(real)
    one_line(machine.run("--restore"), "symbolic link")
    one_line(machine.run(*PLAIN), "symbolic link")
    machine.record.unlink()
    real.rename(machine.record)
    os.chown(machine.record, 65534, -1)
    one_line(machine.run("--restore"), "user 65534")
    os.chown(machine.record, 0, -1)
    machine.record.chmod(0o666)
    one_line(machine.run("--restore"), "everyone may write")
    machine.record.unlink()
    os.mkfifo(machine.record)
    one_line(machine.run("--restore"), "no regular file")
    machine.record.unlink()
    assert machine.says() == "planted", "none of them was obeyed"
    # A directory of someone else's is no better.
    os.chown(machine.record.parent, 65534, -1)
    one_line(machine.run(*PLAIN), "user 65534")


def test_a_damaged_record_is_one_line_that_says_what_to_do(machine):
    machine.plant()
    whole = machine.record.read_bytes()
    for text in (b"", b"garbage", b"\xff\xfe\0", whole[: len(whole) // 2], b'{"format": 1}'):
        machine.record.write_bytes(text)
        for arguments in (("--restore",), PLAIN, ("--dry-run",)):
            one_line(machine.run(*arguments), "damaged", "by hand")
    assert machine.record.exists()


def test_half_a_record_of_a_killed_run_is_taken_away(machine):
    machine.record.parent.mkdir()
    half = machine.record.with_suffix(".json.new")
    half.write_text('{ "format": 1,')
    done = machine.run("--restore")
    assert done.returncode == 0 and "nothing to put back" in done.stdout, done
    assert not half.exists()


def test_of_another_boot_or_gone_it_keeps_nobody_waiting(machine):
    machine.value.write_text("planted\n")
    machine.plant(boot_id="another")
    done = machine.run("--restore")
    assert done.returncode == 0 and "another boot" in done.stderr
    assert done.stderr.count("\n") == 1
    assert machine.says() == "planted" and not machine.record.exists()
    change = {"path": "/sys/devices/system/cpu/cpu9999/cpuidle/state1/disable", "old": "1", "new": "2"}
    machine.plant(changes=[change])
    done = machine.run("--restore")
    assert done.returncode == 0 and "is there no more" in done.stdout, done
    assert not machine.record.exists()


def test_a_record_that_names_any_other_file_is_not_believed(machine, tmp_path):
    other = tmp_path / "passwd"
    other.write_text("after\n")
    machine.plant(changes=[{"path": str(other), "old": "root::0:0", "new": "after"}])
    for arguments in (["--restore"], [*CHANGES, "--duration", "1s"]):
        done = machine.run(*arguments)
        assert done.returncode == 1 and "which no remedy changes" in done.stderr, done
    assert other.read_text() == "after\n"


INTERRUPT = "/proc/irq/1/smp_affinity_list"


@pytest.mark.parametrize("seen_in", [
    "pipe", "hole", "link", "/etc/shadow", "/proc/irq/2/effective_affinity_list",
    "/proc/irq/1/../../kcore", "/proc/irq/1/effective_affinity_list/../smp_affinity_list",
    "/proc/irq/1/smp_affinity_list", "effective_affinity_list", "", "/dev/zero",
])
def test_a_record_that_has_any_other_file_looked_at_is_not_believed(machine, tmp_path, seen_in):
    pipe, hole, link = (tmp_path / name for name in ("pipe", "hole", "link"))
    os.mkfifo(pipe)
    with open(hole, "wb") as file:
        file.truncate(8 << 30)
    link.symlink_to("/dev/zero")
    seen_in = str(tmp_path / seen_in) if seen_in in ("pipe", "hole", "link") else seen_in
    back = {"value": "1", "seen_in": seen_in, "begun": True}
    machine.plant(changes=[{"path": INTERRUPT, "old": "0-1", "new": "0", "back": back}])
    done = machine.run("--restore")
    one_line(done, "no remedy looks at")


@pytest.mark.parametrize("kind", ["link", "pipe", "directory", "hole", "foreign", "writable"])
def test_a_record_that_is_no_plain_file_of_ours_is_not_read(machine, tmp_path, kind):
    machine.plant()
    record = machine.record
    if kind == "hole":
        with open(record, "ab") as file:
            file.truncate(8 << 30)
    elif kind == "foreign":
        os.chown(record, 65534, 65534)
    elif kind == "writable":
        record.chmod(0o666)
    else:
        record.rename(tmp_path / "there")
        {"link": lambda: record.symlink_to(tmp_path / "there"), "pipe": lambda: os.mkfifo(record),
         "directory": record.mkdir}[kind]()
    machine.value.write_text("planted\n")
    one_line(machine.run("--restore"), "advise.json")
    assert machine.says() == "planted"


def test_what_cannot_be_written_is_refused_with_what_it_takes(tmp_path):
    machine = Machine(tmp_path)
    script = machine.prefix[4].replace("exec", f"mount -o remount,bind,ro {CLOCKSOURCE} && exec")
    machine.prefix[4] = script
    done = machine.run("--system", "--only", "clocksource", "--duration", "1s", "--json")
    [one] = json.loads(done.stdout)["knobs"]
    assert one["status"] == "refused" and "read-only" in one["reason"], done
    assert machine.says() == "kvm-clock" and not machine.record.exists()


def test_without_a_place_for_the_old_value_nothing_is_changed(tmp_path):
    machine = Machine(tmp_path)
    fill = "mount -t tmpfs -o size=4k none /run && head -c 4096 /dev/zero >/run/fill && exec"
    machine.prefix[4] = machine.prefix[4].replace("exec", fill)
    done = machine.run("--system", "--only", "clocksource", "--duration", "1s", "--json")
    [one] = json.loads(done.stdout)["knobs"]
    assert one["status"] == "refused" and "No space left" in one["reason"], done
    assert machine.says() == "kvm-clock"


def test_without_a_yes_what_touches_the_system_is_left_out(machine):
    before = machine.value.stat().st_mtime_ns
    options = ("--duration", "300ms", "--json")
    done = machine.run("--only", "clocksource,timer-slack", *options)
    assert done.returncode == 0, done.stderr
    statuses = {k["name"]: (k["status"], k["reason"]) for k in json.loads(done.stdout)["knobs"]}
    assert statuses["clocksource=planted"] == ("not_tried", "needs --system")
    assert statuses["timer-slack"][0] != "not_tried"
    done = machine.run("--only", "clocksource", *options)
    assert done.returncode == 1 and "nothing is left to be tried" in done.stderr
    assert machine.value.stat().st_mtime_ns == before


@pytest.mark.parametrize("answer", ("n", "y"))
def test_a_terminal_is_asked_about_what_touches_the_system(machine, answer):
    options = ("--only", "clocksource,timer-slack", "--duration", "1s", "--json")
    status, out, shown = at_a_terminal(machine, f"{answer}\n", *options)
    assert status == 0, shown
    assert "clocksource=planted" in shown and "[y/N]" in shown
    [one] = [k for k in json.loads(out)["knobs"] if k["name"] == "clocksource=planted"]
    if answer == "y":
        assert one["pairs"] > 0 and one["files"]
    else:
        assert (one["status"], one["reason"]) == ("not_tried", "needs --system")
    assert machine.says() == "kvm-clock"


def test_a_full_disk_or_a_reader_that_left_does_not_keep_a_change(machine):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*machine.prefix, TOMPION, "advise", *CHANGES[:-1], "--duration", "1s"],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1 and "No space left" in done.stderr
    process = machine.start(*CHANGES[:-1], "--duration", "1s")
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    process.stderr.close()
    assert machine.says() == "kvm-clock" and not machine.record.exists()


def test_of_two_at_once_one_is_refused_and_changes_nothing(machine):
    first = machine.start(*CHANGES, "--duration", "60s")
    machine.until_changed()
    one_line(machine.run(*PLAIN), "another `tompion advise` is at work")
    # Stopped while its change is on, it may not be restored behind its back.
    for _ in range(200):
        machine.until_changed()
        first.send_signal(signal.SIGSTOP)
        time.sleep(0.05)
        if machine.says() == "planted" and machine.record.exists():
            break
        first.send_signal(signal.SIGCONT)
    one_line(machine.run("--restore"), "another `tompion advise` is at work")
    assert machine.says() == "planted"
    first.send_signal(signal.SIGCONT)
    first.terminate()
    first.communicate(timeout=60)
    assert first.returncode == 130 and machine.says() == "kvm-clock"


def test_a_dry_run_writes_nothing_anywhere(machine):
    machine.plant()
    before = {path: path.stat().st_mtime_ns for path in machine.directory.rglob("*")}
    done = machine.run("--dry-run", "--system", "--json")
    assert done.returncode == 0 and "--restore" in done.stderr
    assert json.loads(done.stdout)["dry_run"]
    assert {path: path.stat().st_mtime_ns for path in machine.directory.rglob("*")} == before
    assert machine.says() == "kvm-clock"
