//! Whether a quantile keeps a limit, judged by the samples beyond it, while they still come in.
//!
//! "The p99.9 is at most 1 ms" means that at most one sample in a thousand lies beyond 1 ms: the
//! number of them is what decides, and a binomial test needs fewer samples than any interval
//! (Clopper and Pearson 1934, Biometrika 26: of none beyond, 3,688 show it at 97.5 %). Samples beyond
//! a limit come in clusters, since one pause makes several of them late; a cluster of s counts as
//! few as it would if clusters were the samples, by the mean size of the cluster that a late sample is in,
//! Σs²/Σs (the design effect of Rao and Scott 1992, Biometrics 48; clusters by gaps: Smith and Weissman
//! 1994, Journal of the Royal Statistical Society B 56). It is taken at the limit and at the sample's own
//! quantile, of which the larger counts, since beyond a limit that is kept there is little to see.
//!
//! Whoever looks again each time samples have come in, and stops when he likes what he sees, is wrong
//! far more often than each look. So the error is spent by looks (Lan and DeMets 1983, Biometrika
//! 70; Slud and Wei 1982, Journal of the American Statistical Association 77): see [`Looks`].
//!
//! Blind spot: a pause so rare that none came cannot be told from none at all. The level holds where
//! four clusters beyond the limit are due in the time that was watched, if the limit were just kept.

use crate::tails::{chi_squared_upper, incomplete_beta, normal_upper, normal_upper_quantile};

/// Samples beyond a threshold belong to one cluster while gaps between them are at most this share of
/// the mean gap.
const GAP: f64 = 0.1;

/// Equal parts of the time, whose counts may scatter by no more than clusters explain.
const PARTS: usize = 8;

/// Where far more samples lie beyond the limit than may, those beyond a higher one, which leaves so many
/// times as many as may, tell as well that it is exceeded, and are fewer clusters.
const RAISED: [f64; 2] = [4.0, 16.0];

/// That they scatter by more is believed where chance would bring it so seldom.
const SELDOM: f64 = 0.05;

/// Few counts scatter less by chance than they truly do: by no more than this times what would be there, in nine
/// cases of ten (chi squared with PARTS - 1 degrees of freedom), so that it is taken for as much.
const LOW: f64 = 2.833;

/// With none late so many times the samples are taken that show a limit to be kept: so the first look is wrong less often
/// than it may be, and the rest of the error is left for a second one.
const FIRST: f64 = 1.1;

/// Where more are late than may be, so many times the samples there are show it, if anything does.
const LONGER: f64 = 1.5;

/// So much of what may come need not be added up.
const REST: f64 = 1e-6;

/// What the samples beyond a limit say of a quantile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitTest {
    /// Samples.
    pub samples: u64,
    /// Those beyond the limit.
    pub beyond: u64,
    /// Mean size of the cluster that a late sample is in, at least 1.
    pub clustering: f64,
    share: f64,
    /// Of tests that see better than that of the number beyond, where most samples are.
    p_exceeded: f64,
}

impl LimitTest {
    /// Of `values` in the order of time, of which a share of 1 - `q` may lie above `limit`.
    /// `None` without values, or where `q` is not between 0 and 1.
    pub fn of(values: &[i64], limit: i64, q: f64) -> Option<Self> {
        if values.is_empty() || !(q > 0.0 && q < 1.0) {
            return None;
        }
        let share = 1.0 - q;
        let late = above(values, limit);
        let own = clustering(&above(values, own_threshold(values, share)), values.len());
        let mut found = Self {
            samples: values.len() as u64,
            beyond: late.len() as u64,
            clustering: clustering(&late, values.len()).max(own),
            share,
            p_exceeded: p_of_parts(&late, values.len(), share),
        };
        for threshold in RAISED.map(|times| own_threshold(values, times * share)) {
            if threshold > limit {
                let later = above(values, threshold);
                let raised = Self {
                    beyond: later.len() as u64,
                    clustering: clustering(&later, values.len()).max(own),
                    ..found
                };
                found.p_exceeded = found.p_exceeded.min(raised.p_exceeded());
            }
        }
        Some(found)
    }

    /// How likely so few samples beyond the limit are, if the quantile only just exceeded it: where
    /// that is small, the limit is kept.
    pub fn p_kept(&self) -> f64 {
        let (n, k) = self.as_independent();
        match k < n {
            true => incomplete_beta(n - k, k + 1.0, 1.0 - self.share, self.share),
            false => 1.0,
        }
    }

