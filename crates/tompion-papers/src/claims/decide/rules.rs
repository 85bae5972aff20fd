//! The rules about reads and sleeps, one a claim: what is read, and what supports or
//! contradicts.

use tompion_model::{AT_REST, Factors, factor, format_ns, parse_duration_ns};
use tompion_stats::LEAST_MAXIMA;

use super::observed::{Median, Observed, Replicate};
use crate::claims::{Effect, Finding, Outcome, rounded};

pub(super) type Rule = fn(&Observed) -> Option<Finding>;

const WAKE_UP: &str = "wake-up";
const HYBRID: &str = "tompion-hybrid";

pub(super) fn finding(outcome: Outcome, because: String, effects: Vec<Effect>) -> Option<Finding> {
    (!effects.is_empty()).then_some(Finding {
        claim: String::new(),
        outcome,
        because,
        effects,
    })
}

fn mean(r: &Replicate) -> Option<f64> {
    r.measured.as_ref().map(|s| s.mean_ns)
}

fn median(r: &Replicate) -> Option<f64> {
    r.measured.as_ref().map(|s| s.median_ns)
}

pub(super) fn target_ns(cell: &Factors) -> Option<f64> {
    let ns = parse_duration_ns(cell.get(factor::TARGET)?).ok()?;
    Some(ns as f64)
}

/// The cell in words, for effects.
pub(super) fn named(cell: &Factors) -> String {
    let parts = [
        factor::PLATFORM,
        factor::METHOD,
        factor::TARGET,
        factor::LOAD,
    ];
    let parts: Vec<&str> = parts.iter().filter_map(|f| cell.get(f)).collect();
    parts.join(", ")
}

/// At rest a busy wait uses 0.9 of its shortest target at least, and ends within 1 us in
/// the middle. The shortest one, because what else the machine does interrupts it least.
pub(super) fn whole_cpu(run: &Observed) -> Option<Finding> {
    let shortest = run
        .cells_of(WAKE_UP, "busy-wait", AT_REST)
        .filter_map(target_ns)
        .min_by(f64::total_cmp)?;
    let (mut effects, mut all, mut none) = (Vec::new(), true, true);
    for cell in run.cells_of(WAKE_UP, "busy-wait", AT_REST) {
        if target_ns(cell) != Some(shortest) {
            continue;
        }
        let share = Median::of(&run.figures(cell, |r| Some(r.cpu_ns? / shortest)));
        let late = Median::of(&run.figures(cell, median));
        let (Some(share), Some(late)) = (share, late) else {
            continue;
        };
        all &= share.low >= 0.9 && late.high <= 1_000.0;
        none &= share.high < 0.5;
        effects.push(share.effect(format!("CPU time over target: {}", named(cell)), "1", 1.0));
        effects.push(late.effect(format!("median latency: {}", named(cell)), "ns", 1.0));
    }
    let outcome = match (all, none) {
        (true, _) => Outcome::Supported,
        (_, true) => Outcome::Contradicted,
        _ => Outcome::NotDecidable,
    };
    let [share, late, ..] = &effects[..] else {
        return None;
    };
    let because = format!(
        "Busy waits of {} used {:.3} of it in CPU time and ended {:.0} ns late, in the middle.",
        format_ns(shortest),
        share.value,
        late.value
    );
    finding(outcome, because, effects)
}

