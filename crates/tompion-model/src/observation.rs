//! What was watched beside a measurement.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tompion_cause::{Access, Cause, Source};

use crate::Mark;

/// Events and counters of one trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// Which evidence there was.
    pub evidence: Vec<EvidenceItem>,
    /// Whether the hypervisor accounts for the time it takes.
    pub steal_is_accounted: bool,
    /// Share of one CPU that observing took itself, 0 to 1.
    pub own_cpu_share: f64,
    /// Samples marked, by reason.
    pub marked: Vec<ObservedReason>,
}

/// One kind of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceItem {
    /// What it is, for example `context switches of the thread`.
    #[schemars(extend("privacy" = "harmless"))]
    pub name: String,
    /// Why it was not to be had; absent where it was.
    #[schemars(extend("privacy" = "text"))]
    pub missing: Option<String>,
}

/// Samples marked for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedReason {
    /// The cause.
    #[schemars(with = "String")]
    #[schemars(extend("privacy" = "exact"))]
    pub cause: Cause,
    /// How many samples.
    pub samples: u64,
    /// Whether the times are those of events; otherwise counters were polled, and a
    /// mark covers a window.
    pub by_events: bool,
}

impl ObservedReason {
    /// Of the disturbed ones among these samples' marks: most samples first.
    pub fn of(marks: impl IntoIterator<Item = Mark>) -> Vec<Self> {
        let mut counts: BTreeMap<(Cause, bool), u64> = BTreeMap::new();
        for mark in marks {
            if let Mark::Disturbed(cause, source) = mark {
                *counts.entry((cause, source == Source::Event)).or_default() += 1;
            }
        }
        let reasons = counts.into_iter();
        let mut reasons: Vec<Self> = reasons
            .map(|((cause, by_events), samples)| Self {
                cause,
                samples,
                by_events,
            })
            .collect();
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.samples));
        reasons
    }
}

impl Observation {
    /// The evidence that `access` lists.
    pub fn of_access(access: &Access) -> Self {
        Self {
            evidence: access
                .items
                .iter()
                .map(|(name, result)| EvidenceItem {
                    name: name.clone(),
                    missing: result.as_ref().err().cloned(),
                })
                .collect(),
            steal_is_accounted: access.steal_is_accounted,
            ..Self::default()
        }
    }
}
