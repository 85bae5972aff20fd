//! What others sent between two packets of a train, as long as the queue between these was never empty.
//!
//! A packet that arrives before the one before it has left finds the link at work, and it was at work all the while: what left
//! meanwhile is this packet and what others sent. Whether that is so is said by how long the packet before it waited, which what others
//! send later does not change: so those gaps stand for all.

use super::super::super::response::Arrival;

/// The part of all gaps that have to lie around the most frequent one, and so many at least.
const FREQUENT: f64 = 0.15;
const FEWEST_GAPS: usize = 20;
/// How far around, as a part of it.
const AROUND: f64 = 0.03;

/// The capacity of the link that lets packets follow one another fastest of all that keep them waiting, in bits a second: by the most
/// frequent gap between arrivals. `None` where none stands out.
pub(super) fn capacity(trains: &[Vec<Arrival>], bits: f64) -> Option<f64> {
    let gap =
        |w: &[Arrival]| (w[1].number - w[0].number == 1.0).then_some(w[1].received - w[0].received);
    let mut gaps: Vec<f64> = trains
        .iter()
        .flat_map(|t| t.windows(2).filter_map(gap))
        .collect();
    gaps.retain(|gap| *gap > 0.0);
    gaps.sort_by(f64::total_cmp);
    let mut best = (0, 0, 0);
    let mut end = 0;
    for begin in 0..gaps.len() {
        end = end.max(begin);
        while end < gaps.len() && gaps[end] <= gaps[begin] * (1.0 + 2.0 * AROUND) {
            end += 1;
        }
        if end - begin > best.0 {
            best = (end - begin, begin, end);
        }
    }
    let (count, begin, end) = best;
    if count < FEWEST_GAPS || (count as f64) < FREQUENT * gaps.len() as f64 {
        return None;
    }
    let middle = gaps[begin..end].iter().sum::<f64>() / count as f64;
    Some(bits * 1e9 / middle)
}

/// What others sent in one train.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Others {
    /// Bits.
    pub bits: f64,
    /// While so many nanoseconds went by at the sender.
    pub time_ns: f64,
}

/// What others sent between packets of a train where the queue cannot have been empty, in a link of that capacity and where the
/// least delay of any packet was `least`.
pub(super) fn others(train: &[Arrival], capacity_bps: f64, bits: f64, least: f64) -> Others {
    let takes_ns = bits * 1e9 / capacity_bps;
    let mut sum = Others::default();
    for w in train.windows(2) {
        let (sent, received) = (w[1].sent - w[0].sent, w[1].received - w[0].received);
        let packets = w[1].number - w[0].number;
        let is_busy = w[0].delay - least > sent - takes_ns;
        if is_busy && packets == 1.0 {
            sum.bits += received * capacity_bps / 1e9 - bits;
            sum.time_ns += sent;
        }
    }
    sum
}
