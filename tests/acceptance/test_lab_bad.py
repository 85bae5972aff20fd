"""What may go wrong on the platforms of a lab: each is one clear line, its cell is marked
failed, the rest goes on, and the exit status tells."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from conftest import ROOT, TOMPION, tompion
from test_lab import left, ledger, record, start, write

KIT = Path(os.environ.get("TOMPION_GUEST", ROOT / ".cache/guest"))
STATIC = ROOT / "dist/tompion"
needs_guest = pytest.mark.skipif(
    not (KIT / "bin").exists(), reason="no guest: make guest builds one, on x86-64"
)

PLAN = """
seed = 5
replicates = {replicates}
[[platforms]]
kind = "host"
{platforms}
[[probes]]
kind = "wake-up"
methods = ["usleep"]
targets = ["1ms"]
time = "{time}"
"""
RUNC = '[[platforms]]\nkind = "oci"\nruntime = "runc"\n'


def plan(directory, platforms, replicates=1, time="300ms"):
    return write(directory, PLAN.format(platforms=platforms, replicates=replicates, time=time))


def failures(out):
    """Why each cell failed; none for those that did not."""
    return {e["name"].split("/")[0]: e.get("failed") for e in ledger(out)}


# By its name `left` knows it.
HANG = 'exec -a "$0" sleep 1000'


def fake_qemu(directory, script):
    """A QEMU that has a version, and then does something else."""
    fake = directory / "bin/qemu-system-x86_64"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/bash\n[ "$1" = --version ] && exec echo "QEMU fake 1"\n{script}\n')
    fake.chmod(0o755)
    return os.environ | {"PATH": f"{fake.parent}:{os.environ['PATH']}", "TOMPION_GUEST": str(KIT)}


def lab(*arguments, env=None, prefix=(), check=2):
    done = subprocess.run(
        [*map(str, prefix), TOMPION, "lab", "run", *map(str, arguments)],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == check, (done.returncode, done.stderr)
    return done


@needs_guest
def test_a_guest_that_hangs_is_given_up_when_its_time_is_over(tmp_path):
    out = tmp_path / "run"
    env = fake_qemu(tmp_path, HANG)
    table = '[[platforms]]\nkind = "qemu"\nstart_within = "2s"\n'
    told = lab(plan(tmp_path, table), "--out", out, env=env).stderr
    why = failures(out)
    assert why["host"] is None
    assert why["qemu (emulated)"].startswith("still running after 3 s (tcg"), why
    assert f"qemu (emulated)/idle/wake-up failed: {why['qemu (emulated)']}" in told
    assert record(out)["status"] == "incomplete" and left(out) == []


@needs_guest
def test_kvm_that_opens_and_hangs_is_absent_after_its_time_limit(tmp_path):
    out = tmp_path / "run"
    env = fake_qemu(tmp_path, HANG)
    began = time.monotonic()
    table = '[[platforms]]\nkind = "qemu"\naccel = "kvm"\n'
    told = lab(plan(tmp_path, table), "--out", out, env=env, check=0).stderr
    why = next(p["absent"] for p in record(out)["platforms"] if p["level"] == "qemu")
    assert f"absent: qemu: {why}" in told and "\n" not in why and left(out) == []
    if os.path.exists("/dev/kvm"):
        assert "still running after 20 s (kvm: it never ran" in why
        assert 20 <= time.monotonic() - began < 120
    else:
        assert "/dev/kvm" in why


def kit_with_init(directory, program):
    """The parts of guests, but for their first program: an environment that names them."""
    kit = directory / "kit"
    (kit / "bin").mkdir(parents=True)
    for part in KIT.iterdir():
        if part.name != "bin":
            (kit / part.name).symlink_to(part)
    for own in (KIT / "bin").iterdir():
        (kit / "bin" / own.name).symlink_to(own)
    init = kit / "bin/tompion-guest-init"
    init.unlink()
    shutil.copy(program, init)
    return os.environ | {"TOMPION_GUEST": str(kit)}


@needs_guest
def test_a_kernel_that_panics_is_told_by_its_last_words(tmp_path):
    """An init that ends at once, which is the end of Linux too."""
    env = kit_with_init(tmp_path, STATIC if STATIC.exists() else TOMPION)
    out = tmp_path / "run"
    lab(plan(tmp_path, '[[platforms]]\nkind = "qemu"\n'), "--out", out, env=env)
    why = failures(out)
    assert why["host"] is None
    assert "Kernel panic - not syncing: Attempted to kill init!" in why["qemu (emulated)"], why
    assert left(out) == []


# A first program that comes up, says so, and never gets on.
HANGING_INIT = """
#include <unistd.h>
int main(void) {
    static const char told[] = "tompion-guest-init: hangs\\n";
    if (write(2, told, sizeof told - 1) < 0)
        return 1;
    for (;;)
        pause();
}
"""


@needs_guest
def test_a_guest_that_really_hangs_at_boot_is_ended_and_told_in_one_line(tmp_path):
    source = tmp_path / "hangs.c"
    source.write_text(HANGING_INIT)
    subprocess.run(["cc", "-static", "-O1", "-o", tmp_path / "hangs", source], check=True)
    env = kit_with_init(tmp_path, tmp_path / "hangs")
    out = tmp_path / "run"
    began = time.monotonic()
    table = '[[platforms]]\nkind = "qemu"\nstart_within = "12s"\n'
    told = lab(plan(tmp_path, table), "--out", out, env=env).stderr
    took = time.monotonic() - began
    why = failures(out)
    assert why["host"] is None
    why = why["qemu (emulated)"]
    print(why)
    assert 12 <= took < 90, (took, why)
    # What its first program says too, unless the machine was too busy to boot it until then.
    words = r"still running after 13 s \(tcg\), killed(: tompion-guest-init: hangs|; its console .*)? \("
    assert re.match(words, why) and "\n" not in why, why
    assert [line for line in told.splitlines() if "qemu" in line] == [
        f"tompion: qemu (emulated)/idle/wake-up failed: {why}"
    ], told
    assert record(out)["status"] == "incomplete" and len(record(out)["trials"]) == 1
    assert left(out) == []


# A program that answers as tompion does, in its own way.
WRONG_PROGRAM = """
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {{
    static const char result[] = "{result}";
    static const char version[] = "tompion 0.0.0\\n";
    if (argc > 1 && strcmp(argv[1], "--version") == 0)
        return write(1, version, sizeof version - 1) < 0;
    return write(1, result, sizeof result - 1) < 0;
}}
"""
WRONG_RESULTS = {
    # The magic, a layout, kind and status, a length, a checksum; then two bytes of 64.
    "truncated": (
        r"TOMPCEL\n\003\000\000\000" + r"\000" * 8 + r"\100" + r"\000" * 11 + "ab",
        "its result is truncated: 34 of 96 bytes",
    ),
    "newer": (
        r"TOMPCEL\n\004\000\000\000" + r"\000" * 8 + r"\002" + r"\000" * 11 + "ab",
        "its result has layout 4, this program reads 3: use the same version in all places",
    ),
    "foreign": ("hello", "what it wrote is no result of tompion"),
}


def wrong_program(directory, result):
    """A static program that writes this and nothing else."""
    source = directory / "wrong.c"
    source.write_text(WRONG_PROGRAM.format(result=result))
    subprocess.run(["cc", "-static", "-O1", "-o", directory / "wrong", source], check=True)
    return directory / "wrong"


@pytest.mark.parametrize("kind", WRONG_RESULTS)
def test_a_result_that_is_none_is_told_on_every_platform(kind, tmp_path):
    result, want = WRONG_RESULTS[kind]
    program = wrong_program(tmp_path, result)
    tables = RUNC
    if (KIT / "bin").exists() and kind == "truncated":
        tables += '[[platforms]]\nkind = "qemu"\n'
    if runsc := shutil.which("runsc"):
        tables += f'[[platforms]]\nkind = "oci"\nruntime = "{runsc}"\n'
    out = tmp_path / "run"
    env = os.environ | {"TOMPION_GUEST": str(KIT)}
    # Nothing at all could be measured, which is an error.
    told = lab(plan(tmp_path, tables), "--out", out, "--program", program, env=env, check=1).stderr
    why = failures(out)
    assert len(why) == 2 + tables.count("qemu") + tables.count("runsc\""), why
    assert set(why.values()) == {want}, why
    assert "no cell could be measured" in told and left(out) == []


def test_a_container_makes_no_control_groups_in_its_own(tmp_path):
    """Nor lifts their limits: it mounts them writable, where it is root. The host's cells are honest."""
    program = tmp_path / "nested_groups"
    source = ROOT / "tests/programs/nested_groups.c"
    worker = TOMPION.with_name("tompion-worker")
    flags = ["-static", "-O1", "-Wall", "-Wextra", "-Werror", f'-DWORKER="{worker}"']
    subprocess.run(["cc", *flags, "-o", program, source], check=True)
    out = tmp_path / "run"
    lab(plan(tmp_path, RUNC, replicates=2), "--out", out, "--program", program, check=2)
    why = [entry["failed"] for entry in ledger(out) if entry.get("failed")]
    said = r"made (\d+) groups in (\d+) hierarchies and changed (\d+) limits"
    found = [re.search(said, text) for text in why]
    if why and not any(found):
        pytest.skip(f"no namespaces of its own: {why}")
    assert len(why) == 2 and all(found), why
    assert all(int(one[1]) == int(one[3]) == 0 and int(one[2]) > 0 for one in found), why
    assert len(record(out)["trials"]) == 2 and left(out) == []


