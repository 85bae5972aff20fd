//! The far end's clock against the own one, piece by piece, and delays each way by it.

use std::ops::RangeInclusive;

use thiserror::Error;

use super::bounds::{Bound, Bounds, Side};
use super::exchange::Exchange;
use super::feasible::Feasible;
use super::line::{Line, closest};
use super::split::{Pieces, TOLERANCE_NS, split};
use crate::stamps::Values;

/// No clock gains or loses more; one that does says the same whenever it is asked.
const MOST_RATE: f64 = 0.01;
/// So many exchanges a series has at least.
const LEAST_EXCHANGES: usize = 8;
/// Pieces of one series at most.
const MOST_PIECES: usize = 64;

/// Why nothing can be said of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoFit {
    /// Too few probes were answered with stamps of the far end.
    #[error(
        "{found} replies have stamps of the far end that can be true; {needed} are needed to know its clock's rate"
    )]
    TooFew {
        /// How many were.
        found: usize,
        /// How many it takes.
        needed: usize,
    },
    /// It does not go on as time does.
    #[error("the far end's stamps do not go on as time does")]
    NoClock,
    /// There is no piece in which it keeps its rate.
    #[error("the far end's clock is set, or changes its rate, all the time")]
    Unsteady,
}

/// A stretch of time in which the far end's clock kept its rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// From when to when by the own clock, in nanoseconds since its zero.
    pub from_ns: i64,
    /// The end of it.
    pub to_ns: i64,
    /// By how much the far end's clock is ahead, as if the path were as quick both ways.
    pub line: Line,
    /// What that clock's rate is between, 95 of 100 times at least, as long as it kept that rate within
    /// 5 µs and the path was the same.
    pub rates: RangeInclusive<f64>,
}

impl Piece {
    /// How far its line may be off at its ends, in nanoseconds, if it is right in the middle.
    fn off_ns(&self) -> f64 {
        let rate = self.line.rate;
        let off = (rate - self.rates.start()).max(self.rates.end() - rate);
        off * self.to_ns.saturating_sub(self.from_ns) as f64 / 2.0
    }
}

/// Whether the far end's clock goes on with time at all. Of most pairs a quarter of the series
/// apart no step lies between.
fn goes_on(exchanges: &[Exchange]) -> bool {
    let later = &exchanges[exchanges.len().div_ceil(4)..];
    let rate = |(from, to): (&Exchange, &Exchange)| {
        let took = |from: i64, to: i64| (i128::from(to) - i128::from(from)) as f64;
        took(from.far_received_ns, to.far_received_ns) / took(from.sent_ns, to.sent_ns)
    };
    let mut rates: Vec<f64> = exchanges.iter().zip(later).map(rate).collect();
    rates.sort_by(f64::total_cmp);
    let middle = rates.get(rates.len() / 2);
    middle.is_some_and(|rate| (rate - 1.0).abs() < 0.5)
}

/// How a piece differs from the one before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// When, by the own clock: the first stamp of the later piece.
    pub at_ns: i64,
    /// By how much the far end's clock was set ahead, in nanoseconds.
    pub step_ns: f64,
    /// By how much its rate rose.
    pub rate: f64,
}

impl Change {
    /// Whether the clock was set; else it goes on from where it was, at another rate. When that began
    /// is known to a second or so.
    pub fn is_step(&self) -> bool {
        self.step_ns.abs() > 20_000.0 + 1e9 * self.rate.abs()
    }
}

/// What the far end's clock did while it was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockFit {
    /// Its pieces in the order of time, one at least.
    pub pieces: Vec<Piece>,
    /// By how much each delay one way may be off, in nanoseconds, all by nearly the same: half of
    /// the least round trip, and what the rate's limits allow at a piece's ends.
    pub may_be_off_ns: f64,
    /// Stamps of the far end that fit into no piece.
    pub outliers: usize,
    /// Delays on the way out, by row of the table, in nanoseconds.
    pub outward: Values,
    /// Those on the way home.
    pub homeward: Values,
}

