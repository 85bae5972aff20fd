//! The rule about causes of stalls.

use std::collections::BTreeSet;

use tompion_model::{AT_REST, factor};

use super::observed::{Median, Observed};
use super::rules::{finding, named};
use crate::claims::{Finding, Outcome};

/// Scenarios of a guest beside a loaded neighbour on its own CPU.
const BESIDE_A_NEIGHBOUR: [&str; 2] = ["contention-cpu", "contention-memory"];

/// A guest cannot tell: contradicted where evidence names the cause of 0.9 at least of the
/// time lost beside a neighbour, in every cell of guests that have a kernel of their own; supported
/// where it names that of 0.1 at most. Containers that the lab makes may watch what an ordinary
/// guest may not: what they see is told and decides nothing.
pub(super) fn told_beside_a_neighbour(run: &Observed) -> Option<Finding> {
    let cells = run.cells.keys().filter(|f| {
        let is_host = |level: &str| match run.places.get(level) {
            Some(place) => place.kind == "host",
            None => level == "host",
        };
        f.level(factor::PROBE) == "stalls"
            // A load beside it would be the guest's own.
            && f.level(factor::LOAD) == AT_REST
            && BESIDE_A_NEIGHBOUR.contains(&f.level(factor::PLACEMENT))
            && f.get(factor::PLATFORM).is_some_and(|p| !is_host(p))
    });
    let (mut effects, mut all, mut none) = (Vec::new(), true, true);
    let mut counted = 0;
    let (mut least, mut most) = (f64::MAX, f64::MIN);
    let mut levels = BTreeSet::new();
    for cell in cells {
        let Some(share) = Median::of(&run.figures(cell, |r| r.named)) else {
            continue;
        };
        let place = cell.get(factor::PLATFORM).and_then(|p| run.places.get(p));
        if place.is_some_and(|place| place.has_own_kernel) {
            all &= share.low >= 0.9;
            none &= share.high <= 0.1;
            counted += 1;
        }
        least = least.min(share.value);
        most = most.max(share.value);
        levels.insert(cell.level(factor::PLATFORM));
        let what = format!(
            "share of the time lost whose cause is named: {}, {}",
            named(cell),
            cell.level(factor::PLACEMENT)
        );
        effects.push(share.effect(what, "1", 1.0));
    }
    let outcome = match (all, none) {
        _ if counted == 0 => Outcome::NotDecidable,
        (true, _) => Outcome::Contradicted,
        (_, true) => Outcome::Supported,
        _ => Outcome::NotDecidable,
    };
    let mut because = vec![format!(
        "Beside a loaded neighbour on the same CPU evidence names the cause of {least:.3} to \
         {most:.3} of the time lost, in the middle of each cell ({})",
        levels.iter().copied().collect::<Vec<_>>().join(", ")
    )];
    let places: Vec<_> = levels.iter().filter_map(|l| run.places.get(*l)).collect();
    if places.iter().any(|p| p.kind == "oci") {
        because.push(
            "the containers were made by the lab, with what capabilities it had itself of those \
             that measuring asks for (CAP_PERFMON, CAP_SYS_NICE, not CAP_SYS_ADMIN), which \
             ordinary guests have not; they do not count"
                .to_owned(),
        );
    }
    if counted == 0 {
        because.push("no guest with a kernel of its own was among them".to_owned());
    }
    because.push("the paper speaks of packets, for which stalls stand in".to_owned());
    finding(outcome, because.join("; ") + ".", effects)
}
