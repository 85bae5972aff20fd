"""What is wrong with a machine is named by the part that it concerns, and by no other; the cause says so in a line."""

import json
import re

import pytest
from conftest import once, planted, tompion
from planted_machines import MACHINES, check
from terminal import in_terminal
from test_answer import screen_of

LIMITS = r"\d uses have limits tighter than this machine sleeps\."
# The cause, what the headline says, and what is to be done.
SAYS = {
    "nothing": (rf"No fault found: {LIMITS}", "PARTLY: fit for", "Do now: nothing to do"),
    "clock": (rf"Cause: clock not synchronised, step 1; {LIMITS}", "PARTLY: the clock is not synchronised; ",
              "1 apt install chrony"),
    "host": (r"Cause: the host takes the CPU \(\d\d %, up to 400 ms at once\); nothing in this guest can mend that "
             r"\(step 1\)\.", "NO: fit for 0 of 9 uses at rest", "1 ask the provider"),
    "slack": (rf"Cause: timer slack, step 1 (mends it|may mend it( \(shown for \d+ of \d+ verdicts\))?); {LIMITS}",
              "PARTLY: fit for", "1 slack 1 ns"),
    "neighbour": (r"Cause: other programs on this machine \(transcode\), step 1\.", "PARTLY: fit for",
                  "1 transcode: renice"),
}


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


@pytest.mark.parametrize("name", MACHINES)
def test_the_cause_and_what_to_do_stand_on_the_screen(checked, name):
    run = checked(name) / "run"
    cause, headline, to_do = SAYS[name]
    for columns in (80, 100):
        text = in_terminal(columns, "report", run, "--screen")
        lines = screen_of(text)
        assert len(lines) <= 40 and max(map(len, lines[:-2])) <= columns, text
        said = " ".join(" ".join(lines).split())
        assert re.search(cause, said), text
        assert f"Can you trust time here? {headline}" in said and to_do in said, text
        [steps] = [said.split("Do now")[1]]
        # Nothing was tried of what a guest or its user can only ask for, and the screen does not say that it was.
        # What a step gains gives way to the command where there is no room for both.
        told = "not measured here" in steps
        assert told == (name == "host" or name == "neighbour" and columns == 100), text
        # The host's pauses are few: short trials meet none, which is no gain.
        assert name != "host" or "hybrid sleep:" not in steps, text
        # Each that fails says how late it is, and what is fit with a step only is counted apart.
        [first] = [i for i, line in enumerate(lines) if line.startswith("Fit for")]
        cells = [line[28 + 13 * i:40 + 13 * i].strip() for line in lines[first + 1:first + 10] for i in range(3)]
        failed = [cell for cell in cells if cell.startswith("FAIL")]
        # Of too few samples no quantile is known.
        known = [cell for cell in failed if re.fullmatch(r"FAIL [\d.]+ [mµn]?s", cell)]
        assert len(known) >= len(failed) / 2 > 0 and set(failed) - set(known) <= {"FAIL", "FAIL (1?)"}, text
        assert ("with step" in said.split("Cause")[0]) == (name == "slack"), text
    alone = ("nothing", "clock")
    # "Only" these, where nothing is open that may fail, too.
    only = re.search(r"limits of 12\.0 µs and less fail(?! at rest| under)", said)
    assert (only is not None) == (name in alone), said


def test_the_verdicts_of_a_well_kept_machine_are_passes_and_each_fault_costs_some(checked):
    def ends(name, outcome):
        text = tompion("report", checked(name) / "run", "--format", "verdict-json", check=0).stdout
        uses = json.loads(text)["uses"]
        return {
            (use["name"], load["load"]) for use in uses for load in use["by_load"] if load["outcome"] == outcome
        }

    def fails(name):
        return ends(name, "fail")

    well = fails("nothing")
    assert not {use for use, _ in well} & {"voip", "game-128hz", "audio-48k-64", "control-1khz"}, well
    assert fails("clock") == well, "it is about the wall clock alone"
    assert {use for use, _ in fails("host")} >= {"voip", "game-128hz", "audio-48k-64", "control-1khz"}
    # Timer slack is what a step mends.
    assert ("control-1khz", "idle") in ends("slack", "with-remedy") - ends("nothing", "with-remedy")


def test_what_fails_at_rest_only_where_a_neighbour_held_samples_up_is_inconclusive(checked, tmp_path):
    """Where something watched which samples those are; it stands where nothing did, beside a load, and where the machine
    is too late by itself."""

    def judged(run):
        profiles = json.loads(tompion("report", run, "--json", check=0).stdout)["assessment"]["profiles"]
        return {(use["name"], load["load"]): load for use in profiles for load in use["by_load"]}

    screen = check(planted(), "neighbour", tmp_path, {"PLANTED_WATCHED": "1"})
    print(screen)
    unseen, watched = judged(checked("neighbour") / "run"), judged(tmp_path / "run")
    failed = {pair for pair, verdict in unseen.items() if verdict["outcome"] == "fail"}
    taken_back = {pair for pair in failed if watched[pair]["outcome"] == "inconclusive"}
    # A sleep in twenty ends 4 ms late; all others within 14 us.
    late_by_the_neighbour = {"game-128hz", "audio-48k-64", "control-1khz", "pacing-300m"}
    assert taken_back == {(use, "idle") for use in late_by_the_neighbour}
    assert {pair for pair, verdict in watched.items() if verdict["outcome"] == "fail"} == failed - taken_back
    assert {use for use, load in failed - taken_back if load == "idle"} == {
        "pacing-1g", "pacing-10g", "pacing-100g", "packet-scheduler-12us"
    }
    assert {use for use, load in failed - taken_back if load == "busy"} >= late_by_the_neighbour
    for pair in taken_back:
        assert watched[pair]["reason"] == "fails only where other programs ran (transcode 50 %)", watched[pair]
        assert unseen[pair]["reason"] == (
            "other programs ran meanwhile (transcode 50 %), and nothing watched which samples they held up"
        ), unseen[pair]
    for use in ("128 Hz game server", "audio (64 frames)"):
        [line] = [line for line in screen_of(screen) if line.startswith(use)]
        assert re.search(r"inconclusive +FAIL", line), screen
