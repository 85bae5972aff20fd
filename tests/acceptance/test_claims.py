"""The register of claims: the command, its coverage, its schema, and its statistics by SciPy."""

import copy
import itertools
import json
import tomllib

import jsonschema
import numpy
import pytest

from conftest import ROOT, tompion
from heavy import scikit_posthocs, stats

CLAIMS = ROOT / "claims"
EVIDENCE = sorted((CLAIMS / "evidence").glob("*.json"))
SCHEMA = json.loads((ROOT / "schema/claim-evidence.schema.json").read_text())
STANDINGS = {
    ("supported", "measurement"): "reproduced",
    ("supported", "published-table"): "fits-figures",
    ("supported", "emulation"): "holds-emulated",
    ("contradicted", "measurement"): "refuted",
    ("contradicted", "published-table"): "contradicts-figures",
    ("contradicted", "emulation"): "fails-emulated",
}


@pytest.fixture(scope="module")
def register():
    return json.loads(tompion("claims", "--json", check=0).stdout)


def papers():
    """The register as its files have it."""
    return {p.stem: tomllib.loads(p.read_text()) for p in sorted(CLAIMS.glob("*.toml"))}


# --- The command -----------------------------------------------------------------------


def test_json_has_every_claim_of_the_files_with_what_decided_it(register):
    files = papers()
    assert {p["id"] for p in register["papers"]} == set(files)
    evidence = {p.name: json.loads(p.read_text()) for p in EVIDENCE}
    for paper in register["papers"]:
        written = files[paper["id"]]
        assert [s["name"] for s in paper["sections"]] == written["paper"]["sections"]
        assert len(paper["claims"]) == len(written["claim"]) >= 15
        for claim, source in zip(paper["claims"], written["claim"], strict=True):
            assert claim.items() >= source.items(), source["id"]
            assert claim["paper"] == paper["id"]
            want = STANDINGS.get((claim["status"], claim["basis"]), claim["status"])
            assert claim["standing"] == want, claim["id"]
            if "evidence" in source:
                findings = evidence[source["evidence"]]["findings"]
                mine = [f for f in findings if f["claim"] == claim["id"]]
                assert len(mine) == 1 and claim["found"].items() >= mine[0].items()
            else:
                assert "found" not in claim


def test_every_section_stands_in_the_coverage_with_its_claims_or_none(register):
    text = tompion("claims", check=0).stdout
    before, coverage = text.split("Coverage:")
    for paper in register["papers"]:
        silent = 0
        for section in paper["sections"]:
            made = {c["id"] for c in paper["claims"] if section["name"] in c["places"]}
            assert made == set(section["claims"])
            silent += not made
        assert silent > 0
        table = tompion("claims", paper["id"], check=0).stdout.split("Coverage:")[1]
        assert table.count("no claim") == silent
        lines = " ".join(table.split())
        for section in paper["sections"]:
            # Long names wrap beside the claims; their beginnings stay.
            assert section["name"].split()[0] in lines, section["name"]
        for claim in paper["claims"]:
            name = claim["id"].split("/")[1]
            assert name in before and name in coverage, name
    assert max(map(len, text.splitlines())) <= 100


def test_reproduced_is_said_only_of_what_a_measurement_supports(register):
    claims = [c for p in register["papers"] for c in p["claims"]]
    for claim in claims:
        measured = (claim["status"], claim["basis"]) == ("supported", "measurement")
        assert ("reproduced" in claim["stands"]) == measured
        shown = tompion("claims", claim["id"], check=0).stdout if measured else ""
        assert ("Reproduced" in shown) == measured
    if not any(c["standing"] == "reproduced" for c in claims):
        text = tompion("claims", check=0).stdout
        assert "Reproduced" not in text and "so far of none" in text


@pytest.mark.parametrize(
    "claim",
    ["kirova-2019/reads-load-only-mad", "whiteaker-2011/most-delay-when-sending"],
)
def test_one_claim_is_told_in_full(register, claim):
    text = " ".join(tompion("claims", claim, check=0).stdout.split())
    found = json.loads(tompion("claims", claim, "--json", check=0).stdout)["claim"]
    every = [c for p in register["papers"] for c in p["claims"]]
    assert found == next(c for c in every if c["id"] == claim)
    for field in ("claim", "decided_by", "why"):
        assert found.get(field, "") in text
    assert found["decides"]["plan"] in text
    if "found" in found:
        assert found["found"]["because"] in text
        for effect in found["found"]["effects"]:
            assert effect["what"] in text


