//! Stalls: where the time went.

use super::numbers::{Line, table};
use super::{Paint, heading, wrap};
use crate::causes::by_name;
use crate::figures::{count, percent, plain, plural};
use crate::sections::{Section, load_title};
use crate::stalls::{StallsView, cause_and_by, sentences};
use tompion_record::format_ns;

/// Causes printed for a load; the page has all of them.
const MOST: usize = 8;

/// For each load: time lost, causes, patterns; then the evidence.
pub(super) fn section(
    out: &mut String,
    section: &Section<'_>,
    tick_hz: Option<u32>,
    width: usize,
    paint: Paint,
) {
    let title = format!("{}: where the time went", section.title());
    heading(out, &plain(&title), paint);
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for (i, load) in section.loads.iter().enumerate() {
        for row in &section.rows {
            let Some(stalls) = row.by_load[i].and_then(|s| s.view.stalls.as_ref()) else {
                continue;
            };
            let mut name = load_title(load).to_owned();
            if !row.variant.is_empty() {
                name = format!("{name}, {}", row.variant);
            }
            one(out, &name, stalls, tick_hz, width);
            let evidence = stalls.evidence.sentences();
            match said.iter_mut().find(|s| s.1 == evidence) {
                Some((names, _)) => *names = format!("{names}; {name}"),
                None => said.push((name, evidence)),
            }
        }
    }
    let alone = said.len() == 1;
    for (names, evidence) in said {
        let text = evidence.join(" ");
        let text = if alone {
            text
        } else {
            format!("{names}: {text}")
        };
        out.push_str(&paint.dim(&wrap(&plain(&text), width, "", "  ")));
        out.push('\n');
    }
}

fn one(out: &mut String, name: &str, stalls: &StallsView, tick_hz: Option<u32>, width: usize) {
    let mut line = |text: &str, first: &str| {
        out.push_str(&wrap(&plain(text), width, first, &format!("{first}  ")));
        out.push('\n');
    };
    line(&format!("{name}: {}", stalls.in_words()), "");
    line(&stalls.coverage_in_words(), "  ");
    let titles = ["  Cause", "lost", "of lost", "parts", "longest"].map(str::to_owned);
    let causes = by_name(&stalls.causes);
    let mut lines: Vec<Line> = causes
        .iter()
        .take(MOST)
        .map(|c| Line {
            label: format!("  {}", plain(&cause_and_by(c.cause, c.by.as_deref()))),
            numbers: vec![
                Some(format_ns(c.ns as f64)),
                Some(percent(stalls.share_of_lost(c.ns))),
                Some(count(c.parts)),
                Some(format_ns(c.longest_ns as f64)),
            ],
        })
        .collect();
    let further = &causes[lines.len()..];
    if !further.is_empty() {
        let ns: u64 = further.iter().map(|c| c.ns).sum();
        let n = further.len() as u64;
        lines.push(Line {
            label: format!("  {} more {}", count(n), plural(n, "cause", "causes")),
            numbers: vec![
                Some(format_ns(ns as f64)),
                Some(percent(stalls.share_of_lost(ns))),
                Some(count(further.iter().map(|c| c.parts).sum())),
                further
                    .iter()
                    .map(|c| c.longest_ns)
                    .max()
                    .map(|l| format_ns(l as f64)),
            ],
        });
    }
    if stalls.without_cause_ns() > 0 {
        let ns = stalls.without_cause_ns();
        lines.push(Line {
            label: "  no room for a cause".to_owned(),
            numbers: vec![
                Some(format_ns(ns as f64)),
                Some(percent(stalls.share_of_lost(ns))),
                Some(count(stalls.total.rows_lost)),
                None,
            ],
        });
    }
    if !lines.is_empty() {
        table(out, &titles, &lines, width);
    }
    for sentence in sentences(&stalls.structure, tick_hz) {
        out.push_str(&wrap(&sentence, width, "  ", "    "));
        out.push('\n');
    }
}
