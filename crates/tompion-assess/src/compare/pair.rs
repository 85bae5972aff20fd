//! One figure of one cell on two sides.

use std::collections::BTreeMap;

use tompion_model::Order;
use tompion_stats::{
    Answer, Comparison as Statistics, Design, Distribution, Interval, LEAST_SPAN_S, Margin,
    Outcome, Series, compare_replicates, compare_series, comparison_cost, detectable, equivalence,
};

use crate::compare::drift::{
    Placed, allowing, exponential, figures, hull, logarithms, mean_interval,
};
use crate::compare::found::{Basis, Found, Instead, Values, Verdict};
use crate::compare::{Figure, Replicates};

/// What a value of a series takes, in additions: of values that wander, which take longest.
const OF_A_VALUE: u64 = 600;

/// What is held against each other, and how.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub a: &'a Replicates,
    pub b: &'a Replicates,
    pub figure: Figure,
    pub level: f64,
    /// Whether both took turns.
    pub paired: bool,
    /// Tests in the family.
    pub family: usize,
}

/// Whether a ratio is shown to be within a margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sameness {
    pub answer: Answer,
    /// The ratio and its interval.
    pub ratio: f64,
    pub interval: Interval,
    /// Whether it was the allowance for drift that left it undecided.
    pub is_drift: bool,
    /// Replicates on each side that would do in 80 % of cases if there were no difference.
    pub needed: Option<usize>,
}

