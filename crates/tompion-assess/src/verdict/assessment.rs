//! The answer: plain data that the terminal, the page and `--json` all show.

use serde::Serialize;
use tompion_model::{AT_REST, Factors};

/// The outcome of holding a measured quantile against a limit, the better first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The limit is kept.
    Pass,
    /// It is kept with a remedy.
    WithRemedy,
    /// The quantile is shown to lie within a quarter of the limit, on neither side.
    NearLimit,
    /// Nothing is shown yet.
    Inconclusive,
    /// Nothing that could tell was measured.
    #[default]
    NotMeasured,
    /// The limit is exceeded.
    Fail,
}

impl Outcome {
    /// All of them, the better first.
    pub const ALL: [Self; 6] = [
        Self::Pass,
        Self::WithRemedy,
        Self::NearLimit,
        Self::Inconclusive,
        Self::NotMeasured,
        Self::Fail,
    ];

    /// What it is called.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::WithRemedy => "with remedy",
            Self::NearLimit => "near limit",
            Self::Inconclusive => "inconclusive",
            Self::NotMeasured => "not measured",
            Self::Fail => "FAIL",
        }
    }

    /// Whether it says yes or no.
    pub fn is_decided(self) -> bool {
        matches!(self, Self::Pass | Self::WithRemedy | Self::Fail)
    }
}

/// What a run means.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Assessment {
    /// The verdict in one line.
    pub headline: String,
    /// One verdict a profile, in the order of the data file; where the run holds
    /// several platforms or placements, these for each of them.
    pub profiles: Vec<ProfileVerdict>,
    /// What hurts, worst first.
    pub findings: Vec<Finding>,
    /// Advice that was tested in this run, largest gain first.
    pub advice: Vec<Advice>,
}

/// One profile held against all loads of the run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProfileVerdict {
    /// Short name for `--require`.
    pub name: String,
    /// What the profile stands for.
    pub title: String,
    /// The platform judged, where the run holds several: each is judged by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// The placement judged, where the run holds several: each is judged by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
    /// The limit in words, for example `p99 of wake-up latency at most 12 µs`.
    pub requirement: String,
    /// Where the limit comes from.
    pub source: String,
    /// The worst over the loads; a load on which a remedy helps counts as such.
    pub outcome: Outcome,
    /// The same without remedies.
    pub as_it_is: Outcome,
    /// The sleep judged as it is (factors without the load).
    pub method: Option<Factors>,
    /// Whether its quantiles have the missed periods filled in, as those of every
    /// method on a periodic grid.
    pub missed_filled: bool,
    /// The judgement under each load, at rest first and then by name; empty when the run holds nothing to judge.
    pub by_load: Vec<LoadVerdict>,
}

/// One profile under one load.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LoadVerdict {
    /// The load.
    pub load: String,
    /// The outcome under this load.
    pub outcome: Outcome,
    /// The outcome of the sleep as it is, which the figures below are of.
    pub as_it_is: Outcome,
    /// The remedy that was judged in its place, where it does not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedied>,
    /// The limit, in nanoseconds.
    pub limit_ns: f64,
    /// The quantile judged, 0 to 1.
    pub quantile: f64,
    /// Its estimate over all blocks, in nanoseconds. On a grid the missed
    /// periods are filled in, here and in the interval.
    pub estimate_ns: f64,
    /// Lower end of its 95 % interval over blocks, in nanoseconds.
    pub low_ns: Option<f64>,
    /// Upper end of its 95 % interval over blocks, in nanoseconds.
    pub high_ns: Option<f64>,
    /// The smallest estimate of a single block, in nanoseconds, where blocks disagree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_low_ns: Option<f64>,
    /// The largest of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_high_ns: Option<f64>,
    /// The share of samples beyond the limit, filled in as well.
    pub late_share: f64,
    /// Samples it rests on; values filled in for missed periods do not count.
    pub samples: u64,
    /// How long was measured for these, in nanoseconds.
    pub watched_ns: u64,
    /// How many more samples it needs before it can be judged (0: enough).
    pub samples_missing: u64,
    /// Why it is inconclusive, when it is.
    pub reason: Option<String>,
    /// Whether it is so because it fails only where other programs ran.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fails_beside_others: bool,
}

