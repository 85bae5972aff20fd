//! The platforms of a lab for a terminal.

use tompion_compare::{PairRatio, PlatformSummary};
use tompion_stats::Interval;

use super::numbers::{Line, table as numbers};
use super::paint::Paint;
use super::{NARROWEST, heading, wrap};
use crate::data::ReportData;
use crate::figures::{NONE, plain, real, times};
use crate::platforms::{HEADS, legend, tables};
use crate::sections::{factors_in_words, probe_title};
use crate::side_by_side;

/// The platforms of a lab, cell by cell, for a terminal of `width` columns (at least 40
/// are used).
pub fn platforms_text(summary: &PlatformSummary, width: usize, color: bool) -> String {
    let (width, paint) = (width.max(NARROWEST), Paint { color });
    let mut out = String::new();
    let title = match &summary.reference {
        Some(name) => format!("Platforms by their maxima, beside {name}"),
        None => "Platforms by their maxima".to_owned(),
    };
    out.push_str(&paint.bold(&wrap(&plain(&title), width, "", "")));
    out.push('\n');
    for (platform, why) in &summary.absent {
        let text = plain(&format!("absent: {platform}: {why}"));
        out.push_str(&paint.warn(&wrap(&text, width, "! ", "  ")));
        out.push('\n');
    }
    let titles = HEADS.map(str::to_owned);
    for table in tables(summary) {
        heading(&mut out, &wrap(&plain(&table.title), width, "", ""), paint);
        let lines = table.rows.into_iter().map(|row| {
            let [label, rest @ ..] = row;
            Line {
                label: plain(&label),
                numbers: rest.map(Some).to_vec(),
            }
        });
        numbers(&mut out, &titles, &lines.collect::<Vec<_>>(), width);
    }
    ratios(&mut out, summary, width, paint);
    out.push('\n');
    for sentence in legend(summary) {
        out.push_str(&paint.dim(&wrap(&plain(&sentence), width, "", "  ")));
        out.push('\n');
    }
    out
}

/// The platforms of a lab by their medians.
pub(super) fn side_by_side(out: &mut String, data: &ReportData, width: usize, paint: Paint) {
    let Some(found) = side_by_side::of_report(data) else {
        return;
    };
    heading(out, "Platforms side by side", paint);
    let titles: Vec<String> = found.heads.iter().map(|head| plain(head)).collect();
    let mut lines = Vec::new();
    for of_cell in found.tables {
        lines.push(Line::heading(plain(&of_cell.title)));
        lines.extend(of_cell.rows.into_iter().map(|row| Line {
            label: format!("  {}", plain(&row[0])),
            numbers: row.into_iter().skip(1).map(Some).collect(),
        }));
    }
    numbers(out, &titles, &lines, width);
    out.push_str(&paint.dim(&wrap(side_by_side::LEGEND, width, "", "")));
    out.push('\n');
}

fn ratios(out: &mut String, summary: &PlatformSummary, width: usize, paint: Paint) {
    let name = |r: &PairRatio| format!("{} over {}", r.wish.over, r.wish.under);
    for of_pair in summary.ratios.chunk_by(|a, b| a.wish == b.wish) {
        heading(out, &wrap(&plain(&name(&of_pair[0])), width, "", ""), paint);
        let titles = ["", "of what they add", "of maxima"].map(str::to_owned);
        let within = |(ratio, i): (f64, Interval)| {
            format!("{} [{}, {}]", times(ratio), real(i.low), real(i.high))
        };
        let mut lines: Vec<Line> = of_pair
            .iter()
            .map(|r| Line {
                label: plain(&format!(
                    "{}: {}",
                    probe_title(r.cell.level(tompion_record::factor::PROBE)),
                    factors_in_words(&r.cell)
                )),
                numbers: vec![r.of_added.map(times), r.of_maxima.map(within)],
            })
            .collect();
        let added: Vec<f64> = of_pair.iter().filter_map(|r| r.of_added).collect();
        if added.len() > 1 {
            let mean = added.iter().sum::<f64>() / added.len() as f64;
            lines.push(Line {
                label: format!("mean of {}", added.len()),
                numbers: vec![Some(times(mean)), Some(NONE.to_owned())],
            });
        }
        numbers(out, &titles, &lines, width);
    }
}
