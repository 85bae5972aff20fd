//! What a table of probes says, as data and as text.

mod ends;
mod text;

pub use ends::Ends;
pub(crate) use text::{HEADS, row};

use serde::Serialize;
use tompion_path::Way;
use tompion_path::stamps::{
    Loss, Missing, Order, Outcome, Packets, Reordering, Stamp, StayBy, Values, Vantage, ipdv,
    lateness, layers, least_of, order, pdv, rest, round_trips, stays, vantages,
};

use crate::account::{FarEnd, Measured};

/// Quantiles of durations, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Quantiles {
    /// How many there are.
    pub samples: u64,
    /// The smallest.
    pub min_ns: i64,
    /// The median.
    pub median_ns: i64,
    /// The 99th percentile.
    pub p99_ns: i64,
    /// The largest.
    pub max_ns: i64,
}

impl Quantiles {
    /// Of those that are there; none where there is none.
    pub fn of(values: &Values) -> Option<Self> {
        let all = values.distribution();
        Some(Self {
            samples: all.len(),
            min_ns: all.min()?,
            median_ns: all.quantile(0.5)? as i64,
            p99_ns: all.quantile(0.99)? as i64,
            max_ns: all.max()?,
        })
    }
}

/// A round trip as one place sees it.
#[derive(Clone, Debug, Serialize)]
pub struct RoundTrip {
    /// `user`, `qdisc`, `kernel`, `hardware`, or the name of a tap.
    pub vantage: String,
    /// The round trips, the far end's stay included.
    #[serde(flatten)]
    pub quantiles: Quantiles,
}

/// The least round trip of several probes in a row, as the program sees it.
#[derive(Clone, Debug, Serialize)]
pub struct LeastOf {
    /// Of how many.
    pub several: usize,
    /// One sample a group.
    #[serde(flatten)]
    pub quantiles: Quantiles,
}

/// Of so many probes in a row the least is told, beside each by itself.
const SEVERAL: [usize; 2] = [5, 20];
/// Of fewer groups it is not.
const FEWEST_GROUPS: u64 = 10;

/// What a layer adds to the round trip.
#[derive(Clone, Debug, Serialize)]
pub struct Added {
    /// The vantage point nearer to the program.
    pub upper: String,
    /// The one nearer to the far end.
    pub lower: String,
    /// Both ways together.
    #[serde(flatten)]
    pub quantiles: Quantiles,
    /// On the way out, where both are of one clock.
    pub outward: Option<Quantiles>,
    /// On the way home.
    pub homeward: Option<Quantiles>,
}

/// How much delays vary, in one of the two forms that RFC 5481 compares.
#[derive(Clone, Debug, Serialize)]
pub struct Variation {
    /// `PDV`: each delay less the smallest. `IPDV`: each less that of the probe before.
    pub name: &'static str,
    /// Whether it is of the path: the far end's stay is not in it. False where the far end does not
    /// say how long it kept probes, as with ICMP: then the stay's variation counts as the path's.
    pub is_of_path: bool,
    /// Its quantiles.
    #[serde(flatten)]
    pub quantiles: Quantiles,
}

/// Stamps that a place did not give.
#[derive(Clone, Debug, Serialize)]
pub struct MissingStamps {
    /// The place.
    pub place: String,
    /// Of how many probes.
    pub count: u64,
    /// The commonest reason.
    pub why: Missing,
}

/// Stamps that are not in the order of the places.
#[derive(Clone, Debug, Serialize)]
pub struct Disorder {
    /// The place that a packet passes first.
    pub earlier: String,
    /// The other.
    pub later: String,
    /// Of how many packets both stamps are there.
    pub compared: u64,
    /// Of how many they are in the wrong order.
    pub violations: u64,
    /// By how much at most, in nanoseconds.
    pub worst_ns: i64,
}

