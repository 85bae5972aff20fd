"""Runs that come from strangers: planted links, pipes and texts harm nobody who looks at them."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path

import pytest
from conftest import ROOT, TOMPION, tompion
from run_generator import Trial, write_run

ESCAPES = "\x1b]0;mine\x07\x1b[2J"


@pytest.fixture
def run(tmp_path):
    """A run of the newest format version, as it was unpacked from a mail."""
    with tarfile.open(ROOT / "tests/golden/version-2.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    directory = tmp_path / "version-2"
    directory.chmod(0o755)
    return directory


def rewrite(directory, change):
    """Changes the record as somebody would who knows the format: with its checksum."""
    record = json.loads((directory / "run.json").read_text())
    del record["crc32"]
    change(record)
    text = json.dumps(record, indent=2)[:-2]
    seal = f',\n  "crc32": "{zlib.crc32(text.encode()):08x}"\n}}\n'
    (directory / "run.json").write_text(text + seal)


def rename(name):
    def change(record):
        record["environment"]["hostname"] = name

    return change


def test_a_page_goes_through_no_link_and_waits_for_no_pipe(run, tmp_path):
    keys = tmp_path / "authorized_keys"
    keys.write_text("mine\n")
    rewrite(run, rename("x\nssh-ed25519 AAAA stranger\n"))
    page = run / "report.html"
    for plant in (lambda: page.symlink_to(keys), lambda: page.symlink_to(tmp_path / "new"), lambda: os.mkfifo(page)):
        plant()
        kind = stat.S_IFMT(page.lstat().st_mode)
        done = tompion("report", run, check=0, timeout=20)
        assert "report.html: is there, and is no regular file" in done.stderr
        assert "--html FILE" in done.stderr and done.stderr.count("\n") == 1, done.stderr
        assert keys.read_text() == "mine\n" and not (tmp_path / "new").exists()
        assert stat.S_IFMT(page.lstat().st_mode) == kind
        page.unlink()
    # What the user names himself may be a link.
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "page.html")
    tompion("report", run, "--html", link, check=0)
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    tompion("report", run, check=0)
    assert page.read_text() == (tmp_path / "page.html").read_text()


def test_no_page_is_written_where_others_may_write(run):
    run.chmod(0o777)
    done = tompion("report", run, check=0)
    assert "others may write to it (mode 0777)" in done.stderr and "--html FILE" in done.stderr
    assert not (run / "report.html").exists()


@pytest.mark.parametrize("name", ["run.json", "wake-up.parquet"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_file_of_a_run_is_read_through_no_link_and_no_pipe(run, tmp_path, name, kind):
    file = run / name
    file.rename(tmp_path / name)
    if kind == "link":
        file.symlink_to(tmp_path / name)
    else:
        os.mkfifo(file)
    for command in (["report", run], ["compare", run, run.parent]):
        done = tompion(*command, check=1, timeout=20)
        assert done.stderr.count("\n") == 1 and name in done.stderr, done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root")
def test_a_directory_of_another_user_is_not_written_to(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    os.chown(out, 65534, 65534)
    quick = ["--loads", "idle", "--methods", "usleep", "--targets", "1ms", "--duration", "1s"]
    done = tompion("check", "--out", out, *quick, check=1)
    assert "belongs to another user, 65534; choose another --out" in done.stderr
    assert list(out.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root")
def test_a_link_of_another_user_leads_nowhere(run, tmp_path):
    """Who owns a directory could have root write into any other by a link in it."""
    target = tmp_path / "roots"
    target.mkdir()
    link = tmp_path / "out"
    link.symlink_to(target)
    os.lchown(link, 65534, 65534)
    for command in (["check", "--loads", "idle", "--methods", "usleep", "--targets", "1ms", "--duration", "1s"],
                    ["report", run, "--format", "run"], ["report", run, "--format", "svg"], ["man"]):
        done = tompion(*command, "--out", link, check=1)
        assert "it is a link of another user" in done.stderr and done.stderr.count("\n") == 1, done.stderr
        assert list(target.iterdir()) == []
        # Nor where it is but a part of the way.
        done = tompion(*command, "--out", link / "new", check=1)
        assert "it is a link of another user" in done.stderr and done.stderr.count("\n") == 1, done.stderr
        assert list(target.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root")
def test_a_file_is_written_through_no_link_of_another_user(run, tmp_path):
    """Neither where the link is the file's name nor where it is a part of the way; through one's own it is."""
    target = tmp_path / "roots"
    target.mkdir()
    (target / "file").write_text("precious")
    for name, leads_to in (("way", target), ("file", target / "file"), ("to-be", target / "new")):
        (tmp_path / name).symlink_to(leads_to)
        os.lchown(tmp_path / name, 65534, 65534)
    places = ["way/new", "way/file", "file", "to-be"]
    for place in places:
        for option in (["--format", "md", "--out"], ["--html"]):
            done = tompion("report", run, *option, tmp_path / place, check=1)
            assert "is a link of another user" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert (target / "file").read_text() == "precious" and len(list(target.iterdir())) == 1
    for name in ("way", "file", "to-be"):
        os.lchown(tmp_path / name, 0, 0)
    for place in places:
        tompion("report", run, "--format", "md", "--out", tmp_path / place, check=0)
    assert (target / "file").read_text() != "precious" and len(list(target.iterdir())) == 2


# Somebody else's process, which shows itself or not.
ELSEWHERE = """
import ctypes, os, sys, time
os.chdir(sys.argv[1])
os.open(sys.argv[1], os.O_RDONLY)
os.setuid(65534)
ctypes.CDLL(None).prctl(4, int(sys.argv[2]), 0, 0, 0)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root")
@pytest.mark.parametrize("is_shown", [0, 1])
def test_a_file_is_written_through_no_link_of_the_kernels_to_where_another_users_process_is(run, tmp_path, is_shown):
    target = tmp_path / "roots"
    target.mkdir()
    process = subprocess.Popen([sys.executable, "-c", ELSEWHERE, target, str(is_shown)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        for way in ("cwd", "fd/3", f"task/{process.pid}/cwd"):
            # A process that does not show itself is root's by the owner of its links.
            link = Path(f"/proc/{process.pid}/{way}")
            assert link.samefile(target) and (link.lstat().st_uid == 0) == (not is_shown)
            done = tompion("report", run, "--format", "md", "--out", link / "ticket.md", check=1)
            assert "is a link of another user" in done.stderr and done.stderr.count("\n") == 1, done.stderr
        assert list(target.iterdir()) == []
    finally:
        process.kill()
        process.wait()
    # One's own lead where they lead.
    tompion("report", run, "--format", "md", "--out", "/proc/self/cwd/ticket.md", cwd=target, check=0)
    assert (target / "ticket.md").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root")
def test_in_a_users_own_namespace_the_kernels_links_lead_where_they_lead(run):
    """Where the owner of /proc/self is nobody whom the namespace knows."""
    inside = ["setpriv", "--reuid", "12345", "--clear-groups", "unshare", "--user", "--map-root-user"]
    if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
        pytest.skip("no namespaces of a user's own")
    # Not where root alone may be.
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        shutil.copytree(run, place / "run")
        program = shutil.copy(TOMPION, place / "tompion")
        subprocess.run(["chown", "-R", "12345", place], check=True)
        for out in ("/proc/self/fd/1", "/proc/self/cwd/ticket.md", "/proc/thread-self/cwd/other.md"):
            with (place / "captured").open("w") as captured:
                done = subprocess.run([*inside, program, "report", "run", "--format", "md", "--out", out],
                                      cwd=place, stdout=captured, stderr=subprocess.PIPE, text=True, timeout=60)
            assert done.returncode == 0, (out, done.stderr)
            written = place / ("captured" if "fd" in out else Path(out).name)
            assert written.read_text().startswith("#"), out


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root")
def test_in_a_namespace_that_knows_no_user_every_link_may_be_anothers(run):
    inside = ["setpriv", "--reuid", "12345", "--clear-groups", "unshare", "--user"]
    if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
        pytest.skip("no namespaces of a user's own")
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        shutil.copytree(run, place / "run")
        program = shutil.copy(TOMPION, place / "tompion")
        (place / "target").mkdir()
        (place / "link").symlink_to("target")
        subprocess.run(["chown", "-R", "12345", place], check=True)
        os.lchown(place / "link", 3000, 3000)
        report = [program, "report", "run", "--format", "md", "--out"]
        done = subprocess.run([*inside, *report, "link/ticket.md"], cwd=place, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "link is a link of another user" in done.stderr, done.stderr
        subprocess.run([*inside, *report, "target/ticket.md"], cwd=place, check=True, capture_output=True, timeout=60)


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root")
def test_neither_loads_nor_the_truth_of_a_path_go_through_a_link_of_another_user(tmp_path):
    target = tmp_path / "roots"
    target.mkdir()
    (target / "file").write_text("precious")
    for name, leads_to in (("way", target), ("file", target / "file")):
        (tmp_path / name).symlink_to(leads_to)
        os.lchown(tmp_path / name, 65534, 65534)
    short = ["check", "--quick", "--duration", "4s", "--out", tmp_path / "out"]
    for command in (["load", "io", "--for", "1s", "--dir", tmp_path / "way"],
                    [*short, "--load-dir", tmp_path / "way"],
                    ["peer", "--listen", "127.0.0.1:0", "--dir", tmp_path / "way"],
                    ["testbed", "--rtt", "1ms", "--truth", tmp_path / "file", "--", "true"],
                    ["testbed", "--rtt", "1ms", "--truth", tmp_path / "way" / "new", "--", "true"]):
        done = tompion(*command, check=1)
        assert "is a link of another user" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert (target / "file").read_text() == "precious" and len(list(target.iterdir())) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root")
def test_a_page_is_not_written_where_a_link_of_another_user_leads(run, tmp_path):
    """His link to a run of one's own: the run is read, and nothing in it is replaced or removed."""
    mine, link = tmp_path / "mine", tmp_path / "link"
    shutil.copytree(run, mine)
    (mine / "report.html").write_text("precious")
    (mine / ".tmp-1-1").write_text("")
    link.symlink_to(mine)
    os.lchown(link, 65534, 65534)
    done = tompion("report", link, "--quiet", check=0)
    assert f"a link of another user, {link}, leads there" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert (mine / "report.html").read_text() == "precious" and (mine / ".tmp-1-1").exists()
    os.lchown(link, 0, 0)
    done = tompion("report", link, "--quiet", check=0)
    assert done.stderr == "" and (mine / "report.html").read_text() != "precious"


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root")
def test_plots_in_a_directory_of_another_user_go_through_no_link(run, tmp_path):
    """Whoever may write there may have put links in their place."""
    mine, others, target = tmp_path / "mine", tmp_path / "others", tmp_path / "roots"
    tompion("report", run, "--format", "svg", "--out", mine, check=0)
    others.mkdir()
    os.chown(others, 65534, 65534)
    for plot in mine.iterdir():
        (others / plot.name).symlink_to(target)
    done = tompion("report", run, "--format", "svg", "--out", others, check=1)
    assert done.stderr.count("\n") == 1 and not target.exists(), done.stderr
    assert all(plot.is_symlink() for plot in others.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root")
def test_reading_a_run_removes_nothing_of_others(run, tmp_path):
    """Where others may write, a run lies that is somebody's, beside what looks like its leftovers and is another one's."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shutil.copytree(run, shared, dirs_exist_ok=True)
    others = [shared / "samples/2024-thesis.csv", shared / "samples/notes", shared / ".tmp-others"]
    (shared / "samples").mkdir(exist_ok=True)
    for file in others:
        file.write_text("x")
        os.chown(file, 65534, 65534)
    os.chown(shared / "samples", 65534, 65534)

    def left():
        return [file.name for file in others if file.exists()]

    for mode in (0o1777, 0o755):
        shared.chmod(mode)
        tompion("report", shared, "--json", check=0)
        assert left() == [file.name for file in others], oct(mode)
    # Of a run that is none, too.
    (shared / "run.json").write_text("x")
    tompion("report", shared, "--json", check=1)
    assert left() == [file.name for file in others]


def test_a_link_in_place_of_the_samples_loses_nothing(run, tmp_path):
    others = tmp_path / "others"
    others.mkdir()
    (others / ".tmp-x").write_text("x")
    (others / "00000.parquet").write_text("x")
    (run / "samples").symlink_to(others)
    tompion("report", run, "--json", check=0)
    assert sorted(p.name for p in others.iterdir()) == [".tmp-x", "00000.parquet"]


def test_nothing_that_is_shown_controls_a_terminal(run):
    def change(record):
        rename(f"host{ESCAPES}\n")(record)
        record["command_line"] = ["tompion", f"check{ESCAPES}", "a\nb"]
        record["notes"].append({"kind": "machine", "text": f"note{ESCAPES}\u202egnp.exe"})
        record["notes"].append({"kind": "machine", "text": "pay\u200bpal\ufeff, \u2066x\u2069, @team, www.x.example, http://x.example"})

    rewrite(run, change)
    shown = [
        tompion("report", run, *words, check=0).stdout
        for words in (["--html", "-"], ["--json"], ["--format", "md"], ["--format", "csv"], [])
    ]
    other = shutil.copytree(run, run.parent / "other")
    rewrite(other, lambda record: record.pop("run_id"))
    shown.append(tompion("compare", run, other, "--json", check=0).stdout)
    for text in shown:
        assert not set(text) & {"\x1b", "\x07", "\u202e", "\x9b", "\u200b", "\ufeff", "\u2066", "\u2069"}
        assert "\\u001b" not in text and "\\u202e" not in text and "\\u200b" not in text
    assert any("note ]0;mine  [2J gnp.exe" in text for text in shown)
    assert any("pay pal ,  x , @team, www.x.example, http://x.example" in text for text in shown)
    # A ticket in which a stranger's run is told mentions nobody and links nowhere.
    ticket = shown[2]
    assert "pay pal ,  x , @ team, www. x.example, http: //x.example" in ticket, ticket
    # An error, too.
    done = tompion("report", run.parent / f"none{ESCAPES}", check=1)
    assert "\x1b" not in done.stderr and done.stderr.count("\n") == 1


def test_the_name_of_a_run_controls_no_terminal(run):
    """Who sends an archive gives its directory a name, too."""
    named = run.rename(run.parent / f"run{ESCAPES}\n\u202eq")
    plots = run.parent / f"plots{ESCAPES}"
    for words in ([named], [named, "--format", "svg", "--out", plots], [named, "--format", "run", "--out", f"{named}-2"]):
        shown = tompion("report", *words, check=0).stdout
        assert "]0;mine" in shown, shown
        assert not set(shown) & {"\x1b", "\x07", "\u202e"}, shown


def test_what_nobody_measures_is_compared_and_shown(run, tmp_path):
    """Shares of nothing are no figures, and the end of time is a time."""

    def change(record):
        del record["run_id"]
        for trial in record["trials"]:
            for summary in trial["summary"].values():
                if isinstance(summary, dict):
                    summary["samples"] = 0
            trial["summary"]["missed_periods"] = 0
        record["trials"][-1]["block"] = 2**32 - 1

    other = shutil.copytree(run, run.parent / "other")
    rewrite(other, change)
    for sides in ((run, other), (other, run)):
        assert json.loads(tompion("compare", *sides, "--json", check=0).stdout)
    for form in (["--html", "-"], ["--json"], ["--screen"]):
        assert tompion("report", other, *form, check=0).stdout
    ends = [0, 0, 2**63 - 1, 2**63 - 1]
    keys = {"probe": "timer-events", "method": "timerfd", "period": "1 ms", "load": "idle"}
    events = [Trial(keys | {"form": form}, at_ns=ends, value_ps=[0] * 4, period_ns=10**6) for form in ("grid", "rearmed")]
    far = write_run(tmp_path / "far", events)
    for form in (["--html", "-"], ["--json"]):
        assert tompion("report", far, *form, check=0).stdout


def flip(directory, name, at, bit):
    """Flips a bit of a file, and makes its checksum in the record right again."""
    file = directory / name
    content = bytearray(file.read_bytes())
    content[at] ^= 1 << bit
    file.write_bytes(content)

    def change(record):
        [listed] = [f for f in record["files"] if f["file"] == name]
        listed["crc32"] = f"{zlib.crc32(content):08x}"

    rewrite(directory, change)


@pytest.mark.parametrize("name", ["wake-up.parquet", "stalls.parts.parquet"])
def test_a_flipped_bit_in_a_footer_is_refused_in_one_line_or_changes_nothing(run, name):
    whole = tompion("report", run, "--json", check=0).stdout
    content = (run / name).read_bytes()
    record = (run / "run.json").read_bytes()
    footer = int.from_bytes(content[-8:-4], "little")
    refused = 0
    places = range(len(content) - 8 - footer, len(content) - 4, max(1, footer // 60))
    bits = [(at, number % 8) for number, at in enumerate(places)]
    if name == "wake-up.parquet":
        # On this one the Parquet library panics.
        bits.append((2097, 7))
    for at, bit in bits:
        flip(run, name, at, bit)
        done = tompion("report", run, "--json", timeout=20)
        if done.returncode == 0:
            assert done.stdout == whole, f"bit {bit} of byte {at}"
        else:
            refused += 1
            assert done.returncode == 1 and done.stdout == "", done.returncode
            assert done.stderr.count("\n") == 1 and "panicked" not in done.stderr, done.stderr
        (run / name).write_bytes(content)
        (run / "run.json").write_bytes(record)
    assert refused >= 10, refused
