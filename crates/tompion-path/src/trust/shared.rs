//! What probes to several far ends have in common: where they are slow at the same moments, this machine is, whatever its
//! stamps say. A hypervisor may stop all of it between two stamps.

use crate::stamps::{Packets, Stamp, Values, Vantage, round_trips};

use super::WORTH_EXPLAINING_NS;

/// Probes that are under way within so much of one another are so at the same moment, in nanoseconds.
const MOMENT_NS: i64 = 1_000_000;
/// Of fewer slow probes in common nothing is said.
const FEWEST: usize = 5;
/// This share of the slow ones has to be in common.
const MOST: f64 = 0.6;
/// By so many standard deviations they have to be more than by chance.
const BEYOND_CHANCE: f64 = 3.0;

/// Slow probes of several targets: those whose round trips exceed their own target's median by 0.1 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shared {
    /// Those while which probes to other targets were under way.
    pub slow: usize,
    /// Those while which one of these was slow, too.
    pub in_common: usize,
    /// How many would be, had the targets nothing to do with one another.
    pub by_chance: f64,
    variance: f64,
}

impl Shared {
    /// Of a table for each target, all with this machine's one clock.
    pub fn of(targets: &[&Packets]) -> Self {
        let targets: Vec<Target> = targets.iter().map(|packets| Target::of(packets)).collect();
        let mut shared = Self::default();
        for (own, target) in targets.iter().enumerate() {
            for trip in target.trips.iter().filter(|trip| trip.is_slow) {
                let others = targets
                    .iter()
                    .enumerate()
                    .filter(|(other, _)| *other != own);
                let met = others.flat_map(|(_, other)| {
                    let during = other.during(trip);
                    during.map(|trip| (trip.is_slow, other.slow_share))
                });
                let met: Vec<(bool, f64)> = met.collect();
                if met.is_empty() {
                    continue;
                }
                let all_quick: f64 = met.iter().map(|(_, share)| 1.0 - share).product();
                shared.slow += 1;
                shared.in_common += usize::from(met.iter().any(|(is_slow, _)| *is_slow));
                shared.by_chance += 1.0 - all_quick;
                shared.variance += all_quick * (1.0 - all_quick);
            }
        }
        shared
    }

    /// Whether most are in common, and more than by chance: then it is this machine.
    pub fn is_here(&self) -> bool {
        let in_common = self.in_common as f64;
        self.in_common >= FEWEST
            && in_common >= MOST * self.slow as f64
            && in_common - self.by_chance > BEYOND_CHANCE * self.variance.sqrt()
    }

    /// Whether most have nothing in common: then each target is slow by itself.
    pub fn is_apart(&self) -> bool {
        let apart = self.slow - self.in_common;
        self.slow >= 2 * FEWEST && apart as f64 >= MOST * self.slow as f64
    }
}

#[derive(Clone, Copy, Debug)]
struct Trip {
    from_ns: i64,
    until_ns: i64,
    is_slow: bool,
}

struct Target {
    /// In the order of sending.
    trips: Vec<Trip>,
    /// The longest of them, in nanoseconds.
    longest_ns: i64,
    slow_share: f64,
}

impl Target {
    fn of(packets: &Packets) -> Self {
        let took: Values = round_trips(packets, Vantage::User);
        let usual = took.distribution().quantile(0.5).unwrap_or(0.0);
        let trip = |row: usize| {
            let from_ns = packets.get(row, Stamp::UserSent)?;
            let took = took.get(row)?;
            Some(Trip {
                from_ns,
                until_ns: from_ns.saturating_add(took),
                is_slow: took as f64 - usual > WORTH_EXPLAINING_NS,
            })
        };
        let mut trips: Vec<Trip> = (0..packets.len()).filter_map(trip).collect();
        trips.sort_by_key(|trip| trip.from_ns);
        let slow = trips.iter().filter(|trip| trip.is_slow).count();
        Self {
            slow_share: slow as f64 / trips.len().max(1) as f64,
            longest_ns: took.present().max().unwrap_or(0),
            trips,
        }
    }

