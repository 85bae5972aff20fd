//! The order of cells: random within replicates, the same for the same seed.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::{LabCell, LabPlan};

/// The cells of one replicate, numbered from 0, in their random order. Replicates have
/// orders of their own, each of which depends on nothing but the seed and its number:
/// a lab that goes on finds them again.
pub fn order(plan: &LabPlan, seed: u64, replicate: u32) -> Vec<LabCell> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(u64::from(replicate));
    let mut cells = plan.cells();
    cells.shuffle(&mut random);
    cells
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
            let mut sorted = cells.clone();
            sorted.sort();
            assert_eq!(sorted, plan.cells());
        }
        assert!(orders.iter().skip(1).any(|o| *o != orders[0]));
        assert_eq!(orders[3], order(&plan, 7, 3));
        assert!((0..20).any(|r| order(&plan, 8, r) != orders[r as usize]));
        // Each place is taken by different platforms: nobody always goes first.
        let first = |platform| orders.iter().filter(|o| o[0].platform == platform).count();
        assert!(first(0) > 2 && first(1) > 2);
    }
}
