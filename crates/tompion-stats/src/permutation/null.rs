//! The null distribution of a sum of mid-ranks: counted, approximated or sampled.

use std::cell::OnceCell;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::saddlepoint::{self, Drawn};
use super::{Design, Relabelings, composed};

/// Additions that a counted distribution may cost: some 20 ms, since an interval asks for dozens.
/// Two groups of 50 replicates reach them, or 340 pairs.
const MOST_ADDITIONS: u64 = 20_000_000;

/// Where counting costs more, and the smaller group has at most so many replicates, relabellings
/// are sampled: too few for an approximation, and soon drawn.
const FEW: usize = 20;

/// So many.
const RELABELINGS: u32 = 99_999;

/// Their seed; the same figures give the same p.
const SEED: u64 = 0x7065_726d;

/// The counted distribution of two groups without ties, which many shifts share.
pub(super) type Untied = OnceCell<Vec<f64>>;

/// Two-sided p of "`b` lies higher than `a` by `shift`"; `untied` belongs to the
/// sizes of `a` and `b`.
pub(super) fn p_at(
    a: &[f64],
    b: &[f64],
    design: Design,
    shift: f64,
    untied: &Untied,
) -> (f64, Relabelings) {
    let tolerance = tolerance(a, b, shift);
    match design {
        Design::Independent => {
            let pooled: Vec<f64> = a
                .iter()
                .copied()
                .chain(b.iter().map(|x| x - shift))
                .collect();
            let ranks = doubled_mid_ranks(&pooled, tolerance);
            // The smaller group's sum tells all: the other is what is left.
            let (group, size) = match a.len() <= b.len() {
                true => (&ranks[..a.len()], a.len()),
                false => (&ranks[a.len()..], b.len()),
            };
            let observed = group.iter().sum();
            independent(ranks.clone(), size, observed, untied)
        }
        Design::Paired => {
            let differences: Vec<f64> = a.iter().zip(b).map(|(x, y)| y - x - shift).collect();
            let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
            let ranks = doubled_mid_ranks(&sizes, tolerance);
            let flips = |d: f64| d.abs() > tolerance;
            let observed = ranks
                .iter()
                .zip(&differences)
                .filter(|(_, d)| flips(**d) && **d > 0.0)
                .map(|(r, _)| r)
                .sum();
            let flipping = ranks
                .iter()
                .zip(&differences)
                .filter(|(_, d)| flips(**d))
                .map(|(r, _)| *r)
                .collect();
            paired(flipping, observed)
        }
    }
}

/// Additions that one p of these figures costs, as far as it can be told without a shift; a step of what does
/// not add counts as the additions that take as long.
pub(super) fn additions(a: &[f64], b: &[f64], design: Design) -> u64 {
    let tolerance = tolerance(a, b, 0.0);
    let n = a.len() as u64 + b.len() as u64;
    let approximated = n * 1000;
    match design {
        Design::Independent => {
            let pooled: Vec<f64> = a.iter().chain(b).copied().collect();
            let mut ranks = doubled_mid_ranks(&pooled, tolerance);
            halve(&mut ranks, &mut 0);
            ranks.sort_unstable();
            let choose = a.len().min(b.len());
            let largest: u64 = ranks.iter().rev().take(choose).sum();
            match n * choose as u64 * largest {
                counted if counted <= MOST_ADDITIONS => counted,
                _ => match composed::ways_of(&ranks, choose) {
                    Some(ways) => 10 * ways,
                    None if choose > FEW => approximated,
                    None => 5 * u64::from(RELABELINGS) * choose as u64,
                },
            }
        }
        Design::Paired => {
            let pairs = a.len() as u64;
            match pairs * (pairs * (pairs + 1) / 2) {
                counted if counted <= MOST_ADDITIONS => counted,
                _ => approximated,
            }
        }
    }
}

/// How close two figures must be to be a tie: rounding of the largest.
pub(super) fn tolerance(a: &[f64], b: &[f64], shift: f64) -> f64 {
    let largest = a.iter().chain(b).fold(shift.abs(), |m, x| m.max(x.abs()));
    8.0 * f64::EPSILON * largest
}

/// Twice the mid-rank of each value, which is whole.
fn doubled_mid_ranks(values: &[f64], tolerance: f64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let first = values[order[start]];
        let end = start
            + order[start..]
                .iter()
                .take_while(|&&i| values[i] - first <= tolerance)
                .count();
        for &i in &order[start..end] {
            ranks[i] = (start + 1 + end) as u64;
        }
        start = end;
    }
    ranks
}

