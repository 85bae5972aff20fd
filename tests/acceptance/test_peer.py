"""`tompion peer`: keys, silent clients, few descriptors."""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from conftest import TOMPION, tompion


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


@pytest.mark.parametrize("kind", ["silent", "half-open", "flooding"])
def test_a_thousand_strangers_keep_nobody_out(tmp_path, kind):
    over = threading.Event()

    def stranger():
        held = []
        while not over.is_set():
            with contextlib.suppress(OSError):
                one = socket.create_connection(("127.0.0.1", port), timeout=5)
                if kind == "half-open":
                    one.sendall(b"tompion 2 downl")
                if kind == "flooding":
                    one.sendall(os.urandom(100_000))
                    one.close()
                held.append(one)
            if len(held) >= 100:
                over.wait(0.1 if kind != "flooding" else 0)
                for one in held[:50]:
                    one.close()
                del held[:50]
        for one in held:
            one.close()

    with peer("--key", key(tmp_path)) as (process, port):
        strangers = [threading.Thread(target=stranger) for _ in range(10)]
        for one in strangers:
            one.start()
        try:
            time.sleep(1)
            begun = time.monotonic()
            done = load(port, tmp_path / "key")
            took = time.monotonic() - begun
        finally:
            over.set()
            for one in strangers:
                one.join()
        assert done.returncode == 0, done.stderr
        # A second of it is the load.
        assert took < 10, took
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