    /// Trips of this target that were under way at the same moment.
    fn during(&self, other: &Trip) -> impl Iterator<Item = &Trip> {
        let first_ns = other
            .from_ns
            .saturating_sub(self.longest_ns)
            .saturating_sub(MOMENT_NS);
        let last_ns = other.until_ns.saturating_add(MOMENT_NS);
        let first = self.trips.partition_point(|trip| trip.from_ns < first_ns);
        let last = self.trips.partition_point(|trip| trip.from_ns <= last_ns);
        let near = self.trips[first..last].iter();
        let from_ns = other.from_ns.saturating_sub(MOMENT_NS);
        near.filter(move |trip| trip.until_ns >= from_ns)
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const MS: i64 = 1_000_000;

    /// Probes to three targets each 50 ms, by what each takes more than its target's least: of a target and a moment.
    fn told(seed: u64, mut more: impl FnMut(&mut ChaCha8Rng, usize, i64) -> i64) -> Shared {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut tables = vec![Packets::new(); 3];
        for (target, packets) in tables.iter_mut().enumerate() {
            for row in 0..200 {
                packets.push(100).unwrap();
                let sent = row as i64 * 50 * MS + 300_000 * target as i64;
                let took = [5, 12, 20][target] * MS + random.random_range(0..20_000);
                let took = took + more(&mut random, target, sent);
                packets.set(row, Stamp::UserSent, sent).unwrap();
                packets.set(row, Stamp::UserReceived, sent + took).unwrap();
                packets.arrived(row).unwrap();
            }
        }
        Shared::of(&tables.iter().collect::<Vec<_>>())
    }

    fn here_of_a_hundred(of: impl Fn(u64) -> Shared) -> usize {
        (0..100).filter(|seed| of(*seed).is_here()).count()
    }

    #[test]
    fn this_machine_is_told_from_what_single_paths_do() {
        // Stopped for 30 ms every 1.3 s: whatever is under way comes when it goes on.
        let stopped = |seed| {
            told(seed, |_, target, sent| {
                let due = sent + [5, 12, 20][target] * MS;
                let into = due % (1_300 * MS);
                (30 * MS - into).max(0)
            })
        };
        assert!(here_of_a_hundred(stopped) >= 90, "{:?}", stopped(0));
        // One path is slow for one probe in ten, or each by itself, or none.
        let one = |seed| {
            told(seed, |random, target, _| {
                if target == 1 && random.random_bool(0.1) {
                    9 * MS
                } else {
                    0
                }
            })
        };
        let each = |seed| {
            told(
                seed,
                |random, _, _| if random.random_bool(0.1) { 9 * MS } else { 0 },
            )
        };
        let none = |seed| told(seed, |_, _, _| 0);
        let often = |seed| {
            told(
                seed,
                |random, _, _| if random.random_bool(0.45) { 9 * MS } else { 0 },
            )
        };
        for (name, of) in [
            ("one", &one as &dyn Fn(u64) -> Shared),
            ("each", &each),
            ("none", &none),
            ("often", &often),
        ] {
            let wrong = here_of_a_hundred(of);
            assert!(wrong <= 5, "{name}: {wrong}, {:?}", of(0));
        }
        let apart =
            |of: &dyn Fn(u64) -> Shared| (0..100).filter(|seed| of(*seed).is_apart()).count();
        assert!(apart(&stopped) <= 5);
        assert!(apart(&one) >= 90 && apart(&each) >= 90);
        assert_eq!(apart(&none), 0, "nothing is slow");
    }

    #[test]
    fn what_nobody_else_was_under_way_with_tells_nothing() {
        let mut tables = vec![Packets::new(); 2];
        for (target, packets) in tables.iter_mut().enumerate() {
            for row in 0..20 {
                packets.push(100).unwrap();
                let sent = (row as i64 * 2 + target as i64) * 500 * MS;
                let took = if row % 4 == 0 { 9 * MS } else { MS };
                packets.set(row, Stamp::UserSent, sent).unwrap();
                packets.set(row, Stamp::UserReceived, sent + took).unwrap();
            }
        }
        let shared = Shared::of(&tables.iter().collect::<Vec<_>>());
        assert_eq!((shared.slow, shared.in_common), (0, 0));
        assert!(!shared.is_here());
        assert!(!Shared::of(&[]).is_here());
    }
}
