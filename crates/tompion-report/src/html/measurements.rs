//! One probe: short table, distributions, full table, samples over time.

use maud::{Markup, html as markup};

use super::{figure, tables};
use crate::sections::{READ_COST, Section, WAKE_UP, probe_title};

/// All sections of one probe; `index` numbers it for the contents.
pub(super) fn probe<'a>(
    index: usize,
    probe: &str,
    sections: impl Iterator<Item = &'a Section<'a>>,
) -> Markup {
    markup! {
        section id={ "probe-" (index) } {
            h2 { (probe_title(probe)) }
            p.lead { (introduction(probe)) }
            @for (i, section) in sections.enumerate() { (one(section, i == 0)) }
        }
    }
}

fn introduction(probe: &str) -> &'static str {
    match probe {
        READ_COST => {
            "What it costs to ask a clock for the time (the papers’ “timer cost”). “Per read” comes from reads timed in batches. \
             The other columns are single reads between two readings of the counter; they contain the probe’s own cost, \
             printed as floor, and nothing is subtracted."
        }
        WAKE_UP => {
            "How much later than asked a sleeping thread runs again: wake-up minus target (the papers’ “miss time”). \
             On a periodic grid a late wake-up may miss whole periods. They are counted, and a column of its own gives the \
             p99 with them filled in: the value that verdicts and findings go by."
        }
        _ => "Values as the probe recorded them.",
    }
}

/// `explain` adds how to read the plots, once a probe.
fn one(section: &Section<'_>, explain: bool) -> Markup {
    markup! {
        div.part id=(section.anchor()) {
            @if section.target.is_some() { h3 { (section.title()) } }
            (tables::short(section))
            h3.minor { "How often is it worse than x?" }
            @if explain { p.lead {
                "Complementary cumulative distributions on logarithmic axes: a point (x, y) says that the share y of all samples is x or more. "
                "Dashed vertical lines are means, end points the largest samples, as in Kirova et al. 2019, Future Internet 11(8):179. "
                "All loads share their axes."
            } }
            (figure::ccdfs(section))
            (tables::full(section))
            details open {
                summary { "Samples over time" }
                @if explain { p.lead {
                    "Bold lines are medians, as in Kirova et al. 2019. The data are thinned: each column of time shows its smallest and its largest sample "
                    "with the range between them, and a few others, so no extreme is hidden. Warm-up and otherwise marked samples are left out. "
                    "Fine vertical lines part the blocks, which ran at different times in random order."
                } }
                (figure::time_series(section))
            }
        }
    }
}
