//! What a plan can show: before an hour is spent on it.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use tompion_model::factor;
use tompion_stats::{Design, least_p, replicates_needed};

use crate::order::turns;
use crate::{LabCell, LabPlan, Pinning};

/// Level at which platforms are told apart.
const LEVEL: f64 = 0.05;
/// Starting a program and measuring the counter's rate take this long.
const START: Duration = Duration::from_millis(600);

/// What a plan takes and what it can show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Cells of one replicate that can be measured here.
    pub cells: usize,
    /// Expected length of it all, in seconds.
    pub expected_s: f64,
    /// What is compared: `platforms`, or `placements` where their family is the larger.
    pub between: &'static str,
    /// Tests of one figure within one probe, method and load, which `tompion compare`
    /// adjusts for: pairs of platforms (or placements), times targets and settings, times
    /// placements (or platforms).
    pub family: usize,
    /// The least adjusted p that these replicates can reach; absent with less than two
    /// of both, which leaves nothing to compare.
    pub least_adjusted_p: Option<f64>,
    /// Replicates needed for 0.05.
    pub replicates_needed: Option<usize>,
}

impl Estimate {
    /// Whether no difference between them could reach 0.05.
    pub fn decides_nothing(&self) -> bool {
        self.least_adjusted_p.is_some_and(|p| p > LEVEL)
    }
}

/// What `plan` comes to where these cells of a replicate can be measured.
pub fn estimate(plan: &LabPlan, cells: &[LabCell]) -> Estimate {
    let turns = turns(plan, cells.to_vec()).into_iter();
    let longest = |turn: Vec<LabCell>| turn.into_iter().map(|cell| expected(plan, cell)).max();
    let one: Duration = turns.filter_map(longest).sum();
    let levels = |of: fn(&LabCell) -> usize| {
        let found: BTreeSet<usize> = cells.iter().map(of).collect();
        found.len()
    };
    let platforms = levels(|c| c.platform);
    let largest = largest(plan);
    let used: BTreeSet<usize> = cells.iter().map(|c| c.placement).collect();
    let guests: Vec<usize> = used
        .iter()
        .map(|&p| plan.placements[p].measuring())
        .collect();
    let by_platform = pairs(platforms) * guests.iter().sum::<usize>() * largest;
    // The second guest of one placement is held against the second of another.
    let pairs_of_guests = guests.iter().enumerate();
    let pairs_of_guests =
        pairs_of_guests.map(|(i, a)| guests[..i].iter().map(|b| a.min(b)).sum::<usize>());
    let by_placement = pairs_of_guests.sum::<usize>() * platforms * largest;
    let (between, family) = match by_placement > by_platform {
        true => ("placements", by_placement),
        false => ("platforms", by_platform),
    };
    let n = plan.replicates as usize;
    let comparable = family > 0;
    Estimate {
        cells: cells.len(),
        expected_s: one.as_secs_f64() * f64::from(plan.replicates),
        between,
        family,
        least_adjusted_p: comparable
            .then(|| (least_p(Design::Paired, n, n) * family as f64).min(1.0)),
        replicates_needed: comparable
            .then(|| replicates_needed(Design::Paired, LEVEL, family))
            .flatten(),
    }
}

/// How long a cell is expected to take.
pub(crate) fn expected(plan: &LabPlan, cell: LabCell) -> Duration {
    let probe = &plan.probes[cell.probe];
    let placement = &plan.placements[cell.placement];
    // On one CPU starts wait for each other.
    let guests = match placement.pinning {
        Pinning::OneCpu => 1 + placement.neighbours(),
        _ => 1 + usize::from(placement.neighbours() > 0),
    };
    let start = plan.platforms[cell.platform].setup.start() * guests as u32;
    START * guests as u32 + start + probe.overhead() + probe.time() + probe.closing()
}

fn pairs(n: usize) -> usize {
    n * n.saturating_sub(1) / 2
}

/// The most cells of one probe, method and load on one platform in one placement:
/// `compare` takes each for a test of the same family.
fn largest(plan: &LabPlan) -> usize {
    let mut keys: Vec<[String; 3]> = (0..plan.probes.len())
        .flat_map(|probe| plan.most_keys(0, probe))
        .map(|key| [factor::PROBE, factor::METHOD, factor::LOAD].map(|f| key.level(f).to_owned()))
        .collect();
    keys.sort();
    let largest = keys.chunk_by(|a, b| a == b).map(<[_]>::len).max();
    largest.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicates_and_family_tell_what_can_be_shown() {
        let text = "replicates = 4\n[[platforms]]\nkind = \"host\"\n\
            [[platforms]]\nkind = \"oci\"\nruntime = \"runc\"\n\
            [[platforms]]\nkind = \"qemu\"\n\
            [[probes]]\nkind = \"wake-up\"\nmethods = [\"usleep\"]\ntargets = [\"100us\", \"1ms\"]\n";
        let plan = LabPlan::parse(text).unwrap();
        let on = |present: &[usize]| {
            let mut cells = plan.cells();
            cells.retain(|c| present.contains(&c.platform));
            estimate(&plan, &cells)
        };
        let all = on(&[0, 1, 2]);
        // Three pairs at two targets; of 4 pairs the least p is 2 / 16.
        assert_eq!((all.cells, all.family), (3, 6));
        assert_eq!(all.least_adjusted_p, Some(6.0 * 2.0 / 16.0));
        assert!(all.decides_nothing());
        // 2 * 6 / 2^n <= 0.05 from n = 8 on.
        assert_eq!(all.replicates_needed, Some(8));
        let two = on(&[0, 1]);
        assert_eq!((two.cells, two.least_adjusted_p), (2, Some(0.25)));
        let one = on(&[0]);
        assert_eq!((one.least_adjusted_p, one.replicates_needed), (None, None));
        assert!(!one.decides_nothing());
    }

    #[test]
    fn placements_are_compared_too() {
        let text = "replicates = 6\n[[platforms]]\nkind = \"host\"\n\
            [[placements]]\nscenario = \"one-to-all\"\n[[placements]]\nscenario = \"3\"\n\
            [[placements]]\nscenario = \"4\"\n[[probes]]\nkind = \"stalls\"\n";
        let plan = LabPlan::parse(text).unwrap();
        let all = estimate(&plan, &plan.cells());
        assert_eq!((all.cells, all.between, all.family), (3, "placements", 3));
        let two = text.replace(
            "[[placements]]\nscenario = \"one",
            "[[platforms]]\nkind = \"oci\"\nruntime = \"runc\"\n[[placements]]\nscenario = \"one",
        );
        let plan = LabPlan::parse(&two).unwrap();
        let all = estimate(&plan, &plan.cells());
        assert_eq!((all.cells, all.between, all.family), (6, "placements", 6));
        // A second guest that measures is a cell more, of one placement and each platform.
        let guests = two.replace(
            "scenario = \"3\"",
            "scenario = \"3\"\n[[placements.guests]]\nrole = \"measure\"",
        );
        let plan = LabPlan::parse(&guests).unwrap();
        let all = estimate(&plan, &plan.cells());
        assert_eq!((all.between, all.family), ("placements", 6));
        let plan = LabPlan::parse(&two).unwrap();
        // Beside others a start takes longer.
        let [alone, beside] = [0, 1].map(|n| expected(&plan, plan.cells()[n]));
        assert!(beside > alone);
    }
}
