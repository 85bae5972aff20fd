//! What the two ends have to do with round trips, as data and as text.

use std::fmt::Write;

use serde::Serialize;
use tompion_model::format_ns;
use tompion_path::stamps::Packets;
use tompion_path::trust::{FEWEST, Trust, Undecided};

use super::Quantiles;

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
    /// Held up at the far end; none where it does not say how long it kept probes.
    pub held_up_at_far_end: Option<u64>,
    /// The path of clean probes; none where these are too few to stand for all.
    pub clean_path: Option<Quantiles>,
    /// `here`, `far-end`, `path`, `beyond-here` where the far end says nothing, or `inconclusive`.
    pub verdict: &'static str,
    /// Which share of what the slowest exceed the median by is theirs, from 0 to 1.
    pub share: Option<f64>,
    /// The same in words.
    pub why: String,
}

impl Ends {
    /// Of a table; none where no probe has the kernel's stamps both ways.
    pub(super) fn of(packets: &Packets) -> Option<Self> {
        let trust = Trust::of(packets)?;
        let clean_path = trust.is_path_known().then(|| Quantiles::of(&trust.path));
        let (verdict, share) = match trust.blame {
            Ok((whose, share)) => (whose.name(), Some(share)),
            Err(_) => ("inconclusive", None),
        };
        Some(Self {
            judged: trust.judged as u64,
            clean: trust.clean as u64,
            held_up_sending: trust.sending as u64,
            held_up_queued: trust.queued as u64,
            held_up_receiving: trust.receiving as u64,
            held_up_at_far_end: trust.far_end.map(|count| count as u64),
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
        let _ = writeln!(
            out,
            "held up here: sending {}, in the own queue {}, receiving {}; {far_end}; {} of {} clean",
            self.held_up_sending,
            self.held_up_queued,
            self.held_up_receiving,
            self.clean,
            self.judged
        );
        let _ = writeln!(out, "verdict: {}: {}", self.verdict, self.why);
    }
}

fn why(trust: &Trust) -> String {
    match trust.blame {
        Ok((_, share)) => format!(
            "{:.0} % of what the slowest round trips exceed the median by",
            100.0 * share
        ),
        Err(Undecided::TooFew(count)) => {
            format!("{count} probes with all stamps, {FEWEST} are wanted")
        }
        Err(Undecided::NothingToExplain(ns)) => format!(
            "the slowest round trips exceed the median by {} only",
            format_ns(ns)
        ),
        Err(Undecided::Several(share)) => format!(
            "nobody has most of it: at most {:.0} % of what the slowest exceed the median by",
            100.0 * share
        ),
    }
}
