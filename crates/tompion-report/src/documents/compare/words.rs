//! Sentences and numbers of a comparison.

use tompion_assess::compare::{
    Basis, Comparison, Drift, Estimate, Estimator, Figure, Found, Instead, Judged, Judgement, Row,
    Undecided, Verdict,
};
use tompion_assess::verdict::quantity_name;
use tompion_model::format_ns;
use tompion_stats::Interval;

use crate::figures::{NONE, count, percent, plural, real};
use crate::grid::factors_in_words;

/// A figure's value in its unit.
pub(crate) fn value(figure: Figure, value: f64) -> String {
    match figure.is_share() {
        true => percent(value),
        false => format_ns(value),
    }
}

/// A change with its sign, in the figure's unit.
pub(crate) fn change(figure: Figure, by: f64) -> String {
    let sign = match by {
        b if b > 0.0 => "+",
        b if b < 0.0 => "\u{2212}",
        _ => "",
    };
    let size = match figure.is_share() {
        true => format!("{} pp", real(100.0 * by.abs())),
        false => format_ns(by.abs()),
    };
    format!("{sign}{size}")
}

/// `[low, high]` with signs.
pub(crate) fn changes(figure: Figure, interval: Interval) -> String {
    format!(
        "[{}, {}]",
        change(figure, interval.low),
        change(figure, interval.high)
    )
}

/// A ratio as a change in per cent, or as a factor where it is large.
pub(crate) fn relative(ratio: f64) -> String {
    match ratio {
        r if r >= 2.0 => format!("{}\u{d7}", real(r)),
        r if r <= 0.5 => format!("1/{}", real(1.0 / r)),
        r => {
            let per_cent = 100.0 * (r - 1.0);
            let sign = match per_cent {
                p if p >= 0.005 => "+",
                p if p <= -0.005 => "\u{2212}",
                _ => "",
            };
            format!("{sign}{} %", real(per_cent.abs()))
        }
    }
}

/// A p-value; what is very small says so.
pub(crate) fn p_value(p: f64) -> String {
    match p {
        p if p < 0.0001 => "< 0.0001".to_owned(),
        p if p < 0.001 => format!("{p:.4}"),
        p => format!("{p:.3}"),
    }
}

/// One plain sentence about a row.
pub(crate) fn sentence(all: &Comparison, row: &Row) -> String {
    let (first, second) = (&all.sides[row.sides.0], &all.sides[row.sides.1]);
    let what = what(row);
    match &row.verdict {
        Verdict::NoFigure => {
            format!("The {what} is not known: {}.", no_figure(row.figure))
        }
        Verdict::TooFew {
            basis,
            have,
            need,
            instead,
        } => format!(
            "Whether the {what} differs is not decidable with so few: {}.",
            too_few((first, second), *basis, *have, *need, *instead)
        ),
        Verdict::Drifts(why, found) => format!(
            "Whether the {what} differs is not decidable: {}. From {first} to {second} the change \
             is, {}, between {}.",
            match tells_alone(all, found) {
                Some(p) => drift_in_family(row.figure, found, *why, p),
                None => drift(row.figure, found, *why),
            },
            surely(all.level, true),
            between(row.figure, found),
        ),
        Verdict::Found(found) if found.p_adjusted <= all.level && rests_on_two_runs(all, found) => {
            format!(
                "These two runs differ in the {what}: {} with {second} against {} with {first}; the \
                 change is {}{}, {}, between {}{}.",
                own(row.figure, row.values.1),
                own(row.figure, row.values.0),
                change(row.figure, found.shift),
                times(found),
                surely(all.level, found.drift.is_some()),
                between(row.figure, found),
                match has_other_sign(row) {
                    true => format!(" ({})", other_sign(all, (first, second))),
                    false => String::new(),
                },
            )
        }
        Verdict::Found(found) if found.p_adjusted <= all.level => {
            // Where most differences are zero, the others still tell the direction.
            let more = found.shift > 0.0 || (found.shift == 0.0 && found.a_hat > 0.5);
            let way = match (more, row.figure.is_share()) {
                (true, false) => "longer",
                (false, false) => "shorter",
                (true, true) => "larger",
                (false, true) => "smaller",
            };
            format!(
                "The {what} is {way} with {second}: {} against {} with {first}; the change is {}{}, \
                 {}, between {}{}.",
                own(row.figure, row.values.1),
                own(row.figure, row.values.0),
                change(row.figure, found.shift),
                times(found),
                surely(all.level, found.drift.is_some()),
                between(row.figure, found),
                match has_other_sign(row) {
                    true => format!(" ({})", other_sign(all, (first, second))),
                    false => String::new(),
                },
            )
        }
        Verdict::Found(found) => format!(
            "No difference was found in the {what}: from {first} to {second} the change is, {}, \
             between {}{}{}.",
            surely(all.level, found.drift.is_some()),
            between(row.figure, found),
            match tells_alone(all, found) {
                Some(p) => format!(
                    " by this comparison alone (p {}), which is no difference among the {} that p is adjusted for",
                    p_value(p),
                    count(found.family as u64)
                ),
                None => String::new(),
            },
            match detectable(row.figure, found) {
                Some(least) => format!("; one of {least} would have been found in 80 % of cases"),
                None => String::new(),
            },
        ),
    }
}

