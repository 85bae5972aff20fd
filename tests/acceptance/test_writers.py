"""Every option that names a file or a directory to write, at every kind of place that may be
there.

The options come from the command line's own description (crates/tompion/src/planted/places.rs):
one that is neither in `WRITES` nor in `READS` fails, and so does one that is no more."""

import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess
import tarfile
import threading
import time
from pathlib import Path

import pytest
from conftest import ROOT, TOMPION, planted, tompion
from swapper import NOBODY, place_for_all

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="other users and disks take root")

LONG = "TOMPION_LONG" in os.environ

# The longest that any of them may take, whatever is there.
LIMIT_S = 30

# What options name that only read it; of `report DIR` the page is written, for which see PAGE.
READS = {
    "bandwidth --key": "a key",
    "check --profiles": "profiles",
    "claims --decide": "a run",
    "join RUN": "a run",
    "join --tap": "a capture",
    "lab plan FILE": "a plan",
    "lab plan --program": "the program that measures",
    "lab platforms --program": "the same",
    "lab run FILE": "a plan",
    "lab run --program": "the program that measures",
    "lab summary RUN": "a run",
    "measure packet-delay --key": "a key",
    "peer --key": "a key",
    "ping --key": "a key",
    "preload --library": "a library",
    "reflect --key": "a key",
    "report --profiles": "profiles",
    "testbed --plan": "a path",
}

SHORT = ("--loads", "idle", "--duration", "1s", "--quiet")
PLAN = """
replicates = 1
loads = ["idle"]
[[platforms]]
kind = "host"
[[probes]]
kind = "read-cost"
methods = ["clock-monotonic"]
time = "200ms"
"""


class Place:
    """A place that an option names, in a directory of its own."""

    def __init__(self, tmp):
        self.tmp = tmp
        self.names = []
        self.at = tmp / "place/at"
        self.at.parent.mkdir()
        # What nobody names, and nobody may change.
        self.victim = tmp / "victim"
        self.victim.mkdir()
        for name in ("file", "run.json", "report.html"):
            (self.victim / name).write_text("mine")
        self.elsewhere = tmp / "elsewhere"
        self.elsewhere.mkdir()
        # Before a command, after it, and beside it.
        self.prefix, self.after, self.beside = [], "", None
        self.is_nobodys = False

    def input(self, name):
        return self.tmp.parent / name

    def run(self, arguments):
        program, *rest = map(str, arguments)
        if self.is_nobodys:
            # Whoever made what is above the program.
            program = str(self.input(Path(program).name))
        if self.after:
            script = f'{self.prefix[-1]}; "$@"; status=$?; {self.after}; exit $status'
            command = ["unshare", "--mount", "sh", "-c", script, "sh", program, *rest]
        else:
            command = [*self.prefix, program, *rest]
        with self.beside or contextlib.nullcontext():
            return subprocess.run(
                command,
                cwd=self.elsewhere,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
            )


