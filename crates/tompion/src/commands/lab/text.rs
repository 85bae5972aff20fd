//! What `tompion lab` prints for people.

use std::fmt::Write;
use std::time::Duration;

use tompion_lab::engine::Platforms;
use tompion_lab::{Estimate, LabPlan, Refusal, Room};
use tompion_model::printable;
use tompion_platforms::PlatformPlan;
use tompion_platforms::leftovers::Cleaning;
use tompion_platforms::platform::Presence;

use super::in_words;

/// A plan and what it comes to.
pub fn plan(plan: &LabPlan, all: &Platforms, prospect: &Estimate) -> String {
    let mut text = String::new();
    let name = if plan.name.is_empty() {
        "no name"
    } else {
        &plan.name
    };
    let _ = writeln!(text, "Plan: {name}\n\nPlatforms");
    text += &platforms(plan.platforms.iter().zip(all.presence()));
    if all.presence().any(|p| *p == Presence::NotAsked) {
        text += "  (--probe asks them: it starts their programs and calls other machines)\n";
    }
    if plan
        .placements
        .iter()
        .any(|placement| placement.at.is_some())
    {
        text += "\nPlacements\n";
        for placement in &plan.placements {
            let settings = placement.settings().join(", ");
            let _ = writeln!(text, "  {}: {settings}", placement.name);
        }
    }
    if let Some(testbed) = &plan.testbed {
        let _ = writeln!(text, "\nTestbed\n  {}", testbed.in_words().join(", "));
    }
    let _ = writeln!(
        text,
        "\nCells, each once in each of {} replicates",
        plan.replicates
    );
    for (platform, presence) in plan.platforms.iter().zip(all.presence()) {
        if let Presence::Absent(_) = presence {
            let level = platform.level();
            let _ = writeln!(text, "  {level}: all left out, the platform is absent");
        }
    }
    for cell in plan.cells() {
        let what = plan.name_of(cell);
        let is_refused =
            |r: &&Refusal| (r.platform, r.placement) == (cell.platform, cell.placement);
        if all.can(cell) {
            let time = plan.probes[cell.probe].time().as_secs_f64();
            let trials = plan.keys(cell).len();
            let s = if trials == 1 { "" } else { "s" };
            let _ = writeln!(text, "  {what}: {trials} trial{s} in {time} s");
        } else if all.refused().iter().find(is_refused).is_some() {
            let _ = writeln!(
                text,
                "  {what}: left out, the platform cannot have the placement"
            );
        }
    }
    let length = in_words(Duration::from_secs_f64(prospect.expected_s));
    let _ = writeln!(text, "\nExpected length: {length}");
    if let Some(p) = prospect.least_adjusted_p {
        let _ = writeln!(
            text,
            "Between {}: {} tests share a family; the least adjusted p that {} replicates can \
             reach is {}",
            prospect.between,
            prospect.family,
            plan.replicates,
            probability(p)
        );
    }
    for warning in tompion_lab::warnings(plan, &all.cells(plan), prospect, &Room::here()) {
        let _ = writeln!(text, "warning: {warning}");
    }
    shown(&text)
}

/// A text as a terminal may have it: a plan may be a stranger's.
fn shown(text: &str) -> String {
    let lines = text.split('\n').map(printable);
    lines.collect::<Vec<_>>().join("\n")
}

/// Two digits that tell something.
fn probability(p: f64) -> String {
    match p {
        p if p >= 0.01 => format!("{p:.2}"),
        p => format!("{p:.1e}"),
    }
}

/// One line a platform.
pub fn platforms<'a>(all: impl Iterator<Item = (&'a PlatformPlan, &'a Presence)>) -> String {
    let text = all.fold(String::new(), |mut text, (plan, presence)| {
        let told = match presence {
            Presence::Absent(why) => format!("absent: {why}"),
            Presence::NotAsked => "not asked".to_owned(),
            Presence::Present(versions) if versions.is_empty() => "present".to_owned(),
            Presence::Present(versions) => format!("present: {}", versions.join(", ")),
        };
        let settings = plan.settings();
        let settings = match settings.is_empty() {
            true => String::new(),
            // One line each, whatever a stranger's plan has in it.
            false => format!(" [{}]", printable(&settings.join(", "))),
        };
        let told = printable(&told);
        let _ = writeln!(text, "  {}{settings}: {told}", plan.level());
        text
    });
    shown(&text)
}

/// What `clean` found.
pub fn cleaning(cleaning: &Cleaning, dry_run: bool) -> String {
    let mut text = String::new();
    for pid in &cleaning.at_work {
        let _ = writeln!(
            text,
            "left alone: what the lab at work as process {pid} has made"
        );
    }
    for found in &cleaning.found {
        let what = printable(&found.what);
        let _ = match (&found.problem, dry_run) {
            (Some(why), _) => writeln!(text, "cannot remove {what}: {why}"),
            (None, true) => writeln!(text, "would remove {what}"),
            (None, false) => writeln!(text, "removed {what}"),
        };
    }
    if cleaning.found.is_empty() {
        text += "nothing is left of killed labs of this user\n";
    }
    text
}
