"""`tompion lab`: one plan over this machine and containers, known truths planted in one of
them, and nothing left however it ends."""

import itertools
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import ROOT, TOMPION, tompion
from heavy import polars
from own_run import may_mount, own_run
from runs import require_few_files, table_of
from terminal import Terminal

LONG = "TOMPION_LONG" in os.environ
# As `.ci/gvisor` builds it.
GVISOR = shutil.which(ROOT / ".cache/bin/runsc") or shutil.which("runsc")
JOURNALS = Path("/run/tompion-lab")
KIT = Path(os.environ.get("TOMPION_GUEST", ROOT / ".cache/guest"))
HAS_GUEST = (
    shutil.which("qemu-system-x86_64") is not None
    and (KIT / "kernel").exists()
    and (KIT / "bin/tompion-guest-init").exists()
)
needs_guest = pytest.mark.skipif(not HAS_GUEST, reason="no guest: make guest builds one, on x86-64")

# Weight against all else that runs on a busy machine: else it, and not the quota, would
# take the CPU away.
QUOTA = """
name = "a quota in one of two"
seed = 1
replicates = 1
[[platforms]]
kind = "host"
[[platforms]]
kind = "oci"
runtime = "runc"
shares = 262144
quota = "20ms"
period = "100ms"
[[probes]]
kind = "stalls"
time = "4s"
"""

SMALL = """
seed = 2
replicates = 5
[[platforms]]
kind = "host"
[[platforms]]
kind = "oci"
runtime = "runc"
[[probes]]
kind = "wake-up"
methods = ["usleep"]
targets = ["1ms"]
time = "300ms"
"""


def write(directory, text):
    path = directory / "plan.toml"
    path.write_text(text)
    return path


def record(directory):
    return json.loads((directory / "run.json").read_text())


def ledger(directory):
    """Lines of finished cells."""
    try:
        text = (directory / "lab.jsonl").read_text()
    except OSError:
        return []
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()[1:]]


def is_alive(pid, start):
    """Whether this process lives, and is the one that began then."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return False
    return fields[19] == start and fields[0] not in "ZX"


def is_at_work(path):
    """Whether what lies here is named after a lab that lives: another test's."""
    named = re.search(r"(\d+)-(\d+)(-\d+)?$", path.name)
    return named is not None and is_alive(named[1], named[2])


def lineage(pid):
    """This process and those above it, with their command lines, as far as they live."""
    while pid > 1:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            above = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            return
        yield pid, command
        pid = above


