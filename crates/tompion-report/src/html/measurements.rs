//! One probe: short table, distributions, full table, samples over time.

use maud::{Markup, html as markup};

use super::figure::{Figure, each};
use super::{distributions, stalls, tables, timer_events};
use crate::data::ReportData;
use crate::disturbed;
use crate::sections::{READ_COST, STALLS, Section, TIMER_EVENTS, WAKE_UP, probe_title};

/// All sections of one probe; `index` numbers it for the contents.
pub(super) fn probe<'a>(
    data: &ReportData,
    index: usize,
    probe: &str,
    sections: impl Iterator<Item = &'a Section<'a>>,
) -> Markup {
    markup! {
        section id={ "probe-" (index) } {
            h2 { (probe_title(probe)) }
            p.lead { (introduction(probe)) }
            @if let Some(sentence) = disturbed::sentence(data, probe) { p.lead { (sentence) } }
            @for (i, section) in sections.enumerate() { (one(data, section, i == 0)) }
            @if probe == TIMER_EVENTS { (timer_events::holds(data)) }
        }
    }
}

/// The figures of one section in the order of the page.
pub(super) fn figures(section: &Section<'_>) -> Vec<Figure> {
    if section.probe == STALLS && section.cells().any(|s| s.view.stalls.is_some()) {
        return stalls::figures(section);
    }
    let mut figures = Vec::new();
    let timer = section.cells().any(|s| s.view.timer.is_some());
    if timer {
        figures.extend(timer_events::over_time(section));
        figures.extend(timer_events::stability(section));
    }
    figures.extend(distributions::ccdfs(section));
    if !timer {
        figures.extend(distributions::time_series(section));
    }
    figures
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
        TIMER_EVENTS => {
            "Events every d, by each mechanism that a program has, after Adamczyk and Chydzinski 2015, PLOS ONE 10(7). \
             On a grid a value is how late an event came after its grid point, and points that passed meanwhile are missed. \
             Re-armed, as in the paper, each event arms the next, and a value is the interval less d."
        }
        STALLS => {
            "A busy loop reads the time again and again; where an iteration takes longer than the threshold, the loop stood still \
             (the “clock tick processing duration” of Perneel et al. 2015). Every stall is divided into parts by cause. \
             The parts add up to the time lost; what the evidence does not tell is called unknown."
        }
        _ => "Values as the probe recorded them.",
    }
}

/// `explain` adds how to read the plots, once a probe.
fn one(data: &ReportData, section: &Section<'_>, explain: bool) -> Markup {
    if section.probe == STALLS && section.cells().any(|s| s.view.stalls.is_some()) {
        return markup! {
            div.part id=(section.anchor()) {
                (stalls::section(data, section))
                (tables::full(section))
            }
        };
    }
    let timer = section.cells().any(|s| s.view.timer.is_some());
    markup! {
        div.part id=(section.anchor()) {
            @if section.target.is_some() { h3 { (section.title()) } }
            (tables::short(section))
            @if timer { (intervals(section, explain)) }
            h3.minor { "How often is it worse than x?" }
            @if explain { p.lead {
                "Complementary cumulative distributions on logarithmic axes: a point (x, y) says that the share y of all samples is x or more. "
                "Dashed vertical lines are means, end points the largest samples, as in Kirova et al. 2019, Future Internet 11(8):179. "
                "All loads share their axes."
            } }
            div.figures { (each(&distributions::ccdfs(section))) }
            (tables::full(section))
            @if !timer { details open {
                summary { "Samples over time" }
                @if explain { p.lead {
                    "Bold lines are medians, as in Kirova et al. 2019. The data are thinned: each column of time shows its smallest and its largest sample "
                    "with the range between them, and a few others, so no extreme is hidden. Warm-up and otherwise marked samples are left out. "
                    "Fine vertical lines part the blocks, which ran at different times in random order."
                } }
                (each(&distributions::time_series(section)))
            } }
        }
    }
}

/// Timer events as the paper shows them, and their stability.
fn intervals(section: &Section<'_>, explain: bool) -> Markup {
    markup! {
        h3.minor { "Intervals and time error" }
        (timer_events::table(section))
        @if explain { (timer_events::reading()) }
        details open {
            summary { "Difference from d over time" }
            @if explain { p.lead {
                "Each interval between two events less d, on a linear axis, as in the figures of Adamczyk and Chydzinski 2015. "
                "Bold lines are means. Values so rare and far that they would flatten the rest are drawn on the edge, and the extremes stand above the panel. "
                "The data are thinned: each column of time shows its smallest and its largest value with the range between them, and a few others."
            } }
            (each(&timer_events::over_time(section)))
        }
        details open {
            summary { "MTIE and TDEV" }
            div.figures.two { (each(&timer_events::stability(section))) }
        }
    }
}