/// Whether the change goes the other way than from A to B.
pub(crate) fn has_other_sign(row: &Row) -> bool {
    let (Verdict::Found(found) | Verdict::Drifts(_, found)) = &row.verdict else {
        return false;
    };
    let by = row.values.0.zip(row.values.1).map(|(a, b)| b - a);
    by.is_some_and(|by| by * found.shift < 0.0)
}

/// Why that may be.
pub(crate) fn other_sign(all: &Comparison, (first, second): (&str, &str)) -> String {
    format!(
        "the other way than from {first} to {second}: these are the figures of whole sides, the change the middle of all \
         differences between {}",
        if all.of_runs { "runs" } else { "trials" }
    )
}

/// The p of a comparison that would tell a difference if it were alone, but does not among those that p is
/// adjusted for: its interval, which is not adjusted, leaves out zero.
fn tells_alone(all: &Comparison, found: &Found) -> Option<f64> {
    let alone = found.drift.map_or(found.p, |d| found.p.max(d.p));
    (alone <= all.level && found.p_adjusted > all.level).then_some(alone)
}

/// Whether one run stands for each side, so that nothing is known of how runs scatter.
fn rests_on_two_runs(all: &Comparison, found: &Found) -> bool {
    !all.paired && found.basis != Basis::Runs
}

/// The smallest difference that would have been found: relative where that is possible.
fn detectable(figure: Figure, found: &Found) -> Option<String> {
    match (found.detectable_ratio, found.detectable) {
        (Some(ratio), _) => Some(relative(ratio)),
        (None, by) => by.map(|by| change(figure, by)),
    }
}

/// Behind "no difference was found": the largest that is likely to have been missed.
pub(crate) fn largest_missed(all: &Comparison) -> String {
    let ratio = |row: &Row| match &row.verdict {
        Verdict::Found(f) if f.p_adjusted > all.level => f.detectable_ratio,
        _ => None,
    };
    let ratios: Vec<f64> = all.rows.iter().filter_map(ratio).collect();
    match ratios.iter().copied().reduce(f64::max) {
        Some(most) if ratios.len() > 1 => {
            let least = ratios.iter().copied().fold(most, f64::min);
            format!(
                "; {} to {}, cell by cell, would have been found in 80 % of cases",
                relative(least),
                relative(most)
            )
        }
        Some(one) => format!("; {} would have been found in 80 % of cases", relative(one)),
        None => String::new(),
    }
}

