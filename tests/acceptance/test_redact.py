"""`--redact`: secrets planted wherever a run has texts survive in no format, and a run without
any loses no figure."""

import csv
import io
import json
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT, tompion
from run_generator import PARTS_COLUMNS, Trial, write_run
from runs import record_of, write_record

FORMATS = ["html", "md", "csv", "json", "svg", "run", "terminal"]


def golden(tmp_path, name="version-2"):
    with tarfile.open(ROOT / f"tests/golden/{name}.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    (tmp_path / name).chmod(0o755)
    return json.loads((tmp_path / name / "run.json").read_text())


def deep(record, path, value):
    """Puts a value to a path of keys; `+` appends to a list."""
    at = record
    for key in path[:-1]:
        at = at[key]
    if path[-1] == "+":
        at.append(value)
    else:
        at[path[-1]] = value


ENVIRONMENT = ("environment",)
FIRST = ("platforms", 0, "environment")
# Kind of secret: where it is planted, the text, and what of it must not be seen.
RECORD = {
    "host name": ((*ENVIRONMENT, "hostname"), "zqatlas.zqcorp.example", "zqatlas"),
    "host name elsewhere": ((*ENVIRONMENT, "kernel", "version"), "#1 SMP zqatlas", "zqatlas"),
    "path of the command": (("command_line", "+"), "--out=/home/zqmira/run", "zqmira"),
    "argument of the command": (("command_line", "+"), "zqargument", "zqargument"),
    "user elsewhere": ((*ENVIRONMENT, "kernel", "release"), "6.1.0-zqmira", "zqmira"),
    "machine id": ((*ENVIRONMENT, "machine", "id"), "5c0acb7d3bba44d19ba5e8849a384200", "849a384200"),
    "host name of a platform": ((*FIRST, "hostname"), "zqguest7", "zqguest7"),
    "machine id of a platform": ((*FIRST, "machine", "id"), "77aacb7d3bba44d1e8849a3842ffee00", "3842ffee"),
    "name of a platform": (("platforms", 0, "level"), "ssh:root@zqdb1.corp", "zqdb1"),
    "kind of a platform": (("platforms", 0, "kind"), "zqkind", "zqkind"),
    "setting of a platform": (("platforms", 0, "settings", "+"), "config /root/zqssh", "zqssh"),
    "machine of a platform": (("platforms", 0, "settings", "+"), "machine zqrack", "zqrack"),
    "version with a path": (("platforms", 0, "versions", "+"), "runc in /opt/zqtools", "zqtools"),
    "why a platform is absent": (("platforms", 0, "absent"), "no route to zqrouter", "zqrouter"),
    "peer in a note": (("notes", "+"), {"kind": "machine", "text": "peer 10.31.2.3:9"}, "10.31.2.3"),
    "IPv6 in a note": (("notes", "+"), {"kind": "interrupted", "text": "at 2001:db8::77aa"}, "77aa"),
    "words in a note": (("notes", "+"), {"kind": "remark", "text": "for zqcustomer"}, "zqcustomer"),
    "kind of a note": (("notes", "+"), {"kind": "zqkindofnote", "text": "x"}, "zqkindofnote"),
    "ip= of the kernel": ((*ENVIRONMENT, "kernel", "timing_options", "+"), "ip=10.32.0.5::10.32.0.1", "10.32.0"),
    "BOOTIF of the kernel": ((*ENVIRONMENT, "kernel", "timing_options", "+"), "BOOTIF=01-52-54-00-aa-bb-c1", "aa-bb-c1"),
    "root of the kernel": ((*ENVIRONMENT, "kernel", "timing_options", "+"), "root=UUID=0f3a1f2e-1111-4222-8333-abcdef0f3aff", "0f3aff"),
    "link-local address": ((*ENVIRONMENT, "virtualization", "evidence", "+"), "from fe80::5054:ff%eth0", "5054:ff"),
    "range of addresses": ((*ENVIRONMENT, "virtualization", "evidence", "+"), "in 10.33.1.1-10.33.1.9", "10.33.1"),
    "address in quotes": (("guards", "+"), "From \u201c10.37.1.2\u201d, 10.37.1.3#x and \\\\10.37.1.4\\x.", "10.37"),
    "card behind its name": (("guards", "+"), "On eth0/52:54:00:aa:bb:c3.", "bb:c3"),
    "network": (("guards", "+"), "Traffic to 10.34.0.0/16 is held back.", "10.34"),
    "network card": ((*ENVIRONMENT, "virtualization", "features", "+"), "52:54:00:aa:bb:c2", "bb:c2"),
    "UUID": ((*ENVIRONMENT, "virtualization", "evidence", "+"), "system 4c4c4544-0043-5910-8052-b4c04f5a32ff", "5a32ff"),
    "path in braces": (("guards", "+"), "Kept apart in {/srv/zqcustomers/7}.", "zqcustomers"),
    "path from home": (("guards", "+"), "By ~zqann/bin/x and ~/zqbob.", "zqbob"),
    "path of a home": (("guards", "+"), "By ~zqann/bin/x.", "zqann"),
    "mail": ((*ENVIRONMENT, "machine", "system_product"), "built by zqsue@example.org", "zqsue"),
    "id of a container": ((*ENVIRONMENT, "container", "evidence", "+"), "docker-4f1c2ab3de5f67ff", "5f67ff"),
    "pod": ((*ENVIRONMENT, "container", "evidence", "+"), "pod zqpayroll", "zqpayroll"),
    "path of a driver": (("trials", 0, "load", "driver"), "/opt/zqdriver/bin 1.0", "zqdriver"),
    "remark on a load": (("trials", 0, "load", "notes"), ["zqloadnote"], "zqloadnote"),
    "why evidence is missing": (("trials", 0, "observation"), {
        "evidence": [{"name": "x", "missing": "/home/zqtom: denied"}], "steal_is_accounted": False,
        "own_cpu_share": 0.0, "marked": []}, "zqtom"),
    "finding of another version": (("trials", 0, "findings", "zqprobe"), {"zqkey": "zqvalue"}, "zqvalue"),
    "another program": (("trials", 0, "cpu_use"), {
        "watched_ns": 100, "cpus": 1, "programs_ns": 50, "most": [{"name": "zqother", "cpu_time_ns": 50}]}, "zqother"),
    "another program before": (("cpu_use_before",), {
        "watched_ns": 100, "cpus": 1, "programs_ns": 50, "most": [{"name": "zqbefore", "cpu_time_ns": 50}]}, "zqbefore"),
    "process in a finding": (("trials", 0, "findings", "stalls", "causes", 0, "by"), "zqproc[77]", "zqproc"),
    "peer of a load in the list": (("trials", 0, "load", "load"), "network:peer=zqpeer:9000", "zqpeer"),
    "start of the run": (("started_at",), "2026-11-24T10:12:33Z zqstart", "zqstart"),
    "end of the run": (("finished_at",), "zqfinish", "zqfinish"),
    "start of a trial": (("trials", 0, "started_at"), "10.38.1.2", "10.38.1"),
    "id of the run": (("run_id",), "4c4c4544-0043-1910-8052-b4c04f5a33ff", "5a33ff"),
    "name of a vulnerability": ((*ENVIRONMENT, "mitigations", "zqvulnerability"), "Not affected", "zqvulnerability"),
    "word of a maker": ((*ENVIRONMENT, "machine", "system_vendor"), "Zqmaker Limited", "zqmaker"),
    "word in a technique": (("trials", 0, "measurement", "technique"), "as zqtechnique says", "zqtechnique"),
    "address in hexadecimal": (("guards", "+"), "From 0x0a630203.", "0x0a630203"),
    "address as one number": (("guards", "+"), "From 174261763.", "174261763"),
    "address in wide digits": (("guards", "+"), "From １０.９９.２.３.", "９"),
    "address in hexadecimal parts": (("guards", "+"), "From 0x0a.0x63.0x02.0x07.", "0x63"),
    "address without its dots": (("guards", "+"), "From 10 199 2 33.", "199 2 33"),
    "network card without colons": (("guards", "+"), "On 52 54 00 aa bb c4.", "bb c4"),
    "network card with dashes": ((*ENVIRONMENT, "machine", "system_product"), "Board 52-54-00-aa-bb-c5", "bb-c5"),
    "network by its first numbers": (("guards", "+"), "Interface 10.99.2/3 is up.", "10.99.2"),
    "network with a star": (("guards", "+"), "Traffic of 10.98.77.* is held back.", ".98.77"),
    "IPv6 with all its groups": (("guards", "+"), "Traffic of 64:ff9b:0:0:0:0:77ac:203 is held back.", "77ac"),
    "prefix of IPv6": (("guards", "+"), "Traffic of 2001:db8:77ab/48 is held back.", "77ab"),
    "address as in a URL": (("guards", "+"), "From 10%2E97%2E2%2E3.", "%2e97"),
    "address read out": (("guards", "+"), "From 10 dot 96 dot 2 dot 3.", "96 dot"),
    "address that goes up": (("guards", "+"), "From 10[.]21[.]31[.]41.", "[.]21"),
    "address in pairs of digits": (("guards", "+"), "From 0a.5f.02.03.", "0a.5f"),
    "address by its digits": (("guards", "+"), "From 3.0.0.0.2.a.0.0.8.b.d.0.ip6.arpa.", "2.a.0.0.8"),
    "number of a disk": ((*ENVIRONMENT, "virtualization", "features", "+"), "disk S3Z9NB0K123456", "s3z9nb0k"),
    "token": ((*ENVIRONMENT, "kernel", "timing_options", "+"), "tsc=ghp_16C7e42F292c6912E7", "16c7e42"),
    "network card's interrupt": (("trials", 0, "findings", "stalls", "causes", 1, "by"), "irq/7-zqenx5254", "zqenx"),
}
# Levels of factors, the names of factors, and side tables: planted in tables as well.
LEVELS = {
    "peer by name": {"load": "network:peer=zqpeer2.corp:9000,streams=2"},
    "peer by address": {"load": "udp:peer=10.35.2.3:9000"},
    "peer by number": {"load": "udp:peer=3232235777"},
    "server of files": {"load": "nfs:server=zqnas"},
    "directory of a load": {"load": "io:dir=/zqscratch/x"},
    "load of one's own": {"load": "ZqLoad"},
    "name of a guest": {"platform": "zqbuildbox (emulated)"},
    "placement": {"placement": "beside zqtenant"},
    "factor of one's own": {"zqfactor": "zqlevel"},
    "method of one's own": {"method": "zqmethod"},
    "target of one's own": {"target": "zqtarget"},
    "target that is a number": {"target": "174261763ns"},
    "slack of one's own": {"timer-slack": "zqslack"},
    "policy of one's own": {"policy": "zqpolicy"},
    "form of one's own": {"form": "zqform"},
    "CPU of one's own": {"cpu": "174261764"},
    "observation of one's own": {"observe": "zqobserve"},
    "guest of one's own": {"guest": "zqguest"},
    "probe of one's own": {"probe": "zqprobe"},
    "option of a load": {"load": "cpu:zqoption=1"},
    "number of a load": {"load": "udp:rate=174261765"},
}


def secrets_seen(run, tmp_path, seen):
    """Which of the texts each format shows."""
    found = {}
    for name in FORMATS:
        out = tmp_path / f"out-{name}"
        if name == "terminal":
            shown = tompion("report", run, "--redact", "--html", tmp_path / "page.html", check=0).stdout
        elif name in ("svg", "run"):
            tompion("report", run, "--redact", "--format", name, "--out", out, check=0)
            shown = "".join(content(path) for path in sorted(out.rglob("*")) if path.is_file())
        else:
            shown = tompion("report", run, "--redact", "--format", name, check=0).stdout
        assert len(shown) > 100, name
        found[name] = [text for text in seen if text.lower() in shown.lower()]
    return {name: texts for name, texts in found.items() if texts}


def content(path):
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        return f"{path.name} {file.schema_arrow} {file.read().to_pylist()} {file.metadata.metadata}"
    return f"{path.name} {path.read_text()}"


def seal(directory, record):
    import zlib
    del record["crc32"]
    text = json.dumps(record, indent=2)[:-2]
    (directory / "run.json").write_text(text + f',\n  "crc32": "{zlib.crc32(text.encode()):08x}"\n}}\n')


def test_secrets_planted_in_the_record_survive_in_no_format(tmp_path):
    record = golden(tmp_path)
    for path, text, _ in RECORD.values():
        deep(record, path, text)
    seal(tmp_path / "version-2", record)
    plain = tompion("report", tmp_path / "version-2", "--format", "html", check=0).stdout
    shown = [kind for kind, (_, _, seen) in RECORD.items() if seen.lower() in plain.lower()]
    assert len(shown) > 15, shown
    assert not secrets_seen(tmp_path / "version-2", tmp_path, [s[2] for s in RECORD.values()])


def test_secrets_planted_in_levels_and_tables_survive_in_no_format(tmp_path):
    assert len(RECORD) + len(LEVELS) + 3 > 40
    values = np.arange(1, 2001) * 1000
    parts = pa.table({"at_ns": [5, 9], "ns": [3, 4], "cause": ["preempted", "preempted"],
                      "by": ["zqpayroll[7]", "kworker/0:1[9]"], "source": ["event", "event"],
                      "because": ["seen at zqhost.corp/x on 10.36.1.2", None]},
                     schema=pa.schema(list(PARTS_COLUMNS.items())))
    cause = {"cause": "preempted", "by": "zqpayroll[7]", "ns": 7, "parts": 2, "longest_ns": 4}
    stalls = {"threshold_ns": 1, "iterations": 9, "loop_period_ns": 1.0, "wall_ns": 99,
              "observed_ns": 99, "own_ns": 0, "stalls": 2, "lost_ns": 7, "rows_lost": 0,
              "causes": [cause]}
    parts = parts.append_column("zqextra", pa.array([174261766, 1]))
    flows = pa.table({"flow": ["zqflow"], "zqn": [174261767]})
    trials = [Trial({"probe": "stalls", "method": "busy-loop", "load": "idle"}, at_ns=values,
                    value_ps=values, side_tables={"parts": parts, "zqtable": flows},
                    findings={"stalls": stalls})]
    trials += [Trial({"probe": "wake-up", "method": "usleep", "target": "100us"} | level,
                     at_ns=values, value_ps=values) for level in LEVELS.values()]
    run = write_run(tmp_path / "run", trials)
    seen = ["zqpeer2", "10.35.2", "3232235777", "zqnas", "zqscratch", "zqload", "zqbuildbox",
            "zqtenant", "zqfactor", "zqlevel", "zqpayroll", "10.36", "zqflow", "zqtable", "zqn",
            "zqextra", "zqmethod", "zqtarget", "zqslack", "zqpolicy", "zqform", "zqobserve",
            "zqguest", "zqprobe", "zqoption", *[str(174261763 + n) for n in range(5)]]
    assert not secrets_seen(run, tmp_path, seen)
    # What every kernel has stays, and loads of different peers stay two.
    redacted = tompion("report", run, "--redact", "--format", "json", check=0).stdout
    assert "kworker/0:1" in redacted or "kworker/0:1" in content(tmp_path / "out-run/stalls.parts.parquet")
    plain = json.loads(tompion("report", run, "--format", "json", check=0).stdout)
    assert len(json.loads(redacted)["cells"]) == len(plain["cells"])


def numbers(value):
    """All numbers of a JSON value, in its order."""
    if isinstance(value, dict):
        return [n for key in sorted(value) for n in numbers(value[key])]
    if isinstance(value, list):
        return [n for item in value for n in numbers(item)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def texts_of(value, path=()):
    """All texts of a JSON value by their paths."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from texts_of(item, (*path, key))
    elif isinstance(value, str):
        yield path, value


@pytest.mark.parametrize("name", ["version-1", "version-2"])
def test_a_run_without_secrets_loses_no_figure(tmp_path, name):
    golden(tmp_path, name)
    run, copy = tmp_path / name, tmp_path / "copy"
    tompion("report", run, "--redact", "--format", "run", "--out", copy, check=0)
    reports = [json.loads(tompion("report", run, "--json", *more, check=0).stdout)
               for run, more in [(run, []), (run, ["--redact"]), (copy, []), (copy, ["--redact"])]]
    # Of its words nothing is lost, either, but what says who, where and by what command.
    tompion("report", run, "--format", "run", "--out", tmp_path / "plain", check=0)
    told = [json.loads((d / "run.json").read_text()) for d in (tmp_path / "plain", copy)]
    before, after = ({path: text for path, text in texts_of(record)} for record in told)
    lost = {path: (text, after.get(path)) for path, text in before.items() if after.get(path) != text}
    kept_back = {"hostname", "command_line", "container", "id", "by", "notes", "missing", "run_id", "crc32",
                 "files", "tables"}
    assert not {path: text for path, text in lost.items() if not kept_back & set(path)}
    first = numbers(reports[0]["cells"])
    assert len(first) > 200
    for other in reports[1:]:
        assert numbers(other["cells"]) == first
        levels = [c["factors"] for c in reports[0]["cells"]]
        assert [c["factors"] for c in other["cells"]] == levels
    rows = [list(csv.reader(io.StringIO(
        tompion("report", directory, "--format", "csv", *more, check=0).stdout)))
        for directory, more in [(run, []), (run, ["--redact"]), (copy, [])]]
    assert rows[0] == rows[1] == rows[2]
    # Once redacted, there is nothing more to leave out.
    again = tmp_path / "again"
    tompion("report", copy, "--redact", "--format", "run", "--out", again, check=0)
    texts = [json.loads((d / "run.json").read_text()) for d in (copy, again)]
    for record in texts:
        del record["run_id"], record["crc32"], record["files"]
    assert texts[0] == texts[1]


def test_a_time_beyond_what_is_written_as_one_is_left_out(tmp_path):
    """Of year 9999 somewhere, and of year 10000 in UTC."""
    golden(tmp_path)
    run = tmp_path / "version-2"
    write_record(run, record_of(run) | {"started_at": "9999-12-31T23:59:59-23:59"})
    for form in ("json", "md", "html"):
        assert "10000-" not in tompion("report", run, "--redact", "--format", form, check=0).stdout
    tompion("report", run, "--redact", "--format", "run", "--out", tmp_path / "copy", check=0)
    assert record_of(tmp_path / "copy")["started_at"] == "(left out)"


def test_the_place_of_a_run_is_not_shown(tmp_path):
    """It may name a user."""
    golden(tmp_path)
    home = tmp_path / "zqmira"
    home.mkdir()
    (tmp_path / "version-2").rename(home / "run")
    for page in ([], ["--html", home / "page.html"]):
        shown = tompion("report", home / "run", "--redact", *page, check=0)
        assert "zqmira" not in shown.stdout + shown.stderr
    assert "zqmira" in tompion("report", home / "run", check=0).stdout


def test_a_run_is_written_nowhere_but_where_it_is_asked_for(tmp_path):
    golden(tmp_path)
    done = tompion("report", tmp_path / "version-2", "--format", "run", check=1)
    assert "name it with --out DIR" in done.stderr
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").write_text("x")
    done = tompion("report", tmp_path / "version-2", "--format", "run", "--out", tmp_path / "full", check=1)
    assert "exists and is not empty" in done.stderr
