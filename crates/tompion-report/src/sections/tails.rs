//! Beyond the samples: extrapolated quantiles.

use tompion_model::format_ns;
use tompion_stats::Extrapolation;

use super::{Machine, Question, Section};
use crate::blocks::{Block, Column, Content, Entry, Label, Media, Row, Table};
use crate::data::{ReportData, Shown};
use crate::figures::{NONE, quantile_name, real};
use crate::grid::factors_in_words;
use crate::tails::{QUANTILES, Tail};

pub(super) static ENTRY: Section = Section {
    name: "tails",
    title: "Beyond the samples: extrapolated",
    question: Some(Question::Late),
    probe: None,
    blocks,
    // Machines find them in the cells.
    machine: Machine::Keys(|_, _| {}),
};

/// Cells that a terminal shows; a page has the others folded.
const OPEN: usize = 6;

const LEAD: &str = "Where there are too few samples for an interval of p99.9 or p99.99, a generalised Pareto distribution is fitted to the \
     largest of them, at most a tenth (peaks over threshold; the interval is by profile likelihood). Few samples or none lie there: what is rarer than \
     all that was seen may have another cause, so that these figures count in no verdict. There are none where the fit fails (Anderson-Darling, p at most 0.1), where large samples come in clusters, or where blocks disagree.";

/// The same on a terminal.
const NOTE: &str = "From a fit of the largest samples, with 95 % intervals; few samples or none lie there, and no verdict goes by it. \
     The page has further cells, and why others are refused.";

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let tails: Vec<(Shown<'_>, &Tail)> = data
        .shown()
        .filter_map(|s| Some((s, s.view.tail.as_ref()?)))
        // Of a handful of samples nobody asks for a p99.9.
        .filter(|(_, tail)| !tail.few)
        .collect();
    let is_told = |tail: &Tail| tail.quantiles.iter().any(|q| q.1.is_ok());
    let (told, refused): (Vec<_>, Vec<_>) = tails.into_iter().partition(|t| is_told(t.1));
    if told.is_empty() && refused.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Content::Lead(LEAD.to_owned()).on(Media::NOT_SCREEN)];
    let (first, more) = told.split_at(told.len().min(OPEN));
    if !first.is_empty() {
        blocks.push(Content::Table(table(first)).into());
        blocks.push(Content::Note(NOTE.to_owned()).on(Media::SCREEN));
    }
    let mut fold = |what: &str, count: usize, table: Table| {
        let fold = Content::fold(
            format!("{what} {count}"),
            false,
            vec![Content::Table(table).into()],
        );
        blocks.push(fold.on(Media::NOT_SCREEN));
    };
    if !more.is_empty() {
        fold("Another", more.len(), table(more));
    }
    if !refused.is_empty() {
        fold("Not extrapolated:", refused.len(), reasons(&refused));
    }
    if first.is_empty() {
        // A terminal hears of what there is, not of all that there is not.
        blocks.iter_mut().for_each(|b| b.media = Media::NOT_SCREEN);
    }
    blocks
}

fn table(tails: &[(Shown<'_>, &Tail)]) -> Table {
    let columns = QUANTILES.map(|q| Column::of(format!("{},\nextrapolated", quantile_name(q))));
    let more = [
        Column::of("expected\nbeyond p99.9").on(Media::NOT_SCREEN),
        Column::of("shape").on(Media::NOT_SCREEN),
        Column::of("p of the fit").on(Media::NOT_SCREEN),
    ];
    let row = |(shown, tail): &(Shown<'_>, &Tail)| {
        let entry = |q: f64| match tail.quantiles.iter().find(|known| known.0 == q) {
            // The samples alone tell it.
            None => Entry::None,
            Some((_, Ok(e))) => Entry::Noted(
                format_ns(e.quantile / 1e3),
                format!(
                    "[{}, {}]",
                    format_ns(e.interval.low / 1e3),
                    format_ns(e.interval.high / 1e3)
                ),
            ),
            Some((_, Err(why))) => {
                Entry::Remarked(NONE.to_owned(), format!("not extrapolated: {why}"))
            }
        };
        let fit = tail.quantiles.iter().find_map(|q| q.1.as_ref().ok());
        let of = |of: fn(&Extrapolation) -> f64| Entry::from(fit.map(|e| format!("{:.2}", of(e))));
        let beyond = fit.map(|e| real(e.expected_beyond / (1.0 - e.q) * (1.0 - QUANTILES[0])));
        let more = [beyond.into(), of(|e| e.shape), of(|e| e.fit_p)];
        Row::new(
            label(shown, tail),
            QUANTILES.map(entry).into_iter().chain(more).collect(),
        )
    };
    Table::of(
        "Cell",
        columns.into_iter().chain(more).collect(),
        tails.iter().map(row).collect(),
    )
}

/// Why there are none of these.
fn reasons(refused: &[(Shown<'_>, &Tail)]) -> Table {
    let row = |(shown, tail): &(Shown<'_>, &Tail)| {
        let why = tail.quantiles.iter().find_map(|q| q.1.as_ref().err());
        Row::new(label(shown, tail), vec![why.cloned().into()])
    };
    let rows = refused.iter().map(row).collect();
    Table::of("Cell", vec![Column::words("because")], rows)
}

fn label(shown: &Shown<'_>, tail: &Tail) -> Label {
    let filled = match tail.filled {
        true => "missed periods filled in",
        false => "",
    };
    Label {
        name: factors_in_words(&shown.cell.factors),
        variant: filled.to_owned(),
        short: filled.to_owned(),
        notes: Vec::new(),
    }
}
