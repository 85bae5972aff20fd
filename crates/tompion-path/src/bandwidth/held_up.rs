//! Whether a train's stamps show that a host was kept from its work while it passed.
//!
//! A sender that is slow throughout sends another rate than it was asked for, and its stamps say which: that spoils nothing; nor does
//! one that sends some at once after each of many sleeps. A pause in the middle does where it is longer than the queue on the way:
//! that empties meanwhile, and another train begins.

use std::ops::Range;

use super::train::{Passed, TrainPlan, TrainSeen};

/// A pause counts that is longer than this part of the train, than so many of its usual gaps, and than this, in nanoseconds.
const PART: f64 = 0.04;
const GAPS: f64 = 4.0;
const LEAST_NS: f64 = 15_000.0;
/// Where there are many, departures may be off the plan, stretched to the time that they took, by this part of it.
const OFF_PLAN: f64 = 0.2;
/// So much of a train is enough for one, and so many packets.
const ENOUGH: f64 = 0.5;
const FEWEST: usize = 16;
/// A train of which more was never sent is another one than was asked for.
const NOT_SENT: f64 = 0.02;
/// After a receiver's pause, so many packets at least come at once: nearer to one another than this part of the usual gap.
const AT_ONCE: usize = 3;
const NEAR: f64 = 0.1;
/// More pauses than this are the sender's manner, and none of the receiver's: something on the way holds packets up and lets them go
/// together.
const FEW: usize = 2;

impl TrainSeen {
    /// A train by its stamps, which show, too, whether sender or receiver was held up. Where the sender was, for once, the longer part of
    /// the train counts alone: the departures of the others are taken out.
    pub fn of(plan: TrainPlan, mut packets: Vec<Passed>) -> Self {
        let whole = sent_whole(&plan, &packets);
        if let Some(whole) = &whole {
            let others = packets.iter_mut().enumerate();
            let others = others.filter(|(at, _)| !whole.contains(at));
            others.for_each(|(_, packet)| packet.sent_ns = None);
        }
        Self {
            is_spoilt_here: whole.is_none(),
            is_spoilt_there: receiving(&packets),
            plan,
            packets,
        }
    }
}

/// Which packets the sender sent as one train: all of them, or the longest part without a pause in which the queue on the way may have
/// emptied. Nothing where that is too few, or too many were not sent.
fn sent_whole(plan: &TrainPlan, packets: &[Passed]) -> Option<Range<usize>> {
    let all = 0..packets.len();
    let went: Vec<(usize, i64)> = packets
        .iter()
        .enumerate()
        .filter_map(|(at, packet)| Some((at, packet.sent_ns?)))
        .collect();
    let missing = packets.len() - went.len();
    if missing as f64 > NOT_SENT * packets.len() as f64 {
        return None;
    }
    let due = |at: usize| plan.due_ns.get(at).copied().unwrap_or_default();
    let gaps: Vec<f64> = gaps(went.iter().map(|one| one.1));
    let (Some(usual), Some(span)) = (median(&gaps), span(went.iter().map(|one| one.1))) else {
        return Some(all);
    };
    let delay = |at: usize| {
        let packet = packets.get(at)?;
        Some(packet.received_ns?.saturating_sub(packet.sent_ns?) as f64)
    };
    let least = (0..packets.len())
        .filter_map(delay)
        .fold(f64::INFINITY, f64::min);
    let most = longest_gap(span, usual);
    // For so long a packet waited, and the queue behind it was not empty.
    let waited = |at: usize| delay(at).map_or(0.0, |delay| delay - least);
    let is_harmful = |at: &usize| {
        let (before, after) = (went[*at].0, went[*at + 1].0);
        let planned = due(after).saturating_sub(due(before)) as f64;
        let pause = gaps[*at] - usual.max(planned);
        pause > most && pause > waited(before)
    };
    let pauses: Vec<usize> = (0..gaps.len()).filter(is_harmful).collect();
    let is_its_manner =
        pauses.len() > FEW && off_plan(&went, |at| due(at) as f64) <= OFF_PLAN * span;
    if pauses.is_empty() || is_its_manner {
        return Some(all);
    }
    let starts = std::iter::once(0).chain(pauses.iter().map(|at| went[at + 1].0));
    let ends = pauses.iter().map(|at| went[*at].0 + 1);
    let parts = starts
        .zip(ends.chain([packets.len()]))
        .map(|(start, end)| start..end);
    let longest = parts.max_by_key(ExactSizeIterator::len)?;
    (longest.len() >= FEWEST && longest.len() as f64 >= ENOUGH * packets.len() as f64)
        .then_some(longest)
}

