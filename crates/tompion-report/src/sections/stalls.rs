//! Stalls: where the time went, patterns, lengths and times.

use crate::grid::ProbeWords;
use std::rc::Rc;
use tompion_probe::stalls;

use tompion_cause::Cause;
use tompion_model::{CauseTotal, format_ns};

use super::measured::distributions::heading;
use super::measured::{introduction, short, statistics};
use super::{Machine, Probe, Question, Section, measured};
use crate::blocks::{Block, Column, Content, Entry, Figure, Layout, Media, Row, Table};
use crate::causes::by_name;
use crate::data::{ReportData, Shown};
use crate::disturbed::cause_in_words;
use crate::figures::{capital, count, percent, plural};
use crate::grid::{Grid, grids};
use crate::plot::trace::Band;
use crate::plot::{Look, histogram, trace};
use crate::stalls::{StallsView, cause_and_by, ranked, sentences};

pub(super) static ENTRY: Section = Section {
    name: "stalls",
    title: "Stalls",
    question: Some(Question::Lost),
    probe: Some(&Probe {
        words: PROBE,
        outcome,
        tiles: |_| Vec::new(),
    }),
    blocks,
    // Machines find them in the cells.
    machine: Machine::Keys(|_, _| {}),
};

const PROBE: ProbeWords<'static> = ProbeWords {
    name: stalls::NAME,
    title: "Stalls",
    target: "target",
};

/// Causes that have a band of their own over time; the rest share the last.
const BANDS: usize = 7;

/// Causes of a load that a terminal shows.
const ON_SCREEN: usize = 8;

const ABOUT: &str = "A busy loop reads the time again and again; where an iteration takes longer than the threshold, the loop stood still \
     (the “clock tick processing duration” of Perneel et al. 2015). Every stall is divided into parts by cause. \
     The parts add up to the time lost; what the evidence does not tell is called unknown.";

/// One load and variant with its stalls.
#[derive(Clone)]
struct One<'a> {
    name: String,
    shown: Shown<'a>,
    stalls: &'a StallsView,
}

fn all<'a>(grid: &Grid<'a>) -> Vec<One<'a>> {
    let mut all = Vec::new();
    for (i, load) in grid.loads.iter().enumerate() {
        for row in &grid.rows {
            if let Some(shown) = row.by_load[i]
                && let Some(stalls) = &shown.view.stalls
            {
                let mut name = heading(load);
                if !row.variant.is_empty() {
                    name = format!("{name}, {}", row.variant);
                }
                all.push(One {
                    name,
                    shown,
                    stalls,
                });
            }
        }
    }
    all
}

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let grids = grids(data, PROBE);
    if grids.iter().all(|g| all(g).is_empty()) {
        // Values that another program recorded under this name.
        return measured::section(data, PROBE, ABOUT);
    }
    let mut blocks = introduction(data, PROBE.name, ABOUT);
    let tick_hz = data.record().header.environment.kernel.tick_rate_hz;
    for grid in grids {
        blocks.push(part(&grid, tick_hz));
    }
    blocks
}

fn part<'a>(grid: &Grid<'a>, tick_hz: Option<u32>) -> Block<'a> {
    let all = all(grid);
    let mut blocks: Vec<Block<'a>> =
        vec![Content::Heading("Where the time went".to_owned()).into()];
    let mut said: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for one in &all {
        blocks.push(Content::Subheading(one.name.clone()).into());
        blocks.push(Content::Text(format!("{}.", capital(&one.stalls.in_words()))).into());
        blocks.push(Content::Note(format!("{}.", one.stalls.coverage_in_words())).into());
        blocks.extend(causes(one.stalls).map(|table| Content::Table(table).into()));
        let patterns = sentences(&one.stalls.structure, tick_hz);
        if !patterns.is_empty() {
            blocks.push(Content::List(patterns).into());
        }
        let evidence = one.stalls.evidence.sentences();
        match said.iter_mut().find(|s| s.1 == evidence) {
            Some((names, _)) => names.push(&one.name),
            None => said.push((vec![&one.name], evidence)),
        }
    }
    let alone = said.len() == 1;
    for (names, evidence) in &said {
        let evidence = evidence.join(" ");
        let text = match alone {
            true => evidence,
            false => format!("{}: {evidence}", names.join("; ")),
        };
        blocks.push(Content::Note(text).into());
    }
    blocks.push(Content::Table(short(grid)).on(Media::TEXT));
    let threshold = threshold_in_words(all.iter().map(|o| o.stalls.total.threshold_ns));
    let plots = [
        Content::Heading("How long do iterations take?".to_owned()),
        Content::Lead(format!(
            "All iterations in two-level binary bins, counts on a logarithmic axis with their share of all iterations, \
             as in Perneel et al. 2015, figure 5; of several blocks each counts as if it had as many. The threshold of a stall is {threshold}."
        )),
        Content::Figures(Layout::SideBySide, lengths(grid, &all)),
        Content::Heading("Stalls over time".to_owned()),
        Content::Lead(
            "Each stall at its beginning, in the band of the cause of its greatest part. The data are thinned cause by cause: \
             each column of time shows the shortest and the longest stall with the range between them, and a few others."
                .to_owned(),
        ),
        Content::Figures(Layout::Below, over_time(grid, &all)),
    ];
    blocks.extend(plots.map(|content| content.on(Media::PAGE)));
    blocks.push(statistics(grid));
    Content::part(grid.anchor(), None, blocks).into()
}

