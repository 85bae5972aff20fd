//! The rules about round trips of packets, seen from several places of one machine.

use std::collections::BTreeMap;

use tompion_model::{AT_REST, Factors, factor};

use super::observed::{Median, Observed, Replicate};
use super::rules::{finding, named};
use crate::claims::{Finding, Outcome};

const PACKETS: &str = "packet-delay";

/// From where a round trip is seen: levels of that factor.
const USER: &str = "user";
const QDISC: &str = "qdisc";
const KERNEL: &str = "kernel";
const HARDWARE: &str = "hardware";

/// Samples of which the middle is known.
const FEWEST: u64 = 100;

/// A load that adds less than this explains nothing.
const LEAST_NS: f64 = 100_000.0;

/// Shares that count as all and as none.
const NEARLY_ALL: f64 = 0.9;
const NEARLY_NONE: f64 = 0.1;
const HALF: f64 = 0.5;

/// The median: the far end's stay is a part of every round trip, and has a tail of its own that is no queue.
fn middle(r: &Replicate) -> Option<f64> {
    let summary = r.measured.as_ref().filter(|s| s.samples >= FEWEST)?;
    Some(summary.median_ns)
}

/// What a load adds to the median of round trips seen from one place: in each block, beyond that at rest.
fn added(run: &Observed, loaded: &Factors, vantage: &str) -> BTreeMap<u32, f64> {
    let loaded = loaded.clone().with(factor::VANTAGE, vantage);
    let rest = loaded.clone().with(factor::LOAD, AT_REST);
    let (Some(loaded), Some(rest)) = (run.cells.get(&loaded), run.cells.get(&rest)) else {
        return BTreeMap::new();
    };
    let of_block = |(block, with): (&u32, &Replicate)| {
        let without = rest.get(block)?;
        Some((*block, middle(with)? - middle(without)?))
    };
    loaded.iter().filter_map(of_block).collect()
}

/// Cells beside a network load, as the program sees them, to whose median that adds enough to ask where.
fn held_up(run: &Observed) -> Vec<&Factors> {
    let is_it = |f: &&Factors| {
        f.level(factor::PROBE) == PACKETS
            && f.get(factor::VANTAGE) == Some(USER)
            && f.level(factor::LOAD).starts_with("network")
    };
    let adds = |f: &&Factors| {
        let added: Vec<f64> = added(run, f, USER).into_values().collect();
        Median::of(&added).is_some_and(|m| m.low >= LEAST_NS)
    };
    run.cells.keys().filter(is_it).filter(adds).collect()
}

/// One figure over another, block by block.
fn shares(over: &BTreeMap<u32, f64>, under: &BTreeMap<u32, f64>) -> Vec<f64> {
    let of_block = |(block, a): (&u32, &f64)| Some(a / under.get(block)?);
    let shares = over.iter().filter_map(of_block);
    shares.filter(|share| share.is_finite()).collect()
}

/// What is left between two places, block by block.
fn between(upper: &BTreeMap<u32, f64>, lower: &BTreeMap<u32, f64>) -> BTreeMap<u32, f64> {
    let of_block = |(block, a): (&u32, &f64)| Some((*block, a - lower.get(block)?));
    upper.iter().filter_map(of_block).collect()
}

/// Queueing: of what a network load adds to the median of round trips as stamped above the device's queue, nine tenths
/// at least lie between the stamps before and behind that queue; contradicted where half of it at most does. The paper's
/// queue was the card's, below its kernel's stamps; since then Linux keeps the card's ring short (byte queue limits) and
/// packets wait in the queueing discipline above the driver, so that its stamps stand for the paper's. Where the card
/// itself stamps, its ring counts to the queue.
pub(super) fn kernel_delay_is_queueing(run: &Observed) -> Option<Finding> {
    let (mut effects, mut all, mut half) = (Vec::new(), true, true);
    let mut has_card = false;
    for cell in held_up(run) {
        let above = added(run, cell, QDISC);
        let card = added(run, cell, HARDWARE);
        has_card |= !card.is_empty();
        let below = match card.is_empty() {
            true => added(run, cell, KERNEL),
            false => card,
        };
        let Some(share) = Median::of(&shares(&between(&above, &below), &above)) else {
            continue;
        };
        all &= share.low >= NEARLY_ALL;
        half &= share.high <= HALF;
        let what = format!(
            "share of what the load adds to the median above the queue that lies in the queue: {}",
            named(cell)
        );
        effects.push(share.effect(what, "1", 1.0));
        let above: Vec<f64> = above.into_values().collect();
        if let Some(above) = Median::of(&above) {
            let what = format!(
                "what the load adds to the median above the queue: {}",
                named(cell)
            );
            effects.push(above.effect(what, "ns", 1.0));
        }
    }
    let outcome = match (all, half) {
        (true, _) => Outcome::Supported,
        (_, true) => Outcome::Contradicted,
        _ => Outcome::NotDecidable,
    };
    let share = effects.first().map_or(0.0, |share| share.value);
    let card = match has_card {
        true => "the card's own stamps end the queue",
        false => "the card gives no stamps here, so that the queue ends at the driver",
    };
    let because = format!(
        "Of what a network load adds to round trips above the device's queue, {share:.3} lies in that queue; {card}."
    );
    finding(outcome, because, effects)
}

