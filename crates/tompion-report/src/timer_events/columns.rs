//! The table of timer events, as both the terminal and the page print it: in
//! microseconds, as Adamczyk 2015 does.

use std::collections::{BTreeMap, BTreeSet};

use tompion_model::{format_duration, level_in_words};

use super::TimerEvents;
use crate::data::Shown;
use crate::figures::{count, percent, real, us};
use crate::grid::Grid;
use crate::precision::{us_interval, us_three, us_within};

/// Longest tau that the table names, in nanoseconds.
const LONGEST_TAU_NS: u64 = 1_000_000_000;

/// What stands in a column for a cell.
type Entry = dyn Fn(&Shown<'_>) -> Option<String>;

/// A heading, and what stands below it.
pub(crate) struct Column {
    /// Heading.
    pub title: String,
    /// The entry; `None` where the cell has none.
    pub of: Box<Entry>,
}

/// The columns that a section's table has. MTIE and TDEV are named at d and at
/// the longest tau of at most one second that every cell reaches, and where that is not the same
/// at the longest that half of them do: no cell takes it from the others.
pub(crate) fn columns(section: &Grid<'_>) -> Vec<Column> {
    let mut all = vec![
        of("mean", |t| {
            let mean_ns = t.mean_ns()?;
            Some(match t.mean_interval_ns() {
                Some(interval) => us_within(mean_ns, interval),
                None => us(mean_ns),
            })
        }),
        of("sd (n)", |t| {
            t.differences.uncorrected_standard_deviation().map(us_three)
        }),
        of("sd (n\u{2212}1)", |t| {
            t.differences.standard_deviation().map(us_three)
        }),
        of("99 % of the mean", |t| {
            Some(us_interval(t.mean_interval_ns()?))
        }),
        column("missed", |s| s.cell.missed_periods.map(count)),
        column("missed, %", |s| missed_share(s).map(percent)),
        of("max |TIE|", |t| {
            (t.trials > 0).then(|| us(t.largest_tie_ns))
        }),
    ];
    all.extend(at_taus(section, "MTIE", TimerEvents::mtie));
    all.extend(at_taus(section, "TDEV", TimerEvents::tdev));
    all.push(column("CPU", |s| s.cell.cpu_per_operation_ns().map(us)));
    all.push(column("interrupts/s", |s| {
        interrupts_per_second(s).map(real)
    }));
    all.retain(|c| section.cells().any(|s| (c.of)(&s).is_some()));
    all
}

fn column(title: &str, of: fn(&Shown<'_>) -> Option<String>) -> Column {
    Column {
        title: title.to_owned(),
        of: Box::new(of),
    }
}

fn of(title: &str, of: fn(&TimerEvents) -> Option<String>) -> Column {
    Column {
        title: title.to_owned(),
        of: Box::new(move |s| of(s.view.timer.as_ref()?)),
    }
}

/// Missed periods among all that were due.
pub(crate) fn missed_share(s: &Shown<'_>) -> Option<f64> {
    let missed = s.cell.missed_periods? as f64;
    let events = s.view.measured.as_ref()?.samples as f64;
    Some(missed / (missed + events))
}

/// Interrupts of the whole machine per second during the trials.
pub(crate) fn interrupts_per_second(s: &Shown<'_>) -> Option<f64> {
    let observed: f64 = s.cell.loads.iter().map(|l| l.observed_ns as f64).sum();
    let weighted = s
        .cell
        .loads
        .iter()
        .map(|l| l.interrupts_per_second * l.observed_ns as f64);
    (observed > 0.0).then(|| weighted.sum::<f64>() / observed)
}

type Curve = fn(&TimerEvents) -> Vec<(u64, f64)>;

fn at_taus(section: &Grid<'_>, name: &str, curve: Curve) -> Vec<Column> {
    let curves: Vec<Vec<(u64, f64)>> = section
        .cells()
        .filter_map(|s| s.view.timer.as_ref().map(curve))
        .filter(|c| !c.is_empty())
        .collect();
    let taus = taus_named(&curves);
    taus.into_iter()
        .map(|tau| Column {
            title: format!("{name} {}", tau_in_words(tau)),
            of: Box::new(move |s| {
                let curve = curve(s.view.timer.as_ref()?);
                curve.iter().find(|p| p.0 == tau).map(|p| us(p.1))
            }),
        })
        .collect()
}

/// The taus that have a column, of the points of all cells: the shortest, the longest that all reach, and the longest that
/// half of them do.
fn taus_named(curves: &[Vec<(u64, f64)>]) -> BTreeSet<u64> {
    let longest = |c: &Vec<(u64, f64)>| {
        c.iter()
            .map(|p| p.0)
            .filter(|tau| *tau <= LONGEST_TAU_NS)
            .max()
    };
    let mut having: BTreeMap<u64, usize> = BTreeMap::new();
    for (tau, _) in curves.iter().flatten().filter(|p| p.0 <= LONGEST_TAU_NS) {
        *having.entry(*tau).or_default() += 1;
    }
    let of_half = having.iter().rev().find(|(_, n)| 2 * **n >= curves.len());
    let shortest = curves.iter().filter_map(|c| Some(c.first()?.0)).min();
    let reached = curves.iter().filter_map(longest).min();
    let taus = [shortest, reached, of_half.map(|(tau, _)| *tau)];
    taus.into_iter().flatten().collect()
}

/// A tau, exact where it is short to say.
fn tau_in_words(ns: u64) -> String {
    let exact = level_in_words(&format_duration(ns));
    if exact.chars().count() <= 6 {
        exact
    } else {
        tompion_model::format_ns(ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_of_few_periods_takes_no_tau_from_the_others() {
        let reaching = |n: u32| (0..n).map(|i| (1_000_000 << i, 0.0)).collect::<Vec<_>>();
        let named = |curves: &[Vec<(u64, f64)>]| {
            let taus = taus_named(curves).into_iter();
            taus.map(|ns| ns / 1_000_000).collect::<Vec<_>>()
        };
        assert_eq!(named(&[reaching(6), reaching(6)]), [1, 32]);
        assert_eq!(named(&[reaching(6), reaching(6), reaching(2)]), [1, 2, 32]);
        // No more than a second, whatever is reached.
        assert_eq!(named(&[reaching(14)]), [1, 512]);
        assert_eq!(named(&[]), [0; 0]);
    }
}
