//! What a report opens with: the verdict, or what was measured where nothing slept and
//! there is none.

use tompion_record::{Hold, factor, format_ns, level_in_words};

use crate::causes::by_name;
use crate::data::{ReportData, Shown};
use crate::disturbed::cause_in_words;
use crate::figures::{count, percent, plural, us};
use crate::sections::{READ_COST, STALLS, TIMER_EVENTS, sort_loads, variant};
use crate::stalls::{StallsView, cause_and_by};
use crate::timer_events::{TimerEvents, missed_share};

/// The first words of a report.
#[derive(Debug, PartialEq)]
pub(crate) struct Opening {
    /// The answer, in sentences.
    pub answer: Vec<String>,
    /// Why there is no verdict, where there is none.
    pub without_verdict: Option<String>,
}

impl Opening {
    /// The verdict, or a sentence for each probe and load.
    pub(crate) fn of(data: &ReportData) -> Self {
        let assessment = data.assessment();
        let verdict = || assessment.headline.clone();
        let judged = assessment.profiles.iter().any(|p| !p.by_load.is_empty());
        let measured = if judged { Vec::new() } else { measured(data) };
        if measured.is_empty() {
            return Self {
                answer: vec![verdict()],
                without_verdict: None,
            };
        }
        Self {
            answer: measured,
            without_verdict: Some(verdict()),
        }
    }

    /// All of it in one line.
    pub(crate) fn text(&self) -> String {
        let sentences: Vec<&str> = self
            .answer
            .iter()
            .chain(&self.without_verdict)
            .map(String::as_str)
            .collect();
        sentences.join(" ")
    }
}

fn measured(data: &ReportData) -> Vec<String> {
    let mut loads: Vec<&str> = data
        .cells()
        .iter()
        .map(|c| c.factors.level(factor::LOAD))
        .collect();
    sort_loads(&mut loads);
    loads.dedup();
    let mut sentences = Vec::new();
    for probe in [READ_COST, TIMER_EVENTS, STALLS] {
        for load in &loads {
            let cells: Vec<Shown<'_>> = data
                .shown()
                .filter(|s| s.cell.factors.level(factor::PROBE) == probe)
                .filter(|s| s.cell.factors.level(factor::LOAD) == *load)
                .collect();
            let sentence = match probe {
                READ_COST => read_cost(&cells),
                TIMER_EVENTS => timer_events(&cells, &data.record().holds, load),
                _ => stalls(&cells),
            };
            sentences.extend(sentence.map(|s| format!("{} {s}", beside(load))));
        }
    }
    sentences
}

/// The load as the beginning of a sentence.
fn beside(load: &str) -> String {
    match load {
        "" => "Beside a load without a name".to_owned(),
        "idle" => "At rest".to_owned(),
        load => format!("Beside {load}"),
    }
}

/// A cell by its method and what else sets it apart, as in `timerfd (on a grid)`.
fn name(s: &Shown<'_>) -> String {
    let method = s.cell.factors.level(factor::METHOD);
    match variant(&s.cell.factors).as_str() {
        "" => method.to_owned(),
        variant => format!("{method} ({variant})"),
    }
}