def processes():
    """Pid, name and command line of each."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            yield int(entry.name), (entry / "comm").read_text(), (entry / "cmdline").read_bytes()
        except OSError:
            continue


def machines(lab):
    """Virtual machines that this lab runs."""
    qemu = [pid for pid, name, command in processes() if command and name.startswith("qemu-system")]
    return sum(any(above == lab for above, _ in lineage(pid)) for pid in qemu)


def is_somebodys(pid, command):
    """Whether this process descends from a lab that lives; a virtual machine, from whoever
    made the files that its command line names, who may be a unit test."""
    makers = [int(maker) for maker in re.findall(rb"/proc/(\d+)/fd/", command)]
    return any(b"\0lab\0" in told or above in makers for above, told in lineage(pid))


def named_after_labs():
    """Journals, cgroups and networks."""
    found = list(JOURNALS.glob("*"))
    found += Path("/sys/fs/cgroup").glob("tompion-lab-*")
    found += Path("/sys/fs/cgroup").glob("*/tompion-lab-*")
    found += Path("/run/netns").glob("tompion-lab-*")
    return found


# What another test left fails that one, and not all that come after it.
THERE_BEFORE = {*named_after_labs(), *(pid for pid, _, _ in processes())}


def left(out):
    """Everything on this machine that a lab on `out` might have left. Networks of virtual
    machines, their disks and other files have no names: they are gone with the processes."""
    found = list(out.glob("scratch-*"))
    found += [path for path in named_after_labs() if path not in THERE_BEFORE and not is_at_work(path)]
    marks = (b"__cell", b"__neighbour", f"{out.parent}/".encode())
    # With a process's number: there is a manual page `tompion-lab-run`, too.
    numbered = re.compile(rb"tompion-lab-\d")
    for pid, name, command in processes():
        if pid in THERE_BEFORE:
            continue
        # No other program is likely to start one without its usual configuration.
        machine = name.startswith("qemu-system") and b"-no-user-config" in command
        ours = machine or numbered.search(command) or any(mark in command for mark in marks)
        # Nor what runs on the other machine of test_lab_ssh, which looks there itself.
        if ours and not re.search(rb"/far\d+/", command) and not is_somebodys(pid, command):
            found.append(command.replace(b"\0", b" ").decode())
    for line in Path("/proc/self/mounts").read_text().splitlines():
        named = re.search(r"tompion-lab[-/](\d+)-(\d+)", line)
        if str(out) in line or named and not is_alive(*named.groups()):
            found.append(line)
    return found


def start(*arguments):
    return subprocess.Popen(
        [TOMPION, "lab", "run", *map(str, arguments)],
        # Where the parts of guests are.
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def is_whole(directory, replicates=5, platforms=("host", "runc"), placements=(None,)):
    run = record(directory)
    factors = [(t["factors"], t["block"]) for t in run["trials"]]
    keys = sorted((f["platform"], f.get("placement"), block) for f, block in factors)
    want = itertools.product(platforms, placements, range(replicates))
    return run["status"] == "complete" and keys == sorted(want)


def test_a_quota_of_one_platform_shows_there_and_nowhere_else(tmp_path):
    out = tmp_path / "run"
    before = time.monotonic()
    tompion("lab", "run", write(tmp_path, QUOTA), "--out", out, "--quiet", check=0)
    assert time.monotonic() - before < 60
    run = record(out)
    assert [t["factors"]["platform"] for t in run["trials"]] != []
    throttled = {}
    for trial in run["trials"]:
        parts = table_of(out, trial, "parts")
        ms = parts.filter(polars.col("cause") == "throttled")["ns"] / 1e6
        throttled[trial["factors"]["platform"]] = ms
    near = throttled["runc"].filter(throttled["runc"].is_between(70, 90))
    assert len(near) >= 10, throttled["runc"].to_list()
    # A quota above the tests themselves would be everybody's.
    if run["environment"]["cgroup"]["quota_us"] is None:
        assert len(throttled["host"]) == 0, throttled["host"].to_list()
    # What each instance saw of itself stands beside the results.
    platforms = {p["level"]: p for p in run["platforms"]}
    assert platforms["runc"]["environment"]["cgroup"]["quota_us"] == 20_000
    assert platforms["runc"]["versions"][0].startswith("runc version")
    assert platforms["host"]["environment"]["cgroup"]["quota_us"] != 20_000
    assert left(out) == []


def read_costs(tmp_path, platform):
    """Medians of one platform over those of the host, by clock."""
    plan = f"""
        replicates = 1
        [[platforms]]
        kind = "host"
        [[platforms]]
        {platform}
        [[probes]]
        kind = "read-cost"
        methods = ["clock-monotonic", "syscall-clock-monotonic"]
        samples = 20000
        time = "500ms"
    """
    out = tmp_path / "run"
    tompion("lab", "run", write(tmp_path, plan), "--out", out, "--quiet", cwd=ROOT, timeout=400, check=0)
    run = record(out)
    ns = {(t["factors"]["platform"], t["factors"]["method"]): t for t in run["trials"]}
    assert len(ns) == 4 and left(out) == []
    other = run["platforms"][1]
    median = {key: trial["summary"]["measured"]["median_ns"] for key, trial in ns.items()}
    ratio = {m: median[other["level"], m] / median["host", m] for p, m in median if p == "host"}
    return other, ratio


@needs_guest
def test_an_emulator_reads_slowly_and_is_called_what_it_is(tmp_path):
    may_tap = os.geteuid() == 0 and Path("/dev/net/tun").exists()
    wishes = """
        kind = "qemu"
        machine = "q35"
        cpu = "Haswell"
        clocksource = "hpet"
        pin = "0"
        scratch_mib = 64
    """
    qemu, ratio = read_costs(tmp_path, wishes + ('network = "tap"' if may_tap else ""))
    # What was wished, and what the guest then had.
    for wish in ("machine q35", "CPU Haswell", "virtual CPUs pinned to 0", "scratch disk of 64 MiB"):
        assert wish in qemu["settings"], qemu["settings"]
    assert qemu["environment"]["clock"]["clocksource"] == "hpet"
    assert qemu["environment"]["kernel"]["release"].endswith("-cloud-amd64")
    assert ratio["clock-monotonic"] > 2, ratio
    assert qemu["level"] == "qemu (emulated)" and qemu["emulated"] == "QEMU TCG"
    assert qemu["environment"]["virtualization"]["emulated"] == "QEMU TCG"
    told = tompion("report", tmp_path / "run", "--format", "md", check=0).stdout
    assert "qemu (emulated)" in told and "no evidence about hardware" in told


@needs_guest
def test_virtual_time_is_called_that_wherever_its_results_are(tmp_path):
    plan = SMALL.replace("replicates = 5", "replicates = 1")
    plan = plan.replace('kind = "oci"\nruntime = "runc"', 'kind = "qemu"\nicount = 3')
    out = tmp_path / "run"
    tompion("lab", "run", write(tmp_path, plan), "--out", out, "--quiet", cwd=ROOT, timeout=400, check=0)
    assert left(out) == []
    level = "qemu (emulated, virtual time)"
    trials = [trial["factors"]["platform"] for trial in record(out)["trials"]]
    assert sorted(trials) == ["host", level]
    told = tompion("report", out, "--format", "md", check=0).stdout
    assert level in told and "qemu (emulated)" not in told
    compared = json.loads(tompion("compare", out, "--by", "platform", "--json", check=0).stdout)
    assert sorted(compared["sides"]) == ["host", level]
    rows = compared["comparisons"]
    assert rows and all(sorted(row["sides"]) == ["host", level] for row in rows), rows
    assert all(row["trials"] == [1, 1] for row in rows), rows


def test_what_a_virtual_machine_cannot_be_is_told_before_anything_starts(tmp_path):
    plan = """
        [[platforms]]
        kind = "qemu"
        cpu = "no-such-cpu"
        [[platforms]]
        name = "counted"
        kind = "qemu"
        icount = 1
        pin = "9999-9999"
        [[platforms]]
        kind = "firecracker"
        program = "no-such-firecracker"
        [[platforms]]
        kind = "cloud-hypervisor"
        program = "no-such-hypervisor"
        [[probes]]
        kind = "stalls"
    """
    wrong = tompion("lab", "plan", write(tmp_path, plan), check=1)
    assert "no list of CPUs" in wrong.stderr
    done = tompion("lab", "plan", write(tmp_path, plan.replace("9999", "1000")), "--probe", "--json", cwd=ROOT, check=1)
    platforms = {p["level"]: p for p in json.loads(done.stdout)["platforms"]}
    assert set(platforms) == {
        "qemu (emulated)", "counted (emulated, virtual time)", "firecracker", "cloud-hypervisor"
    }
    # Without the kit of guests they say that, and no more.
    if (ROOT / ".cache/guest/bin").exists() or "TOMPION_GUEST" in os.environ:
        assert "no-such-cpu" in platforms["qemu (emulated)"]["absent"]
        assert "CPU 1000 does not exist" in platforms["counted (emulated, virtual time)"]["absent"]
    assert "no program no-such-firecracker" in platforms["firecracker"]["absent"]
    assert "no program no-such-hypervisor" in platforms["cloud-hypervisor"]["absent"]
    assert not any(p["present"] for p in platforms.values())


@pytest.mark.skipif(GVISOR is None, reason="gVisor's runsc is neither built nor installed")
def test_gvisor_answers_system_calls_slowly(tmp_path):
    _, ratio = read_costs(tmp_path, f'kind = "oci"\nruntime = "{GVISOR}"')
    assert ratio["syscall-clock-monotonic"] > 2, ratio


def test_ctrl_c_keeps_finished_cells_and_resume_finishes(tmp_path):
    out = tmp_path / "run"
    lab = start(write(tmp_path, SMALL), "--out", out)
    until = time.monotonic() + 60
    while len(ledger(out)) < 2 and lab.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    lab.send_signal(signal.SIGINT)
    _, told = lab.communicate(timeout=60)
    assert lab.returncode == 130, told
    assert f"--resume {out}" in told
    finished = ledger(out)
    assert 2 <= len(finished) < 10
    assert len(record(out)["trials"]) == len(finished)
    assert record(out)["status"] == "interrupted"
    assert left(out) == []
    tompion("report", out, "--format", "json", check=0)
    again = tompion("lab", "run", "--resume", out, "--verbose", check=0)
    assert "platform runc" in again.stdout
    assert ledger(out)[: len(finished)] == finished
    assert is_whole(out) and left(out) == []
    require_few_files(out, beside=["lab.jsonl"])
    compared = json.loads(tompion("compare", out, "--by", "platform", "--json", check=0).stdout)
    assert compared["sides"] and compared["paired"]
    # There is nothing left to do, and it says so.
    tompion("lab", "run", "--resume", out, "--quiet", check=0)
    assert len(ledger(out)) == 10


# Where there is time, virtual machines are killed too: at boot and at work, alone and beside
# another one, with all that is made for them on this machine.
MACHINES = """
[[platforms]]
kind = "qemu"
scratch_mib = 16
network = "tap"
[[placements]]
name = "alone"
[[placements]]
name = "pinned"
pinning = "one-cpu"
[[placements.guests]]
role = "idle"
"""


def killed_at(lab, chance, wanted):
    """Kills a lab at a random moment after it has made something and runs so many virtual
    machines at once; tells how many it then had."""
    own = f"{lab.pid}-*/journal"
    until = time.monotonic() + 180

    def is_there():
        return list(JOURNALS.glob(own)) and (wanted == 0 or machines(lab.pid) >= wanted)

    while not is_there() and lab.poll() is None and time.monotonic() < until:
        time.sleep(0.05 if wanted else 0.002)
    # A boot takes seconds, and so does the guest beside.
    time.sleep(chance.uniform(0, (1.5, 4, 12)[wanted]))
    had = machines(lab.pid)
    lab.kill()
    lab.communicate(timeout=30)
    return had


def test_a_lab_killed_at_random_moments_leaves_nothing_to_clean_and_goes_on(tmp_path):
    """kill -9, `lab clean`, `--resume`, over and over."""
    out, chance = tmp_path / "run", random.Random(3)
    replicates, kills = (40, 20) if LONG else (8, 3)
    text, platforms, placements = SMALL, ("host", "runc"), (None,)
    with_machines = LONG and HAS_GUEST and Path("/dev/net/tun").exists()
    if with_machines:
        text = SMALL.replace("[[probes]]", MACHINES + "[[probes]]")
        replicates, platforms, placements = 8, (*platforms, "qemu (emulated)"), ("alone", "pinned")
    plan = write(tmp_path, text.replace("replicates = 5", f"replicates = {replicates}"))
    kept, seen, had = 0, "", []
    for kill in range(kills):
        begun = (out / "lab.jsonl").exists()
        lab = start("--resume", out) if begun else start(plan, "--out", out)
        had.append(killed_at(lab, chance, kill % 3 if with_machines else 0))
        if not begun and not (out / "lab.jsonl").exists():
            # Killed before it had begun.
            subprocess.run(["rm", "-rf", out], check=True)
        done = len(ledger(out))
        assert done >= kept, "finished cells are lost"
        kept = done
        told = tompion("lab", "clean", "--dry-run", check=0).stdout
        cleaned = tompion("lab", "clean", check=0).stdout
        assert "would remove directory" in told and "cannot" not in cleaned, (told, cleaned)
        seen += told
        # What was killed takes a moment to be gone.
        until = time.monotonic() + 30
        while left(out) and time.monotonic() < until:
            time.sleep(0.1)
        assert left(out) == [], f"kill {kill}: {told}{cleaned}"
        assert "nothing is left" in tompion("lab", "clean", check=0).stdout
    arguments = ["--resume", out] if out.exists() else [plan, "--out", out]
    tompion("lab", "run", *arguments, "--quiet", cwd=ROOT, timeout=1500, check=0)
    assert is_whole(out, replicates, platforms, placements) and left(out) == []
    if LONG:
        # Or all were killed at moments that show nothing.
        assert "container tompion-lab-" in seen and "control group" in seen, seen
    if with_machines:
        assert {1, 2} <= set(had), had


# Runtimes that go wrong: what `run` does, and what the lab must say of it.
WRONG = {
    "silent": ("exit 0", "it ended without writing a result"),
    "foreign": ("echo hello", "no result of tompion"),
    "failing": ("echo 'something is wrong' >&2; exit 7", "something is wrong"),
    # The host measures for it, and half of that comes through.
    "truncated": (f"{TOMPION} __cell \"$JOB\" | head -c 3000", "truncated: "),
    "newer": (
        f"{TOMPION} __cell \"$JOB\" | python3 -c '"
        "import sys; b = bytearray(sys.stdin.buffer.read()); b[8] += 1; sys.stdout.buffer.write(b)'",
        "its result has layout 4, this program reads 3",
    ),
}


def test_a_platform_that_goes_wrong_is_one_line_and_the_rest_goes_on(tmp_path):
    job = """JOB=$(python3 -c "import json,sys; print(json.load(open(sys.argv[1]))['process']['args'][2])" \
        "$bundle/config.json")"""
    tables = ""
    for name, (run, _) in WRONG.items():
        runtime = tmp_path / name
        runtime.write_text(
            "#!/bin/bash\nwhile [ $# -gt 0 ]; do case $1 in\n--version) echo 'fake 1'; exit;;\n"
            f"delete|list) exit;;\n--bundle) bundle=$2;;\nesac; shift; done\n{job}\n{run}\n"
        )
        runtime.chmod(0o755)
        tables += f'[[platforms]]\nkind = "oci"\nruntime = "{runtime}"\n'
    tables += '[[platforms]]\nkind = "oci"\nruntime = "no-such-runtime"\n'
    plan = SMALL.replace("replicates = 5", "replicates = 1").replace("[[probes]]", tables + "[[probes]]")
    out = tmp_path / "run"
    # Whatever is not told, errors are.
    done = tompion("lab", "run", write(tmp_path, plan), "--out", out, "--quiet")
    assert done.returncode == 2, done.stderr
    failed = {entry["name"].split("/")[0]: entry.get("failed") for entry in ledger(out)}
    assert failed["host"] is None and failed["runc"] is None
    for name, (_, want) in WRONG.items():
        assert want in failed[name], failed
        assert f"{name}/idle/wake-up failed: {failed[name]}" in done.stderr
    absent = {p["level"]: p.get("absent") for p in record(out)["platforms"]}
    assert absent["no-such-runtime"] and not absent["runc"]
    assert len(record(out)["trials"]) == 2 and left(out) == []
    # It ended in order, and what it lacks is told wherever it is read.
    assert record(out)["status"] == "incomplete"
    told = tompion("report", out, "--format", "md", check=0).stdout
    assert "ended in order, without what failed: 2 of 7 planned trials were measured" in told
    assert "no result of tompion" in told and "was interrupted" not in told
    compared = tompion("compare", out, "--by", "platform", check=0).stdout
    assert "no result of tompion" in compared and "not ended in order" not in compared


def test_a_plan_is_checked_before_anything_starts(tmp_path):
    plan = write(tmp_path, SMALL)
    told = tompion("lab", "plan", plan, check=0).stdout
    assert "runc/idle/wake-up" in told and "Expected length" in told
    assert "warning: 5 replicates cannot" in told and "replicates = 6 can" in told
    parsed = json.loads(tompion("lab", "plan", plan, "--json", check=0).stdout)
    assert parsed["prospect"]["replicates_needed"] == 6 and len(parsed["cells"]) == 2
    wrong = write(tmp_path, SMALL.replace("methods", "method").replace('"runc"', "3"))
    for command in (["plan", wrong], ["run", wrong, "--out", tmp_path / "none"]):
        done = tompion("lab", *command, check=1)
        lines = done.stderr.splitlines()
        assert len(lines) == 3 and all(str(wrong) in line for line in lines), lines
        assert "did you mean `methods`?" in done.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif(not may_mount(), reason="may not mount")
@pytest.mark.parametrize(
    "to_enter",
    [
        ["unshare", "--time", "--fork", "--boottime", "100000"],
        ["unshare", "--pid", "--fork", "--mount-proc"],
        # Where nothing is known of processes at all.
        ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"],
    ],
    ids=["time", "PID", "mount"],
)
def test_a_lab_at_work_is_left_alone_by_whoever_is_in_another_namespace(tmp_path, to_enter):
    """There processes have other numbers, or began at other times, or are not to be seen."""
    plan = write(tmp_path, SMALL.replace('[[platforms]]\nkind = "oci"\nruntime = "runc"\n', "").replace("300ms", "2s"))
    with own_run(tmp_path) as place:
        def clean(inside):
            command = [*place.prefix, *(to_enter if inside else []), TOMPION, "lab", "clean", "--json"]
            return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)

        def begun(out, inside):
            command = [*place.prefix, *(to_enter if inside else [])]
            lab = subprocess.Popen([*command, TOMPION, "lab", "run", plan, "--out", out, "--quiet"])
            until = time.monotonic() + 60
            while not list(out.glob("scratch-*")):
                assert lab.poll() is None and time.monotonic() < until
                time.sleep(0.05)
            return lab

        # Without /proc no lab begins.
        for inside in [False] if "--mount" in to_enter else [False, True]:
            out = tmp_path / f"run-{inside}"
            lab = begun(out, inside)
            cleaned = clean(not inside)
            assert len(cleaned["at_work"]) == 1 and cleaned["found"] == [], cleaned
            assert lab.wait(timeout=120) == 0 and is_whole(out, platforms=("host",))
            assert clean(not inside) == {"at_work": [], "found": []}
        # What it does not leave alone is one that was killed.
        killed = begun(tmp_path / "killed", False)
        killed.kill()
        killed.wait()
        cleaned = clean("--mount" not in to_enter)
        assert cleaned["at_work"] == [] and len(cleaned["found"]) >= 2, cleaned
        assert not list((tmp_path / "killed").glob("scratch-*"))


def test_a_plan_without_end_or_with_other_letters_is_refused_in_one_line(tmp_path):
    """A stranger's plan may be a link, and its mistakes are shown."""
    endless = tmp_path / "endless.toml"
    endless.symlink_to("/dev/zero")
    done = tompion("lab", "plan", endless, check=1, timeout=20)
    assert done.stderr.count("\n") == 1 and "262144 bytes" in done.stderr, done.stderr
    plan = write(tmp_path, '"\\u001b[2J\\u202egpj" = 1\n' + SMALL)
    done = tompion("lab", "plan", plan, check=1)
    assert done.stderr.count("\n") == 1 and not set(done.stderr) & {"\x1b", "\u202e"}, done.stderr


