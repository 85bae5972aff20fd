//! A comparison of runs for a terminal.

mod beside;
mod sentences;

use tompion_compare::{Comparison, Difference, Row, Verdict};
use tompion_record::factor;

use self::beside::published;
use self::sentences::{gates, sentences};

use super::numbers::{Line, table};
use super::paint::Paint;
use super::{NARROWEST, heading, wrap};
use crate::compare::{CompareView, words};
use crate::figures::{count, plain, plural};
use crate::sections::factors_in_words;

/// Names of cells are broken at this width.
const CELL: usize = 28;

/// Values of an environment longer than this are cut.
const WIDEST: usize = 36;

/// Remarks printed of each run, what matters most first; a lab of many platforms has dozens.
const REMARKS: usize = 8;

/// A comparison for a terminal of `width` columns (at least 40 are used).
pub fn compare_text(view: &CompareView, width: usize, color: bool) -> String {
    let (width, paint) = (width.max(NARROWEST), Paint { color });
    let mut out = String::new();
    for of_run in view.remarks.chunk_by(|a, b| a.0 == b.0) {
        let told = of_run.iter().take(REMARKS);
        let mut texts: Vec<String> = told.map(|(run, text)| format!("{run}: {text}")).collect();
        if let more @ 1.. = of_run.len().saturating_sub(REMARKS) {
            let run = &of_run[0].0;
            texts.push(format!(
                "{run}: and {more} more, in --json and in the run's report"
            ));
        }
        for text in texts {
            out.push_str(&paint.warn(&wrap(&plain(&text), width, "! ", "  ")));
            out.push('\n');
        }
    }
    if let Some(all) = &view.comparison {
        head(&mut out, view, all, width, paint);
        rows(&mut out, all, width, paint);
        sentences(&mut out, all, width, paint);
    }
    for beside in &view.beside {
        published(&mut out, beside, width, paint);
    }
    if let Some(all) = &view.comparison
        && !view.gates.is_empty()
    {
        gates(&mut out, view, &all.sides, width, paint);
    }
    out
}

/// `A`, `B`, ... of a side, which its columns are headed by.
fn letter(side: usize) -> String {
    match u8::try_from(side) {
        Ok(n) if n < 26 => char::from(b'A' + n).to_string(),
        _ => format!("S{}", side + 1),
    }
}

fn head(out: &mut String, view: &CompareView, all: &Comparison, width: usize, paint: Paint) {
    let kind = match &view.by {
        Some(by) => format!("Levels of {by} compared, paired by block"),
        None => "Runs compared".to_owned(),
    };
    out.push_str(&paint.bold(&plain(&kind)));
    out.push('\n');
    for (i, side) in all.sides.iter().enumerate() {
        out.push_str(&wrap(
            &plain(&format!("{} = {side}", letter(i))),
            width,
            "  ",
            "      ",
        ));
        out.push('\n');
    }
    let how = format!(
        "Replicates are trials. A, B: the middle one of their figures; change: the middle of all \
         differences between {}, which need not be that of the two, with the {} interval of this \
         comparison alone; A < B: share of {} in which B is the larger; p: \
         by exact permutation of trials, adjusted by Holm's method within each probe, method \
         and load; 2 of 6 there: replicates that there are, of those needed.{}",
        if all.paired {
            "trials of a block"
        } else {
            "trials"
        },
        words::confidence(all.level),
        if all.paired {
            "blocks"
        } else {
            "pairs of trials"
        },
        if all.paired {
            ""
        } else {
            " Runs took place at different times: whatever else changed between them is in \
             the difference, too."
        },
    );
    out.push_str(&paint.dim(&wrap(&how, width, "", "")));
    out.push('\n');
    if view.by.is_none() {
        environment(out, &view.environment, all.sides.len(), width, paint);
    }
    for m in &view.mismatches {
        let text = format!(
            "{}: measured differently: {}: {} ({}), {} ({})",
            m.cell, m.what, m.values.0, m.sides.0, m.values.1, m.sides.1
        );
        out.push_str(&paint.warn(&wrap(&plain(&text), width, "! ", "  ")));
        out.push('\n');
    }
    if !all.partial.is_empty() {
        let n = all.partial.len() as u64;
        let text = format!(
            "{} {} not on all sides, for example {} (only {}).",
            count(n),
            plural(n, "cell is", "cells are"),
            all.partial[0].0,
            all.partial[0].1.join(", ")
        );
        out.push_str(&wrap(&plain(&text), width, "", ""));
        out.push('\n');
    }
}

