"""One run, one directory: claimed at the start, whole at any end."""

import json
import os
import subprocess

import pytest

from conftest import TOMPION, tompion

SHORT = ("--loads", "idle", "--duration", "1s", "--methods", "rdtsc,usleep", "--blocks", "2")


def at_once(number, *arguments, cwd=None, env=None):
    """The results of several programs started together."""
    running = [
        subprocess.Popen(
            [TOMPION, *map(str, arguments)],
            cwd=cwd,
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(number)
    ]
    return [(p.communicate(timeout=60)[1], p.returncode) for p in running]


def ended_in_order(run):
    """Whether the run was not cut short, but for blocks that a busy machine has no time for."""
    record = json.loads((run / "run.json").read_text())
    return record["status"] in ("complete", "time-limit") and len(record["trials"]) > 0


def test_what_is_new_is_for_whom_the_users_mask_says(tmp_path):
    def modes(mask):
        place = tmp_path / mask
        place.mkdir()
        run = place / "run"
        script = f'umask {mask}; "$0" measure read-cost --duration 500ms --methods rdtsc --quiet --out {run} && '
        script += f'"$0" report {run} --quiet && "$0" report {run} --format md --out {place}/ticket.md'
        subprocess.run(["sh", "-c", script, TOMPION], check=True, timeout=120)
        written = [place / "ticket.md", run / "report.html", run / "run.json", *run.glob("*.parquet")]
        assert len(written) >= 4
        return {oct(file.stat().st_mode & 0o777) for file in written}

    assert modes("077") == {"0o600"}
    assert modes("022") == modes("000") == {"0o644"}


def test_of_checks_on_one_directory_one_goes_on(tmp_path):
    ended = at_once(4, "check", *SHORT, "--quiet", "--out", tmp_path / "r", cwd=tmp_path)
    assert sorted(status for _, status in ended) == [0, 1, 1, 1], ended
    for complaint, status in ended:
        if status == 1:
            assert len(complaint.splitlines()) == 1 and "choose another --out" in complaint
    assert ended_in_order(tmp_path / "r")
    tompion("report", tmp_path / "r", "--quiet", check=0)


def test_checks_that_begin_in_the_same_second_get_their_own_directories(tmp_path):
    ended = at_once(4, "check", *SHORT, "--quiet", env=os.environ | {"XDG_STATE_HOME": str(tmp_path)})
    assert [status for _, status in ended] == [0] * 4, ended
    runs = list((tmp_path / "tompion/runs").iterdir())
    assert len(runs) == 4
    for run in runs:
        assert ended_in_order(run)


def test_a_pipe_in_place_of_run_json_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "run.json")
    done = tompion("report", tmp_path, timeout=10, check=1)
    assert "run.json: reading failed: not a regular file" in done.stderr


def test_a_limit_on_file_sizes_is_an_error_that_leaves_a_report(tmp_path):
    done = subprocess.run(
        # 16 KiB: enough for run.json at the start, not for 100 000 single reads.
        ["bash", "-c", 'ulimit -f 16; exec "$0" "$@"', TOMPION, "check", *SHORT, "--out", "r"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.returncode
    assert len(done.stderr.splitlines()) == 1 and "File too large" in done.stderr
    assert not list(tmp_path.rglob(".tmp-*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk takes root")
def test_a_disk_that_fills_up_costs_the_trial_under_way_alone(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f"""
        mount -t tmpfs -o size=96m tmpfs {disk}
        {TOMPION} check --out {disk}/r --loads idle --duration 12s --blocks 6 >{tmp_path}/out 2>{tmp_path}/err &
        check=$!
        sleep 4
        dd if=/dev/zero of={disk}/fill bs=1M 2>/dev/null
        wait $check
        echo $? >{tmp_path}/status
        cp -r {disk}/r {tmp_path}/r
    """
    subprocess.run(["unshare", "--mount", "bash", "-c", script], check=True, timeout=60)
    assert (tmp_path / "status").read_text() == "1\n"
    complaint = (tmp_path / "err").read_text()
    assert complaint.count("No space left on device") == 1 and "External" not in complaint
    assert len(complaint.splitlines()) == 1, complaint
    record = json.loads((tmp_path / "r/run.json").read_text())
    assert record["status"] == "interrupted" and record["trials"]
    assert "No space left on device" in record["notes"][-1]["text"]
    # Both reports were made, out of space kept for them.
    assert "INTERRUPTED" in (tmp_path / "out").read_text()
    assert (tmp_path / "r/report.html").read_text().endswith("</html>")
    tompion("report", tmp_path / "r", "--quiet", check=0)


@pytest.mark.skipif(os.geteuid() != 0, reason="giving up rights takes having them")
def test_without_rights_a_policy_is_refused_and_slow_switching_noted(tmp_path):
    place = tmp_path / "theirs"
    place.mkdir()
    os.chown(place, 65534, 65534)
    for directory in [tmp_path, *tmp_path.parents]:
        if not directory.stat().st_mode & 1:
            directory.chmod(directory.stat().st_mode | 1)
    program = place / "tompion"
    program.write_bytes(TOMPION.read_bytes())
    program.chmod(0o755)

    def as_nobody(*arguments):
        drop = ("--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")
        return subprocess.run(
            ["setpriv", *drop, program, *arguments], cwd=place, capture_output=True, text=True
        )

    refused = as_nobody("check", *SHORT, "--policy", "fifo:10", "--out", "r")
    assert refused.returncode == 1 and refused.stderr.count("not permitted") == 1
    assert [p.name for p in place.iterdir()] == ["tompion"]
    done = as_nobody("check", *SHORT, "--verbose", "--out", "r")
    assert done.returncode == 0, done.stderr
    said = "controlling thread could not be made real-time"
    assert said in " ".join(done.stdout.split())
    result = as_nobody("report", "r", "--json")
    assert any(said in note for note in json.loads(result.stdout)["notes"])
