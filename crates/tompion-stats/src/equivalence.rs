//! "No worse than", "within 10 %": showing that two groups do not differ by much.
//!
//! A test that finds no difference has not shown that there is none: it may have been
//! too weak. What does show it is two one-sided tests, each of which rejects that the
//! difference is as large as the margin on its side (Schuirmann 1987); it is the same
//! as an interval of confidence 1 - 2 level that lies within the margins. How large
//! a difference a test would have found stands beside it.

use std::fmt;

use crate::permutation::check;
use crate::student::student_half_width;
use crate::tails::f_upper;
use crate::{Design, Interval, Moments, ReplicateError, replicates_needed};

/// The power that is asked of a test, and of the replicates that are needed.
pub const POWER: f64 = 0.8;

/// Replicates that are looked at for what is needed.
const MOST: usize = 10_000;

/// How far `b` may be from `a`, as a share of `a`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Margin {
    /// `b` is no more than this share larger or smaller: `Within(0.1)` is 0.9 to 1.1
    /// times `a`.
    Within(f64),
    /// `b` is no more than this share larger, where larger is worse.
    NoWorse(f64),
}

impl Margin {
    /// The ratios b / a that are allowed; the lower is 0 where none is too small.
    pub fn allowed(self) -> (f64, f64) {
        match self {
            Self::Within(share) => ((1.0 - share).max(0.0), 1.0 + share),
            Self::NoWorse(share) => (0.0, 1.0 + share),
        }
    }

    /// What an `interval` of the ratio b / a says of it. Of confidence 1 - 2 level, it
    /// says so wrongly with a probability of at most level.
    pub fn answer(self, interval: &Interval) -> Answer {
        let (low, high) = self.allowed();
        if low < interval.low && interval.high < high {
            Answer::Holds
        } else if interval.low >= high || interval.high <= low {
            Answer::Fails
        } else {
            Answer::Undecided
        }
    }
}

/// Whether a ratio was shown to be within its margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is within the margin.
    Holds,
    /// It is beyond the margin.
    Fails,
    /// The interval holds an end of the margin.
    Undecided,
}

/// What replicates say of a margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equivalence {
    /// How many times larger `b` is: the ratio of geometric means.
    pub ratio: f64,
    /// Its interval of confidence 1 - 2 level.
    pub interval: Interval,
    /// p of "the ratio is beyond the margin": the larger of the one-sided tests'.
    pub p: f64,
    /// What that comes to at the level.
    pub answer: Answer,
    /// The smallest factor above 1 between the two that a two-sided test at the level
    /// would have found in 80 % of cases, if figures scatter as these do.
    pub detectable: f64,
    /// Replicates on each side (pairs, for a paired design) with which the answer would be
    /// [`Answer::Holds`] in 80 % of cases, if the two were the same and scattered as
    /// these do; `None` beyond 10 000.
    pub needed: Option<usize>,
}

/// Replicates that say nothing of a margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EquivalenceError {
    /// Groups that do not pair, figures that are not finite.
    Replicates(ReplicateError),
    /// A figure that is not above 0 has no ratio.
    NotPositive,
    /// Too few to be judged by their scatter.
    TooFew {
        /// Replicates of the smaller group (pairs, for a paired design).
        have: usize,
        /// Replicates that each group needs.
        need: usize,
    },
    /// A margin that is not above 0, or a level that is not between 0 and 0.5.
    NoMargin,
}

impl fmt::Display for EquivalenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replicates(e) => e.fmt(f),
            Self::NotPositive => write!(f, "a ratio takes figures above 0"),
            Self::TooFew { have, need } => {
                write!(
                    f,
                    "a margin takes {need} replicates on each side, not {have}"
                )
            }
            Self::NoMargin => write!(f, "a margin is above 0, and its level is between 0 and 0.5"),
        }
    }
}

impl std::error::Error for EquivalenceError {}

