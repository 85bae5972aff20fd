//! What a lab tells while it works, and at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Platforms;
use crate::ledger::Ledger;
use crate::{LabCell, LabPlan, Refusal};
use tompion_platforms::platform::Presence;

/// Where a lab stands, told before and after every cell.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Cells that were measured or failed, those of earlier sittings included.
    pub done: usize,
    /// Cells in all.
    pub total: usize,
    /// The cell under way or just ended, in words.
    pub what: String,
    /// Time left, by what cells of each platform took so far.
    pub left: Duration,
    /// Why the cell failed that just ended.
    pub failed: Option<String>,
}

/// How a lab ended.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// Whether a signal ended it before its plan did.
    pub interrupted: bool,
    /// Cells measured, in all sittings.
    pub measured: usize,
    /// Cells that failed, in words with the reason, those alike told once.
    pub failed: Vec<String>,
    /// Platforms that were not there, and placements that they could not have, with the
    /// reason.
    pub absent: Vec<String>,
    /// Platforms that were measured in part and then were absent, with what is missing.
    pub lost: Vec<String>,
    /// What could not be removed from other machines, with the reason.
    pub left: Vec<String>,
}

impl Ending {
    /// How the lab stands at the end of a sitting.
    pub(super) fn of(
        plan: &LabPlan,
        ledger: &Ledger,
        platforms: &Platforms,
        interrupted: bool,
    ) -> Self {
        let mut failed: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        let mut measured = 0;
        // Of each platform the cells of a replicate, and how many were measured in all.
        let mut of_platform: BTreeMap<usize, (BTreeSet<LabCell>, usize)> = BTreeMap::new();
        for entry in ledger.entries() {
            let (cells, done) = of_platform.entry(entry.platform).or_default();
            cells.insert(entry.cell());
            match &entry.failed {
                Some(why) if platforms.can(entry.cell()) => {
                    *failed.entry((&entry.name, why)).or_default() += 1;
                }
                Some(_) => {}
                None => {
                    measured += 1;
                    *done += 1;
                }
            }
        }
        let of = plan.replicates;
        let named = plan.platforms.iter().zip(platforms.presence());
        let lost = of_platform
            .into_iter()
            .filter_map(|(platform, (cells, done))| {
                let Some(Presence::Absent(why)) = platforms.presence().nth(platform) else {
                    return None;
                };
                let all = cells.len() * plan.replicates as usize;
                if done == 0 || done == all {
                    return None;
                }
                let level = plan.platforms.get(platform)?.level();
                Some(format!(
                    "{level} is absent now, with {done} of {all} cells measured: {why}"
                ))
            });
        Self {
            interrupted,
            measured,
            lost: lost.collect(),
            failed: failed
                .iter()
                .map(|((name, why), n)| format!("{name} failed in {n} of {of} replicates: {why}"))
                .collect(),
            absent: named
                .filter_map(|(plan, presence)| match presence {
                    Presence::Absent(why) => Some(format!("{} is absent: {why}", plan.level())),
                    Presence::Present(_) | Presence::NotAsked => None,
                })
                .chain(
                    Refusal::told(platforms.refused())
                        .into_iter()
                        .map(|m| m.text),
                )
                .collect(),
            left: Vec::new(),
        }
    }
}
