//! Which probes were held up at one of the two ends, by their stamps alone, and whether that or the path makes round
//! trips long.
//!
//! A probe spends time at this end from the program to the kernel's transmit stamp and from the kernel's receive stamp
//! to the program, and at the far end between its receive and its transmit stamp; what is left of its round trip is the
//! path. Waiting for the reply is no part of this end's time. Whiteaker, Schneider and Teixeira (ACM SIGCOMM CCR 41(1),
//! 2011) propose to leave out the samples that the host spoils; they watched what else used the host. Stamps show that
//! a probe was held up, not by whom.

mod common;
mod held_up;
mod standstill;

pub use common::{Common, FEWEST_BLOCKS, NotCommon, common};
use held_up::USUAL;
pub use held_up::{HELD_UP_NS, HeldUp, Side};
pub use standstill::Standstill;
use standstill::UnderWay;

use crate::stamps::{Packets, Stamp, StayBy, Stays, Values, Vantage, between, round_trips, stays};

/// Of fewer probes nothing is said.
pub const FEWEST: usize = 30;
/// The slowest round trips that are held against the median: this share of them, and at least so many.
const SLOWEST: f64 = 0.01;
const FEWEST_SLOWEST: usize = 5;
/// Where these exceed the median by less there is nothing to explain, in nanoseconds.
const WORTH_EXPLAINING_NS: f64 = 100_000.0;
/// Who has this share of what they exceed it by is to blame.
const BLAMED: f64 = 0.6;
/// A part of the way that has this share of the median round trip, and so many nanoseconds of it, is what makes round trips
/// long, whatever the slowest exceed it by: a queue that is never empty is usual, and holds nobody up.
const MOST_OF_MEDIAN: f64 = 0.5;
const LONG_NS: f64 = 1_000_000.0;

/// Who has the time by which the slowest round trips exceed the median.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// This machine: its program, kernel or queue.
    Here,
    /// The far end.
    FarEnd,
    /// The path between them.
    Path,
    /// The path or the far end, which does not say how long it kept probes.
    Beyond,
}

impl Whose {
    /// As machines read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::FarEnd => "far-end",
            Self::Path => "path",
            Self::Beyond => "beyond-here",
        }
    }
}

/// A part of the way that most of the median round trip is spent in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Where: the own device's queue, or the far end.
    pub side: Side,
    /// Its median, in nanoseconds.
    pub part_ns: f64,
    /// The median round trip by the program, in nanoseconds.
    pub whole_ns: f64,
}

/// Why nobody is blamed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Undecided {
    /// There are so many probes with all stamps, fewer than [`FEWEST`].
    TooFew(usize),
    /// So many of the slowest lack stamps that would say who held them up.
    Unknown(usize),
    /// The slowest exceed the median by so little, in nanoseconds.
    NothingToExplain(f64),
    /// Nobody has most of it: the largest share.
    Several(f64),
    /// Somebody has this share, but not of each half of the slowest, every other one taken: it may be chance.
    HalvesDiffer(f64),
}

/// What a table of probes says of its two ends.
#[derive(Clone, Debug)]
pub struct Trust {
    /// Probes that were answered. One that lacks a stamp which others have is not clean: who keeps back those of the slow ones
    /// would have it so.
    pub judged: usize,
    /// Those that nothing held up.
    pub clean: usize,
    /// Where each of the others was held up, in the order of the probes; one that was held up at several places has an
    /// entry for each.
    pub held_up: Vec<HeldUp>,
    /// Whether the far end says how long it kept probes.
    pub has_far_end: bool,
    /// The path of clean probes by the kernel's stamps, in nanoseconds; of all others missing. It has the far end's time
    /// in it where that is not known.
    pub path: Values,
    /// Who makes the slowest round trips slow, and which share of that is theirs; where most of the median is spent in one place,
    /// who has that, and which share of the median it is.
    pub blame: Result<(Whose, f64), Undecided>,
    /// Where most of the median round trip is spent, if that is the own queue or the far end.
    pub standing: Option<Standing>,
}

impl Trust {
    /// Of a table; nothing where no probe has the kernel's stamps both ways.
    pub fn of(packets: &Packets) -> Option<Self> {
        Self::beside(packets, &[])
    }

