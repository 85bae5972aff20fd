//! systemd-timesyncd, which says on the bus alone what it follows, and in a file that it did.

use tompion_model::{TimeKeeper, TimeSource};

use super::{Here, Keeper, MOST_NS, MOST_SOURCES};

/// As the kernel cuts it.
const PROGRAM: &str = "systemd-timesyn";
/// Touched whenever it has set or corrected the clock (systemd-timesyncd.service(8)).
const SYNCHRONISED: &str = "/run/systemd/timesync/synchronized";
const SETTINGS: &str = "/etc/systemd/timesyncd.conf";
/// How far a server may be off that it believes (timesyncd.conf(5)).
const ROOT_DISTANCE_NS: u64 = 5_000_000_000;

pub(super) static ENTRY: Keeper = Keeper {
    processes: &[PROGRAM],
    found,
};

fn found(here: &Here<'_>) -> Option<TimeKeeper> {
    let running = here.processes.has(PROGRAM);
    let programs = [
        "/usr/lib/systemd/systemd-timesyncd",
        "/lib/systemd/systemd-timesyncd",
    ];
    if !running && !here.has(&programs) {
        return None;
    }
    let settings = settings(here);
    let has_set = running && here.has(&[SYNCHRONISED]);
    let kernel = here.kernel.filter(|kernel| kernel.synchronised && has_set);
    // What it tells the kernel leaves out how far the server may be off, and what is still
    // to be corrected.
    let grown_ns = kernel.and_then(|k| {
        let grown_ns = u64::try_from(k.maximum_error_ns).ok()?;
        grown_ns.checked_add(k.offset_ns.unsigned_abs())
    });
    let distance_ns = root_distance_ns(&settings);
    Some(TimeKeeper {
        name: "systemd-timesyncd".to_owned(),
        running,
        keeps: running,
        tells_kernel: true,
        in_step: running.then_some(has_set),
        error_at_most_ns: grown_ns
            .zip(distance_ns)
            .map(|(a, b)| a.saturating_add(b).min(MOST_NS)),
        offset_ns: None,
        stratum: None,
        sources: sources(&settings),
        note: None,
    })
}

/// Its settings: those of the main file first, and after them those that come on top.
fn settings(here: &Here<'_>) -> Vec<String> {
    const MOST_FILES: usize = 32;
    let main = here.text(SETTINGS).unwrap_or_default();
    let mut lines: Vec<String> = main.lines().map(str::to_owned).collect();
    let directory = format!("{SETTINGS}.d");
    let files = std::fs::read_dir(here.root.path(&directory));
    let names = files.into_iter().flatten().take(MOST_FILES).flatten();
    let mut names: Vec<_> = names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(".conf"))
        .collect();
    names.sort();
    for name in names {
        let text = here
            .text(&format!("{directory}/{name}"))
            .unwrap_or_default();
        lines.extend(text.lines().map(str::to_owned));
    }
    lines
}

fn last<'a>(settings: &'a [String], key: &str) -> Option<&'a str> {
    let mut values = settings.iter().rev().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == key).then(|| value.trim())
    });
    values.next().filter(|value| !value.is_empty())
}

/// None where it is set to something that is not understood here.
fn root_distance_ns(settings: &[String]) -> Option<u64> {
    let Some(text) = last(settings, "RootDistanceMaxSec") else {
        return Some(ROOT_DISTANCE_NS);
    };
    let (digits, unit_ns) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1e6),
        None => (text.strip_suffix('s').unwrap_or(text), 1e9),
    };
    let number: f64 = digits.trim().parse().ok()?;
    (number > 0.0).then(|| (number * unit_ns).ceil() as u64)
}

fn sources(settings: &[String]) -> Vec<TimeSource> {
    const LONGEST: usize = 253;
    let servers = last(settings, "NTP").unwrap_or_default();
    let servers = servers.split_whitespace().take(MOST_SOURCES as usize);
    servers
        .map(|name| TimeSource {
            name: name.chars().take(LONGEST).collect(),
            kind: "server".to_owned(),
            state: "configured".to_owned(),
        })
        .collect()
}