impl Pair<'_> {
    fn design(&self) -> Design {
        match self.paired {
            true => Design::Paired,
            false => Design::Independent,
        }
    }

    /// The figure on each side, and what becomes of it; `p_adjusted` is still that of this test
    /// alone.
    pub fn compare(&self) -> (Values, Verdict) {
        let (x, y) = self.figures();
        if x.is_empty() || y.is_empty() {
            let of = |cell, side: &Placed| {
                let value = (!side.is_empty()).then(|| self.value(cell, side));
                value.flatten()
            };
            return ((of(self.a, &x), of(self.b, &y)), Verdict::NoFigure);
        }
        let values = (self.value(self.a, &x), self.value(self.b, &y));
        let verdict = self.by_replicates(&x, &y);
        match verdict {
            Verdict::TooFew { need, .. }
                if !self.a.series.is_empty() && !self.b.series.is_empty() =>
            {
                match self.by_stretches(need) {
                    Some((of_series, verdict @ Verdict::Found(_))) => (of_series, verdict),
                    // Nothing was found by the one trial that they are cut from.
                    Some((_, verdict)) => (values, verdict),
                    None => (values, verdict),
                }
            }
            verdict => (values, verdict),
        }
    }

    /// What [`Self::compare`] takes, in additions of some nanosecond each: of the figures and of their logarithms, and of
    /// series that are sorted and looked at for what their values have to do with those before.
    pub fn cost(&self) -> u64 {
        let (x, y) = self.figures();
        let by_replicates = comparison_cost(&figures(&x), &figures(&y), self.design());
        let series = match self.figure.quantile() {
            Some(_) if !self.a.series.is_empty() && !self.b.series.is_empty() => {
                self.a.series.len() as u64 + self.b.series.len() as u64
            }
            _ => 0,
        };
        let by_stretches = series.saturating_mul(OF_A_VALUE);
        2_u64
            .saturating_mul(by_replicates)
            .saturating_add(by_stretches)
    }

    /// The replicates' figures of both sides with their places in time.
    fn figures(&self) -> (Placed, Placed) {
        if self.paired {
            let (x, y) = in_common_blocks(self.a, self.b, self.figure);
            let placed = |of: Vec<f64>| (0..).map(f64::from).zip(of).collect();
            return (placed(x), placed(y));
        }
        let mut all = Vec::new();
        for (side, cell) in [self.a, self.b].into_iter().enumerate() {
            let having = cell.trials.iter().enumerate();
            let having = having.filter_map(|(at, t)| Some((at, t, self.figure.of(t)?)));
            all.extend(having.map(|(at, t, figure)| (t.started_ns, side, at, figure)));
        }
        // Their order is what counts, not how long a pause there was. Where it is not known, the
        // second side follows the first.
        let known = all.iter().all(|one| one.0.is_some());
        let time = |started_ns: Option<i128>| started_ns.filter(|_| known);
        all.sort_by_key(|one| (time(one.0), one.1, one.2));
        let placed = (0..).map(f64::from).zip(all);
        let (x, y): (Vec<_>, Vec<_>) = placed
            .map(|(place, (_, side, _, figure))| (side, (place, figure)))
            .partition(|one| one.0 == 0);
        let figures = |side: Vec<(usize, (f64, f64))>| side.into_iter().map(|one| one.1).collect();
        (figures(x), figures(y))
    }

    /// The cell's one figure; the middle one of the replicates' where nothing but these is known.
    fn value(&self, cell: &Replicates, replicates: &Placed) -> Option<f64> {
        let whole = cell.whole.as_ref().and_then(|w| self.figure.of(w));
        whole.or_else(|| median(&figures(replicates)))
    }

    /// Whether values drift or wander within the blocks of both.
    fn drifts_within(&self) -> bool {
        let at = match self.figure {
            Figure::Mean => Some(0.5),
            figure => figure.quantile(),
        };
        let blocks = self.a.trials.iter().chain(&self.b.trials);
        let known = blocks.filter_map(|t| t.order.as_ref()).map(Some);
        at.is_some_and(|q| Order::drifts(known, q) == Some(true))
    }

    fn basis(&self) -> Basis {
        self.a.basis
    }

    fn by_replicates(&self, x: &Placed, y: &Placed) -> Verdict {
        let test = |x: &Placed, y: &Placed| {
            let (x, y) = (figures(x), figures(y));
            compare_replicates(&x, &y, self.design(), self.level, self.family)
                .expect("finite figures, paired where they have to be")
        };
        let of_test = self.level / self.family.max(1) as f64;
        let least =
            |x: &Placed, y: &Placed| detectable(&figures(x), &figures(y), self.design(), of_test);
        match test(x, y) {
            Outcome::NotDecidable { need, .. } => Verdict::TooFew {
                basis: self.basis(),
                have: (x.len(), y.len()),
                need,
                instead: None,
            },
            Outcome::Decided(decided) => {
                let logs = logarithms((x, y));
                let ratio = logs.as_ref().and_then(|(x, y)| match test(x, y) {
                    Outcome::Decided(d) => Some((d.shift.exp(), exponential(d.interval))),
                    Outcome::NotDecidable { .. } => None,
                });
                let mut found = self.found(decided, ratio, self.basis(), (x.len(), y.len()));
                found.detectable = least(x, y);
                found.detectable_ratio = logs.and_then(|(x, y)| Some(least(&x, &y)?.exp()));
                if !self.paired {
                    found.drift = allowing((x, y), self.drifts_within(), self.level, self.family);
                }
                if let Some(drift) = found.drift {
                    found.p_adjusted = found.p.max(drift.p);
                    found.detectable = Some(drift.detectable.max(found.detectable.unwrap_or(0.0)));
                    found.detectable_ratio = drift
                        .detectable_ratio
                        .map(|r| r.max(found.detectable_ratio.unwrap_or(1.0)));
                }
                Verdict::Found(found)
            }
        }
    }

    /// Stretches of one trial on each side, where `trials` would be needed; `None` where
    /// the figure is no quantile.
    fn by_stretches(&self, trials: usize) -> Option<(Values, Verdict)> {
        let q = self.figure.quantile()?;
        let [x, y] = [self.a, self.b].map(|of| Series::lasting(&of.series, of.series_s));
        let found = compare_series(x, y, q, self.level, self.family)?;
        // Values are in picoseconds.
        let of = |series: &[i64]| {
            let all = Distribution::from_values(series.iter().copied());
            all.quantile(q).map(|ps| ps / 1000.0)
        };
        let (a, b) = (self.a, self.b);
        let verdict = match found.outcome {
            Outcome::NotDecidable { need, .. } => {
                let lasting = |of: &Replicates| of.series_s * need as f64 / of.series.len() as f64;
                Verdict::TooFew {
                    basis: Basis::Stretches,
                    have: (a.series.len(), b.series.len()),
                    need,
                    instead: Some(Instead {
                        seconds: lasting(a).max(lasting(b)).max(LEAST_SPAN_S),
                        trials,
                    }),
                }
            }
            Outcome::Decided(mut d) => {
                d.shift /= 1000.0;
                d.interval.low /= 1000.0;
                d.interval.high /= 1000.0;
                Verdict::Found(self.found(d, found.ratio, Basis::Stretches, found.stretches))
            }
        };
        Some(((of(&a.series), of(&b.series)), verdict))
    }

    fn found(
        &self,
        d: Statistics,
        ratio: Option<(f64, Interval)>,
        basis: Basis,
        replicates: (usize, usize),
    ) -> Found {
        Found {
            shift: d.shift,
            interval: d.interval,
            ratio,
            a_hat: d.a_hat,
            p: d.p,
            p_adjusted: d.p,
            family: self.family,
            basis,
            replicates,
            detectable: None,
            detectable_ratio: None,
            drift: None,
        }
    }

    /// Whether the ratio of the two is shown to be within `margin`, at the level; `None` where a
    /// figure is not above 0 or replicates are too few.
    pub fn same(&self, margin: Margin) -> Option<Sameness> {
        let (x, y) = self.figures();
        let (a, b) = (figures(&x), figures(&y));
        let found = equivalence(&a, &b, self.design(), margin, self.level).ok()?;
        let mut same = Sameness {
            answer: found.answer,
            ratio: found.ratio,
            interval: found.interval,
            is_drift: false,
            needed: found.needed,
        };
        if self.paired {
            return Some(same);
        }
        let (x, y) = logarithms((&x, &y))?;
        let plain = Interval {
            low: found.interval.low.ln(),
            high: found.interval.high.ln(),
            ..found.interval
        };
        let confidence = 1.0 - 2.0 * self.level;
        let wide = mean_interval((&x, &y), plain, self.drifts_within(), confidence)?;
        same.interval = hull(found.interval, exponential(wide));
        let answer = margin.answer(&same.interval);
        same.is_drift = answer != same.answer;
        same.answer = answer;
        Some(same)
    }
}

pub(crate) fn in_common_blocks(
    a: &Replicates,
    b: &Replicates,
    figure: Figure,
) -> (Vec<f64>, Vec<f64>) {
    let theirs: BTreeMap<u32, f64> = b
        .trials
        .iter()
        .filter_map(|t| Some((t.block, figure.of(t)?)))
        .collect();
    a.trials
        .iter()
        .filter_map(|t| Some((figure.of(t)?, *theirs.get(&t.block)?)))
        .unzip()
}

pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    (n > 0).then(|| 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]))
}
