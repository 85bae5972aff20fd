//! A comb (equally spaced times) laid over events: fit, and whether it means
//! anything.

use super::candidates::octaves;
use crate::Interval;
use crate::student::student_quantile;

/// Widths of a tooth, as shares of the period.
const WIDTHS: [f64; 5] = [
    1.0 / 16.0,
    1.0 / 64.0,
    1.0 / 256.0,
    1.0 / 1024.0,
    1.0 / 4096.0,
];

/// No tooth is narrower than this to either side: some clocks are coarse, and
/// on their lattice coincidences are common.
const NARROWEST_NS: f64 = 500.0;

/// A second fit changes the logarithm of the false alarms by less than this
/// where they are not few already.
const HOPELESS: f64 = 15.0;

/// Equally spaced times: `phase_ns + k period_ns`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Comb {
    pub period_ns: f64,
    pub phase_ns: f64,
}

/// A comb with what speaks for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub comb: Comb,
    /// 95 % interval of the period.
    pub period_interval: Interval,
    /// Logarithm of the expected number of such combs where there is none.
    pub log_false_alarms: f64,
    /// Events within this of a tooth belong to it.
    pub reach_ns: f64,
    /// Standard deviation of the events around their teeth, robust.
    pub noise_ns: f64,
    /// Teeth with an event.
    pub hits: u64,
    /// Teeth in the span.
    pub teeth: u64,
}

impl Comb {
    /// The number of the nearest tooth, and how much later than it `t` is.
    pub fn nearest(&self, t: u64) -> (i64, f64) {
        // Rounds by the unit of the last place of 1.5 * 2^52: `round` is a call
        // into libm on most targets, and this is where the time goes.
        const ROUND: f64 = 6_755_399_441_055_744.0;
        let turns = (t as f64 - self.phase_ns) / self.period_ns;
        let tooth = (turns + ROUND) - ROUND;
        (tooth as i64, (turns - tooth) * self.period_ns)
    }

    /// Teeth within 0..=`span_ns`.
    pub fn teeth(&self, span_ns: u64) -> u64 {
        let first = (-self.phase_ns / self.period_ns).ceil();
        let last = ((span_ns as f64 - self.phase_ns) / self.period_ns).floor();
        (last - first + 1.0).max(0.0) as u64
    }

    /// For each tooth that has events within `reach_ns`, its number and the
    /// distance of the nearest one.
    fn hits(&self, times: &[u64], reach_ns: f64) -> Vec<(i64, f64)> {
        let mut hits: Vec<(i64, f64)> = Vec::new();
        for &t in times {
            let (tooth, off) = self.nearest(t);
            if off.abs() > reach_ns {
                continue;
            }
            match hits.last_mut() {
                Some(last) if last.0 == tooth => {
                    if off.abs() < last.1.abs() {
                        last.1 = off;
                    }
                }
                _ => hits.push((tooth, off)),
            }
        }
        hits
    }
}

/// The comb of about this period that fits ascending `times` best. `tests` is
/// how many sets of events are searched in all.
pub(super) fn fit(times: &[u64], span_ns: u64, period_ns: f64, tests: u32) -> Option<Found> {
    let mut comb = Comb {
        period_ns,
        phase_ns: crowded_phase(times, period_ns)?,
    };
    let mut reach = period_ns / 16.0;
    let mut line = None;
    let mut best = (f64::INFINITY, 0.0);
    for round in 0..4 {
        let fitted = least_squares(&comb.hits(times, reach))?;
        comb.phase_ns += fitted.offset;
        comb.period_ns += fitted.slope;
        line = Some(fitted);
        if round % 2 == 1 {
            // Fit again to what lies close: the width that means most shows
            // where the comb's own events end and strangers begin.
            best = most_meaningful(times, span_ns, comb, tests)?;
            reach = (2.0 * best.1).min(comb.period_ns / 16.0);
            if best.0 > HOPELESS {
                return None;
            }
        }
    }
    let line = line?;
    let reach_ns = (5.0 * line.noise).clamp(best.1, reach.max(best.1));
    // Put the phase at the first tooth of the span.
    comb.phase_ns = comb.phase_ns.rem_euclid(comb.period_ns);
    Some(Found {
        comb,
        period_interval: line.period_interval(comb.period_ns)?,
        log_false_alarms: best.0,
        reach_ns,
        noise_ns: line.noise,
        hits: comb.hits(times, reach_ns).len() as u64,
        teeth: comb.teeth(span_ns),
    })
}

