//! A plan that a stranger wrote, looked at.

use tompion_lab::{LabPlan, Room, estimate, order, warnings};

use crate::{Target, one_line};

pub static ENTRY: Target = Target {
    name: "lab-plan",
    about: "a plan of the lab: its mistakes, or its cells, order, estimate and warnings",
    parser: &[
        "tompion-lab/src/plan.rs",
        "tompion-lab/src/plan/placements.rs",
        "tompion-lab/src/plan/placements/reading.rs",
        "tompion-lab/src/plan/probes.rs",
        "tompion-lab/src/plan/scenarios.rs",
        "tompion-lab/src/plan/short_loads.rs",
        "tompion-lab/src/order.rs",
        "tompion-lab/src/estimate.rs",
        "tompion-lab/src/warnings.rs",
        "tompion-platforms/src/keys.rs",
        "tompion-platforms/src/platform_plan.rs",
        "tompion-load/src/spec.rs",
        "tompion-load/src/spec/values.rs",
    ],
    most_bytes: 4096,
    run,
};

fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let plan = match LabPlan::parse(&text) {
        Err(error) => {
            assert!(!error.mistakes.is_empty(), "refused without a reason");
            for mistake in error.mistakes {
                one_line(&mistake.to_string());
            }
            return;
        }
        Ok(plan) => plan,
    };
    let cells = plan.cells();
    let mut turns = order(&plan, 7, 0).concat();
    turns.sort();
    assert_eq!(turns, cells, "a replicate has every cell once");
    let prospect = estimate(&plan, &cells);
    assert!(prospect.expected_s >= 0.0, "{prospect:?}");
    let room = Room {
        cpus: 2,
        memory_mib: Some(1024),
    };
    for warning in warnings(&plan, &cells, &prospect, &room) {
        one_line(&warning);
    }
    for cell in cells.iter().take(64) {
        one_line(&plan.name_of(*cell));
        plan.keys(*cell);
    }
}
