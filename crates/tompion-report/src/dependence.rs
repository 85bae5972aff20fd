//! How much the samples of a cell depend on one another.

use tompion_record::TrialData;
use tompion_stats::Dependence;

/// Samples of a trial that are looked at: correlation costs some microseconds a
/// hundred samples, and a default run has hundreds of trials.
const MOST: usize = 2048;

/// The trials of a cell; each is a series of its own.
#[derive(Debug, Default)]
pub(crate) struct CellDependence {
    times: Vec<f64>,
    effective: f64,
}

impl CellDependence {
    /// Takes in one trial; what it dropped or timed in batches is no series.
    pub(crate) fn add(&mut self, data: &TrialData) {
        let counts = |s: &&tompion_record::Sample| s.n == 1 && !s.mark.is_left_out();
        if data.bins.is_some() {
            return;
        }
        let all = data.samples.iter().filter(counts);
        let samples = all.clone().count();
        let first: Vec<i64> = all.take(MOST).map(|s| s.value_ps).collect();
        if let Some(found) = Dependence::of(&first) {
            self.times.push(found.autocorrelation_time);
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
    use tompion_record::Sample;

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
