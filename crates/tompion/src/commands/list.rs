//! `tompion list`: names for the options of `check`.

use std::fmt::Write;

use serde_json::json;
use tompion_model::{MethodRow, Unavailable};
use tompion_platforms::platform::KINDS;
use tompion_probe::{read_cost, timer_events, wake_up};
use tompion_run::probes::PROBES;

use crate::cli::ListOptions;
use crate::exit;
use crate::output::{print, print_json};

/// Names of one kind.
struct Names {
    title: &'static str,
    /// Their key in JSON.
    key: &'static str,
    entries: Vec<Entry>,
}

/// One name.
struct Entry {
    name: String,
    about: String,
    /// Keys that it has in a lab's plan.
    keys: Option<Vec<&'static str>>,
}

impl Entry {
    fn new(name: &str, about: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            about: about.into(),
            keys: None,
        }
    }

    fn as_json(&self) -> serde_json::Value {
        let mut object = json!({ "name": self.name, "about": self.about });
        if let Some(keys) = &self.keys {
            object["keys"] = json!(keys);
        }
        object
    }
}

/// Everything that has a name, in the order in which it is shown.
fn all() -> Vec<Names> {
    let probes = PROBES.iter().map(|probe| {
        let keys = probe.parameters.iter().filter(|p| p.is_key());
        Entry {
            keys: Some(keys.map(|p| p.name).collect()),
            ..Entry::new(probe.name, probe.about)
        }
    });
    let reads = read_cost::Method::available().map(|m| Entry::new(m.name(), m.about()));
    let entry = |row: &MethodRow, available: Result<(), Unavailable>| match available {
        Ok(()) => Entry::new(row.name, row.about),
        Err(why) => Entry::new(row.name, format!("{} (not available: {why})", row.about)),
    };
    let wakes = wake_up::Method::all().map(|m| entry(m.row(), m.available()));
    let events = timer_events::Method::all().map(|m| entry(m.row(), m.available()));
    let loads = tompion_load::loads().map(|load| Entry::new(load.name, load.about));
    let kinds = KINDS.iter().map(|kind| Entry::new(kind.name, kind.about));
    let profiles = tompion_assess::verdict::profiles().iter();
    let profiles = profiles.map(|p| Entry::new(&p.name, p.title.clone()));
    let names = |title, key, entries| Names {
        title,
        key,
        entries,
    };
    vec![
        names(
            "Probes (measure; [[probes]] of a lab's plan)",
            "probes",
            probes.collect(),
        ),
        names(
            "Read cost (check, measure read-cost --methods)",
            "read_cost_methods",
            reads.collect(),
        ),
        names(
            "Wake-up latency (check, measure wake-up --methods)",
            "wake_up_methods",
            wakes.collect(),
        ),
        names(
            "Timer events (measure timer-events --methods)",
            "timer_event_methods",
            events.collect(),
        ),
        names("Loads (--loads)", "loads", loads.collect()),
        names(
            "Platforms ([[platforms]] of a lab's plan)",
            "platforms",
            kinds.collect(),
        ),
        names(
            "Fitness profiles (--require)",
            "profiles",
            profiles.collect(),
        ),
    ]
}

/// Carries out the command.
pub fn list(options: &ListOptions) -> exit::Result {
    let all = all();
    if options.json {
        let rows = |names: &Names| names.entries.iter().map(Entry::as_json).collect();
        let object: serde_json::Map<String, serde_json::Value> = all
            .iter()
            .map(|names| (names.key.to_owned(), rows(names)))
            .collect();
        print_json(&object)?;
        return Ok(0);
    }
    let mut out = String::new();
    for (i, names) in all.iter().enumerate() {
        writeln!(out, "{}{}", if i == 0 { "" } else { "\n" }, names.title)?;
        for entry in &names.entries {
            writeln!(out, "  {:<24} {}", entry.name, entry.about)?;
        }
    }
    print(&out)?;
    Ok(0)
}
