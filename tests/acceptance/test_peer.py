"""`tompion peer`: keys, silent clients, few descriptors."""

import contextlib
import hmac
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT, TOMPION, tompion


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def peer(*arguments, descriptors=None):
    port = free_port()

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    process = subprocess.Popen(
        [TOMPION, "peer", "--listen", f"127.0.0.1:{port}", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit if descriptors else None,
    )
    try:
        assert "listening" in process.stderr.readline()
        yield process, port
        assert process.poll() is None, process.stderr.read()
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) in (0, 130)


def key(tmp_path, name="key", text="a key of both machines"):
    path = tmp_path / name
    path.write_text(text)
    path.chmod(0o600)
    return path


def memory_kb(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def load(port, path, seconds="1s"):
    return tompion("load", f"download:peer=127.0.0.1:{port}:key={path}", "--for", seconds, "--json")


def test_without_a_key_it_does_not_listen_beyond_the_machine(tmp_path):
    for listen in ("0.0.0.0:0", "[::]:0", "192.0.2.7:5210"):
        done = tompion("peer", "--listen", listen, check=1)
        assert done.stderr.count("\n") == 1 and "--key FILE, or --open" in done.stderr
    readable = key(tmp_path)
    readable.chmod(0o644)
    done = tompion("peer", "--key", readable, check=1)
    assert "can be read by others (mode 0644): chmod 600" in done.stderr
    process = subprocess.Popen(
        [TOMPION, "peer", "--listen", f"0.0.0.0:{free_port()}", "--open"], stderr=subprocess.PIPE, text=True
    )
    try:
        assert "warning: without a key" in process.stderr.readline()
        assert "listening" in process.stderr.readline()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)


def test_a_load_needs_the_key_which_is_not_recorded(tmp_path):
    with peer("--key", key(tmp_path)) as (_, port):
        done = load(port, tmp_path / "key")
        assert done.returncode == 0, done.stderr
        for wrong, why in [
            (key(tmp_path, "other", "another key of somebody"), "the key is another one"),
            (tmp_path / "none", "none"),
        ]:
            done = load(port, wrong)
            assert done.returncode == 1 and why in done.stderr and done.stderr.count("\n") == 1, done
        done = tompion("load", f"network:peer=127.0.0.1:{port}", "--for", "1s", check=1)
        assert "wants a key" in done.stderr
        run = tmp_path / "run"
        spec = f"download:peer=127.0.0.1:{port}:key={tmp_path / 'key'}"
        tompion("check", "--loads", f"idle,{spec}", "--methods", "usleep", "--targets", "1ms",
                "--duration", "3s", "--blocks", "2", "--out", run, "--quiet", check=0)
        record = (run / "run.json").read_text()
        assert f'"load": "download:peer=127.0.0.1:{port}"' in record
        assert "a key of both machines" not in record
    for wrong in ("udp:key=/k", "udp:peer=127.0.0.1:9:key=relative"):
        done = tompion("load", wrong, "--for", "1s", check=1)
        assert "key" in done.stderr and done.stderr.count("\n") == 1


def lines(connection):
    """What comes, line by line, and the bytes behind them."""
    heard = b""
    while True:
        line, found, rest = heard.partition(b"\n")
        if found:
            heard = rest
            yield line.decode()
        elif more := connection.recv(4096):
            heard += more
        else:
            raise ConnectionError(f"closed after {heard!r}")


def ask(port, source="127.0.0.1"):
    """A connection whose request has been answered, what it says, and what the proof is of."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(source, 0))
    said = lines(connection)
    ours = os.urandom(16).hex()
    connection.sendall(f"tompion 2 download {ours}\n".encode())
    challenge, theirs = next(said).split(" ")
    assert challenge == "challenge"
    return connection, said, f"tompion 2 download {ours} {theirs}"


def prove(connection, said, subject, secret):
    """Proves the key, and waits for the first bytes of a download."""
    proof = hmac.new(secret, subject.encode(), "sha256").hexdigest()
    connection.sendall(f"proof {proof}\n".encode())
    assert next(said) == "go"
    connection.recv(1)


def served(port, secret):
    """Seconds from connecting to the first bytes of a download, the key proved between them."""
    begun = time.monotonic()
    asked = ask(port)
    with asked[0]:
        prove(*asked, secret)
        return time.monotonic() - begun


@contextlib.contextmanager
def strangers(kind, port, count=1000):
    """So many clients without the key, in a process of their own, once all have come."""
    script = ROOT / "tests/programs/strangers.py"
    process = subprocess.Popen([sys.executable, script, kind, str(port), str(count)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == f"{count} strangers\n"
        yield
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("kind", ["silent", "half-open", "flooding"])
def test_a_thousand_strangers_keep_nobody_out(tmp_path, kind):
    file = key(tmp_path)
    with peer("--key", file) as (process, port), strangers(kind, port):
        took = sorted(served(port, file.read_bytes()) for _ in range(20))
        print(f"{kind}: served within {took[10]:.3f} s, at most {took[-1]:.3f} s, {memory_kb(process)} kB")
        # Each of them.
        assert took[-1] < 2, took
        done = load(port, file)
        assert done.returncode == 0, done.stderr
        assert memory_kb(process) < 64 * 1024


def test_it_lives_on_with_hardly_a_descriptor(tmp_path):
    with peer("--key", key(tmp_path), descriptors=12) as (process, port):
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(50)]
        time.sleep(0.5)
        done = load(port, tmp_path / "key")
        assert done.returncode == 0, done.stderr
        for one in held:
            one.close()
        assert process.poll() is None


def test_who_asks_again_and_again_keeps_no_distant_client_out(tmp_path):
    """While a client that is far away has not answered yet, one machine asks more often than the
    door has room: it crowds itself out and nobody else."""
    file = key(tmp_path)
    with peer("--key", file) as (_, port), contextlib.ExitStack() as open_ones:
        distant = ask(port)
        open_ones.enter_context(distant[0])
        for _ in range(400):
            open_ones.enter_context(ask(port, "127.0.0.2")[0])
        prove(*distant, file.read_bytes())
