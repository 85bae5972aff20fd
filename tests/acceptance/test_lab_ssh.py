"""`tompion lab` on another machine: a real sshd in a network namespace, with a file system
and a user of its own, at the other end of a link that can be cut."""

import contextlib
import ipaddress
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import ROOT, TOMPION, tompion
from test_lab import JOURNALS, ledger, record, write
from test_lab_bad import WRONG_RESULTS, wrong_program

# As a user gets it: without what only debuggers read, it is copied in a moment.
STATIC = ROOT / "dist/tompion"
PROGRAM = Path(os.environ.get("TOMPION_STATIC", STATIC if STATIC.exists() else TOMPION))
SSHD = "/usr/sbin/sshd"
LONG_WAIT = 90

# What the other machine is: its end of the link, a user without rights, its own /tmp.
MACHINE = """
until ip link set far up 2>/dev/null; do sleep 0.1; done
ip link set lo up
ip addr add {address}/30 dev far
mount --bind {place}/passwd /etc/passwd
mount --bind {place}/shadow /etc/shadow
mkdir -p /run/sshd
mount -t tmpfs -o size=1m,noexec tmpfs {place}/noexec
chmod 1777 {place}/noexec
exec {sshd} -D -e -f {place}/sshd_config
"""
SSHD_CONFIG = """
Port 2222
ListenAddress {address}
HostKey {place}/host_key
AuthorizedKeysFile {place}/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
"""
SSH_CONFIG = """
Host far
  HostName {address}
  Port 2222
  User somebody
  IdentityFile {place}/key
  IdentitiesOnly yes
  UserKnownHostsFile {place}/known_hosts
  ServerAliveInterval 1
  ServerAliveCountMax 5
  ConnectTimeout 20
Host far-unknown
  UserKnownHostsFile {place}/none
Host far-changed
  UserKnownHostsFile {place}/changed_hosts
Host far-refused
  IdentityFile {place}/host_key
Host far-nobody
  Port 2223
Host far-* !far-refused
  IdentityFile {place}/key
Host far-*
  HostName {address}
  Port 2222
  User somebody
  IdentitiesOnly yes
  UserKnownHostsFile {place}/known_hosts
  ConnectTimeout 20
"""

PROBE = """
[[probes]]
kind = "wake-up"
methods = ["usleep"]
targets = ["1ms"]
time = "{time}"
"""


