//! What a plan can show: before an hour is spent on it.

use std::time::Duration;

use serde::Serialize;
use tompion_record::factor;
use tompion_stats::{Design, least_p, replicates_needed};

use crate::{Kind, LabCell, LabPlan};

/// Level at which platforms are told apart.
const LEVEL: f64 = 0.05;
/// Starting a program and measuring the counter's rate take this long.
const START: Duration = Duration::from_millis(600);
/// What stalls take beside measuring: events of whole CPUs are opened and closed.
const STALLS: Duration = Duration::from_millis(500);

/// What a plan takes and what it can show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prospect {
    /// Cells of one replicate on platforms that are present.
    pub cells: usize,
    /// Expected length of it all, in seconds.
    pub expected_s: f64,
    /// Tests of one figure within one probe, method and load, which `tompion compare`
    /// adjusts for: pairs of platforms, times targets and settings.
    pub family: usize,
    /// The least adjusted p that these replicates can reach; absent with less than two
    /// platforms, which leaves nothing to compare.
    pub least_adjusted_p: Option<f64>,
    /// Replicates needed for 0.05.
    pub replicates_needed: Option<usize>,
}

impl Prospect {
    /// Whether no difference between platforms could reach 0.05.
    pub fn decides_nothing(&self) -> bool {
        self.least_adjusted_p.is_some_and(|p| p > LEVEL)
    }
}

/// What `plan` comes to where the platforms in `present` (by index) are here.
pub fn prospect(plan: &LabPlan, present: &[usize]) -> Prospect {
    let cells: Vec<_> = plan
        .cells()
        .into_iter()
        .filter(|c| present.contains(&c.platform))
        .collect();
    let one: Duration = cells.iter().map(|&cell| expected(plan, cell)).sum();
    let family = family(plan, present.len());
    let n = plan.replicates as usize;
    let comparable = present.len() >= 2;
    Prospect {
        cells: cells.len(),
        expected_s: one.as_secs_f64() * f64::from(plan.replicates),
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
    let stalls = if probe.name() == "stalls" {
        STALLS
    } else {
        Duration::ZERO
    };
    START + start(&plan.platforms[cell.platform].kind) + stalls + probe.time()
}

/// Starting and removing an instance, seen on a machine of two CPUs.
fn start(kind: &Kind) -> Duration {
    Duration::from_millis(match kind {
        Kind::Host => 0,
        Kind::Oci(oci) if oci.runtime.ends_with("runsc") => 1_500,
        Kind::Oci(_) => 300,
        Kind::Qemu(_) => 8_000,
    })
}

/// The largest family that `compare --by platform` adjusts for.
fn family(plan: &LabPlan, platforms: usize) -> usize {
    let pairs = platforms * platforms.saturating_sub(1) / 2;
    let mut keys: Vec<[String; 3]> = (0..plan.probes.len())
        .flat_map(|probe| plan.keys(0, probe))
        .map(|key| [factor::PROBE, factor::METHOD, factor::LOAD].map(|f| key.level(f).to_owned()))
        .collect();
    keys.sort();
    let largest = keys.chunk_by(|a, b| a == b).map(<[_]>::len).max();
    pairs * largest.unwrap_or(0)
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
        let all = prospect(&plan, &[0, 1, 2]);
        // Three pairs at two targets; of 4 pairs the least p is 2 / 16.
        assert_eq!((all.cells, all.family), (3, 6));
        assert_eq!(all.least_adjusted_p, Some(6.0 * 2.0 / 16.0));
        assert!(all.decides_nothing());
        // 2 * 6 / 2^n <= 0.05 from n = 8 on.
        assert_eq!(all.replicates_needed, Some(8));
        let two = prospect(&plan, &[0, 1]);
        assert_eq!((two.cells, two.least_adjusted_p), (2, Some(0.25)));
        let one = prospect(&plan, &[0]);
        assert_eq!((one.least_adjusted_p, one.replicates_needed), (None, None));
        assert!(!one.decides_nothing());
    }
}
