"""Another machine for the lab: a real sshd in a network namespace, with a file system
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
from test_lab import JOURNALS, write

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

    def cells(self):
        """Pids of cells that run there: the shell that starts one has its name, too, but as a part of its command."""
        return self.running(b"\0__cell\0")

    def measuring(self):
        """Whether a cell has run there for a while: one that asks what can be measured is gone at once."""
        first = set(self.cells())
        time.sleep(0.5)
        return not first.isdisjoint(self.cells())

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
            tompion("lab", "clean", "--forget")
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