/// What was measured, in figures.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Probes that became due.
    pub probes: u64,
    /// Those that went.
    pub sent: u64,
    /// Those that were answered in time.
    pub answered: u64,
    /// Those that were not.
    pub lost: u64,
    /// The share of those, from 0 to 1.
    pub loss: Option<f64>,
    /// Most that were lost in a row.
    pub longest_loss: u64,
    /// Lost ones whose reply came too late.
    pub late_replies: u64,
    /// Replies beyond the first.
    pub duplicates: u64,
    /// Replies that came after one to a later probe (RFC 4737).
    pub reordered: u64,
    /// By vantage point, from the program outwards.
    pub round_trips: Vec<RoundTrip>,
    /// The least of several probes in a row by the program's stamps, where there are enough.
    pub least_of: Vec<LeastOf>,
    /// What lies between them.
    pub added: Vec<Added>,
    /// How long the far end kept each probe, by its own stamps; none where it gave no two of them
    /// that differ.
    pub far_stay: Option<Quantiles>,
    /// Stays that cannot be true, as they are negative or longer than the round trip: they are left out.
    pub impossible_stays: u64,
    /// Of how many replies the far end told when its kernel sent them; of the others its program's
    /// stamp counts, but where replies beside them waited in its queue.
    pub followed_up: u64,
    /// The round trip at the outermost vantage point without that: the path.
    pub path: Option<Quantiles>,
    /// Probes that one of the ends held up, and who makes the slowest slow; none without the kernel's stamps.
    pub ends: Option<Ends>,
    /// Delay variation (RFC 5481) of the path; of round trips at the outermost vantage point where
    /// the far end gives no stay.
    pub variation: Vec<Variation>,
    /// How late probes were sent.
    pub lateness: Option<Quantiles>,
    /// Stamps that are missing.
    pub missing: Vec<MissingStamps>,
    /// Stamps in the wrong order.
    pub disorder: Vec<Disorder>,
    /// What the far end says of itself.
    pub far_end: FarEnd,
    /// What was odd about replies, with how often.
    pub oddities: Vec<(String, u64)>,
    /// Probes that were sent when the next one was due already.
    pub sent_too_late: u64,
    /// Where only the first of many probes were answered, and by Tompion, which leaves alone for a while who asks faster than it
    /// answers: how many were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent_after: Option<u64>,
    /// ICMP errors.
    pub icmp_errors: u64,
    /// Stamps and replies that the table has no place for: out of range, or of no probe.
    pub refused: u64,
}

impl Summary {
    /// Of a measurement.
    pub fn of(measured: &Measured) -> Self {
        let packets = &measured.packets;
        let name = |vantage: Vantage| vantage.name(packets);
        let loss = Loss::of(packets);
        let stays = stays(packets, StayBy::Best);
        let path = rest(packets, &stays);
        let user = round_trips(packets, Vantage::User);
        let round_trips = vantages(packets).into_iter().filter_map(|v| {
            Some(RoundTrip {
                vantage: name(v),
                quantiles: Quantiles::of(&round_trips(packets, v))?,
            })
        });
        let least_of = SEVERAL.into_iter().filter_map(|several| {
            let quantiles = Quantiles::of(&least_of(&user, several))?;
            (quantiles.samples >= FEWEST_GROUPS).then_some(LeastOf { several, quantiles })
        });
        let added = layers(packets).into_iter().filter_map(|layer| {
            let of = |values: Option<Values>| values.as_ref().and_then(Quantiles::of);
            Some(Added {
                upper: name(layer.upper),
                lower: name(layer.lower),
                quantiles: Quantiles::of(&layer.added(packets))?,
                outward: of(layer.outward(packets)),
                homeward: of(layer.homeward(packets)),
            })
        });
        Self {
            probes: measured.tally.due,
            sent: measured.tally.sent,
            answered: loss.counted - loss.lost,
            lost: loss.lost,
            loss: loss.share(),
            longest_loss: loss.longest_streak(),
            late_replies: measured.late,
            duplicates: loss.duplicates,
            reordered: Reordering::of(packets).reordered.len() as u64,
            round_trips: round_trips.collect(),
            least_of: least_of.collect(),
            added: added.collect(),
            far_stay: Quantiles::of(&stays.values),
            impossible_stays: stays.negative + stays.too_long,
            followed_up: followed_up(packets),
            path: Quantiles::of(&path),
            ends: Ends::of(measured),
            variation: variation(packets, path),
            lateness: Quantiles::of(&lateness(packets)),
            missing: missing(packets),
            disorder: disorder(packets, &order(packets)),
            far_end: measured.far,
            oddities: measured
                .odd
                .iter()
                .map(|(oddity, count)| (oddity.to_string(), count))
                .collect(),
            sent_too_late: sent_too_late(packets),
            silent_after: measured.far.tompion.and_then(|_| silent_after(packets)),
            icmp_errors: measured.errors.count,
            refused: measured.refused,
        }
    }
}

