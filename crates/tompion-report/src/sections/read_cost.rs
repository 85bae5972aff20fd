//! What it costs to read a clock.

use crate::grid::ProbeWords;
use tompion_model::factor;
use tompion_probe::read_cost;

use super::{Machine, Probe, Question, Section, measured, opening};
use crate::blocks::{Block, Tile};
use crate::data::{CellView, ReportData, Shown};
use crate::grid::{factors_in_words, sort_loads};

pub(super) static ENTRY: Section = Section {
    name: "read-cost",
    title: "Read cost",
    question: Some(Question::Clock),
    probe: Some(&Probe {
        words: PROBE,
        outcome,
        tiles,
    }),
    blocks,
    // Machines find it in the cells.
    machine: Machine::Keys(|_, _| {}),
};

const PROBE: ProbeWords<'static> = ProbeWords {
    name: read_cost::NAME,
    title: "Read cost",
    target: "target",
};

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    measured::section(
        data,
        PROBE,
        "What it costs to ask a clock for the time (the papers’ “timer cost”). “Per read” comes from reads timed in batches. \
         The other columns are single reads between two readings of the counter; they contain the probe’s own cost, \
         printed as floor, and nothing is subtracted.",
    )
}

/// The median of a read, from batches where there are any.
fn read_ns(view: &CellView) -> Option<f64> {
    let summary = view.batched.as_ref().or(view.measured.as_ref())?;
    Some(summary.median_ns)
}

fn outcome(_: &ReportData, cells: &[Shown<'_>], _: &str) -> Option<String> {
    let mut reads: Vec<(f64, &Shown<'_>)> = cells
        .iter()
        .filter_map(|s| Some((read_ns(s.view)?, s)))
        .collect();
    reads.sort_by(|a, b| a.0.total_cmp(&b.0));
    let words = |(_, s): &(f64, &Shown<'_>)| {
        let median = s.view.read_median().unwrap_or_default();
        format!("{median} with {}", opening::name(s))
    };
    Some(match (reads.first()?, reads.last()?) {
        (only, _) if reads.len() == 1 => format!("a read takes {} (median).", words(only)),
        (cheapest, dearest) => format!(
            "a read takes from {} to {} (medians).",
            words(cheapest),
            words(dearest)
        ),
    })
}

fn tiles(data: &ReportData) -> Vec<Tile> {
    // A clock that ticks in milliseconds is cheap to read and of no use here.
    let fine = |s: &Shown<'_>| {
        let mut steps = s.cell.measurements.iter().filter_map(|m| m.granularity);
        steps.all(|g| g.smallest_step_ns < 1_000.0)
    };
    let cheapest = at_rest(data, PROBE.name)
        .into_iter()
        .filter(fine)
        .filter_map(|s| Some((read_ns(s.view)?, s)))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let tile = |(_, s): (f64, Shown<'_>)| Tile {
        what: "Cheapest read of a fine clock",
        value: s.view.read_median().unwrap_or_default(),
        of: factors_in_words(&s.cell.factors),
    };
    cheapest.map(tile).into_iter().collect()
}

/// The cells of a probe under the calmest load of the run.
pub(super) fn at_rest<'a>(data: &'a ReportData, probe: &str) -> Vec<Shown<'a>> {
    let cells = data.cells().iter();
    let mut loads: Vec<&str> = cells.map(|c| c.factors.level(factor::LOAD)).collect();
    sort_loads(&mut loads);
    let calmest = loads.first().copied().unwrap_or_default();
    data.shown()
        .filter(|s| s.cell.factors.level(factor::PROBE) == probe)
        .filter(|s| s.cell.factors.level(factor::LOAD) == calmest)
        .collect()
}
