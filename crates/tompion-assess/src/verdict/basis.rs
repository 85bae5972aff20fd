//! What a cell's figures are computed from.

use tompion_model::{
    AT_REST, Blocks, Cell, Factors, MethodRow, Way, factor, format_ns, level_in_words,
    range_in_words,
};
use tompion_probe::method;
use tompion_stats::{
    BlockRange, Distribution, Interval, MeanDistribution, mean_interval, ratio_interval,
};

/// Confidence level of every interval in an assessment.
pub const LEVEL: f64 = 0.95;

/// Smaller effects are not worth a sentence, even where they exceed the noise.
pub const SMALLEST_RATIO: f64 = 1.2;

/// The blocks to judge a cell by: with missed periods filled in where the cell
/// has a grid, since a late wake-up hides the events that should have followed.
pub fn blocks(cell: &Cell) -> &Blocks {
    match cell.filled_blocks.have_no_values() {
        true => &cell.blocks,
        false => &cell.filled_blocks,
    }
}

/// Blocks with the number that the first of them has in the run.
#[derive(Clone, Copy, Debug)]
pub struct Numbered<'a> {
    /// The blocks.
    pub blocks: &'a Blocks,
    /// The number of the first.
    pub first: usize,
}

impl Numbered<'_> {
    /// Those from a number on.
    fn from(self, number: usize) -> Blocks {
        self.blocks.after(number.saturating_sub(self.first))
    }
}

/// The blocks to judge a cell by, with their numbers.
pub fn numbered(cell: &Cell) -> Numbered<'_> {
    Numbered {
        blocks: blocks(cell),
        first: cell.first_block,
    }
}

/// What the method of a cell says of itself; `None` where this version does not know it.
pub fn method(factors: &Factors) -> Option<&'static MethodRow> {
    method::row(factors.level(factor::PROBE), factors.level(factor::METHOD))
}

/// How the method of a cell comes to its end.
pub fn way(factors: &Factors) -> Option<Way> {
    method(factors).map(|m| m.way)
}

/// Samples actually taken, without those filled in.
pub fn samples(cell: &Cell) -> u64 {
    cell.blocks.iter().map(Distribution::len).sum()
}

/// The `q`-quantile of the mean of blocks in nanoseconds.
pub fn quantile_ns(blocks: &[Distribution], q: f64) -> Option<f64> {
    MeanDistribution::of(blocks).quantile(q).map(|ps| ps / 1e3)
}

/// The share of values above a limit in picoseconds, each block weighing the same; 0 without values.
pub fn late_share(blocks: &[Distribution], limit_ps: i64) -> f64 {
    let shares: Vec<f64> = blocks.iter().filter_map(|b| later(b, limit_ps)).collect();
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}

/// The lowest and the highest `q`-quantile of blocks that disagree, in nanoseconds; `None` where they
/// agree.
pub fn range_ns(blocks: &Blocks, q: f64) -> Option<BlockRange> {
    Some(blocks.quantile(q, LEVEL)?.range?.scaled(1e-3))
}

/// How one quantile of `a` compares to that of `b`, block by block: what was measured from a later block on is compared
/// from there on.
pub struct Comparison {
    /// Quantile of the mean of the blocks of `a` in nanoseconds.
    pub a_ns: f64,
    /// The same of `b` in nanoseconds.
    pub b_ns: f64,
    /// Where the blocks of `a` disagree: from which of their quantiles to which, in nanoseconds.
    pub a_range: Option<BlockRange>,
    /// The same of `b`.
    pub b_range: Option<BlockRange>,
    /// Geometric mean over blocks of `a / b`; the ratio of the two
    /// quantiles where fewer than two blocks can be paired.
    pub ratio: f64,
    /// Interval of the ratio; `None` below two pairs.
    pub interval: Option<Interval>,
    /// By how much the share of samples later than both quantiles' geometric mean is larger in `a`: its interval over
    /// pairs of blocks; `None` below two. Short blocks seldom meet a rare pause, and their quantile then says nothing of
    /// it; this share comes out right whatever their length.
    pub later: Option<Interval>,
    /// Where blocks of a side disagree: from which pair of blocks' `a / b` to which. One number would
    /// stand for none of them.
    pub ratio_range: Option<BlockRange>,
}

