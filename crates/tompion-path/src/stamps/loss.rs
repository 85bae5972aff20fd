//! Loss, its streaks, and duplicates.

use tompion_stats::Distribution;

use crate::stamps::packets::Packets;
use crate::stamps::place::Stamp;
use crate::stamps::probe::Outcome;

/// Loss and duplicates of round trips.
///
/// Loss is that of RFC 6673 (round-trip packet loss), its streaks are the loss periods of RFC 3357,
/// and duplicates are the replicated packets of RFC 5560. Probes that were never sent, or whose
/// reply may still come, are not among those that count; they neither end a streak nor prolong it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loss {
    /// Probes that were answered or lost.
    pub counted: u64,
    /// Probes of which no reply came.
    pub lost: u64,
    /// Probes whose reply may still come.
    pub pending: u64,
    /// Probes that were never sent.
    pub not_sent: u64,
    /// Probes with more than one reply.
    pub duplicated: u64,
    /// Replies beyond the first of each probe.
    pub duplicates: u64,
    /// Lengths of the streaks of lost probes (loss periods), in probes.
    pub streaks: Distribution,
    /// How many probes lie from one lost probe to the next (loss distances of RFC 3357); 1 within
    /// a streak.
    pub distances: Distribution,
}

impl Loss {
    /// Loss and duplicates of a table.
    pub fn of(packets: &Packets) -> Self {
        let mut loss = Self::default();
        let (mut streaks, mut distances) = (Vec::new(), Vec::new());
        let mut streak = 0i64;
        let mut last_lost = None;
        for probe in packets.probes() {
            loss.duplicated += u64::from(probe.duplicates > 0);
            loss.duplicates += u64::from(probe.duplicates);
            match probe.outcome {
                Outcome::Pending => loss.pending += 1,
                Outcome::NotSent => loss.not_sent += 1,
                Outcome::Answered => {
                    loss.counted += 1;
                    streaks.extend((streak > 0).then_some(streak));
                    streak = 0;
                }
                Outcome::Lost => {
                    loss.counted += 1;
                    loss.lost += 1;
                    streak += 1;
                    distances.extend(last_lost.map(|last: u64| (loss.counted - last) as i64));
                    last_lost = Some(loss.counted);
                }
            }
        }
        streaks.extend((streak > 0).then_some(streak));
        loss.streaks = Distribution::from_values(streaks);
        loss.distances = Distribution::from_values(distances);
        loss
    }

    /// The share of probes that were lost, from 0 to 1; `None` where none counts.
    pub fn share(&self) -> Option<f64> {
        (self.counted > 0).then(|| self.lost as f64 / self.counted as f64)
    }

    /// The longest streak, in probes.
    pub fn longest_streak(&self) -> u64 {
        self.streaks.max().map_or(0, i64::unsigned_abs)
    }
}

/// The last places that lost probes were seen at, each with their number, in the order of the
/// places; what was seen nowhere is left out. A far end tells nothing of a probe whose reply was
/// lost.
pub fn losses_by_last_place(packets: &Packets) -> Vec<(Stamp, u64)> {
    let places = packets.places();
    let mut counts = vec![0; places.len()];
    for (row, probe) in packets.probes().enumerate() {
        if probe.outcome == Outcome::Lost {
            let seen = places.iter().rposition(|&p| packets.get(row, p).is_some());
            if let Some(place) = seen {
                counts[place] += 1;
            }
        }
    }
    let counted = places.into_iter().zip(counts);
    counted.filter(|&(_, count)| count > 0).collect()
}

#[cfg(test)]
mod tests;