class Far:
    """The other machine."""

    def __init__(self, place):
        self.place = place
        # Of its own, since others may run these tests at the same time: a link, a network
        # (of those for tests between machines, RFC 2544) and a user.
        number = os.getpid() % 32768
        self.near = f"tompion{number}"
        network = ipaddress.ip_address("198.18.0.0") + 4 * number
        self.address, self.here = network + 2, network + 1
        self.user = 1_000_000 + number
        self.directory = place / "tmp"
        self.config = place / "ssh_config"
        self.process = None

    def prepare(self):
        place = self.place
        for key in ("key", "host_key", "other_key"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / key]
            subprocess.run(command, check=True)
        (place / "authorized_keys").write_text((place / "key.pub").read_text())

        def known(key):
            return f"[{self.address}]:2222 " + (place / f"{key}.pub").read_text()

        (place / "known_hosts").write_text(known("host_key"))
        (place / "changed_hosts").write_text(known("other_key"))
        (place / "sshd_config").write_text(SSHD_CONFIG.format(place=place, address=self.address))
        self.config.write_text(SSH_CONFIG.format(place=place, address=self.address))
        for name in ("tmp", "noexec"):
            (place / name).mkdir()
        self.directory.chmod(0o1777)
        # A user who is nobody anywhere else.
        passwd = Path("/etc/passwd").read_text()
        (place / "passwd").write_text(f"{passwd}somebody:x:{self.user}:{self.user}::/:/bin/sh\n")
        shadow = Path("/etc/shadow").read_text()
        (place / "shadow").write_text(shadow + "somebody:*:19000:0:99999:7:::\n")

    def start(self):
        script = MACHINE.format(place=self.place, address=self.address, sshd=SSHD)
        self.log = (self.place / "sshd.log").open("w")
        self.process = subprocess.Popen(
            ["unshare", "--net", "--mount", "sh", "-ec", script],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
        )
        until = time.monotonic() + LONG_WAIT
        ours = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.process.pid}/ns/net") == ours:
            assert self.process.poll() is None and time.monotonic() < until, self.told()
            time.sleep(0.05)
        pid = str(self.process.pid)
        for command in (
            ["link", "add", self.near, "type", "veth", "peer", "name", "far", "netns", pid],
            ["addr", "add", f"{self.here}/30", "dev", self.near],
            ["link", "set", self.near, "up"],
        ):
            subprocess.run(["ip", *command], check=True)
        self.wait_for_login()

    def told(self):
        return (self.place / "sshd.log").read_text()

    def wait_for_login(self):
        until = time.monotonic() + LONG_WAIT
        while subprocess.run(self.ssh("true"), capture_output=True).returncode != 0:
            assert self.process.poll() is None and time.monotonic() < until, self.told()
            time.sleep(0.2)

    def ssh(self, command):
        return ["ssh", "-F", self.config, "-o", "BatchMode=yes", "far", command]

    def link(self, state):
        subprocess.run(["ip", "link", "set", self.near, state], check=True)

    def sessions(self):
        """Pids of the sshd of each login, which run as the user."""
        return self.running(b"sshd: somebody")

    def running(self, part):
        """Pids of the user's processes on the other machine whose command has `part`."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                is_user = entry.name.isdigit() and entry.stat().st_uid == self.user
                if is_user and part in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def left(self):
        return [*self.directory.iterdir(), *(self.place / "noexec").iterdir(), *self.running(b"tompion")]

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(timeout=LONG_WAIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            for pid in self.sessions():
                os.kill(pid, signal.SIGKILL)
            self.log.close()
        subprocess.run(["ip", "link", "del", self.near], capture_output=True)

    def table(self, host="far", **more):
        more = {"host": host, "config": str(self.config), "directory": str(self.directory)} | more
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in more.items())
        return f'[[platforms]]\nkind = "ssh"\n{lines}'


@pytest.fixture(scope="module")
def far(tmp_path_factory):
    place = tmp_path_factory.mktemp("far")
    # The user of the other machine has to come to it.
    for above in (place, *place.parents):
        if above.stat().st_uid == os.getuid() and above != Path("/"):
            above.chmod(above.stat().st_mode | 0o011)
    machine = Far(place)
    try:
        machine.prepare()
        machine.start()
        yield machine
    finally:
        if journals_of(place):
            # A test that failed: once this machine is gone, nobody could clean it.
            tompion("lab", "clean")
        machine.stop()


def plan(directory, tables, replicates=1, time="300ms"):
    text = f'seed = 3\nreplicates = {replicates}\n[[platforms]]\nkind = "host"\n'
    return write(directory, text + tables + PROBE.format(time=time))


def lab(*arguments):
    return tompion("lab", *arguments, "--program", PROGRAM, timeout=300)


@contextlib.contextmanager
def running_lab(file, out):
    """A lab that ends with the test, however that ends, and removes what it made."""
    command = [TOMPION, "lab", "run", file, "--out", out, "--program", PROGRAM]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=LONG_WAIT)


def wait_for(what, process, why):
    until = time.monotonic() + LONG_WAIT
    while not what():
        assert time.monotonic() < until, why
        assert process is None or process.poll() is None, (why, process.communicate()[1])
        time.sleep(0.05)


def journals_of(out):
    """Journals that name `out`: others may be at work."""
    journals = JOURNALS.glob("*/journal")
    return [j for j in journals if str(out) in j.read_text()]


def test_another_machine_is_measured_and_left_as_it_was(far, tmp_path):
    out = tmp_path / "run"
    file = plan(tmp_path, far.table() + far.table(name="again"), replicates=2)
    done = lab("run", file, "--out", out)
    assert done.returncode == 0, done.stderr
    run = record(out)
    assert run["status"] == "complete"
    keys = sorted((t["factors"]["platform"], t["block"]) for t in run["trials"])
    assert keys == sorted((p, r) for p in ("host", "ssh:far", "again") for r in range(2))
    there = next(p for p in run["platforms"] if p["level"] == "ssh:far")
    assert there["kind"] == "ssh" and there["versions"][0].startswith("Linux ")
    assert there["environment"]["kernel"]["release"] == os.uname().release
    # Without rights there: it is the user of the other machine who measured.
    assert "Accepted publickey for somebody" in far.told()
    assert far.left() == [] and journals_of(out) == []
    report = tompion("compare", out, "--by", "platform", "--json", check=0).stdout
    assert "ssh:far" in report


@pytest.mark.parametrize("machine", [None, "one of both"])
def test_several_machines_are_measured_at_once(far, tmp_path, machine):
    """One that goes by two names, unless the plan says that they are one."""
    out = tmp_path / "run"
    more = {"machine": machine} if machine else {}
    tables = far.table(**more) + far.table("far-second", **more)
    done = lab("run", plan(tmp_path, tables, replicates=2, time="2s"), "--out", out)
    assert done.returncode == 0, done.stderr
    spans = {}
    for trial in record(out)["trials"]:
        begins = trial["started_ns"]
        spans[trial["factors"]["platform"], trial["block"]] = (begins, begins + trial["duration_ns"])
    assert len(spans) == 3 * 2
    for block in range(2):
        here, first, second = (spans[p, block] for p in ("host", "ssh:far", "ssh:far-second"))
        assert overlap(first, second) == (machine is None), spans
        # Nothing comes between this machine and its measurement.
        assert not overlap(here, first) and not overlap(here, second), spans
    assert far.left() == [] and journals_of(out) == []


def overlap(one, other):
    return one[0] < other[1] and other[0] < one[1]


def test_a_session_that_dies_fails_one_cell_and_the_rest_goes_on(far, tmp_path):
    out = tmp_path / "run"
    file = plan(tmp_path, far.table(), replicates=2, time="4s")
    with running_lab(file, out) as process:
        wait_for(lambda: far.running(b"__cell"), process, "no cell ran there")
        for pid in far.sessions():
            os.kill(pid, signal.SIGKILL)
        _, told = process.communicate(timeout=LONG_WAIT)
    assert process.returncode == 2, told
    failed = [e for e in ledger(out) if e.get("failed")]
    assert len(failed) == 1 and len(ledger(out)) == 4, ledger(out)
    assert failed[0]["failed"].startswith("the connection to far was lost ("), failed
    assert f"ssh:far/idle/wake-up failed: {failed[0]['failed']}" in told
    assert len(record(out)["trials"]) == 3 and record(out)["status"] == "incomplete"
    assert far.left() == [] and journals_of(out) == []
    # What failed is measured again.
    assert lab("run", "--resume", out, "--quiet").returncode == 0
    assert len(record(out)["trials"]) == 4 and record(out)["status"] == "complete"
    assert far.left() == []


def test_a_link_that_is_cut_is_noticed_and_cleaned_up_behind_once_it_is_back(far, tmp_path):
    out = tmp_path / "run"
    file = plan(tmp_path, far.table(), replicates=3, time="5s")
    with running_lab(file, out) as process:
        # The shell that starts it has its name, too, and is gone when it has ended.
        wait_for(lambda: far.running(b"__cell") and far.left(), process, "no cell ran there")
        try:
            far.link("down")
            wait_for(lambda: far.running(b"__cell"), process, "the cell ended before its link was cut")
            wait_for(lambda: any(e.get("failed") for e in ledger(out)), process, "no cell failed")
            assert far.left() != []
        finally:
            far.link("up")
        _, told = process.communicate(timeout=LONG_WAIT)
    assert process.returncode == 2, told
    here = [e.get("failed") for e in ledger(out) if e["name"].startswith("host")]
    there = [e.get("failed") for e in ledger(out) if e["name"].startswith("ssh")]
    assert here == [None] * 3 and len(there) == 3, ledger(out)
    # The first; the next one too where it began before the link was back.
    assert there[0] is not None and there[2] is None, there
    assert "the connection to far was lost (Timeout" in there[0], there
    assert far.left() == [] and journals_of(out) == []


def test_what_a_killed_lab_left_there_is_found_and_removed(far, tmp_path):
    out = tmp_path / "run"
    file = plan(tmp_path, far.table(), time="20s")
    with running_lab(file, out) as process:
        # The shell that starts it has its name, too, before there is anything to leave.
        wait_for(lambda: far.running(b"__cell") and far.left(), process, "no cell ran there")
        process.kill()
        process.communicate(timeout=LONG_WAIT)
    # The cell ends with the connection, long before its time is up.
    wait_for(lambda: not far.running(b"tompion"), None, "the cell runs on")
    assert [path.name.startswith("tompion-lab-") for path in far.left()] == [True]
    told = tompion("lab", "clean", "--dry-run", check=0).stdout
    assert f"would remove directory {far.left()[0]} on far" in told
    tompion("lab", "clean", check=0)
    assert far.left() == [] and journals_of(out) == []


def test_what_keeps_a_machine_from_being_measured_is_one_line_each(far, tmp_path):
    noexec = far.place / "noexec"
    tables = {
        "far-unknown": ({}, "the key of far-unknown is not known here: log in once by hand"),
        "far-changed": ({}, "the key of far-changed is not the one that is known here"),
        "far-refused": ({}, f"far-refused refuses the login (somebody@{far.address}: Permission denied"),
        "far-nobody": ({}, f"no connection to far-nobody: connect to host {far.address} port 2223"),
        "far-no-name.invalid": ({"config": "/dev/null"}, "no connection to far-no-name.invalid: "),
        "far-noexec": ({"directory": str(noexec)}, f"programs cannot be run from {noexec} there"),
        "far-nowhere": ({"directory": "/no/such"}, "/no/such is no place to write"),
        "far-config": ({"config": "/no/such"}, "ssh does not take its configuration: Can't open user config file"),
    }
    text = "".join(far.table(host, **more) for host, (more, _) in tables.items())
    out = tmp_path / "run"
    done = lab("run", plan(tmp_path, text), "--out", out)
    assert done.returncode == 0, done.stderr
    absent = {p["level"]: p.get("absent") for p in record(out)["platforms"]}
    for host, (_, want) in tables.items():
        why = absent[f"ssh:{host}"]
        assert why.startswith(want) and "\n" not in why, (host, why)
        assert f"absent: ssh:{host}: {why}" in done.stderr
    assert absent["host"] is None and len(record(out)["trials"]) == 1
    assert far.left() == []


def test_another_architecture_and_a_talkative_shell_are_told(far, tmp_path):
    """By a `uname` of the other machine's own, and a greeting for whoever logs in."""
    fake = far.place / "fake"
    fake.mkdir()
    (fake / "uname").write_text('#!/bin/sh\n[ "$1" = -m ] && echo riscv64 || exec /bin/uname "$@"\n')
    (fake / "talk").write_text('#!/bin/sh\necho "Welcome to far!"\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n')
    for program in fake.iterdir():
        program.chmod(0o755)
    key = (far.place / "key.pub").read_text()
    keys = far.place / "authorized_keys"
    before = keys.read_text()
    shell = 'exec sh -c "$SSH_ORIGINAL_COMMAND"'.replace('"', '\\"')
    wanted = {
        f'command="PATH={fake}:$PATH {shell}"': "its architecture is riscv64, and ",
        f'command="{fake}/talk"': "its login shell says `Welcome to far!` by itself",
    }
    try:
        for option, want in wanted.items():
            keys.write_text(f"{option} {key}")
            done = lab("plan", plan(tmp_path, far.table()), "--probe", "--json")
            there = json.loads(done.stdout)["platforms"][1]
            assert not there["present"] and there["absent"].startswith(want), there
    finally:
        keys.write_text(before)
    assert far.left() == []


def test_a_program_that_needs_libraries_is_refused(far, tmp_path):
    done = tompion("lab", "plan", plan(tmp_path, far.table()), "--probe", "--program", "/bin/sh", "--json", check=1)
    assert "is not static" in json.loads(done.stdout)["platforms"][1]["absent"]


def test_a_result_that_is_none_is_told_by_another_machine_too(far, tmp_path):
    result, want = WRONG_RESULTS["truncated"]
    program = wrong_program(tmp_path, result)
    out = tmp_path / "run"
    done = tompion("lab", "run", plan(tmp_path, far.table()), "--program", program, "--out", out)
    # The program is wrong for this machine too.
    assert done.returncode == 1 and "no cell could be measured" in done.stderr
    assert [e["failed"] for e in ledger(out)] == [want] * 2, ledger(out)
    assert far.left() == []