    /// How likely so many samples beyond the limit are, if the quantile only just kept it: where
    /// that is small, the limit is exceeded.
    pub fn p_exceeded(&self) -> f64 {
        let (n, k) = self.as_independent();
        let by_number = match k > 0.0 {
            true => incomplete_beta(k, n - k + 1.0, self.share, 1.0 - self.share),
            false => 1.0,
        };
        by_number.min(self.p_exceeded)
    }

    /// How many samples it takes at least to show at an error of `error` that the limit is kept, if no more
    /// come to lie beyond it; `None` where so many are beyond that it may well be exceeded.
    pub fn samples_needed(&self, error: f64) -> Option<u64> {
        if self.beyond as f64 >= self.share * self.samples as f64 && self.beyond > 0 {
            return None;
        }
        let is_enough = |samples: u64| Self { samples, ..*self }.p_kept() <= error;
        let mut high = self.samples.max(1);
        while !is_enough(high) {
            high = high.checked_mul(2)?;
        }
        let mut low = self.beyond;
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            match is_enough(middle) {
                true => high = middle,
                false => low = middle,
            }
        }
        Some(high)
    }

    /// How far to go on, and what comes of it: each of the two answers may be wrong with a probability of `error`.
    ///
    /// Where none is late yet, a tenth more samples than show that the limit is kept, by clusters as they are seen;
    /// how many that are does not depend on how many are late. Where some are, it is a second look, and takes as many as
    /// show it at the error that the first look leaves: that of both together is `error` at most. How likely an answer
    /// is goes by the late samples there are (the predictive probability of Herson 1979, Cancer Treatment Reports 63,
    /// with Jeffreys' prior for how often a sample is late).
    pub fn outlook(&self, error: f64) -> Outlook {
        let first = FIRST * error.ln() / (1.0 - self.share).ln() * self.clustering;
        let first = (first.ceil() as u64).max(1);
        let samples = match self.beyond {
            0 => first,
            _ => match self.samples_needed(error - error.powf(FIRST)) {
                Some(needed) => needed.max(first),
                None => first.max((LONGER * self.samples as f64) as u64),
            },
        };
        let samples = samples.max(self.samples);
        let [kept, exceeded] = self.chances(samples, error);
        Outlook {
            samples,
            kept,
            exceeded,
        }
    }

    /// How likely so many samples in all show that the limit is kept, and that it is exceeded.
    fn chances(&self, samples: u64, error: f64) -> [f64; 2] {
        let more = (samples - self.samples) as f64 / self.clustering;
        let (n, k) = self.as_independent();
        // Late ones among so many more: a Poisson number whose mean has a gamma distribution.
        let (shape, none) = (k + 0.5, n / (n + more));
        let then = |late: f64| Self {
            samples,
            beyond: (self.beyond as f64 + late * self.clustering).round() as u64,
            p_exceeded: if more > 0.0 { 1.0 } else { self.p_exceeded },
            ..*self
        };
        let mut likely = none.powf(shape);
        if likely < f64::MIN_POSITIVE {
            // Of very many the mean says enough.
            let then = then(shape * more / n);
            return [then.p_kept(), then.p_exceeded()].map(|p| f64::from(u8::from(p <= error)));
        }
        let (mut kept, mut sum, mut late) = (0.0, 0.0, 0.0);
        while sum < 1.0 - REST && late <= more {
            let then = then(late);
            if then.p_exceeded() <= error {
                return [kept, 1.0 - sum];
            }
            if then.p_kept() <= error {
                kept += likely;
            }
            sum += likely;
            likely *= (shape + late) / (late + 1.0) * (1.0 - none);
            late += 1.0;
        }
        [kept, 0.0]
    }

    /// As many independent samples as say as much, and those of them beyond the limit.
    fn as_independent(&self) -> (f64, f64) {
        let of = |count: u64| count as f64 / self.clustering;
        (of(self.samples), of(self.beyond))
    }
}

/// How far to go on, and what is likely to come of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// Samples in all.
    pub samples: u64,
    /// How likely these show that the limit is kept, 0 to 1.
    pub kept: f64,
    /// How likely they show that it is exceeded.
    pub exceeded: f64,
}

fn above(values: &[i64], limit: i64) -> Vec<usize> {
    let values = values.iter().enumerate();
    values.filter(|v| *v.1 > limit).map(|v| v.0).collect()
}

/// The value above which a `share` of the samples lies at most.
fn own_threshold(values: &[i64], share: f64) -> i64 {
    let beyond = (share * values.len() as f64).round() as usize;
    let place = (values.len() - 1).saturating_sub(beyond);
    let mut values = values.to_vec();
    *values.select_nth_unstable(place).1
}

