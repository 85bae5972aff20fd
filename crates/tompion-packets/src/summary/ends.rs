//! What the two ends have to do with round trips, as data and as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use tompion_cause::{Cause, describe_cause};
use tompion_model::{format_ns, printable};
use tompion_path::trust::{FEWEST, Side, Trust, Undecided};

use super::Quantiles;
use crate::account::Measured;

/// So many causes are told in words; all are in the data.
const NAMED: usize = 4;

/// Probes that were held up at one of the ends, and who makes the slowest round trips slow.
#[derive(Clone, Debug, Serialize)]
pub struct Ends {
    /// Probes with the stamps that it takes.
    pub judged: u64,
    /// Those that neither end held up.
    pub clean: u64,
    /// Held up here before the queue of the device.
    pub held_up_sending: u64,
    /// Held up here in that queue.
    pub held_up_queued: u64,
    /// Held up here after the kernel received the reply.
    pub held_up_receiving: u64,
    /// Under way while this machine stood still; none where nobody looked for that.
    pub held_up_under_way: Option<u64>,
    /// Times at which this machine stood still and that there was no room for: probes under way then count as clean.
    #[serde(skip_serializing_if = "is_none")]
    pub standstills_lost: u64,
    /// Held up at the far end; none where it does not say how long it kept probes.
    pub held_up_at_far_end: Option<u64>,
    /// By what probes were held up, most probes first: here, and at a far end that tells; none where nobody observed that.
    /// Each counts at each place where it was.
    pub held_up_by: Option<Vec<Held>>,
    /// Why causes come from counters alone, or none is known; none where events told them.
    pub not_observed: Option<String>,
    /// The share of one CPU that observing took, from 0 to 1.
    pub observer_cpu: Option<f64>,
    /// The same of looking for moments at which CPUs stand still, all CPUs added; none where nobody looked.
    pub heartbeat_cpu: Option<f64>,
    /// The path of clean probes; none where these are too few to stand for all.
    pub clean_path: Option<Quantiles>,
    /// `here`, `far-end`, `path`, `beyond-here` where the far end says nothing, or `inconclusive`.
    pub verdict: &'static str,
    /// Which share of what the slowest exceed the median by is theirs, from 0 to 1.
    pub share: Option<f64>,
    /// The same in words.
    pub why: String,
}

/// Probes that one cause held up at one place.
#[derive(Clone, Debug, Serialize)]
pub struct Held {
    /// `sending`, `queued`, `receiving`, `under-way` or `far-end`.
    pub side: &'static str,
    /// A cause as in runs: `queued` where they waited for other packets.
    pub cause: Cause,
    /// By whom, where that is known.
    pub by: Option<String>,
    /// How many probes.
    pub probes: u64,
}

impl Held {
    /// Counted by place, cause and who, most probes first.
    fn all(trust: &Trust, measured: &Measured) -> Vec<Self> {
        let mut counts: BTreeMap<(Side, Cause, Option<&str>), u64> = BTreeMap::new();
        let causes = measured.held_up_by(&trust.held_up);
        for (held_up, found) in trust.held_up.iter().zip(causes) {
            if let Some(found) = found {
                *counts
                    .entry((held_up.side, found.cause, found.by))
                    .or_default() += 1;
            }
        }
        let one = |((side, cause, by), probes): ((Side, _, Option<&str>), _)| Self {
            side: side.name(),
            cause,
            by: by.map(|name| printable(name).into_owned()),
            probes,
        };
        let mut all: Vec<Self> = counts.into_iter().map(one).collect();
        all.sort_by_key(|held| std::cmp::Reverse(held.probes));
        all
    }
}

impl Ends {
    /// Of a table; none where no probe has the kernel's stamps both ways.
    pub(super) fn of(measured: &Measured) -> Option<Self> {
        let trust = measured.trust()?;
        let observed = measured.observed.as_ref();
        let standstills = measured.standstills.as_ref().filter(|found| found.is_known);
        let is_told = observed.is_some()
            || standstills.is_some()
            || measured.far_marks.iter().any(Option::is_some);
        let at = |side| trust.held_up_at(side).map(|count| count as u64);
        let clean_path = trust.is_path_known().then(|| Quantiles::of(&trust.path));
        let (verdict, share) = match trust.blame {
            Ok((whose, share)) => (whose.name(), Some(share)),
            Err(_) => ("inconclusive", None),
        };
        Some(Self {
            judged: trust.judged as u64,
            clean: trust.clean as u64,
            held_up_sending: at(Side::Sending).unwrap_or(0),
            held_up_queued: at(Side::Queued).unwrap_or(0),
            held_up_receiving: at(Side::Receiving).unwrap_or(0),
            held_up_under_way: at(Side::UnderWay).filter(|_| standstills.is_some()),
            standstills_lost: standstills.map_or(0, |found| found.lost),
            held_up_at_far_end: at(Side::FarEnd),
            held_up_by: is_told.then(|| Held::all(&trust, measured)),
            not_observed: observed.and_then(|observed| observed.lacks.clone()),
            observer_cpu: observed.map(|observed| observed.own_cpu_share),
            heartbeat_cpu: standstills.map(|found| found.own_cpu_share),
            clean_path: clean_path.flatten(),
            verdict,
            share,
            why: why(&trust),
        })
    }

