//! A comparison of runs.

mod json;
mod sentences;
pub(crate) mod words;

use std::collections::BTreeSet;

use tompion_assess::compare::{
    Beside, BesideRow, Comparison, Difference, Judged, Judgement, Mismatch, Row as Compared,
    Verdict,
};
use tompion_assess::verdict::Outcome;
use tompion_model::{factor, format_ns};

use crate::blocks::{Block, Column, Content, Entry, Row, Table};
use crate::figures::{count, plural, times};
use crate::grid::factors_in_words;
use crate::screen::printed;
pub use json::compare_json;

/// Values of an environment longer than this are cut.
const WIDEST: usize = 36;

/// Remarks shown of each run, what matters most first; a lab of many platforms has dozens.
const REMARKS: usize = 8;

/// A comparison with everything that is shown of it.
#[derive(Debug)]
pub struct CompareView {
    /// Problems of the runs, each with the run's name.
    pub remarks: Vec<(String, String)>,
    /// What differs in the environments.
    pub environment: Vec<Difference>,
    /// Parameters of probes that differ, where comparing was asked for all the same.
    pub mismatches: Vec<Mismatch>,
    /// The factor whose levels within one run are compared; `None` for runs.
    pub by: Option<String>,
    /// The sides cell by cell; `None` where one run stands beside published figures
    /// alone.
    pub comparison: Option<Comparison>,
    /// Gates and what they say.
    pub gates: Vec<Judged>,
    /// Runs beside published figures.
    pub beside: Vec<Beside>,
}

/// A comparison for a terminal of `width` columns (at least 40 are used).
pub fn compare_text(view: &CompareView, width: usize, color: bool) -> String {
    printed(width, color, &blocks(view))
}

fn blocks(view: &CompareView) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for of_run in view.remarks.chunk_by(|a, b| a.0 == b.0) {
        let shown = of_run.iter().take(REMARKS);
        blocks.extend(shown.map(|(run, text)| warning(format!("{run}: {text}"))));
        if let more @ 1.. = of_run.len().saturating_sub(REMARKS) {
            let run = &of_run[0].0;
            blocks.push(warning(format!(
                "{run}: and {more} more, in --json and in the run's report"
            )));
        }
    }
    if let Some(all) = &view.comparison {
        blocks.extend(head(view, all));
        blocks.extend(rows(all));
        blocks.extend(sentences::sentences(all));
    }
    blocks.extend(view.beside.iter().flat_map(published));
    if let Some(all) = &view.comparison
        && !view.gates.is_empty()
    {
        blocks.extend(gates(view, &all.sides));
    }
    blocks
}

fn warning<'a>(text: String) -> Block<'a> {
    Content::Warning(text).into()
}

/// `A`, `B`, ... of a side, which its columns are headed by.
fn letter(side: usize) -> String {
    match u8::try_from(side) {
        Ok(n) if n < 26 => char::from(b'A' + n).to_string(),
        _ => format!("S{}", side + 1),
    }
}

fn head<'a>(view: &CompareView, all: &Comparison) -> Vec<Block<'a>> {
    let kind = match &view.by {
        Some(by) => format!("Levels of {by} compared, paired by block"),
        None => "Runs compared".to_owned(),
    };
    let sides = all.sides.iter().enumerate();
    let (replicates, own) = match all.of_runs {
        true => ("runs", "the middle one of the runs' figures"),
        false => (
            "trials",
            "the cell's own figure, each block weighing the same",
        ),
    };
    let how = format!(
        "Replicates are {replicates}. A, B: {own}; change: the middle of all \
         differences between {}, which need not be that of the two, with the {} interval of this \
         comparison alone{}; A < B: share of {} in which B is the larger; p: \
         by permutation of {replicates}{}, adjusted by Holm's method within each probe, method \
         and load; 2 of 6 there: replicates that there are, of those needed{}.{}",
        if all.paired {
            "trials of a block"
        } else {
            replicates
        },
        words::confidence(all.level),
        if all.paired {
            ""
        } else {
            ", which allows for drift"
        },
        match (all.paired, all.of_runs) {
            (true, _) => "blocks",
            (false, true) => "pairs of runs",
            (false, false) => "pairs of trials",
        },
        if all.paired {
            ""
        } else {
            ", or beside a trend through both sides if that is larger"
        },
        match all
            .rows
            .iter()
            .any(|r| matches!(r.verdict, Verdict::Drifts(..)))
        {
            true => "; drift there: with drift allowed for, p is above the level",
            false => "",
        },
        match (all.paired, all.of_runs) {
            (true, _) => "",
            (false, true) => {
                " Sides whose runs were not measured by turns differ in all that changed meanwhile, too."
            }
            (false, false) => {
                " One run a side: whatever else changed from run to run is in the difference, \
                 too. Several runs a side (A1,A2,... B1,B2,...), or turns (--by, --switch), tell these apart."
            }
        },
    );
    let mut blocks: Vec<Block<'a>> = vec![
        Content::Answer(vec![kind]).into(),
        Content::List(
            sides
                .map(|(i, side)| format!("{} = {side}", letter(i)))
                .collect(),
        )
        .into(),
        Content::Note(how).into(),
    ];
    if view.by.is_none() {
        blocks.extend(environment(&view.environment, all.sides.len()));
    }
    blocks.extend(view.mismatches.iter().map(|m| {
        warning(format!(
            "{}: measured differently: {}: {} ({}), {} ({})",
            m.cell, m.what, m.values.0, m.sides.0, m.values.1, m.sides.1
        ))
    }));
    if let Some((cell, sides)) = all.partial.first() {
        let n = all.partial.len() as u64;
        let text = format!(
            "{} {} not on all sides, for example {cell} (only {}).",
            count(n),
            plural(n, "cell is", "cells are"),
            sides.join(", ")
        );
        blocks.push(Content::Text(text).into());
    }
    blocks
}

