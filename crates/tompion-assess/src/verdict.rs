//! What a run means: verdicts against fitness profiles, what hurts most, and
//! advice that the run itself tested. Pure: no I/O, no clock.
//!
//! ```
//! let nothing = tompion_assess::verdict::assess(&[]);
//! assert_eq!(nothing.profiles.len(), tompion_assess::verdict::profiles().len());
//! assert!(nothing.profile("voip").is_some());
//! ```

mod advice;
mod assessment;
mod basis;
mod candidate;
mod choose;
mod clocks;
pub mod company;
mod findings;
mod headline;
mod judge;
mod lateness;
mod others;
mod pauses;
#[cfg(test)]
mod planted;
mod profile;
pub mod remedies;

pub use assessment::*;
pub use basis::{LEVEL, SMALLEST_RATIO};
pub use choose::{PartOfUse, Prospect, is_judged_at, late_cells, prospects, verdicts};
pub use judge::ERROR;
pub use lateness::{
    LateUnder, Lateness, LatenessRow, QUANTILE as QUANTILE_OF_MOST_USES, lateness, lateness_of,
};
pub use profile::{Limit, Profile, own, profiles, profiles_of, quantile_name, quantity_name};

/// Seconds of a default check: all nine uses are decided in it under three loads, where they are far from their limits.
pub const CHECK_S: u64 = 70;

use pauses::OfPlatforms;
use tompion_model::{Cell, Trial};

/// Says what the cells of a run mean, by the profiles that come with Tompion.
pub fn assess(cells: &[Cell]) -> Assessment {
    assess_run(profiles(), cells, &[])
}

/// The same by these profiles, with the trials that the cells are of: what the host took of busy loops is held against what
/// passes.
pub fn assess_run(profiles: &[Profile], cells: &[Cell], trials: &[Trial]) -> Assessment {
    let verdicts = choose::verdicts_beside(cells, profiles, &OfPlatforms::of(trials));
    Assessment {
        headline: headline::headline(profiles, &verdicts),
        profiles: verdicts,
        findings: findings::findings(cells),
        advice: advice::advice(cells),
    }
}