# Each kind of what an option does with its place, and each kind of place: what happens. None
# where it is done; else words of the one line that it ends with.
NO_DIRECTORY = "exists and is no directory"
GONE = "No such file"
RUN = {
    "nothing": None,
    "file": NO_DIRECTORY,
    "link to a file": NO_DIRECTORY,
    "link to a directory": None,
    "link to nothing": "creating failed",
    "pipe": NO_DIRECTORY,
    "device": NO_DIRECTORY,
    "full device": NO_DIRECTORY,
    "directory": None,
    "directory with links": "exists and is not empty",
    "directory with what a killed process left": None,
    "another user's directory": "belongs to another user, 65534; choose another --out",
    "directory for all": "others may write to it (mode 0777); choose another --out",
    "read-only": "creating failed: Permission denied",
    "full disk": "No space left|are available there",
    "vanishing": "ANY",
}
FILE = {
    "nothing": None,
    "file": None,
    "link to a file": None,
    "link to a directory": "is a directory|: a directory",
    "link to nothing": None,
    "pipe": None,
    "pipe that nobody reads": "nobody reads from it",
    "device": None,
    "full device": "No space left",
    "directory": "is a directory|: a directory",
    "another user's directory": None,
    "directory for all": None,
    "read-only": "creating failed: Permission denied",
    "full disk": "No space left",
    "no directory": "No such file|no such directory",
}
# Written while what it is about goes on: what was there is replaced at once.
STREAM = {**FILE}
FILES = {
    **RUN,
    "directory with links": "is there, and is no regular file",
    # Nothing of ours: it stays.
    "directory with what a killed process left": None,
    "another user's directory": None,
    "directory for all": None,
    "full disk": "No space left",
}
LOADS = {
    **dict.fromkeys(
        ("nothing", "file", "link to a file", "link to nothing", "pipe", "device", "full device"),
        "not an existing directory|Not a directory",
    ),
    "link to a directory": None,
    "directory": None,
    "directory with links": None,
    "another user's directory": None,
    "directory for all": None,
    "read-only": "Permission denied",
    "full disk": "must stay free|must leave 20 % free",
}
PEER = {
    name: None if expected is None else "not an existing directory"
    for name, expected in LOADS.items()
    if name not in ("read-only", "full disk")
}
RESUME = {
    **dict.fromkeys(
        ("nothing", "link to nothing", "directory", "link to a directory"), "is no lab"
    ),
    **dict.fromkeys(
        ("file", "link to a file", "pipe", "device", "full device"), "is no directory of a lab"
    ),
    "directory with links": "lab.jsonl: a link, which is not followed",
    "another user's directory": "belongs to another user, 65534",
    "directory for all": "others may write to it (mode 0777)",
}
# The page in a run that is read: what stands there is told, and the rest goes on.
PAGE = {
    "nothing": None,
    "file": None,
    **dict.fromkeys(
        ("link to a file", "link to a directory", "link to nothing", "pipe", "device", "directory"),
        "is there, and is no regular file; the page is not written",
    ),
    "another user's directory": "belongs to another user, 65534; the page is not written",
    "directory for all": "others may write to it (mode 0777); the page is not written",
    "full disk": "No space left",
}


def golden(place):
    return place.input("version-2")


def measured(probe, *more):
    return lambda place, at: [planted(), "measure", probe, *SHORT, *more, "--out", at]


def load_dir(*command):
    loads = ("--loads", "io", "--duration", "1s", "--blocks", 1, "--quiet")
    return lambda place, at: [
        *(TOMPION, *command, *loads, "--load-dir", at, "--out", place.tmp / "run")
    ]


def exported(form):
    return lambda place, at: [
        *(planted(), "report", golden(place), "--format", form, "--quiet", "--out", at)
    ]


QUICK_CHECK = ("check", "--methods", "usleep", "--targets", "1ms")

