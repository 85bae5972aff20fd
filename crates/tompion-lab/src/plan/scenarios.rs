//! The seven scenarios of Perneel 2015, section V, by name. There, the measuring guest
//! has one virtual CPU, and the machine four CPUs.

use super::placements::{GuestPlan, Pinning, PlacementPlan, Role};
use super::short_loads::load;
use tompion_platforms::groups::Scheduling;

/// A placement with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scenario {
    pub name: &'static str,
    pinning: Pinning,
    /// What guests beside the measuring one do, and how many there are.
    guests: Option<(&'static str, usize)>,
}

/// In the paper's order. Its load guests run an endless loop of calculations, or of
/// copies of 9 MB, which was more than its caches: here one thread each of `cpu`, and
/// `memory-bus`, which copies blocks larger than this machine's caches.
pub(super) const SCENARIOS: [Scenario; 7] = [
    scenario("one-to-all", Pinning::Free, None),
    scenario("one-to-one", Pinning::OneToOne, None),
    scenario("contention-cpu", Pinning::OneCpu, Some((CPU, 1))),
    scenario("contention-memory", Pinning::OneCpu, Some((MEMORY, 1))),
    scenario("all-to-all-cpu", Pinning::AllOnAll, Some((CPU, 3))),
    scenario("all-to-all-memory", Pinning::AllOnAll, Some((MEMORY, 3))),
    // Two guests, and all CPUs of the machine.
    scenario("two-to-all-memory", Pinning::Free, Some((MEMORY, 1))),
];

const CPU: &str = "cpu:threads=1";
const MEMORY: &str = "memory-bus";

const fn scenario(
    name: &'static str,
    pinning: Pinning,
    guests: Option<(&'static str, usize)>,
) -> Scenario {
    Scenario {
        name,
        pinning,
        guests,
    }
}

impl Scenario {
    /// By its name, or by its number in the paper.
    pub fn find(text: &str) -> Option<Self> {
        let number = text.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
        let named = || SCENARIOS.into_iter().find(|s| s.name == text);
        number
            .and_then(|n| SCENARIOS.get(n).copied())
            .or_else(named)
    }

    pub fn placement(self) -> PlacementPlan {
        let guests = self.guests.map(|(text, count)| GuestPlan {
            role: Role::Load(load(Some(text)).expect("a load's name")),
            count,
            scheduling: Scheduling::default(),
        });
        PlacementPlan {
            pinning: self.pinning,
            guests: guests.into_iter().collect(),
            ..PlacementPlan::alone()
        }
    }
}