impl Comparison {
    /// Compares blocks of the same number; `None` where one side has no samples in them or a
    /// quantile that is not positive.
    pub fn of(a: Numbered<'_>, b: Numbered<'_>, q: f64) -> Option<Self> {
        Self::among(1, a, b, q)
    }

    /// The same for one of so many comparisons by which one thing is decided: all of their intervals hold at once
    /// as often as one does else (Bonferroni).
    pub fn among(number: usize, a: Numbered<'_>, b: Numbered<'_>, q: f64) -> Option<Self> {
        let level = 1.0 - (1.0 - LEVEL) / number.max(1) as f64;
        let first = a.first.max(b.first);
        let (a, b) = (a.from(first), b.from(first));
        let (a_ns, b_ns) = (quantile_ns(&a, q)?, quantile_ns(&b, q)?);
        let both = || a.iter().zip(b.iter());
        let pairs: Vec<(f64, f64)> = both()
            .filter_map(|(a, b)| Some((a.quantile(q)?, b.quantile(q)?)))
            .collect();
        let paired = ratio_interval(&pairs, level);
        let ratio = paired.map_or(a_ns / b_ns, |p| p.0);
        let between_ps = ((a_ns * b_ns).max(0.0).sqrt() * 1e3) as i64;
        let more: Vec<f64> = both()
            .filter_map(|(a, b)| Some(later(a, between_ps)? - later(b, between_ps)?))
            .collect();
        let (a_range, b_range) = (range_ns(&a, q), range_ns(&b, q));
        let disagree = a_range.is_some() || b_range.is_some();
        (a_ns > 0.0 && b_ns > 0.0).then_some(Self {
            a_ns,
            b_ns,
            a_range,
            b_range,
            ratio,
            interval: paired.map(|p| p.1),
            later: mean_interval(&more, level).map(|p| p.1),
            ratio_range: disagree.then(|| range_of_ratios(&pairs)).flatten(),
        })
    }

    /// The quantile of `a`; where its blocks disagree, from which of theirs to which.
    pub fn a_in_words(&self) -> String {
        or_range(self.a_ns, self.a_range)
    }

    /// The same of `b`.
    pub fn b_in_words(&self) -> String {
        or_range(self.b_ns, self.b_range)
    }

    /// Whether blocks of one side disagree.
    pub fn has_ranges(&self) -> bool {
        self.a_range.is_some() || self.b_range.is_some()
    }

    /// `ratio` as a multiple for a sentence; where blocks disagree, from which of theirs to which.
    pub fn times_in_words(&self, ratio: f64) -> String {
        match self.ratio_range {
            Some(range) => format!("{} (blocks)", times_to_times(range)),
            None => times(ratio),
        }
    }

    /// The ratio of the two quantiles, which the reader can check.
    pub fn whole_ratio(&self) -> f64 {
        self.a_ns / self.b_ns
    }

    /// Whether `a` is larger beyond the noise between blocks.
    pub fn is_larger(&self) -> bool {
        self.interval.is_some_and(|i| i.low > 1.0)
    }

    /// Whether `a` is larger beyond the noise, and by so much that a reader
    /// should hear of it: block by block, over all blocks, and by how many samples are late.
    pub fn is_notably_larger(&self) -> bool {
        let has_more_late = self.later.is_some_and(|i| i.low > 0.0);
        self.is_larger() && has_more_late && self.ratio.min(self.whole_ratio()) >= SMALLEST_RATIO
    }

    /// The same for `a` being smaller.
    pub fn is_notably_smaller(&self) -> bool {
        let has_fewer_late = self.later.is_some_and(|i| i.high < 0.0);
        self.interval.is_some_and(|i| i.high < 1.0)
            && has_fewer_late
            && self.ratio.max(self.whole_ratio()) <= 1.0 / SMALLEST_RATIO
    }
}

