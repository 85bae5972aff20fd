//! Who gets which CPUs: pure, so that a plan can be refused before anything starts.

use crate::LabPlan;
use crate::plan::{Pinning, PlacementPlan};
use tompion_model::Unavailable;
use tompion_platforms::keys::Mistake;
use tompion_platforms::platform::Seating;

/// What this machine offers to placements.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    /// CPUs that the lab may use.
    pub cpus: Vec<u32>,
    /// Why there are no control groups to share them, if there are none.
    pub groups: Result<(), Unavailable>,
}

impl Offer {
    /// That of this machine.
    pub fn here() -> Self {
        Self {
            cpus: tompion_host::usable_cpus(),
            groups: tompion_platforms::groups::Hierarchy::find().map(drop),
        }
    }
}

/// The CPUs that a placement may use.
fn may_use<'a>(placement: &'a PlacementPlan, usable: &'a [u32]) -> Result<&'a [u32], Unavailable> {
    let Some(wanted) = &placement.cpus else {
        return Ok(usable);
    };
    let missing: Vec<u32> = wanted
        .iter()
        .copied()
        .filter(|c| !usable.contains(c))
        .collect();
    match missing.is_empty() {
        true => Ok(wanted),
        false => Err(format!(
            "CPU {} cannot be used; there are {}",
            tompion_host::cpu_list(&missing),
            tompion_host::cpu_list(usable)
        )
        .into()),
    }
}

/// CPUs of the measuring guest and of each beside it, in the plan's order; empty lists
/// where they are not pinned.
///
/// # Errors
/// Where there are not enough of them, in words.
pub(crate) fn cpus(
    placement: &PlacementPlan,
    cpus_of_a_guest: usize,
    usable: &[u32],
) -> Result<Vec<Vec<u32>>, Unavailable> {
    let guests = 1 + placement.neighbours();
    let may = may_use(placement, usable)?;
    let wanted = guests * cpus_of_a_guest;
    let enough = |wanted: usize| -> Result<(), Unavailable> {
        match may.len() {
            n if n >= wanted => Ok(()),
            n => {
                let name = placement.pinning.name();
                let s = if guests == 1 { "guest" } else { "guests" };
                Err(format!(
                    "{name} of {guests} {s} needs {wanted} CPUs, and there are {n} ({})",
                    tompion_host::cpu_list(may)
                )
                .into())
            }
        }
    };
    // The first CPU is where most interrupts go, so that they are dealt out from the last.
    let from_the_last = || may.iter().rev();
    match placement.pinning {
        Pinning::Free => {
            let own = placement.cpus.clone().unwrap_or_default();
            Ok(vec![own; guests])
        }
        Pinning::OneCpu => Ok(vec![from_the_last().take(1).copied().collect(); guests]),
        Pinning::AllOnAll => {
            enough(wanted)?;
            let mut all: Vec<u32> = from_the_last().take(wanted).copied().collect();
            all.sort_unstable();
            Ok(vec![all; guests])
        }
        Pinning::OneToOne => {
            enough(wanted)?;
            let dealt: Vec<u32> = from_the_last().take(wanted).copied().collect();
            Ok(dealt.chunks(cpus_of_a_guest).map(<[u32]>::to_vec).collect())
        }
    }
}

/// Why a placement cannot be had on a platform, in words.
pub(crate) fn refusal(
    placement: &PlacementPlan,
    seating: Seating,
    cpus_of_a_guest: usize,
    offer: &Offer,
) -> Option<String> {
    if placement.is_plain() {
        return None;
    }
    let nowhere = match seating {
        Seating::Nowhere => {
            Some("its instances cannot be placed from here: neither CPUs nor a part of their time")
        }
        Seating::Own => Some("its own `pin` says where it runs; leave that out to have it placed"),
        Seating::Process | Seating::Group => None,
    };
    if let Some(why) = nowhere {
        return Some(why.to_owned());
    }
    // However many guests there are, these need no more.
    let dealt = match placement.pinning {
        Pinning::Free | Pinning::OneCpu => may_use(placement, &offer.cpus).map(drop),
        Pinning::AllOnAll | Pinning::OneToOne => {
            cpus(placement, cpus_of_a_guest, &offer.cpus).map(drop)
        }
    };
    if let Err(why) = dealt {
        return Some(why.to_string());
    }
    let groups = seating == Seating::Group || placement.needs_groups();
    let why = offer.groups.as_ref().err().filter(|_| groups);
    why.map(ToString::to_string)
}

/// A placement that a platform cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Number of the platform in the plan.
    pub platform: usize,
    /// Number of the placement.
    pub placement: usize,
    /// Line and column of the placement in the plan.
    place: (usize, usize),
    /// The placement's name.
    asked: String,
    /// The platform's level.
    on: String,
    why: String,
}

impl Refusal {
    pub(crate) fn new(plan: &LabPlan, platform: usize, placement: usize, why: &str) -> Self {
        let asked = &plan.placements[placement];
        Self {
            platform,
            placement,
            place: asked.at.unwrap_or((1, 1)),
            asked: asked.name.clone(),
            on: plan.platforms[platform].level(),
            why: why.to_owned(),
        }
    }

