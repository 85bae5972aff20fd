//! Round trips by vantage point, and what lies between these.

use std::collections::BTreeMap;

use tompion_model::{Factors, factor, format_ns};
use tompion_path::stamps::recorded;
use tompion_path::trust::FEWEST;

use super::measured::{self, distributions::heading};
use super::{Machine, Probe, Question, Section};
use crate::blocks::{Block, Column, Content, Entry, Media, Row, Table};
use crate::data::{ReportData, Shown};
use crate::figures::{count, percent, plural, signed_ns};
use crate::grid::{Grid, ProbeWords, grids, variant};
use crate::packet_delay::{PacketsView, Times};

pub(super) static ENTRY: Section = Section {
    name: recorded::NAME,
    title: "Packet delay",
    question: Some(Question::Lost),
    probe: Some(&Probe {
        words: PROBE,
        outcome,
        tiles: |_| Vec::new(),
    }),
    blocks,
    // Machines find it in the cells.
    machine: Machine::Keys(|_, _| {}),
};

const PROBE: ProbeWords<'static> = ProbeWords {
    name: recorded::NAME,
    title: "Packet delay",
    target: "interval",
};

const ABOUT: &str = "How long packets to another machine and back take, as seen from several places of this machine: from \
     `user`, as programs see it; from `qdisc`, the queue of the network device; and from `kernel`, where the driver takes and \
     gives packets (the method of Whiteaker et al. 2011). The far end's stay is a part of each. `path` is the last without that stay, of \
     probes that nothing held up at either end. A probe that was lost has no value.";

/// How to read what follows the round trips.
const READING: &str = "What lies between two vantage points is the difference of their round trips, probe by probe. The far end's stay is by its \
     own clock; the path is the outermost round trip without it. PDV is that less its smallest of the trial, IPDV less that of the \
     probe before (RFC 5481). Each trial weighs the same.";

/// Samples without which a p99 says nothing.
const FOR_P99: u64 = 100;

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let mut blocks = measured::section(data, PROBE, ABOUT);
    let mut is_first = true;
    for grid in grids(data, PROBE) {
        let parts = split(&grid);
        if parts.is_empty() {
            continue;
        }
        let title = match grid.target {
            Some(_) => format!("What lies between, {}", grid.title().to_lowercase()),
            None => "What lies between".to_owned(),
        };
        let anchor = format!("{}-between", grid.anchor());
        let mut all: Vec<Block<'_>> = Vec::new();
        if std::mem::take(&mut is_first) {
            all.push(Content::Lead(READING.to_owned()).on(Media::NOT_SCREEN));
        }
        all.extend(parts);
        blocks.push(Content::part(anchor, Some(title), all).into());
    }
    blocks
}

/// Every cell that has a table of stamps, load by load.
fn split<'a>(grid: &Grid<'a>) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    let method = grid.rows.first().map(|row| row.method);
    let several = grid.rows.iter().any(|row| Some(row.method) != method);
    for (i, load) in grid.loads.iter().enumerate() {
        // The table is that of all vantage points.
        let mut together: Vec<(Factors, &str, Vec<Shown<'a>>)> = Vec::new();
        let mut places: BTreeMap<Factors, usize> = BTreeMap::new();
        for row in &grid.rows {
            let Some(shown) = row.by_load[i] else {
                continue;
            };
            let own = seen_by_all(&shown);
            let at = *places.entry(own.clone()).or_insert(together.len());
            match together.get_mut(at) {
                Some((_, _, all)) => all.push(shown),
                None => together.push((own, row.method, vec![shown])),
            }
        }
        for (own, method, same) in together {
            let Some(view) = same.iter().find_map(table_of) else {
                continue;
            };
            let mut name = heading(load);
            let variant = variant(&own);
            if several {
                name = format!("{name}, {method}");
            }
            if !variant.is_empty() {
                name = format!("{name}, {variant}");
            }
            blocks.push(Content::Subheading(name).into());
            blocks.push(Content::Text(counts(view)).into());
            if !view.times.is_empty() {
                blocks.push(Content::Table(table(view)).into());
            }
            let notes = notes(view).into_iter().chain(left_out(&same));
            let notes = notes.chain(missing(&same));
            blocks.extend(notes.map(|note| Content::Note(note).into()));
        }
    }
    blocks
}

/// A cell's key without the place that it is seen from.
fn seen_by_all(shown: &Shown<'_>) -> Factors {
    shown.cell.factors.clone().without(factor::VANTAGE)
}

/// What the figures of the path leave out, and whether they stand for all.
fn left_out(cells: &[Shown<'_>]) -> Option<String> {
    let is_path = |s: &&Shown<'_>| s.cell.factors.level(factor::VANTAGE) == recorded::PATH;
    let of_path = cells.iter().find(is_path)?;
    let probes = &of_path.view.packets.as_ref()?.probes;
    let left_out = probes.left_out?;
    let judged = probes.answered.saturating_sub(probes.without_value);
    let clean = judged.saturating_sub(left_out);
    let few = match 2 * clean >= judged && clean >= FEWEST as u64 {
        true => "",
        false => " So few do not stand for all: what the path takes is inconclusive.",
    };
    Some(format!(
        "The path is that of {} clean {} of {}; {} held up at one of the two ends, or in a block of time in which most \
         were.{few}",
        count(clean),
        plural(clean, "probe", "probes"),
        count(judged),
        match left_out {
            0 => "none was".to_owned(),
            1 => "1 was".to_owned(),
            n => format!("{} were", count(n)),
        },
    ))
}

/// Which stamps answered probes lack, each once.
fn missing(cells: &[Shown<'_>]) -> Option<String> {
    let views = cells.iter().filter_map(|s| s.view.packets.as_ref());
    let mut all: Vec<String> = views
        .flat_map(|view| &view.probes.missing)
        .map(|m| format!("{} of {} ({})", m.place, count(m.probes), m.why))
        .collect();
    all.sort();
    all.dedup();
    let all = all.join(", ");
    (!all.is_empty()).then(|| format!("Stamps that answered probes lack: {all}."))
}

/// What was found of the stamps of a cell that has their table.
fn table_of<'a>(shown: &Shown<'a>) -> Option<&'a PacketsView> {
    let view = shown.view.packets.as_ref()?;
    let has_table = !view.times.is_empty() || view.unread.is_some();
    has_table.then_some(view)
}

