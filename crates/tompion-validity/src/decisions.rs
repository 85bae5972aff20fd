//! How often a limit that is watched while samples come in is judged wrongly, and how often it stays
//! open.

use tompion_stats::{Limit, LimitTest, LimitWatch};

use crate::due::{DUE, Late};
use crate::table::{Bound, Counted};
use crate::truth::{Shape, Truth};

/// Each answer may be wrong so often.
const ERROR: f64 = 0.025;

/// Shares of the samples at which one looks; from [`KEPT_FROM`] on a limit may be kept.
const LOOKS: [f64; 6] = [0.2, 0.4, 0.6, 0.75, 0.9, 1.0];
const KEPT_FROM: f64 = 0.6;

/// True quantiles over the limit.
pub const TIMES: [f64; 7] = [0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0];

/// Wrong answers of all draws, at most.
const WRONG: f64 = 0.05;

/// Open ones at half and twice the limit, at most.
const OPEN: f64 = 0.1;

/// How one looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looking {
    /// As a check does.
    Corrected,
    /// Again and again, each time as if it were the only one.
    Peeking,
}

/// One row: a series, a number of samples and a quantile.
#[derive(Clone, Debug)]
pub struct Row {
    /// The series.
    pub truth: Truth,
    /// Clusters beyond the limit that are due before it may be kept, if it just is.
    pub due: f64,
    /// Of each of [`TIMES`]: kept, exceeded, open.
    pub answers: [[Counted; 3]; TIMES.len()],
    /// Mean share of the samples at which an answer was there.
    pub stopped: f64,
}

impl Row {
    /// Draws `draws` series of `samples` and looks at limits around their `q`-quantile.
    pub fn of(
        truth: Truth,
        samples: usize,
        q: f64,
        (draws, seeds): (u64, u64),
        how: Looking,
    ) -> Self {
        let shape = Shape { blocks: 1, samples };
        let true_ps = truth.quantile_ps(q);
        let mut counts = [[0; 3]; TIMES.len()];
        let (mut late, mut stopped) = (Late::default(), 0.0);
        for draw in 0..draws {
            let values = truth.values_ps(shape, seeds + draw);
            late.add(values.iter().filter(|v| **v as f64 > true_ps).count() as u64);
            for (counts, times) in counts.iter_mut().zip(TIMES) {
                let (answer, at) = watched(&values, (true_ps / times) as i64, q, how);
                counts[answer as usize] += 1;
                stopped += at;
            }
        }
        let due = late.clusters(truth, q, KEPT_FROM * samples as f64);
        let mut answers = counts.map(|c| {
            c.map(|times| Counted {
                times,
                of: draws,
                bound: None,
            })
        });
        if due >= DUE {
            for (answers, times) in answers.iter_mut().zip(TIMES) {
                if times >= 1.0 {
                    answers[Limit::Kept as usize].bound = Some(Bound::AtMost(WRONG));
                }
                if times <= 1.0 {
                    answers[Limit::Exceeded as usize].bound = Some(Bound::AtMost(WRONG));
                }
                if [0.5, 2.0].contains(&times) && !matches!(truth, Truth::Heavy | Truth::Stalls(_))
                {
                    answers[Limit::Open as usize].bound = Some(Bound::AtMost(OPEN));
                }
            }
        }
        Self {
            truth,
            due,
            answers,
            stopped: stopped / (draws as f64 * TIMES.len() as f64),
        }
    }

    /// Whether all that is promised of the row is kept.
    pub fn is_kept(&self) -> bool {
        self.answers.iter().flatten().all(Counted::is_kept)
    }
}

/// How often, of so many draws from a first seed on, the answer is the right one where the true quantile is so many times the
/// limit. `None` where too few clusters beyond the limit are due for an answer to be promised.
pub fn share_right(
    truth: Truth,
    samples: usize,
    (q, times): (f64, f64),
    (draws, seeds): (u64, u64),
) -> Option<f64> {
    let shape = Shape { blocks: 1, samples };
    let true_ps = truth.quantile_ps(q);
    let limit = (true_ps / times) as i64;
    let right = match times > 1.0 {
        true => Limit::Exceeded,
        false => Limit::Kept,
    };
    let (mut late, mut times_right) = (Late::default(), 0);
    for draw in 0..draws {
        let values = truth.values_ps(shape, seeds + draw);
        late.add(values.iter().filter(|v| **v as f64 > true_ps).count() as u64);
        times_right += u64::from(watched(&values, limit, q, Looking::Corrected).0 == right);
    }
    let due = late.clusters(truth, q, KEPT_FROM * samples as f64);
    (due >= DUE).then_some(times_right as f64 / draws as f64)
}

/// The answer, and the share of the samples at which it came.
fn watched(values: &[i64], limit: i64, q: f64, how: Looking) -> (Limit, f64) {
    let mut watch = LimitWatch::new(ERROR, KEPT_FROM);
    let peeks: Vec<f64> = match how {
        Looking::Corrected => LOOKS.to_vec(),
        Looking::Peeking => (1..=50).map(|look| f64::from(look) / 50.0).collect(),
    };
    for done in peeks {
        let so_far = &values[..(done * values.len() as f64) as usize];
        let Some(test) = LimitTest::of(so_far, limit, q) else {
            continue;
        };
        if how == Looking::Peeking {
            watch = LimitWatch::new(ERROR, 0.0);
        }
        let spending = if how == Looking::Peeking { 1.0 } else { done };
        let answer = watch.look(&test, spending);
        if answer != Limit::Open {
            return (answer, done);
        }
    }
    (Limit::Open, 1.0)
}
