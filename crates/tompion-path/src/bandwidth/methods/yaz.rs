//! Yaz: one train after another, each slower by what the last one was stretched, until it is not.
//!
//! After Sommers, Barford and Willinger, "A Proposed Framework for Calibration of Available Bandwidth Estimation Tools"
//! (ISCC 2006), and what Kirova et al. 2019 (section 2.2) say of it: the interval between packets grows by its difference
//! to that between arrivals, and the search ends once the difference meets a threshold. What these leave open, and what
//! was chosen: a train has 50 packets; the threshold is 2 % of the interval, but at least 1 us, the step of the clock by
//! which Yaz stamps; it begins at the least interval that it sends; after 20 trains it has failed. A train whose packets
//! are lost counts as one that is too fast.

use super::super::ending::{Ending, Estimate};
use super::super::method::{Asked, Budget, Method, MethodEntry, Step};
use super::super::response::Response;
use super::super::train::{TrainPlan, TrainSeen};

pub(in super::super) static ENTRY: MethodEntry = MethodEntry {
    name: "yaz",
    about: "One train at a time, slower until it is not stretched (Sommers 2006)",
    begin: |asked| Box::new(Yaz::new(asked, LEAST_GAP_NS)),
};

pub(in super::super) static SMALL_GAPS: MethodEntry = MethodEntry {
    name: "yaz-small-gaps",
    about: "The same from smaller intervals on, as Kirova 2019 needed at 1 Gbit/s",
    begin: |asked| Box::new(Yaz::new(asked, 0.0)),
};

/// The least interval between packets that the original sends, in nanoseconds.
const LEAST_GAP_NS: f64 = 20_000.0;
const PACKETS: u32 = 50;
const MOST_TRAINS: u32 = 20;
const THRESHOLD: f64 = 0.02;
const THRESHOLD_NS: f64 = 1_000.0;

struct Yaz {
    bytes: u32,
    budget: Budget,
    gap_ns: f64,
    trains: u32,
}

impl Yaz {
    fn new(asked: &Asked, least_gap_ns: f64) -> Self {
        let bits = f64::from(asked.bytes) * 8e9;
        let fastest = asked.most_bps.map_or(0.0, |bps| bits / bps);
        Self {
            bytes: asked.bytes,
            budget: Budget::new(asked),
            gap_ns: least_gap_ns.max(fastest),
            trains: 0,
        }
    }

    fn bps(&self, gap_ns: f64) -> f64 {
        f64::from(self.bytes) * 8e9 / gap_ns
    }

    fn train(&mut self) -> Step {
        let plan = match self.gap_ns > 0.0 {
            true => TrainPlan::even(PACKETS, self.bytes, self.bps(self.gap_ns)),
            false => TrainPlan::at_once(PACKETS, self.bytes),
        };
        let needs_bytes = plan.all_bytes();
        // What waits is to be gone.
        let plan = plan.after(20_000_000);
        self.trains += 1;
        match self.budget.pay(plan) {
            Some(plan) if self.trains <= MOST_TRAINS => Step::Send(plan),
            _ => Step::Done(Ending::Unfinished {
                needs_bytes: needs_bytes * u64::from(self.trains),
            }),
        }
    }
}

impl Method for Yaz {
    fn next(&mut self, last: Option<&TrainSeen>) -> Step {
        let Some(last) = last else {
            return self.train();
        };
        let Some(seen) = Response::of(last) else {
            // Nothing of use arrived.
            self.gap_ns = 2.0 * self.gap_ns.max(THRESHOLD_NS);
            return self.train();
        };
        // As the sender managed it.
        let sent_ns = f64::from(self.bytes) * 8e9 / seen.rate_bps;
        let received_ns = sent_ns * seen.stretch;
        let is_near = received_ns - sent_ns <= (THRESHOLD * sent_ns).max(THRESHOLD_NS);
        if is_near && seen.lost == 0.0 {
            return Step::Done(Ending::Estimate(Estimate {
                available_bps: self.bps(received_ns),
                capacity_bps: None,
                interval_bps: None,
                trains: self.trains,
                left_out: 0,
            }));
        }
        self.gap_ns = received_ns.max(sent_ns * 1.01);
        self.train()
    }
}
