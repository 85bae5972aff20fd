//! Time lost, packet budget, published machines and the clock, in few lines each.

use tompion_record::format_ns;

use super::numbers::{Line, table};
use super::{Paint, heading, wrap};
use crate::clock_right::clocks;
use crate::data::ReportData;
use crate::figures::{percent, plain};
use crate::ladder::ladder;
use crate::packet_budget::{RATES, READS_PER_PACKET, bit_rate, budgets};
use crate::precision::rounded;
use crate::time_lost::{Kind, ranked};

/// Lines of each ranking; the page has all of them.
const MOST: usize = 5;

/// What took time, running and waiting.
pub(super) fn time_lost(out: &mut String, data: &ReportData, width: usize, paint: Paint) {
    let all = ranked(data);
    for (kind, title) in [
        (Kind::Running, "Time lost while running, by cause"),
        (Kind::Waiting, "Time lost while waiting for a sleep"),
    ] {
        let lines: Vec<Line> = all
            .iter()
            .filter(|l| l.kind == kind)
            .take(MOST)
            .map(|l| Line {
                label: plain(&l.what),
                numbers: vec![
                    Some(plain(&l.load)),
                    Some(percent(l.share)),
                    Some(format_ns(l.longest_ns)),
                ],
            })
            .collect();
        if !lines.is_empty() {
            heading(out, title, paint);
            let titles = ["Taken by", "load", "of the time", "longest"].map(str::to_owned);
            table(out, &titles, &lines, width);
        }
    }
}

/// What a packet may cost.
pub(super) fn budget(out: &mut String, data: &ReportData, width: usize, paint: Paint) {
    let budgets = budgets(data);
    if budgets.is_empty() {
        return;
    }
    heading(out, "Packet budget, 1500 bytes", paint);
    let mut titles = vec!["Load, functions".to_owned()];
    titles.extend(RATES.map(|(rate, _)| format!("reads at\n{rate}")));
    titles.push(format!(
        "packets/s with {READS_PER_PACKET}\nreads and one sleep"
    ));
    titles.push("as a rate".to_owned());
    let lines: Vec<Line> = budgets
        .iter()
        .map(|b| {
            let reads = RATES.iter().map(|(_, ns)| {
                let fit = b.reads_that_fit(*ns);
                Some(rounded(fit.value, fit.interval))
            });
            let rate = b.packets_per_second();
            let both = [
                rate.map(|r| rounded(r.value, r.interval)),
                rate.map(bit_rate),
            ];
            Line {
                label: plain(&format!("{}, {}", b.place(), b.way)),
                numbers: reads.chain(both).collect(),
            }
        })
        .collect();
    table(out, &titles, &lines, width);
}

/// This machine beside published ones.
pub(super) fn among(out: &mut String, data: &ReportData, width: usize, paint: Paint) {
    let Some(ladder) = ladder(data) else { return };
    heading(
        out,
        &wrap(
            "Among published machines: median, largest value",
            width,
            "",
            "",
        ),
        paint,
    );
    let mut lines = Vec::new();
    let titles = ["Function, load, machine", "median", "p99", "max"].map(str::to_owned);
    for panel in &ladder.panels {
        lines.push(Line::heading(plain(&format!(
            "{}, {}",
            panel.function, panel.load
        ))));
        for r in &panel.rungs {
            let star = if r.marked.is_some() { "*" } else { "" };
            let here = if r.own { " (this run)" } else { "" };
            lines.push(Line {
                label: plain(&format!("  {}{here}{star}", r.label)),
                numbers: vec![
                    Some(format_ns(r.median_ns)),
                    r.p99_ns.map(format_ns),
                    Some(format_ns(r.max_ns)),
                ],
            });
        }
    }
    table(out, &titles, &lines, width);
    let note = format!(
        "{} {} The page lists what else to know before comparing; * marks what the sources contradict.",
        ladder.citation, ladder.caveats[0]
    );
    out.push_str(&paint.dim(&wrap(&plain(&note), width, "", "")));
    out.push('\n');
}

/// Is the clock right?
pub(super) fn clock(out: &mut String, data: &ReportData, width: usize, paint: Paint) {
    heading(out, "Is the clock right?", paint);
    let clocks = clocks(data);
    out.push_str(&wrap(&plain(&clocks.answer()), width, "", ""));
    out.push('\n');
    for (label, value) in clocks.rows() {
        let line = format!("{label}: {value}");
        out.push_str(&wrap(&plain(&line), width, "  ", "    "));
        out.push('\n');
    }
}
