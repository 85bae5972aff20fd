"""`tompion preload`: what it starts, and how."""

import os
import pty
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, TOMPION, tompion
from preload_bench import BOOT_ID, IS_ROOT, READS_CLOCK, bench, cc, loaded, preload, refused

SOURCES = Path("/sys/devices/system/clocksource/clocksource0")


def test_the_library_is_loaded_and_told_its_settings(bench):
    program, library = bench / "clock", str(bench / "stand_in.so")
    for arguments, settings in [
        ([], "clock=auto,sleep=system"),
        (["--policy", "kernel"], "clock=kernel,sleep=system"),
        (["--policy", "hybrid"], "clock=auto,sleep=hybrid"),
        (["--policy", "kernel,hybrid", "--budget", "5%"], "clock=kernel,sleep=hybrid,budget=0.05"),
        (["--policy", "hybrid", "--budget", "0.25"], "clock=auto,sleep=hybrid,budget=0.25"),
    ]:
        done = preload(bench, *arguments, "--", program)
        assert done.returncode == 0, done.stderr
        assert loaded(done) == [(settings, library)]
        assert done.stdout.decode() == f"{program}\n"
        assert len(done.stderr.splitlines()) == 1, "nothing but what the library says"


def test_policy_tsc_passes_the_boot_in_which_counters_agree(bench):
    available = (SOURCES / "available_clocksource").read_text().split()
    done = preload(bench, "--policy", "tsc", "--", bench / "clock")
    assert done.returncode == 0
    (settings, _), said = loaded(done)[0], done.stderr.decode().splitlines()[:-1]
    if "tsc" not in available:
        assert settings == "clock=tsc,sleep=system"
        assert len(said) == 1 and "no effect" in said[0]
    elif settings == "clock=tsc,sleep=system":
        # Differing counters, or CPUs too busy to be compared: said in one line.
        assert len(said) == 1 and "counter is used only where" in said[0]
    else:
        assert settings == f"clock=tsc,sleep=system,agreed={BOOT_ID.read_text().strip()}"
        assert said == []


def test_policy_tsc_on_one_cpu_needs_no_comparison(bench):
    if "tsc" not in (SOURCES / "available_clocksource").read_text().split():
        pytest.skip("no tsc here")
    cpu = min(os.sched_getaffinity(0))
    done = preload(
        *(bench, "--policy", "tsc", "--", bench / "clock"),
        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
    )
    assert loaded(done)[0][0].endswith(f"agreed={BOOT_ID.read_text().strip()}"), done.stderr


@pytest.mark.skipif(not IS_ROOT, reason="mounts over sysfs")
def test_policy_tsc_where_the_kernel_does_not_list_it_says_so(bench, tmp_path):
    (tmp_path / "current_clocksource").write_text("hpet\n")
    (tmp_path / "available_clocksource").write_text("hpet acpi_pm \n")
    command = [TOMPION, "preload", "--library", bench / "stand_in.so", "--policy", "tsc"]
    mount = f'mount --bind {tmp_path} {SOURCES} && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, "sh", *command, bench / "clock"],
        capture_output=True,
    )
    if b"mount" in done.stderr:
        pytest.skip(done.stderr.decode())
    assert done.returncode == 0
    first, second = done.stderr.decode().splitlines()
    assert "no effect" in first and "available_clocksource" in first
    assert second.startswith("loaded clock=tsc,sleep=system |")


def test_arguments_arrive_byte_for_byte(bench):
    arguments = [b"", b"a b", b"\xff\xfe\x80", b"--explain", b"--", b"-h", "ü\n".encode(), b"*"]
    done = preload(bench, "--", bench / "clock", *arguments)
    assert done.stdout == b"\n".join([os.fsencode(bench / "clock"), *arguments]) + b"\n"
    done = preload(bench, bench / "clock", "--policy", "nonsense")
    assert done.stdout.decode() == f"{bench / 'clock'}\n--policy\nnonsense\n"
    odd = os.fsencode(bench) + b"/\xff\xfe"
    shutil.copy(bench / "clock", odd)
    assert preload(bench, "--", odd).stdout == odd + b"\n"


def test_the_command_is_found_in_path_and_called_as_it_was_named(bench, tmp_path):
    (tmp_path / "clock").write_text("not executable")
    (tmp_path / "directory" / "clock").mkdir(parents=True)
    path = f"/nonexistent:{tmp_path}:{tmp_path}/directory:{bench}:{os.environ['PATH']}"
    done = preload(bench, "--", "clock", "x", env={"PATH": path})
    assert done.stdout == b"clock\nx\n", done.stderr
    # A component without a name is this directory.
    done = preload(bench, "--", "clock", env={"PATH": ":/bin"}, cwd=bench)
    assert done.stdout == b"clock\n", done.stderr
    done = preload(bench, "--", "./clock", cwd=bench)
    assert done.stdout == b"./clock\n", done.stderr