/// How drift explains a difference, as a part of a sentence.
fn drift(figure: Figure, found: &Found, why: Drift) -> String {
    match why {
        Drift::Within => "values drift within blocks, so that these are too short to be \
                          replicates; longer ones (--duration) or turns (--by, --switch) would do"
            .to_owned(),
        Drift::Across { step, ratio } => format!(
            "a steady drift of {} through both sides would explain it; turns (--by, --switch) \
             are not fooled by one",
            a_step(figure, found, step, ratio)
        ),
    }
}

/// The same where what drift leaves of the difference is one by itself, with this `p`, and not among the
/// comparisons that p is adjusted for.
fn drift_in_family(figure: Figure, found: &Found, why: Drift, p: f64) -> String {
    let (what, instead) = match why {
        Drift::Within => (
            "values that drift within blocks".to_owned(),
            "longer blocks (--duration) or turns (--by, --switch)",
        ),
        Drift::Across { step, ratio } => (
            format!(
                "a steady drift of {} through both sides",
                a_step(figure, found, step, ratio)
            ),
            "turns (--by, --switch)",
        ),
    };
    format!(
        "with {what} allowed for it does by this comparison alone (p {}), but not among the {} that p is adjusted \
         for by Holm's method (p {}); {instead} take no such allowance",
        p_value(p),
        count(found.family as u64),
        p_value(found.p_adjusted),
    )
}

/// For example `+0.90 % a block`.
fn a_step(figure: Figure, found: &Found, step: f64, ratio: Option<f64>) -> String {
    format!(
        "{} a {}",
        ratio.map_or_else(|| change(figure, step), relative),
        match found.basis {
            Basis::Runs => "run",
            _ => "block",
        }
    )
}

/// The confidence of the intervals: `95 %`.
pub(crate) fn confidence(level: f64) -> String {
    let digits = (100.0 * (1.0 - level) * 1e4).round() / 1e4;
    format!("{digits} %")
}

fn surely(level: f64, allows_for_drift: bool) -> String {
    let and = match allows_for_drift {
        true => " and drift allowed for",
        false => "",
    };
    format!("with {} confidence{and}", confidence(level))
}

/// The ends of the interval: relative ones where there are.
fn between(figure: Figure, found: &Found) -> String {
    match found.ratio {
        Some((_, ratio)) => format!("{} and {}", relative(ratio.low), relative(ratio.high)),
        None => format!(
            "{} and {}",
            change(figure, found.interval.low),
            change(figure, found.interval.high)
        ),
    }
}

/// Why there is no figure, as the end of a sentence.
fn no_figure(figure: Figure) -> String {
    match figure {
        Figure::Missed => "only methods that sleep to a grid miss periods".to_owned(),
        Figure::Lost => "only stalls lose time".to_owned(),
        _ => match figure.samples_needed() {
            1 => "not both sides have a trial with samples".to_owned(),
            n => format!(
                "not both sides have a trial with the {} samples that it takes",
                count(n)
            ),
        },
    }
}

/// What there is and what it would take, as the end of a sentence.
fn too_few(
    (first, second): (&str, &str),
    basis: Basis,
    have: (usize, usize),
    need: usize,
    instead: Option<Instead>,
) -> String {
    let noun = |n: usize| match basis {
        Basis::Trials => plural(n as u64, "trial", "trials"),
        Basis::Runs => plural(n as u64, "run", "runs"),
        Basis::Stretches => "samples in a row",
    };
    let told = |n: usize| format!("{} {}", count(n as u64), noun(n));
    let have_least = have.0.min(have.1);
    let have = match have {
        (a, b) if a == b => format!("{first} and {second} have {} each", told(a)),
        (a, b) => format!("{first} has {} and {second} {}", told(a), told(b)),
    };
    match need {
        usize::MAX => have,
        need if have_least >= need => format!("{have}, too many of which have the same value"),
        need => match instead {
            None => format!("{have}, and {} on each side would do", count(need as u64)),
            // By the dependence seen so far.
            Some(Instead { seconds, trials }) => format!(
                "{have}, and {trials} trials on each side would do, or a single one of some {} s",
                count(seconds.ceil() as u64)
            ),
        },
    }
}

