//! The order of cells: random within replicates, the same for the same seed.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::{LabCell, LabPlan};

/// The turns of one replicate, numbered from 0, in their random order; the cells of a turn
/// are measured at the same time. Replicates have orders of their own, each of which
/// depends on nothing but the seed and its number: a lab that goes on finds them again.
pub fn order(plan: &LabPlan, seed: u64, replicate: u32) -> Vec<Vec<LabCell>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(u64::from(replicate));
    let mut turns = turns(plan, plan.cells());
    turns.shuffle(&mut random);
    turns
}

/// Cells that may be measured at the same time: the same one on machines that have nothing
/// to do with each other. What is measured on this machine has it for itself.
pub(crate) fn turns(plan: &LabPlan, cells: Vec<LabCell>) -> Vec<Vec<LabCell>> {
    let mut turns: Vec<Vec<LabCell>> = Vec::new();
    // The first turn of each cell elsewhere, and how many of its machine's have theirs.
    let mut elsewhere: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    let mut used: BTreeMap<_, usize> = BTreeMap::new();
    for cell in cells {
        let Some(machine) = plan.platforms[cell.platform].machine() else {
            turns.push(vec![cell]);
            continue;
        };
        let what = (cell.placement, cell.load, cell.probe);
        let known = elsewhere.entry(what).or_default();
        let nth = used.entry((what, machine)).or_default();
        match known.get(*nth) {
            Some(&turn) => turns[turn].push(cell),
            None => {
                known.push(turns.len());
                turns.push(vec![cell]);
            }
        }
        *nth += 1;
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> LabPlan {
        let text = "loads = [\"idle\", \"cpu\"]\n[[platforms]]\nkind = \"host\"\n\
            [[platforms]]\nkind = \"oci\"\nruntime = \"runc\"\n\
            [[probes]]\nkind = \"stalls\"\n[[probes]]\nkind = \"read-cost\"\n";
        LabPlan::parse(text).unwrap()
    }

    #[test]
    fn every_replicate_has_every_cell_once_in_an_order_of_its_own() {
        let plan = plan();
        let orders: Vec<_> = (0..20).map(|r| order(&plan, 7, r)).collect();
        for cells in &orders {
            let mut sorted = cells.concat();
            sorted.sort();
            assert_eq!(sorted, plan.cells());
        }
        assert!(orders.iter().skip(1).any(|o| *o != orders[0]));
        assert_eq!(orders[3], order(&plan, 7, 3));
        assert!((0..20).any(|r| order(&plan, 8, r) != orders[r as usize]));
        // Each place is taken by different platforms: nobody always goes first.
        let first = |platform| {
            orders
                .iter()
                .filter(|o| o[0][0].platform == platform)
                .count()
        };
        assert!(first(0) > 2 && first(1) > 2);
    }
    #[test]
    fn machines_that_have_nothing_to_do_with_each_other_measure_the_same_at_once() {
        let text = "loads = [\"idle\", \"cpu\"]\n[[platforms]]\nkind = \"host\"\n\
            [[platforms]]\nkind = \"ssh\"\nhost = \"me@a\"\n\
            [[platforms]]\nkind = \"ssh\"\nhost = \"b\"\nmachine = \"big\"\n\
            [[platforms]]\nkind = \"ssh\"\nhost = \"c\"\nmachine = \"big\"\n\
            [[platforms]]\nname = \"other\"\nkind = \"ssh\"\nhost = \"root@a\"\n\
            [[platforms]]\nkind = \"ssh\"\nhost = \"d\"\n\
            [[probes]]\nkind = \"stalls\"\n[[probes]]\nkind = \"read-cost\"\n";
        let plan = LabPlan::parse(text).unwrap();
        for replicate in 0..20 {
            let turns = order(&plan, 3, replicate);
            let mut all = turns.concat();
            all.sort();
            assert_eq!(all, plan.cells());
            for turn in turns {
                let platforms: Vec<_> = turn.iter().map(|cell| cell.platform).collect();
                assert!([vec![0], vec![1, 2, 5], vec![3, 4]].contains(&platforms));
                let alike = |c: &LabCell| (c.load, c.probe) == (turn[0].load, turn[0].probe);
                assert!(turn.iter().all(alike));
            }
        }
    }
}