def test_a_plan_that_is_looked_at_controls_no_terminal(tmp_path):
    hostile = "\\u001b]0;mine\\u0007\\u001b[2J\\u202e\\nx"
    plan = write(
        tmp_path,
        SMALL
        + f'[[platforms]]\nkind = "ssh"\nhost = "stranger"\nmachine = "{hostile}"\n'
        + '[[platforms]]\nkind = "oci"\nname = "other"\nruntime = "/\\u001b[2J/runc"\n',
    )
    done = tompion("lab", "plan", plan)
    assert "stranger" in done.stdout, done.stdout + done.stderr
    assert not set(done.stdout + done.stderr) & {"\x1b", "\x07", "\u202e"}, done.stdout
    assert not any(line.startswith("x") for line in done.stdout.splitlines()), done.stdout


PROBE_OF = '[[probes]]\nkind = "wake-up"\nmethods = ["usleep"]\ntargets = ["{}us"]\n'
HOST = '[[platforms]]\nkind = "host"\n'
PLATFORM_OF = HOST + 'name = "h{}"\n'


def many(number, form):
    return "".join(form.format(n) for n in range(1, number + 1))


def listed(key, number, form):
    return f"{key} = [" + ", ".join(form.format(n) for n in range(1, number + 1)) + "]\n"


