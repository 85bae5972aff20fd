"""What is wrong with a machine is named by the part that it concerns, and by no other."""

import json

import pytest
from conftest import once, planted, tompion
from planted_machines import MACHINES, check


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """The place of each machine's run and screen, by its name."""

    def one(name):
        def make(place):
            screen = check(planted(), name, place)
            (place / "screen.txt").write_text(screen)

        return once(tmp_path_factory, f"machine-{name}", make)

    return one


@pytest.mark.parametrize("name", MACHINES)
def test_what_is_wrong_is_named_by_its_part(checked, name):
    place = checked(name)
    screen = (place / "screen.txt").read_text()
    print(screen)
    to_name, *_ = MACHINES[name]
    parts = json.loads(tompion("report", place / "run", "--json", check=0).stdout)["parts"]
    wrong = [part["name"] for part in parts if part["state"] != "ok"]
    assert wrong == ([to_name] if to_name else []), parts
    for part in parts:
        assert part["sentence"] in screen


def test_the_verdicts_of_a_well_kept_machine_are_passes_and_each_fault_costs_some(checked):
    def fails(name):
        text = tompion("report", checked(name) / "run", "--format", "verdict-json", check=0).stdout
        uses = json.loads(text)["uses"]
        return {
            (use["name"], load["load"]) for use in uses for load in use["by_load"] if load["outcome"] == "fail"
        }

    well = fails("nothing")
    assert not {use for use, _ in well} & {"voip", "game-128hz", "audio-48k-64", "control-1khz"}, well
    assert fails("clock") == well, "it is about the wall clock alone"
    assert {use for use, _ in fails("host")} >= {"voip", "game-128hz", "audio-48k-64", "control-1khz"}
    assert ("control-1khz", "idle") in fails("slack") or ("audio-48k-64", "idle") in fails("slack") - well
