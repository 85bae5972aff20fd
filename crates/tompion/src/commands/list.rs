//! `tompion list`: names for the options of `check`.

use std::fmt::Write;

use serde_json::json;
use tompion_probe::{read_cost, timer_events, wake_up};
use tompion_run::probes::PROBES;

use crate::cli::ListOptions;
use crate::exit;
use crate::output::{print, print_json};

/// Carries out the command.
pub fn list(options: &ListOptions) -> exit::Result {
    let probes: Vec<(&str, String)> = PROBES
        .iter()
        .map(|probe| (probe.name, probe.about.to_owned()))
        .collect();
    let reads: Vec<(&str, String)> = read_cost::Method::available()
        .map(|m| (m.name(), m.about().to_owned()))
        .collect();
    let wakes: Vec<(&str, String)> = wake_up::Method::all()
        .map(|m| (m.name(), m.about().to_owned()))
        .collect();
    let events: Vec<(&str, String)> = timer_events::Method::all()
        .map(|m| match m.available() {
            Ok(()) => (m.name(), m.about().to_owned()),
            Err(why) => (m.name(), format!("{} (not here: {why})", m.about())),
        })
        .collect();
    let loads: Vec<(&str, String)> = tompion_load::loads()
        .map(|load| (load.name, load.about.to_owned()))
        .collect();
    let profiles: Vec<(&str, String)> = tompion_assess::verdict::profiles()
        .iter()
        .map(|p| (p.name.as_str(), p.title.clone()))
        .collect();
    let sections = [
        (
            "Probes (measure; [[probes]] of a lab's plan)",
            "probes",
            probes,
        ),
        (
            "Read cost (check, measure read-cost --methods)",
            "read_cost_methods",
            reads,
        ),
        (
            "Wake-up latency (check, measure wake-up --methods)",
            "wake_up_methods",
            wakes,
        ),
        (
            "Timer events (measure timer-events --methods)",
            "timer_event_methods",
            events,
        ),
        ("Loads (--loads)", "loads", loads),
        ("Fitness profiles (--require)", "profiles", profiles),
    ];
    if options.json {
        let object: serde_json::Map<String, serde_json::Value> = sections
            .iter()
            .map(|(_, key, rows)| {
                let rows = rows
                    .iter()
                    .map(|(name, about)| json!({ "name": name, "about": about }))
                    .collect();
                ((*key).to_owned(), rows)
            })
            .collect();
        print_json(&object)?;
        return Ok(0);
    }
    let mut out = String::new();
    for (i, (title, _, rows)) in sections.iter().enumerate() {
        writeln!(out, "{}{title}", if i == 0 { "" } else { "\n" })?;
        for (name, about) in rows {
            writeln!(out, "  {name:<24} {about}")?;
        }
    }
    print(&out)?;
    Ok(0)
}