/// A row for each cause and who it was; nothing where no time was lost.
fn causes(stalls: &StallsView) -> Option<Table> {
    let shares = |ns: u64| {
        let of_lost = stalls.share_of_lost(ns);
        let entries = [
            format_ns(ns as f64),
            percent(of_lost),
            percent(of_lost * stalls.lost_share()),
        ];
        entries.map(Entry::Text)
    };
    let row = |label: String, ns: u64, parts: u64, longest_ns: Option<u64>| {
        let longest = longest_ns.map(|ns| format_ns(ns as f64));
        let more = [Entry::Text(count(parts)), longest.into()];
        Row::new(label, shares(ns).into_iter().chain(more).collect())
    };
    let causes = by_name(&stalls.causes());
    let (shown, further) = causes.split_at(causes.len().min(ON_SCREEN));
    let of_cause = |c: &CauseTotal| {
        let label = cause_and_by(c.cause, c.by.as_deref());
        row(label, c.ns, c.parts, Some(c.longest_ns))
    };
    let mut rows: Vec<Row> = shown.iter().map(of_cause).collect();
    rows.extend(further.iter().map(|c| of_cause(c).on(Media::NOT_SCREEN)));
    if !further.is_empty() {
        let n = further.len() as u64;
        let label = format!("{} more {}", count(n), plural(n, "cause", "causes"));
        let sum = |of: fn(&CauseTotal) -> u64| further.iter().map(of).sum();
        let longest_ns = further.iter().map(|c| c.longest_ns).max();
        rows.push(row(label, sum(|c| c.ns), sum(|c| c.parts), longest_ns).on(Media::SCREEN));
    }
    if stalls.without_cause_ns() > 0 {
        let label = "no room for a cause".to_owned();
        rows.push(row(
            label,
            stalls.without_cause_ns(),
            stalls.total.rows_lost,
            None,
        ));
    }
    (!rows.is_empty()).then(|| {
        Table::of(
            "Cause",
            vec![
                Column::of("lost"),
                Column::of("of lost"),
                Column::of("of all time").on(Media::NOT_SCREEN),
                Column::of("parts"),
                Column::of("longest"),
            ],
            rows,
        )
    })
}

/// One histogram a load; all share their axes.
fn lengths<'a>(grid: &Grid<'a>, all: &[One<'a>]) -> Vec<Figure<'a>> {
    let bins: Vec<_> = all.iter().flat_map(|o| &o.shown.view.bins).collect();
    let axes = Rc::new(histogram::ranges(bins.into_iter()));
    let figure = |one: &One<'a>| {
        let (bins, axes) = (&one.shown.view.bins, Rc::clone(&axes));
        Figure {
            title: one.name.clone(),
            label: format!("{}, {}: iterations by length", grid.title(), one.name),
            draw: Box::new(move |label| histogram::draw(bins, &axes, label)),
            keys: Vec::new(),
            values: None,
            notes: Vec::new(),
            wide: false,
        }
    };
    all.iter().map(figure).collect()
}