/// Whether teeth `factor` times as dense mean more than those found: whether it
/// is worth fitting them.
pub(super) fn denser_means_more(
    times: &[u64],
    span_ns: u64,
    found: &Found,
    factor: f64,
    tests: u32,
) -> bool {
    let comb = Comb {
        period_ns: found.comb.period_ns / factor,
        ..found.comb
    };
    let share = (2.0 * found.reach_ns / comb.period_ns).min(WIDTHS[0]);
    let nearest: Vec<(i64, f64)> = times.iter().map(|&t| comb.nearest(t)).collect();
    log_false_alarms(times, &nearest, span_ns, comb, share, tests) < found.log_false_alarms
}

/// The width of teeth with the fewest false alarms: their logarithm, and half
/// the width in ns.
fn most_meaningful(times: &[u64], span_ns: u64, comb: Comb, tests: u32) -> Option<(f64, f64)> {
    let nearest: Vec<(i64, f64)> = times.iter().map(|&t| comb.nearest(t)).collect();
    WIDTHS
        .iter()
        .map(|share| (share, share * comb.period_ns / 2.0))
        .filter(|(_, half)| *half >= NARROWEST_NS)
        .map(|(&share, half)| {
            let log = log_false_alarms(times, &nearest, span_ns, comb, share, tests);
            (log, half)
        })
        .min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Where in the period most events lie: the middle of the fullest 32nd.
fn crowded_phase(times: &[u64], period_ns: f64) -> Option<f64> {
    const BINS: usize = 64;
    let mut bins = [0u32; BINS];
    for &t in times {
        let turns = t as f64 / period_ns;
        let share = turns - (turns as u64) as f64;
        bins[((share * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    let two = |i: usize| bins[i] + bins[(i + 1) % BINS];
    let fullest = (0..BINS).max_by_key(|&i| two(i))?;
    Some((fullest + 1) as f64 / BINS as f64 * period_ns)
}

/// A straight line through the distances of events from their teeth.
struct Line {
    offset: f64,
    slope: f64,
    /// Of the slope.
    standard_error: f64,
    n: usize,
    noise: f64,
}

impl Line {
    fn period_interval(&self, period_ns: f64) -> Option<Interval> {
        let t = student_quantile(0.975, (self.n - 2) as f64);
        t.is_finite().then_some(Interval {
            low: period_ns - t * self.standard_error,
            high: period_ns + t * self.standard_error,
            level: 0.95,
        })
    }
}

fn least_squares(hits: &[(i64, f64)]) -> Option<Line> {
    if hits.len() < 4 {
        return None;
    }
    let n = hits.len() as f64;
    let mean_k = hits.iter().map(|h| h.0 as f64).sum::<f64>() / n;
    let mean_r = hits.iter().map(|h| h.1).sum::<f64>() / n;
    let (mut kk, mut kr) = (0.0, 0.0);
    for &(k, r) in hits {
        let k = k as f64 - mean_k;
        kk += k * k;
        kr += k * (r - mean_r);
    }
    let slope = kr / kk;
    let left: Vec<f64> = hits
        .iter()
        .map(|&(k, r)| r - mean_r - slope * (k as f64 - mean_k))
        .collect();
    let squares: f64 = left.iter().map(|r| r * r).sum();
    // Distances of successive teeth that resemble each other carry less: the
    // variance of a first-order autoregression.
    let products: f64 = left.windows(2).map(|w| w[0] * w[1]).sum();
    let alike = if squares > 0.0 {
        products / squares
    } else {
        0.0
    }
    .clamp(0.0, 0.99);
    let inflation = (1.0 + alike) / (1.0 - alike);
    let noise = 1.4826 * super::candidates::median(left.iter().map(|r| r.abs()).collect());
    Some(Line {
        offset: mean_r - slope * mean_k,
        slope,
        standard_error: (squares / (n - 2.0) / kk * inflation).sqrt(),
        n: hits.len(),
        noise,
    })
}

/// The logarithm of the expected number of combs that hit this often by chance.
///
/// An event is expected to hit a tooth by chance as often as windows around
/// events cover the period. Teeth without any event nearby (nearer than to
/// other teeth) tell nothing and are left out, so that neither bursts nor
/// pauses pass for structure. The number of hits is then at most binomial
/// (Hoeffding 1956), its tail below Chernoff's bound; counts that vary more
/// from phase to phase than chance allows weaken it (quasi-likelihood,
/// McCullagh and Nelder 1989, 9.2). Times the number of distinguishable
/// periods, phases and widths that could have been tried, this bounds the
/// number of false alarms (Desolneux, Moisan and Morel, "Meaningful
/// Alignments", International Journal of Computer Vision 40, 2000), however
/// the candidate was chosen.
fn log_false_alarms(
    times: &[u64],
    nearest: &[(i64, f64)],
    span_ns: u64,
    comb: Comb,
    share: f64,
    tests: u32,
) -> f64 {
    let half = share * comb.period_ns / 2.0;
    // A fit is off the nearest of the counted combs by up to half a half-width.
    let counted = 1.5 * half;
    let (mut cells, mut hits, mut covered) = (0u64, 0u64, 0.0);
    let (mut cell, mut hit, mut until) = (i64::MIN, i64::MIN, f64::MIN);
    let bins = ((1.0 / share) as usize).min(1024);
    let mut phases = vec![0u32; bins];
    for (&t, &(tooth, off)) in times.iter().zip(nearest) {
        if tooth != cell {
            cell = tooth;
            cells += 1;
        }
        if off.abs() <= half && hit != tooth {
            hit = tooth;
            hits += 1;
        }
        let end = t as f64 + counted;
        covered += end - (t as f64 - counted).max(until).min(end);
        until = end;
        let turn = off / comb.period_ns + 0.5;
        phases[((turn * bins as f64) as usize).min(bins - 1)] += 1;
    }
    let chance = covered / comb.period_ns / cells as f64;
    let rate = hits as f64 / cells as f64;
    if hits == 0 || rate <= chance {
        return f64::INFINITY;
    }
    let surprise = divergence(rate, chance) * cells as f64 / dispersion(phases);
    // Periods that differ by less than moves the last tooth by half a
    // half-width are one; so are phases.
    let octave = f64::from(octaves(span_ns).max(1));
    let periods = 4.0 * span_ns as f64 * std::f64::consts::LN_2 / (share * comb.period_ns);
    let trials = octave * WIDTHS.len() as f64 * f64::from(tests) * periods.max(1.0) * 4.0 / share;
    trials.ln() - surprise
}

/// Kullback and Leibler's divergence of two binary distributions, in nats.
fn divergence(rate: f64, chance: f64) -> f64 {
    let term = |a: f64, b: f64| if a > 0.0 { a * (a / b).ln() } else { 0.0 };
    term(rate, chance) + term(1.0 - rate, 1.0 - chance)
}

/// How many times more the counts away from the tooth vary than independent
/// ones would; at least 1. The fullest eighth is left out: other combs.
fn dispersion(mut phases: Vec<u32>) -> f64 {
    let middle = phases.len() / 2;
    phases.drain(middle - 2..middle + 2);
    phases.sort_unstable();
    phases.truncate(phases.len() * 7 / 8);
    let moments = crate::Moments::of(phases.into_iter().map(f64::from));
    match (moments.mean(), moments.standard_deviation()) {
        (Some(mean), Some(deviation)) if mean > 0.0 => (deviation.powi(2) / mean).max(1.0),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::Noise;

    #[test]
    fn the_nearest_tooth_and_the_number_of_teeth() {
        let comb = Comb {
            period_ns: 100.0,
            phase_ns: 30.0,
        };
        assert_eq!(comb.nearest(330), (3, 0.0));
        assert_eq!(comb.nearest(320).0, 3);
        assert!((comb.nearest(320).1 + 10.0).abs() < 1e-9);
        // 30, 130, 230.
        assert_eq!((comb.teeth(229), comb.teeth(230)), (2, 3));
    }

    #[test]
    fn the_period_interval_holds_its_level() {
        let covered = (0..200)
            .filter(|&seed| {
                let mut noise = Noise::new(seed);
                let times: Vec<u64> = (0..300)
                    .map(|k| (5e5 + f64::from(k) * 1e6 + 2e3 * noise.normal()) as u64)
                    .collect();
                let found = fit(&times, 300_000_000, 1_000_001.0, 1).unwrap();
                assert!(found.log_false_alarms < -100.0);
                found.period_interval.contains(1e6)
            })
            .count();
        // 190 expected, standard deviation 3.1.
        assert!((177..=200).contains(&covered), "{covered}");
    }

    #[test]
    fn a_divergence_by_hand() {
        assert_eq!(divergence(0.5, 0.5), 0.0);
        assert!((divergence(1.0, 0.25) - 4f64.ln()).abs() < 1e-12);
    }
}
