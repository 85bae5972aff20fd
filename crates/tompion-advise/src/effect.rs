//! From pairs of trials to effects.
//!
//! A pair is one trial with the remedy and one without, one after the other: what the
//! machine does at that time falls on both. The pairs of one remedy are tested by
//! permutation ([`compare_replicates`]), and all tests of all remedies are one family
//! (Holm 1979).

use tompion_assess::verdict::{LEVEL, SMALLEST_RATIO};
use tompion_stats::{Adjustment, Comparison, Design, Outcome, ReplicateError, compare_replicates};

use crate::advice::{Effect, Status};
use crate::bench::Figures;

/// One trial without a remedy and one with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub off: Figures,
    pub on: Figures,
}

/// One figure of a trial, and how two of them are compared.
struct Compared {
    name: &'static str,
    figure: fn(&Figures) -> f64,
    /// By their ratio, not by their difference: tails of neighbouring trials may be
    /// thousands of times apart, and the few largest differences would be all there is.
    by_ratio: bool,
}

const FIGURES: [Compared; 2] = [
    Compared {
        name: "median",
        figure: |f| f.median_ns,
        by_ratio: false,
    },
    Compared {
        name: "p99",
        figure: |f| f.p99_ns,
        by_ratio: true,
    },
];

/// What the pairs of one remedy say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Judged {
    pub effects: Vec<Effect>,
    /// Pairs that it would take to decide; absent where they sufficed.
    pub pairs_needed: Option<usize>,
}

/// Judges remedies together: their pairs, in the order given.
pub(crate) fn judge(remedies: &[&[Pair]]) -> Vec<Judged> {
    // Those that have no pair yet, too: what it takes to decide holds for all of them.
    let family = FIGURES.len() * remedies.len();
    let mut decided: Vec<(usize, Effect)> = Vec::new();
    let mut judged = vec![Judged::default(); remedies.len()];
    for (at, pairs) in remedies.iter().enumerate() {
        for compared in &FIGURES {
            let off: Vec<f64> = pairs.iter().map(|p| (compared.figure)(&p.off)).collect();
            let on: Vec<f64> = pairs.iter().map(|p| (compared.figure)(&p.on)).collect();
            match compared.compare(&off, &on, family) {
                Ok(Outcome::Decided(c)) => decided.push((at, compared.effect(&off, &on, &c))),
                Ok(Outcome::NotDecidable { need, .. }) => judged[at].pairs_needed = Some(need),
                // A figure that is no number came from a trial without samples.
                Err(_) => {}
            }
        }
    }
    let raw: Vec<f64> = decided.iter().map(|(_, effect)| effect.p).collect();
    let adjusted = Adjustment::Holm.apply(&raw);
    for ((at, mut effect), p) in decided.into_iter().zip(adjusted) {
        effect.p_adjusted = p;
        effect.sure = p <= 1.0 - LEVEL;
        effect.notable = effect.sure && is_notable(&effect);
        judged[at].effects.push(effect);
    }
    judged
}

impl Compared {
    fn compare(&self, off: &[f64], on: &[f64], family: usize) -> Result<Outcome, ReplicateError> {
        // A sleep that spins may end on the very nanosecond.
        let scaled = |ns: &f64| if self.by_ratio { ns.max(1.0).ln() } else { *ns };
        let off: Vec<f64> = off.iter().map(scaled).collect();
        let on: Vec<f64> = on.iter().map(scaled).collect();
        compare_replicates(&off, &on, Design::Paired, 1.0 - LEVEL, family)
    }

    fn effect(&self, off: &[f64], on: &[f64], c: &Comparison) -> Effect {
        let off_ns = median(off);
        let change = |shift: f64| match self.by_ratio {
            true => off_ns * (shift.exp() - 1.0),
            false => shift,
        };
        Effect {
            quantile: self.name.to_owned(),
            off_ns,
            on_ns: median(on),
            change_ns: change(c.shift),
            low_ns: change(c.interval.low),
            high_ns: change(c.interval.high),
            p: c.p,
            p_adjusted: c.p,
            sure: false,
            notable: false,
        }
    }
}

/// Whether the change is so large that a reader should hear of it.
fn is_notable(effect: &Effect) -> bool {
    let off = effect.off_ns.max(0.0);
    if effect.change_ns < 0.0 {
        -effect.change_ns >= off * (1.0 - 1.0 / SMALLEST_RATIO)
    } else {
        effect.change_ns >= off * (SMALLEST_RATIO - 1.0)
    }
}

/// What the effects of one remedy come to.
pub(crate) fn status(judged: &Judged) -> Status {
    let helps = judged
        .effects
        .iter()
        .any(|e| e.notable && e.change_ns < 0.0);
    let harms = judged
        .effects
        .iter()
        .any(|e| e.notable && e.change_ns > 0.0);
    // Alone it would be an effect; in so long a list one such may be chance.
    let likely = |e: &Effect| !e.sure && e.p <= 1.0 - LEVEL && is_notable(e);
    let undecided = judged.effects.is_empty() || judged.effects.iter().any(likely);
    match (helps, harms) {
        (true, false) => Status::Helps,
        (false, true) => Status::Harms,
        (true, true) => Status::Mixed,
        (false, false) if undecided => Status::NotDecidable,
        (false, false) => Status::NoEffect,
    }
}

/// The largest notable gain, as a share of what it was.
pub(crate) fn gain(effects: &[Effect]) -> f64 {
    effects
        .iter()
        .filter(|e| e.notable)
        .map(|e| -e.change_ns / e.off_ns.max(1.0))
        .fold(0.0, f64::max)
}