fn read_cost(cells: &[Shown<'_>]) -> Option<String> {
    let mut reads: Vec<(f64, String)> = cells
        .iter()
        .filter_map(|s| {
            let summary = s.view.batched.as_ref().or(s.view.measured.as_ref())?;
            Some((summary.median_ns, name(s)))
        })
        .collect();
    reads.sort_by(|a, b| a.0.total_cmp(&b.0));
    let words = |(ns, name): &(f64, String)| format!("{} with {name}", format_ns(*ns));
    Some(match (reads.first()?, reads.last()?) {
        (only, _) if reads.len() == 1 => format!("a read takes {} (median).", words(only)),
        (cheapest, dearest) => format!(
            "a read takes from {} to {} (medians).",
            words(cheapest),
            words(dearest)
        ),
    })
}

fn timer_events(cells: &[Shown<'_>], holds: &[Hold], load: &str) -> Option<String> {
    let off = |t: &TimerEvents| Some((t.mean_ns()? / t.period_ns.max(1) as f64 - 1.0).abs());
    let mut found: Vec<(f64, String, String)> = cells
        .iter()
        .filter_map(|s| {
            let timer = s.view.timer.as_ref()?;
            let missed = missed_share(s).map(|share| format!(", {} missed", percent(share)));
            let figures = format!(
                "{} µs at {}{}",
                us(timer.mean_ns()?),
                level_in_words(s.cell.factors.level(factor::TARGET)),
                missed.unwrap_or_default()
            );
            Some((off(timer)?, name(s), figures))
        })
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ((_, best, its), (_, worst, figures)) = (found.first()?, found.last()?);
    let mut sentence = match found.len() {
        1 => format!("the mean interval of {best} was {its}."),
        _ => format!(
            "the mean interval came closest to its period with {best}: {its}; it stayed \
             farthest from it with {worst}: {figures}."
        ),
    };
    let here: Vec<&Hold> = holds
        .iter()
        .filter(|h| h.factors.level(factor::LOAD) == load)
        .collect();
    let smallest = here
        .iter()
        .filter_map(|h| Some((h.smallest_ns?, h)))
        .min_by_key(|h| h.0);
    match smallest {
        Some((ns, hold)) => {
            let method = hold.factors.level(factor::METHOD);
            let of = variant(&hold.factors);
            let of = if of.is_empty() {
                of
            } else {
                format!(" ({of})")
            };
            sentence.push_str(&format!(
                " The smallest period held was {}, by {method}{of}.",
                format_ns(ns as f64)
            ));
        }
        None if !here.is_empty() => sentence.push_str(" No period that was tried was held."),
        None => {}
    }
    Some(sentence)
}

fn stalls(cells: &[Shown<'_>]) -> Option<String> {
    let views: Vec<&StallsView> = cells
        .iter()
        .filter_map(|s| s.view.stalls.as_ref())
        .collect();
    let sum = |of: fn(&StallsView) -> u64| views.iter().map(|v| of(v)).sum::<u64>();
    let (lost_ns, observed_ns) = (sum(|v| v.total.lost_ns), sum(|v| v.total.observed_ns));
    let threshold_ns = views.iter().map(|v| v.total.threshold_ns).max()?;
    let (threshold, observed) = (
        format_ns(threshold_ns as f64),
        format_ns(observed_ns as f64),
    );
    let stalls = sum(|v| v.total.stalls);
    let on = match views.len() {
        1 => String::new(),
        n => format!(" in {n} loops"),
    };
    if stalls == 0 {
        return Some(format!(
            "no stall of more than {threshold} was seen in {observed}{on}."
        ));
    }
    let longest = views
        .iter()
        .max_by(|a, b| a.longest_ns.total_cmp(&b.longest_ns))?;
    let mostly = longest
        .longest_cause
        .map(|cause| format!(" ({})", cause_in_words(cause)));
    let share = lost_ns as f64 / observed_ns.max(1) as f64;
    let causes: Vec<_> = views
        .iter()
        .flat_map(|v| v.causes.iter().cloned())
        .collect();
    let main = by_name(&causes).into_iter().next().map(|c| {
        format!(
            "; {} of the time lost: {}",
            percent(c.ns as f64 / lost_ns.max(1) as f64),
            cause_and_by(c.cause, c.by.as_deref())
        )
    });
    Some(format!(
        "{} of the time was lost ({} of {observed}{on}) in {} {} of more than {threshold}, the \
         longest {}{}{}.",
        percent(share),
        format_ns(lost_ns as f64),
        count(stalls),
        plural(stalls, "stall", "stalls"),
        format_ns(longest.longest_ns),
        mostly.unwrap_or_default(),
        main.unwrap_or_default(),
    ))
}
