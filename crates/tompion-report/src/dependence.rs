//! How much the samples of a cell depend on one another.

use crate::precision::LEVEL;
use tompion_model::{Blocks, TrialData};
use tompion_stats::{Dependence, Interval};

/// Samples of a trial that are looked at: correlation costs some microseconds a
/// hundred samples, and a default run has hundreds of trials.
const MOST: usize = 2048;

/// Stretches of a single trial that stand in for blocks.
const STRETCHES: usize = 8;

/// Interval of the median of a single trial, in picoseconds, over stretches of it: none where its
/// samples depend on one another for longer than a stretch.
pub(crate) fn interval_within(data: &TrialData) -> Option<Interval> {
    let series: Vec<i64> = series(data)?.collect();
    let length = (series.len() / STRETCHES).max(1);
    let stretches = series.chunks_exact(length).take(STRETCHES);
    let stretches: Blocks = stretches.map(<[i64]>::to_vec).collect();
    stretches.quantile(0.5, LEVEL)?.interval.ok()
}

/// Values of single operations in time order; `None` where some were not kept.
fn series(data: &TrialData) -> Option<impl Iterator<Item = i64>> {
    let counts = |s: &&tompion_model::Sample| s.n == 1 && !s.mark.is_left_out();
    let all = data.samples.iter().filter(counts);
    data.bins.is_none().then(|| all.map(|s| s.value_ps))
}

/// The trials of a cell; each is a series of its own.
#[derive(Debug, Default)]
pub(crate) struct CellDependence {
    times: Vec<f64>,
    effective: f64,
}

impl CellDependence {
    /// Takes in one trial; what it dropped or timed in batches is no series.
    pub(crate) fn add(&mut self, data: &TrialData) {
        let Some(mut series) = series(data) else {
            return;
        };
        let first: Vec<i64> = series.by_ref().take(MOST).collect();
        if let Some(found) = Dependence::of(&first) {
            self.times.push(found.autocorrelation_time);
            let samples = first.len() + series.count();
            self.effective += samples as f64 / found.autocorrelation_time;
        }
    }

    /// The integrated autocorrelation time of the middle trial, in samples; `None`
    /// where no trial tells.
    pub(crate) fn time(&self) -> Option<f64> {
        let mut sorted = self.times.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    }

    /// Independent samples that would tell as much as all of those trials.
    pub(crate) fn effective_samples(&self) -> Option<f64> {
        (!self.times.is_empty()).then_some(self.effective)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tompion_model::Sample;

    fn trial(values: impl Iterator<Item = i64>) -> TrialData {
        let sample = |value_ps| Sample {
            value_ps,
            n: 1,
            ..Sample::default()
        };
        TrialData {
            samples: values.map(sample).collect(),
            ..TrialData::default()
        }
    }

    /// Values in disorder, from a generator of its own.
    fn noise(n: usize) -> impl Iterator<Item = i64> {
        let mut state = 1u64;
        std::iter::repeat_with(move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 40) as i64
        })
        .take(n)
    }

    #[test]
    fn a_single_trial_has_an_interval_that_knows_its_dependence() {
        let width = |data: &TrialData| {
            let i = interval_within(data).unwrap();
            i.high - i.low
        };
        let apart = width(&trial(noise(4000)));
        let in_runs = width(&trial(noise(400).flat_map(|v| [v; 10])));
        // Of a tenth of the independent samples, so three times as wide.
        assert!((2.0..5.0).contains(&(in_runs / apart)), "{in_runs} {apart}");
        assert!(interval_within(&trial(noise(10))).is_none());
    }

    #[test]
    fn values_that_come_in_runs_of_ten_are_worth_a_tenth() {
        let mut apart = CellDependence::default();
        apart.add(&trial(noise(4000)));
        assert!(apart.time().unwrap() < 1.5, "{apart:?}");
        let mut runs = CellDependence::default();
        runs.add(&trial(noise(400).flat_map(|v| [v; 10])));
        let time = runs.time().unwrap();
        assert!((7.0..14.0).contains(&time), "{time}");
        assert!((4000.0 / runs.effective_samples().unwrap() - time).abs() < 1e-9);
    }

    #[test]
    fn binned_trials_tell_nothing() {
        let mut cell = CellDependence::default();
        let mut data = trial(noise(100));
        data.bins = Some(tompion_stats::Bins::new());
        cell.add(&data);
        assert_eq!((cell.time(), cell.effective_samples()), (None, None));
    }
}