    pub(super) fn text(&self, out: &mut String) {
        let far_end = match self.held_up_at_far_end {
            Some(count) => format!("at the far end {count}"),
            None => "the far end does not say".to_owned(),
        };
        let under_way = match self.held_up_under_way {
            Some(count) => format!(", under way {count}"),
            None => String::new(),
        };
        let _ = writeln!(
            out,
            "held up here: sending {}, in the own queue {}, receiving {}{under_way}; {far_end}; {} of {} clean",
            self.held_up_sending,
            self.held_up_queued,
            self.held_up_receiving,
            self.clean,
            self.judged
        );
        self.causes(out);
        if self.standstills_lost > 0 {
            let _ = writeln!(
                out,
                "the machine stood still {} times more than there was room for; probes under way then count as clean",
                self.standstills_lost
            );
        }
        let _ = writeln!(out, "verdict: {}: {}", self.verdict, self.why);
    }

    /// Who held probes up, if any were.
    fn causes(&self, out: &mut String) {
        let all = self.held_up_by.as_deref().unwrap_or_default();
        let is_far = |held: &&Held| held.side == Side::FarEnd.name();
        let here = all.iter().filter(|held| !is_far(held));
        if let Some(by) = in_words(here) {
            let _ = writeln!(out, "held up here by: {by}");
            if let Some(why) = &self.not_observed {
                let _ = writeln!(out, "who had the CPU is not known: {why}");
            }
        }
        if let Some(by) = in_words(all.iter().filter(is_far)) {
            let _ = writeln!(out, "held up at the far end by: {by}, by its own account");
        }
    }
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Causes with how many probes, most first; nothing where there are none.
fn in_words<'a>(by: impl Iterator<Item = &'a Held>) -> Option<String> {
    // The same cause may have held up sending and receiving.
    let mut named: Vec<(String, u64)> = Vec::new();
    for held in by {
        let words = describe_cause(held.cause, held.by.as_deref());
        match named.iter_mut().find(|n| n.0 == words) {
            Some(known) => known.1 += held.probes,
            None => named.push((words, held.probes)),
        }
    }
    named.sort_by_key(|n| std::cmp::Reverse(n.1));
    let others: u64 = named.iter().skip(NAMED).map(|n| n.1).sum();
    named.truncate(NAMED);
    let mut told: Vec<String> = named
        .iter()
        .map(|(words, n)| format!("{words} {n}"))
        .collect();
    if others > 0 {
        told.push(format!("others {others}"));
    }
    (!told.is_empty()).then(|| told.join("; "))
}

fn why(trust: &Trust) -> String {
    if let Some(standing) = trust.standing {
        let place = match standing.side {
            Side::FarEnd => "at the far end",
            _ => "in the queue of this machine's own device",
        };
        return format!(
            "{} of {} of the median round trip are spent {place}",
            format_ns(standing.part_ns),
            format_ns(standing.whole_ns)
        );
    }
    match trust.blame {
        Ok((_, share)) => format!(
            "{:.0} % of what the slowest round trips exceed the median by",
            100.0 * share
        ),
        Err(Undecided::TooFew(count)) => {
            format!("{count} probes with all stamps, {FEWEST} are wanted")
        }
        Err(Undecided::Unknown(count)) => {
            format!("{count} of the slowest lack stamps that would say who held them up")
        }
        Err(Undecided::NothingToExplain(ns)) => format!(
            "the slowest round trips exceed the median by {} only",
            format_ns(ns)
        ),
        Err(Undecided::HalvesDiffer(share)) => format!(
            "a few of the slowest decide: somebody has {:.0} % of what they exceed the median by, but not of each half of them",
            100.0 * share
        ),
        Err(Undecided::Several(share)) => format!(
            "nobody has most of it: at most {:.0} % of what the slowest exceed the median by",
            100.0 * share
        ),
    }
}