/// By how much departures are off the plan, from the earliest to the latest, in nanoseconds.
fn off_plan(went: &[(usize, i64)], due: impl Fn(usize) -> f64) -> f64 {
    let (Some(first), Some(last)) = (went.first(), went.last()) else {
        return 0.0;
    };
    // All at once: as evenly as it can.
    let planned_span = due(last.0) - due(first.0);
    let planned = |at: usize| match planned_span > 0.0 {
        true => (due(at) - due(first.0)) / planned_span,
        false => (at - first.0) as f64 / (last.0 - first.0).max(1) as f64,
    };
    let span = last.1.saturating_sub(first.1) as f64;
    let off = |one: &(usize, i64)| one.1.saturating_sub(first.1) as f64 - planned(one.0) * span;
    let (low, high) = went
        .iter()
        .map(off)
        .fold((0.0_f64, 0.0_f64), |(low, high), off| {
            (low.min(off), high.max(off))
        });
    high - low
}

fn longest_gap(span: f64, usual: f64) -> f64 {
    (PART * span).max(GAPS * usual).max(LEAST_NS)
}

/// Whether arrivals paused, after which those that had come meanwhile were stamped at once; or whether they are of one moment or go
/// backwards, as no train's do.
fn receiving(packets: &[Passed]) -> bool {
    let came = || packets.iter().filter_map(|packet| packet.received_ns);
    let gaps = gaps(came());
    let (Some(usual), Some(span)) = (median(&gaps), span(came())) else {
        return false;
    };
    if span <= 0.0 && gaps.len() >= FEWEST {
        return true;
    }
    let most = longest_gap(span, usual);
    let at_once = |after: usize| {
        let next = gaps.get(after + 1..after + 1 + AT_ONCE);
        next.is_some_and(|next| next.iter().all(|gap| *gap < NEAR * usual))
    };
    let pauses = (0..gaps.len()).filter(|at| gaps[*at] - usual > most && at_once(*at));
    (1..=FEW).contains(&pauses.count())
}

fn gaps(times: impl Iterator<Item = i64> + Clone) -> Vec<f64> {
    let next = times.clone().skip(1);
    times
        .zip(next)
        .map(|(one, next)| next.saturating_sub(one) as f64)
        .collect()
}

fn span(times: impl Iterator<Item = i64>) -> Option<f64> {
    let mut first_and_last = None;
    for ns in times {
        let (first, _) = first_and_last.unwrap_or((ns, ns));
        first_and_last = Some((first, ns));
    }
    first_and_last.map(|(first, last)| last.saturating_sub(first) as f64)
}

