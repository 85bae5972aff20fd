//! Chirps: trains whose packets follow one another ever faster, so that each of them tries many rates.
//!
//! After Ribeiro, Riedi, Baraniuk, Navratil and Cottrell, "pathChirp: Efficient Available Bandwidth Estimation for
//! Network Paths" (PAM 2003), with its parameters: intervals shrink by 1.2 from packet to packet, an excursion ends where
//! the delay has fallen by more than a factor of 1.5 from its largest, and the shortest that counts has 5 packets. What the paper leaves
//! open, and what was chosen: chirps begin at a hundredth of the rate at which a train of 30 packets arrived that were sent at once,
//! and end at three times that; the answer is the mean of eleven chirps.

use super::super::ending::{Ending, Estimate};
use super::super::method::{Asked, Budget, Method, MethodEntry, Step};
use super::super::response::{FEWEST, Response, arrivals};
use super::super::train::{TrainPlan, TrainSeen};

pub(in super::super) static ENTRY: MethodEntry = MethodEntry {
    name: "chirp",
    about: "Trains whose packets follow one another ever faster (pathChirp, Ribeiro 2003)",
    begin: |asked| Box::new(Chirp::new(asked)),
};

const SPREAD: f64 = 1.2;
const FALLS: f64 = 1.5;
const SHORTEST: usize = 5;
const CHIRPS: usize = 11;
const FIRST: u32 = 30;
const SLOWEST: f64 = 0.01;
const FASTEST: f64 = 3.0;

struct Chirp {
    bytes: u32,
    budget: Budget,
    most_bps: Option<f64>,
    /// Of a train that was sent at once.
    received_bps: Option<f64>,
    found: Vec<f64>,
    sent: u32,
}

impl Chirp {
    fn new(asked: &Asked) -> Self {
        Self {
            bytes: asked.bytes,
            budget: Budget::new(asked),
            most_bps: asked.most_bps,
            received_bps: None,
            found: Vec::new(),
            sent: 0,
        }
    }

    fn bits(&self) -> f64 {
        f64::from(self.bytes) * 8e9
    }

    fn train(&mut self) -> Step {
        let plan = match (self.received_bps, self.most_bps) {
            (Some(bps), _) => self.chirp(bps),
            (None, Some(most)) => TrainPlan::even(FIRST, self.bytes, most),
            (None, None) => TrainPlan::at_once(FIRST, self.bytes),
        };
        let bytes = plan.all_bytes();
        self.sent += 1;
        match self.budget.pay(plan.after(10_000_000)) {
            Some(plan) if self.sent <= 2 * CHIRPS as u32 => Step::Send(plan),
            _ => Step::Done(Ending::Unfinished {
                needs_bytes: bytes * (CHIRPS as u64 + 1),
            }),
        }
    }

    fn chirp(&self, received_bps: f64) -> TrainPlan {
        let slowest = received_bps * SLOWEST;
        let fastest = received_bps * FASTEST;
        let fastest = self
            .most_bps
            .map_or(fastest, |most| fastest.min(most))
            .max(2.0 * slowest);
        let mut due = vec![0.0];
        let mut rate = slowest;
        while rate <= fastest {
            due.push(due[due.len() - 1] + self.bits() / rate);
            rate *= SPREAD;
        }
        TrainPlan {
            bytes: self.bytes,
            due_ns: due.into_iter().map(|ns: f64| ns.round() as u64).collect(),
            after_ns: 0,
            flows: 1,
        }
    }
}

/// The available bandwidth by the delays of one chirp, in bits a second.
fn of_chirp(train: &TrainSeen, bits: f64) -> Option<f64> {
    let all = arrivals(train);
    if all.len() < FEWEST {
        return None;
    }
    let delays: Vec<f64> = all.iter().map(|a| a.received - a.sent).collect();
    let gaps: Vec<f64> = all.windows(2).map(|w| w[1].sent - w[0].sent).collect();
    let rates: Vec<f64> = all
        .windows(2)
        .map(|w| bits * (w[1].number - w[0].number) / (w[1].sent - w[0].sent).max(1.0))
        .collect();
    let last = gaps.len() - 1;
    let mut each: Vec<Option<f64>> = vec![None; gaps.len()];
    // Where nothing is known better.
    let mut usual = rates[last];
    let mut at = 0;
    while at <= last {
        if delays[at] >= delays[at + 1] {
            at += 1;
            continue;
        }
        let mut most = 0.0_f64;
        let end = (at + 1..delays.len()).find(|&k| {
            most = most.max(delays[k] - delays[at]);
            delays[k] - delays[at] < most / FALLS
        });
        match end {
            // It does not end: from here on the queue only grows.
            None => {
                usual = rates[at];
                each[at..].fill(Some(rates[at]));
                break;
            }
            Some(end) => {
                if end - at >= SHORTEST {
                    for k in at..end.min(last + 1) {
                        if delays[k] <= delays[k + 1] {
                            each[k] = Some(rates[k]);
                        }
                    }
                }
                at = end;
            }
        }
    }
    let weighed = each.iter().zip(&gaps);
    let (sum, time) = weighed.fold((0.0, 0.0), |(sum, time), (rate, gap)| {
        (sum + rate.unwrap_or(usual) * gap, time + gap)
    });
    (time > 0.0).then(|| sum / time)
}

impl Method for Chirp {
    fn next(&mut self, last: Option<&TrainSeen>) -> Step {
        let Some(last) = last else {
            return self.train();
        };
        if self.received_bps.is_none() {
            let seen = Response::of(last);
            self.received_bps = seen.map(|seen| seen.received_bps().min(seen.rate_bps));
            return self.train();
        }
        self.found.extend(of_chirp(last, self.bits()));
        if self.found.len() < CHIRPS {
            return self.train();
        }
        Step::Done(Ending::Estimate(Estimate {
            available_bps: self.found.iter().sum::<f64>() / CHIRPS as f64,
            capacity_bps: None,
            interval_bps: None,
            trains: self.sent,
            left_out: 0,
        }))
    }
}