def test_what_the_loader_was_told_before_is_kept(bench):
    other = cc(bench / "other.so", "int other;", "-shared", "-fPIC")
    done = preload(bench, "--", bench / "clock", env={"LD_PRELOAD": f"{other} libm.so.6"})
    assert loaded(done)[0][1] == f"{bench}/stand_in.so:{other}:libm.so.6"
    # Within itself it is not named twice, and the inner settings hold.
    inner = [TOMPION, "preload", "--library", bench / "stand_in.so", "--policy", "kernel"]
    if "dynamically" in subprocess.run(["file", TOMPION], capture_output=True, text=True).stdout:
        done = preload(bench, "--", *inner, bench / "clock")
        assert loaded(done)[-1] == ("clock=kernel,sleep=system", f"{bench}/stand_in.so")


def test_a_sanitizers_runtime_comes_first(bench):
    try:
        program = cc(bench / "asan", READS_CLOCK, "-fsanitize=address")
    except subprocess.CalledProcessError:
        pytest.skip("no AddressSanitizer here")
    done = preload(bench, "--", program)
    assert done.returncode == 0 and done.stdout.decode() == f"{program}\n", done.stderr
    first, second = loaded(done)[0][1].split(":")
    assert first.startswith("libasan.so.") and second == f"{bench}/stand_in.so"


def test_children_inherit_it(bench):
    done = preload(bench, "--", "sh", "-c", f"{bench}/clock; {bench}/static; {bench}/clock")
    assert len(loaded(done)) == 3, done.stderr


def test_standard_streams_are_the_programs_own(bench, tmp_path):
    done = preload(bench, "--", "cat", stdin=None, input=b"\x00\xff in")
    assert done.stdout == b"\x00\xff in"
    # Further open files too, and no others.
    listing = ["sh", "-c", "ls /proc/self/fd"]
    read, write = os.pipe()
    plain = subprocess.run(
        listing, pass_fds=[write], stdin=subprocess.DEVNULL, capture_output=True
    )
    assert preload(bench, "--", *listing, pass_fds=[write]).stdout == plain.stdout
    os.close(read)
    os.close(write)


def test_the_terminal_is_the_programs_own(bench):
    pid, terminal = pty.fork()
    if pid == 0:
        check = "test -t 0 && test -t 1 && echo owned by $(ps -o tpgid= -p $$) $$"
        library = str(bench / "stand_in.so")
        os.execv(TOMPION, ["tompion", "preload", "--library", library, "--", "sh", "-c", check])
    text = b""
    try:
        while more := os.read(terminal, 4096):
            text += more
    except OSError:
        pass
    assert os.waitpid(pid, 0)[1] == 0, text
    assert f"owned by {pid} {pid}" in " ".join(text.decode().split()), text


@pytest.mark.parametrize("status", [0, 1, 42, 255])
def test_the_exit_status_is_the_programs(bench, status):
    assert preload(bench, "--", "sh", "-c", f"exit {status}").returncode == status


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGSEGV", "SIGPIPE", "SIGXFSZ"])
def test_death_by_a_signal_is_the_programs(bench, name):
    number = signal.Signals[name]
    command = f"ulimit -c 0; kill -{number} $$; echo alive"
    done = preload(bench, "--", "sh", "-c", command)
    assert done.returncode == -number and done.stdout == b""


def test_a_writer_whose_reader_went_dies_of_it(bench):
    library = bench / "stand_in.so"
    script = f"'{TOMPION}' preload --library '{library}' -- yes | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["y", str(128 + signal.SIGPIPE)], done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


def signals_of(done):
    return [line for line in done.stdout.decode().splitlines() if line.startswith("Sig")]


@pytest.mark.parametrize(
    ("ignored", "blocked"),
    [
        ([], []),
        (["SIGPIPE"], []),
        (["SIGXFSZ", "SIGUSR1"], ["SIGUSR2"]),
        (["SIGPIPE", "SIGXFSZ", "SIGINT", "SIGCHLD"], ["SIGTERM", "SIGRTMIN"]),
    ],
)
def test_ignored_and_blocked_signals_are_handed_on(bench, ignored, blocked):
    def prepare():
        for name in ("SIGPIPE", "SIGXFSZ"):
            signal.signal(signal.Signals[name], signal.SIG_DFL)
        for name in ignored:
            signal.signal(signal.Signals[name], signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, [signal.Signals[n] for n in blocked])

    show = ["grep", "^Sig[BI]", "/proc/self/status"]
    plain = subprocess.run(show, preexec_fn=prepare, restore_signals=False, capture_output=True)
    under = [TOMPION, "preload", "--library", bench / "stand_in.so", "--policy", "tsc", "--"]
    done = subprocess.run(
        [*under, *show], preexec_fn=prepare, restore_signals=False, capture_output=True
    )
    assert signals_of(done) == signals_of(plain) and len(signals_of(done)) == 2, done.stderr
    if ignored:
        assert "0000000000000000" not in signals_of(done)[1], "the test ignores something"


