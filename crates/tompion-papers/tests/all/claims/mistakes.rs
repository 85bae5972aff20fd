//! What is wrong in a register is said in one clear line each.

use tompion_papers::claims::{Register, Text};

const PAPER: &str = r#"
[paper]
id = "whiteaker-2011"
sections = ["Abstract", "1. Results"]

[[claim]]
id = "whiteaker-2011/clocks-tick"
places = ["Abstract", "1. Results"]
kind = "headline"
claim = "Clocks tick."
decided_by = "Listening to one."
decides = { probe = "read-cost", plan = "listen" }
basis = "measurement"
status = "supported"
evidence = "smith.json"
"#;

const EVIDENCE: &str = r#"{
  "schema_version": 1,
  "paper": "whiteaker-2011",
  "tompion_version": "0.1.0",
  "command": "tompion measure read-cost",
  "source": {
    "kind": "runs",
    "machine": {"cpu": "one", "virtualization": "none", "kernel": "6.1", "clocksource": "tsc"},
    "emulated": false,
    "runs": [{
      "started_at": "2026-01-01T00:00:00Z",
      "run_json_sha256": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    }]
  },
  "findings": [{
    "claim": "whiteaker-2011/clocks-tick",
    "outcome": "supported",
    "because": "It was heard.",
    "effects": [{"what": "ticks", "value": 60.0, "unit": "1/min", "p": 0.001, "method": "sign test"}]
  }]
}"#;

