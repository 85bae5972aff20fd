//! What one train says of a path: how fast it went in, and by how much it was stretched.

use super::train::TrainSeen;

/// Of fewer packets nothing is said.
pub(super) const FEWEST: usize = 8;
/// The part of a train at each end of which the mean stands for that end: single packets of others come and go.
const END: usize = 10;
/// Arrivals that are nearer to one another than this part of their mean distance came together.
const TOGETHER: f64 = 0.05;

/// What one train says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// The rate of departures in bits a second.
    pub rate_bps: f64,
    /// By how much it was stretched: the time in which it arrived over that in which it was sent.
    pub stretch: f64,
    /// How long its departures took, in nanoseconds.
    pub lasts_ns: f64,
    /// The share of its packets that did not arrive.
    pub lost: f64,
    /// By how much its packets' delay grew from its beginning to its end, in nanoseconds.
    pub rise_ns: f64,
    /// How many arrived together on average: above 1 where something on the way holds them up and lets them go at once.
    pub together: f64,
}

/// A packet that arrived: its number, and when it was sent and received, in nanoseconds after the train's first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub number: f64,
    pub sent: f64,
    pub received: f64,
    /// From the one clock to the other, in nanoseconds: only differences of it mean anything.
    pub delay: f64,
}

/// The packets that arrived, in their order; one that came before an earlier one is left out.
pub(super) fn arrivals(train: &TrainSeen) -> Vec<Arrival> {
    let mut zero: Option<(i64, i64)> = None;
    let mut all: Vec<Arrival> = Vec::with_capacity(train.packets.len());
    for (number, packet) in train.packets.iter().enumerate() {
        let (Some(sent), Some(received)) = (packet.sent_ns, packet.received_ns) else {
            continue;
        };
        let (sent_0, received_0) = *zero.get_or_insert((sent, received));
        let one = Arrival {
            number: number as f64,
            sent: sent.saturating_sub(sent_0) as f64,
            received: received.saturating_sub(received_0) as f64,
            delay: received.saturating_sub(sent) as f64,
        };
        let last = all.last();
        if last.is_none_or(|l| l.received <= one.received && l.sent <= one.sent) {
            all.push(one);
        }
    }
    all
}

/// How many arrived together, and of each such group its last: that one waited least to be let go.
fn edges(all: &[Arrival]) -> (f64, Vec<Arrival>) {
    let mut last: Vec<Arrival> = Vec::with_capacity(all.len());
    let span = all.last().map_or(0.0, |end| end.received - all[0].received);
    let near = TOGETHER * span / all.len() as f64;
    for one in all {
        match last.last_mut() {
            Some(before) if one.received - before.received < near => *before = *one,
            _ => last.push(*one),
        }
    }
    (all.len() as f64 / last.len().max(1) as f64, last)
}

impl Response {
    /// What a train says; `None` where too little of it arrived, or it was sent at one moment.
    pub fn of(train: &TrainSeen) -> Option<Self> {
        let all = arrivals(train);
        if all.len() < FEWEST {
            return None;
        }
        let (together, edges) = edges(&all);
        let is_coalesced = together > 2.0 && edges.len() >= FEWEST;
        let used = if is_coalesced { &edges } else { &all };
        let count = (used.len() / END).max(1);
        let begin = mean(used.get(..count)?);
        let end = mean(used.get(used.len() - count..)?);
        let (sent, received) = (end.sent - begin.sent, end.received - begin.received);
        if sent <= 0.0 || received <= 0.0 {
            return None;
        }
        let bits = (end.number - begin.number) * f64::from(train.plan.bytes) * 8.0;
        Some(Self {
            rate_bps: bits * 1e9 / sent,
            stretch: received / sent,
            lasts_ns: sent,
            lost: 1.0 - arrived(train) as f64 / train.packets.len() as f64,
            rise_ns: received - sent,
            together: if is_coalesced { together } else { 1.0 },
        })
    }

    /// The rate of its arrivals in bits a second.
    pub fn received_bps(&self) -> f64 {
        self.rate_bps / self.stretch
    }
}

fn arrived(train: &TrainSeen) -> usize {
    let packets = train.packets.iter();
    packets.filter(|p| p.received_ns.is_some()).count()
}

fn mean(of: &[Arrival]) -> Arrival {
    let n = of.len() as f64;
    let sum = |value: fn(&Arrival) -> f64| of.iter().map(value).sum::<f64>() / n;
    Arrival {
        number: sum(|a| a.number),
        sent: sum(|a| a.sent),
        received: sum(|a| a.received),
        delay: sum(|a| a.delay),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bandwidth::{Passed, TrainPlan};

    /// A train of 1250 bytes each 10 us, that is 1 Gbit/s, which arrives as told.
    fn train(packets: u32, arrives: impl Fn(i64) -> Option<i64>) -> TrainSeen {
        let plan = TrainPlan::even(packets, 1_250, 1e9);
        let passed = |k: u32| Passed {
            sent_ns: Some(i64::from(k) * 10_000),
            received_ns: arrives(i64::from(k)),
            is_marked: false,
        };
        TrainSeen {
            packets: (0..packets).map(passed).collect(),
            plan,
            is_spoilt_here: false,
            is_spoilt_there: false,
        }
    }

    #[test]
    fn a_train_that_is_stretched_says_so() {
        let found = Response::of(&train(100, |k| Some(7_000_000 + k * 12_500))).unwrap();
        assert!((found.rate_bps - 1e9).abs() < 1.0 && (found.stretch - 1.25).abs() < 1e-9);
        assert_eq!((found.lost, found.together), (0.0, 1.0));
        // Of 99 gaps those at both ends count half.
        assert!((found.rise_ns - 90.0 * 2_500.0).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn what_is_lost_takes_nothing_from_the_rate() {
        let found = Response::of(&train(100, |k| (k % 4 != 0).then_some(k * 10_000))).unwrap();
        assert!((found.rate_bps - 1e9).abs() < 1.0 && (found.stretch - 1.0).abs() < 1e-9);
        assert_eq!(found.lost, 0.25);
    }

    #[test]
    fn arrivals_that_are_let_go_together_are_known_by_their_edges() {
        // A rate of 12.5 us a packet, let go each 100 us.
        let held = |k: i64| Some(((k * 12_500 + 99_999) / 100_000).max(1) * 100_000);
        let found = Response::of(&train(400, held)).unwrap();
        assert!(found.together > 7.0 && found.together < 9.0, "{found:?}");
        assert!((found.stretch / 1.25 - 1.0).abs() < 0.005, "{found:?}");
    }

    #[test]
    fn too_little_is_nothing() {
        assert_eq!(Response::of(&train(7, |k| Some(k * 10_000))), None);
        assert_eq!(Response::of(&train(100, |k| (k < 5).then_some(k))), None);
        let mut at_once = train(20, |k| Some(k * 10_000));
        at_once.packets.iter_mut().for_each(|p| p.sent_ns = Some(0));
        assert_eq!(Response::of(&at_once), None);
    }
}
