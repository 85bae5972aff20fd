//! What entries must hold, and how values are checked, completed and stored.

use std::collections::BTreeSet;

use super::*;

#[test]
fn entries_are_whole() {
    let names: BTreeSet<&str> = PROBES.iter().map(|probe| probe.name).collect();
    assert_eq!(names.len(), PROBES.len());
    for probe in PROBES {
        assert!(
            !probe.title.is_empty() && !probe.about.is_empty(),
            "{probe:?}"
        );
        assert!(
            !probe.overview.is_empty() && !probe.examples.is_empty(),
            "{probe:?}"
        );
        let own = format!("tompion measure {}", probe.name);
        let commands = probe.overview.iter().chain(probe.examples);
        assert!(
            commands.into_iter().all(|c| c.starts_with(&own)),
            "{probe:?}"
        );
        let names: BTreeSet<&str> = probe.parameters.iter().map(|p| p.name).collect();
        assert_eq!(names.len(), probe.parameters.len(), "{probe:?}");
        // Presets are values that it takes.
        let required = probe
            .parameters
            .iter()
            .filter(|p| matches!(p.preset, Preset::Required));
        let given: Vec<_> = required.map(|p| (p.name, vec!["1".to_owned()])).collect();
        for place in [Place::CommandLine, Place::LabPlan] {
            Selection::new(probe, place, given.clone()).unwrap();
        }
    }
}

#[test]
fn what_is_not_given_depends_on_the_place() {
    let preset = |place, probe, name: &str| {
        let selection = Selection::new::<&str>(Probe::named(probe), place, []).unwrap();
        selection.values.texts(name).join(",")
    };
    for (probe, name, on_line, in_plan) in [
        ("read-cost", "samples", "1000000", "100000"),
        ("wake-up", "targets", "100us,1ms,10ms", "100us,1ms,10ms"),
        ("wake-up", "slack", "default,1ns", "default"),
        ("timer-events", "periods", "10us,50us,100us,150us", "100us"),
        ("timer-events", "no-search", "", "true"),
        ("stalls", "cpus", "", ""),
    ] {
        let both = [Place::CommandLine, Place::LabPlan].map(|at| preset(at, probe, name));
        assert_eq!(both, [on_line, in_plan], "{probe} {name}");
    }
}

#[test]
fn wrong_values_are_refused_in_one_line() {
    let stalls = Probe::named("stalls");
    for (name, texts, want) in [
        (
            "treshold",
            vec!["1us"],
            "stalls has no parameter `treshold`",
        ),
        ("threshold", vec!["1"], "threshold: `1` is not a duration"),
        ("threshold", vec![], "threshold: one value is wanted"),
        (
            "threshold",
            vec!["1us", "2us"],
            "threshold: one value is wanted",
        ),
        ("cpus", vec!["3-1"], "cpus: `3-1` is no list of CPUs"),
        ("cpus", vec!["8192"], "up to 8191"),
    ] {
        let texts = texts.into_iter().map(str::to_owned).collect();
        let why = Selection::new(stalls, Place::CommandLine, [(name, texts)]).unwrap_err();
        let why = why.to_string();
        assert!(why.contains(want) && !why.contains('\n'), "{why}");
    }
    for (form, text, want) in [
        (Form::Count, "0", "at least 1"),
        (Form::Count, "x", "such as 100000"),
        (Form::Slacks, "x", "or `default`"),
        (Form::Flag, "yes", "true or false"),
    ] {
        let why = form.read(text).unwrap_err();
        let why = why.to_string();
        assert!(why.contains(want), "{why}");
    }
}

#[test]
fn a_selection_is_stored_and_checked_when_it_is_read() {
    let given = [("targets", vec!["0.1ms".to_owned()])];
    let selection = Selection::new(Probe::named("wake-up"), Place::LabPlan, given).unwrap();
    assert_eq!(selection.values.texts("targets"), ["100us"]);
    let stored = serde_json::to_string(&selection).unwrap();
    let read: Selection = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, selection);
    for (from, to, want) in [
        ("wake-up", "wake-ups", "no probe is called `wake-ups`"),
        ("100us", "soon", "`soon` is not a duration"),
        ("targets", "tragets", "wake-up has no parameter `tragets`"),
    ] {
        let wrong = stored.replacen(from, to, 1);
        let why = serde_json::from_str::<Selection>(&wrong)
            .unwrap_err()
            .to_string();
        let why = why.to_string();
        assert!(why.contains(want), "{why}");
    }
}
