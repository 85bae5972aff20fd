//! The answer first: verdict, profiles, what hurts, advice.

use maud::{Markup, html as markup};
use tompion_record::{Summary, factor, format_ns};
use tompion_verdict::{LoadVerdict, Outcome, ProfileVerdict};

use super::lost;
use crate::data::{ReportData, Shown};
use crate::environment::emulation;
use crate::figures::{NONE, count, ns, plural, times};
use crate::limitations::{QuotaEffect, cpu_quota, early_end};
use crate::opening::Opening;
use crate::sections::{READ_COST, WAKE_UP, factors_in_words, load_title, sort_loads};
use crate::verdicts::{self, ByPlace, Judged};

/// Title, verdict line and the figures people ask for first.
pub(super) fn header(data: &ReportData) -> Markup {
    let record = data.record();
    let header = &record.header;
    let opening = Opening::of(data);
    markup! {
        header id="verdict" {
            p.brand { "Tompion" span { " timing report" } }
            @if let Some((title, sentence)) = early_end(data) {
                p.banner { b { "⚠ " (title) ". " } (sentence) " Everything below rests on these alone." }
            }
            @if let Some(how) = emulation(&header.environment) {
                p.banner { b { "⚠ Emulated machine. " } (how) }
            }
            @if let Some((QuotaEffect::Felt, sentence)) = cpu_quota(data) {
                p.banner { b { "⚠ CPU quota. " } (sentence) }
            }
            h1 { (opening.answer[0]) }
            @for sentence in &opening.answer[1..] { p.answer { (sentence) } }
            @if let Some(why) = &opening.without_verdict { p.note { (why) } }
            p.meta {
                @if !header.environment.hostname.is_empty() {
                    span { b { (header.environment.hostname) } }
                }
                span { (header.started_at) }
                span { (header.tool) }
                span {
                    // A live run has no plan.
                    @if header.design.blocks > 0 {
                        (count(u64::from(header.design.blocks)))
                        " " (plural(u64::from(header.design.blocks), "block", "blocks")) " planned, "
                    }
                    (header.design.order)
                }
            }
            @for note in &record.notes { p.note { (note.text) } }
            (tiles(data))
        }
    }
}

fn tiles(data: &ReportData) -> Markup {
    let mut loads: Vec<&str> = data
        .cells()
        .iter()
        .map(|c| c.factors.level(factor::LOAD))
        .collect();
    sort_loads(&mut loads);
    let calmest = loads.first().copied().unwrap_or_default();
    let of = |probe: &str| -> Vec<(Shown<'_>, &Summary)> {
        data.shown()
            .filter(|s| s.cell.factors.level(factor::PROBE) == probe)
            .filter_map(|s| s.view.plotted().map(|p| (s, p)))
            .collect()
    };
    let calm = |s: &Shown<'_>| s.cell.factors.level(factor::LOAD) == calmest;
    // A clock that ticks in milliseconds is cheap to read and of no use here.
    let fine = |s: &Shown<'_>| {
        let mut steps = s.cell.measurements.iter().filter_map(|m| m.granularity);
        steps.all(|g| g.smallest_step_ns < 1_000.0)
    };
    let per_read = |s: &Shown<'_>| {
        s.view
            .batched
            .as_ref()
            .or(s.view.measured.as_ref())
            .map_or(f64::INFINITY, |x| x.median_ns)
    };
    let cheapest = of(READ_COST)
        .into_iter()
        .filter(|x| calm(&x.0) && fine(&x.0))
        .min_by(|a, b| per_read(&a.0).total_cmp(&per_read(&b.0)));
    let wake = of(WAKE_UP);
    let best = wake
        .iter()
        .filter(|x| calm(&x.0))
        .min_by(|a, b| a.1.median_ns.total_cmp(&b.1.median_ns));
    let worst = wake.iter().max_by(|a, b| a.1.max_ns.total_cmp(&b.1.max_ns));
    let samples: u64 = data
        .shown()
        .flat_map(|s| [&s.view.measured, &s.view.batched])
        .flatten()
        .map(|s| s.samples)
        .sum();
    let (trials, cells) = (data.record().trials.len() as u64, data.cells().len() as u64);
    markup! {
        dl.tiles {
            @if let Some((s, _)) = cheapest {
                (tile("Cheapest read of a fine clock", &format_ns(per_read(&s)), &factors_in_words(&s.cell.factors)))
            }
            @if let Some((s, x)) = best {
                (tile("Most punctual wake-up (median)", &format_ns(x.median_ns), &factors_in_words(&s.cell.factors)))
            }
            @if let Some((s, x)) = worst {
                (tile("Latest wake-up seen", &format_ns(x.max_ns), &factors_in_words(&s.cell.factors)))
            }
            (tile("Samples", &count(samples), &format!(
                "in {} {} of {} {}",
                count(trials), plural(trials, "trial", "trials"), count(cells), plural(cells, "cell", "cells"),
            )))
        }
    }
}