/// What is said about the register after `from` has become `to` in one of its files.
fn mistakes(from: &str, to: &str) -> Vec<String> {
    let in_paper = PAPER.contains(from);
    assert!(in_paper || EVIDENCE.contains(from), "{from}");
    let paper = PAPER.replacen(from, to, usize::from(in_paper));
    let evidence = EVIDENCE.replacen(from, to, usize::from(!in_paper));
    let of = |name, text| Text { name, text };
    match Register::parse(&[of("smith.toml", &paper)], &[of("smith.json", &evidence)]) {
        Ok(_) => Vec::new(),
        Err(found) => found.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_sound_register_is_taken() {
    assert_eq!(mistakes("Clocks tick.", "All clocks tick."), [""; 0]);
}

#[test]
fn each_mistake_gets_one_line_that_says_where_and_what_would_be_right() {
    for (from, to, want) in [
        // Files that cannot be read.
        (
            "kind = \"headline\"",
            "kind = \"big\"",
            "smith.toml, line 9: unknown variant `big`",
        ),
        ("[paper]", "[papers]", "smith.toml, line 2"),
        ("plan = \"listen\"", "plans = \"listen\"", "line 12"),
        (
            "\"because\"",
            "\"reason\"",
            "smith.json: unknown field `reason`",
        ),
        (
            "id = \"whiteaker-2011\"",
            "id = \"jones-2020\"",
            "no paper of this id is among the published ones: whiteaker-2011",
        ),
        // Claims by themselves.
        (
            "id = \"whiteaker-2011/clocks-tick\"",
            "id = \"clocks-tick\"",
            "must be `whiteaker-2011/`",
        ),
        (
            "/clocks-tick\"\nplaces",
            "/Clocks_tick\"\nplaces",
            "lower-case",
        ),
        (
            "places = [\"Abstract\", \"1. Results\"]",
            "places = []",
            "`places` is empty",
        ),
        (
            "\"1. Results\"]\nkind",
            "\"2. More\"]\nkind",
            "`2. More` is not among the sections",
        ),
        (
            "\"1. Results\"]\nkind",
            "\"Abstract\"]\nkind",
            "place `Abstract` is listed twice",
        ),
        (
            "\"1. Results\"]\n\n",
            "\"Abstract\", \"1. Results\"]\n\n",
            "section `Abstract` is listed twice",
        ),
        ("Clocks tick.", "Clocks tick", "`claim` must be a sentence"),
        ("Listening to one.", "", "`decided_by` must be a sentence"),
        (
            "plan = \"listen\"",
            "plan = \"\"",
            "`decides.plan` is empty",
        ),
        (
            "probe = \"read-cost\"",
            "probe = \"published-table\"",
            "both be published-table",
        ),
        (
            "basis = \"measurement\"",
            "basis = \"published-table\"",
            "both be published-table",
        ),
        // Statuses.
        (
            "evidence = \"smith.json\"\n",
            "",
            "status supported needs `evidence`",
        ),
        (
            "probe = \"read-cost\"",
            "probe = \"available-bandwidth\"",
            "still to come and cannot have decided",
        ),
        (
            "status = \"supported\"",
            "status = \"not-yet-implemented\"",
            "cannot have `evidence`",
        ),
        (
            "status = \"supported\"",
            "status = \"contradicted\"",
            "needs `why`",
        ),
        (
            "status = \"supported\"",
            "hardware_speed = true\nstatus = \"supported\"",
            "belongs to basis emulation",
        ),
        // Claims against evidence.
        (
            "evidence = \"smith.json\"",
            "evidence = \"jones.json\"",
            "no claims/evidence/jones.json",
        ),
        (
            "\"outcome\": \"supported\"",
            "\"outcome\": \"not-decidable\"",
            "smith.json makes it not-decidable-here",
        ),
        (
            "\"emulated\": false",
            "\"emulated\": true",
            "that of smith.json is emulation",
        ),
        (
            "\"claim\": \"whiteaker-2011/clocks-tick\"",
            "\"claim\": \"whiteaker-2011/clocks\"",
            "no finding about it",
        ),
        (
            "\"claim\": \"whiteaker-2011/clocks-tick\"",
            "\"claim\": \"whiteaker-2011/clocks\"",
            "there is no claim `whiteaker-2011/clocks`",
        ),
        // Evidence by itself.
        (
            "\"schema_version\": 1",
            "\"schema_version\": 2",
            "schema_version 2 is not ours",
        ),
        (
            "tompion measure read-cost\"",
            "\"",
            "`command` and `tompion_version`",
        ),
        ("0123456789abcdef0123456789abcdef0", "0", "no SHA-256"),
        (
            "\"value\": 60.0",
            "\"value\": 60.0, \"interval\": {\"low\": 2.0, \"high\": 1.0, \"confidence\": 0.95}",
            "impossible number",
        ),
        ("\"p\": 0.001", "\"p\": 1.5", "impossible number"),
        (", \"method\": \"sign test\"", "", "a p without its test"),
        (", \"p\": 0.001", "", "a run decides by an interval or a p"),
        ("\"It was heard.\"", "\"\"", "needs `because`"),
        (
            "\"paper\": \"whiteaker-2011\"",
            "\"paper\": \"jones-2020\"",
            "is not of paper jones-2020",
        ),
    ] {
        let found = mistakes(from, to);
        assert!(
            found.iter().any(|l| l.contains(want)),
            "{to}: {want}: {found:?}"
        );
        assert!(found.iter().all(|l| !l.contains('\n')), "{found:?}");
    }
}

#[test]
fn emulation_alone_never_decides_about_the_speed_of_hardware() {
    let emulated = |speed: &str| {
        let paper = PAPER.replace(
            "basis = \"measurement\"",
            &format!("basis = \"emulation\"\n{speed}"),
        );
        let evidence = EVIDENCE.replace("\"emulated\": false", "\"emulated\": true");
        let of = |name, text| Text { name, text };
        Register::parse(&[of("smith.toml", &paper)], &[of("smith.json", &evidence)])
            .map_err(|found| found[0].to_string())
    };
    assert!(emulated("hardware_speed = false").is_ok());
    let error = emulated("hardware_speed = true").unwrap_err();
    assert!(error.contains("emulation alone never decides"), "{error}");
    let error = emulated("").unwrap_err();
    assert!(error.contains("needs `hardware_speed"), "{error}");
}

#[test]
fn two_entries_of_one_name_are_refused() {
    let claim = &PAPER[PAPER.find("[[claim]]").unwrap()..];
    let twice = format!("{PAPER}\n{claim}");
    let of = |name, text| Text { name, text };
    let found = Register::parse(&[of("smith.toml", &twice)], &[of("smith.json", EVIDENCE)]);
    let found = found.unwrap_err();
    assert!(found[0].to_string().contains("a second claim of this name"));
}
