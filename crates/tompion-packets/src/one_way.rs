//! Sending and receiving apart, though nobody keeps the two clocks in step, as data and as text.

use std::fmt::Write;
use std::ops::Range;

use serde::Serialize;
use tompion_model::format_ns;
use tompion_path::clocks::{Change, ClockFit, NoFit, Piece, exchanges, through_rests};
use tompion_path::stamps::{Packets, Values, pdv};

use crate::summary::{HEADS, Quantiles, row};

/// Parts of a million.
const PPM: f64 = 1e6;

/// Delays each way, by the far end's clock as it was found to go.
#[derive(Clone, Debug, Serialize)]
pub struct OneWay {
    /// By how much each delay may be off, in nanoseconds, all by nearly the same.
    pub may_be_off_ns: i64,
    /// Delays on the way out, each as far off as that.
    pub outward: Option<Quantiles>,
    /// Delays on the way home.
    pub homeward: Option<Quantiles>,
    /// How much those on the way out vary (PDV of RFC 5481), of which that is no part.
    pub outward_variation: Option<Quantiles>,
    /// How much those on the way home vary.
    pub homeward_variation: Option<Quantiles>,
    /// What the far end's clock did, in the order of time: a stretch more than it changed.
    pub far_clock: Vec<Stretch>,
    /// Stamps of the far end that fit into none of these.
    pub outliers: usize,
    /// The same clock by probes at rest alone; none where there was no rest, too few of them, or the clock changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_rest: Option<AtRest>,
}

/// The far end's clock by least squares of the probes at rest.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AtRest {
    /// Probes at rest that were answered.
    pub probes: usize,
    /// By how much the clock is ahead as the first of them is sent, in nanoseconds.
    pub ahead_ns: i64,
    /// How fast it gains, in millionths.
    pub rate_ppm: f64,
}

/// A stretch of time in which the far end's clock kept its rate.
#[derive(Clone, Debug, Serialize)]
pub struct Stretch {
    /// The first probe in it, from 1.
    pub from_probe: usize,
    /// By how much the clock is ahead at its beginning, in nanoseconds; as far off as delays are.
    pub ahead_ns: i64,
    /// How fast it gains, in millionths.
    pub rate_ppm: f64,
    /// What the rate is between, with 95 % confidence.
    pub rate_between_ppm: [f64; 2],
    /// By how much it was set ahead when the stretch began, in nanoseconds; none where it only
    /// changed its rate, and in the first.
    pub step_ns: Option<i64>,
}

impl OneWay {
    /// Of the stamps of both ends.
    ///
    /// # Errors
    /// Where they do not tell.
    pub fn of(packets: &Packets) -> Result<Self, NoFit> {
        let exchanges = exchanges(packets);
        let fit = ClockFit::of(&exchanges, packets.len())?;
        let changes = std::iter::once(None).chain(fit.changes().map(Some));
        let stretch = |(piece, change): (&Piece, Option<Change>)| Stretch {
            from_probe: 1 + exchanges
                .iter()
                .find(|exchange| exchange.received_ns >= piece.from_ns)
                .map_or(0, |exchange| exchange.row),
            ahead_ns: piece.line.ahead_at(piece.from_ns),
            rate_ppm: PPM * piece.line.rate,
            rate_between_ppm: [piece.rates.start(), piece.rates.end()].map(|rate| PPM * rate),
            step_ns: change
                .filter(Change::is_step)
                .map(|change| change.step_ns.round() as i64),
        };
        let variation = |delays: &Values| Quantiles::of(&pdv(delays));
        Ok(Self {
            may_be_off_ns: fit.may_be_off_ns.ceil() as i64,
            outward: Quantiles::of(&fit.outward),
            homeward: Quantiles::of(&fit.homeward),
            outward_variation: variation(&fit.outward),
            homeward_variation: variation(&fit.homeward),
            far_clock: fit.pieces.iter().zip(changes).map(stretch).collect(),
            outliers: fit.outliers,
            at_rest: None,
        })
    }

    /// The same where all probes but these were at rest, the first one being 0. Those may go beyond the last that was sent.
    ///
    /// # Errors
    /// Where the stamps do not tell.
    pub fn with_rests(packets: &Packets, loaded: &Range<usize>) -> Result<Self, NoFit> {
        let one_way = Self::of(packets)?;
        let exchanges = exchanges(packets);
        let is_at_rest = |row| !loaded.contains(&row);
        let line = through_rests(&exchanges, is_at_rest).filter(|_| one_way.far_clock.len() == 1);
        let at_rest = line.map(|line| AtRest {
            probes: exchanges.iter().filter(|e| is_at_rest(e.row)).count(),
            ahead_ns: line.ahead_at(line.at_ns),
            rate_ppm: PPM * line.rate,
        });
        Ok(Self { at_rest, ..one_way })
    }

    /// As a table for a terminal, 80 columns wide.
    pub fn text(&self) -> String {
        let mut out = format!(
            "{HEADS}One way, each ± {}\n",
            format_ns(self.may_be_off_ns as f64)
        );
        let mut rows = |heading: &str, both: [Option<&Quantiles>; 2]| {
            out.push_str(heading);
            for (name, of) in ["  sending", "  receiving"].into_iter().zip(both) {
                if let Some(quantiles) = of {
                    out.push_str(&row(name, quantiles));
                }
            }
        };
        rows("", [self.outward.as_ref(), self.homeward.as_ref()]);
        let variation = [&self.outward_variation, &self.homeward_variation];
        rows("PDV one way\n", variation.map(Option::as_ref));
        out.push('\n');
        for stretch in &self.far_clock {
            stretch.text(&mut out);
        }
        if let Some(AtRest {
            probes,
            ahead_ns,
            rate_ppm,
        }) = self.at_rest
        {
            let _ = writeln!(
                out,
                "  at rest, least squares of {probes} probes: {}, gains {rate_ppm:.3} ppm",
                behind(ahead_ns, "ahead", "behind")
            );
        }
        if self.outliers > 0 {
            let _ = writeln!(
                out,
                "{} stamps of the far end fit to none of that and are left out",
                self.outliers
            );
        }
        out.push_str(
            "±: stamps alone do not tell a slower way from a clock that is further ahead\n",
        );
        out
    }
}

impl Stretch {
    fn text(&self, out: &mut String) {
        let begins = match (self.from_probe, self.step_ns) {
            (1, _) => "far end's clock: ".to_owned(),
            (probe, None) => format!("  another rate from probe {probe} on: "),
            (probe, Some(step)) => {
                format!(
                    "  set {} before probe {probe}: ",
                    behind(step, "forward", "back")
                )
            }
        };
        let [from, to] = self.rate_between_ppm;
        let _ = writeln!(
            out,
            "{begins}{}, gains {:.3} ppm ({from:.3} to {to:.3})",
            behind(self.ahead_ns, "ahead", "behind"),
            self.rate_ppm
        );
    }
}

/// A time and a word for its way.
fn behind(ns: i64, ahead: &'static str, behind: &'static str) -> String {
    let way = if ns < 0 { behind } else { ahead };
    format!("{} {way}", format_ns(ns.unsigned_abs() as f64))
}

#[cfg(test)]
mod tests;
