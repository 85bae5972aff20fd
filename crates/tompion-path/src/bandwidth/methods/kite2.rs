//! Kite2: available bandwidths of the moment, one a train, until they agree.
//!
//! After Kirova, Siemens, Kachan, Vasylenko and Karpov, "Optimization of Probe Train Size for Available Bandwidth
//! Estimation in High-speed Networks" (MATEC Web of Conferences 208, 2018), and Kirova et al. 2019 (section 2.2): a train
//! gives an instant bandwidth, these are analysed for the final one, and the size of trains is adapted, so that as little
//! as possible is sent. It stays below what it finds rather than fill the path. What these leave open, and what was
//! chosen: trains have 50 to 400 packets; a train that was stretched by more than 2 % gives the rate of its arrivals, and
//! the next one goes at that rate less 1 %; one that was not gives its own, and the next one goes 5 % faster, or half of
//! the way to the slowest that was stretched; the size doubles where an instant bandwidth is more than 5 % off that
//! before, and is halved where it is within 1 %; the final one is the median of the last five, once these lie within 5 %
//! of one another.

use super::super::ending::{Ending, Estimate};
use super::super::method::{Asked, Budget, Method, MethodEntry, Step};
use super::super::response::Response;
use super::super::train::{TrainPlan, TrainSeen};

pub(in super::super) static ENTRY: MethodEntry = MethodEntry {
    name: "kite2",
    about: "Instant bandwidths, one a train, until they agree; trains of adapted size (Kirova 2018)",
    begin: |asked| Box::new(Kite2::new(asked)),
};

const FEWEST: u32 = 50;
const MOST: u32 = 400;
const STRETCHED: f64 = 1.02;
const AGREE: f64 = 0.05;
const LAST: usize = 5;

struct Kite2 {
    bytes: u32,
    budget: Budget,
    most_bps: Option<f64>,
    packets: u32,
    rate_bps: Option<f64>,
    /// The slowest that was stretched.
    too_fast_bps: f64,
    instants: Vec<f64>,
}

impl Kite2 {
    fn new(asked: &Asked) -> Self {
        Self {
            bytes: asked.bytes,
            budget: Budget::new(asked),
            most_bps: asked.most_bps,
            packets: FEWEST,
            rate_bps: asked.most_bps,
            too_fast_bps: f64::INFINITY,
            instants: Vec::new(),
        }
    }

    fn train(&mut self) -> Step {
        let plan = match self.rate_bps {
            Some(bps) => TrainPlan::even(self.packets, self.bytes, bps),
            None => TrainPlan::at_once(self.packets, self.bytes),
        };
        let bytes = plan.all_bytes();
        match self.budget.pay(plan.after(10_000_000)) {
            Some(plan) => Step::Send(plan),
            None => Step::Done(self.without_agreement(bytes)),
        }
    }

    /// The budget is spent.
    fn without_agreement(&self, bytes: u64) -> Ending {
        let last = &self.instants[self.instants.len().saturating_sub(LAST)..];
        let (low, high) = ends(last);
        match last.len() < LAST {
            true => Ending::Unfinished {
                needs_bytes: bytes * 2 * LAST as u64,
            },
            false => Ending::TooVariable {
                low_bps: low,
                high_bps: high,
            },
        }
    }

    fn agreed(&self) -> Option<f64> {
        let last = self.instants.len().checked_sub(LAST)?;
        let mut last = self.instants[last..].to_vec();
        let (low, high) = ends(&last);
        last.sort_by(f64::total_cmp);
        (high - low <= AGREE * high).then(|| last[LAST / 2])
    }
}

fn ends(of: &[f64]) -> (f64, f64) {
    let low = of.iter().copied().fold(f64::INFINITY, f64::min);
    (low, of.iter().copied().fold(0.0, f64::max))
}

impl Method for Kite2 {
    fn next(&mut self, last: Option<&TrainSeen>) -> Step {
        let Some(last) = last else {
            return self.train();
        };
        let Some(seen) = Response::of(last) else {
            // Nothing of use arrived.
            self.rate_bps = last.sent_bps().map(|bps| bps / 2.0);
            return self.train();
        };
        let is_stretched = seen.stretch > STRETCHED || seen.lost > 0.0;
        let instant = match is_stretched {
            true => seen.received_bps().min(seen.rate_bps),
            false => seen.rate_bps,
        };
        if let Some(before) = self.instants.last() {
            let off = (instant / before - 1.0).abs();
            if off > AGREE {
                self.packets = (2 * self.packets).min(MOST);
            } else if off < AGREE / 5.0 {
                self.packets = (self.packets / 2).max(FEWEST);
            }
        }
        self.instants.push(instant);
        if let Some(available_bps) = self.agreed() {
            return Step::Done(Ending::Estimate(Estimate {
                available_bps,
                capacity_bps: None,
                interval_bps: None,
                trains: self.instants.len() as u32,
                left_out: 0,
            }));
        }
        let next = if is_stretched {
            self.too_fast_bps = self.too_fast_bps.min(seen.rate_bps);
            0.99 * instant
        } else if self.too_fast_bps.is_finite() && self.too_fast_bps > instant {
            (instant + self.too_fast_bps) / 2.0
        } else {
            // Others send less than before.
            self.too_fast_bps = f64::INFINITY;
            1.05 * instant
        };
        self.rate_bps = Some(self.most_bps.map_or(next, |most| next.min(most)));
        self.train()
    }
}