fn environment(out: &mut String, found: &[Difference], sides: usize, width: usize, paint: Paint) {
    if found.is_empty() {
        out.push_str("\nThe environments do not differ.\n");
        return;
    }
    heading(out, "What differs in the environment", paint);
    let titles: Vec<String> = std::iter::once(String::new())
        .chain((0..sides).map(letter))
        .collect();
    let lines: Vec<Line> = found
        .iter()
        .map(|d| Line {
            label: plain(&d.what),
            numbers: d.values.iter().map(|v| v.as_deref().map(cut)).collect(),
        })
        .collect();
    table(out, &titles, &lines, width);
}

fn cut(text: &str) -> String {
    let text = plain(text);
    match text.char_indices().nth(WIDEST) {
        Some((at, _)) => format!("{}\u{2026}", &text[..at]),
        None => text,
    }
}

fn rows(out: &mut String, all: &Comparison, width: usize, paint: Paint) {
    let mut probes: Vec<&str> = all
        .rows
        .iter()
        .map(|r| r.cell.level(factor::PROBE))
        .collect();
    probes.dedup();
    for probe in probes {
        let of_probe = |r: &&Row| r.cell.level(factor::PROBE) == probe;
        let mut pairs: Vec<(usize, usize)> =
            all.rows.iter().filter(of_probe).map(|r| r.sides).collect();
        pairs.sort_unstable();
        pairs.dedup();
        for (i, j) in pairs {
            let (a, b) = (letter(i), letter(j));
            heading(out, &format!("{}: {b} against {a}", title(probe)), paint);
            let titles = [
                "Cell",
                &a,
                &b,
                "change",
                "interval",
                "relative",
                &format!("{a} < {b}"),
                "p  ",
            ]
            .map(str::to_owned);
            let mut lines: Vec<Line> = Vec::new();
            let mut last = None;
            for row in all
                .rows
                .iter()
                .filter(of_probe)
                .filter(|r| r.sides == (i, j))
            {
                if last != Some(&row.cell) {
                    // Broken, so that the heading does not widen the column of labels.
                    let name = plain(&factors_in_words(&row.cell));
                    lines.push(Line::heading(wrap(&name, CELL, "", "")));
                    last = Some(&row.cell);
                }
                lines.push(line(all, row));
            }
            table(out, &titles, &lines, width);
        }
    }
}

/// `wake-up` as a heading: `Wake-up`.
fn title(probe: &str) -> String {
    let mut letters = probe.chars();
    letters
        .next()
        .map_or_else(String::new, |c| c.to_uppercase().chain(letters).collect())
}

fn line(all: &Comparison, row: &Row) -> Line {
    let value = |v: Option<f64>| v.map(|v| words::value(row.figure, v));
    let mut numbers = vec![value(row.values.0), value(row.values.1)];
    match &row.verdict {
        Verdict::Found(f) => {
            let star = if row.differs(all.level) { " *" } else { "  " };
            numbers.extend([
                Some(words::change(row.figure, f.shift)),
                Some(words::changes(row.figure, f.interval)),
                f.ratio.map(|(r, _)| words::relative(r)),
                Some(format!("{:.2}", f.a_hat)),
                Some(format!("{}{star}", words::p_value(f.p_adjusted))),
            ]);
        }
        Verdict::TooFew { have, need, .. } => {
            let told = format!("{} of {need}  ", have.0.min(have.1));
            numbers.extend([None, None, None, None, Some(told)]);
        }
        Verdict::NoFigure => numbers.extend([None, None, None, None, None]),
    }
    Line {
        label: format!("  {}", row.figure.name()),
        numbers,
    }
}
