//! What lies between the two hosts.

use std::collections::VecDeque;

use super::fair::pass_in_turns;
use super::under_way::UnderWay;
use crate::model::{Bottleneck, Path, PlanError, WayPlan};

/// What is on the way.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Hop {
    /// A link, first come, first served, with what others send.
    Link(WayPlan),
    /// A token bucket: packets pass at once while there are tokens, and wait for them else.
    Bucket {
        /// Tokens come at this rate, in bits a second.
        rate_bps: u64,
        /// There is room for so many, in bytes.
        depth_bytes: u64,
        /// Bytes that may wait.
        limit_bytes: u64,
    },
    /// The same, but what finds no tokens is dropped.
    Policer {
        /// Tokens come at this rate, in bits a second.
        rate_bps: u64,
        /// There is room for so many, in bytes.
        depth_bytes: u64,
    },
    /// A link whose flows take turns (start-time fair queueing), beside others of equal weight.
    Fair {
        /// Its rate in bits a second.
        rate_bps: u64,
        /// Flows of others.
        others: u32,
        /// What each of these sends, in bits a second, in packets of 1500 bytes.
        other_bps: u64,
    },
    /// Packets are held and let go at equal intervals, as by interrupts that are coalesced.
    Coalesced {
        /// The interval in nanoseconds.
        every_ns: u64,
    },
}

impl Hop {
    /// A link with a delay behind it.
    pub fn link(bottleneck: Bottleneck, delay_ns: u64) -> Self {
        Self::Link(WayPlan {
            bottleneck: Some(bottleneck),
            delay_ns,
            ..WayPlan::default()
        })
    }
}

/// What was true while trains passed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Truth {
    /// The least that a link had left over, in bits a second of IP packets as large as those of the trains.
    pub available_bps: f64,
    /// The capacity of that link, likewise.
    pub capacity_bps: f64,
}

#[derive(Debug)]
enum Works {
    Link(Box<LinkAtWork>),
    Bucket(Bucket),
    Policer(Tokens),
    Fair {
        rate_bps: u64,
        others: u32,
        other_bps: u64,
    },
    Coalesced {
        every_ns: i64,
    },
}

#[derive(Debug)]
struct LinkAtWork {
    path: Path,
    rate_bps: f64,
    overhead: u32,
    /// What others sent while trains passed, in bits, and how long that took, in nanoseconds.
    others_bits: f64,
    time_ns: f64,
    bytes: u32,
}

/// A path of hops, from a sender to a receiver.
#[derive(Debug)]
pub struct SimulatedPath {
    hops: Vec<Works>,
    now_ns: i64,
}

impl SimulatedPath {
    /// A path; what is random on it comes from the seed.
    ///
    /// # Errors
    /// Where a link's plan cannot be followed.
    pub fn new(hops: &[Hop], seed: u64) -> Result<Self, PlanError> {
        let at_work = |(number, hop): (u64, &Hop)| {
            Ok(match *hop {
                Hop::Link(ref plan) => Works::Link(Box::new(LinkAtWork::new(
                    plan,
                    seed.wrapping_mul(31).wrapping_add(number),
                )?)),
                Hop::Bucket {
                    rate_bps,
                    depth_bytes,
                    limit_bytes,
                } => Works::Bucket(Bucket {
                    tokens: Tokens::new(rate_bps, depth_bytes),
                    limit_bytes,
                    waiting: VecDeque::new(),
                    waiting_bytes: 0,
                    last_ns: i64::MIN,
                }),
                Hop::Policer {
                    rate_bps,
                    depth_bytes,
                } => Works::Policer(Tokens::new(rate_bps, depth_bytes)),
                Hop::Fair {
                    rate_bps,
                    others,
                    other_bps,
                } => Works::Fair {
                    rate_bps,
                    others,
                    other_bps,
                },
                Hop::Coalesced { every_ns } => Works::Coalesced {
                    every_ns: every_ns.max(1).cast_signed(),
                },
            })
        };
        Ok(Self {
            hops: (0..)
                .zip(hops)
                .map(at_work)
                .collect::<Result<_, PlanError>>()?,
            now_ns: 0,
        })
    }

    /// The time up to which it is known.
    pub fn now_ns(&self) -> i64 {
        self.now_ns
    }

    /// Has packets of a train pass, which take turns among flows. When each arrives; `None` where it does not.
    pub fn carry(&mut self, departures: &[i64], bytes: u32, flows: u8) -> Vec<Option<i64>> {
        let flows = usize::from(flows.max(1));
        let packet = |(number, at_ns): (usize, &i64)| UnderWay {
            at_ns: *at_ns,
            bytes,
            flow: (number % flows) as u8,
            number,
        };
        let mut all: Vec<UnderWay> = departures.iter().enumerate().map(packet).collect();
        for hop in &mut self.hops {
            hop.pass(&mut all);
            all.sort_by_key(|p| (p.at_ns, p.number));
        }
        let mut arrived = vec![None; departures.len()];
        for packet in &all {
            arrived[packet.number] = Some(packet.at_ns);
        }
        let last = all
            .iter()
            .map(|p| p.at_ns)
            .chain(departures.iter().copied());
        self.now_ns = last.max().unwrap_or(self.now_ns).max(self.now_ns);
        arrived
    }

    /// What was true of its links while trains passed so far.
    pub fn truth(&self) -> Truth {
        let links = self.hops.iter().filter_map(|hop| match hop {
            Works::Link(link) => link.truth(),
            _ => None,
        });
        let least = links.min_by(|a, b| a.available_bps.total_cmp(&b.available_bps));
        least.unwrap_or_default()
    }
}