def test_a_program_that_vanishes_or_is_for_another_processor_is_told(tmp_path):
    program = tmp_path / "tompion"
    shutil.copy(TOMPION, program)
    out = tmp_path / "run"
    process = start(plan(tmp_path, RUNC, replicates=3), "--out", out, "--program", program)
    until = time.monotonic() + 60
    while not ledger(out) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    program.unlink()
    _, told = process.communicate(timeout=300)
    why = [e["failed"] for e in ledger(out) if e.get("failed")]
    assert process.returncode == 2 and why, told
    # One that was just starting may say so in words of its own.
    assert f"{program}: No such file or directory (os error 2)" in why, why
    assert all(str(program) in text for text in why), why
    assert record(out)["trials"] and left(out) == []

    image = bytearray(TOMPION.read_bytes())
    # The machine of an ELF file: AArch64, or x86-64 there.
    other = 0x3E if os.uname().machine == "aarch64" else 0xB7
    image[18:20] = other.to_bytes(2, "little")
    program.write_bytes(image)
    program.chmod(0o755)
    out = tmp_path / "other"
    told = lab(plan(tmp_path, RUNC), "--out", out, "--program", program, check=1).stderr
    want = f"{program} is built for another architecture"
    assert f"no platform of the plan is here (host: {want}" in told and f"runc: {want}" in told
    assert not out.exists()