/// The share of the values of a block above `limit_ps`; `None` without values.
fn later(block: &Distribution, limit_ps: i64) -> Option<f64> {
    (!block.is_empty()).then(|| block.count_above(limit_ps) as f64 / block.len() as f64)
}

fn or_range(ns: f64, range: Option<BlockRange>) -> String {
    range.map_or_else(|| format_ns(ns), range_in_words)
}

/// The smallest and the largest `a / b`; `None` below two pairs.
fn range_of_ratios(pairs: &[(f64, f64)]) -> Option<BlockRange> {
    let positive = pairs.iter().filter(|(a, b)| *a > 0.0 && *b > 0.0);
    let ratios: Vec<f64> = positive.map(|(a, b)| a / b).collect();
    (ratios.len() > 1).then(|| BlockRange {
        low: ratios.iter().copied().fold(f64::INFINITY, f64::min),
        high: ratios.iter().copied().fold(0.0, f64::max),
    })
}

/// `19.1 to 956`, or one number where no digit differs.
pub fn times_to_times(range: BlockRange) -> String {
    let (low, high) = (times(range.low), times(range.high));
    match low == high {
        true => low,
        false => format!("{low} to {high}"),
    }
}

/// A cell for a sentence: `usleep (100 µs, timer slack 1 ns)`. The load and the
/// default levels go without saying.
pub fn name(factors: &Factors) -> String {
    let mut details: Vec<String> = factors
        .get(factor::TARGET)
        .map(level_in_words)
        .into_iter()
        .collect();
    for (name, level) in factors.iter() {
        match name {
            factor::PROBE | factor::METHOD | factor::TARGET | factor::LOAD => {}
            factor::SLACK if level == "default" => {}
            factor::POLICY if level == "other" => {}
            factor::SLACK => details.push(format!("timer slack {}", level_in_words(level))),
            _ => details.push(format!("{name} {level}")),
        }
    }
    let method = factors.level(factor::METHOD);
    if details.is_empty() {
        method.to_owned()
    } else {
        format!("{method} ({})", details.join(", "))
    }
}

/// `at rest` or `under cpu load`.
pub fn under(load: &str) -> String {
    match load {
        "" | AT_REST => "at rest".to_owned(),
        load => format!("under {load} load"),
    }
}

/// A ratio for a sentence: `1.23`, `12.3`, `1234`.
pub fn times(ratio: f64) -> String {
    match ratio {
        r if r >= 999.5 => {
            // Digits beyond the third are noise.
            let unit = 10f64.powi(r.log10().floor() as i32 - 2);
            format!("{:.0}", (r / unit).round() * unit)
        }
        r if r >= 99.95 => format!("{r:.0}"),
        r if r >= 9.995 => format!("{r:.1}"),
        r => format!("{r:.2}"),
    }
}

