"""Commands of the program in a sandbox that refuses a system call, and what is wrong with how each
ends: `problems`."""

import contextlib
import errno
import functools
import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import tarfile
import termios
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from conftest import ROOT, TOMPION, tompion
from own_run import mounted
from preload import program
from test_advise_recovery import Machine
from test_writers import PLAN

ERRORS = ["EPERM", "ENOSYS"]
LONGEST_S = 90
# Several wait at once.
LANES = 4 * (os.cpu_count() or 1)


@functools.cache
def numbers():
    """System calls of this machine, by name."""
    done = subprocess.run(["cc", "-E", "-dM", "-include", "sys/syscall.h", "-xc", "/dev/null"],
                          capture_output=True, text=True, check=True)
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)$", done.stdout, re.M)}


def without(calls, error):
    """What stands before a command line to have it run without these calls; `setsockopt:37` is one with
    that third argument alone."""
    def number(call):
        name, *third = call.split(":")
        return ":".join([str(numbers()[name]), *third])

    listed = ",".join(map(number, calls))
    return [program("refuse.c"), str(getattr(errno, error)), listed]


def refusing(calls, error, *arguments):
    """The command line that runs the program without these calls."""
    return [*without(calls, error), TOMPION, *arguments]


def processes(mark):
    """Those in whose environment `mark` stands, by command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
    return found


def run(command, meanwhile=None, **streams):
    """(Exit status or `None` if it hung, standard output, standard error, what it left running).
    `meanwhile` is called with the process."""
    mark = f"TOMPION_TEST_MARK={uuid.uuid4()}"
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    child = subprocess.Popen(list(map(str, command)), text=True, env=os.environ | dict([mark.split("=")]), **streams)
    try:
        if meanwhile:
            meanwhile(child)
        out, err = child.communicate(timeout=LONGEST_S)
        status = child.returncode
    except subprocess.TimeoutExpired:
        for pid in processes(mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        out, err = child.communicate()
        status = None
    # What the kernel ends with its parent takes a moment.
    until = time.monotonic() + 5
    while (left := processes(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return status, out or "", err or "", left


class Command:
    """A command of the program, in a directory of its own."""

    # What it may end with besides 1, which needs one line.
    statuses = (0,)

    def __init__(self, place):
        self.place = place
        place.mkdir()
        # Before the sandbox.
        self.prefix = []

    def arguments(self):
        raise NotImplementedError

    def run(self, sandbox):
        """As `run` above."""
        return run([*self.prefix, *sandbox, TOMPION, *self.arguments()])

    def lines(self, told):
        """Of what it told, what counts where it ends with 1."""
        return [line for line in told.splitlines() if "not available, left out" not in line]

    def left(self, status):
        """What is wrong with what it has written, in words; `None` where nothing is."""
        return None

    def problem(self, sandbox):
        """What is wrong with it there, in words; `None` where nothing is."""
        status, said, told, left = self.run(sandbox)
        lines = self.lines(told)
        if status is None:
            return "hangs"
        if "panicked at" in told + said:
            return f"panics: {told}"
        if left:
            return f"leaves {left}, {status}: {told}"
        if status == 1:
            if len(lines) != 1 or not lines[0].startswith("tompion: "):
                return f"ends in {len(lines)} lines: {told}"
        elif status not in self.statuses:
            return f"ends with {status}: {told}"
        wrong = self.left(status)
        return wrong and f"ends with {status}, {wrong}: {told}"

    def traced(self):
        """System calls of all its processes where nothing is refused."""
        told = self.place / "calls"
        status, _, why, _ = self.run(["strace", "-f", "-c", "-U", "name", "-o", told])
        assert status == 0, why
        found = set(told.read_text().split()) & set(numbers())
        assert len(found) > 20
        return found


class Measured(Command):
    """A command that writes a run."""

    statuses = (0, 2, 3)
    measure, quiet = (), ("--quiet",)

    def __init__(self, place):
        super().__init__(place)
        self.out = place / "run"

    def arguments(self):
        return [*self.measure, "--out", self.out, *self.quiet]

    def left(self, status):
        # Where a run was begun, what it holds can be read.
        if status == 1 and not (self.out / "run.json").exists():
            return None
        read = tompion("report", self.out, "--json")
        if read.returncode != 0:
            return f"and a run that cannot be read: {read.stderr}"
        if status != 1 and not json.loads((self.out / "run.json").read_text())["trials"]:
            return "has measured nothing, and says nothing of it"
        if half_done := list(self.out.rglob(".tmp-*")):
            return f"and left {half_done}"
        return None


def measured(*arguments, **others):
    """A command that writes a run, by its options."""
    return type("Measured", (Measured,), {"measure": arguments} | others)


class Report(Command):
    """Of the golden run."""

    def __init__(self, place):
        super().__init__(place)
        self.page = place / "page.html"
        with tarfile.open(ROOT / "tests/golden/version-2.tar.gz") as packed:
            packed.extractall(place, filter="data")

    def arguments(self):
        return ["report", self.place / "version-2", "--html", self.page]

    def left(self, status):
        whole = self.page.exists() and self.page.read_text().endswith("</html>")
        if not whole and (status == 0 or self.page.exists()):
            return "and no whole page"
        return None


class Watch(Measured):
    """On a terminal."""

    def arguments(self):
        return ["watch", "--for", "1500ms", "--loads", "idle", "--targets", "1ms", "--out", self.out]

    def run(self, sandbox):
        master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 80))
        before = termios.tcgetattr(slave)
        shown = bytearray()

        def read():
            with contextlib.suppress(OSError):
                while data := os.read(master, 65536):
                    shown.extend(data)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            ended = run([*self.prefix, *sandbox, TOMPION, *self.arguments()], stdin=slave, stdout=slave)
            self.is_restored = termios.tcgetattr(slave) == before
        finally:
            os.close(slave)
            reader.join()
            os.close(master)
        status, _, told, left = ended
        return status, shown.decode(errors="replace"), told, left

    def left(self, status):
        # Whose ioctl is refused cannot set it either way.
        return super().left(status) if self.is_restored else "and leaves the terminal as it is not to be"


class Lab(Measured):
    """A cell on this machine, or in a container."""

    statuses = (0, 2)
    platforms = '[[platforms]]\nkind = "host"\n'

    def __init__(self, place):
        super().__init__(place)
        (place / "own").mkdir()
        # Its journals.
        self.prefix = mounted(place, {"own": "/run"})
        (place / "plan.toml").write_text(PLAN.replace('[[platforms]]\nkind = "host"\n', self.platforms))

    def arguments(self):
        return ["lab", "run", self.place / "plan.toml", "--out", self.out, "--quiet"]

    def lines(self, told):
        """The last one: a line for each cell that failed stands before it."""
        self.told = told
        lines = super().lines(told)
        return lines[-1:] if all(line.startswith("tompion: ") for line in lines) else lines

    def left(self, status):
        done = subprocess.run([*self.prefix, TOMPION, "lab", "clean"], capture_output=True, text=True)
        if done.returncode != 0:
            return f"and cannot be cleared up: {done.stderr}"
        journals = list(self.place.glob("own/tompion-lab/*"))
        is_told = status == 1 or "remove it later with: tompion lab clean" in self.told
        if not is_told and not done.stdout.startswith("nothing is left"):
            return f"and left something: {done.stdout}"
        if left := [*journals, *self.out.glob("scratch-*")]:
            return f"and leaves {left}"
        # What failed in its cell is no run without trials.
        return super().left(1 if status == 2 else status)


class Container(Lab):
    # It waits for ever without `fstatfs`.
    platforms = '[[platforms]]\nkind = "oci"\nruntime = "runc"\nstart_within = "10s"\n'


class DryAdvise(Command):
    def arguments(self):
        return ["advise", "--dry-run"]


class Advise(Command):
    """Remedies in its own processes, and one of the machine that is a file."""

    def __init__(self, place):
        super().__init__(place)
        self.machine = Machine(place)
        self.prefix = self.machine.prefix

    def arguments(self):
        only = "timer-slack,sched-fifo,pinning,mlock,hybrid-sleep,preload,clocksource"
        return ["advise", "--system", "--only", only, "--duration", "2s", "--quiet"]

    def left(self, status):
        machine = self.machine
        if machine.says() == "kvm-clock" and not machine.record.exists():
            return None
        if status == 0:
            return f"and left `{machine.says()}`"
        # Refused as it was to be put back: who comes next can.
        if machine.says() == "":
            # Emptied and not written, as a file can be and a setting cannot.
            machine.value.write_text("planted\n")
        restored = machine.run("--restore")
        if (restored.returncode, machine.says()) != (0, "kvm-clock") or machine.record.exists():
            return f"and left `{machine.says()}`, which is not put back: {restored.stdout} {restored.stderr}"
        return None


class Restore(Advise):
    """Puts back what a killed one left."""

    def __init__(self, place):
        super().__init__(place)
        self.machine.value.write_text("planted\n")
        self.machine.plant()

    def arguments(self):
        return ["advise", "--restore"]


class Peer(Command):
    """Served or not, a load comes to its end, and so does the peer when it is told to."""

    statuses = (0, 130)

    def __init__(self, place):
        super().__init__(place)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.key = place / "key"
        self.key.write_text("a key of both machines")
        self.key.chmod(0o600)
        self.is_answered = True

    def arguments(self):
        return ["peer", "--listen", f"127.0.0.1:{self.port}", "--key", self.key, "--dir", self.place]

    def run(self, sandbox):
        return run([*self.prefix, *sandbox, TOMPION, *self.arguments()], self.meanwhile)

    def meanwhile(self, child):
        until = time.monotonic() + 20
        while child.poll() is None and time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5):
                break
            time.sleep(0.05)
        if child.poll() is not None:
            return
        for load in ("network", "download", "udp", "file-server"):
            spec = f"{load}:peer=127.0.0.1:{self.port}:key={self.key}"
            try:
                done = tompion("load", spec, "--for", "200ms", timeout=30)
                good = done.returncode == 0 or (done.returncode == 1 and done.stderr.count("\n") == 1)
                self.is_answered = self.is_answered and good
            except subprocess.TimeoutExpired:
                self.is_answered = False
        self.interrupt(child)

    def interrupt(self, child):
        """It alone: `strace` has the signal for itself."""
        children = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
        is_traced = Path(f"/proc/{child.pid}/comm").read_text().strip() == "strace"
        os.kill(int(children[0]) if is_traced else child.pid, signal.SIGINT)

    def lines(self, told):
        return [line for line in super().lines(told) if "; Ctrl-C ends it" not in line]

    def left(self, status):
        return None if self.is_answered else "and a load got no answer"


def problems(kind, calls, directory, errors=ERRORS):
    """What is wrong, each with the call and its error."""
    asked = [(call, error) for call in sorted(calls) for error in errors]
    # Compiled once, before it is started many times at once.
    program("refuse.c")

    def one(call, error, again=""):
        place = directory / f"{call}-{error}{again}"
        found = kind(place).problem(without([call], error))
        if not found:
            shutil.rmtree(place, ignore_errors=True)
        return found

    with ThreadPoolExecutor(LANES) as lanes:
        found = list(lanes.map(lambda both: one(*both), asked))
    # Beside others all may be late; what hangs does so alone, too.
    for number, (call, error) in enumerate(asked):
        if found[number] == "hangs":
            print(f"without {call} ({error}) it did not end in {LONGEST_S} s beside others")
            found[number] = one(call, error, "-alone")
    return [f"without {call} ({error}) {what}" for (call, error), what in zip(asked, found) if what]
