//! The summary that `tompion check` prints: verdict first.

mod paint;
mod tables;

use tompion_record::format_ns;
use tompion_verdict::Outcome;

use crate::data::ReportData;
use crate::environment::emulation;
use crate::figures::{count, plain, quantile_name, times};
use crate::limitations::interrupted;
use crate::sections::{factors_in_words, sections};
use paint::Paint;

/// Findings and pieces of advice printed; the page has all of them.
const MOST: usize = 5;

/// The summary for a terminal of `width` columns (at least 60 are used). Where
/// the page lies is for the caller to say: it chose the place.
pub fn terminal(data: &ReportData, width: usize, color: bool) -> String {
    let width = width.max(60);
    let paint = Paint { color };
    let mut out = String::new();
    head(&mut out, data, width, paint);
    for section in sections(data) {
        tables::section(&mut out, &section, width, paint);
    }
    tables::cost_of_waiting(&mut out, data, width, paint);
    tables::footnotes(&mut out, data, width);
    hurts(&mut out, data, width, paint);
    advice(&mut out, data, width, paint);
    tables::profiles(&mut out, data, width, paint);
    out
}

fn head(out: &mut String, data: &ReportData, width: usize, paint: Paint) {
    let header = &data.record().header;
    let headline = wrap(&plain(&data.assessment().headline), width, "", "");
    out.push_str(&paint.bold(&headline));
    out.push('\n');
    if let Some(sentence) = interrupted(data) {
        let text = wrap(&format!("INTERRUPTED: {sentence}"), width, "", "  ");
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
    for note in &data.record().notes {
        out.push_str(&wrap(&plain(note), width, "", "  "));
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
        let facts = format!(
            "{} cells, {range} samples each, in {blocks} block{}",
            data.cells().len(),
            if blocks == 1 { "" } else { "s" }
        );
        out.push_str(&paint.dim(&facts));
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

/// Glyph and word for an outcome.
fn outcome(o: Outcome) -> &'static str {
    match o {
        Outcome::Pass => "✓ pass",
        Outcome::Fail => "✗ fail",
        Outcome::Inconclusive => "? inconclusive",
    }
}

/// The judged value, for example `✓ p99 4.10 µs`.
fn judgement(v: &tompion_verdict::LoadVerdict) -> String {
    let glyph = outcome(v.outcome).chars().next().unwrap_or(' ');
    format!(
        "{glyph} {} {}",
        quantile_name(v.quantile),
        format_ns(v.estimate_ns)
    )
}

/// Which method a profile was judged with.
fn judged_with(p: &tompion_verdict::ProfileVerdict) -> String {
    p.method.as_ref().map(factors_in_words).unwrap_or_default()
}
