"""`tompion lab` on another machine (far.py) that it loses, and what is left there."""

import os
import signal

from conftest import tompion
from far import LONG_WAIT, far, journals_of, lab, plan, running_lab, wait_for
from test_lab import ledger, record


def test_a_session_that_dies_fails_one_cell_and_the_rest_goes_on(far, tmp_path):
    out = tmp_path / "run"
    file = plan(tmp_path, far.table(), replicates=2, time="4s")
    with running_lab(file, out) as process:
        # The shell that starts it has its name, too, and may be of a session that has ended: both at one look.
        sessions = []

        def is_measured():
            sessions[:] = far.sessions()
            return far.cells() and sessions

        wait_for(is_measured, process, "no cell ran there")
        for pid in sessions:
            os.kill(pid, signal.SIGKILL)
        _, told = process.communicate(timeout=LONG_WAIT)
    assert process.returncode == 2, told
    failed = [e for e in ledger(out) if e.get("failed")]
    assert len(failed) == 1 and len(ledger(out)) == 4, ledger(out)
    assert failed[0]["failed"].startswith("the connection to far was lost ("), failed
    assert f"ssh:far/idle/wake-up failed: {failed[0]['failed']}" in told
    assert len(record(out)["trials"]) == 3 and record(out)["status"] == "incomplete"
    assert far.left() == [] and journals_of(out) == []
    # What failed is measured again.
    assert lab("run", "--resume", out, "--quiet").returncode == 0
    assert len(record(out)["trials"]) == 4 and record(out)["status"] == "complete"
    assert far.left() == []


def test_a_link_that_is_cut_is_noticed_and_cleaned_up_behind_once_it_is_back(far, tmp_path):
    out = tmp_path / "run"
    file = plan(tmp_path, far.table(), replicates=3, time="5s")
    with running_lab(file, out) as process:
        wait_for(far.measuring, process, "no cell ran there")
        try:
            far.link("down")
            wait_for(far.cells, process, "the cell ended before its link was cut")
            wait_for(lambda: any(e.get("failed") for e in ledger(out)), process, "no cell failed")
            assert far.left() != []
        finally:
            far.link("up")
        _, told = process.communicate(timeout=LONG_WAIT)
    assert process.returncode == 2, told
    here = [e.get("failed") for e in ledger(out) if e["name"].startswith("host")]
    there = [e.get("failed") for e in ledger(out) if e["name"].startswith("ssh")]
    assert here == [None] * 3 and len(there) == 3, ledger(out)
    # The first; the next one too where it began before the link was back.
    assert there[0] is not None and there[2] is None, there
    assert "the connection to far was lost (Timeout" in there[0], there
    assert far.left() == [] and journals_of(out) == []


def test_what_a_killed_lab_left_there_is_found_and_removed(far, tmp_path):
    out = tmp_path / "run"
    file = plan(tmp_path, far.table(), time="20s")
    with running_lab(file, out) as process:
        # A cell of the test before may be about to end.
        wait_for(lambda: far.left() and far.cells(), process, "no cell ran there")
        process.kill()
        process.communicate(timeout=LONG_WAIT)
    # The cell ends with the connection, long before its time is up.
    wait_for(lambda: not far.running(b"tompion"), None, "the cell runs on")
    assert [path.name.startswith("tompion-lab-") for path in far.left()] == [True]
    told = tompion("lab", "clean", "--dry-run", check=0).stdout
    assert f"would remove directory {far.left()[0]} on far" in told
    tompion("lab", "clean", check=0)
    assert far.left() == [] and journals_of(out) == []