    /// One mistake for each placement and reason, which names all platforms that have it.
    pub fn told(refusals: &[Self]) -> Vec<Mistake> {
        let mut groups: Vec<(&Self, Vec<&str>)> = Vec::new();
        for refusal in refusals {
            let alike = |g: &&mut (&Self, Vec<&str>)| {
                (g.0.placement, &g.0.why) == (refusal.placement, &refusal.why)
            };
            match groups.iter_mut().find(alike) {
                Some((_, on)) => on.push(&refusal.on),
                None => groups.push((refusal, vec![&refusal.on])),
            }
        }
        groups.sort_by_key(|(first, _)| first.placement);
        let told = groups.into_iter().map(|(first, on)| Mistake {
            line: first.place.0,
            column: first.place.1,
            text: format!(
                "placement `{}` on {}: {}",
                first.asked,
                on.join(", "),
                first.why
            ),
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(text: &str) -> PlacementPlan {
        let text = format!(
            "[[platforms]]\nkind = \"host\"\n[[probes]]\nkind = \"stalls\"\n[[placements]]\n{text}"
        );
        LabPlan::parse(&text).unwrap().placements.remove(0)
    }

    #[test]
    fn every_pinning_deals_cpus_out_in_its_way() {
        let of = |text: &str, each: usize| cpus(&placement(text), each, &[0, 1, 2, 3]).unwrap();
        assert_eq!(of("scenario = \"one-to-all\"", 1), [[0_u32; 0]]);
        assert_eq!(of("scenario = \"one-to-one\"", 1), [[3]]);
        assert_eq!(of("scenario = \"one-to-one\"", 2), [[3, 2]]);
        assert_eq!(of("scenario = \"contention-cpu\"", 1), [[3], [3]]);
        assert_eq!(
            of("scenario = \"contention-memory\"\ncpus = \"0-1\"", 1),
            [[1], [1]]
        );
        assert_eq!(
            of("scenario = \"all-to-all-cpu\"", 1),
            vec![vec![0, 1, 2, 3]; 4]
        );
        assert_eq!(of("scenario = \"all-to-all-memory\"", 1).len(), 4);
        assert_eq!(of("scenario = \"two-to-all-memory\"", 1), [[0_u32; 0]; 2]);
        let two =
            "name = \"x\"\npinning = \"one-to-one\"\n[[placements.guests]]\nrole = \"idle\"\n";
        assert_eq!(of(two, 1), [[3], [2]]);
    }

    #[test]
    fn what_the_machine_does_not_have_is_refused() {
        let two = [0, 1];
        let refused = |text: &str, seating| {
            let offer = Offer {
                cpus: two.to_vec(),
                groups: Err("no groups".into()),
            };
            refusal(&placement(text), seating, 1, &offer)
        };
        let why = cpus(&placement("scenario = \"5\""), 1, &two)
            .unwrap_err()
            .to_string();
        assert_eq!(
            why,
            "all-on-all of 4 guests needs 4 CPUs, and there are 2 (0-1)"
        );
        let why = cpus(&placement("scenario = \"one-to-one\""), 3, &two)
            .unwrap_err()
            .to_string();
        assert_eq!(
            why,
            "one-to-one of 1 guest needs 3 CPUs, and there are 2 (0-1)"
        );
        let why = cpus(&placement("scenario = \"2\"\ncpus = \"1-2\""), 1, &two)
            .unwrap_err()
            .to_string();
        assert_eq!(why, "CPU 2 cannot be used; there are 0-1");
        // Pinning alone takes no group where an instance is a process.
        assert_eq!(refused("scenario = \"2\"", Seating::Process), None);
        let no_groups = Some("no groups".to_owned());
        assert_eq!(refused("scenario = \"2\"", Seating::Group), no_groups);
        assert_eq!(refused("scenario = \"3\"", Seating::Process), no_groups);
        assert_eq!(refused("scenario = \"1\"", Seating::Nowhere), None);
        let why = refused("scenario = \"2\"", Seating::Nowhere).unwrap();
        assert!(why.contains("cannot be placed"), "{why}");
        assert_eq!(refused("scenario = \"1\"", Seating::Own), None);
        let why = refused("scenario = \"2\"", Seating::Own).unwrap();
        assert!(why.contains("`pin`"), "{why}");
    }

    #[test]
    fn platforms_with_one_reason_are_told_in_one_line() {
        let text = "[[platforms]]\nkind = \"host\"\n[[platforms]]\nkind = \"oci\"\n\
            runtime = \"runc\"\n[[probes]]\nkind = \"stalls\"\n[[placements]]\n\
            scenario = \"5\"\n[[placements]]\nscenario = \"6\"\n";
        let plan = LabPlan::parse(text).unwrap();
        let new = |platform, placement, why| Refusal::new(&plan, platform, placement, why);
        let all = [
            new(0, 0, "two CPUs"),
            new(0, 1, "two CPUs"),
            new(1, 0, "two CPUs"),
            new(1, 1, "no groups"),
        ];
        let told: Vec<_> = Refusal::told(&all).into_iter().map(|m| m.text).collect();
        assert_eq!(
            told,
            [
                "placement `all-to-all-cpu` on host, runc: two CPUs",
                "placement `all-to-all-memory` on host: two CPUs",
                "placement `all-to-all-memory` on runc: no groups",
            ]
        );
    }
}
