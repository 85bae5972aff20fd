//! What disturbed samples make of a probe's figures.

use tompion_model::{Summary, factor, format_ns};

use crate::data::{ReportData, Shown};
use crate::disturbed::{Disturbed, Reason, cause_in_words, known_by};
use crate::figures::{count, percent, supported};
use crate::grid::factors_in_words;

/// For example `preempted 0.80 % (events), stolen 0.40 % (polled)`.
fn shares(d: &Disturbed) -> String {
    let of = |r: &Reason| {
        let share = percent(r.samples as f64 / d.samples as f64);
        format!(
            "{} {share} ({})",
            cause_in_words(r.cause),
            known_by(r.source)
        )
    };
    let all: Vec<String> = d.reasons().iter().map(of).collect();
    all.join(", ")
}

/// What the disturbed samples of one probe make of its figures; `None` where
/// nobody looked for disturbances.
pub(super) fn sentence(data: &ReportData, probe: &str) -> Option<String> {
    let cells: Vec<Shown<'_>> = data
        .shown()
        .filter(|s| s.cell.factors.level(factor::PROBE) == probe)
        .collect();
    let mut all = Disturbed::default();
    cells.iter().for_each(|s| all.merge(&s.view.disturbed));
    if !all.observed || all.samples == 0 {
        return None;
    }
    let samples = count(all.samples);
    if all.marked() == 0 {
        return Some(format!(
            "None of {samples} samples overlapped a disturbance that was seen."
        ));
    }
    Some(format!(
        "Of {samples} samples {} overlapped a disturbance: {}; {}.",
        percent(all.marked() as f64 / all.samples as f64),
        shares(&all),
        effect(&cells)
    ))
}

/// What happens to the p99 without them.
fn effect(cells: &[Shown<'_>]) -> String {
    let p99 = |s: &Shown<'_>| {
        let of = |m: &Option<Summary>| {
            let m = m.as_ref()?;
            supported(m, 0.99, m.p99_ns)
        };
        Some((of(&s.view.measured)?, of(&s.view.undisturbed)?))
    };
    let both: Vec<(&Shown<'_>, f64, f64)> = cells
        .iter()
        .filter_map(|s| p99(s).map(|(with, without)| (s, with, without)))
        .collect();
    let apart = |with: f64, without: f64| format_ns(with) != format_ns(without);
    match both.as_slice() {
        [] => "there are too few samples for a p99".to_owned(),
        [(_, with, without)] if apart(*with, *without) => format!(
            "without them the p99 is {} instead of {}",
            format_ns(*without),
            format_ns(*with)
        ),
        [(_, with, _)] => format!("without them the p99 stays at {}", format_ns(*with)),
        several => {
            let worst = several
                .iter()
                .max_by(|a, b| (a.1 - a.2).total_cmp(&(b.1 - b.2)));
            match worst {
                Some((s, with, without)) if apart(*with, *without) => format!(
                    "without them the p99 changes most for {}: {} instead of {}",
                    factors_in_words(&s.cell.factors),
                    format_ns(*without),
                    format_ns(*with)
                ),
                _ => "without them no p99 changes".to_owned(),
            }
        }
    }
}