impl Works {
    fn pass(&mut self, all: &mut Vec<UnderWay>) {
        match self {
            Self::Link(link) => link.pass(all),
            Self::Bucket(bucket) => all.retain_mut(|packet| bucket.passes(packet)),
            Self::Policer(tokens) => {
                all.retain_mut(|packet| tokens.has(packet.at_ns, packet.bytes))
            }
            Self::Fair {
                rate_bps,
                others,
                other_bps,
            } => pass_in_turns(all, *rate_bps, *others, *other_bps),
            Self::Coalesced { every_ns } => {
                for packet in all {
                    let behind = packet.at_ns.rem_euclid(*every_ns);
                    packet.at_ns += (*every_ns - behind) % *every_ns;
                }
            }
        }
    }
}

impl LinkAtWork {
    fn new(plan: &WayPlan, seed: u64) -> Result<Self, PlanError> {
        let bottleneck = plan.bottleneck.as_ref();
        Ok(Self {
            path: Path::new(plan, seed)?,
            rate_bps: bottleneck.map_or(f64::INFINITY, |b| b.rate_bps as f64),
            overhead: bottleneck.map_or(0, |b| b.overhead_bytes),
            others_bits: 0.0,
            time_ns: 0.0,
            bytes: 0,
        })
    }

    fn pass(&mut self, all: &mut Vec<UnderWay>) {
        let mut first: Option<(i64, u128)> = None;
        let mut last = None;
        all.retain_mut(|packet| {
            let due = self.path.offer(packet.at_ns, packet.bytes).packet.due_ns;
            // What is not taken would fill it.
            while self.path.take_due(i64::MAX).is_some() {}
            let others = self.path.others_bytes();
            first.get_or_insert((packet.at_ns, others));
            last = Some((packet.at_ns, others));
            self.bytes = packet.bytes;
            due.map(|ns| packet.at_ns = ns).is_some()
        });
        if let (Some((from, before)), Some((to, by_then))) = (first, last) {
            self.others_bits += (by_then - before) as f64 * 8.0;
            self.time_ns += to.abs_diff(from) as f64;
        }
    }

    fn truth(&self) -> Option<Truth> {
        if self.time_ns <= 0.0 || !self.rate_bps.is_finite() {
            return None;
        }
        let others_bps = self.others_bits * 1e9 / self.time_ns;
        // Of each packet of the trains the link takes more than IP counts.
        let counted = f64::from(self.bytes) / f64::from(self.bytes + self.overhead);
        Some(Truth {
            available_bps: (self.rate_bps - others_bps).max(0.0) * counted,
            capacity_bps: self.rate_bps * counted,
        })
    }
}

/// Tokens that come at a rate.
#[derive(Debug)]
struct Tokens {
    /// Bits a second, that is bytes times 8e9 a nanosecond.
    rate_bps: i128,
    depth: i128,
    left: i128,
    at_ns: Option<i64>,
}

const BYTE: i128 = 8_000_000_000;

impl Tokens {
    fn new(rate_bps: u64, depth_bytes: u64) -> Self {
        let depth = i128::from(depth_bytes) * BYTE;
        Self {
            rate_bps: rate_bps.max(1).into(),
            depth,
            left: depth,
            at_ns: None,
        }
    }

    fn come(&mut self, now_ns: i64) {
        let before_ns = self.at_ns.unwrap_or(now_ns).min(now_ns);
        let came = self.rate_bps * i128::from(now_ns.abs_diff(before_ns));
        self.left = (self.left + came).min(self.depth);
        self.at_ns = Some(now_ns.max(self.at_ns.unwrap_or(now_ns)));
    }

    /// Takes those of a packet, if there are so many.
    fn has(&mut self, now_ns: i64, bytes: u32) -> bool {
        self.come(now_ns);
        let wanted = i128::from(bytes) * BYTE;
        let has = self.left >= wanted;
        if has {
            self.left -= wanted;
        }
        has
    }

    /// When there are as many, from then on; they are taken.
    fn wait(&mut self, now_ns: i64, bytes: u32) -> i64 {
        self.come(now_ns);
        let wanted = i128::from(bytes) * BYTE;
        let lacks = (wanted - self.left).max(0);
        // More than the bucket holds never comes; such a packet passes when it is full.
        let lacks = lacks.min((self.depth - self.left).max(0));
        let waits = i64::try_from(lacks / self.rate_bps + i128::from(lacks % self.rate_bps != 0));
        let at_ns = now_ns.saturating_add(waits.unwrap_or(i64::MAX));
        self.come(at_ns);
        self.left -= wanted;
        at_ns
    }
}

#[derive(Debug)]
struct Bucket {
    tokens: Tokens,
    limit_bytes: u64,
    /// When each that waits leaves, and its bytes.
    waiting: VecDeque<(i64, u32)>,
    waiting_bytes: u64,
    last_ns: i64,
}

impl Bucket {
    fn passes(&mut self, packet: &mut UnderWay) -> bool {
        while let Some(&(_, bytes)) = self.waiting.front().filter(|(at, _)| *at <= packet.at_ns) {
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(bytes);
        }
        if self.waiting_bytes + u64::from(packet.bytes) > self.limit_bytes {
            return false;
        }
        let at_ns = self
            .tokens
            .wait(packet.at_ns.max(self.last_ns), packet.bytes);
        self.last_ns = at_ns;
        self.waiting.push_back((at_ns, packet.bytes));
        self.waiting_bytes += u64::from(packet.bytes);
        packet.at_ns = at_ns;
        true
    }
}