@pytest.mark.parametrize(
    ("name", "hint"),
    [("kirova", "kirova-2019"), ("kirova-2019/no-such", "tompion claims kirova-2019")],
)
def test_unknown_names_get_one_line(name, hint):
    done = tompion("claims", name, check=1)
    assert len(done.stderr.splitlines()) == 1 and hint in done.stderr and not done.stdout


def test_help_has_examples():
    done = tompion("claims", "--help", check=0)
    assert "Examples:" in done.stdout and "tompion claims kirova-2019" in done.stdout


# --- The schema -------------------------------------------------------------------------


@pytest.mark.parametrize("path", EVIDENCE, ids=lambda p: p.stem)
def test_evidence_keeps_to_its_schema(path):
    jsonschema.validate(json.loads(path.read_text()), SCHEMA)


def test_the_schema_asks_of_a_run_what_it_must_have():
    run = {
        "kind": "runs",
        "machine": {"cpu": "c", "virtualization": "none", "kernel": "6.1", "clocksource": "tsc"},
        "emulated": False,
        "runs": [{"started_at": "2026-01-01T00:00:00Z", "run_json_sha256": "0" * 64}],
    }
    sound = json.loads(EVIDENCE[0].read_text()) | {"source": run}
    jsonschema.validate(sound, SCHEMA)
    for spoil in (
        lambda e: e["source"].pop("machine"),
        lambda e: e["source"].pop("emulated"),
        lambda e: e["source"].update(runs=[]),
        lambda e: e["source"]["runs"][0].update(run_json_sha256="abc"),
        lambda e: e.pop("command"),
        lambda e: e["findings"][0].update(outcome="likely"),
        lambda e: e["findings"][0].update(effects=[]),
        lambda e: e["findings"][0]["effects"][0].update(p=1.5),
        lambda e: e["findings"][0]["effects"][0].update(note="x"),
    ):
        broken = copy.deepcopy(sound)
        spoil(broken)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, SCHEMA)


# --- The statistics on Kirova's tables, by another hand ---------------------------------

FUNCTIONS = {1: ["tsc", "system-call"], 2: ["hptsleep", "usleep"]}
PLATFORMS = ["host", "xen", "esxi", "qemu", "virtualbox"]
LOADS = ["idle", "cpu", "io-network"]
FACTORS = ["function", "platform", "load"]
COLUMNS = ["median", "mad", "max", "min"]
# Which claims tell the effects of which factors, by table.
EFFECTS = {
    (1, "function"): "reads-function-significant",
    (1, "load"): "reads-load-only-mad",
    (1, "function:platform"): "reads-function-by-platform",
    (1, "platform:load"): "reads-platform-by-load",
    (2, "function"): "sleeps-function-significant",
    (2, "load"): "sleeps-load-only-max",
    (2, "function:platform"): "sleeps-function-by-platform",
    (2, "platform:load"): "sleeps-platform-by-load",
    (2, "function:load"): "sleeps-function-by-load",
}
FOUND = {
    f["claim"]: f for f in json.loads((CLAIMS / "evidence/kirova-2019.json").read_text())["findings"]
}


def cube(number, column):
    """A column of Table 1 or 2 by function, platform and load."""
    path = ROOT / f"crates/tompion-papers/data/kirova-2019-table-{number}.toml"
    data = tomllib.loads(path.read_text())["data"]
    values = numpy.full((2, 5, 3), numpy.nan)
    for row in data["rows"]:
        row = [c["printed"] if isinstance(c, dict) else c for c in row]
        cell = dict(zip(data["head"], row, strict=True))
        place = (
            FUNCTIONS[number].index(cell["function"]),
            PLATFORMS.index(cell["platform"]),
            LOADS.index(cell["load"]),
        )
        values[place] = float(cell[column].replace(",", ""))
    assert not numpy.isnan(values).any()
    return values


