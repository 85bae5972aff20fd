//! The summary that `tompion check` prints: verdict first.

mod answers;
mod ccdf;
mod compare;
mod numbers;
mod paint;
mod platforms;
mod published;
mod stalls;
mod tables;
mod timer_events;
mod verdicts;

use tompion_record::factor;

use crate::data::ReportData;
use crate::disturbed;
use crate::environment::emulation;
use crate::figures::{count, plain, plural, times};
use crate::limitations::{QuotaEffect, cpu_quota, early_end};
use crate::opening::Opening;
use crate::sections::{STALLS, TIMER_EVENTS, WAKE_UP, sections};
pub use compare::compare_text;
use paint::Paint;
pub use platforms::platforms_text;
pub use published::{published_list, published_table};

/// Columns for the longest name of a method and one number beside it.
const NARROWEST: usize = 40;

/// Findings and pieces of advice printed; the page has all of them.
const MOST: usize = 5;

/// The summary for a terminal of `width` columns (at least 40 are used). Where
/// the page lies is for the caller to say: it chose the place.
pub fn terminal(data: &ReportData, width: usize, color: bool) -> String {
    let width = width.max(NARROWEST);
    let paint = Paint { color };
    let mut out = String::new();
    head(&mut out, data, width, paint);
    platforms::side_by_side(&mut out, data, width, paint);
    measurements(&mut out, data, width, paint);
    tables::cost_of_waiting(&mut out, data, width, paint);
    tables::footnotes(&mut out, data, width);
    ccdf::wake_up(&mut out, data, width, paint);
    answers::among(&mut out, data, width, paint);
    answers::budget(&mut out, data, width, paint);
    answers::clock(&mut out, data, width, paint);
    answers::time_lost(&mut out, data, width, paint);
    hurts(&mut out, data, width, paint);
    advice(&mut out, data, width, paint);
    // Where nothing slept there is nothing to judge.
    if data
        .cells()
        .iter()
        .any(|c| c.factors.level(factor::PROBE) == WAKE_UP)
    {
        verdicts::profiles(&mut out, data, width, paint);
    }
    out
}

/// The tables of every probe, and what its disturbed samples did to them.
fn measurements(out: &mut String, data: &ReportData, width: usize, paint: Paint) {
    let tick_hz = data.record().header.environment.kernel.tick_rate_hz;
    for probe in sections(data).chunk_by(|a, b| a.probe == b.probe) {
        for section in probe {
            if section.probe == STALLS && section.cells().any(|s| s.view.stalls.is_some()) {
                stalls::section(out, section, tick_hz, width, paint);
                continue;
            }
            tables::section(out, section, width, paint);
            if section.probe == TIMER_EVENTS {
                timer_events::figures(out, section, width, paint);
            }
        }
        if probe[0].probe == TIMER_EVENTS {
            timer_events::holds(out, data, width, paint);
        }
        if let Some(sentence) = disturbed::sentence(data, probe[0].probe) {
            out.push_str(&wrap(&plain(&sentence), width, "", ""));
            out.push('\n');
        }
    }
}

fn head(out: &mut String, data: &ReportData, width: usize, paint: Paint) {
    let header = &data.record().header;
    let opening = Opening::of(data);
    for sentence in &opening.answer {
        let sentence = wrap(&plain(sentence), width, "", "");
        out.push_str(&paint.bold(&sentence));
        out.push('\n');
    }
    if let Some(why) = &opening.without_verdict {
        out.push_str(&wrap(&plain(why), width, "", ""));
        out.push('\n');
    }
    if let Some((title, sentence)) = early_end(data) {
        let text = format!("{}: {sentence}", title.to_uppercase());
        let text = wrap(&text, width, "", "  ");
        out.push_str(&paint.warn(&text));
        out.push('\n');
    }
    if let Some(how) = emulation(&header.environment) {
        out.push_str(&paint.warn(&wrap(
            &format!("EMULATED MACHINE: {}", plain(&how)),
            width,
            "",
            "  ",
        )));
        out.push('\n');
    }
    if let Some((QuotaEffect::Felt, sentence)) = cpu_quota(data) {
        let text = wrap(&format!("CPU QUOTA: {sentence}"), width, "", "  ");
        out.push_str(&paint.warn(&text));
        out.push('\n');
    }
    for note in &data.record().notes {
        out.push_str(&wrap(&plain(&note.text), width, "", "  "));
        out.push('\n');
    }
    let sizes = || {
        data.shown()
            .filter_map(|s| s.view.plotted().map(|p| p.samples))
    };
    if let (Some(least), Some(most)) = (sizes().min(), sizes().max()) {
        let range = if least == most {
            count(least)
        } else {
            format!("{} to {}", count(least), count(most))
        };
        let blocks = data
            .cells()
            .iter()
            .map(|c| c.blocks.len())
            .max()
            .unwrap_or(0);
        let cells = data.cells().len() as u64;
        let facts = format!(
            "{} {}, {range} {} {}in {blocks} {}",
            count(cells),
            plural(cells, "cell", "cells"),
            plural(most, "sample", "samples"),
            plural(cells, "", "each, "),
            plural(blocks as u64, "block", "blocks"),
        );
        out.push_str(&paint.dim(&wrap(&facts, width, "", "  ")));
        out.push('\n');
    } else {
        out.push_str("No samples were taken.\n");
    }
}

fn hurts(out: &mut String, data: &ReportData, width: usize, paint: Paint) {
    let findings = &data.assessment().findings;
    if findings.is_empty() {
        return;
    }
    heading(out, "What hurts most", paint);
    for f in findings.iter().take(MOST) {
        let ratio = times(f.ratio);
        let first = format!("{ratio:>8}  ");
        out.push_str(&wrap(&plain(&f.sentence), width, &first, &" ".repeat(10)));
        out.push('\n');
    }
}

fn advice(out: &mut String, data: &ReportData, width: usize, paint: Paint) {
    let advice = &data.assessment().advice;
    if advice.is_empty() {
        return;
    }
    heading(out, "Advice, tested in this run", paint);
    for a in advice.iter().take(MOST) {
        let mark = if a.effective {
            paint.good("✓")
        } else {
            "·".to_owned()
        };
        let body = wrap(&plain(&a.sentence), width, "    ", "    ");
        out.push_str(&format!("  {mark} {}\n", body.trim_start()));
        for (what, text) in [("How:  ", &a.how), ("Price:", &a.price)] {
            let first = format!("    {what} ");
            out.push_str(&wrap(&plain(text), width, &first, &" ".repeat(first.len())));
            out.push('\n');
        }
    }
}

fn heading(out: &mut String, text: &str, paint: Paint) {
    out.push_str(&format!("\n{}\n", paint.bold(text)));
}

fn wrap(text: &str, width: usize, first: &str, rest: &str) -> String {
    let options = textwrap::Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest);
    textwrap::fill(text, options)
}
