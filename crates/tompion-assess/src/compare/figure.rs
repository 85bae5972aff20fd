//! The figure that stands for one trial.

use std::fmt;
use std::str::FromStr;
use tompion_model::InvalidValue;

use tompion_model::Summary;

use crate::compare::Replicate;

/// What is compared: one number of each trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Figure {
    /// Smallest value, in nanoseconds.
    Min,
    /// Median, in nanoseconds.
    Median,
    /// Mean, in nanoseconds.
    Mean,
    /// 0.9-quantile, in nanoseconds.
    P90,
    /// 0.95-quantile, in nanoseconds.
    P95,
    /// 0.99-quantile, in nanoseconds.
    P99,
    /// 0.999-quantile, in nanoseconds.
    P99_9,
    /// 0.9999-quantile, in nanoseconds.
    P99_99,
    /// Largest value, in nanoseconds.
    Max,
    /// Share of the periods of a grid that were missed, 0 to 1.
    Missed,
    /// Share of the observed time that was lost in stalls, 0 to 1.
    Lost,
}

impl Figure {
    /// All of them, in the order of [`Figure::name`]s listed to users.
    pub const ALL: [Self; 11] = [
        Self::Min,
        Self::Median,
        Self::Mean,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P99_9,
        Self::P99_99,
        Self::Max,
        Self::Missed,
        Self::Lost,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Median => "median",
            Self::Mean => "mean",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P99_9 => "p99.9",
            Self::P99_99 => "p99.99",
            Self::Max => "max",
            Self::Missed => "missed",
            Self::Lost => "lost",
        }
    }

    /// Figures that tell most about a probe.
    pub fn usual(probe: &str) -> &'static [Self] {
        match probe {
            "stalls" => &[Self::Lost, Self::Max],
            "timer-events" => &[Self::Median, Self::P99, Self::Missed],
            _ => &[Self::Median, Self::P99],
        }
    }

    /// Whether it is a share of 1 and not a time in nanoseconds.
    pub fn is_share(self) -> bool {
        matches!(self, Self::Missed | Self::Lost)
    }

    /// The quantile that it is; `None` for means, extremes and shares.
    pub fn quantile(self) -> Option<f64> {
        Some(match self {
            Self::Median => 0.5,
            Self::P90 => 0.9,
            Self::P95 => 0.95,
            Self::P99 => 0.99,
            Self::P99_9 => 0.999,
            Self::P99_99 => 0.9999,
            _ => return None,
        })
    }

    /// Whether trials of this kind have the figure, if only they have samples enough.
    pub(crate) fn suits(self, trials: &[Replicate]) -> bool {
        match self {
            Self::Missed => trials.iter().any(|t| t.missed.is_some()),
            Self::Lost => trials.iter().any(|t| t.stalls.is_some()),
            _ => true,
        }
    }

    /// Samples that a trial must have for the figure.
    pub fn samples_needed(self) -> u64 {
        self.quantile()
            .map_or(1, |q| ((1.0 - 1e-6) / (1.0 - q)).ceil() as u64)
    }

    /// The figure of one trial; `None` where the trial does not have it, such as a
    /// p99 of fifty samples, beyond which none lies.
    pub fn of(self, trial: &Replicate) -> Option<f64> {
        // Where there are periods, those that were missed count: a trial that misses more of them
        // has no fewer late samples.
        let summary = trial.corrected.as_ref().or(trial.summary.as_ref());
        let time = |of: fn(&Summary) -> f64| summary.map(of);
        if let (Some(_), Some(summary)) = (self.quantile(), summary)
            && summary.samples < self.samples_needed()
        {
            return None;
        }
        match self {
            Self::Min => time(|s| s.min_ns),
            Self::Median => time(|s| s.median_ns),
            Self::Mean => time(|s| s.mean_ns),
            Self::P90 => time(|s| s.p90_ns),
            Self::P95 => time(|s| s.p95_ns),
            Self::P99 => time(|s| s.p99_ns),
            Self::P99_9 => time(|s| s.p99_9_ns),
            Self::P99_99 => time(|s| s.p99_99_ns),
            Self::Max => time(|s| s.max_ns),
            Self::Missed => {
                let (samples, missed) = (trial.summary.as_ref()?.samples, trial.missed?);
                let periods = samples + missed;
                (periods > 0).then(|| missed as f64 / periods as f64)
            }
            Self::Lost => {
                let (lost_ns, observed_ns) = trial.stalls?;
                (observed_ns > 0).then(|| lost_ns as f64 / observed_ns as f64)
            }
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Figure {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let text = if text == "p50" { "median" } else { text };
        Self::ALL
            .into_iter()
            .find(|f| f.name() == text)
            .ok_or_else(|| {
                let names: Vec<&str> = Self::ALL.iter().map(|f| f.name()).collect();
                let why = match text {
                    "" => "the name of a statistic is empty".to_owned(),
                    _ => format!("unknown statistic `{text}`"),
                };
                format!("{why}; known are {}", names.join(", ")).into()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tompion_stats::Distribution;

    fn trial(values: impl IntoIterator<Item = i64>) -> Replicate {
        Replicate {
            summary: Summary::of_ps(&Distribution::from_values(values)),
            missed: Some(25),
            stalls: Some((5, 1000)),
            ..Replicate::default()
        }
    }

    #[test]
    fn figures_are_read_back_by_their_names() {
        for figure in Figure::ALL {
            assert_eq!(figure.name().parse(), Ok(figure));
        }
        assert_eq!("p50".parse(), Ok(Figure::Median));
        let error = "p98".parse::<Figure>().unwrap_err().to_string();
        assert!(error.starts_with("unknown statistic `p98`; known are min, median"));
        let error = "".parse::<Figure>().unwrap_err().to_string();
        assert!(error.starts_with("the name of a statistic is empty; known are min, median"));
    }

    #[test]
    fn a_quantile_beyond_which_no_sample_lies_is_none() {
        let needed = |f: Figure| f.samples_needed();
        assert_eq!(
            Figure::ALL.map(needed),
            [1, 2, 1, 10, 20, 100, 1_000, 10_000, 1, 1, 1]
        );
        assert_eq!(Figure::P99.of(&trial((0..99).map(|v| v * 1000))), None);
        assert!(Figure::P99.of(&trial((0..100).map(|v| v * 1000))).is_some());
        assert_eq!(
            Figure::Median.of(&trial((0..3).map(|v| v * 1000))),
            Some(1.0)
        );
    }

    #[test]
    fn missed_periods_count() {
        // Ten of 2000 wake-ups come twenty periods late.
        let mut values = vec![50_000i64; 1990];
        values.extend([2_000_000_000; 10]);
        let mut missed = trial(values.clone());
        assert_eq!(Figure::P99.of(&missed), Some(50.0));
        let period = 100_000_000;
        for _ in 0..10 {
            values.extend((1..=20).map(|back| 2_000_000_000 - back * period));
        }
        missed.corrected = Summary::of_ps(&Distribution::from_values(values));
        assert!(Figure::P99.of(&missed).unwrap() > 1_000_000.0);
    }

    #[test]
    fn shares_count_what_is_missing() {
        let mut trial = trial((0..75).map(|v| v * 1000));
        assert_eq!(Figure::Missed.of(&trial), Some(0.25));
        assert_eq!(Figure::Lost.of(&trial), Some(0.005));
        // Nobody measures so, but a stranger's record may say it.
        (trial.summary.as_mut().unwrap().samples, trial.missed) = (0, Some(0));
        assert_eq!(Figure::Missed.of(&trial), None);
        (trial.missed, trial.stalls) = (None, None);
        let suits = |f: Figure| f.suits(std::slice::from_ref(&trial));
        assert!(suits(Figure::P99) && !suits(Figure::Missed) && !suits(Figure::Lost));
    }
}