fn environment<'a>(found: &[Difference], sides: usize) -> Vec<Block<'a>> {
    if found.is_empty() {
        return vec![Content::Text("The environments do not differ.".to_owned()).into()];
    }
    let row = |d: &Difference| {
        let values = d.values.iter().map(|v| v.as_deref().map(cut).into());
        Row::new(d.what.clone(), values.collect())
    };
    let table = Table::of(
        "",
        (0..sides).map(letter).map(Column::of).collect(),
        found.iter().map(row).collect(),
    );
    vec![
        Content::Heading("What differs in the environment".to_owned()).into(),
        Content::Table(table).into(),
    ]
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(WIDEST) {
        Some((at, _)) => format!("{}\u{2026}", &text[..at]),
        None => text.to_owned(),
    }
}

/// A table for each probe and pair of sides.
fn rows<'a>(all: &Comparison) -> Vec<Block<'a>> {
    let probe = |r: &Compared| r.cell.level(factor::PROBE).to_owned();
    // In the order in which they come first: a check measures them by turns.
    let mut seen = BTreeSet::new();
    let mut probes: Vec<String> = all.rows.iter().map(probe).collect();
    probes.retain(|name| seen.insert(name.clone()));
    let mut blocks = Vec::new();
    for name in probes {
        let of_probe: Vec<&Compared> = all.rows.iter().filter(|r| probe(r) == name).collect();
        let mut pairs: Vec<(usize, usize)> = of_probe.iter().map(|r| r.sides).collect();
        pairs.sort_unstable();
        pairs.dedup();
        for (i, j) in pairs {
            let (a, b) = (letter(i), letter(j));
            let of_pair: Vec<&Compared> = of_probe
                .iter()
                .filter(|r| r.sides == (i, j))
                .copied()
                .collect();
            let mut rows = Vec::new();
            for of_cell in of_pair.chunk_by(|x, y| x.cell == y.cell) {
                rows.push(Row::heading(factors_in_words(&of_cell[0].cell)));
                rows.extend(of_cell.iter().map(|row| line(all, row)));
            }
            let turned = of_pair
                .iter()
                .filter(|row| words::has_other_sign(row))
                .count() as u64;
            let smaller = format!("{a} < {b}");
            let titles = [&a, &b, "change", "interval", "relative", &smaller, "p  "];
            let table = Table::of("Cell", Column::all(titles), rows).by("cell");
            blocks.push(Content::Heading(format!("{}: {b} against {a}", title(&name))).into());
            blocks.push(Content::Table(table).into());
            if turned > 0 {
                let text = format!(
                    "In {} {} the change goes {}.",
                    count(turned),
                    plural(turned, "row", "rows"),
                    words::other_sign(all, (a.as_str(), b.as_str())),
                );
                blocks.push(Content::Note(text).into());
            }
        }
    }
    blocks
}

/// `wake-up` as a heading: `Wake-up`.
fn title(probe: &str) -> String {
    let mut letters = probe.chars();
    letters
        .next()
        .map_or_else(String::new, |c| c.to_uppercase().chain(letters).collect())
}

