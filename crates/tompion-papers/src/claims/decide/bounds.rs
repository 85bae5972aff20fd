//! The rules about greatest values and high quantiles.

use tompion_model::{AT_REST, Factors, factor, format_ns};
use tompion_stats::{GROWTH_LIMIT, GrowthVerdict, Maxima};

use super::observed::{Median, Observed, Replicate};
use super::rules::{finding, named, target_ns};
use crate::claims::{Effect, Finding, Interval, Outcome, rounded};

/// A maximum describes an overhead where it no longer grows with the time watched:
/// supported where the maxima of every platform level off, contradicted where those of most
/// surely grow by more than a tenth as the time is doubled.
pub(super) fn maxima_describe(run: &Observed) -> Option<Finding> {
    let cells = run.cells.keys().filter(|f| {
        f.level(factor::PROBE) == "stalls"
            && f.level(factor::LOAD) == AT_REST
            // Alone: the paper's first scenario.
            && f.get("placement").is_none_or(|p| p == "alone" || p.starts_with("one-to-all"))
    });
    let (mut effects, mut verdicts) = (Vec::new(), Vec::new());
    for cell in cells {
        let maxima = run.figures(cell, |r| r.measured.as_ref().map(|s| s.max_ns));
        let Some(growth) = Maxima::of(&maxima, 0.95).map(|m| m.growth) else {
            continue;
        };
        let (Some(ratio), Some(interval)) = (growth.ratio, growth.interval) else {
            continue;
        };
        verdicts.push(growth.verdict);
        effects.push(Effect {
            what: format!(
                "maximum of twice the time over that of once: {}",
                named(cell)
            ),
            value: rounded(ratio),
            unit: "1".to_owned(),
            interval: Some(Interval {
                low: rounded(interval.low),
                high: rounded(interval.high),
                confidence: interval.level,
            }),
            p: None,
            method: Some(format!(
                "expected maxima of {} and {} of {} replicates, jackknife",
                growth.from,
                2 * growth.from,
                maxima.len()
            )),
        });
    }
    let growing = verdicts.iter().filter(|v| **v == GrowthVerdict::Grows);
    let outcome = if 2 * growing.count() > verdicts.len() {
        Outcome::Contradicted
    } else if verdicts.iter().all(|v| *v == GrowthVerdict::LevelsOff) {
        Outcome::Supported
    } else {
        Outcome::NotDecidable
    };
    let because = format!(
        "Of {} platforms the maxima of {} surely grow by more than {:.0} % as the time watched is \
         doubled, those of {} by less.",
        verdicts.len(),
        verdicts
            .iter()
            .filter(|v| **v == GrowthVerdict::Grows)
            .count(),
        100.0 * (GROWTH_LIMIT - 1.0),
        verdicts
            .iter()
            .filter(|v| **v == GrowthVerdict::LevelsOff)
            .count(),
    );
    finding(outcome, because, effects)
}

/// The load of a cell without its settings.
fn load(cell: &Factors) -> &str {
    let load = cell.level(factor::LOAD);
    load.split(':').next().unwrap_or_default()
}

fn p99_9(r: &Replicate) -> Option<f64> {
    let s = r.measured.as_ref().filter(|s| s.samples >= 1_000)?;
    Some(s.p99_9_ns)
}

/// In a guest: threads woken within 20 us in 99.9 % of the events of at most 20 us, at rest
/// and beside disk reads, refute it. That they are not does not prove it, since other work
/// of the host has the same effect.
pub(super) fn within_20_us(run: &Observed) -> Option<Finding> {
    if !run.is_guest {
        return None;
    }
    let (mut effects, mut all, mut loads) = (Vec::new(), true, Vec::new());
    let cells = run.cells.keys().filter(|f| {
        f.level(factor::PROBE) == "timer-events" && target_ns(f).is_some_and(|ns| ns <= 20_000.0)
    });
    for cell in cells {
        let Some(m) = Median::of(&run.figures(cell, p99_9)) else {
            continue;
        };
        all &= m.high < 20_000.0;
        loads.push(load(cell));
        effects.push(m.effect(
            format!("p99.9 of the lateness: {}", named(cell)),
            "us",
            1e-3,
        ));
    }
    let both = loads.contains(&AT_REST) && loads.contains(&"disk-read");
    let outcome = match all && both {
        true => Outcome::Contradicted,
        false => Outcome::NotDecidable,
    };
    let because = match outcome {
        Outcome::Contradicted => "In a guest 99.9 % of the events end within 20 us.",
        _ => "In a guest not surely 99.9 % of the events end within 20 us, or a load is missing.",
    };
    finding(outcome, because.to_owned(), effects)
}

/// The period that no platform is said to hold, in nanoseconds.
const TEN_US: f64 = 10_000.0;

/// With high precision: no period missed, and p99.9 of the latency within a tenth of the
/// period. Any platform that holds 10 us so beside disk reads refutes the claim. That none
/// does proves nothing: another machine might, and the paper's events end in the kernel,
/// where these wake a thread.
pub(super) fn holds_10_us(run: &Observed) -> Option<Finding> {
    let cells = run.cells.keys().filter(|f| {
        f.level(factor::PROBE) == "timer-events"
            && target_ns(f) == Some(TEN_US)
            && load(f) == "disk-read"
    });
    let mut seen = Vec::new();
    for cell in cells {
        let late = Median::of(&run.figures(cell, p99_9));
        // Without a grid there are no periods to hold.
        let all_missed = run.figures(cell, |r| r.missed);
        let (Some(late), Some(missed)) = (late, Median::of(&all_missed)) else {
            continue;
        };
        let holds = late.high <= 0.1 * TEN_US && all_missed.iter().all(|n| *n == 0.0);
        seen.push((holds, late, missed, named(cell)));
    }
    // The best first.
    seen.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.value.total_cmp(&b.1.value)));
    let (holds, late, missed, at) = seen.first()?;
    let figures = format!(
        "{at}: 99.9 % of the events come within {}, and {} periods are missed, in the middle",
        format_ns(late.value),
        rounded(missed.value)
    );
    let (outcome, because) = match *holds {
        true => (
            Outcome::Contradicted,
            format!("Beside disk reads 10 us hold with high precision, {figures}."),
        ),
        false => (
            Outcome::NotDecidable,
            format!(
                "Beside disk reads 10 us do not surely hold with high precision, at best {figures}; \
                 here each event wakes a thread, and another machine might hold them."
            ),
        ),
    };
    let effects = seen.iter().flat_map(|(_, late, missed, at)| {
        [
            late.effect(format!("p99.9 of the lateness: {at}"), "us", 1e-3),
            missed.effect(format!("missed periods a replicate: {at}"), "1", 1.0),
        ]
    });
    finding(outcome, because, effects.collect())
}