# A small disk of one's own, on which programs may be run or not.
def on_small_disk(place, size, *options):
    mount = f"mount -t tmpfs -o {','.join([f'size={size}', *options])} tmpfs {place}"
    return ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh"]


def test_a_disk_that_is_full_for_a_while_costs_the_cells_of_that_time(tmp_path):
    """The lab's own disk: filled after the first cell, and freed after the next failed."""
    disk = tmp_path / "disk"
    disk.mkdir()
    file = plan(tmp_path, RUNC, replicates=3)
    # From inside its mount namespace, where the disk is.
    script = f"""
        set -e
        "$@" & lab=$!
        lines() {{ cat {disk}/run/lab.jsonl 2>/dev/null | grep -c "$1" || true; }}
        until [ "$(lines '"replicate"')" -ge 1 ]; do sleep 0.02; kill -0 $lab; done
        dd if=/dev/zero of={disk}/filler bs=4096 2>/dev/null || true
        until grep -q failed {tmp_path}/told; do sleep 0.02; kill -0 $lab; done
        rm {disk}/filler
        status=0; wait $lab || status=$?
        cp -a {disk}/run {tmp_path}/kept
        exit $status
    """
    prefix = [*on_small_disk(disk, "64m"), "bash", "-c", script, "bash"]
    with open(tmp_path / "told", "w") as told:
        done = subprocess.run(
            [*map(str, prefix), TOMPION, "lab", "run", file, "--out", disk / "run"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=told,
            timeout=300,
        )
    said = (tmp_path / "told").read_text()
    assert done.returncode == 2, said
    kept = tmp_path / "kept"
    run = record(kept)
    lost = [line for line in said.splitlines() if " failed: " in line]
    assert lost and all("No space left on device" in line or "disk is full" in line for line in lost), said
    assert run["status"] == "incomplete" and len(run["trials"]) == 6 - len(lost), (said, run["notes"])
    assert any("No space left on device" in note["text"] for note in run["notes"]), run["notes"]
    # Once there is space, what was lost is measured.
    lab("--resume", kept, check=0)
    assert record(kept)["status"] == "complete" and len(record(kept)["trials"]) == 6


def test_no_place_of_the_lab_needs_to_run_programs(tmp_path):
    """The run's disk and the place for temporary files are mounted noexec."""
    disk = tmp_path / "disk"
    disk.mkdir()
    prefix = on_small_disk(disk, "64m", "noexec")
    copy = ["sh", "-c", f'"$@" && cp -a {disk}/run {tmp_path}/kept', "sh"]
    env = os.environ | {"TMPDIR": str(disk)}
    lab(plan(tmp_path, RUNC), "--out", disk / "run", env=env, prefix=[*prefix, *copy], check=0)
    assert len(record(tmp_path / "kept")["trials"]) == 2


def test_a_runtime_that_is_missing_is_absent_and_told(tmp_path):
    out = tmp_path / "run"
    table = '[[platforms]]\nkind = "oci"\nruntime = "/no/such/runc"\n'
    told = lab(plan(tmp_path, table), "--out", out, check=0).stderr
    assert "absent: runc: there is no program /no/such/runc" in told
    assert any("runc is absent: there is no program" in note["text"] for note in record(out)["notes"])
    assert len(record(out)["trials"]) == 1 and tompion("report", out, "--format", "md", check=0)
