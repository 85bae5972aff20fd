//! What of a plan can be carried out on this machine.

use std::path::Path;
use std::thread;

use tompion_model::Design;

use crate::placing::{self, Offer, Refusal};
use crate::{LabCell, LabPlan};
use tompion_platforms::PlatformPlan;
use tompion_platforms::platform::{Platform, Presence};

/// The platforms of a plan, looked for on this machine, and the placements that they
/// cannot have here.
pub struct Platforms(pub(super) Vec<(Box<dyn Platform>, Presence)>, Vec<Refusal>);

impl Platforms {
    /// Looks for them; `program` is the one that measures in their instances.
    pub fn look(plan: &LabPlan, program: &Path) -> Self {
        let platforms = plan.platforms.iter().map(PlatformPlan::platform);
        Self::of(plan, look(platforms.collect(), program))
    }

    /// What files alone say of them: nothing is started, and no machine is called. What is not
    /// absent for certain is taken to be there.
    pub fn at_a_glance(plan: &LabPlan) -> Self {
        let platforms = plan.platforms.iter().map(PlatformPlan::platform);
        let seen = platforms.map(|platform| {
            let presence = platform.at_a_glance();
            (platform, presence)
        });
        Self::of(plan, seen.collect())
    }

    fn of(plan: &LabPlan, all: Vec<(Box<dyn Platform>, Presence)>) -> Self {
        let offer = Offer::here();
        let mut refused = Vec::new();
        for (number, (platform, presence)) in all.iter().enumerate() {
            if matches!(presence, Presence::Absent(_)) {
                continue;
            }
            let (seating, cpus) = (platform.seating(), platform.cpus());
            for (placement, asked) in plan.placements.iter().enumerate() {
                if let Some(why) = placing::refusal(asked, seating, cpus, &offer) {
                    refused.push(Refusal::new(plan, number, placement, &why));
                }
            }
        }
        Self(all, refused)
    }

    /// Placements that platforms cannot have which are here.
    pub fn refused(&self) -> &[Refusal] {
        &self.1
    }

    /// Whether a cell can be measured here.
    pub fn can(&self, cell: LabCell) -> bool {
        let refuses = |r: &Refusal| (r.platform, r.placement) == (cell.platform, cell.placement);
        let presence = self.0.get(cell.platform).map(|(_, presence)| presence);
        !matches!(presence, None | Some(Presence::Absent(_))) && !self.1.iter().any(refuses)
    }

    /// The cells of a replicate that can be measured here.
    pub fn cells(&self, plan: &LabPlan) -> Vec<LabCell> {
        let all = plan.cells().into_iter();
        all.filter(|&cell| self.can(cell)).collect()
    }

    /// Whether each is here, in the order of the plan.
    pub fn presence(&self) -> impl Iterator<Item = &Presence> {
        self.0.iter().map(|(_, presence)| presence)
    }
}

/// Looks for all of them at once: other machines may take long to answer, or not to. One by one
/// where there are no threads to be had.
fn look(platforms: Vec<Box<dyn Platform>>, program: &Path) -> Vec<(Box<dyn Platform>, Presence)> {
    let presence: Vec<Presence> = thread::scope(|scope| {
        // A machine may answer anything.
        let look = |platform: &dyn Platform| platform.presence(program).shortened();
        let looking: Vec<_> = platforms
            .iter()
            .map(|p| thread::Builder::new().spawn_scoped(scope, move || look(p.as_ref())))
            .collect();
        platforms
            .iter()
            .zip(looking)
            .map(|(platform, looking)| match looking {
                Ok(looking) => looking.join().expect("looking does not panic"),
                Err(_) => look(platform.as_ref()),
            })
            .collect()
    });
    platforms.into_iter().zip(presence).collect()
}

/// How the trials of a lab are ordered, for the header of its run.
pub fn design(plan: &LabPlan, platforms: &Platforms, seed: u64) -> Design {
    let cells = platforms.cells(plan).into_iter();
    let mut order = "every replicate measures every cell once, each in a fresh instance of its \
                     platform, in random order over platforms, placements, loads and probes"
        .to_owned();
    if plan.platforms.iter().any(|p| p.machine().is_some()) {
        order.push_str("; other machines measure the same cell at the same time");
    }
    Design {
        order,
        seed,
        blocks: plan.replicates,
        cells: cells.map(|c| plan.keys(c).len() as u32).sum(),
    }
}