    /// The same where this machine stood still at times. A probe whose path took longer than usual, half of which more such
    /// times explain, was held up here, and so much of its path is this machine's.
    pub fn beside(packets: &Packets, standstills: &[Standstill]) -> Option<Self> {
        let stretches = Stretches::of(packets);
        let user = round_trips(packets, Vantage::User);
        let kernel = round_trips(packets, Vantage::Kernel);
        let is_judged = |row: &usize| {
            let trips = user.get(*row).zip(kernel.get(*row));
            trips.is_some() && stretches.knows(*row)
        };
        let answered: Vec<usize> = (0..packets.len())
            .filter(|row| user.get(*row).is_some())
            .collect();
        let rows: Vec<usize> = answered.iter().copied().filter(is_judged).collect();
        if rows.is_empty() {
            return None;
        }
        let beyond = match &stretches.far_end {
            Some(far_end) => kernel.minus(&far_end.values),
            None => kernel.clone(),
        };
        let under_way = UnderWay::of(packets, &beyond, standstills);
        let held_up: Vec<HeldUp> = rows
            .iter()
            .flat_map(|row| {
                stretches
                    .held_up(packets, *row)
                    .chain(under_way.held_up(*row))
            })
            .collect();
        let mut not_clean = held_up.iter().map(|h| h.row).peekable();
        let is_clean = |row: &usize| {
            let mut is_held_up = false;
            while not_clean.next_if_eq(row).is_some() {
                is_held_up = true;
            }
            !is_held_up
        };
        let clean: Vec<usize> = rows.iter().copied().filter(is_clean).collect();
        let mut left = clean.iter().peekable();
        let path = (0..packets.len()).map(|row| beyond.get(left.next_if_eq(&&row).copied()?));
        let standing = stretches.standing(&user, rows.len());
        let by_median = standing.map(|standing| {
            let whose = match standing.side {
                Side::FarEnd => Whose::FarEnd,
                _ => Whose::Here,
            };
            Ok((whose, standing.part_ns / standing.whole_ns))
        });
        let by_slowest = || {
            blame(
                (&rows, &answered),
                &user,
                &kernel.minus(under_way.taken()),
                stretches.far_end.as_ref(),
                &beyond.minus(under_way.taken()),
            )
        };
        Some(Self {
            judged: answered.len(),
            clean: clean.len(),
            held_up,
            has_far_end: stretches.far_end.is_some(),
            path: path.collect(),
            blame: by_median.unwrap_or_else(by_slowest),
            standing,
        })
    }

    /// How many were held up there; none where nobody says.
    pub fn held_up_at(&self, side: Side) -> Option<usize> {
        let is_known = side != Side::FarEnd || self.has_far_end;
        is_known.then(|| self.held_up.iter().filter(|h| h.side == side).count())
    }

    /// Whether the path of clean probes stands for all: there are enough of them, and no fewer than half.
    pub fn is_path_known(&self) -> bool {
        self.clean >= FEWEST && self.has_most_clean()
    }

    /// Whether no fewer than half are clean.
    pub fn has_most_clean(&self) -> bool {
        2 * self.clean >= self.judged
    }
}

/// A part of each probe's way that lies at one of the ends.
struct Stretch {
    side: Side,
    /// The stamp with which it begins.
    from: Stamp,
    values: Values,
    usual: i64,
}

impl Stretch {
    /// Nothing where no probe has it.
    fn of(side: Side, from: Stamp, values: Values) -> Option<Self> {
        let usual = values.distribution().quantile(USUAL)? as i64;
        Some(Self {
            side,
            from,
            values,
            usual,
        })
    }

    fn held_up(&self, packets: &Packets, row: usize) -> Option<HeldUp> {
        let took_ns = self.values.get(row)?;
        let from_ns = packets.get(row, self.from)?;
        let excess_ns = took_ns.saturating_sub(self.usual);
        (excess_ns > HELD_UP_NS).then_some(HeldUp {
            row,
            side: self.side,
            from_ns,
            until_ns: from_ns.saturating_add(took_ns),
            excess_ns,
        })
    }
}

struct Stretches {
    sending: Option<Stretch>,
    queued: Option<Stretch>,
    receiving: Option<Stretch>,
    far_end: Option<Stretch>,
}

impl Stretches {
    fn of(packets: &Packets) -> Self {
        let has_queue = packets.has_any(Stamp::Scheduled);
        let sending = match has_queue {
            true => between(packets, Stamp::UserSent, Stamp::Scheduled),
            false => between(packets, Stamp::UserSent, Stamp::Sent),
        };
        let queued = between(packets, Stamp::Scheduled, Stamp::Sent);
        let receiving = between(packets, Stamp::Received, Stamp::UserReceived);
        let Stays { values, .. } = stays(packets, StayBy::Best);
        Self {
            sending: Stretch::of(Side::Sending, Stamp::UserSent, sending),
            queued: has_queue
                .then(|| Stretch::of(Side::Queued, Stamp::Scheduled, queued))
                .flatten(),
            receiving: Stretch::of(Side::Receiving, Stamp::Received, receiving),
            far_end: Stretch::of(Side::FarEnd, Stamp::FarReceived, values),
        }
    }

