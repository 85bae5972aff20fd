//! The key of a cell: a map from factor to level.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names of the factors that Tompion itself uses; the map is open-ended.
pub mod factor {
    /// What is measured: `read-cost`, `wake-up`, `timer-events`, `stalls`, ...
    pub const PROBE: &str = "probe";
    /// By which function: `usleep`, `rdtsc`, ...
    pub const METHOD: &str = "method";
    /// Sleep target, or period of timer events, for example `100us`.
    pub const TARGET: &str = "target";
    /// Timer slack: `default` or a duration such as `1ns`.
    pub const SLACK: &str = "timer-slack";
    /// Scheduling policy: `other`, `fifo:50`, ...
    pub const POLICY: &str = "policy";
    /// Form of timer events: `grid` or `rearmed`.
    pub const FORM: &str = "form";
    /// CPU of a busy loop, where several are measured.
    pub const CPU: &str = "cpu";
    /// From where a round trip is seen: `user`, `qdisc`, `kernel`, `hardware`.
    pub const VANTAGE: &str = "vantage";
    /// How many threads slept at once, where several did.
    pub const COMPANY: &str = "company";
    /// What was watched beside the measurement, where that varies.
    pub const OBSERVE: &str = "observe";
    /// Where it was measured, in runs of a lab: `host`, `runc`, `qemu (emulated)`, ...
    pub const PLATFORM: &str = "platform";
    /// Beside which other guests it was measured, in runs of a lab whose plan names
    /// placements.
    pub const PLACEMENT: &str = "placement";
    /// Which of several guests of one placement that measured at once, from the second on.
    pub const GUEST: &str = "guest";
    /// What something outside was set to by turns, each for half of every block: `a` or `b`.
    pub const SWITCH: &str = "switch";
    /// Load beside the measurement: `idle`, `cpu`, ...
    pub const LOAD: &str = "load";
}

/// The level of [`factor::LOAD`] at which nothing runs beside the measurement.
pub const AT_REST: &str = "idle";

/// A cell's key: factor name to level.
///
/// ```
/// use tompion_model::{Factors, factor};
/// let f = Factors::new()
///     .with(factor::PROBE, "wake-up")
///     .with(factor::METHOD, "usleep")
///     .with(factor::TARGET, "100us")
///     .with(factor::SLACK, "1ns")
///     .with(factor::LOAD, "idle");
/// assert_eq!(f.to_string(), "wake-up/usleep/100us/timer-slack=1ns/idle");
/// ```
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Factors(BTreeMap<String, String>);

impl Factors {
    /// An empty key.
    pub fn new() -> Self {
        Self::default()
    }

    /// The key with `name` set to `level`.
    #[must_use]
    pub fn with(mut self, name: &str, level: impl Into<String>) -> Self {
        self.0.insert(name.to_owned(), level.into());
        self
    }

    /// The key without `name`.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.0.remove(name);
        self
    }

    /// The key with all factors of `other` set as there.
    #[must_use]
    pub fn joined(mut self, other: &Self) -> Self {
        let more = other.0.iter().map(|(k, v)| (k.clone(), v.clone()));
        self.0.extend(more);
        self
    }

    /// The level of `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The level of `name`, or an empty string.
    pub fn level(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// Whether this is a cell of `probe` and `method`.
    pub fn is(&self, probe: &str, method: &str) -> bool {
        self.level(factor::PROBE) == probe && self.level(factor::METHOD) == method
    }

    /// Whether the load is none.
    pub fn is_at_rest(&self) -> bool {
        matches!(self.level(factor::LOAD), "" | AT_REST)
    }

    /// All factors in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }
}

impl fmt::Display for Factors {
    /// Probe, method and target by level, further factors as `name=level`, the
    /// load last: the path by which cells are named on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const BARE: [&str; 3] = [factor::PROBE, factor::METHOD, factor::TARGET];
        let mut parts: Vec<String> = BARE
            .iter()
            .filter_map(|n| self.get(n).map(str::to_owned))
            .collect();
        parts.extend(
            self.iter()
                .filter(|(n, _)| !BARE.contains(n) && *n != factor::LOAD)
                .map(|(n, l)| format!("{n}={l}")),
        );
        parts.extend(self.get(factor::LOAD).map(str::to_owned));
        f.write_str(&parts.join("/"))
    }
}
