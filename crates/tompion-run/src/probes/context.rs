//! For what cells are made: one load, one policy, so many blocks.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use tompion_model::InvalidValue;

use tompion_load::LoadSpec;
use tompion_model::{Factors, Unavailable, factor, format_duration, parse_duration_ns};
use tompion_probe::{Policy, ThreadSettings};
use tompion_time::os;

use super::Probing;
use crate::{Observe, PlannedCell};

/// Timer slack of the measuring thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slack {
    /// What the process has.
    Default,
    /// Set to this many nanoseconds.
    Ns(u64),
}

impl Slack {
    /// Whether it can be set here.
    ///
    /// # Errors
    /// What the system says.
    pub fn available(self) -> Result<(), Unavailable> {
        match self {
            Self::Default => Ok(()),
            Self::Ns(_) => os::timer_slack_ns()
                .and_then(os::set_timer_slack_ns)
                .map_err(Unavailable::refused(format!("timer slack of {self}"))),
        }
    }
}

impl fmt::Display for Slack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Ns(ns) => f.write_str(&format_duration(*ns)),
        }
    }
}

impl FromStr for Slack {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text {
            "default" => Ok(Self::Default),
            _ => parse_duration_ns(text)
                .map(Self::Ns)
                .map_err(|e| format!("{e}, or `default`").into()),
        }
    }
}

/// For what the cells of a probe are made.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Index of the load in the plan.
    pub load: usize,
    /// The load.
    pub spec: &'a LoadSpec,
    /// Scheduling policy of the measuring thread.
    pub policy: Policy,
    /// CPU to which it is pinned.
    pub cpu: Option<u32>,
    /// Passes over all cells.
    pub blocks: u32,
}

impl Context<'_> {
    /// The key of the cells of one method, without the factors of the probe's own.
    pub(super) fn key(&self, probe: &str, method: &str) -> Factors {
        let key = Factors::new()
            .with(factor::PROBE, probe)
            .with(factor::METHOD, method)
            .with(factor::LOAD, self.spec.level());
        if self.policy == Policy::Other {
            key
        } else {
            key.with(factor::POLICY, self.policy.to_string())
        }
    }

    /// A cell of weight 1 with a single sample, which the probe changes as it needs. A slack
    /// is a factor of its key.
    pub(super) fn cell(
        &self,
        key: &Factors,
        slack: Option<Slack>,
        probe: impl Probing,
    ) -> PlannedCell {
        PlannedCell {
            factors: with_slack(key, slack),
            probe: Arc::new(probe),
            thread: self.thread(slack),
            load: self.load,
            observe: Observe::default(),
            samples: 1,
            weight: 1.0,
            lasting: None,
            is_optional: false,
        }
    }

    /// The samples of one trial where a cell takes `in_all` over all blocks.
    pub(super) fn samples(&self, in_all: u64) -> u64 {
        in_all.div_ceil(u64::from(self.blocks)).max(1)
    }

    /// Real-time threads have no slack, and some methods none to vary.
    pub(super) fn slacks(&self, slacks: &[Slack], varies: bool) -> Vec<Option<Slack>> {
        if self.policy.is_real_time() || !varies {
            vec![None]
        } else {
            slacks.iter().copied().map(Some).collect()
        }
    }

    /// How the measuring thread is set up.
    pub(super) fn thread(&self, slack: Option<Slack>) -> ThreadSettings {
        ThreadSettings {
            policy: self.policy,
            slack_ns: match slack {
                Some(Slack::Ns(ns)) => Some(ns),
                _ => None,
            },
            cpu: self.cpu,
        }
    }
}

/// The key with the slack as a factor, where there is one.
pub(super) fn with_slack(key: &Factors, slack: Option<Slack>) -> Factors {
    match slack {
        Some(slack) => key.clone().with(factor::SLACK, slack.to_string()),
        None => key.clone(),
    }
}