def test_the_library_is_found_beside_the_program_or_in_its_prefix(bench, tmp_path):
    program = tmp_path / "bin" / "tompion"
    program.parent.mkdir()
    shutil.copy(TOMPION, program)
    (tmp_path / "link").symlink_to(program)
    run = ["preload", bench / "clock"]
    error = refused(tompion(*run, program=program), "--library")
    assert f"{tmp_path}/bin, {tmp_path}/lib" in error and "make install" in error
    places = ["lib", "lib/tompion", f"lib/{os.uname().machine}-linux-gnu", "bin"]
    # Each place goes before those that are filled already.
    for place in (places[2], places[1], places[0], places[3]):
        library = tmp_path / place / "libtompion_preload.so"
        library.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(bench / "stand_in.so", library)
        for called in (program, tmp_path / "link"):
            done = tompion(*run, program=called, check=0)
            assert done.stderr.endswith(f"| {library}\n"), done.stderr
    relative = ["preload", "--library", "lib/libtompion_preload.so", bench / "clock"]
    done = tompion(*relative, cwd=tmp_path, check=0)
    assert done.stderr.endswith(f"| {tmp_path}/lib/libtompion_preload.so\n"), done.stderr


def test_explain_tells_what_is_replaced_and_who_imports_it(bench):
    sleeper = "#include <unistd.h>\nint wait_a_bit(void) { return usleep(1); }"
    cc(bench / "libsleeper.so", sleeper, "-shared", "-fPIC")
    source = READS_CLOCK.replace("return", "extern int wait_a_bit(void); wait_a_bit(); return")
    link = [f"-L{bench}", "-lsleeper", "-Wl,-rpath,$ORIGIN"]
    program = cc(bench / "both", source, *link)
    done = preload(bench, "--explain", "--policy", "hybrid", "--", program)
    assert done.returncode == 0 and done.stdout.decode() == f"{program}\n"
    text = done.stderr.decode()
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert rows["clock_gettime"][-1] == "both"
    assert rows["usleep"][-1] == "libsleeper.so"
    for function in ("gettimeofday", "clock_nanosleep", "nanosleep", "sleep"):
        assert rows[function][-1] == "-", text
    assert rows["program"][-1] == str(program) and rows["library"][-1].endswith("stand_in.so")
    for word in ("not replaced", "epoll", "timerfd", "static and Go", "no effect"):
        assert (word in text) == (word != "no effect"), text
    assert loaded(done) == [("clock=auto,sleep=hybrid,explain", f"{bench}/stand_in.so")]
    assert text.splitlines()[-1].startswith("loaded "), "the library speaks for itself, last"
    assert all(len(line) <= 100 for line in text.splitlines() if str(bench) not in line)

    (bench / "libsleeper.so").rename(bench / "libaside.so")
    text = preload(bench, "--explain", "--", program).stderr.decode()
    assert "Not found or not readable: libsleeper.so" in text
    quiet = cc(bench / "quiet", "int main(void) { return 0; }")
    assert "no effect" in preload(bench, "--explain", "--", quiet).stderr.decode()


def test_explain_alone_tells_in_general(bench):
    done = preload(bench, "--explain")
    assert done.returncode == 0 and done.stdout == b""
    text = done.stderr.decode()
    assert "No command given" in text and "imported by" not in text
    for function in ("clock_gettime", "gettimeofday", "nanosleep", "usleep"):
        assert function in text
    assert len(loaded(done)) == 1


def test_help_man_page_and_completions_know_it(tmp_path):
    assert "preload" in tompion("--help", check=0).stdout
    text = tompion("preload", "--help", check=0).stdout
    for word in ("Examples:", "--policy", "--budget", "--explain", "--library", "Exit status"):
        assert word in text
    assert "Examples:" in tompion("preload", "-h", check=0).stdout
    tompion("man", "--out", tmp_path / "man", check=0)
    assert "budget" in (tmp_path / "man" / "tompion-preload.1").read_text()
    for shell in ("bash", "zsh", "fish"):
        assert "preload" in tompion("completions", shell, check=0).stdout


def test_a_library_that_is_not_the_preload_library_is_refused(bench):
    other = cc(bench / "stranger.so", "int stranger;", "-shared", "-fPIC")
    done = tompion("preload", "--library", other, bench / "clock")
    assert "another library" in refused(done, str(other))
    assert "not a regular file" in refused(tompion("preload", "/dev/null"), "/dev/null")
    assert "; to pass" in refused(tompion("preload", "--bogus", "--", "true"), "--bogus")
    assert "above 0" in refused(
        tompion("preload", "--policy", "hybrid", "--budget", "1e-300", "true"), "--budget"
    )