fn times(found: &Found) -> String {
    match found.ratio {
        Some((ratio, _)) if ratio > 0.0 => format!(" ({})", relative(ratio)),
        _ => String::new(),
    }
}

fn own(figure: Figure, of: Option<f64>) -> String {
    of.map_or_else(|| NONE.to_owned(), |v| value(figure, v))
}

/// For example `p99 of the wake-up latency of usleep, 100 µs, idle`.
fn what(row: &Row) -> String {
    let probe = row.cell.level(tompion_model::factor::PROBE);
    let quantity = match (row.figure, probe) {
        (Figure::Lost, _) => "share of time lost in stalls".to_owned(),
        (Figure::Missed, _) => "share of missed periods".to_owned(),
        (Figure::Max, "stalls") => "longest stall".to_owned(),
        (figure, probe) => format!(
            "{} of the {}",
            match figure {
                Figure::Max => "maximum",
                Figure::Min => "minimum",
                other => other.name(),
            },
            quantity_name(probe)
        ),
    };
    format!("{quantity} of {}", factors_in_words(&row.cell))
}

/// What a gate says of one cell, in one line.
pub(crate) fn gate_sentence(sides: &[String], judged: &Judged) -> String {
    let change = match judged.change {
        None => match &judged.verdict {
            Verdict::TooFew {
                basis,
                have,
                need,
                instead,
            } => {
                let names = (&*sides[0], &*sides[judged.side]);
                let few = too_few(names, *basis, *have, *need, *instead);
                format!("not decidable: {few}")
            }
            Verdict::Found(_) | Verdict::Drifts(..) => {
                "not decidable: it is not above zero in each trial, so that \
                                  nothing is relative to it; give the change in its unit"
                    .to_owned()
            }
            Verdict::NoFigure => format!("not decidable: {}", no_figure(judged.figure)),
        },
        Some((estimate, low, high)) if judged.relative => format!(
            "{} [{}, {}]",
            relative(estimate),
            relative(low),
            relative(high)
        ),
        Some((estimate, low, high)) => format!(
            "{} [{}, {}]",
            self::change(judged.figure, estimate),
            self::change(judged.figure, low),
            self::change(judged.figure, high)
        ),
    };
    let why = match (judged.undecided, &judged.verdict) {
        (Some(Undecided::OneRun), _) => {
            "; not decided: one run a side cannot show how runs scatter".to_owned()
        }
        (Some(Undecided::Drift(why)), Verdict::Found(found) | Verdict::Drifts(_, found)) => {
            format!("; not decidable: {}", drift(judged.figure, found, why))
        }
        (_, _) if judged.judgement == Judgement::Inconclusive => judged
            .needed
            .map_or_else(String::new, |n| replicates_needed(n, &judged.verdict)),
        (_, _) => String::new(),
    };
    format!(
        "{} {} with {}: {change}{}{why}",
        judged.cell,
        judged.figure,
        sides[judged.side],
        judged.estimate.map_or_else(String::new, estimate),
    )
}

/// What a gate's change is, and how sure its interval.
fn estimate(of: Estimate) -> String {
    let level = confidence(1.0 - of.confidence);
    match of.estimator {
        Estimator::HodgesLehmann => format!(" ({level} interval)"),
        Estimator::GeometricMeans => format!(" (ratio of geometric means, {level} interval)"),
    }
}

/// How many replicates a margin takes: so many that there are already do not help where something differs.
fn replicates_needed(needed: usize, verdict: &Verdict) -> String {
    let n = count(needed as u64);
    let have = match verdict {
        Verdict::Found(found) => found.replicates.0.min(found.replicates.1),
        _ => 0,
    };
    let would = format!("; {n} replicates on each side would do if nothing differed");
    match have >= needed {
        true => format!(
            "{would}, and there are {}: what was found is too near the margin",
            count(have as u64)
        ),
        false => would,
    }
}

#[cfg(test)]
mod tests;