/// The median; `NaN` of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n => 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs whose trials drift together, and differ by `change_ns` with some noise.
    fn pairs(n: usize, median_ns: f64, change_ns: f64) -> Vec<Pair> {
        let figures = |at: usize, value: f64| Figures {
            median_ns: value + 900.0 * at as f64,
            p99_ns: 2.0 * value + ((at * 7919) % 101) as f64 * 10.0,
            cpu_ns: None,
            samples: 100,
        };
        (0..n)
            .map(|at| {
                let noise = ((at * 104_729) % 97) as f64 - 48.0;
                Pair {
                    off: figures(at, median_ns),
                    on: figures(at, median_ns + change_ns + noise),
                }
            })
            .collect()
    }

    #[test]
    fn a_gain_a_loss_and_nothing_are_told_apart_below_a_drift() {
        let (gain, loss, none) = (
            pairs(14, 57e3, -49e3),
            pairs(14, 57e3, 30e3),
            pairs(14, 57e3, 0.0),
        );
        let judged = judge(&[&gain, &loss, &none]);
        let statuses: Vec<Status> = judged.iter().map(status).collect();
        assert_eq!(statuses, [Status::Helps, Status::Harms, Status::NoEffect]);
        let effect = &judged[0].effects[0];
        assert_eq!(effect.quantile, "median");
        assert!((effect.change_ns + 49e3).abs() < 100.0, "{effect:?}");
        assert!(effect.low_ns <= effect.change_ns && effect.change_ns <= effect.high_ns);
        assert!(effect.p_adjusted >= effect.p && effect.sure);
        assert!(judged[2].effects.iter().all(|e| !e.notable));
    }

    #[test]
    fn a_tail_that_halves_is_seen_though_single_trials_have_stalls() {
        let mut pairs = pairs(24, 57e3, 0.0);
        for (at, pair) in pairs.iter_mut().enumerate() {
            pair.on.p99_ns = 0.5 * pair.off.p99_ns;
            // As often on the one side as on the other.
            if at % 6 == 1 {
                let stalled = if at % 12 == 1 {
                    &mut pair.off
                } else {
                    &mut pair.on
                };
                stalled.p99_ns *= 300.0;
            }
        }
        let judged = judge(&[&pairs]);
        let tail = &judged[0].effects[1];
        assert_eq!(status(&judged[0]), Status::Helps, "{tail:?}");
        let share = tail.change_ns / tail.off_ns;
        assert!((-0.6..-0.4).contains(&share), "{tail:?}");
    }

    #[test]
    fn what_is_sure_but_small_is_no_effect_to_hear_of() {
        let small = pairs(14, 57e3, -3e3);
        let judged = judge(&[&small]);
        assert!(judged[0].effects[0].sure && !judged[0].effects[0].notable);
        assert_eq!(status(&judged[0]), Status::NoEffect);
    }

    #[test]
    fn what_would_be_an_effect_alone_is_undecided_in_a_long_list() {
        let mut pairs = pairs(8, 57e3, 0.0);
        for pair in &mut pairs {
            pair.on.median_ns = 0.5 * pair.off.median_ns;
        }
        // The least p of 8 pairs, 1/128, is too much only among many.
        pairs[0].on.median_ns = pairs[0].off.median_ns + 1.0;
        assert_eq!(status(&judge(&[&pairs])[0]), Status::Helps);
        let list = [pairs.as_slice(); 3];
        assert_eq!(status(&judge(&list)[0]), Status::NotDecidable);
    }

    #[test]
    fn too_few_pairs_say_how_many_it_takes_for_the_whole_family() {
        let few = pairs(4, 57e3, -49e3);
        let alone = judge(&[&few]);
        assert_eq!(status(&alone[0]), Status::NotDecidable);
        // 2 / 2^n times the family of 2, then of 20, has to be 0.05 or less.
        assert_eq!(alone[0].pairs_needed, Some(7));
        let many = vec![few.as_slice(); 10];
        assert_eq!(judge(&many)[0].pairs_needed, Some(10));
        let none = judge(&[&[]]);
        assert_eq!(status(&none[0]), Status::NotDecidable);
        assert_eq!(none[0].pairs_needed, Some(7));
    }

    #[test]
    fn a_list_of_remedies_without_effect_raises_a_false_alarm_in_5_percent_of_runs_at_most() {
        use rand::{Rng, SeedableRng};
        const RUNS: usize = 200;
        const REMEDIES: usize = 12;
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(5);
        let mut trial = || {
            // Now and then a stall, as beside a busy neighbour.
            let stall = if random.random_bool(0.1) { 50.0 } else { 1.0 };
            let median_ns = 57e3 * (1.0 + 0.1 * random.random::<f64>());
            Figures {
                median_ns,
                p99_ns: median_ns * stall * (1.0 + random.random::<f64>()),
                cpu_ns: None,
                samples: 100,
            }
        };
        let mut alarms = 0;
        for _ in 0..RUNS {
            let remedies: Vec<Vec<Pair>> = (0..REMEDIES)
                .map(|_| {
                    (0..14)
                        .map(|_| Pair {
                            off: trial(),
                            on: trial(),
                        })
                        .collect()
                })
                .collect();
            let pairs: Vec<&[Pair]> = remedies.iter().map(Vec::as_slice).collect();
            let judged = judge(&pairs);
            let is_sure = judged.iter().flat_map(|j| &j.effects).any(|e| e.sure);
            alarms += usize::from(is_sure);
        }
        // Binomial(200, 0.05) exceeds 22 once in 3000 seeds; this one is fixed.
        assert!(alarms <= 22, "{alarms} of {RUNS}");
    }
}
