//! What a table of probes says, as text and as data.

use std::fmt::Write;

use serde::Serialize;
use tompion_model::format_ns;
use tompion_path::Way;
use tompion_path::stamps::{
    Loss, Missing, Order, Packets, Reordering, Stamp, StayBy, Values, Vantage, ipdv, lateness,
    layers, order, pdv, rest, round_trips, stays, vantages,
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

/// Something measured once for each probe.
#[derive(Clone, Debug, Serialize)]
pub struct PreciseRow {
    /// What.
    pub name: &'static str,
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
    /// What lies between them.
    pub added: Vec<Added>,
    /// How long the far end kept each probe, by its own stamps.
    pub far_stay: Option<Quantiles>,
    /// Of how many replies the far end told when its kernel sent them; of the others its program's
    /// stamp counts.
    pub followed_up: u64,
    /// The round trip at the outermost vantage point without that: the path.
    pub path: Option<Quantiles>,
    /// Delay variation of round trips at the outermost vantage point: PDV and IPDV (RFC 5481).
    pub variation: Vec<PreciseRow>,
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
    /// ICMP errors.
    pub icmp_errors: u64,
}

impl Summary {
    /// Of a measurement.
    pub fn of(measured: &Measured) -> Self {
        let packets = &measured.packets;
        let name = |vantage: Vantage| vantage.name(packets);
        let loss = Loss::of(packets);
        let stays = stays(packets, StayBy::Best);
        let outermost = vantages(packets).last().copied();
        let outer = outermost.map(|v| round_trips(packets, v));
        let round_trips = vantages(packets).into_iter().filter_map(|v| {
            Some(RoundTrip {
                vantage: name(v),
                quantiles: Quantiles::of(&round_trips(packets, v))?,
            })
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
        let variation = outer.as_ref().map(|outer| {
            let rows = [("PDV", pdv(outer)), ("IPDV", ipdv(outer))];
            let row = |(name, values): (_, Values)| {
                Some(PreciseRow {
                    name,
                    quantiles: Quantiles::of(&values)?,
                })
            };
            rows.into_iter().filter_map(row).collect()
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
            added: added.collect(),
            far_stay: Quantiles::of(&stays.values),
            followed_up: followed_up(packets),
            path: Quantiles::of(&rest(packets, &stays)),
            variation: variation.unwrap_or_default(),
            lateness: Quantiles::of(&lateness(packets)),
            missing: missing(packets),
            disorder: disorder(packets, &order(packets)),
            far_end: measured.far,
            oddities: measured
                .odd
                .iter()
                .map(|(oddity, count)| (oddity.to_string(), count))
                .collect(),
            icmp_errors: measured.errors.count,
        }
    }
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

/// Some stamps are only there where somebody gives them at all.
fn is_expected(packets: &Packets, place: Stamp) -> bool {
    let is_optional = matches!(
        place,
        Stamp::SentHardware | Stamp::ReceivedHardware | Stamp::FarReceived | Stamp::FarSent
    );
    // Follow-ups are told of by how many there are.
    place != Stamp::FarSentKernel && (!is_optional || packets.has_any(place))
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

impl Summary {
    /// As a table for a terminal, 80 columns wide.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{:<30}{:>8}{:>10}{:>10}{:>10}{:>10}",
            "", "probes", "min", "median", "p99", "max"
        );
        let row = |name: &str, q: &Quantiles| {
            format!(
                "{name:<30}{:>8}{:>10}{:>10}{:>10}{:>10}\n",
                q.samples,
                time(q.min_ns),
                time(q.median_ns),
                time(q.p99_ns),
                time(q.max_ns)
            )
        };
        out.push_str("Round trip, as seen from\n");
        for seen in &self.round_trips {
            out.push_str(&row(&format!("  {}", seen.vantage), &seen.quantiles));
        }
        if !self.added.is_empty() {
            out.push_str("What lies between\n");
        }
        for added in &self.added {
            let name = format!("  {} and {}", added.upper, added.lower);
            out.push_str(&row(&name, &added.quantiles));
            let ways = [("out", added.outward), ("home", added.homeward)];
            // Where two vantage points have one stamp in common, only the other way is there.
            let is_one_way = |q: &Quantiles| q.min_ns == 0 && q.max_ns == 0;
            if ways
                .iter()
                .any(|(_, of)| of.as_ref().is_some_and(is_one_way))
            {
                continue;
            }
            for (way, of) in ways {
                if let Some(of) = of {
                    out.push_str(&row(&format!("    on the way {way}"), &of));
                }
            }
        }
        if let Some(stay) = &self.far_stay {
            out.push_str(&row("Far end's stay", stay));
        }
        if let (Some(path), Some(outer)) = (&self.path, self.round_trips.last()) {
            let name = format!("Path beyond {}", outer.vantage);
            out.push_str(&row(&name, path));
        }
        for variation in &self.variation {
            out.push_str(&row(variation.name, &variation.quantiles));
        }
        if let Some(late) = &self.lateness {
            out.push_str(&row("Sent late by", late));
        }
        out.push('\n');
        let share = self
            .loss
            .map_or(String::new(), |l| format!(" ({:.2} %)", 100.0 * l));
        let _ = writeln!(
            out,
            "{} probes sent, {} answered, {} lost{share}, longest loss {}, {} duplicates, {} reordered",
            self.sent, self.answered, self.lost, self.longest_loss, self.duplicates, self.reordered
        );
        self.notes(&mut out);
        out
    }

    fn notes(&self, out: &mut String) {
        let left_out = self.probes.saturating_sub(self.sent);
        if left_out > 0 {
            let _ = writeln!(out, "{left_out} probes were not sent");
        }
        if self.late_replies > 0 {
            let late = self.late_replies;
            let _ = writeln!(out, "{late} replies came after the timeout: lost");
        }
        if self.far_stay.is_some() {
            let (told, all) = (self.followed_up, self.answered);
            let _ = writeln!(
                out,
                "the far end's stay ends with its kernel's transmit stamp in {told} of {all} replies, else with its program's"
            );
        }
        for missing in &self.missing {
            let MissingStamps { place, count, why } = missing;
            let _ = writeln!(
                out,
                "stamps missing: {place}, of {count} probes ({})",
                reason(*why)
            );
        }
        for wrong in &self.disorder {
            let _ = writeln!(
                out,
                "stamps in the wrong order: {} before {}, of {} of {}, by up to {}",
                wrong.later,
                wrong.earlier,
                wrong.violations,
                wrong.compared,
                time(wrong.worst_ns)
            );
        }
        for (oddity, count) in &self.oddities {
            let _ = writeln!(out, "in {count} replies: {oddity}");
        }
        if self.icmp_errors > 0 {
            let _ = writeln!(out, "{} ICMP errors", self.icmp_errors);
        }
    }
}

/// Why a stamp is missing, in a few words.
fn reason(why: Missing) -> &'static str {
    match why {
        Missing::NotTaken => "nobody asked for it",
        Missing::Refused => "the kernel gives none here",
        Missing::Overflowed => "no room for it where it had to wait",
        Missing::TooLate => "it came too late",
        Missing::Lost => "the packet was lost",
        Missing::TapDropped => "the tap dropped packets",
        Missing::NotSeen => "the tap did not see it",
        Missing::NotGiven => "the far end gave none",
        Missing::Implausible => "it cannot be true",
        _ => "it did not come",
    }
}

/// A duration with its sign.
fn time(ns: i64) -> String {
    let sign = if ns < 0 { "\u{2212}" } else { "" };
    format!("{sign}{}", format_ns(ns.unsigned_abs() as f64))
}

#[cfg(test)]
mod tests;