fn median(of: &[f64]) -> Option<f64> {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets sent, and received, at these moments.
    fn passed(sent: &[i64], received: &[i64]) -> Vec<Passed> {
        let both = sent.iter().zip(received);
        both.map(|(sent, received)| Passed {
            sent_ns: Some(*sent),
            received_ns: Some(*received),
            is_marked: false,
        })
        .collect()
    }

    fn even(packets: i64, gap_ns: i64) -> Vec<i64> {
        (0..packets).map(|at| at * gap_ns).collect()
    }

    fn plan() -> TrainPlan {
        TrainPlan::even(100, 1_500, 300e6)
    }

    #[test]
    fn who_is_slow_throughout_is_not_held_up() {
        for gap_ns in [40_000, 55_000, 400_000] {
            let sent = even(100, gap_ns);
            let packets = passed(&sent, &sent);
            assert_eq!(sent_whole(&plan(), &packets), Some(0..100), "{gap_ns}");
            assert!(!receiving(&packets), "{gap_ns}");
        }
        // Ten at once after each sleep, as a sender with long sleeps does.
        let sent: Vec<i64> = (0..100).map(|at| at / 10 * 400_000 + at % 10).collect();
        let packets = passed(&sent, &sent);
        assert_eq!(sent_whole(&plan(), &packets), Some(0..100));
        assert!(!receiving(&packets));
        // One interrupt in a train that goes as fast as it can.
        let mut sent = even(100, 2_000);
        for ns in &mut sent[40..] {
            *ns += 10_000;
        }
        let whole = sent_whole(&TrainPlan::at_once(100, 1_500), &passed(&sent, &sent));
        assert_eq!(whole, Some(0..100));
    }

    #[test]
    fn a_pause_of_the_sender_is_seen() {
        let mut sent = even(100, 40_000);
        for ns in &mut sent[60..] {
            *ns += 300_000;
        }
        let packets = passed(&sent, &sent);
        assert_eq!(sent_whole(&plan(), &packets), Some(0..60));
        let counted = TrainSeen::of(plan(), packets.clone());
        let departed = counted
            .packets
            .iter()
            .filter(|packet| packet.sent_ns.is_some());
        assert!(departed.count() == 60 && !counted.is_spoilt_here);
        // Where the last packet before it had waited for longer, the queue was never empty.
        let mut waiting = packets.clone();
        for (at, packet) in waiting.iter_mut().enumerate() {
            packet.received_ns = packet.received_ns.map(|ns| ns + 8_000 * at as i64);
        }
        assert_eq!(sent_whole(&plan(), &waiting), Some(0..100));
        // What comes after the path's pause is no receiver's.
        assert!(!receiving(&packets));
        // Four pauses, of which no part is long enough: others had the CPU.
        for from in [10, 20, 30, 75] {
            for ns in &mut sent[from..] {
                *ns += 2_000_000;
            }
        }
        assert_eq!(sent_whole(&plan(), &passed(&sent, &sent)), None);
        let mut missing = passed(&even(100, 40_000), &even(100, 40_000));
        missing[7].sent_ns = None;
        assert_eq!(sent_whole(&plan(), &missing), Some(0..100));
        for packet in &mut missing[20..30] {
            packet.sent_ns = None;
        }
        assert_eq!(sent_whole(&plan(), &missing), None);
    }

    #[test]
    fn a_pause_of_the_receiver_is_told_from_what_holds_packets_up_on_the_way() {
        let sent = even(100, 40_000);
        let late = |at: &[usize]| -> Vec<i64> {
            let mut received = sent.clone();
            for first in at {
                let until = received[first + 8] + 10;
                for (packet, ns) in received[*first..first + 8].iter_mut().enumerate() {
                    *ns = until + packet as i64;
                }
            }
            received
        };
        assert!(receiving(&passed(&sent, &late(&[50]))));
        assert!(!receiving(&passed(&sent, &late(&[]))));
        let backwards: Vec<i64> = sent.iter().map(|ns| -ns).collect();
        assert!(receiving(&passed(&sent, &backwards)) && receiving(&passed(&sent, &[7; 100])));
        assert!(
            !receiving(&passed(&sent, &late(&[10, 30, 50, 70]))),
            "let go by turns"
        );
    }

    #[test]
    fn no_train_at_all_is_none() {
        assert!(sent_whole(&plan(), &[]).is_some() && !receiving(&[]));
        let lost = vec![Passed::default(); 100];
        assert!(sent_whole(&plan(), &lost).is_none() && !receiving(&lost));
    }
}