/// About as precise: median latencies within a factor of two, at every target and load.
/// The library of the paper is not here, so that its sleep cannot be contradicted.
pub(super) fn hybrid_as_busy_wait(run: &Observed) -> Option<Finding> {
    let (mut effects, mut all) = (Vec::new(), true);
    let hybrids = run.cells.keys().filter(|f| f.is(WAKE_UP, HYBRID));
    for cell in hybrids {
        let busy = cell.clone().with(factor::METHOD, "busy-wait");
        let Some(ratio) = Median::of(&run.ratios(cell, &busy, median)) else {
            continue;
        };
        all &= ratio.low >= 0.5 && ratio.high <= 2.0;
        let what = format!("median latency over that of a busy wait: {}", named(cell));
        effects.push(ratio.effect(what, "1", 1.0));
    }
    let outcome = match all {
        true => Outcome::Supported,
        false => Outcome::NotDecidable,
    };
    let because = match all {
        true => "Tompion's two-phase sleep stays within a factor of two of a busy wait.",
        false => {
            "Tompion's two-phase sleep does not stay within a factor of two of a busy wait; the \
             library of the paper, which spins for a whole tick, is not here."
        }
    };
    finding(outcome, because.to_owned(), effects)
}

/// Standard deviations above the mean at which no normal sample is believed in.
const FAR: f64 = 7.0;
/// Probability that the greatest of up to a million normal values lies that far out: a
/// million times 1.3e-12, and room for the deviation's own error.
const FAR_BY_CHANCE: f64 = 1e-5;

/// Samples at rest whose greatest value lies further out than that of any normal sample
/// (Grubbs's statistic). Each replicate is a test; most reject in every cell, or none do.
pub(super) fn not_normal(run: &Observed) -> Option<Finding> {
    let outlier = |r: &Replicate| {
        // The greatest of n lies (n - 1) / sqrt(n) deviations out at most.
        let s = r.measured.as_ref().filter(|s| s.samples >= 100)?;
        let deviation = s.standard_deviation_ns.filter(|d| *d > 0.0)?;
        Some((s.max_ns - s.mean_ns) / deviation)
    };
    let at_rest = run.cells.keys().filter(|f| {
        let probe = f.level(factor::PROBE);
        f.level(factor::LOAD) == AT_REST && (probe == WAKE_UP || probe == "read-cost")
    });
    let (mut effects, mut most, mut none) = (Vec::new(), 0, 0);
    let mut probes = Vec::new();
    for cell in at_rest {
        let deviations = run.figures(cell, outlier);
        let n = deviations.len();
        if n < LEAST_MAXIMA {
            continue;
        }
        let far = deviations.iter().filter(|d| **d > FAR).count();
        most += usize::from(2 * far > n);
        none += usize::from(far == 0);
        probes.push(cell.level(factor::PROBE));
        effects.push(Effect {
            what: format!(
                "replicates of {n} whose greatest value lies beyond {FAR} standard deviations: {}",
                named(cell)
            ),
            value: far as f64,
            unit: "1".to_owned(),
            interval: None,
            p: Some(rounded(at_least(far, n, FAR_BY_CHANCE))),
            method: Some("binomial, a normal sample in each replicate".to_owned()),
        });
    }
    if !(probes.contains(&WAKE_UP) && probes.contains(&"read-cost")) {
        return None;
    }
    let outcome = if most == effects.len() {
        Outcome::Supported
    } else if none == effects.len() {
        Outcome::Contradicted
    } else {
        Outcome::NotDecidable
    };
    let because = format!(
        "In {most} of {} cells at rest, read costs and wake-up latencies, the greatest value of \
         most replicates lies more than {FAR} standard deviations above the mean, as that of a \
         normal sample does not; one such value moves the mean, and no median.",
        effects.len()
    );
    finding(outcome, because, effects)
}

/// An upper bound of the probability of `k` or more of `n` where each has `p`: by the
/// number of ways to choose them. No smaller one is told than a millionth.
fn at_least(k: usize, n: usize, p: f64) -> f64 {
    let ways = (0..k).fold(1.0, |w, i| w * (n - i) as f64 / (i + 1) as f64);
    (ways * p.powi(k as i32)).clamp(1e-6, 1.0)
}

