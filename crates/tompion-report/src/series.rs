//! Samples over time, thinned so that a plot stays small and hides no extreme.

use tompion_model::{Trial, TrialData};

/// Ordinary samples kept beside the extremes of one column.
const POINTS_PER_COLUMN: usize = 2;

/// Columns drawn for one cell over all its blocks.
const COLUMNS_PER_CELL: usize = 176;

/// Columns of a trial, however many share a plot.
const LEAST_COLUMNS: usize = 2;

/// One value at one time: nanoseconds since the first sample drawn, picoseconds.
pub(crate) type Point = (u64, i64);

/// All samples of a short stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    /// The earliest of the smallest samples.
    pub min: Point,
    /// The earliest of the largest samples.
    pub max: Point,
    /// A few of the others, evenly spaced in their order.
    pub points: Vec<Point>,
}

/// What is drawn of one trial.
#[derive(Clone, Debug)]
pub(crate) struct TrialSeries {
    /// The replicate.
    pub block: u32,
    /// From its first to its last sample drawn, in nanoseconds.
    pub span_ns: u64,
    /// Its samples, in time order.
    pub columns: Vec<Column>,
}

impl TrialSeries {
    /// The samples of one trial that count: single operations, or, where there
    /// are none, operations timed in batches. `blocks` is how many trials share
    /// the width of a plot.
    pub(crate) fn of(trial: &Trial, data: &TrialData, blocks: usize) -> Self {
        let counting = || data.samples.iter().filter(|s| !s.mark.is_left_out());
        let single = counting().any(|s| s.n == 1);
        let points = counting()
            .filter(|s| (s.n == 1) == single)
            .map(|s| (s.at_ns, s.value_ps))
            .collect();
        Self::of_points(trial.block, points, blocks)
    }

    /// What is drawn of any `points` in a trial of `block`.
    pub(crate) fn of_points(block: u32, mut points: Vec<Point>, blocks: usize) -> Self {
        points.sort_by_key(|p| p.0);
        // Warm-up and batches take time in which nothing is drawn.
        let first = points.first().map_or(0, |p| p.0);
        points.iter_mut().for_each(|p| p.0 -= first);
        let span_ns = points.last().map_or(0, |p| p.0).max(1);
        Self {
            block,
            span_ns,
            columns: decimate(&points, span_ns, columns_for(blocks)),
        }
    }
}

/// Columns of one trial where `blocks` of them share the width of a plot.
pub(crate) fn columns_for(blocks: usize) -> usize {
    (COLUMNS_PER_CELL / blocks.max(1)).max(LEAST_COLUMNS)
}

/// Divides `span_ns` into at most `columns` stretches and keeps of each its
/// extremes and a few samples. `points` are in time order.
pub(crate) fn decimate(points: &[Point], span_ns: u64, columns: usize) -> Vec<Column> {
    let columns = columns.max(1) as u128;
    let column =
        |p: &Point| (u128::from(p.0) * columns / u128::from(span_ns.max(1))).min(columns - 1);
    let mut kept = Vec::new();
    let mut rest = points;
    while let Some(first) = rest.first() {
        // A search for its end: to ask each point for its column takes longer than all else here.
        let here = column(first);
        let (stretch, others) = rest.split_at(rest.partition_point(|p| column(p) <= here));
        rest = others;
        let step = stretch.len().div_ceil(POINTS_PER_COLUMN);
        let min = *stretch.iter().min_by_key(|p| p.1).unwrap_or(first);
        let max = *stretch.iter().rev().max_by_key(|p| p.1).unwrap_or(first);
        kept.push(Column {
            min,
            max,
            points: stretch
                .iter()
                .skip(step / 2)
                .step_by(step)
                .filter(|p| **p != min && **p != max)
                .copied()
                .collect(),
        });
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn few_samples_are_all_kept() {
        let points = [(10, 5), (500, 7), (900, 1)];
        let columns = decimate(&points, 1000, 10);
        let kept: Vec<Point> = columns.iter().map(|c| c.max).collect();
        assert_eq!(kept, points);
        assert!(decimate(&[], 1000, 10).is_empty());
    }

    #[test]
    fn the_earliest_of_equal_extremes_is_named() {
        let columns = decimate(&[(1, 5), (2, 9), (3, 5), (4, 9)], 10, 1);
        assert_eq!((columns[0].min, columns[0].max), ((1, 5), (2, 9)));
    }

    proptest! {
        #[test]
        fn no_extreme_is_lost_and_nothing_is_invented(
            values in prop::collection::vec(-1_000_000i64..1_000_000_000, 1..2000),
            columns in 1usize..60,
            gap in 1u64..5000,
        ) {
            let points: Vec<Point> = values.iter().enumerate().map(|(i, &v)| (i as u64 * gap, v)).collect();
            let span = values.len() as u64 * gap;
            let drawn = decimate(&points, span, columns);
            prop_assert!(drawn.len() <= columns);
            let low = drawn.iter().map(|c| c.min.1).min();
            let high = drawn.iter().map(|c| c.max.1).max();
            prop_assert_eq!(low, values.iter().copied().min());
            prop_assert_eq!(high, values.iter().copied().max());
            for c in &drawn {
                prop_assert!(c.points.len() <= POINTS_PER_COLUMN);
                for p in c.points.iter().chain([&c.min, &c.max]) {
                    prop_assert_eq!(points[(p.0 / gap) as usize], *p);
                    prop_assert!(c.min.1 <= p.1 && p.1 <= c.max.1);
                }
            }
        }
    }
}