/// Whether `b` is within `margin` of `a`, at `level` (0.05, say): with at most this
/// probability the answer is [`Answer::Holds`] where it does not.
///
/// A figure is that of one trial, or of one block of a run whose blocks are
/// independent. The tests are Student's on logarithms: Welch's (1947) for independent groups,
/// that of the differences for pairs. They suppose that the logarithms of figures are
/// near normal, as those of medians are. Where fewer replicates there are than an exact
/// test of the same level needs (three on a side, five pairs at 0.05), their scatter
/// says too little, and there is no answer.
///
/// By simulation (the tests below), 8 with 8 medians of 1000 lognormal samples of sigma 0.5:
/// "within 10 %" is said in at most 5 % of cases where the truth is 10 % more or
/// less, and in all where it is none.
///
/// # Errors
/// See [`EquivalenceError`].
///
/// ```
/// use tompion_stats::{Answer, Design, Margin, equivalence};
///
/// let a = [50.1, 49.8, 50.6, 50.0, 49.5];
/// let b = [50.9, 50.3, 51.2, 50.8, 50.4];
/// let within = |share| equivalence(&a, &b, Design::Independent, Margin::Within(share), 0.05);
/// assert_eq!(within(0.10).unwrap().answer, Answer::Holds);
/// let one_percent = within(0.01).unwrap();
/// assert_eq!(one_percent.answer, Answer::Undecided);
/// assert!(one_percent.needed.unwrap() > 5 && one_percent.detectable < 1.02);
/// ```
pub fn equivalence(
    a: &[f64],
    b: &[f64],
    design: Design,
    margin: Margin,
    level: f64,
) -> Result<Equivalence, EquivalenceError> {
    let (Margin::Within(share) | Margin::NoWorse(share)) = margin;
    if !(share > 0.0 && share.is_finite() && level > 0.0 && level < 0.5) {
        return Err(EquivalenceError::NoMargin);
    }
    check(a, b, design).map_err(EquivalenceError::Replicates)?;
    if a.iter().chain(b).any(|v| *v <= 0.0) {
        return Err(EquivalenceError::NotPositive);
    }
    let (have, need) = (
        a.len().min(b.len()),
        replicates_needed(design, 2.0 * level, 1).unwrap_or(usize::MAX),
    );
    let ln = |values: &[f64]| -> Vec<f64> { values.iter().map(|v| v.ln()).collect() };
    let difference = Difference::of(&ln(a), &ln(b), design)
        .filter(|_| have >= need)
        .ok_or(EquivalenceError::TooFew { have, need })?;
    let half = student_half_width(1.0 - 2.0 * level, difference.df) * difference.error;
    let interval = Interval {
        low: (difference.shift - half).exp(),
        high: (difference.shift + half).exp(),
        level: 1.0 - 2.0 * level,
    };
    let (low, high) = margin.allowed();
    // The lower of no bound is never reached.
    let below = difference.p_above(difference.shift - low.ln());
    let above = difference.p_above(high.ln() - difference.shift);
    Ok(Equivalence {
        ratio: difference.shift.exp(),
        interval,
        p: below.max(above),
        answer: margin.answer(&interval),
        detectable: difference.detectable(level).exp(),
        needed: difference.needed(margin, level, need),
    })
}

/// The smallest difference between the means of two groups that a two-sided test at `level`
/// would have found in 80 % of cases, if figures scatter as these do, in their unit; of logarithms,
/// that of a ratio. `None` where there are too few to tell (less than two on a side, or pairs), or
/// that do not pair, or are not finite.
pub fn detectable(a: &[f64], b: &[f64], design: Design, level: f64) -> Option<f64> {
    check(a, b, design).ok()?;
    let difference = Difference::of(a, b, design).filter(|_| level > 0.0 && level < 1.0)?;
    Some(difference.detectable(level))
}

/// So many standard errors a difference has to be for a one-sided test at `level` to
/// find it with `power`, nearly (Bloom 1995).
pub(crate) fn reach(df: f64, level: f64, power: f64) -> f64 {
    student_half_width(1.0 - 2.0 * level, df) + student_half_width(2.0 * power - 1.0, df)
}

/// The difference of the means of two groups, b - a.
struct Difference {
    shift: f64,
    /// Its standard error.
    error: f64,
    df: f64,
    /// The variance that one replicate on each side adds.
    variance: f64,
    design: Design,
}

impl Difference {
    fn of(a: &[f64], b: &[f64], design: Design) -> Option<Self> {
        let moments = |values: &[f64]| -> Option<(f64, f64, f64)> {
            let m = Moments::of(values.iter().copied());
            Some((
                m.mean()?,
                m.standard_deviation()?.powi(2),
                values.len() as f64,
            ))
        };
        Some(match design {
            Design::Paired => {
                let pairs: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
                let (shift, variance, n) = moments(&pairs)?;
                Self {
                    shift,
                    error: (variance / n).sqrt(),
                    df: n - 1.0,
                    variance,
                    design,
                }
            }
            Design::Independent => {
                let ((of_a, va, na), (of_b, vb, nb)) = (moments(a)?, moments(b)?);
                let squares = (va / na, vb / nb);
                let both = squares.0 + squares.1;
                let parts = squares.0.powi(2) / (na - 1.0) + squares.1.powi(2) / (nb - 1.0);
                Self {
                    shift: of_b - of_a,
                    error: both.sqrt(),
                    df: match both > 0.0 {
                        true => both * both / parts,
                        false => na + nb - 2.0,
                    },
                    variance: va + vb,
                    design,
                }
            }
        })
    }

    fn detectable(&self, level: f64) -> f64 {
        self.error * reach(self.df, 0.5 * level, POWER)
    }

    /// One-sided p of "the truth is `by` or more beyond what was seen".
    fn p_above(&self, by: f64) -> f64 {
        let t = by / self.error;
        // Figures that do not vary at all.
        if self.error == 0.0 || t.is_infinite() {
            return if by > 0.0 { 0.0 } else { 1.0 };
        }
        let tail = 0.5 * f_upper(t * t, 1.0, self.df);
        if t > 0.0 { tail } else { 1.0 - tail }
    }

    fn needed(&self, margin: Margin, level: f64, least: usize) -> Option<usize> {
        let (low, high) = margin.allowed();
        let (room, power) = match margin {
            // Either test may fail.
            Margin::Within(_) => (high.ln().min(-low.ln()), 0.5 + 0.5 * POWER),
            Margin::NoWorse(_) => (high.ln(), POWER),
        };
        (least..MOST).find(|&n| {
            let df = match self.design {
                Design::Paired => n as f64 - 1.0,
                Design::Independent => 2.0 * (n as f64 - 1.0),
            };
            reach(df, level, power) * (self.variance / n as f64).sqrt() <= room
        })
    }
}

#[cfg(test)]
mod tests;