@pytest.mark.parametrize(
    "plan, told, lines",
    [
        (many(20_000, "k{} = 1\n"), "and 19902 more mistakes", 101),
        (many(25_000, "[a{}]\n"), "and 24902 more mistakes", 101),
        # Each has a table within a table, within a table.
        (many(1_600, "[a{}" + 70 * ".a" + "]\n"), "and 1502 more mistakes", 101),
        (listed("loads", 25_000, '"idle"') + HOST + many(1, PROBE_OF), "loads: 25000 are too many; 1000 at most", 1),
        (HOST + many(1, PROBE_OF).split("targets")[0] + listed("targets", 20_000, '"{}us"'), "targets: 20000 are", 1),
        (HOST + many(3_000, PROBE_OF), "probes: 3000 are too many; 1000 at most", 1),
        (many(3_000, PLATFORM_OF) + many(1, PROBE_OF), "platforms: 3000 are too many; 1000 at most", 1),
        (listed("placements", 12_000, '{{name = "p{}"}}') + HOST + many(1, PROBE_OF), "placements: 12000 are", 1),
        ('time = "1h"\n' + listed("loads", 900, '"cpu:threads={}"') + many(900, PLATFORM_OF) + many(900, PROBE_OF),
         "come to 810000 trials in each replicate; 65536 at most", 1),
        ("replicates = 3001\n" + HOST + many(1, PROBE_OF), "3001 trials in one run, which is sure to hold 3000", 1),
        ("replicates = 1\n" + many(129, PLATFORM_OF) + many(1, PROBE_OF), "129 platforms in one run", 1),
        ("replicates = 1\n" + many(100, PLATFORM_OF) + many(26, PROBE_OF), "2600 cells; a run has at most 2560", 1),
        ("replicates = 1\n" + many(100, HOST + 'name = "' + 57 * "n" + '{}"\n') + many(25, PROBE_OF),
         "bytes of names and levels of the factors", 1),
    ],
    ids=["keys", "tables", "deep", "loads", "targets", "probes", "platforms", "placements", "product", "trials",
         "described", "cells", "names"],
)
def test_a_plan_of_more_than_a_lab_can_be_is_refused_soon(tmp_path, plan, told, lines):
    """In 5 s of CPU time and 256 MB."""
    command = ["prlimit", "--cpu=5", f"--data={256 << 20}", TOMPION, "lab", "plan", write(tmp_path, plan)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and told in done.stderr, (done.returncode, done.stderr[-500:])
    assert done.stderr.count("\n") == lines


def test_a_lab_that_no_run_holds_is_refused_before_anything_is_there(tmp_path):
    """Else it would end after hours, in a trial for which there is no room."""
    plan = write(tmp_path, SMALL.replace("replicates = 5", "replicates = 1501"))
    done = tompion("lab", "run", plan, "--out", tmp_path / "lab", check=1)
    assert "3002 trials in one run, which is sure to hold 3000; take fewer" in done.stderr
    assert done.stderr.count("\n") == 1 and not (tmp_path / "lab").exists(), done.stderr
    write(tmp_path, SMALL.replace("replicates = 5", "replicates = 1500"))
    tompion("lab", "plan", plan, check=0)


@pytest.mark.parametrize("command", [["check", "--all"], ["measure", "wake-up"]], ids="-".join)
def test_a_measurement_that_no_run_holds_is_refused_before_anything_is_there(tmp_path, command):
    done = tompion(*command, "--blocks", 5001, "--duration", "50h", "--out", tmp_path / "run", check=1)
    assert "trials in one run, which holds some 5000; name fewer blocks" in done.stderr
    assert done.stderr.count("\n") == 1 and not (tmp_path / "run").exists(), done.stderr


def test_looking_at_a_plan_starts_nothing(tmp_path):
    """A plan may come from a stranger: what it names is started by `--probe` and `run` alone."""
    traces = tmp_path / "started"
    script = tmp_path / "runtime"
    script.write_text(f"#!/bin/sh\necho $0 $* >>{traces}\necho runc version 1\n")
    script.chmod(0o755)
    config = tmp_path / "ssh_config"
    config.write_text(f'Match exec "echo config >>{traces}"\nHostName 127.0.0.1\nPort 9\n')
    plan = write(tmp_path, SMALL.replace('"runc"', f'"{script}"') + f"""
        [[platforms]]
        kind = "ssh"
        host = "stranger"
        config = "{config}"
        [[platforms]]
        kind = "firecracker"
        program = "{script}"
        [[platforms]]
        kind = "cloud-hypervisor"
        program = "no-such-hypervisor"
        [[platforms]]
        name = "away"
        kind = "firecracker"
        program = "/net/another.machine/firecracker"
    """)
    told = tompion("lab", "plan", plan, check=0).stdout
    assert "ssh:stranger" in told and "not asked" in told and "--probe" in told
    assert "absent: there is no program no-such-hypervisor" in told
    # A path is not even looked at: an automounter would ask that machine.
    assert re.search(r"away +.*not asked", told), told
    found = json.loads(tompion("lab", "plan", plan, "--json", check=0).stdout)["platforms"]
    by_level = {p["level"]: p["present"] for p in found}
    assert by_level["ssh:stranger"] is None and by_level["cloud-hypervisor"] is False
    assert not traces.exists()
    tompion("lab", "plan", plan, "--probe")
    started = traces.read_text()
    assert "config" in started and str(script) in started


def test_what_an_instance_cannot_run_is_refused_beforehand(tmp_path):
    plan = write(tmp_path, SMALL)
    done = tompion("lab", "plan", plan, "--probe", "--program", "/bin/sh", "--json", check=1)
    assert done.stderr.startswith("tompion: no platform of the plan is here (host: "), done.stderr
    runc = json.loads(done.stdout)["platforms"][1]
    assert not runc["present"] and "is not static" in runc["absent"]
    # Another program would be given arguments that mean nothing to it.
    done = tompion("lab", "run", plan, "--program", "/bin/ls", "--out", tmp_path / "none", check=1)
    assert "host: /bin/ls is no tompion: it is ls (" in done.stderr.replace("/usr/bin", "/bin")
    assert not (tmp_path / "none").exists()
    plan = write(tmp_path, SMALL.replace('"runc"', '"runc"\ncpuset = "0,99"'))
    done = tompion("lab", "plan", plan, "--probe", "--json", check=0)
    assert json.loads(done.stdout)["platforms"][1]["absent"].startswith("cpuset: CPU 99 ")
    plan = write(tmp_path, SMALL.replace('"runc"', '"runc"\ncpuset = "all"'))
    done = tompion("lab", "plan", plan, check=1)
    assert 'cpuset: a list of CPUs such as "0-1,3" is wanted' in done.stderr, done.stderr
    plan.write_bytes(b"\xff\xfe")
    assert f"{plan}: no text in UTF-8" in tompion("lab", "plan", plan, check=1).stderr
    done = tompion("lab", "run", "--resume", tmp_path, check=1)
    assert "is no lab" in done.stderr
    done = tompion("lab", "run", "--resume", plan, check=1)
    assert f"{plan} is no directory of a lab" in done.stderr
    done = tompion("lab", "plan", tmp_path, check=1)
    assert f"{tmp_path}: a directory, where a plan is a file" in done.stderr
    plan = write(tmp_path, SMALL.replace('"runc"', '"/bin/ls"'))
    done = tompion("lab", "plan", plan, "--probe", "--json", check=0)
    assert json.loads(done.stdout)["platforms"][1]["absent"].startswith("/bin/ls is no OCI runtime")


def test_a_damaged_lab_says_what_can_still_be_done(tmp_path):
    plan = SMALL.replace("replicates = 5", "replicates = 2")
    out = tmp_path / "run"
    tompion("lab", "run", write(tmp_path, plan), "--out", out, "--quiet", check=0)
    copies = {name: shutil.copytree(out, tmp_path / name) for name in ("line", "sample")}
    lines = (out / "lab.jsonl").read_text().splitlines(keepends=True)
    (copies["line"] / "lab.jsonl").write_text("".join([*lines[:2], "not JSON\n", *lines[3:]]))
    (copies["sample"] / "wake-up.parquet").unlink()
    done = tompion("lab", "run", "--resume", copies["line"], check=1)
    assert "lab.jsonl:3: not as the lab wrote it" in done.stderr, done.stderr
    assert done.stderr.endswith(f"can be shown: tompion report {copies['line']}\n")
    tompion("report", copies["line"], check=0)
    done = tompion("lab", "run", "--resume", copies["sample"], check=1)
    assert "wake-up.parquet: is not there" in done.stderr and "put the file back" in done.stderr
    assert (copies["sample"] / "histograms.parquet").exists()


def test_progress_is_a_line_with_the_time_left_and_gone_at_the_end(tmp_path):
    plan = write(tmp_path, SMALL.replace("replicates = 5", "replicates = 3"))
    plan.write_text(plan.read_text().replace('[[platforms]]\nkind = "oci"\nruntime = "runc"\n', ""))
    prospect = json.loads(tompion("lab", "plan", plan, "--json", check=0).stdout)["prospect"]
    command = [TOMPION, "lab", "run", plan, "--out", tmp_path / "run"]
    # So many rows that nothing of it scrolls away.
    with Terminal(command, columns=100, rows=300) as shown:
        line = r"(\d)/3 cells, (\d+) s left +host/idle/wake-up"
        shown.until(lambda text: re.search(line, text))
        assert shown.end() == 0
        lines = re.findall(line, shown.raw.decode())
        done = [int(cells) for cells, _ in lines]
        # By what the plan expects at first, then by what cells took.
        assert lines[0] == ("0", str(math.ceil(prospect["expected_s"]))), lines
        assert done == sorted(done) and {0, 1, 2} <= set(done), lines
        assert int(lines[-1][1]) < int(lines[0][1]), lines
        text = shown.text()
    text = "\n".join(filter(None, map(str.rstrip, text.splitlines())))
    assert "Report:" in text and not re.search(r"/3 cells|\d s left", text), text


def test_a_platform_that_has_gone_leaves_a_resumed_lab_incomplete(tmp_path):
    copy = tmp_path / "mine"
    shutil.copy2(shutil.which("runc") or "/usr/sbin/runc", copy)
    out = tmp_path / "run"
    plan = SMALL.replace('"runc"', f'"{copy}"').replace("replicates = 5", "replicates = 2")
    tompion("lab", "run", write(tmp_path, plan), "--out", out, "--quiet", check=0)
    before = {p["level"]: p for p in record(out)["platforms"]}
    # As if killed before the copy's last cell, and begun by another build.
    lines = (out / "lab.jsonl").read_text().splitlines(keepends=True)
    last = max(i for i, line in enumerate(lines) if '"name":"mine/' in line)
    lines[0] = re.sub(r'"program":"[^"]+"', '"program":"another"', lines[0])
    (out / "lab.jsonl").write_text("".join(lines[:last]))
    copy.unlink()
    done = tompion("lab", "run", "--resume", out, "--quiet", check=2)
    assert f"mine is absent now, with 1 of 2 cells measured: there is no program {copy}" in done.stderr
    after = record(out)
    assert after["status"] == "incomplete" and len(after["trials"]) == 3
    assert {p["level"]: p for p in after["platforms"]} == before, "it was there when it measured"
    assert any("another build" in note["text"] for note in after["notes"]), after["notes"]


@pytest.fixture(scope="module", autouse=True)
def clean_before():
    """What another run of these tests left must not count."""
    tompion("lab", "clean", check=0)