/// What became of the probes, in a sentence.
fn counts(view: &PacketsView) -> String {
    let probes = &view.probes;
    let share = view
        .lost_share()
        .map_or(String::new(), |share| format!(" ({})", percent(share)));
    let mut text = format!(
        "{} {} of {} bytes each {}{}: {} answered, {} lost{share}",
        count(probes.due),
        plural(probes.due, "probe", "probes"),
        probes.bytes,
        format_ns(probes.interval_ns as f64),
        match probes.schedule.as_str() {
            "poisson" => " on average, at random times",
            _ => "",
        },
        count(probes.answered),
        count(probes.lost),
    );
    if view.longest_loss > 1 {
        text.push_str(&format!(", up to {} in a row", count(view.longest_loss)));
    }
    if probes.late_replies > 0 {
        let late = count(probes.late_replies);
        let timeout = format_ns(probes.timeout_ns as f64);
        text.push_str(&format!(", {late} of them answered after {timeout}"));
    }
    if probes.not_sent > 0 {
        text.push_str(&format!(", {} not sent", count(probes.not_sent)));
    }
    format!(
        "{text}; {} {}, {} reordered.",
        count(probes.duplicates),
        plural(probes.duplicates, "duplicate", "duplicates"),
        count(probes.reordered),
    )
}

fn table(view: &PacketsView) -> Table {
    let row = |times: &Times| {
        let all = times.distribution();
        let time = |ns: Option<f64>| Entry::from(ns.map(ns_or_signed));
        let label = match times.is_part {
            true => format!("  {}", times.name.rsplit(", ").next().unwrap_or_default()),
            false => times.name.clone(),
        };
        let has_p99 = all.len() >= FOR_P99;
        Row::new(
            label,
            vec![
                count(all.len()).into(),
                time(all.min().map(|ns| ns as f64)),
                time(all.median()),
                time(all.quantile(0.99).filter(|_| has_p99)),
                time(all.max().map(|ns| ns as f64)),
            ],
        )
    };
    let mut columns = vec![Column::of("probes").on(Media::NOT_SCREEN)];
    columns.extend(Column::all(["min", "median", "p99", "max"]));
    Table::of("Between", columns, view.times.iter().map(row).collect())
}

/// A time; one below zero with its sign.
fn ns_or_signed(ns: f64) -> String {
    match ns < 0.0 {
        true => signed_ns(ns),
        false => format_ns(ns),
    }
}

fn notes(view: &PacketsView) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some((trials, why)) = &view.unread {
        notes.push(format!(
            "The table of stamps of {trials} {} cannot be read: {why}.",
            plural(u64::from(*trials), "trial", "trials")
        ));
    }
    if let Some(share) = view.rounded_to() {
        notes.push(format!(
            "Of very many times neighbours are taken together: each quantile is right within {} of them.",
            percent(share)
        ));
    }
    if view.no_room > 0 {
        let trials = u64::from(view.no_room);
        notes.push(format!(
            "The times of {} further {} are not here: the run has more than a report keeps.",
            count(trials),
            plural(trials, "trial", "trials")
        ));
    }
    if view.more_kinds {
        notes.push("There are more vantage points than are told here.".to_owned());
    }
    if view.times.iter().any(|t| t.name == "far end's stay") {
        notes.push(format!(
            "The far end's stay ends with its kernel's transmit stamp in {} of {} replies, else with its program's; beside replies that \
             waited in its queue it is not known then.",
            count(view.followed_up),
            count(view.probes.answered)
        ));
    }
    notes.extend(view.remarks.iter().cloned());
    notes
}

/// How long a round trip took in the program, and how much of that beyond the driver.
fn outcome(_: &ReportData, cells: &[Shown<'_>], _: &str) -> Option<String> {
    let median = |vantage: &str| {
        let seen = |s: &&Shown<'_>| s.cell.factors.level(factor::VANTAGE) == vantage;
        let shown = cells.iter().find(seen)?;
        shown.view.plotted().map(|m| m.median_ns)
    };
    let user = median("user")?;
    let lost = cells
        .iter()
        .find_map(table_of)
        .and_then(PacketsView::lost_share);
    let lost = match lost {
        Some(share) if share > 0.0 => format!(", {} of the probes were lost", percent(share)),
        _ => String::new(),
    };
    Some(match median("kernel") {
        Some(kernel) => format!(
            "a round trip took {} in the program, of which {} from driver to driver (medians){lost}.",
            format_ns(user),
            format_ns(kernel)
        ),
        None => format!(
            "a round trip took {} in the program (median){lost}.",
            format_ns(user)
        ),
    })
}
