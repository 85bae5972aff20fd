//! What the path seems to take while this machine stands still.

use super::held_up::{HELD_UP_NS, HeldUp, Side, USUAL};
use crate::stamps::{Packets, Stamp, Values};

/// A time in which this machine, or one of its CPUs, stood still, by the clock of stamps, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// Since when.
    pub from_ns: i64,
    /// Until when.
    pub until_ns: i64,
}

/// A standstill delays what would have gone out or come in during it: it begins no later than that after the probe was sent, or
/// ends no earlier than that before the reply was there. The rest of the way is nobody's here. A beat each 2 ms shows it, and
/// what waited for it takes its turn.
const NEAR_NS: i64 = 3_000_000;

/// Probes that were under way meanwhile.
pub(super) struct UnderWay {
    /// By row.
    held_up: Vec<Option<HeldUp>>,
    /// What of each probe's path is this machine's, in nanoseconds.
    taken: Values,
}

impl UnderWay {
    /// Of these paths. One counts where it took longer than usual, and a standstill explains half of that at least.
    pub fn of(packets: &Packets, paths: &Values, standstills: &[Standstill]) -> Self {
        let still = merged(standstills);
        let usual_ns = paths.distribution().quantile(USUAL).unwrap_or(0.0) as i64;
        let of_row = |row: usize| {
            let (from_ns, until_ns) = (
                packets.get(row, Stamp::Sent)?,
                packets.get(row, Stamp::Received)?,
            );
            let excess_ns = paths.get(row)?.saturating_sub(usual_ns);
            let taken_ns = within(&still, from_ns, until_ns).min(excess_ns);
            let is_held_up = excess_ns > HELD_UP_NS && taken_ns >= excess_ns / 2;
            is_held_up.then_some((
                taken_ns,
                HeldUp {
                    row,
                    side: Side::UnderWay,
                    from_ns,
                    until_ns,
                    excess_ns,
                },
            ))
        };
        let all: Vec<_> = match still.is_empty() {
            true => vec![None; packets.len()],
            false => (0..packets.len()).map(of_row).collect(),
        };
        Self {
            taken: all
                .iter()
                .map(|found| Some(found.map_or(0, |(ns, _)| ns)))
                .collect(),
            held_up: all
                .into_iter()
                .map(|found| found.map(|(_, held_up)| held_up))
                .collect(),
        }
    }

    pub fn held_up(&self, row: usize) -> Option<HeldUp> {
        self.held_up.get(row).copied().flatten()
    }

    pub fn taken(&self) -> &Values {
        &self.taken
    }
}

/// In the order of their beginnings, none within another.
fn merged(all: &[Standstill]) -> Vec<Standstill> {
    let mut sorted: Vec<Standstill> = all
        .iter()
        .copied()
        .filter(|s| s.until_ns > s.from_ns)
        .collect();
    sorted.sort_by_key(|s| s.from_ns);
    let mut merged: Vec<Standstill> = Vec::with_capacity(sorted.len());
    for next in sorted {
        match merged.last_mut() {
            Some(last) if next.from_ns <= last.until_ns => {
                last.until_ns = last.until_ns.max(next.until_ns);
            }
            _ => merged.push(next),
        }
    }
    merged
}

/// How much of a probe's way those take at whose beginning or end it has to do with this machine.
fn within(merged: &[Standstill], from_ns: i64, until_ns: i64) -> i64 {
    let first = merged.partition_point(|s| s.until_ns <= from_ns);
    let begun = merged[first..].iter().take_while(|s| s.from_ns < until_ns);
    let is_near = |s: &&Standstill| {
        s.from_ns <= from_ns.saturating_add(NEAR_NS)
            || s.until_ns >= until_ns.saturating_sub(NEAR_NS)
    };
    let begun = begun.filter(is_near);
    let shared = begun.map(|s| {
        s.until_ns
            .min(until_ns)
            .saturating_sub(s.from_ns.max(from_ns))
    });
    shared.fold(0, i64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standstill_in_the_middle_of_a_way_delays_nothing() {
        const MS: i64 = 1_000_000;
        let still = |from_ms: i64, until_ms: i64| Standstill {
            from_ns: from_ms * MS,
            until_ns: until_ms * MS,
        };
        let taken = |s: Standstill| within(&[s], 100 * MS, 180 * MS) / MS;
        assert_eq!(taken(still(120, 150)), 0);
        assert_eq!(taken(still(150, 178)), 28);
        assert_eq!(taken(still(150, 190)), 30);
        assert_eq!(taken(still(90, 110)), 10);
        assert_eq!(taken(still(102, 110)), 8);
        assert_eq!(taken(still(104, 110)), 0);
    }

    #[test]
    fn what_several_cpus_show_at_one_time_counts_once() {
        let still = |from_ns, until_ns| Standstill { from_ns, until_ns };
        let all = merged(&[
            still(50, 90),
            still(10, 30),
            still(20, 40),
            still(7, 7),
            still(60, 70),
        ]);
        assert_eq!(all, [still(10, 40), still(50, 90)]);
        assert_eq!(within(&all, 0, 100), 70);
        assert_eq!(within(&all, 35, 55), 10);
        assert_eq!(within(&all, 40, 50), 0);
        assert_eq!(within(&all, 95, 99), 0);
        assert_eq!(within(&[], 0, 100), 0);
    }
}
