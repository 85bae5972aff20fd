//! How much better steps between steady levels explain a series than wander does.
//!
//! Both sides are families of Gaussian models, each weighed by its marginal likelihood:
//! the level and the scale of the series are integrated out (flat, and 1/sigma), so that
//! neither unit nor origin matters, and each side is the mean over its family. The
//! mean, not the best of each family, is what makes the ratio the most powerful test
//! against the mixture (Neyman and Pearson 1933; Andrews and Ploberger 1994).

/// Levels of neighbouring stretches differ by some two standard deviations: the variance
/// of a level over that of the noise.
const LEVELS: f64 = 2.0;

/// The weight of two steps against one.
const TWO: f64 = 0.3;

/// The weight of a straight line against each wander.
const LINE: f64 = 1.0;

/// The weight of each autoregression in noise against each long memory.
const SHORT: f64 = 0.1;

/// The variance of what a straight line adds over that of the noise.
const SLOPE: f64 = 2.0;

/// Places are told to within so many figures: the place is the middle of the window
/// of so many to each side that holds most.
const WINDOW: usize = 2;

/// Memory parameters of the long-memory wanders.
const MEMORIES: [f64; 6] = [0.1, 0.2, 0.3, 0.38, 0.44, 0.48];

/// Shares of the variance of the autoregressive wanders that is not noise.
const SHARES: [f64; 4] = [0.1, 0.3, 0.6, 1.0];

/// What a series says of steps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Evidence {
    /// Logarithm of the likelihood of steps over that of wander.
    pub(crate) ln_ratio: f64,
    /// The first figures after the steps, one or two, each with the range that
    /// holds it with 95 % of its weight, if steps there are.
    pub(crate) places: Vec<(usize, (usize, usize))>,
}

/// Figures that a level lasts at least, in a series of `n`.
pub(crate) fn least_length(n: usize) -> usize {
    (n / 8).max(4)
}

/// Weighs steps against wander; `None` for a constant series.
pub(crate) fn evidence(series: &[f64]) -> Option<Evidence> {
    let n = series.len();
    let mean = series.iter().sum::<f64>() / n as f64;
    let y: Vec<f64> = series.iter().map(|v| v - mean).collect();
    let size = y.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    // Rounding of a constant is no movement.
    if size <= 1e-12 * mean.abs() || size == 0.0 {
        return None;
    }
    let y: Vec<f64> = y.iter().map(|v| v / size).collect();
    let steps = Steps::new(&y);
    let (one, two) = (steps.one(), steps.two());
    let of = |l: &[(f64, (usize, usize))]| {
        ln_mean(&l.iter().map(|(l, _)| (*l, 1.0)).collect::<Vec<_>>())
    };
    let (ln_one, ln_two) = (of(&one), of(&two));
    let ln_steps = ln_mean(&[(ln_one, 1.0 - TWO), (ln_two, TWO)]);
    let places = match ln_two + TWO.ln() > ln_one + (1.0 - TWO).ln() {
        true => steps.pair(&two),
        false => steps
            .place(|k| vec![k], steps.least, n - steps.least)
            .into_iter()
            .collect(),
    };
    Some(Evidence {
        ln_ratio: ln_steps - ln_wander(&y),
        places,
    })
}

/// Logarithm of the weighted mean of what `(logarithm, weight)` holds.
fn ln_mean(terms: &[(f64, f64)]) -> f64 {
    let best = terms.iter().fold(f64::MIN, |m, (l, _)| m.max(*l));
    let (sum, weights) = terms.iter().fold((0.0, 0.0), |(sum, weights), (l, w)| {
        (sum + w * (l - best).exp(), weights + w)
    });
    best + (sum / weights).ln()
}

/// Independent noise about levels that change in steps.
struct Steps {
    /// Sums of the first figures, from none on.
    sums: Vec<f64>,
    squares: f64,
    least: usize,
}

impl Steps {
    fn new(y: &[f64]) -> Self {
        let mut sums = vec![0.0];
        sums.extend(y.iter().scan(0.0, |sum, v| {
            *sum += v;
            Some(*sum)
        }));
        Self {
            sums,
            squares: y.iter().map(|v| v * v).sum(),
            least: least_length(y.len()),
        }
    }

    fn len(&self) -> usize {
        self.sums.len() - 1
    }

    /// Marginal likelihood, but for the constant that all models share, with steps at
    /// `cuts`: levels are normal about a common one, whose prior is flat.
    fn ln_likelihood(&self, cuts: &[usize]) -> f64 {
        let n = self.len();
        let (mut from, mut within, mut ln_det) = (0, self.squares, 0.0);
        let (mut w, mut wy, mut wyy) = (0.0, 0.0, 0.0);
        for &to in cuts.iter().chain([&n]) {
            let length = (to - from) as f64;
            let level = (self.sums[to] - self.sums[from]) / length;
            let weight = 1.0 / (LEVELS + 1.0 / length);
            w += weight;
            wy += weight * level;
            wyy += weight * level * level;
            within -= length * level * level;
            ln_det += (1.0 + LEVELS * length).ln();
            from = to;
        }
        let squares = within.max(0.0) + (wyy - wy * wy / w).max(0.0);
        -0.5 * ((n as f64 - 1.0) * squares.ln() + ln_det + w.ln())
    }

    fn one(&self) -> Vec<(f64, (usize, usize))> {
        (self.least..=self.len() - self.least)
            .map(|k| (self.ln_likelihood(&[k]), (k, k)))
            .collect()
    }