# What each does with its place, and a command that does it; one option may do several things.
WRITES = {
    "check --out": (RUN, lambda place, at: [planted(), *QUICK_CHECK, *SHORT, "--out", at]),
    "measure wake-up --out": (RUN, measured("wake-up", "--methods", "usleep", "--targets", "1ms")),
    "measure read-cost --out": (RUN, measured("read-cost", "--methods", "rdtsc")),
    "measure timer-events --out": (RUN, measured("timer-events", "--no-search", "--periods", "1ms")),
    "measure stalls --out": (RUN, measured("stalls")),
    "measure packet-delay --out": (RUN, measured("packet-delay", "--to", "127.0.0.1", "--icmp")),
    "watch --out": (
        RUN,
        lambda place, at: [TOMPION, "watch", "--plain", "--for", "400ms", "--loads", "idle", "--out", at],
    ),
    "lab run --out": (
        RUN,
        lambda place, at: [TOMPION, "lab", "run", place.input("plan.toml"), "--quiet", "--out", at],
    ),
    "lab run --resume": (
        RESUME,
        lambda place, at: [TOMPION, "lab", "run", "--quiet", "--resume", at],
    ),
    "report --out": (FILE, exported("md")),
    "report --out as plots": (FILES, exported("svg")),
    "report --out as run": (RUN, exported("run")),
    "report --html": (FILE, lambda place, at: [planted(), "report", golden(place), "--quiet", "--html", at]),
    "measure stalls --hlog": (
        FILE,
        lambda place, at: [planted(), "measure", "stalls", *SHORT, "--out", place.tmp / "run", "--hlog", at],
    ),
    "claims --write": (
        FILES,
        lambda place, at: [planted(), "claims", "--decide", place.input("lab"), "--write", at],
    ),
    "man --out": (FILES, lambda place, at: [planted(), "man", "--out", at]),
    "report RUN": (PAGE, lambda place, at: [planted(), "report", at.parent]),
    "testbed --truth": (
        STREAM,
        lambda place, at: [TOMPION, "testbed", "--quiet", "--truth", at, "--", "true"],
    ),
    "join --out": (
        RUN,
        lambda place, at: [
            *(TOMPION, "join", place.input("packets"), "--tap", f"tap={place.input('tap.pcapng')}"),
            *("--out", at, "--quiet"),
        ],
    ),
    "tap --write": (
        FILE,
        lambda place, at: [TOMPION, "tap", "--device", "lo", "--duration", "50ms", "--quiet", "--write", at],
    ),
    "load --dir": (LOADS, lambda place, at: [TOMPION, "load", "io", "--for", "100ms", "--quiet", "--dir", at]),
    "check --load-dir": (LOADS, load_dir(*QUICK_CHECK)),
    "measure wake-up --load-dir": (LOADS, load_dir("measure", "wake-up", "--methods", "usleep", "--targets", "1ms")),
    "measure read-cost --load-dir": (LOADS, load_dir("measure", "read-cost", "--methods", "rdtsc")),
    "measure timer-events --load-dir": (LOADS, load_dir("measure", "timer-events", "--no-search", "--periods", "1ms")),
    "measure stalls --load-dir": (LOADS, load_dir("measure", "stalls")),
    "measure packet-delay --load-dir": (LOADS, load_dir("measure", "packet-delay", "--to", "127.0.0.1", "--icmp")),
    "watch --load-dir": (
        LOADS,
        lambda place, at: [
            *(TOMPION, "watch", "--plain", "--for", "600ms", "--loads", "io"),
            *("--load-dir", at, "--out", place.tmp / "run"),
        ],
    ),
    "peer --dir": (
        PEER,
        lambda place, at: ["timeout", "--preserve-status", 1, TOMPION, "peer", "--listen", "127.0.0.1:0", "--dir", at],
    ),
}


def in_place(kind, place):
    """The directory whose rights and room count: what a file is written into, or what is named."""
    return place.at.parent if kind in (FILE, PAGE) else place.at


def make(kind, what, place):
    """Puts `what` where the option leads to. Returns where the output is to be."""
    at, victim = place.at, place.victim
    if kind is PAGE:
        at = place.at = at.with_name("report.html")
        shutil.rmtree(at.parent)
        shutil.copytree(place.input("version-2"), at.parent)
        at.parent.chmod(0o755)
    target = place.elsewhere / "target"
    match what:
        case "nothing":
            pass
        case "file":
            at.write_text("old")
        case "link to a file":
            (target if kind == FILE else victim / "file").touch()
            at.symlink_to(target if kind == FILE else victim / "file")
            return target
        case "link to a directory":
            target.mkdir()
            at.symlink_to(target)
            return target
        case "link to nothing":
            at.symlink_to(target)
            return target
        case "pipe":
            os.mkfifo(at)
            if kind == FILE:
                place.beside = reader(at, target)
                return target
        case "pipe that nobody reads":
            os.mkfifo(at)
        case "device" | "full device":
            os.mknod(at, stat.S_IFCHR | 0o666, os.makedev(1, 3 if what == "device" else 7))
        case "directory":
            at.mkdir()
        case "directory with links":
            at.mkdir()
            for name in names_in(kind, place):
                (at / name).symlink_to(victim / "file")
        case "directory with what a killed process left":
            at.mkdir()
            (at / ".tmp-0").symlink_to(victim / "file")
        case "another user's directory":
            in_place(kind, place).mkdir(exist_ok=True)
            os.chown(in_place(kind, place), NOBODY, NOBODY)
        case "directory for all":
            in_place(kind, place).mkdir(exist_ok=True)
            in_place(kind, place).chmod(0o777)
        case "read-only":
            if kind is LOADS:
                at.mkdir()
            for made in (place.tmp, place.elsewhere):
                os.chown(made, NOBODY, NOBODY)
            place.is_nobodys = True
            ids = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all")
            place.prefix = ["setpriv", *ids]
        case "full disk":
            disk = at.parent
            old = "" if kind is not FILE else f"echo old >{at};"
            copied = f"cp -r {place.input('version-2')}/. {disk};" if kind is PAGE else ""
            fill = f"cat /dev/zero >{disk}/fill 2>/dev/null;"
            made = f"mkdir {at};" if kind is LOADS else ""
            mount = f"mount -t tmpfs -o size=1m,mode=755 tmpfs {disk};"
            place.prefix = [f"{mount}{copied}{old}{made}{fill}true"]
            place.after = f"cp -r {disk}/. {place.elsewhere}/disk; rm {place.elsewhere}/disk/fill"
        case "vanishing":
            place.beside = vanishing(at)
        case "no directory":
            at.parent.rmdir()
        case other:
            raise AssertionError(other)
    return at