fn tile(what: &str, value: &str, which: &str) -> Markup {
    markup! {
        div { dt { (what) } dd { b { (value) } span { (which) } } }
    }
}

/// Every profile held against every load.
pub(super) fn profiles(data: &ReportData) -> Markup {
    let profiles = &data.assessment().profiles;
    markup! {
        section {
            h2 { "Is time good enough here?" }
            @if profiles.is_empty() {
                p { "No fitness profile was judged." }
            } @else {
                p.lead {
                    "Each use is judged by one quantile with its 95 % interval over blocks: it passes when the whole interval keeps the limit, "
                    "fails when the whole interval exceeds it, and is inconclusive otherwise. "
                    "On a periodic grid the quantile counts the periods that a late wake-up missed, which the tables further down show "
                    "as a column of its own."
                }
                @if let Some(found) = verdicts::by_place(profiles) {
                    (by_place(&found))
                    details.each {
                        summary { "Each by itself: requirements, methods, figures" }
                        (by_load(profiles))
                    }
                } @else {
                    (by_load(profiles))
                }
                @if let Some(more) = verdicts::how_to_get_more(data) { p.note { (more) } }
            }
        }
    }
}

/// A row for each use, a column for each platform or placement.
fn by_place(found: &ByPlace<'_>) -> Markup {
    let single = found.loads.len() == 1;
    markup! {
        div.parts {
            @for (i, places) in found.places.chunks(MOST).enumerate() {
                div.scroll tabindex="0" {
                    table.profiles {
                        thead { tr {
                            th { "Use" }
                            @for place in places { th { (place) } }
                        } }
                        tbody { @for of_use in &found.uses {
                            tr {
                                th scope="row" { b { (of_use.first().title) } }
                                @for (place, p) in places.iter().zip(&of_use.at[i * MOST..]) {
                                    td data-load=(place) {
                                        @match p {
                                            None => { (NONE) }
                                            Some(p) if single && !p.by_load.is_empty() => {
                                                (judgement(&p.by_load[0]))
                                            }
                                            Some(p) => { (badge(p.outcome)) }
                                        }
                                    }
                                }
                            }
                        } }
                    }
                }
            }
        }
        @if !single {
            p.note { "Each stands for all loads together: " (found.loads.iter().map(|l| load_title(l)).collect::<Vec<_>>().join(", ")) "." }
        }
    }
}

/// A row for each verdict, a column for each load.
fn by_load(profiles: &[ProfileVerdict]) -> Markup {
    let loads = verdicts::loads(profiles);
    markup! {
        div.parts {
            @for (i, some) in chunks(&loads).enumerate() {
                div.scroll tabindex="0" {
                    table.profiles {
                        thead { tr {
                            th { "Use" }
                            @if i == 0 { th { "Overall" } }
                            @for load in some { th { (under(load)) } }
                        } }
                        tbody { @for p in profiles { (profile(p, some, i == 0)) } }
                    }
                }
            }
        }
    }
}

/// Columns that a sheet of paper has room for.
const MOST: usize = 6;

/// Loads that a sheet of paper has room for; one table even if there is none.
fn chunks<'a, 'b>(loads: &'a [&'b str]) -> impl Iterator<Item = &'a [&'b str]> {
    let all = loads.is_empty().then_some(loads);
    all.into_iter().chain(loads.chunks(MOST))
}

