//! The generalised Pareto distribution and its likeliest parameters.

/// Below this shape the likelihood has no regular maximum (Smith 1985).
pub(super) const LEAST_SHAPE: f64 = -0.5;

/// Shapes this close to 0 are exponential.
const FLAT: f64 = 1e-9;

/// P(X > x) = (1 + shape x / scale)^(-1/shape), for x above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pareto {
    pub(super) shape: f64,
    pub(super) scale: f64,
}

impl Pareto {
    /// The likeliest for ascending `excesses`, not all 0.
    ///
    /// With r = shape / scale given, the shape is the mean of ln(1 + r x), so one search
    /// over r does (Grimshaw 1993); r = (e^s - 1) / max x keeps it in range.
    pub(super) fn likeliest(excesses: &[f64]) -> Self {
        let largest = excesses.iter().fold(0.0f64, |m, x| m.max(*x));
        let mean = excesses.iter().sum::<f64>() / excesses.len() as f64;
        let at = |s: f64| -> Self {
            let r = s.exp_m1() / largest;
            let shape = sum_of_ln_1p(excesses, r) / excesses.len() as f64;
            if shape.abs() < FLAT {
                return Self {
                    shape: 0.0,
                    scale: mean,
                };
            }
            Self {
                shape,
                scale: shape / r,
            }
        };
        let mean_ln_density = |s: f64| {
            let p = at(s);
            match p.shape < LEAST_SHAPE {
                true => f64::MIN,
                false => -p.scale.ln() - p.shape - 1.0,
            }
        };
        at(maximum(-4.0, 14.0, 36, mean_ln_density))
    }

    /// The x that is exceeded with probability `p`.
    pub(super) fn exceeded_with(&self, p: f64) -> f64 {
        self.scale * growth(self.shape, -p.ln())
    }

    /// P(X > x).
    pub(super) fn upper(&self, x: f64) -> f64 {
        if self.shape.abs() < FLAT {
            return (-x / self.scale).exp();
        }
        let base = self.shape * x / self.scale;
        match base > -1.0 {
            true => (-base.ln_1p() / self.shape).exp(),
            false => 0.0,
        }
    }

    /// Logarithm of the density of all of `excesses` together.
    pub(super) fn ln_likelihood(&self, excesses: &[f64]) -> f64 {
        let n = excesses.len() as f64;
        if self.shape.abs() < FLAT {
            return -n * self.scale.ln() - excesses.iter().sum::<f64>() / self.scale;
        }
        let r = self.shape / self.scale;
        let ln = sum_of_ln_1p(excesses, r);
        -n * self.scale.ln() - (1.0 + 1.0 / self.shape) * ln
    }

    /// Anderson and Darling's A squared of ascending `excesses`.
    pub(super) fn anderson_darling(&self, excesses: &[f64]) -> f64 {
        let n = excesses.len();
        let upper: Vec<f64> = excesses
            .iter()
            .map(|x| self.upper(*x).clamp(1e-300, 1.0 - 1e-16))
            .collect();
        let sum: f64 = (0..n)
            .map(|i| (2 * i + 1) as f64 * ((-upper[i]).ln_1p() + upper[n - 1 - i].ln()))
            .sum();
        -(n as f64) - sum / n as f64
    }
}

/// The sum of ln(1 + `r` x), minus infinity where an x is beyond the range.
///
/// By the logarithms of products of eight, one for eight of them; only where all are near 0 would
/// these lose what they differ by.
fn sum_of_ln_1p(excesses: &[f64], r: f64) -> f64 {
    /// Products of eight between these neither overflow nor vanish.
    const PLAIN: std::ops::Range<f64> = 1e-30..1e30;
    let largest = excesses.iter().fold(0.0f64, |m, x| m.max(*x));
    let one_by_one = |xs: &[f64]| -> f64 { xs.iter().map(|x| (r * x).max(-1.0).ln_1p()).sum() };
    if (r * largest).abs() < 0.01 {
        return one_by_one(excesses);
    }
    let eights = excesses.chunks_exact(8);
    let rest = one_by_one(eights.remainder());
    let of_eight = |xs: &[f64]| match xs.iter().all(|x| PLAIN.contains(&(1.0 + r * x))) {
        true => xs.iter().map(|x| 1.0 + r * x).product::<f64>().ln(),
        false => one_by_one(xs),
    };
    rest + eights.map(of_eight).sum::<f64>()
}

/// (e^(shape t) - 1) / shape, t at shape 0: the quantile in units of the scale.
pub(super) fn growth(shape: f64, t: f64) -> f64 {
    match shape.abs() < FLAT {
        true => t,
        false => (shape * t).exp_m1() / shape,
    }
}

/// Where `of` is largest between `from` and `to`: the best of `steps`, then golden
/// sections about it.
pub(super) fn maximum(from: f64, to: f64, steps: u32, of: impl Fn(f64) -> f64) -> f64 {
    let width = (to - from) / f64::from(steps);
    let at = |i: u32| from + width * f64::from(i);
    let best = (0..=steps)
        .map(|i| (at(i), of(at(i))))
        .fold((from, f64::MIN), |m, v| match v.1 > m.1 {
            true => v,
            false => m,
        });
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let (mut low, mut high) = ((best.0 - width).max(from), (best.0 + width).min(to));
    let (mut a, mut b) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_a, mut at_b) = (of(a), of(b));
    for _ in 0..34 {
        if at_a > at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - golden * (high - low);
            at_a = of(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + golden * (high - low);
            at_b = of(b);
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::sum_of_ln_1p;

    #[test]
    fn logarithms_of_products_add_up_to_those_of_their_factors() {
        let excesses: Vec<f64> = (0..83).map(|i| 1.07f64.powi(i)).collect();
        let largest = excesses[82];
        for r in [
            1e-12, -0.009, 0.011, 1.0, 1e9, 1e40, -0.5, -0.999_999, -1.0, -1.5,
        ]
        .map(|r| r / largest)
        {
            let plain: f64 = excesses.iter().map(|x| (r * x).max(-1.0).ln_1p()).sum();
            let sum = sum_of_ln_1p(&excesses, r);
            let is_near = (sum - plain).abs() <= 1e-12 * plain.abs();
            assert!(sum == plain || is_near, "{r}: {sum}, {plain}");
        }
    }
}