    fn two(&self) -> Vec<(f64, (usize, usize))> {
        let (least, last) = (self.least, self.len() - self.least);
        (least..=last)
            .flat_map(|k| (k + least..=last).map(move |l| (k, l)))
            .map(|(k, l)| (self.ln_likelihood(&[k, l]), (k, l)))
            .collect()
    }

    /// The two places of the likeliest pair, each the other given.
    fn pair(&self, two: &[(f64, (usize, usize))]) -> Vec<(usize, (usize, usize))> {
        let Some((_, (_, second))) = two.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0)) else {
            return Vec::new();
        };
        let (least, last) = (self.least, self.len() - self.least);
        let first = self.place(|k| vec![k, second], least, second - least);
        let second = first.and_then(|(k, _)| self.place(|l| vec![k, l], k + least, last));
        first.into_iter().chain(second).collect()
    }

    /// The place between `from` and `to` whose neighbourhood weighs most, and the
    /// range of places that holds 95 %.
    fn place(
        &self,
        cuts: impl Fn(usize) -> Vec<usize>,
        from: usize,
        to: usize,
    ) -> Option<(usize, (usize, usize))> {
        let logs: Vec<f64> = (from..=to).map(|k| self.ln_likelihood(&cuts(k))).collect();
        let best = logs.iter().fold(f64::MIN, |m, l| m.max(*l));
        let weights: Vec<f64> = logs.iter().map(|l| (l - best).exp()).collect();
        let whole: f64 = weights.iter().sum();
        // Among equal windows, the one whose middle weighs most.
        let around = |i: usize| {
            let window = &weights[i.saturating_sub(WINDOW)..(i + WINDOW + 1).min(weights.len())];
            window.iter().sum::<f64>() + 1e-3 * weights[i]
        };
        let place = (0..weights.len()).max_by(|a, b| around(*a).total_cmp(&around(*b)))?;
        // Grown to the heavier side until it holds enough.
        let (mut low, mut high, mut held) = (place, place, weights[place]);
        while held < 0.95 * whole {
            let below = low.checked_sub(1).map(|i| weights[i]);
            let above = weights.get(high + 1).copied();
            match below >= above {
                true => low -= 1,
                false => high += 1,
            }
            held += weights[if below >= above { low } else { high }];
        }
        Some((from + place, (from + low, from + high)))
    }
}

/// Marginal likelihood of the wanders, but for the same constant: long memory,
/// autoregressions in noise with times from 1.5 figures to twice the series, and a
/// straight line in noise.
fn ln_wander(y: &[f64]) -> f64 {
    let n = y.len();
    let times = [1.5, 4.0, 10.0, n as f64 / 2.0, 2.0 * n as f64];
    let mut terms: Vec<(f64, f64)> = Vec::new();
    for d in MEMORIES {
        // Hosking 1981, theorem 1.
        let covariance = (1..n).scan(1.0, |g, k| {
            *g *= (k as f64 - 1.0 + d) / (k as f64 - d);
            Some(*g)
        });
        terms.push((stationary(y, &covariance.collect::<Vec<_>>()), 1.0));
    }
    for time in times {
        for share in SHARES {
            let covariance = (1..n).map(|k| share * (-(k as f64) / time).exp());
            terms.push((stationary(y, &covariance.collect::<Vec<_>>()), SHORT));
        }
    }
    terms.push((line(y), LINE));
    ln_mean(&terms)
}

/// A stationary series of variance 1 with `covariance` at lags from 1 on about an unknown
/// level: its innovations by Durbin and Levinson's recursion (Brockwell and Davis
/// 1991, §5.2 and §8.6).
fn stationary(y: &[f64], covariance: &[f64]) -> f64 {
    let n = y.len();
    let (mut phi, mut before) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let (mut variance, mut ln_det) = (1.0f64, 0.0);
    let (mut yy, mut y1, mut ones) = (0.0, 0.0, 0.0);
    for t in 0..n {
        if t > 0 {
            let known: f64 = phi
                .iter()
                .zip(covariance[..t - 1].iter().rev())
                .map(|(p, g): (&f64, &f64)| p * g)
                .sum();
            let last = (covariance[t - 1] - known) / variance;
            before.clone_from(&phi);
            for (p, b) in phi.iter_mut().zip(before.iter().rev()) {
                *p -= last * b;
            }
            phi.push(last);
            variance *= 1.0 - last * last;
        }
        let (mut of_y, mut of_one) = (y[t], 1.0);
        for (p, v) in phi.iter().zip(y[..t].iter().rev()) {
            of_y -= p * v;
            of_one -= p;
        }
        yy += of_y * of_y / variance;
        y1 += of_y * of_one / variance;
        ones += of_one * of_one / variance;
        ln_det += variance.ln();
    }
    let squares = yy - y1 * y1 / ones;
    -0.5 * ((n as f64 - 1.0) * squares.ln() + ln_det + ones.ln())
}

/// Independent noise about a straight line, whose slope is normal about none.
fn line(y: &[f64]) -> f64 {
    let n = y.len() as f64;
    let (mut yy, mut y1, mut yt, mut tt) = (0.0, 0.0, 0.0, 0.0);
    for (t, v) in y.iter().enumerate() {
        // Of variance 1, as the covariances of wanders are.
        let t = 12f64.sqrt() * (t as f64 - 0.5 * (n - 1.0)) / n;
        yy += v * v;
        y1 += v;
        yt += v * t;
        tt += t * t;
    }
    let squares = yy - y1 * y1 / n - yt * yt * SLOPE / (1.0 + SLOPE * tt);
    -0.5 * ((n - 1.0) * squares.ln() + n.ln() + (SLOPE * tt).ln_1p())
}