/// A row; `whole` with what holds for all loads.
fn profile(p: &ProfileVerdict, loads: &[&str], whole: bool) -> Markup {
    markup! {
        tr {
            th scope="row" {
                b { (p.title()) } " " code { (p.name) }
                @if whole {
                div.small { (p.requirement) }
                @if let Some(method) = &p.method {
                    div.small {
                        "judged with " (factors_in_words(method))
                        @if let Some(why) = &p.chosen { " (" (why) ")" }
                        @if p.missed_filled { ", missed periods filled in" }
                    }
                }
                div.small.source { (p.source) }
                }
            }
            @if whole { td data-load="Overall" { (badge(p.outcome)) } }
            @for (load, v) in loads.iter().zip(verdicts::by_load(p, loads)) {
                td data-load=(under(load)) {
                    @if let Some(v) = v { (judgement(v)) } @else { (NONE) }
                }
            }
        }
    }
}

fn judgement(v: &LoadVerdict) -> Markup {
    markup! {
        (badge(v.outcome))
        @match Judged::of(v) {
            Judged::Value(quantile, value) => {
                div.value { (quantile) " " b { (value) } }
                @if let (Some(low), Some(high)) = (v.low_ns, v.high_ns) {
                    div.small { "[" (format_ns(low)) ", " (format_ns(high)) "]" }
                }
            }
            Judged::Beyond(quantile, limit) => { div.value { (quantile) " beyond " b { (limit) } } }
            Judged::TooFew(missing) => @if !v.reason.as_ref().is_some_and(|r| r.starts_with("too few samples")) {
                div.small { "too few samples: " (count(missing)) " more needed" }
            }
        }
        @if let Some(reason) = &v.reason { div.small.reason { (reason) } }
    }
}

fn under(load: &str) -> String {
    match load {
        "idle" => "Idle".to_owned(),
        other => format!("Under {}", load_title(other)),
    }
}

/// Glyph and word, so that colour is never alone in saying it.
pub(super) fn badge(outcome: Outcome) -> Markup {
    let (class, glyph, word) = match outcome {
        Outcome::Pass => ("pass", "✓", "pass"),
        Outcome::Fail => ("fail", "✗", "fail"),
        Outcome::Inconclusive => ("open", "?", "inconclusive"),
    };
    markup! { span class={ "badge " (class) } { span aria-hidden="true" { (glyph) } " " (word) } }
}

/// What costs time here, worst first.
pub(super) fn findings(data: &ReportData) -> Markup {
    let findings = &data.assessment().findings;
    markup! {
        section #hurts {
            h2 { "What hurts" }
            @if findings.is_empty() {
                p { "Nothing stood out against its baseline in this run." }
            } @else {
                ol.findings {
                    @for f in findings {
                        li {
                            b.ratio { (times(f.ratio)) }
                            div { p { (f.sentence) } p.small { (factors_in_words(&f.cell)) } }
                        }
                    }
                }
            }
            (lost::ranking(data))
        }
    }
}

/// Remedies that this very run tried.
pub(super) fn advice(data: &ReportData) -> Markup {
    let advice = &data.assessment().advice;
    markup! {
        section #advice {
            h2 { "Advice, tested in this run" }
            @if advice.is_empty() {
                p { "This run held no pair of settings to compare." }
            } @else {
                div.cards {
                    @for a in advice {
                        article.card.idle[!a.effective] {
                            p.change {
                                (format_ns(a.before_ns)) span.arrow { " → " } b { (format_ns(a.after_ns)) }
                                span.small { " median" }
                            }
                            p { (a.sentence) }
                            pre { code { (a.how) } }
                            p.small { b { "Price: " } (a.price) }
                            p.small {
                                b { "Gain: " } (times(a.gain))
                                @if let (Some(low), Some(high)) = (a.gain_low, a.gain_high) {
                                    " [" (times(low)) ", " (times(high)) "]"
                                }
                                @if !a.effective { " — not shown beyond noise" }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A quantile or the reason why there is none.
pub(super) fn figure(value: Option<f64>) -> Markup {
    markup! { (ns(value)) }
}