def part(values, factors):
    """What the interaction of `factors` adds in each cell, by means over the other factors."""
    out = numpy.zeros_like(values)
    for n in range(len(factors) + 1):
        for kept in itertools.combinations(factors, n):
            others = tuple(a for a in range(3) if a not in kept)
            mean = values.mean(axis=others, keepdims=True) if others else values
            out = out + (-1) ** (len(factors) - n) * mean
    return out


def degrees(values, factors):
    return numpy.prod([values.shape[a] - 1 for a in factors])


def ranks_of(values, decimals=None):
    flat = values.ravel() if decimals is None else values.ravel().round(decimals)
    return stats.rankdata(flat).reshape(values.shape)


def aligned_ranks(values, factors):
    """F and p of an effect; the interaction of all three is residual and error."""
    everything = (0, 1, 2)
    ranks = ranks_of(part(values, everything) + part(values, factors), decimals=4)
    df, error_df = degrees(values, factors), degrees(values, everything)
    error = (part(ranks, everything) ** 2).sum() / error_df
    f = (part(ranks, factors) ** 2).sum() / df / error
    return f, stats.f.sf(f, df, error_df)


def scheirer_ray_hare(values, factors):
    ranks = ranks_of(values)
    h = (part(ranks, factors) ** 2).sum() / ranks.var(ddof=1)
    return h, stats.chi2.sf(h, degrees(values, factors))


def kruskal_wallis(values, factor):
    return stats.kruskal(*numpy.moveaxis(values, factor, 0).reshape(values.shape[factor], -1))


@pytest.mark.parametrize(("number", "name"), EFFECTS)
def test_effects_of_factors_agree(number, name):
    factors = tuple(FACTORS.index(f) for f in name.split(":"))
    told = {
        (e["what"].split(",")[0], e["method"]): (e["value"], e["p"])
        for e in FOUND[f"kirova-2019/{EFFECTS[number, name]}"]["effects"]
    }
    for column in COLUMNS:
        values = cube(number, column)
        want = {
            "aligned rank transform": aligned_ranks(values, factors),
            "Scheirer-Ray-Hare": scheirer_ray_hare(values, factors),
        }
        if len(factors) == 1:
            want["Kruskal-Wallis"] = kruskal_wallis(values, factors[0])
        for method, pair in want.items():
            assert told[column, method] == pytest.approx(tuple(pair), rel=2e-5), (column, method)


@pytest.mark.parametrize(
    ("number", "claim"),
    [(1, "reads-platform-only-virtualbox"), (2, "sleeps-platform-only-virtualbox")],
)
def test_pairs_of_platforms_agree(number, claim):
    told = {e["what"]: e["p"] for e in FOUND[f"kirova-2019/{claim}"]["effects"]}
    for column in COLUMNS:
        groups = list(numpy.moveaxis(cube(number, column), 1, 0).reshape(5, -1))
        p = scikit_posthocs.posthoc_dunn(groups, p_adjust="holm").to_numpy()
        for i, platform in enumerate(PLATFORMS[:4]):
            what = f"{column}, {platform} and virtualbox: z"
            assert told[what] == pytest.approx(p[i, 4], rel=2e-5), what


def test_small_groups_and_signs_agree():
    for effect in FOUND["kirova-2019/reads-function-within-load"]["effects"]:
        load, column = effect["what"].split(":")[0].split(", ")
        a, b = cube(1, column)[:, :, LOADS.index(load)]
        want = stats.mannwhitneyu(a, b, method="auto")
        assert (effect["value"], effect["p"]) == pytest.approx(tuple(want), rel=2e-5)
    tests = 0
    for path in EVIDENCE:
        for finding in json.loads(path.read_text())["findings"]:
            for effect in finding["effects"]:
                if effect.get("method") == "sign test":
                    tests += 1
                    n = int(effect["what"].split(" of ")[1].split()[0])
                    want = stats.binomtest(int(effect["value"]), n).pvalue
                    assert effect["p"] == pytest.approx(want, rel=2e-5), finding["claim"]
    assert tests >= 10