/// Of the path, or of round trips as they are where it is not known.
fn variation(packets: &Packets, path: Values) -> Vec<Variation> {
    let is_of_path = path.present().next().is_some();
    let delays = match (is_of_path, vantages(packets).last()) {
        (false, Some(&outermost)) => round_trips(packets, outermost),
        _ => path,
    };
    let rows = [("PDV", pdv(&delays)), ("IPDV", ipdv(&delays))];
    let row = |(name, values): (_, Values)| {
        Some(Variation {
            name,
            is_of_path,
            quantiles: Quantiles::of(&values)?,
        })
    };
    rows.into_iter().filter_map(row).collect()
}

/// Probes that were sent when the next one was due already.
fn sent_too_late(packets: &Packets) -> u64 {
    let is_late = |row: &usize| {
        let sent = packets.get(*row, Stamp::UserSent);
        let next_due = packets.get(*row + 1, Stamp::Due);
        let was_sent = packets.probe(*row).map(|p| p.outcome) != Ok(Outcome::NotSent);
        was_sent && sent.zip(next_due).is_some_and(|(sent, next)| sent > next)
    };
    (0..packets.len()).filter(is_late).count() as u64
}

/// How many probes came before the last that was answered, with it, where as many and more came behind it.
fn silent_after(packets: &Packets) -> Option<u64> {
    let outcome = |row: usize| packets.probe(row).map(|p| p.outcome);
    let rows = || 0..packets.len();
    let sent = rows().rfind(|row| outcome(*row) != Ok(Outcome::NotSent))? + 1;
    let answered = rows().rfind(|row| outcome(*row) == Ok(Outcome::Answered))? + 1;
    (sent >= 2 * answered).then_some(answered as u64)
}

/// Replies of which the far end told when its kernel sent them.
fn followed_up(packets: &Packets) -> u64 {
    let rows = 0..packets.len();
    let told = |row: &usize| packets.get(*row, Stamp::FarSentKernel).is_some();
    rows.filter(told).count() as u64
}

fn place_name(packets: &Packets, place: Stamp) -> String {
    match place {
        Stamp::Tap(tap, way) => {
            let name = Vantage::Tap(tap).name(packets);
            format!("{name}, {}", way.name())
        }
        own => own.name().to_owned(),
    }
}

/// Stamps that probes lack which were sent, and of what comes with a reply those that were
/// answered.
fn missing(packets: &Packets) -> Vec<MissingStamps> {
    use tompion_path::stamps::Outcome::{Answered, NotSent};
    let of_place = |place: Stamp| {
        let lacks = |row: &usize| {
            let outcome = packets.probe(*row).map(|p| p.outcome);
            let is_home = matches!(place, Stamp::Tap(_, Way::Homeward));
            let counts = match place.comes_with_reply() || is_home {
                true => outcome == Ok(Answered),
                false => outcome.is_ok_and(|o| o != NotSent),
            };
            counts && packets.get(*row, place).is_none()
        };
        let rows: Vec<usize> = (0..packets.len()).filter(lacks).collect();
        let why = packets.missing(*rows.first()?, place)?;
        let is_wanted = why != Missing::NotTaken && is_expected(packets, place);
        is_wanted.then(|| MissingStamps {
            place: place_name(packets, place),
            count: rows.len() as u64,
            why,
        })
    };
    packets.places().into_iter().filter_map(of_place).collect()
}

/// A far end's stamps are only there where it gives any at all; of a device nobody asked for any
/// where they are not expected.
fn is_expected(packets: &Packets, place: Stamp) -> bool {
    match place {
        // Follow-ups are told of by how many there are.
        Stamp::FarSentKernel => false,
        Stamp::FarReceived | Stamp::FarSent => packets.has_any(place),
        _ => true,
    }
}

fn disorder(packets: &Packets, order: &Order) -> Vec<Disorder> {
    let wrong = order.pairs.iter().filter(|pair| pair.violations > 0);
    wrong
        .map(|pair| Disorder {
            earlier: place_name(packets, pair.earlier),
            later: place_name(packets, pair.later),
            compared: pair.compared,
            violations: pair.violations,
            worst_ns: pair.worst_ns,
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod tests;