/// A use with a remedy under one load. Which remedy is judged was decided by other blocks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Remedied {
    /// The remedy, for example `hybrid sleep`.
    pub name: String,
    /// What waits (factors without load and target).
    pub method: Factors,
    /// Whether it keeps the limit.
    pub outcome: Outcome,
    /// Its quantile, in nanoseconds.
    pub estimate_ns: f64,
    /// Samples it rests on.
    pub samples: u64,
    /// How long was measured for these, in nanoseconds.
    pub watched_ns: u64,
    /// How many more it needs at least (0: enough).
    pub samples_missing: u64,
    /// Why it is inconclusive, when it is.
    pub reason: Option<String>,
}

/// Something that costs time on this machine.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// One plain sentence.
    pub sentence: String,
    /// The cell it is about.
    pub cell: Factors,
    /// The multiple that the sentence states: of the figure it compares with,
    /// of a system call, of a counter read, or periods per wake-up. For a clock
    /// that stepped backwards: how often it did.
    pub ratio: f64,
    /// Where blocks disagree: from which of their multiples to which. The sentence states these.
    pub ratio_range: Option<[f64; 2]>,
}

/// A remedy whose effect this very run measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Advice {
    /// One plain sentence with the figures.
    pub sentence: String,
    /// The code, command or setting to apply.
    pub how: String,
    /// What it costs.
    pub price: String,
    /// At which quantile, 0 to 1: that of most uses for sleeps, the median for clocks.
    pub quantile: f64,
    /// The quantile before, in nanoseconds.
    pub before_ns: f64,
    /// The quantile after, in nanoseconds.
    pub after_ns: f64,
    /// Where blocks disagree: the lowest and the highest of their quantiles before, in nanoseconds.
    pub before_range_ns: Option<[f64; 2]>,
    /// The same after.
    pub after_range_ns: Option<[f64; 2]>,
    /// Geometric mean over blocks of before / after; with a single block the
    /// ratio of the quantiles.
    pub gain: f64,
    /// Lower end of the gain's 95 % interval.
    pub gain_low: Option<f64>,
    /// Upper end of the gain's 95 % interval.
    pub gain_high: Option<f64>,
    /// Where blocks disagree: from which block's before / after to which.
    pub gain_range: Option<[f64; 2]>,
    /// Whether the interval lies above 1, the gain is at least 1.2, and fewer samples are late beyond noise; advice
    /// without effect says so.
    pub effective: bool,
}

impl LoadVerdict {
    /// How long was measured for a use that passes, as it is or with its remedy, in nanoseconds, and by how many samples;
    /// `None` for other outcomes.
    pub fn passed_over(&self) -> Option<(u64, u64)> {
        match (self.outcome, &self.remedy) {
            (Outcome::Pass, _) => Some((self.watched_ns, self.samples)),
            (Outcome::WithRemedy, Some(remedy)) => Some((remedy.watched_ns, remedy.samples)),
            _ => None,
        }
    }

    /// The estimate where the samples support it: at least one is expected
    /// beyond the quantile, and they suffice to judge it.
    pub fn supported_estimate_ns(&self) -> Option<f64> {
        // A hair of tolerance keeps 1000 samples good enough for p99.9.
        let beyond = self.samples as f64 * (1.0 - self.quantile) + 1e-6;
        (self.samples_missing == 0 && beyond >= 1.0).then_some(self.estimate_ns)
    }
}

/// So few are looked through at once.
const FEW: usize = 16;

impl ProfileVerdict {
    /// The judgement under a load.
    pub fn under(&self, load: &str) -> Option<&LoadVerdict> {
        if self.by_load.len() <= FEW {
            return self.by_load.iter().find(|l| l.load == load);
        }
        let wanted = (load != AT_REST, load);
        let by_key = |l: &LoadVerdict| (l.load != AT_REST, l.load.as_str()).cmp(&wanted);
        let at = self.by_load.binary_search_by(by_key);
        at.ok().map(|at| &self.by_load[at])
    }

    /// What was judged: `VoIP`, or `VoIP on runc` where there are several platforms.
    pub fn title(&self) -> String {
        format!("{}{}", self.title, self.place())
    }

    /// Which of several platforms and placements was judged, to follow a name:
    /// ` on runc in contention-cpu`; empty where there is one.
    pub fn place(&self) -> String {
        let platform = self.platform.as_ref().map(|name| format!(" on {name}"));
        let placement = self.placement.as_ref().map(|name| format!(" in {name}"));
        [platform, placement].into_iter().flatten().collect()
    }
}

impl Assessment {
    /// The verdict on the profile of that name; of several platforms or placements, the first's.
    pub fn profile(&self, name: &str) -> Option<&ProfileVerdict> {
        self.profiles.iter().find(|p| p.name == name)
    }
}
