"""Whatever writes is killed at random moments: nothing is lost but what was under way, and what
is left is what the docs say; of half-written files nothing after the next start.

`check` and `report` on the planted machine, in virtual time; `watch`, `lab` and `advise` on the
real one. That the loads of a killed `check` end, and what guests and containers leave, is in
test_known_truth and test_lab."""

import json
import os
import random
import shutil
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from conftest import ROOT, TOMPION, planted, tompion
from own_run import may_mount, mounted
from test_advise_recovery import CHANGES, Machine
from test_run_directory import ended_in_order
from test_writers import PLAN, snapshot

LONG = "TOMPION_LONG" in os.environ
ISOLATED = pytest.mark.skipif(os.geteuid() != 0 or not may_mount(), reason="takes a /run of its own")

MEASURED = ("--loads", "idle", "--seed", 1)


class Case:
    """A command that is killed over and over, each time at `place`."""

    # How often in `make test`, and how long it takes at most from its start to its end.
    few, longest_s = 4, 60

    def __init__(self, tmp):
        self.tmp = tmp
        self.place = tmp / "place"
        self.prefix = []

    def start(self, *arguments, program=TOMPION):
        return subprocess.Popen(
            [*self.prefix, *map(str, (program, *arguments))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def done(self, process):
        """Its words, when it has ended well."""
        err = process.communicate(timeout=self.longest_s)[1]
        assert process.returncode == 0, err

    def prepare(self):
        """What is there before each start."""
        shutil.rmtree(self.place, ignore_errors=True)

    def after_the_end(self):
        """What must hold when nobody killed it."""

    def half_done(self):
        """Files under temporary names, anywhere."""
        return [str(p) for p in self.tmp.rglob(".tmp-*")]


class Run(Case):
    """A command that writes a run in `place`."""

    def saved(self):
        return {p.name for p in self.place.glob("samples/[0-9]*.parquet") if p.name.count(".") == 1}

    def after_a_kill(self, before):
        if not (self.place / "run.json").exists():
            # Killed before it had begun: nothing but that, and the next one may begin there.
            assert not before
            refused = tompion("report", self.place)
            assert refused.returncode == 1 and refused.stderr.count("\n") == 1
            assert self.half_done() == []
            self.after_nothing()
            return
        told = tompion("report", self.place, "--json", check=0)
        found = json.loads(told.stdout)
        trials = len(json.loads((self.place / "run.json").read_text())["trials"])
        kept = self.saved()
        # Of those that ended before the kill the files may be together by now.
        assert len(kept) >= len(before) if kept else trials >= len(before)
        assert [int(name[:5]) for name in sorted(kept)] == list(range(len(kept)))
        assert found["status"] in ("interrupted", "time-limit", "complete")
        assert self.half_done() == []
        known = {"run.json", "samples", "report.html", "lab.jsonl"}
        others = {p.name for p in self.place.iterdir()} - known
        assert all(name.endswith(".parquet") for name in others), others

    def after_nothing(self):
        self.done(self.begin())
        self.after_the_end()

    def after_the_end(self):
        assert ended_in_order(self.place)


class Check(Run):
    def begin(self):
        methods = ("--methods", "usleep,nanosleep,rdtsc", "--blocks", 6, "--duration", "3s")
        return self.start("check", *MEASURED, *methods, "--out", self.place, program=planted())


class Watch(Run):
    few = 3

    def begin(self):
        return self.start("watch", "--plain", "--for", "1s", "--loads", "idle", "--out", self.place)

    def after_nothing(self):
        pass

    def after_the_end(self):
        assert json.loads((self.place / "run.json").read_text())["status"] == "complete"


class Lab(Run):
    few = 2

    def __init__(self, tmp):
        super().__init__(tmp)
        (tmp / "run").mkdir()
        # Its journals, which other tests clear away.
        self.prefix = mounted(tmp, {"run": "/run"})
        self.plan = tmp / "plan.toml"
        self.plan.write_text(PLAN.replace("replicates = 1", "replicates = 3"))

    def begin(self, *arguments):
        return self.start("lab", "run", *(arguments or (self.plan, "--out", self.place)), "--quiet")

    def after_a_kill(self, before):
        self.done(self.start("lab", "clean"))
        assert not list(self.tmp.glob("run/tompion-lab/*"))
        assert not list(self.place.glob("scratch-*"))
        super().after_a_kill(before)
        if not (self.place / "lab.jsonl").exists():
            return
        lines = (self.place / "lab.jsonl").read_text().splitlines(keepends=True)
        finished = [line for line in lines[1:] if line.endswith("\n")]
        if not lines or not lines[0].endswith("\n"):
            return
        self.done(self.begin("--resume", self.place))
        assert (self.place / "lab.jsonl").read_text().splitlines(keepends=True)[1:][: len(finished)] == finished
        self.after_the_end()
        assert self.half_done() == []

    def after_nothing(self):
        shutil.rmtree(self.place, ignore_errors=True)

    def after_the_end(self):
        record = json.loads((self.place / "run.json").read_text())
        assert record["status"] == "complete" and len(record["trials"]) == 3


class Report(Case):
    """The page in a run; `how` says where else it is written."""

    how = ()

    def __init__(self, tmp):
        super().__init__(tmp)
        with tarfile.open(ROOT / "tests/golden/version-2.tar.gz") as packed:
            packed.extractall(tmp, filter="data")
        self.run = tmp / "version-2"
        self.run.chmod(0o755)
        self.place.mkdir()
        self.content = snapshot(self.run)
        self.whole = None

    def prepare(self):
        """Once in two, what an earlier one wrote is there."""

    def begin(self):
        return self.start("report", self.run, "--quiet", *self.how)

    def saved(self):
        return {}

    def written(self):
        beside = snapshot(self.run)
        return {name: beside[name] for name in beside if name not in self.content} | snapshot(self.place)

    def after_a_kill(self, before):
        for name, content in self.written().items():
            if not Path(name).name.startswith(".tmp-"):
                assert content == self.whole[name], f"{name} is half written"
        # The next start takes away what is there under another name.
        self.done(self.begin())
        self.after_the_end()
        shutil.rmtree(self.place)
        self.place.mkdir()
        (self.run / "report.html").unlink(missing_ok=True)

    def after_the_end(self):
        assert self.half_done() == []
        written = self.written()
        self.whole = self.whole or written
        assert written == self.whole and written
        now = snapshot(self.run)
        assert {name: now[name] for name in self.content} == self.content


class ReportElsewhere(Report):
    def __init__(self, tmp):
        super().__init__(tmp)
        self.how = ("--html", self.place / "page.html")


class Plots(Report):
    few = 3

    def __init__(self, tmp):
        super().__init__(tmp)
        self.how = ("--format", "svg", "--out", self.place)


class Advise(Case):
    """A setting is changed and put back; a file stands for it."""

    few = 3

    def __init__(self, tmp):
        super().__init__(tmp)
        self.machine = Machine(tmp)
        self.prefix = self.machine.prefix

    def begin(self):
        return self.start("advise", *CHANGES, "--duration", "600ms")

    def saved(self):
        return {}

    def after_a_kill(self, before):
        machine = self.machine
        if machine.says() == "":
            # Between being emptied and being written, as a file can be and a setting cannot.
            machine.value.write_text("planted\n")
        was_changed = machine.says() != "kvm-clock"
        assert machine.record.exists() or not was_changed, "changed without a record"
        assert machine.run("--restore").returncode == 0
        self.after_the_end()

    def after_the_end(self):
        assert self.machine.says() == "kvm-clock"
        left = {p.name for p in (self.tmp / "run/tompion").glob("*")}
        assert left <= {"advise.lock"}, left


CASES = [
    Check,
    Watch,
    pytest.param(Lab, marks=ISOLATED),
    Report,
    ReportElsewhere,
    Plots,
    pytest.param(Advise, marks=ISOLATED),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_killed_at_random_moments_it_leaves_nothing_half_done(case, tmp_path):
    tested = case(tmp_path)
    tested.prepare()
    began = time.monotonic()
    tested.done(tested.begin())
    length = time.monotonic() - began
    tested.after_the_end()
    seed = random.randrange(2**32)
    moments = random.Random(seed)
    wanted, killed = 100 if LONG else case.few, 0
    for number in range(3 * wanted):
        if killed == wanted:
            break
        tested.prepare()
        process = tested.begin()
        time.sleep(moments.uniform(0, length))
        before = tested.saved()
        process.kill()
        process.communicate()
        if process.returncode == -signal.SIGKILL:
            killed += 1
        else:
            # It had ended: on a machine less busy than before it is quicker.
            length *= 0.9
        try:
            tested.after_a_kill(before)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, kill {number}: {error}") from error
    print(f"{killed} killed within {length:.2f} s, seed {seed}")
    assert killed >= wanted // 2, "most had ended before"