/// One trace a load; all share the axis of lengths and the colours of causes.
fn over_time<'a>(grid: &Grid<'a>, all: &[One<'a>]) -> Vec<Figure<'a>> {
    let range = trace::range(all.iter().flat_map(|o| &o.stalls.traces));
    let ranked: Vec<Cause> = ranked(all.iter().map(|o| o.stalls));
    let (own, rest) = ranked.split_at(ranked.len().min(BANDS));
    let bands = |one: &One<'_>| -> Vec<Band> {
        let drawn = |c: &&Cause| one.stalls.traces.iter().any(|t| t.by_cause.contains_key(c));
        let band = |look, causes: Vec<Cause>| {
            let names: Vec<&str> = causes.iter().map(|c| cause_in_words(*c)).collect();
            let name = names.join(", ");
            Band { name, look, causes }
        };
        let named = own.iter().enumerate().filter(|(_, c)| drawn(c));
        let mut bands: Vec<Band> = named
            .map(|(rank, c)| band(Look::of(rank, 0), vec![*c]))
            .collect();
        let others: Vec<Cause> = rest.iter().filter(drawn).copied().collect();
        if !others.is_empty() {
            bands.push(band(Look::of(BANDS, 0), others));
        }
        bands
    };
    let seen = |one: &&One<'_>| one.stalls.traces.iter().any(|t| !t.by_cause.is_empty());
    let figure = |one: &One<'a>| {
        let (traces, range, bands) = (&one.stalls.traces, range.clone(), bands(one));
        Figure {
            title: one.name.clone(),
            label: format!(
                "{}, {}: length of each stall over time by cause",
                grid.title(),
                one.name
            ),
            draw: Box::new(move |label| trace::draw(traces, &range, &bands, label)),
            keys: Vec::new(),
            values: None,
            notes: Vec::new(),
            wide: true,
        }
    };
    all.iter().filter(seen).map(figure).collect()
}

/// The threshold of all loops, or from which to which theirs are.
fn threshold_in_words(of_loops: impl Iterator<Item = u64> + Clone) -> String {
    let (least, most) = (of_loops.clone().min(), of_loops.max());
    let [least, most] = [least, most].map(|ns| format_ns(ns.unwrap_or(0) as f64));
    match least == most {
        true => most,
        false => format!("{least} to {most}, by loop"),
    }
}

fn outcome(_: &ReportData, cells: &[Shown<'_>], _: &str) -> Option<String> {
    let views: Vec<&StallsView> = cells
        .iter()
        .filter_map(|s| s.view.stalls.as_ref())
        .collect();
    let sum = |of: fn(&StallsView) -> u64| views.iter().map(|v| of(v)).sum::<u64>();
    let (lost_ns, observed_ns) = (sum(|v| v.total.lost_ns), sum(|v| v.total.observed_ns));
    if views.is_empty() {
        return None;
    }
    let threshold = threshold_in_words(views.iter().map(|v| v.total.threshold_ns));
    let observed = format_ns(observed_ns as f64);
    let stalls = sum(|v| v.total.stalls);
    let on = match views.len() {
        1 => String::new(),
        n => format!(" in {n} loops"),
    };
    if stalls == 0 {
        return Some(format!(
            "no stall of more than {threshold} was seen in {observed}{on}."
        ));
    }
    let longest = views
        .iter()
        .max_by(|a, b| a.longest_ns.total_cmp(&b.longest_ns))?;
    let mostly = longest
        .longest_cause
        .map(|cause| format!(" ({})", cause_in_words(cause)));
    let share = lost_ns as f64 / observed_ns.max(1) as f64;
    let causes: Vec<_> = views.iter().flat_map(|v| v.causes()).collect();
    let main = by_name(&causes).into_iter().next().map(|c| {
        format!(
            "; {} of the time lost: {}",
            percent(c.ns as f64 / lost_ns.max(1) as f64),
            cause_and_by(c.cause, c.by.as_deref())
        )
    });
    Some(format!(
        "{} of the time was lost ({} of {observed}{on}) in {} {} of more than {threshold}, the \
         longest {}{}{}.",
        percent(share),
        format_ns(lost_ns as f64),
        count(stalls),
        plural(stalls, "stall", "stalls"),
        format_ns(longest.longest_ns),
        mostly.unwrap_or_default(),
        main.unwrap_or_default(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_of_one_loop_is_not_told_as_that_of_all() {
        let told = |of_loops: &[u64]| threshold_in_words(of_loops.iter().copied());
        assert_eq!(told(&[10_000, 10_000]), format_ns(1e4));
        let range = format!("{} to {}, by loop", format_ns(1e4), format_ns(36e11));
        assert_eq!(told(&[10_000, 3_600_000_000_000, 10_000]), range);
    }
}