def names_in(kind, place):
    """Names of what the command would write."""
    if kind is RUN:
        return ["run.json", "samples"]
    if kind is RESUME:
        return ["lab.jsonl"]
    if kind is LOADS or kind is PEER:
        return ["other"]
    return place.names


@contextlib.contextmanager
def reader(pipe, to):
    """Takes what comes out of a pipe."""
    with open(to, "wb") as file:
        process = subprocess.Popen(["cat", pipe], stdout=file)
        try:
            yield
            process.wait(timeout=10)
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def vanishing(directory):
    """Somebody removes it as soon as there is something in it."""
    is_done = threading.Event()

    def remove():
        while not is_done.wait(0.002):
            shutil.rmtree(directory, ignore_errors=True)

    thread = threading.Thread(target=remove)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()


@pytest.fixture(scope="module")
def inputs():
    """What commands read: a run, a plan, a run that decides claims."""
    # Whoever they run as may ask by ICMP.
    with place_for_all() as place, setting("/proc/sys/net/ipv4/ping_group_range", "0 2147483647"):
        prepare(place)
        yield place


@contextlib.contextmanager
def setting(file, value):
    """A setting of the kernel that is put back; as it is for who may not change it."""
    before = Path(file).read_text()
    with contextlib.suppress(OSError):
        Path(file).write_text(value)
    yield
    with contextlib.suppress(OSError):
        Path(file).write_text(before)


def prepare(place):
    with tarfile.open(ROOT / "tests/golden/version-2.tar.gz") as packed:
        packed.extractall(place, filter="data")
    (place / "version-2").chmod(0o755)
    (place / "plan.toml").write_text(PLAN)
    for program in (planted(), TOMPION):
        shutil.copy(program, place)
    tompion(
        *("check", "--out", place / "lab", "--blocks", 8, "--loads", "idle", "--seed", 1),
        *("--methods", "usleep,busy-wait", "--targets", "1ms", "--quiet"),
        program=planted(),
        check=0,
    )
    packets = ("packet-delay", "--to", "127.0.0.1", "--icmp", "--probes", 20, "--intervals", "5ms")
    with subprocess.Popen(
        [TOMPION, "tap", "--device", "lo", "--icmp", "--quiet", "--write", place / "tap.pcapng"]
    ) as tap:
        time.sleep(1)
        tompion("measure", *packets, *SHORT, "--blocks", 1, "--out", place / "packets", check=0)
        tap.send_signal(signal.SIGINT)
    for each in [*(place / "lab").rglob("*"), *(place / "packets").rglob("*")]:
        each.chmod(each.stat().st_mode | 0o44)


