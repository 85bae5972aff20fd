"""Real programs under the preload library: they do what they do without it."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time

import pytest

from preload import (
    LIBRARY,
    PLAIN,
    PROGRAMS,
    check,
    command,
    every_mode,
    every_policy,
    jemalloc,
    program,
    run,
)

# Debian's own Python where there is one: that of a virtual environment may be built
# in another way.
PYTHON = next(p for p in ["/usr/bin/python3", sys.executable] if os.path.exists(p))


# Python and Perl -------------------------------------------------------------------


@every_mode
def test_python_clocks_sleeps_and_asyncio(mode):
    assert run(mode, PYTHON, PROGRAMS / "python_times.py", status=0).stdout == "all checks passed\n"


@every_policy
def test_pythons_sleep_is_ours(mode, tmp_path):
    # time.sleep is clock_nanosleep since Python 3.11, select before.
    run(
        mode,
        "env",
        "LD_DEBUG=bindings",
        f"LD_DEBUG_OUTPUT={tmp_path}/bindings",
        PYTHON,
        "-c",
        "import time; time.sleep(0.001); time.monotonic()",
        status=0,
    )
    text = "".join(f.read_text() for f in tmp_path.iterdir())
    ours = set(re.findall(rf"to \S*{LIBRARY.name} .*symbol `(\w+)'", text))
    version = run(PLAIN, PYTHON, "-c", "import sys; print(sys.version_info[:2] >= (3, 11))")
    assert "clock_gettime" in ours
    assert ("clock_nanosleep" in ours) == (version.stdout == "True\n")


@every_mode
def test_perl_clocks_and_sleeps(mode):
    assert run(mode, "perl", PROGRAMS / "times.pl", status=0).stdout == "all checks passed\n"


@every_mode
def test_date_sleep_and_timeout(mode):
    began = time.time()
    date = float(run(mode, "date", "+%s.%N", status=0).stdout)
    assert began - 0.001 <= date <= time.time() + 0.001
    began = time.monotonic()
    run(mode, "sleep", "0.05", status=0)
    assert time.monotonic() - began >= 0.05
    assert run(mode, "timeout", "0.05", "sleep", "10").status == 124


# C and C++ ------------------------------------------------------------------------


@every_mode
def test_cxx_chrono_and_timed_waits(mode):
    check(mode, "cxx_waits.cc")


@every_mode
@pytest.mark.parametrize("runtime", ["shared", "static"])
def test_address_sanitizer(mode, runtime):
    # The shared runtime insists on being the first library of all.
    flags = ["-fsanitize=address"] + (["-static-libasan"] if runtime == "static" else [])
    check(mode, "allocate.c", flags=tuple(flags))
    if runtime == "shared":
        check(mode, "fork_storm.c", 16, "fork", flags=tuple(flags))
    found = run(mode, program("asan_error.c", *flags))
    assert found.status != 0 and "heap-use-after-free" in found.stderr


@every_mode
def test_undefined_behaviour_sanitizer(mode):
    flags = ("-fsanitize=undefined", "-fno-sanitize-recover")
    check(mode, "allocate.c", flags=flags)
    check(mode, "agree.c", flags=flags)


@every_mode
def test_thread_sanitizer(mode):
    path = program("allocate.c", "-fsanitize=thread")
    plain = run(PLAIN, path)
    if plain.status != 0:
        pytest.skip(f"it does not run plain: {plain.stderr.strip().splitlines()[:1]}")
    done = run(mode, path, status=0)
    assert "WARNING: ThreadSanitizer" not in done.stderr
    done = run(mode, program("agree.c", "-fsanitize=thread"), status=0)
    assert "WARNING: ThreadSanitizer" not in done.stderr


# Measuring programs ---------------------------------------------------------------


def cyclictest(mode, tmp_path, *options):
    result = tmp_path / "cyclictest.json"
    run(
        mode,
        "cyclictest",
        "--quiet",
        "--default-system",
        "--threads=1",
        "--interval=1000",
        "--loops=100",
        f"--json={result}",
        *options,
        status=0,
    )
    return json.loads(result.read_text())["thread"]["0"]


@every_mode
@pytest.mark.parametrize("options", [[], ["--relative"], ["--clock=1"]], ids=str)
def test_cyclictest(mode, options, tmp_path):
    if shutil.which("cyclictest") is None:
        pytest.fail("rt-tests is missing: run `make test-packages`")
    began = time.monotonic()
    thread = cyclictest(mode, tmp_path, *options)
    took = time.monotonic() - began
    print(thread)
    assert thread["cycles"] == 100
    # Whole microseconds, as its own clock tells; never early.
    assert -10 <= thread["min"] <= thread["avg"] <= thread["max"] < 5_000_000
    assert took >= 0.099


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def iperf3(mode, *options):
    """A transfer over loopback, both ends in this mode; the client's report."""
    port = str(free_port())
    server = subprocess.Popen(
        command(mode, "iperf3", "--server", "--one-off", "--port", port, "--bind", "127.0.0.1"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        for _ in range(500):
            # Listening, without a connection that the server would take for its test.
            listening = f":{int(port):04X} 00000000:0000 0A"
            if listening in open("/proc/net/tcp").read() or server.poll() is not None:
                break
            time.sleep(0.01)
        done = run(mode, "iperf3", "--client", "127.0.0.1", "--port", port, "--json", *options)
        assert done.status == 0, done.stdout[-2000:]
        assert server.wait(timeout=30) == 0, server.stdout.read()
        return json.loads(done.stdout)
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


@every_mode
def test_iperf3_paced_udp(mode):
    # The sender paces itself by its clock, the receiver divides by its own.
    report = iperf3(mode, "--udp", "--bitrate", "40M", "--length", "1000", "--time", "1")
    sent = report["end"]["sum_sent"] if "sum_sent" in report["end"] else report["end"]["sum"]
    print(sent)
    assert 0.95 <= sent["seconds"] <= 3
    assert 0.8 <= sent["bits_per_second"] / 40e6 <= 1.2
    total = sum(i["sum"]["bytes"] for i in report["intervals"])
    assert total == sent["bytes"] > 1e6


@every_mode
def test_iperf3_tcp(mode):
    report = iperf3(mode, "--bytes", "50M")
    sent, received = report["end"]["sum_sent"], report["end"]["sum_received"]
    # The receiver's count ends with the client's word, before the last bytes are in.
    assert sent["bytes"] >= 50e6 and received["bytes"] > 0
    assert 0 < sent["seconds"] < 30
    assert sent["bits_per_second"] * sent["seconds"] / 8 == pytest.approx(sent["bytes"], rel=0.01)


# Two libraries at once -------------------------------------------------------------


@every_policy
def test_a_preloaded_library_of_the_user_stays(mode):
    # In the environment that the command itself finds.
    done = run(mode, program("allocate.c"), "libjemalloc", env={"LD_PRELOAD": str(jemalloc())})
    assert done.status == 0, done.stderr
    done = run(mode, program("allocate.c"), LIBRARY.name, env={"LD_PRELOAD": str(jemalloc())})
    assert done.status == 0, done.stderr
