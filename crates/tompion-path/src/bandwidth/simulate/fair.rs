//! A link whose flows take turns.
//!
//! Goyal, Vin and Cheng, "Start-time Fair Queueing" (SIGCOMM 1996): a packet's tag is the later of the link's virtual time
//! at its arrival, which is the tag of the packet that is being sent, and the end of the one before it in its flow; the least tag goes first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::under_way::UnderWay;

/// Packets of others.
const OTHERS_BYTES: u32 = 1_500;
/// How long others have sent before the first packet, in packets of each.
const BEFORE: i64 = 20;

/// A packet that waits: its tag, a number that tells it apart, and which of ours it is.
type Waiting = Reverse<(u64, usize, Option<usize>, u32)>;

/// Has packets pass a link among `others` flows that send `other_bps` each.
pub(super) fn pass_in_turns(all: &mut [UnderWay], rate_bps: u64, others: u32, other_bps: u64) {
    let (Some(first), Some(last)) = (all.first(), all.last()) else {
        return;
    };
    // All arrivals: ours, and those of others from before until long after.
    let gap_ns = (u64::from(OTHERS_BYTES) * 8_000_000_000 / other_bps.max(1))
        .max(1)
        .cast_signed();
    let takes_ns = |bytes: u32| {
        (u64::from(bytes) * 8_000_000_000)
            .div_ceil(rate_bps.max(1))
            .cast_signed()
    };
    let begin_ns = first.at_ns.saturating_sub(BEFORE * gap_ns);
    // By then all of ours have left, whatever their share.
    let ours_ns: i64 = all.iter().map(|p| takes_ns(p.bytes)).sum();
    let end_ns = last.at_ns.saturating_add((i64::from(others) + 2) * ours_ns);
    let mut arrivals: Vec<(i64, usize, Option<usize>, u32)> = Vec::new();
    for (place, packet) in all.iter().enumerate() {
        arrivals.push((
            packet.at_ns,
            usize::from(packet.flow),
            Some(place),
            packet.bytes,
        ));
    }
    let ours = 1 + all.iter().map(|p| usize::from(p.flow)).max().unwrap_or(0);
    if other_bps > 0 {
        for other in 0..others {
            let shift_ns = gap_ns * i64::from(other) / i64::from(others.max(1));
            let mut at_ns = begin_ns.saturating_add(shift_ns);
            while at_ns < end_ns {
                arrivals.push((at_ns, ours + other as usize, None, OTHERS_BYTES));
                at_ns += gap_ns;
            }
        }
    }
    arrivals.sort_by_key(|a| (a.0, a.1));
    let mut ends = vec![0_u64; ours + others as usize];
    let mut waiting: BinaryHeap<Waiting> = BinaryHeap::new();
    let (mut virtual_time, mut free_ns) = (0_u64, begin_ns);
    let mut arrivals = arrivals.into_iter().enumerate().peekable();
    let mut left = all.len();
    while left > 0 {
        // Who is there when the link is free.
        while let Some((number, (_, flow, place, bytes))) =
            arrivals.next_if(|(_, a)| a.0 <= free_ns)
        {
            let tag = virtual_time.max(ends[flow]);
            ends[flow] = tag + u64::from(bytes);
            waiting.push(Reverse((tag, number, place, bytes)));
        }
        match waiting.pop() {
            Some(Reverse((tag, _, place, bytes))) => {
                virtual_time = tag;
                free_ns += takes_ns(bytes);
                if let Some(place) = place {
                    all[place].at_ns = free_ns;
                    left -= 1;
                }
            }
            // It is idle until the next comes.
            None => match arrivals.peek() {
                Some((_, next)) => free_ns = free_ns.max(next.0),
                None => break,
            },
        }
    }
}
