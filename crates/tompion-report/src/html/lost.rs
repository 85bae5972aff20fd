//! What takes time, ranked.

use maud::{Markup, html as markup};
use tompion_record::format_ns;

use crate::data::ReportData;
use crate::figures::{count, percent};
use crate::time_lost::{Kind, Lost, ranked};

/// Lines that stand open; the others are folded.
const OPEN: usize = 12;

/// Everything that took time, the greatest first.
pub(super) fn ranking(data: &ReportData) -> Markup {
    let all = ranked(data);
    let kinds = [
        (
            Kind::Running,
            "Time lost while running",
            "Of the time that a busy loop ran, what stalls took, by cause.",
        ),
        (
            Kind::Waiting,
            "Time lost while waiting",
            "Of the time that a thread was away for a sleep, what came after the time it asked for (mean lateness).",
        ),
    ];
    markup! {
        @for (kind, title, lead) in kinds {
            @let of: Vec<&Lost> = all.iter().filter(|l| l.kind == kind).collect();
            @let (first, rest) = of.split_at(of.len().min(OPEN));
            @if !of.is_empty() {
                h3.minor { (title) }
                p.lead { (lead) }
                (table(first))
                @if !rest.is_empty() {
                    details {
                        summary { "Another " (count(rest.len() as u64)) }
                        (table(rest))
                    }
                }
            }
        }
    }
}

fn table(lines: &[&Lost]) -> Markup {
    markup! {
        div.scroll tabindex="0" {
            table.numbers.lost {
                thead { tr { th { "Share of the time" } th { "lost" } th.left { "taken by" } th.left { "load" } th { "longest" } th { "watched" } } }
                tbody {
                    @for l in lines {
                        tr {
                            td.bar {
                                svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                                    rect class=(hue(l)) width=(format!("{:.2}", (l.share * 100.0).max(0.4))) height="8" {}
                                }
                            }
                            td { b { (percent(l.share)) } }
                            td.left { (l.what) }
                            td.left { (l.load) }
                            td { (format_ns(l.longest_ns)) }
                            td { (format_ns(l.watched_ns)) }
                        }
                    }
                }
            }
        }
    }
}

/// Told apart by the word beside it, too.
fn hue(l: &Lost) -> &'static str {
    match l.kind {
        Kind::Running => "f c0",
        Kind::Waiting => "f c1",
    }
}
