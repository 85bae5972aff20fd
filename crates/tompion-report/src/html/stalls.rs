//! Stalls on the page: causes, patterns, lengths and times.

use maud::{Markup, html as markup};
use tompion_cause::Cause;
use tompion_record::format_ns;

use super::figure::{Figure, Key, each};
use crate::causes::by_name;
use crate::data::{ReportData, Shown};
use crate::disturbed::cause_in_words;
use crate::figures::{NONE, count, percent};
use crate::plot::{Look, histogram, trace};
use crate::sections::Section;
use crate::stalls::{StallsView, ranked, sentences};

/// Causes that have a hue of their own; the rest share the last.
const HUES: usize = 7;

/// One load and variant with its stalls.
struct One<'a> {
    name: String,
    shown: Shown<'a>,
    stalls: &'a StallsView,
}

fn all<'a>(section: &'a Section<'_>) -> Vec<One<'a>> {
    let mut all = Vec::new();
    for (i, load) in section.loads.iter().enumerate() {
        for row in &section.rows {
            if let Some(shown) = row.by_load[i]
                && let Some(stalls) = &shown.view.stalls
            {
                let mut name = super::figure::heading(load);
                if !row.variant.is_empty() {
                    name = format!("{name}, {}", row.variant);
                }
                all.push(One {
                    name,
                    shown,
                    stalls,
                });
            }
        }
    }
    all
}

/// Everything about the stalls of one section.
pub(super) fn section(data: &ReportData, section: &Section<'_>) -> Markup {
    let all = all(section);
    let tick_hz = data.record().header.environment.kernel.tick_rate_hz;
    markup! {
        h3.minor { "Where the time went" }
        @for one in &all {
            div.load {
                h4 { (one.name) }
                p { (one.stalls.in_words()) "." }
                p.small { (one.stalls.coverage_in_words()) "." }
                (causes(one.stalls))
                (patterns(one.stalls, tick_hz))
                p.small { (one.stalls.evidence.sentences().join(" ")) }
            }
        }
        h3.minor { "How long do iterations take?" }
        p.lead {
            "All iterations in two-level binary bins, counts on a logarithmic axis with their share of all iterations, "
            "as in Perneel et al. 2015, figure 5. The threshold of a stall is "
            (format_ns(all.iter().map(|o| o.stalls.total.threshold_ns).max().unwrap_or(0) as f64)) "."
        }
        div.figures { (each(&lengths(section, &all))) }
        h3.minor { "Stalls over time" }
        p.lead {
            "Each stall at its beginning, coloured by the cause of its greatest part. The data are thinned cause by cause: "
            "each column of time shows the shortest and the longest stall with the range between them, and a few others."
        }
        (each(&over_time(section, &all)))
    }
}

fn causes(stalls: &StallsView) -> Markup {
    markup! {
        @if !stalls.causes.is_empty() {
            div.scroll tabindex="0" {
                table.numbers {
                    thead { tr {
                        th { "Cause" } th.left { "by" } th { "time lost" } th { "of the time lost" } th { "of all time" }
                        th { "parts" } th { "longest" }
                    } }
                    tbody {
                        @for c in &by_name(&stalls.causes) {
                            tr {
                                th scope="row" { (cause_in_words(c.cause)) }
                                td.left { (c.by.as_deref().unwrap_or(NONE)) }
                                td { (format_ns(c.ns as f64)) }
                                td { (percent(stalls.share_of_lost(c.ns))) }
                                td { (percent(stalls.share_of_lost(c.ns) * stalls.lost_share())) }
                                td { (count(c.parts)) }
                                td { (format_ns(c.longest_ns as f64)) }
                            }
                        }
                        @if stalls.without_cause_ns() > 0 {
                            @let ns = stalls.without_cause_ns();
                            tr {
                                th scope="row" { "found no room for a cause" }
                                td.left { (NONE) }
                                td { (format_ns(ns as f64)) }
                                td { (percent(stalls.share_of_lost(ns))) }
                                td { (percent(stalls.share_of_lost(ns) * stalls.lost_share())) }
                                td { (count(stalls.total.rows_lost)) }
                                td { (NONE) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn patterns(stalls: &StallsView, tick_hz: Option<u32>) -> Markup {
    let sentences = sentences(&stalls.structure, tick_hz);
    markup! {
        @if !sentences.is_empty() {
            h4 { "Patterns" }
            ul.small { @for s in &sentences { li { (s) } } }
        }
    }
}

/// One histogram a load; all share their axes.
fn lengths(section: &Section<'_>, all: &[One<'_>]) -> Vec<Figure> {
    let bins = all.iter().flat_map(|o| &o.shown.view.bins);
    let axes = histogram::ranges(bins.collect::<Vec<_>>().into_iter());
    let figure = |one: &One<'_>| {
        let label = format!("{}, {}: iterations by length", section.title(), one.name);
        Figure {
            title: one.name.clone(),
            drawn: histogram::draw(&one.shown.view.bins, &axes, &label),
            label,
            keys: Vec::new(),
            values: None,
            notes: Vec::new(),
            wide: false,
        }
    };
    all.iter().map(figure).collect()
}

/// One trace a load; all share the axis of lengths and the colours of causes.
fn over_time(section: &Section<'_>, all: &[One<'_>]) -> Vec<Figure> {
    let range = trace::range(all.iter().flat_map(|o| &o.stalls.traces));
    let ranked = ranked(all.iter().map(|o| o.stalls));
    let look = |cause: Cause| {
        let rank = ranked.iter().position(|c| *c == cause);
        Look::of(rank.unwrap_or(HUES).min(HUES), 0)
    };
    let (own, rest) = ranked.split_at(ranked.len().min(HUES));
    let keys = |one: &One<'_>| -> Vec<Key> {
        let drawn = |c: &&Cause| one.stalls.traces.iter().any(|t| t.by_cause.contains_key(c));
        let key = |look, label| Key {
            look,
            dots: true,
            label,
            value: None,
            series: None,
        };
        let named = own.iter().filter(drawn);
        let mut keys: Vec<Key> = named
            .map(|c| key(look(*c), cause_in_words(*c).to_owned()))
            .collect();
        let words: Vec<&str> = rest
            .iter()
            .filter(drawn)
            .map(|c| cause_in_words(*c))
            .collect();
        if !words.is_empty() {
            keys.push(key(Look::of(HUES, 0), words.join(", ")));
        }
        keys
    };
    let seen = |one: &&One<'_>| one.stalls.traces.iter().any(|t| !t.by_cause.is_empty());
    let figure = |one: &One<'_>| {
        let label = format!(
            "{}, {}: length of each stall over time by cause",
            section.title(),
            one.name
        );
        Figure {
            title: one.name.clone(),
            drawn: trace::draw(&one.stalls.traces, &range, look, &label),
            label,
            keys: keys(one),
            values: None,
            notes: Vec::new(),
            wide: true,
        }
    };
    all.iter().filter(seen).map(figure).collect()
}

/// All figures of a section.
pub(super) fn figures(section: &Section<'_>) -> Vec<Figure> {
    let all = all(section);
    let mut figures = lengths(section, &all);
    figures.extend(over_time(section, &all));
    figures
}