fn independent(
    mut ranks: Vec<u64>,
    choose: usize,
    mut observed: u64,
    untied: &Untied,
) -> (f64, Relabelings) {
    if choose == 0 {
        return (1.0, Relabelings::All);
    }
    halve(&mut ranks, &mut observed);
    let mut sorted = ranks.clone();
    sorted.sort_unstable();
    let largest_sum: u64 = sorted.iter().rev().take(choose).sum();
    let additions = ranks.len() as u64 * choose as u64 * largest_sum;
    if additions <= MOST_ADDITIONS {
        let count = || counted_sums(&sorted, choose, largest_sum as usize);
        let p = match sorted.iter().copied().eq(1..=ranks.len() as u64) {
            true => counted_two_sided(untied.get_or_init(count), observed),
            false => counted_two_sided(&count(), observed),
        };
        (p, Relabelings::All)
    } else if let Some(p) = composed::two_sided(&sorted, choose, observed) {
        (p, Relabelings::All)
    } else if choose > FEW {
        let p = saddlepoint::two_sided(&ranks, Drawn::Few(choose), observed);
        (p, Relabelings::Approximated)
    } else {
        sampled(observed, |random| {
            // The first steps of a Fisher-Yates shuffle deal out one group.
            let mut sum = 0;
            for i in 0..choose {
                let j = random.random_range(i..ranks.len());
                ranks.swap(i, j);
                sum += ranks[i];
            }
            sum
        })
    }
}

fn paired(mut ranks: Vec<u64>, mut observed: u64) -> (f64, Relabelings) {
    halve(&mut ranks, &mut observed);
    let total: u64 = ranks.iter().sum();
    if ranks.len() as u64 * total <= MOST_ADDITIONS {
        (
            counted_two_sided(&counted_flips(&ranks), observed),
            Relabelings::All,
        )
    } else {
        let p = saddlepoint::two_sided(&ranks, Drawn::Any, observed);
        (p, Relabelings::Approximated)
    }
}

/// Undoubles ranks where no tie made a half.
fn halve(ranks: &mut [u64], observed: &mut u64) {
    if ranks.iter().all(|r| r % 2 == 0) {
        ranks.iter_mut().for_each(|r| *r /= 2);
        *observed /= 2;
    }
}

/// In how many ways `choose` of the ranks add up to each sum (the recursion of
/// Mann and Whitney 1947 over arbitrary scores; Streitberg and Röhmel 1986).
/// `ranks` ascend, so that the sums reached stay small for long.
pub(super) fn counted_sums(ranks: &[u64], choose: usize, largest: usize) -> Vec<f64> {
    let width = largest + 1;
    let mut ways = vec![0.0f64; (choose + 1) * width];
    ways[0] = 1.0;
    for (seen, &rank) in ranks.iter().enumerate() {
        let rank = rank as usize;
        for chosen in (1..=choose.min(seen + 1)).rev() {
            let (before, after) = ways.split_at_mut(chosen * width);
            let from = &before[(chosen - 1) * width..];
            let to = after[..width].iter_mut().skip(rank);
            for (to, from) in to.zip(from) {
                *to += from;
            }
        }
    }
    ways.split_off(choose * width)
}

/// How likely each sum of the ranks is of which each is in it or not.
pub(super) fn counted_flips(ranks: &[u64]) -> Vec<f64> {
    // Probabilities, not counts: 2^n soon leaves the range of f64.
    let mut shares = vec![0.0; ranks.iter().sum::<u64>() as usize + 1];
    shares[0] = 1.0;
    let mut reached = 0;
    for &rank in ranks {
        let rank = rank as usize;
        reached += rank;
        for sum in (0..=reached).rev() {
            let with = if sum >= rank { shares[sum - rank] } else { 0.0 };
            shares[sum] = 0.5 * (shares[sum] + with);
        }
    }
    shares
}

/// Twice the smaller tail, ends included, of weights that need not add up to 1.
pub(super) fn counted_two_sided(weights: &[f64], observed: u64) -> f64 {
    let observed = observed as usize;
    let below: f64 = weights[..=observed].iter().sum();
    let above: f64 = weights[observed..].iter().sum();
    let total: f64 = weights.iter().sum();
    (2.0 * below.min(above) / total).min(1.0)
}

fn sampled(observed: u64, mut draw: impl FnMut(&mut ChaCha8Rng) -> u64) -> (f64, Relabelings) {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let (mut below, mut above) = (1u32, 1u32);
    for _ in 0..RELABELINGS {
        let sum = draw(&mut random);
        below += u32::from(sum <= observed);
        above += u32::from(sum >= observed);
    }
    let p = 2.0 * f64::from(below.min(above)) / f64::from(RELABELINGS + 1);
    let relabelings = Relabelings::Sampled {
        count: RELABELINGS,
        seed: SEED,
    };
    (p.min(1.0), relabelings)
}