/// No help: beside a network load stamps of replies by the kernel can take away a tenth at most of what the load adds,
/// and nine tenths at least of it is added while sending. What such stamps can take away is at most what lies above the
/// kernel; `qdisc` and `kernel` differ in their stamps of sending alone. That they help cannot be shown in this way.
pub(super) fn ping_kernel_stamps_no_help(run: &Observed) -> Option<Finding> {
    let (mut effects, mut all) = (Vec::new(), true);
    for cell in held_up(run) {
        let [user, qdisc, kernel] = [USER, QDISC, KERNEL].map(|v| added(run, cell, v));
        let above = Median::of(&shares(&between(&user, &qdisc), &user));
        let sending = Median::of(&shares(&between(&qdisc, &kernel), &user));
        let (Some(above), Some(sending)) = (above, sending) else {
            continue;
        };
        all &= above.high <= NEARLY_NONE && sending.low >= NEARLY_ALL;
        let mut push = |of: Median, what: &str| {
            let what = format!(
                "share of what the load adds to the median {what}: {}",
                named(cell)
            );
            effects.push(of.effect(what, "1", 1.0));
        };
        push(sending, "that is added between two stamps of sending");
        push(above, "that lies above the kernel, both ways");
    }
    let outcome = match all {
        true => Outcome::Supported,
        false => Outcome::NotDecidable,
    };
    let [sending, above, ..] = &effects[..] else {
        return None;
    };
    let because = format!(
        "Of what a network load adds to round trips, {:.3} is added while sending, before the driver has the packet; \
         kernel stamps of replies can take away {:.3} at most.",
        sending.value, above.value
    );
    finding(outcome, because, effects)
}

/// No stamp of the card: contradicted where round trips have stamps that the device itself took; where only those of the
/// driver come back, the system lets programs ask and this device does not answer, which decides nothing.
pub(super) fn no_stamp_of_the_card(run: &Observed) -> Option<Finding> {
    let cells = run
        .cells
        .keys()
        .filter(|f| f.level(factor::PROBE) == PACKETS);
    let mut effects = Vec::new();
    let (mut of_card, mut of_driver) = (0.0, 0.0);
    for cell in cells {
        let Some(vantage @ (KERNEL | HARDWARE)) = cell.get(factor::VANTAGE) else {
            continue;
        };
        let samples = run.figures(cell, |r| Some(r.measured.as_ref()?.samples as f64));
        let all: f64 = samples.iter().sum();
        match vantage {
            HARDWARE => of_card += all,
            _ => of_driver += all,
        }
        if let Some(samples) = Median::of(&samples) {
            let what = format!(
                "round trips with stamps of sending at `{vantage}`: {}",
                named(cell)
            );
            effects.push(samples.effect(what, "1", 1.0));
        }
    }
    let outcome = match of_card > 0.0 {
        true => Outcome::Contradicted,
        false => Outcome::NotDecidable,
    };
    let because = match of_card > 0.0 {
        true => format!("The card's own stamps of {of_card:.0} sent packets came back."),
        false => format!(
            "Programs can ask for both by SO_TIMESTAMPING: the driver's stamps of {of_driver:.0} sent packets came back, \
             and this device has none of its own."
        ),
    };
    finding(outcome, because, effects)
}