/// How likely it is that in so many parts of the time at least half of the samples are late, if a `share`
/// of all is: in each part with a probability of twice the share at most (Markov).
fn p_of_parts(late: &[usize], samples: usize, share: f64) -> f64 {
    let mut parts = [0; PARTS];
    late.iter().for_each(|at| parts[at * PARTS / samples] += 1);
    let half = |count: &&usize| **count * 2 * PARTS >= samples;
    let many = parts.iter().filter(half).count() as f64;
    let likely = 2.0 * share;
    match samples >= PARTS && many > 0.0 && likely < 1.0 {
        true => incomplete_beta(many, PARTS as f64 - many + 1.0, likely, 1.0 - likely),
        false => 1.0,
    }
}

/// How likely a `late` share of samples is, of the mean of blocks, where a share of `may` is late in the long run: no
/// likelier than their ratio (Markov), whatever depends on what. The same holds for whoever looks again and stops where
/// he likes, while the machine stays what it is (maximal ergodic theorem: Yosida and Kakutani 1939, Proceedings of the
/// Imperial Academy 15).
pub fn share_by_chance(late: f64, may: f64) -> f64 {
    match late > may {
        true => may / late,
        false => 1.0,
    }
}

/// Mean size of the cluster that one of `late` is in.
fn clustering(late: &[usize], samples: usize) -> f64 {
    if late.len() < 2 {
        return 1.0;
    }
    let count = late.len() as f64;
    let longest = (GAP * samples as f64 / count).max(1.0);
    let clusters = late.chunk_by(|a, b| (b - a) as f64 <= longest);
    let squares: f64 = clusters.map(|c| (c.len() * c.len()) as f64).sum();
    let within = squares / count;
    // Slower than clusters: how much the counts of parts scatter.
    let mut parts = [0.0; PARTS];
    for at in late {
        parts[at * PARTS / samples] += 1.0;
    }
    let mean = count / PARTS as f64;
    let scatter: f64 = parts.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / mean;
    let free = (PARTS - 1) as f64;
    match chi_squared_upper(scatter / within, free) < SELDOM {
        true => within.max(scatter / LOW),
        false => within,
    }
}

/// A share of error, spent by looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Looks {
    error: f64,
    spent: f64,
}

impl Looks {
    /// Nothing looked at yet; all looks together may be wrong with a probability of `error`.
    pub fn new(error: f64) -> Self {
        Self { error, spent: 0.0 }
    }

    /// What one look may spend that comes when a share of `done` of all samples is there, 0 to 1: little
    /// at first and what is left at the end, as O'Brien and Fleming's bounds do (1979, Biometrics
    /// 35). Nothing where a look came as late before.
    pub fn next(&mut self, done: f64) -> f64 {
        let by_now = match done {
            done if done >= 1.0 => self.error,
            done if done > 0.0 => {
                2.0 * normal_upper(normal_upper_quantile(0.5 * self.error) / done.sqrt())
            }
            _ => 0.0,
        };
        let may = (by_now - self.spent).max(0.0);
        self.spent += may;
        may
    }
}

/// What is known of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The quantile keeps it.
    Kept,
    /// The quantile exceeds it.
    Exceeded,
    /// Neither is shown yet.
    Open,
}

/// Looks at a limit while samples come in. Each of the two answers is wrong with a probability of at
/// most its error, whenever one stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitWatch {
    kept: Looks,
    exceeded: Looks,
    kept_from: f64,
}

impl LimitWatch {
    /// Each answer may be wrong with a probability of `error`. That a limit is kept is said from a share of
    /// `kept_from` of all samples on: rare pauses have to have had the time to come.
    pub fn new(error: f64, kept_from: f64) -> Self {
        Self {
            kept: Looks::new(error),
            exceeded: Looks::new(error),
            kept_from,
        }
    }

    /// One look, with a share of `done` of all samples that there may be. After an answer there is
    /// nothing more to look at.
    pub fn look(&mut self, test: &LimitTest, done: f64) -> Limit {
        // Rounding alone must not keep an answer back.
        let may_keep = done >= self.kept_from - 1e-9;
        if may_keep && test.p_kept() <= self.kept.next(done) {
            Limit::Kept
        } else if test.p_exceeded() <= self.exceeded.next(done) {
            Limit::Exceeded
        } else {
            Limit::Open
        }
    }
}

#[cfg(test)]
mod tests;
