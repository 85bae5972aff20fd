//! Sentences and numbers of a comparison.

use tompion_compare::{Basis, Comparison, Figure, Found, Judged, Row, Verdict};
use tompion_record::format_ns;
use tompion_stats::Interval;

use crate::figures::{NONE, percent, plural, real};
use crate::sections::factors_in_words;

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
        Verdict::NoFigure => format!(
            "The {what} cannot be told: too few samples in each trial, or none of this kind."
        ),
        Verdict::TooFew { basis, have, need } => format!(
            "Whether the {what} differs is not decidable with so few: {second} and {first} \
             have {have} {}, and {need} on each side are needed.",
            match basis {
                Basis::Trials => plural(*have as u64, "trial", "trials"),
                Basis::Stretches => "samples in a row",
            }
        ),
        Verdict::Found(found) if found.p_adjusted <= all.level => {
            let way = match (found.shift > 0.0, row.figure.is_share()) {
                (true, false) => "longer",
                (false, false) => "shorter",
                (true, true) => "larger",
                (false, true) => "smaller",
            };
            format!(
                "The {what} is {} {way} with {second}{}: {} against {} with {first}.",
                amount(row.figure, found),
                times(found),
                own(row.figure, row.values.1),
                own(row.figure, row.values.0),
            )
        }
        Verdict::Found(found) => {
            let range = match found.ratio {
                Some((_, ratio)) => format!("{} and {}", relative(ratio.low), relative(ratio.high)),
                None => format!(
                    "{} and {}",
                    change(row.figure, found.interval.low),
                    change(row.figure, found.interval.high)
                ),
            };
            format!(
                "No difference was found in the {what}: with {second} it is between {range} of that with {first}."
            )
        }
    }
}

fn amount(figure: Figure, found: &Found) -> String {
    let size = |by: f64| match figure.is_share() {
        true => format!("{} percentage points", real(100.0 * by.abs())),
        false => format_ns(by.abs()),
    };
    size(found.shift)
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
    let probe = row.cell.level(tompion_record::factor::PROBE);
    let quantity = match (row.figure, probe) {
        (Figure::Lost, _) => "share of time lost in stalls".to_owned(),
        (Figure::Missed, _) => "share of missed periods".to_owned(),
        (figure, probe) => format!(
            "{} of the {}",
            match figure {
                Figure::Max => "maximum",
                Figure::Min => "minimum",
                other => other.name(),
            },
            match probe {
                "wake-up" => "wake-up latency",
                "read-cost" => "read cost",
                "timer-events" => "lateness of timer events",
                "stalls" => "iterations",
                other => other,
            }
        ),
    };
    format!("{quantity} of {}", factors_in_words(&row.cell))
}

/// What a gate says of one cell, in one line.
pub(crate) fn gate_sentence(sides: &[String], judged: &Judged) -> String {
    let change = match judged.change {
        None => match &judged.verdict {
            Verdict::TooFew { have, need, .. } => {
                format!("not decidable with {have} replicates, {need} are needed")
            }
            _ => "not decidable: the figure is missing".to_owned(),
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
    format!(
        "{} {} with {}: {change}",
        judged.cell, judged.figure, sides[judged.side]
    )
}
