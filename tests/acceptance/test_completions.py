"""Completions in the shells themselves: the runs that were kept, where a command takes one."""

import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

from conftest import TOMPION, tompion

RUNS = ["20260102-030405", "20260203-040506", "20260203-040506-2"]
# What must not be run, nor break a line.
HOSTILE = ["two words", "it's", 'a"quote', "$(touch ran)", "`touch ran`", ";touch ran", "\x1b[31mred", "new\nline"]


@pytest.fixture
def home(tmp_path):
    """A state directory with runs, and a working directory with directories of any name."""
    state = tmp_path / "state/tompion/runs"
    state.mkdir(parents=True, mode=0o700)
    for name in [*RUNS, *HOSTILE]:
        (state / name).mkdir()
    work = tmp_path / "work"
    for name in [*HOSTILE, "plain", "@mine"]:
        (work / name).mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tompion").symlink_to(TOMPION)
    return tmp_path


def environment(home):
    return {"PATH": f"{home}/bin:/usr/bin:/bin", "XDG_STATE_HOME": str(home / "state"), "HOME": str(home),
            "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def bash(home, line):
    """What bash offers for a line, by the function that `complete` has for the program."""
    script = home / "completions.bash"
    if not script.exists():
        script.write_text(tompion("completions", "bash", check=0).stdout)
    program = r"""
source "$1"
COMP_LINE="$2" COMP_POINT=${#2}
read -ra COMP_WORDS <<< "$2"
[[ "$2" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
_tompion_or_runs tompion "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\0' "${COMPREPLY[@]}"
"""
    done = subprocess.run(["bash", "-c", program, "bash", script, line], cwd=home / "work", env=environment(home),
                          capture_output=True, timeout=30)
    assert done.returncode == 0 and done.stderr == b"", done
    return [word.decode() for word in done.stdout.split(b"\0") if word]


def test_names_are_those_of_runs_the_newest_first_and_quiet_without_any(home):
    done = subprocess.run([TOMPION, "runs", "--names"], env=environment(home), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["@1\t2026-02-03 04:05:06 UTC", "@2\t2026-02-03 04:05:06 UTC",
                                        "@3\t2026-01-02 03:04:05 UTC"]
    for broken in ({"XDG_STATE_HOME": "/dev/null"}, {"XDG_STATE_HOME": str(home / "none")}, {"HOME": ""}):
        env = environment(home) | broken
        if "HOME" in broken:
            del env["XDG_STATE_HOME"], env["HOME"]
        done = subprocess.run([TOMPION, "runs", "--names"], env=env, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        # Without HOME the list of users has one, with whatever was kept there.
        assert done.stdout == "" or "HOME" in broken
    assert "--names" not in tompion("runs", "--help", check=0).stdout


def test_a_thousand_runs_are_offered_in_a_blink(home):
    for number in range(1_000):
        (home / f"state/tompion/runs/20250101-{number:06d}").mkdir()
    took = []
    for _ in range(5):
        began = time.monotonic()
        done = subprocess.run([TOMPION, "runs", "--names"], env=environment(home), capture_output=True, text=True)
        took.append(time.monotonic() - began)
    assert len(done.stdout.splitlines()) == 30
    assert min(took) < 0.2, took


def test_bash_offers_runs_where_one_is_meant(home):
    runs = ["@1", "@2", "@3"]
    for line in ("tompion report @", "tompion compare @", "tompion compare @2 @", "tompion lab summary @",
                 "tompion claims --decide @", "tompion lab run --resume @", "tompion report --json @"):
        assert bash(home, line) == runs, line
    assert bash(home, "tompion report @2") == ["@2"]
    assert bash(home, "tompion compare @1,@") == ["@1,@1", "@1,@2", "@1,@3"]
    offered = bash(home, "tompion report ")
    assert offered[:3] == runs and "plain" in offered
    # Where none is meant, as before: options and their values.
    assert "--html" in bash(home, "tompion report --h")
    assert "audio-48k-64" in bash(home, "tompion check --require audio-48k-")
    for line in ("tompion report --html @", "tompion compare --switch a b -- measure @", "tompion check @",
                 "tompion lab plan @", "tompion runs @"):
        assert not set(bash(home, line)) & set(runs), line


def test_bash_takes_no_name_for_a_command(home):
    """What is offered stands for one word each, the directory's own name."""
    offered = bash(home, "tompion report ")
    assert not (home / "work/ran").exists()
    for word in offered[3:]:
        done = subprocess.run(["bash", "-c", f"printf '%s\\0' {word}"], cwd=home / "work", capture_output=True)
        names = [name.decode() for name in done.stdout.split(b"\0") if name]
        assert len(names) == 1 and (names[0] in HOSTILE + ["plain", "@mine"] or "\n".join(HOSTILE).count(names[0])), word
        assert not any(ord(c) < 32 for c in word), word
    assert not (home / "work/ran").exists()


def typed(home, command, keys, until, setup=()):
    """What a shell on a terminal of its own shows once these keys were typed."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(home / "work")
        os.execvpe(command[0], command, environment(home) | {"TERM": "xterm"})
    shown = ""

    def read(wanted, seconds=20):
        nonlocal shown
        end = time.monotonic() + seconds
        while wanted not in shown and time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                shown += os.read(terminal, 65536).decode(errors="replace")
        assert wanted in shown, shown

    try:
        for line in setup:
            os.write(terminal, f"{line}\n".encode())
        os.write(terminal, b"echo rea''dy\n")
        read("ready")
        shown = ""
        os.write(terminal, keys.encode())
        read(until)
    finally:
        os.kill(process, 9)
        os.waitpid(process, 0)
        os.close(terminal)
    return shown


@pytest.mark.parametrize("hosts", ["", "shopt -u hostcomplete"])
def test_in_a_real_bash_a_tab_completes_a_run(home, hosts):
    script = home / "completions.bash"
    script.write_text(tompion("completions", "bash", check=0).stdout)
    setup = ["bind 'set enable-bracketed-paste off'", "bind 'set show-all-if-ambiguous on'", hosts, f"source {script}"]
    shell = ["bash", "--norc", "--noprofile", "-i"]
    typed(home, shell, "tompion report @\t", "@3", setup)
    # The only one of its kind is put in, as it is.
    shown = typed(home, shell, "tompion lab summ\t@2\t--json\x01echo \n", "tompion lab summary @2 --json", setup)
    assert "@@" not in shown
    assert not (home / "work/ran").exists()


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh here")
def test_in_a_real_zsh_a_tab_offers_runs_with_their_times(home):
    functions = home / "functions"
    functions.mkdir()
    (functions / "_tompion").write_text(tompion("completions", "zsh", check=0).stdout)
    setup = [f"fpath=({functions} $fpath)", "autoload -U compinit; compinit -u -D", "PS1='> '"]
    shown = typed(home, ["zsh", "-f", "-i"], "tompion report @\t", "@3", setup)
    assert "2026-01-02" in shown or "@1" in shown
    assert not (home / "work/ran").exists()


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish here")
def test_fish_offers_runs_with_their_times(home):
    script = home / "completions.fish"
    script.write_text(tompion("completions", "fish", check=0).stdout)
    for line in ("report @", "lab summary @", "claims --decide @", "lab run --resume @"):
        done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C 'tompion {line}'"],
                              env=environment(home), cwd=home / "work", capture_output=True, text=True, timeout=60)
        found = re.findall(r"^(@[0-9])\t", done.stdout, re.MULTILINE)
        assert found == ["@1", "@2", "@3"], (line, done)
