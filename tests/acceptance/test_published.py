"""`tompion published`: the published results in the terminal and as JSON."""

import json
import re
import statistics

import pytest

from conftest import tompion

PAPERS = ("whiteaker-2011", "perneel-2015", "adamczyk-2015", "korniichuk-2017", "kirova-2019")
NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def tables(*names):
    """The tables of these names from --json, by id."""
    found = {}
    for name in names:
        told = json.loads(tompion("published", name, "--json", check=0).stdout)
        assert told["schema_version"] == 1 and told["kind"] == "tompion-published"
        found |= {t["id"]: t for t in told["tables"]}
    return found


@pytest.fixture(scope="module")
def everything():
    return tables(*PAPERS)


def test_the_list_agrees_with_the_tables(everything):
    told = json.loads(tompion("published", "--json", check=0).stdout)
    assert told["kind"] == "tompion-published-list"
    assert {p["id"] for p in told["papers"]} == set(PAPERS)
    assert {t["id"] for t in told["tables"]} == set(everything)
    text = tompion("published", check=0).stdout
    for head in told["tables"]:
        values = [v for r in everything[head["id"]]["rows"] for v in r["values"].values()]
        assert len(everything[head["id"]]["rows"]) == head["rows"]
        assert len(values) == head["figures"]
        assert sum(v["quality"] == "marked" for v in values) == head["marked"]
        assert f"{head['id']}: {head['rows']} rows" in text


def test_figures_are_what_is_printed_in_the_unit_of_their_column(everything):
    # Read again by other means than the program's own.
    seen = 0
    for table in everything.values():
        units = {c["key"]: c["unit"] for c in table["columns"]}
        for row in table["rows"]:
            for column, value in row["values"].items():
                found = re.fullmatch(r"(?:~|<= |>= )?([\d,]*\.?\d*)(?: (\w+))?", value["printed"])
                if value["value"] is None:
                    assert found is None and value["quality"] == "marked"
                    continue
                number = float(found[1].replace(",", ""))
                if found[2]:
                    number *= NS[found[2]] / NS[units[column]]
                assert value["value"] == pytest.approx(number, rel=1e-12), value
                seen += 1
    assert seen > 500


def test_every_mark_and_caveat_stands_below_the_printed_table(everything):
    def bare(text):
        return "".join(text.split())

    for name, table in everything.items():
        text = bare(tompion("published", name, check=0).stdout)
        for caveat in table["caveats"]:
            assert bare(caveat) in text, (name, caveat)
        for row in table["rows"]:
            for value in row["values"].values():
                assert (value["why"] is None) == (value["quality"] == "sound")
                assert value["why"] is None or bare(value["why"]) in text


def test_virtual_box_reads_the_counter_a_hundred_times_slower(everything):
    # A number that the paper states in words, from the data as a user gets them.
    medians = {True: [], False: []}
    for row in everything["kirova-2019/table-1"]["rows"]:
        if row["factors"]["function"] == "tsc":
            virtual_box = row["factors"]["platform"] == "virtualbox"
            medians[virtual_box].append(row["values"]["median"]["value"])
    assert [len(m) for m in medians.values()] == [3, 12]
    assert 100 < statistics.median(medians[True]) / statistics.median(medians[False]) < 140


def test_counterparts_name_cells_that_a_run_can_have(everything):
    names = json.loads(tompion("list", "--json", check=0).stdout)
    methods = {
        "read-cost": {m["name"] for m in names["read_cost_methods"]},
        "wake-up": {m["name"] for m in names["wake_up_methods"]},
        "timer-events": {m["name"] for m in names["timer_event_methods"]},
        "stalls": {"busy-loop"},
    }
    loads = {load["name"] for load in names["loads"]}
    with_any = set()
    for name, table in everything.items():
        for c in table["counterparts"]:
            with_any.add(name)
            assert c["cell"]["method"] in methods[c["cell"]["probe"]], c
            assert c["cell"]["load"].removesuffix(":*") in loads, c
            assert c["value_ns"] > 0 or c["column"] == "mad"
        assert all(a["why"] for a in table["without_counterpart"])
    assert with_any == {
        "perneel-2015/table-1",
        "adamczyk-2015/text",
        "korniichuk-2017/text",
        "kirova-2019/table-1",
        "kirova-2019/table-2",
    }


@pytest.mark.parametrize("name", ["kirova-2018", "kirova-2019/table-3", "", "table-1"])
def test_an_unknown_table_gets_one_line_with_the_known_ones(name, everything):
    for extra in ([], ["--json"]):
        done = tompion("published", name, *extra)
        assert done.returncode == 1 and done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        assert done.stderr.startswith("tompion: ") and f"`{name}`" in done.stderr
        assert all(known in done.stderr for known in everything)


def test_help_has_examples_that_name_tables(everything):
    text = tompion("published", "--help", check=0).stdout
    assert "Examples:" in text
    for name in re.findall(r"tompion published ([a-z]+-\d{4}\S*)", text):
        assert any(name in (t, t.split("/")[0]) for t in everything), name
