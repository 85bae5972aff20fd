//! A comparison of runs for a terminal.

use tompion_compare::{Basis, Beside, Comparison, Difference, Judgement, Row, Verdict};
use tompion_record::{factor, format_ns};

use super::numbers::{Line, table};
use super::paint::Paint;
use super::{NARROWEST, heading, wrap};
use crate::compare::{CompareView, words};
use crate::figures::{NONE, count, plain, plural, times};
use crate::sections::factors_in_words;

/// Sentences printed; `--json` has one for each row.
const MOST: usize = 12;

/// Names of cells are broken at this width.
const CELL: usize = 28;

/// Values of an environment longer than this are cut.
const WIDEST: usize = 36;

/// A comparison for a terminal of `width` columns (at least 40 are used).
pub fn compare_text(view: &CompareView, width: usize, color: bool) -> String {
    let (width, paint) = (width.max(NARROWEST), Paint { color });
    let mut out = String::new();
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
        "Replicates are trials. change: the middle of all differences between {}, with the \
         {} interval of this comparison alone; A < B: share of {} in which B is the larger; p: \
         by exact permutation of trials, adjusted by Holm's method within each probe, method \
         and load.{}",
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

fn sentences(out: &mut String, all: &Comparison, width: usize, paint: Paint) {
    let mut differing: Vec<&Row> = all.rows.iter().filter(|r| r.differs(all.level)).collect();
    let size = |r: &Row| match &r.verdict {
        Verdict::Found(f) => f.ratio.map_or(f64::INFINITY, |(ratio, _)| ratio.ln().abs()),
        _ => 0.0,
    };
    differing.sort_by(|a, b| size(b).total_cmp(&size(a)));
    heading(out, "In words", paint);
    for row in differing.iter().take(MOST) {
        out.push_str(&wrap(&plain(&words::sentence(all, row)), width, "· ", "  "));
        out.push('\n');
    }
    if differing.len() > MOST {
        let more = format!("and {} more, in --json.", differing.len() - MOST);
        out.push_str(&wrap(&more, width, "· ", "  "));
        out.push('\n');
    }
    let alike = |r: &&Row| matches!(r.verdict, Verdict::Found(_)) && !r.differs(all.level);
    let undecided: Vec<&Row> = all
        .rows
        .iter()
        .filter(|r| matches!(r.verdict, Verdict::TooFew { .. }))
        .collect();
    let n = all.rows.iter().filter(alike).count() as u64;
    if n > 0 {
        let text = format!(
            "No difference was found in {} {}; their intervals tell how large one could still be.",
            count(n),
            plural(n, "comparison", "comparisons")
        );
        out.push_str(&wrap(&text, width, "· ", "  "));
        out.push('\n');
    }
    if let Some(row) = undecided.first() {
        let n = undecided.len() as u64;
        let text = format!(
            "{} {} not decidable, for example: {}",
            count(n),
            plural(n, "comparison is", "comparisons are"),
            words::sentence(all, row)
        );
        out.push_str(&wrap(&plain(&text), width, "· ", "  "));
        out.push('\n');
    }
    let without: Vec<&Row> = all
        .rows
        .iter()
        .filter(|r| matches!(r.verdict, Verdict::NoFigure))
        .collect();
    if let Some(row) = without.first() {
        let n = without.len() as u64;
        let text = format!(
            "{} {} no figure, for example: {}",
            count(n),
            plural(n, "comparison has", "comparisons have"),
            words::sentence(all, row)
        );
        out.push_str(&wrap(&plain(&text), width, "· ", "  "));
        out.push('\n');
    }
    let n = all.rows.iter().filter(|r| r.leaves_out_trials()).count() as u64;
    if n > 0 {
        let text = format!(
            "{} {} trials without the figure: those with too few samples for it, which tend to \
             be the slow ones{}. --json has the counts.",
            count(n),
            plural(n, "comparison leaves out", "comparisons leave out"),
            if all.paired {
                ", and those without a partner in their block"
            } else {
                ""
            },
        );
        out.push_str(&paint.warn(&wrap(&text, width, "! ", "  ")));
        out.push('\n');
    }
    let stretches =
        |r: &&Row| matches!(&r.verdict, Verdict::Found(f) if f.basis == Basis::Stretches);
    let n = all.rows.iter().filter(stretches).count() as u64;
    if n > 0 {
        let text = format!(
            "{} {} on stretches of single trials instead, each longer than the measured \
             autocorrelation time. The figures are those of these trials, and two trials of one \
             run may differ as much: give --blocks 8 to compare runs.",
            count(n),
            plural(n, "comparison rests", "comparisons rest")
        );
        out.push_str(&paint.dim(&wrap(&text, width, "· ", "  ")));
        out.push('\n');
    }
}

fn gates(out: &mut String, view: &CompareView, sides: &[String], width: usize, paint: Paint) {
    heading(out, "Gates", paint);
    let mut last = "";
    for judged in &view.gates {
        if judged.gate != last {
            out.push_str(&wrap(
                &plain(&format!("fail if {}", judged.gate)),
                width,
                "",
                "  ",
            ));
            out.push('\n');
            last = &judged.gate;
        }
        let sign = match judged.judgement {
            Judgement::Pass => "✓ pass",
            Judgement::Fail => "✗ fail",
            Judgement::Inconclusive => "? inconclusive",
        };
        let text = format!("{sign}  {}", words::gate_sentence(sides, judged));
        let text = wrap(&plain(&text), width, "  ", "    ");
        out.push_str(&match judged.judgement {
            Judgement::Pass => paint.good(&text),
            _ => paint.warn(&text),
        });
        out.push('\n');
    }
}

fn published(out: &mut String, beside: &Beside, width: usize, paint: Paint) {
    let title = format!("{} beside {}", beside.run, beside.published);
    heading(out, &wrap(&plain(&title), width, "", ""), paint);
    out.push_str(&paint.dim(&wrap(&beside.citation, width, "", "")));
    out.push('\n');
    let titles = ["Cell and figure", "here", "published", "here / it"].map(str::to_owned);
    let mut marks: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for row in &beside.rows {
        lines.push(Line {
            label: plain(&format!(
                "{}: {}",
                factors_in_words(&row.cell),
                row.statistic.trim_end_matches("_ns").replace('_', " ")
            )),
            numbers: vec![Some(format_ns(row.own_ns)), None, None],
        });
        for p in &row.published {
            let mark = p.marked.as_deref().map_or_else(String::new, |why| {
                let at = marks.iter().position(|m| *m == why).unwrap_or_else(|| {
                    marks.push(why);
                    marks.len() - 1
                });
                format!(" [{}]", at + 1)
            });
            let near = if p.same { "" } else { " ~" };
            lines.push(Line {
                label: format!("  {}{near}{mark}", plain(&p.label)),
                numbers: vec![
                    Some(String::new()),
                    Some(format_ns(p.ns)),
                    Some(if p.ns > 0.0 {
                        times(row.own_ns / p.ns)
                    } else {
                        NONE.to_owned()
                    }),
                ],
            });
        }
    }
    table(out, &titles, &lines, width);
    let mut line = |text: &str, first: &str| {
        out.push_str(&wrap(&plain(text), width, first, "  "));
        out.push('\n');
    };
    for (i, why) in marks.iter().enumerate() {
        line(why, &format!("[{}] ", i + 1));
    }
    let mut notes: Vec<&str> = Vec::new();
    for note in beside.rows.iter().flat_map(|r| &r.notes) {
        if !notes.contains(note) {
            notes.push(note);
        }
    }
    for note in notes {
        line(note, "~ ");
    }
    for caveat in &beside.caveats {
        line(caveat, "· ");
    }
}