impl ClockFit {
    /// Of a table with `rows` probes.
    ///
    /// # Errors
    /// Where the stamps do not tell.
    pub fn of(exchanges: &[Exchange], rows: usize) -> Result<Self, NoFit> {
        let bounds = Bounds::of(exchanges);
        let found = bounds.all.len() / 2;
        if found < LEAST_EXCHANGES {
            let needed = LEAST_EXCHANGES;
            return Err(NoFit::TooFew { found, needed });
        }
        if !goes_on(exchanges) {
            return Err(NoFit::NoClock);
        }
        let Pieces { pieces, outliers } = split(&bounds.all);
        // A clock that is set now and then has most of its stamps in some piece.
        if pieces.is_empty() || pieces.len() > MOST_PIECES || outliers > bounds.all.len() / 2 {
            return Err(NoFit::Unsteady);
        }
        let mut delays = [vec![None; rows], vec![None; rows]];
        let (mut fits, mut off) = (Vec::new(), 0.0_f64);
        for places in pieces {
            let of_piece = places.iter().map(|place| &bounds.all[*place]);
            let piece = bounds.piece(of_piece.clone())?;
            for bound in of_piece {
                let (way, ns) = bounds.delay(bound, &piece.line);
                let row = exchanges[bound.exchange].row;
                if let Some(delay) = delays[way].get_mut(row) {
                    *delay = Some(ns);
                }
            }
            off = off.max(piece.off_ns());
            fits.push(piece);
        }
        let [outward, homeward] = delays.map(|delays| delays.into_iter().collect());
        Ok(Self {
            pieces: fits,
            may_be_off_ns: bounds.least_path_ns as f64 / 2.0 + off,
            outliers,
            outward,
            homeward,
        })
    }

    /// What changed from each piece to the next.
    pub fn changes(&self) -> impl Iterator<Item = Change> {
        let pairs = self.pieces.windows(2);
        pairs.map(|pair| {
            let (before, after, at_ns) = (&pair[0].line, &pair[1].line, pair[1].from_ns);
            let whole = after.ahead_ns.0.wrapping_sub(before.ahead_ns.0) as f64;
            Change {
                at_ns,
                step_ns: whole + after.beyond(at_ns) - before.beyond(at_ns),
                rate: after.rate - before.rate,
            }
        })
    }
}

impl Bounds {
    /// The line of bounds that some line allows.
    fn piece<'b>(&self, of: impl Iterator<Item = &'b Bound> + Clone) -> Result<Piece, NoFit> {
        let mut lines = Feasible::default();
        let (mut from_ns, mut to_ns) = (None, 0);
        for bound in of.clone() {
            lines.admit(bound, TOLERANCE_NS);
            from_ns.get_or_insert(bound.at_ns);
            to_ns = bound.at_ns;
        }
        let rates = lines.rates().ok_or(NoFit::Unsteady)?;
        let (rate, at_zero) = closest(of, &rates).ok_or(NoFit::Unsteady)?;
        if rate.abs() > MOST_RATE {
            return Err(NoFit::NoClock);
        }
        Ok(Piece {
            from_ns: self.origin.0.saturating_add(from_ns.unwrap_or_default()),
            to_ns: self.origin.0.saturating_add(to_ns),
            line: Line {
                at_ns: self.origin.0,
                // Upper bounds are met by the quickest way out, of which nobody knows how quick it is.
                ahead_ns: (self.origin.1, at_zero - self.raised_ns as f64 / 2.0),
                rate,
            },
            rates,
        })
    }

    /// The way, 0 out and 1 home, and how long it took by that line.
    fn delay(&self, bound: &Bound, line: &Line) -> (usize, i64) {
        let ahead = line.beyond(self.origin.0.saturating_add(bound.at_ns));
        let told = bound.ahead_ns as f64;
        match bound.side {
            Side::Upper => (0, (told - ahead).round() as i64),
            Side::Lower => (1, (ahead - told + self.raised_ns as f64).round() as i64),
        }
    }
}

#[cfg(test)]
mod tests;