    /// Where a probe was held up.
    fn held_up<'a>(
        &'a self,
        packets: &'a Packets,
        row: usize,
    ) -> impl Iterator<Item = HeldUp> + 'a {
        let all = [&self.sending, &self.queued, &self.receiving, &self.far_end];
        all.into_iter()
            .flatten()
            .filter_map(move |stretch| stretch.held_up(packets, row))
    }

    /// Where most of the median round trip is spent.
    fn standing(&self, user: &Values, judged: usize) -> Option<Standing> {
        let median = |values: &Values| values.distribution().quantile(0.5);
        let whole_ns = median(user).filter(|_| judged >= FEWEST)?;
        let of = |stretch: &Option<Stretch>| {
            let stretch = stretch.as_ref()?;
            let part_ns = median(&stretch.values)?;
            let is_most = part_ns >= LONG_NS && part_ns >= MOST_OF_MEDIAN * whole_ns;
            is_most.then_some(Standing {
                side: stretch.side,
                part_ns,
                whole_ns,
            })
        };
        of(&self.queued).or_else(|| of(&self.far_end))
    }

    /// Whether a probe has all of them that there are.
    fn knows(&self, row: usize) -> bool {
        let has = |stretch: &Option<Stretch>| {
            stretch.as_ref().is_none_or(|s| s.values.get(row).is_some())
        };
        let both_ways = self.sending.is_some() && self.receiving.is_some();
        both_ways
            && has(&self.sending)
            && has(&self.queued)
            && has(&self.receiving)
            && has(&self.far_end)
    }
}

/// Who has most of what the slowest of these rows exceed the median by: of all of them, and of every other one of them
/// alone, so that one probe alone blames nobody.
fn blame(
    (rows, answered): (&[usize], &[usize]),
    user: &Values,
    kernel: &Values,
    far_end: Option<&Stretch>,
    beyond: &Values,
) -> Result<(Whose, f64), Undecided> {
    if rows.len() < FEWEST {
        return Err(Undecided::TooFew(rows.len()));
    }
    let mut slowest = answered.to_vec();
    slowest.sort_by_key(|row| std::cmp::Reverse(user.get(*row)));
    slowest.truncate(FEWEST_SLOWEST.max((SLOWEST * answered.len() as f64).ceil() as usize));
    let unknown = slowest
        .iter()
        .filter(|row| rows.binary_search(row).is_err());
    let unknown = unknown.count();
    if 2 * unknown > slowest.len() {
        return Err(Undecided::Unknown(unknown));
    }
    slowest.retain(|row| rows.binary_search(row).is_ok());
    let excess = |values: &Values, of: &[usize]| {
        let usual: Values = rows.iter().map(|row| values.get(*row)).collect();
        let usual = usual.distribution().quantile(0.5).unwrap_or(0.0);
        let beyond = of
            .iter()
            .filter_map(|row| Some(values.get(*row)? as f64 - usual));
        beyond.sum::<f64>() / of.len() as f64
    };
    let whole = excess(user, &slowest);
    if whole < WORTH_EXPLAINING_NS {
        return Err(Undecided::NothingToExplain(whole));
    }
    let here = user.minus(kernel);
    let mut parts = vec![(Whose::Here, &here)];
    match far_end {
        Some(far_end) => parts.extend([(Whose::FarEnd, &far_end.values), (Whose::Path, beyond)]),
        None => parts.push((Whose::Beyond, beyond)),
    }
    let most = |of: &[usize]| {
        let share = |(whose, values): &(Whose, &Values)| (*whose, excess(values, of).max(0.0));
        let each: Vec<(Whose, f64)> = parts.iter().map(share).collect();
        let all: f64 = each.iter().map(|(_, ns)| ns).sum();
        let most = each.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        most.map_or((Whose::Here, 0.0), |(whose, ns)| (whose, ns / all.max(1.0)))
    };
    let every_other =
        |from| -> Vec<usize> { slowest.iter().copied().skip(from).step_by(2).collect() };
    let (whose, share) = most(&slowest);
    let halves = [most(&every_other(0)), most(&every_other(1))];
    let agrees = halves
        .iter()
        .all(|(other, share)| *other == whose && *share >= BLAMED);
    match (share >= BLAMED, agrees) {
        (true, true) => Ok((whose, share)),
        (true, false) => Err(Undecided::HalvesDiffer(share)),
        (false, _) => Err(Undecided::Several(share)),
    }
}

#[cfg(test)]
mod tests;
