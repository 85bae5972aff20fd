//! Reordering, as RFC 4737 defines it.

use tompion_stats::Distribution;

use crate::stamps::packets::Packets;
use crate::stamps::place::Stamp;
use crate::stamps::probe::Outcome;

/// A packet that came after one that was sent later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reordered {
    /// Its number in the order of sending.
    pub number: u32,
    /// Its place in the order of arrival, from 0.
    pub place: u32,
    /// How many places before it the earliest packet came that was sent later (the reordering
    /// extent of RFC 4737).
    pub extent: u32,
    /// How many packets directly before it were all sent later (n-reordering of RFC 4737).
    /// From 3 on TCP without further means takes it for lost.
    pub n: u32,
}

/// Reordering of a sequence of packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reordering {
    /// Packets that arrived, duplicates left out.
    pub arrived: u64,
    /// The reordered ones (Type-P-Reordered of RFC 4737), in the order of arrival.
    pub reordered: Vec<Reordered>,
}

impl Reordering {
    /// Of the replies of a table, in the order in which they came to the program. One that came when
    /// its probe counted as lost is not among them: to RFC 4737 it never arrived.
    pub fn of(packets: &Packets) -> Self {
        let probes = packets.probes().enumerate();
        let in_time = probes.filter(|(_, p)| p.outcome == Outcome::Answered);
        let arrivals = in_time.filter_map(|(row, p)| Some((i64::from(p.arrival?), row as u32)));
        Self::sorted(arrivals.collect())
    }

    /// Of the packets that passed a place, in the order of their stamps there. Packets of one
    /// stamp count as having come in the order of sending.
    pub fn at(packets: &Packets, place: Stamp) -> Self {
        let rows = 0..packets.len();
        let arrivals = rows.filter_map(|row| Some((packets.get(row, place)?, row as u32)));
        Self::sorted(arrivals.collect())
    }

    fn sorted(mut arrivals: Vec<(i64, u32)>) -> Self {
        // Hardly out of order, which the stable sort sees.
        arrivals.sort();
        let numbers: Vec<u32> = arrivals.into_iter().map(|a| a.1).collect();
        Self::of_arrivals(&numbers)
    }

    /// Of packets that are numbered in the order of sending and listed in the order of arrival.
    /// Each is there once: RFC 4737 takes only the first copy of a packet.
    pub fn of_arrivals(numbers: &[u32]) -> Self {
        let mut reordered = Vec::new();
        // Packets that were sent later than all that came before them, with their places: both
        // ascend.
        let mut highest: Vec<(u32, u32)> = Vec::new();
        // Packets of ascending numbers with which a streak of later ones may end.
        let mut lower: Vec<(u32, u32)> = Vec::new();
        for (place, &number) in numbers.iter().enumerate() {
            let place = place as u32;
            while lower.last().is_some_and(|&(n, _)| n > number) {
                lower.pop();
            }
            if highest.last().is_none_or(|&(n, _)| number >= n) {
                highest.push((number, place));
            } else {
                let first_later = highest.partition_point(|&(n, _)| n <= number);
                let directly_before = lower.last().map_or(place, |&(_, p)| place - p - 1);
                reordered.push(Reordered {
                    number,
                    place,
                    extent: place - highest[first_later].1,
                    n: directly_before,
                });
            }
            lower.push((number, place));
        }
        Self {
            arrived: numbers.len() as u64,
            reordered,
        }
    }

    /// The share of packets that were reordered, from 0 to 1 (the ratio of RFC 4737); `None`
    /// where none arrived.
    pub fn share(&self) -> Option<f64> {
        (self.arrived > 0).then(|| self.reordered.len() as f64 / self.arrived as f64)
    }

    /// The extents of the reordered packets, in packets.
    pub fn extents(&self) -> Distribution {
        Distribution::from_values(self.reordered.iter().map(|r| i64::from(r.extent)))
    }

    /// How many packets are n-reordered for this `n`.
    pub fn n_reordered(&self, n: u32) -> u64 {
        self.reordered.iter().filter(|r| r.n >= n).count() as u64
    }
}

#[cfg(test)]
mod tests;