/// Almost the same: means of the read cost within a tenth of the medians. Other work makes
/// means larger; so only samples that nothing disturbed contradict.
pub(super) fn means_near_medians(run: &Observed) -> Option<Finding> {
    let at_rest: Vec<&Factors> = run
        .cells
        .keys()
        .filter(|f| f.level(factor::PROBE) == "read-cost" && f.level(factor::LOAD) == AT_REST)
        .collect();
    let (mut effects, mut all, mut far) = (Vec::new(), true, false);
    for cell in at_rest {
        let measured = |r: &Replicate| Some(mean(r)? / median(r)?);
        let undisturbed = |r: &Replicate| {
            let s = r.undisturbed.as_ref()?;
            Some(s.mean_ns / s.median_ns)
        };
        let as_measured = Median::of(&run.figures(cell, measured));
        let alone = Median::of(&run.figures(cell, undisturbed));
        let (Some(m), Some(u)) = (as_measured, alone) else {
            continue;
        };
        all &= m.low >= 0.9 && m.high <= 1.1;
        far |= u.low > 1.1 || u.high < 0.9;
        effects.push(m.effect(format!("mean over median: {}", named(cell)), "1", 1.0));
    }
    let (outcome, because) = match (all, far) {
        (true, _) => (
            Outcome::Supported,
            "At rest every mean lies within a tenth of the median.",
        ),
        (_, true) => (
            Outcome::Contradicted,
            "At rest a mean lies more than a tenth from the median, disturbed samples left out.",
        ),
        _ => (
            Outcome::NotDecidable,
            "Means lie more than a tenth from the medians where other work disturbed them.",
        ),
    };
    finding(outcome, because.to_owned(), effects)
}

/// Extremely different: beside the CPU load the mean of the two-phase sleep is ten times
/// that at rest at least, and has grown more than that of usleep and of reads, on the host.
pub(super) fn hybrid_means_beside_cpu(run: &Observed) -> Option<Finding> {
    let grown = |cell: &Factors| {
        let beside = cell.clone().with(factor::LOAD, "cpu");
        Median::of(&run.ratios(&beside, cell, mean))
    };
    let is_host = |f: &&Factors| f.get(factor::PLATFORM).is_none_or(|p| p == "host");
    let (mut effects, mut hybrid, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for cell in run.cells.keys().filter(is_host) {
        let is_hybrid = cell.is(WAKE_UP, HYBRID);
        let counts =
            is_hybrid || cell.is(WAKE_UP, "usleep") || cell.level(factor::PROBE) == "read-cost";
        if !counts || cell.level(factor::LOAD) != AT_REST {
            continue;
        }
        let Some(ratio) = grown(cell) else { continue };
        let what = format!(
            "mean beside the CPU load over that at rest: {}",
            named(cell)
        );
        let effect = ratio.effect(what, "1", 1.0);
        match is_hybrid {
            true => {
                hybrid.push(ratio);
                effects.insert(0, effect);
            }
            false => {
                others.push(ratio);
                effects.push(effect);
            }
        }
    }
    if hybrid.is_empty() || others.is_empty() {
        return None;
    }
    let least =
        |all: &[Median], of: fn(&Median) -> f64| all.iter().map(of).fold(f64::MAX, f64::min);
    let most = |all: &[Median], of: fn(&Median) -> f64| all.iter().map(of).fold(f64::MIN, f64::max);
    let outcome = if least(&hybrid, |m| m.low) >= 10.0
        && least(&hybrid, |m| m.low) > most(&others, |m| m.high)
    {
        Outcome::Supported
    } else if most(&hybrid, |m| m.high) < 10.0
        || most(&hybrid, |m| m.high) < least(&others, |m| m.low)
    {
        Outcome::Contradicted
    } else {
        Outcome::NotDecidable
    };
    let because = format!(
        "Beside the CPU load the mean of Tompion's two-phase sleep is {} times that at rest or \
         more, those of usleep and of clock reads {} times at most.",
        rounded(least(&hybrid, |m| m.value)),
        rounded(most(&others, |m| m.value)),
    );
    finding(outcome, because, effects)
}