fn line(all: &Comparison, row: &Compared) -> Row {
    let value = |v: Option<f64>| Entry::from(v.map(|v| words::value(row.figure, v)));
    let mut entries = vec![value(row.values.0), value(row.values.1)];
    match &row.verdict {
        Verdict::Found(f) => {
            let star = if row.differs(all.level) { " *" } else { "  " };
            entries.extend([
                Entry::Text(words::change(row.figure, f.shift)),
                Entry::Text(words::changes(row.figure, f.interval)),
                f.ratio.map(|(r, _)| words::relative(r)).into(),
                Entry::Text(format!("{:.2}", f.a_hat)),
                Entry::Text(format!("{}{star}", words::p_value(f.p_adjusted))),
            ]);
        }
        Verdict::Drifts(_, f) => entries.extend([
            Entry::Text(words::change(row.figure, f.shift)),
            Entry::Text(words::changes(row.figure, f.interval)),
            f.ratio.map(|(r, _)| words::relative(r)).into(),
            Entry::Text(format!("{:.2}", f.a_hat)),
            Entry::Text("drift  ".to_owned()),
        ]),
        Verdict::TooFew { have, need, .. } => {
            entries.extend([const { Entry::None }; 4]);
            let of = format!(
                "{} of {}  ",
                count(have.0.min(have.1) as u64),
                count(*need as u64)
            );
            entries.push(Entry::Text(of));
        }
        Verdict::NoFigure => entries.extend([const { Entry::None }; 5]),
    }
    Row::new(row.figure.name(), entries)
}

/// A run beside published figures.
fn published(beside: &Beside) -> Vec<Block<'_>> {
    let mut marks: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for row in &beside.rows {
        rows.push(Row::new(
            format!(
                "{}: {}",
                factors_in_words(&row.cell),
                row.statistic.trim_end_matches("_ns").replace('_', " ")
            ),
            vec![Entry::Text(format_ns(row.own_ns)), Entry::None, Entry::None],
        ));
        rows.extend(figures(row, &mut marks));
    }
    let table = Table::of(
        "Cell and figure",
        Column::all(["here", "published", "here / it"]),
        rows,
    );
    let marks = marks.iter().enumerate();
    let mut notes: Vec<String> = marks.map(|(i, why)| format!("[{}] {why}", i + 1)).collect();
    for note in beside.rows.iter().flat_map(|r| &r.notes) {
        let note = format!("~ {note}");
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes.extend(beside.caveats.iter().map(|caveat| format!("· {caveat}")));
    vec![
        Content::Heading(format!("{} and {}", beside.run, beside.published)).into(),
        Content::Note(beside.citation.to_string()).into(),
        Content::Table(table).into(),
        Content::List(notes).into(),
    ]
}

/// The published counterparts of a figure.
fn figures<'a>(row: &'a BesideRow, marks: &mut Vec<&'a str>) -> Vec<Row> {
    let of = |p: &'a tompion_assess::compare::PublishedFigure| {
        let mark = p.marked.as_deref().map_or_else(String::new, |why| {
            let at = marks.iter().position(|m| *m == why).unwrap_or_else(|| {
                marks.push(why);
                marks.len() - 1
            });
            format!(" [{}]", at + 1)
        });
        let near = if p.same { "" } else { " ~" };
        let ratio = (p.ns > 0.0).then(|| times(row.own_ns / p.ns));
        let entries = vec![
            Entry::Text(String::new()),
            Entry::Text(format_ns(p.ns)),
            ratio.into(),
        ];
        Row::new(format!("  {}{near}{mark}", p.label), entries)
    };
    row.published.iter().map(of).collect()
}

fn gates<'a>(view: &CompareView, sides: &[String]) -> Vec<Block<'a>> {
    let mut blocks = vec![Content::Heading("Gates".to_owned()).into()];
    for of_gate in view.gates.chunk_by(|a, b| a.gate == b.gate) {
        let asked = if of_gate[0].is_required {
            "unless"
        } else {
            "if"
        };
        blocks.push(Content::Text(format!("fail {asked} {}", of_gate[0].gate)).into());
        let judged = of_gate.iter().map(|judged| {
            let outcome = match judged.judgement {
                Judgement::Pass => Outcome::Pass,
                Judgement::Fail => Outcome::Fail,
                Judgement::Inconclusive => Outcome::Inconclusive,
            };
            (outcome, words::gate_sentence(sides, judged))
        });
        blocks.push(Content::Judged(judged.collect()).into());
    }
    blocks
}