def options():
    listed = subprocess.run([planted(), "__places"], capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


def test_every_option_that_names_a_place_is_in_the_table():
    written = {name.split(" as ")[0] for name in WRITES}
    found = set(options())
    assert found - written - set(READS) == set(), "say in WRITES or READS what these do"
    assert (written | set(READS)) - found == set(), "these are no options any more"
    assert not written & set(READS)


def snapshot(directory):
    """All that is below a directory, links as such."""
    found = {}
    for each in sorted(directory.rglob("*")):
        kind = each.lstat().st_mode
        content = os.readlink(each) if stat.S_ISLNK(kind) else None
        if stat.S_ISREG(kind):
            content = each.read_bytes()
        found[str(each.relative_to(directory))] = content
    return found


@ROOT_ONLY
@pytest.mark.parametrize("name", list(WRITES))
def test_each_place_is_written_to_or_refused_in_one_line(name, inputs):
    kind, command = WRITES[name]
    wrong = []
    for number, (what, expected) in enumerate(kind.items()):
        if what == "pipe that nobody reads" and name != "report --html" and not LONG:
            # It is waited for a while.
            continue
        tmp = inputs / f"{name.replace(' ', '-')}-{number}"
        tmp.mkdir()
        place = Place(tmp)
        try:
            told = one(kind, command, what, expected, place)
        except subprocess.TimeoutExpired:
            told = f"took more than {LIMIT_S} s"
        if told:
            wrong.append(f"{what}: {told}")
        shutil.rmtree(tmp, ignore_errors=True)
    assert not wrong, "\n".join(wrong)


def one(kind, command, what, expected, place):
    """Runs a command, and says what is wrong with what came of it."""
    if what == "directory with links" and kind is FILES:
        scout = place.tmp / "scout"
        first = place.run(command(place, scout))
        place.names = sorted(p.name for p in scout.iterdir())
        if first.returncode or not place.names:
            return f"nothing to plant: {first}"
        shutil.rmtree(scout)
    before = snapshot(place.victim)
    output = make(kind, what, place)
    done = place.run(command(place, place.at))
    lines = done.stderr.splitlines()
    if snapshot(place.victim) != before:
        return "what nobody named was changed"
    left = [str(p) for p in place.tmp.rglob(".t*mp*") if ".tmp-0" not in p.name or kind is RUN]
    if left:
        return f"{left} are left"
    beside = {p.name for p in place.elsewhere.iterdir()} - {"target", "disk"}
    if kind is not PAGE and place.at.parent.exists():
        beside |= {p.name for p in place.at.parent.iterdir()} - {place.at.name}
    if beside:
        return f"{beside} were written to no place that was named"
    if expected is None or kind is PAGE:
        if done.returncode != 0:
            return f"refused: {done.returncode} {lines}"
        if kind is PAGE and expected and not any(word in done.stderr for word in expected.split("|")):
            return f"not told: {lines}"
        return missing(kind, what, place, output) if expected is None else None
    if done.returncode == 0:
        return None if expected == "ANY" else "done"
    if done.returncode != 1 or len(lines) != 1:
        return f"{done.returncode} {lines}"
    if expected != "ANY" and not any(word in lines[0] for word in expected.split("|")):
        return f"told {lines}"
    if what == "link to nothing" and output.exists():
        return "the target was made"
    if what == "full disk" and kind is FILE and (place.elsewhere / "disk/at").read_text() != "old\n":
        return "what was there is lost"
    return None


def missing(kind, what, place, output):
    """What is not there though the command says that it is done."""
    if kind is RUN:
        record = json.loads((output / "run.json").read_text())
        return None if record["trials"] else "no trial"
    if kind is FILES:
        return None if any(p.stat().st_size for p in output.iterdir() if p.is_file()) else "no file"
    if kind in (LOADS, PEER):
        other = ["other"] if what == "directory with links" else []
        return None if os.listdir(output) == other else f"left {os.listdir(output)}"
    if what in ("device",):
        return None if stat.S_ISCHR(output.stat().st_mode) else "the device was replaced"
    if what == "pipe" and not stat.S_ISFIFO(place.at.stat().st_mode):
        return "the pipe was replaced"
    if what.startswith("link") and not place.at.is_symlink():
        return "the link was replaced"
    content = output.read_bytes()
    return None if len(content) > 100 and content[:3] != b"old" else f"{content[:100]!r}"
