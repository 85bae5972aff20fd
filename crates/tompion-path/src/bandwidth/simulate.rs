//! Trains over paths that exist in virtual time only: hops of any number, and the two hosts at their ends.
//!
//! What a hop does to packets is that of [`model`](crate::model) where it is a link, and else stands in [`Hop`]. What the hosts do comes
//! from distributions of any kind, measured or published ([`Ends`]).

mod ends;
mod fair;
mod hops;
mod under_way;

pub use ends::{Ends, Pace};
pub use hops::{Hop, SimulatedPath, Truth};

use super::ending::Ending;
use super::method::{Method, Step};
use super::train::{Passed, TrainPlan, TrainSeen};

/// More trains than this no method sends.
const MOST_TRAINS: u32 = 10_000;

/// What an estimate in virtual time came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// How it ended.
    pub ending: Ending,
    /// What was true while its trains passed.
    pub truth: Truth,
    /// Trains that were sent.
    pub trains: u32,
    /// Bytes that were sent.
    pub bytes: u64,
    /// How long it took, in nanoseconds.
    pub lasts_ns: i64,
}

/// Has a method find the available bandwidth of a path.
pub fn estimate(method: &mut dyn Method, path: &mut SimulatedPath, ends: &mut Ends) -> Done {
    let began_ns = path.now_ns();
    let mut last = None;
    let (mut trains, mut bytes) = (0, 0);
    let ending = loop {
        match method.next(last.as_ref()) {
            Step::Done(ending) => break ending,
            Step::Send(_) if trains >= MOST_TRAINS => {
                break Ending::Unfinished { needs_bytes: bytes };
            }
            Step::Send(plan) => {
                trains += 1;
                bytes += plan.all_bytes();
                last = Some(send(plan, path, ends));
            }
        }
    };
    Done {
        ending,
        truth: path.truth(),
        trains,
        bytes,
        lasts_ns: path.now_ns() - began_ns,
    }
}

fn send(plan: TrainPlan, path: &mut SimulatedPath, ends: &mut Ends) -> TrainSeen {
    let begin_ns = path.now_ns().saturating_add_unsigned(plan.after_ns);
    let sent = ends.departures(begin_ns, &plan);
    let arrived = path.carry(&sent, plan.bytes, plan.flows);
    let received = ends.stamps(&arrived);
    seen(plan, &sent, received)
}

/// A train of which nobody was late, by its stamps.
fn seen(
    plan: TrainPlan,
    sent_ns: &[i64],
    received_ns: impl IntoIterator<Item = Option<i64>>,
) -> TrainSeen {
    let passed = |(sent_ns, received_ns): (&i64, Option<i64>)| Passed {
        sent_ns: Some(*sent_ns),
        received_ns,
        is_marked: false,
    };
    TrainSeen {
        packets: sent_ns.iter().zip(received_ns).map(passed).collect(),
        plan,
        is_spoilt_here: false,
        is_spoilt_there: false,
    }
}

/// A train as a path without limits passes it on.
#[cfg(test)]
pub(super) fn at_once(plan: TrainPlan) -> TrainSeen {
    let sent = Ends::perfect().departures(0, &plan);
    seen(plan, &sent, sent.iter().copied().map(Some))
}

#[cfg(test)]
mod tests;
