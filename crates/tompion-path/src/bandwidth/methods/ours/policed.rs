//! Loss without waiting: what is above a rate is dropped (a policer).

use super::super::super::response::arrivals;
use super::super::super::train::TrainSeen;

/// Of a train that lost less nothing is said.
const LOST: f64 = 0.10;
/// By how much of its own time a train's packets may be delayed.
const WAITED: f64 = 0.01;
/// How well two trains have to agree, and how different their rates have to be.
const AGREE: f64 = 0.03;
const APART: f64 = 1.3;

/// A train that lost packets and waited for nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    sent_bps: f64,
    passed_bps: f64,
}

impl Seen {
    pub(super) fn of(train: &TrainSeen) -> Option<Self> {
        let sent_bps = train.sent_bps()?;
        let all = arrivals(train);
        let packets = train.packets.len();
        // What passed at first was there before; the second half passed as it came in.
        let later: Vec<_> = all
            .iter()
            .filter(|a| a.number >= packets as f64 / 2.0)
            .collect();
        let lost = 1.0 - later.len() as f64 / (packets as f64 / 2.0);
        let (first, last) = (later.first()?, later.last()?);
        let lasts = last.sent - first.sent;
        if later.len() < 8 || lost < LOST || lasts <= 0.0 {
            return None;
        }
        let delays = all.iter().map(|a| a.received - a.sent);
        let most = delays.clone().fold(f64::MIN, f64::max) - delays.fold(f64::MAX, f64::min);
        if most > WAITED * all.last()?.sent {
            return None;
        }
        Some(Self {
            sent_bps,
            passed_bps: (later.len() - 1) as f64 * f64::from(train.plan.bytes) * 8e9 / lasts,
        })
    }
}

impl Seen {
    /// A rate at which it ought to look alike; `None` where there is none between.
    pub(super) fn between(&self) -> Option<f64> {
        let rate_bps = (self.sent_bps * self.passed_bps).sqrt();
        (rate_bps > APART * self.passed_bps).then_some(rate_bps)
    }
}

/// What trains of different rates agree on.
pub(super) fn agreed(all: &[Seen]) -> Option<f64> {
    let (last, before) = all.split_last()?;
    let same = |a: f64, b: f64, by: f64| a / b < by && b / a < by;
    before
        .iter()
        .find(|one| {
            !same(one.sent_bps, last.sent_bps, APART)
                && same(one.passed_bps, last.passed_bps, 1.0 + AGREE)
        })
        .map(|one| (one.passed_bps + last.passed_bps) / 2.0)
}
