//! Whether the level, or the number of stalls, changed on the way.

use serde_json::{Map, Value, json};
use tompion_model::format_ns;

use super::{Machine, Question, Section};
use crate::blocks::{Block, Content, Media};
use crate::changes::{Change, LEVEL, LONG_NS, Looked, Quantity};
use crate::data::ReportData;
use crate::figures::{percent, plural, real, times};
use crate::grid::factors_in_words;

pub(super) static ENTRY: Section = Section {
    name: "changes",
    title: "Did it change on the way?",
    question: Some(Question::Trust),
    probe: None,
    blocks,
    machine: Machine::Keys(keys),
};

/// Changes that a terminal shows.
const ON_SCREEN: usize = 5;

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let mut looked_at = 0;
    let mut sentences = Vec::new();
    for looked in data.changes() {
        let Ok(found) = &looked.found else { continue };
        looked_at += 1;
        sentences.extend(found.iter().map(|change| sentence(data, looked, change)));
    }
    if looked_at == 0 {
        let none = format!(
            "Changes were not looked for: across blocks it takes {} of them, within a trial {} of it.",
            tompion_stats::LEAST_FIGURES,
            format_ns(LONG_NS as f64)
        );
        return vec![Content::Text(none).on(Media::NOT_SCREEN)];
    }
    let series = plural(looked_at, "series", "series");
    let of = format!("{looked_at} {series} of blocks, or of stretches of a long trial");
    if sentences.is_empty() {
        return vec![Content::Text(format!("No change found in {of}.")).into()];
    }
    let lead = format!(
        "In {of}. Where nothing changes, one is found in {} of runs at most.",
        percent(LEVEL)
    );
    let mut blocks = vec![Content::Lead(lead).on(Media::NOT_SCREEN)];
    let more = sentences.len().saturating_sub(ON_SCREEN);
    let first: Vec<String> = sentences.iter().take(ON_SCREEN).cloned().collect();
    blocks.push(Content::List(first).on(Media::SCREEN));
    if more > 0 {
        let note = format!("Another {more} are on the page.");
        blocks.push(Content::Note(note).on(Media::SCREEN));
    }
    blocks.push(Content::List(sentences).on(Media::NOT_SCREEN));
    blocks
}

/// For example `usleep, 100 µs, idle: the median of blocks rose by 20 % (15 % to 26 %) 30.0 s into
/// the run (28.0 s to 32.0 s), from 50.1 µs to 60.2 µs (p 0.004).`
fn sentence(data: &ReportData, looked: &Looked, change: &Change) -> String {
    let cell = factors_in_words(&data.cells()[looked.cell].factors);
    let what = match (looked.quantity, looked.block) {
        (Quantity::Median, None) => "the median of blocks".to_owned(),
        (Quantity::Median, Some(block)) => format!("the median within block {block}"),
        (Quantity::StallRate, None) => "the number of stalls of blocks".to_owned(),
        (Quantity::StallRate, Some(block)) => format!("the number of stalls within block {block}"),
    };
    let level = |value: f64| match looked.quantity {
        Quantity::Median => format_ns(value),
        Quantity::StallRate => format!("{} a second", real(value)),
    };
    let seconds = |ns: u64| format!("{:.1} s", ns as f64 / 1e9);
    let (low, high) = change.between_ns;
    // Where no digit tells the ends apart the change is known to the figure.
    let range = match (seconds(low), seconds(high)) {
        (low, high) if low == high => String::new(),
        (low, high) => format!(" ({low} to {high})"),
    };
    let wander = match change.p_wander <= LEVEL {
        true => "",
        false => "; a slow wander may look like this",
    };
    format!(
        "{cell}: {what} {} {} into the run{range}, from {} to {} ({}{wander}).",
        moved(change),
        seconds(change.at_ns),
        level(change.before),
        level(change.after),
        p(change.p),
    )
}

/// For example `rose by 20 % (15 % to 26 %)` or `rose to 3.10× (2.90× to 3.30×)`.
fn moved(change: &Change) -> String {
    let verb = match change.after >= change.before {
        true => "rose",
        false => "fell",
    };
    let Some((ratio, interval)) = change.ratio else {
        return verb.to_owned();
    };
    let by = |ratio: f64| match ratio >= 1.0 {
        true => format!("{:.0} %", (ratio - 1.0) * 100.0),
        false => format!("{:.0} %", (1.0 - ratio) * 100.0),
    };
    let twofold = !(0.5..2.0).contains(&ratio);
    let told = |ratio: f64| match twofold {
        true => times(ratio),
        false => by(ratio),
    };
    let preposition = if twofold { "to" } else { "by" };
    // Of a fall the nearer end first, as of a rise.
    let ends = interval.map(|i| match ratio >= 1.0 || twofold {
        true => (i.low, i.high),
        false => (i.high, i.low),
    });
    let ends = ends.map(|(a, b)| format!(" ({} to {})", told(a), told(b)));
    format!(
        "{verb} {preposition} {}{}",
        told(ratio),
        ends.unwrap_or_default()
    )
}

fn p(p: f64) -> String {
    match p {
        p if p < 0.001 => "p < 0.001".to_owned(),
        p => format!("p {p:.3}"),
    }
}

/// What was looked at, and what was found there.
fn keys(data: &ReportData, keys: &mut Map<String, Value>) {
    let change = |c: &Change, quantity: Quantity| {
        let unit = match quantity {
            Quantity::Median => "ns",
            Quantity::StallRate => "stalls_per_second",
        };
        let interval = c.ratio.and_then(|r| r.1);
        json!({
            "at_ns": c.at_ns,
            "between_ns": c.between_ns,
            format!("before_{unit}"): c.before,
            format!("after_{unit}"): c.after,
            "ratio": c.ratio.map(|r| r.0),
            "ratio_interval": interval.map(|i| json!({ "level": i.level, "low": i.low, "high": i.high })),
            "p": c.p,
            "p_wander": c.p_wander,
        })
    };
    let looked = |l: &Looked| {
        let found = l.found.as_ref();
        json!({
            "cell": data.cells()[l.cell].factors.to_string(),
            "of": match l.quantity {
                Quantity::Median => "median",
                Quantity::StallRate => "stalls",
            },
            "within_block": l.block,
            "figures": l.figures,
            "found": found.ok().map(|all| all.iter().map(|c| change(c, l.quantity)).collect::<Vec<_>>()),
            "not_looked_for": found.err().map(|why| why.to_string()),
        })
    };
    keys.insert(
        "change_points".to_owned(),
        json!({
            "level": LEVEL,
            "series": data.changes().iter().map(looked).collect::<Vec<_>>(),
        }),
    );
}
