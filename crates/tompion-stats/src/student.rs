//! Quantiles of Student's t, to the last digits for any number of degrees of freedom.
//! (Those of statrs keep six digits with 10^5 degrees of freedom.)

use crate::tails::{f_upper, incomplete_beta, ln_beta, normal_upper_quantile};

/// Degrees of freedom from which the expansion around the normal quantile has all digits.
const NEARLY_NORMAL: f64 = 1e8;

/// The t with P(T <= t) = `p` for Student's T with `df` degrees of freedom, which need not
/// be whole and may be infinite. Infinite at `p` = 0 and 1; NaN where there is none.
pub(crate) fn student_quantile(p: f64, df: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p < 0.5 {
        -above(p, df)
    } else {
        // Exact: neither is more than twice the other.
        above(1.0 - p, df)
    }
}

/// The t with P(-t <= T <= t) = `level`.
pub(crate) fn student_half_width(level: f64, df: f64) -> f64 {
    if !(0.0..=1.0).contains(&level) {
        return f64::NAN;
    }
    above((1.0 - level) / 2.0, df)
}

/// The t >= 0 with P(T >= t) = `tail`, which is at most one half.
///
/// Newton's method on logarithms. As functions of ln t, those of the tail and of the
/// middle are concave: from below the root of the tail a step leads above it, and from
/// there, as from below that of the middle, steps lead to it without passing it.
fn above(tail: f64, df: f64) -> f64 {
    if df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if tail <= 0.0 {
        return f64::INFINITY;
    }
    if tail >= 0.5 {
        return 0.0;
    }
    let z = normal_upper_quantile(tail);
    let near_normal = z
        + (z.powi(3) + z) / (4.0 * df)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * df * df);
    if df > NEARLY_NORMAL {
        return near_normal;
    }
    let ln_scale = ln_beta(df / 2.0, 0.5) + 0.5 * df.ln();
    let ln_density = |t: f64| -0.5 * (df + 1.0) * (t * t / df).ln_1p() - ln_scale;
    if tail > 0.25 {
        let middle = 1.0 - 2.0 * tail;
        let within = |t: f64| {
            let whole = df + t * t;
            incomplete_beta(0.5, df / 2.0, t * t / whole, df / whole)
        };
        // The density is nowhere above that at 0.
        let start = 0.5 * middle / ln_density(0.0).exp();
        newton(start, |t| {
            let p = within(t);
            -(p / middle).ln() * p / (2.0 * t * ln_density(t).exp())
        })
    } else {
        // The power law that the tail becomes far out lies above it.
        let far = 0.5 * df.ln() - (tail.ln() + df.ln() + ln_beta(df / 2.0, 0.5)) / df;
        if far > 100.0 {
            // No digit tells it from the tail, and t squared might be too large.
            return far.exp();
        }
        newton(far.exp().min(near_normal), |t| {
            let p = 0.5 * f_upper(t * t, 1.0, df);
            (p / tail).ln() * p / (ln_density(t) + t.ln()).exp()
        })
    }
}