/// The sentence with its first letter in upper case.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_named_without_defaults() {
        let f = Factors::new()
            .with(factor::PROBE, "wake-up")
            .with(factor::METHOD, "usleep")
            .with(factor::TARGET, "1ms")
            .with(factor::SLACK, "default")
            .with(factor::LOAD, "cpu");
        assert_eq!(name(&f), "usleep (1 ms)");
        assert_eq!(
            name(&f.with(factor::SLACK, "1ns").with(factor::POLICY, "fifo:50")),
            "usleep (1 ms, policy fifo:50, timer slack 1 ns)"
        );
    }

    fn of(a: &Blocks, b: &Blocks) -> Option<Comparison> {
        let whole = |blocks| Numbered { blocks, first: 0 };
        Comparison::of(whole(a), whole(b), 0.5)
    }

    #[test]
    fn blocks_of_the_same_number_are_compared() {
        // Twice as slow from block to block; what begins with the second is twice as fast in each.
        let blocks = |of: &[i64]| Blocks::from_iter(of.iter().map(|v| vec![v * 1000; 100]));
        let whole = blocks(&[64, 2, 4, 8, 16]);
        let later = blocks(&[1, 2, 4, 8]);
        let [a, b] = [(&whole, 0), (&later, 1)].map(|(blocks, first)| Numbered { blocks, first });
        for (c, wanted) in [
            (Comparison::of(a, b, 0.5), 2.0),
            (Comparison::of(b, a, 0.5), 0.5),
        ] {
            let c = c.unwrap();
            let interval = c.interval.unwrap();
            assert!((c.ratio - wanted).abs() < 1e-9);
            assert!(
                interval.high - interval.low < 1e-9,
                "each pair says the same"
            );
        }
        // None in common.
        let late = Numbered {
            blocks: &later,
            first: 5,
        };
        assert!(Comparison::of(a, late, 0.5).is_none());
    }

    #[test]
    fn a_pause_that_short_blocks_did_not_meet_is_no_gain() {
        let block = |n: usize, late: usize, late_ns: i64| -> Vec<i64> {
            let ns = |i: usize| if i < late { late_ns } else { 9_000 };
            (0..n).map(|i| ns(i) * 1000).collect()
        };
        let blocks =
            |late: [usize; 6]| Blocks::from_iter(late.map(|late| block(500, late, 388_000_000)));
        let among = |number, a: &Blocks, b: &Blocks| {
            let [a, b] = [a, b].map(|blocks| Numbered { blocks, first: 0 });
            Comparison::among(number, a, b, 0.99).unwrap()
        };
        // Most of the short ones had no pause, one had part of one: that is the luck of the short.
        let short = [20, 0, 0, 0, 0, 0].map(|late| block(40, late, 196_000_000));
        let c = among(
            1,
            &blocks([400, 50, 0, 60, 40, 50]),
            &Blocks::from_iter(short),
        );
        assert!(c.is_larger() && c.whole_ratio() > 1.9);
        assert!(!c.is_notably_larger() && !c.is_notably_smaller());
        // None of as many is a gain; where many are looked at, one looks so by chance.
        let (steady, spared) = (blocks([150, 100, 0, 350, 90, 120]), blocks([0; 6]));
        assert!(among(1, &steady, &spared).is_notably_larger());
        assert!(among(1, &spared, &steady).is_notably_smaller());
        assert!(!among(12, &steady, &spared).is_notably_larger());
    }

    #[test]
    fn a_comparison_of_one_block_has_no_interval() {
        let d = |v: i64| Blocks::from_iter([vec![v; 3]]);
        let c = of(&d(4000), &d(2000)).unwrap();
        assert!((c.ratio - 2.0).abs() < 1e-12 && c.interval.is_none() && !c.is_larger());
        assert!(of(&Blocks::default(), &d(1)).is_none());
        assert!(of(&d(0), &d(1)).is_none());
    }

    #[test]
    fn a_ratio_of_blocks_that_disagree_is_a_range() {
        let blocks = |of: [i64; 6]| Blocks::from_iter(of.map(|v| vec![v; 100]));
        let steady = blocks([1000; 6]);
        let moody = blocks([9000, 9000, 3000, 9000, 9000, 18_000]);
        let c = of(&moody, &steady).unwrap();
        assert!(c.a_range.is_some() && c.b_range.is_none());
        let BlockRange { low, high } = c.ratio_range.unwrap();
        assert!((low - 3.0).abs() < 1e-9 && (high - 18.0).abs() < 1e-9);
        assert_eq!(c.times_in_words(c.ratio), "3.00 to 18.0 (blocks)");
        // Of both the same: what they differ in is no range of moods.
        let slower = blocks([18_000, 18_000, 6000, 18_000, 18_000, 36_000]);
        let c = of(&slower, &moody).unwrap();
        assert_eq!(c.times_in_words(c.ratio), "2.00 (blocks)");
        // Blocks that agree.
        let c = of(&steady, &steady).unwrap();
        assert_eq!((c.ratio_range, &*c.times_in_words(1.0)), (None, "1.00"));
        // Of one block there is no range.
        let c = of(&moody, &Blocks::from_iter([vec![9; 100]])).unwrap();
        assert!(c.a_range.is_some() && c.ratio_range.is_none());
    }
}