/// `t` moved until the steps of its logarithm are below what digits can tell.
fn newton(mut t: f64, step: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..100 {
        let by = step(t);
        t *= by.exp();
        if by.is_nan() || by.abs() <= 1e-15 {
            break;
        }
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEVELS: [f64; 4] = [0.9, 0.95, 0.99, 0.999];

    /// scipy.special.stdtrit(df, 0.5 + level / 2) of SciPy 1.17.1 at LEVELS.
    #[rustfmt::skip]
    const SCIPY: [(f64, [f64; 4]); 11] = [
        (1.0, [6.313751514675037, 12.706204736174694, 63.656741162871526, 636.6192487687897]),
        (2.0, [2.9199855803537242, 4.302652729749462, 9.924843200918287, 31.599054576445365]),
        (3.0, [2.3533634348018233, 3.1824463052837078, 5.840909309733355, 12.923978636687961]),
        (5.0, [2.0150483733330233, 2.5705818356363146, 4.032142983555228, 6.868826625881276]),
        (10.0, [1.8124611228116756, 2.228138851986274, 3.16927267261695, 4.586893858702708]),
        (30.0, [1.697260886593957, 2.0422724563012378, 2.7499956535672254, 3.6459586350420627]),
        (100.0, [1.6602343260853392, 1.9839715185235518, 2.6258905214380173, 3.390491311164263]),
        (1e3, [1.6463788172854643, 1.9623390808264083, 2.580754698065951, 3.300282648423944]),
        (1e4, [1.645006018069243, 1.960201239890626, 2.5763210466685282, 3.2914999659416355]),
        (1e5, [1.6448688647849696, 1.9599877075346095, 2.575878469908375, 3.2906240314119137]),
        (1e6, [1.6448551507220404, 1.959966356814107, 2.5758342201053344, 3.2905364612487222]),
    ];

    fn close(got: f64, want: f64) {
        assert!(((got - want) / want).abs() < 1e-12, "{got:e} {want:e}");
    }

    #[test]
    fn quantiles_are_those_of_scipy() {
        for (df, row) in SCIPY {
            for (level, want) in LEVELS.into_iter().zip(row) {
                let p = 0.5 + level / 2.0;
                close(student_quantile(p, df), want);
                assert_eq!(student_quantile(1.0 - p, df), -student_quantile(p, df));
            }
        }
        // Near the middle, far out, of broken and of very many degrees of freedom.
        for (p, df, want) in [
            (0.6, 2.5, 0.2814595127485477),
            (0.74, 1e6, 0.6433456327984287),
            (0.76, 1e6, 0.7063028275029269),
            (0.3, 0.5, -1.0095258786071655),
            (1e-12, 4.0, -1316.0727465592565),
            (1e-100, 30.0, -10810.645001143976),
            (0.999999, 0.25, 1.704693330646571e22),
            (0.975, 1e7, 1.959964221767205),
            (0.975, 3e9, 1.9599639853308113),
        ] {
            close(student_quantile(p, df), want);
        }
    }

    #[test]
    fn quantiles_agree_with_closed_forms() {
        // One degree of freedom is Cauchy; with two t = (2 p - 1) / sqrt(2 p (1 - p)).
        close(
            student_half_width(0.9, 1.0),
            (0.45 * std::f64::consts::PI).tan(),
        );
        close(
            student_half_width(0.95, 2.0),
            0.95 / (2.0f64 * 0.975 * 0.025).sqrt(),
        );
        // Far out one degree of freedom has 1 / (pi t).
        close(student_quantile(1e-200, 1.0), -1e200 / std::f64::consts::PI);
        close(student_quantile(0.975, f64::INFINITY), 1.959963984540054);
    }

    #[test]
    fn ends_and_nonsense() {
        assert_eq!(student_quantile(0.5, 3.0), 0.0);
        assert_eq!(student_quantile(1.0, 3.0), f64::INFINITY);
        assert_eq!(student_quantile(0.0, 3.0), f64::NEG_INFINITY);
        for (p, df) in [
            (f64::NAN, 3.0),
            (1.1, 3.0),
            (-0.1, 3.0),
            (0.9, 0.0),
            (0.9, f64::NAN),
        ] {
            assert!(student_quantile(p, df).is_nan(), "{p} {df}");
        }
        assert!(student_half_width(1.5, 3.0).is_nan());
    }

    proptest! {
        #[test]
        fn a_quantile_has_its_tail(log_tail in -300.0f64..-0.31, log_df in 0.35f64..7.0) {
            let (tail, df) = (10f64.powf(log_tail), 10f64.powf(log_df));
            let t = -student_quantile(tail, df);
            let found = 0.5 * f_upper(t * t, 1.0, df);
            // A last digit of t counts as often as the tail falls steeply.
            let steep = (df.min(t * t) + 1.0) * 1e-15;
            prop_assert!((found / tail - 1.0).abs() < 1e-12 + steep, "{t} {found:e} {tail:e}");
        }
    }
}
