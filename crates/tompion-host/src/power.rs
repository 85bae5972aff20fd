//! What lowers power at the price of latency.

use std::collections::BTreeSet;

use tompion_model::{IdleState, Power};

use crate::root::Root;

const CPUS: &str = "/sys/devices/system/cpu";

/// Describes idle states and frequency scaling.
pub fn power(root: &Root) -> Power {
    let idle = |name: &str| root.text(format!("{CPUS}/cpuidle/{name}"));
    let governors: BTreeSet<String> = root
        .numbered(CPUS, "cpu")
        .iter()
        .filter_map(|cpu| root.text(cpu.join("cpufreq/scaling_governor")))
        .collect();
    Power {
        idle_driver: idle("current_driver"),
        idle_governor: idle("current_governor").or_else(|| idle("current_governor_ro")),
        idle_states: idle_states(root),
        frequency_driver: root.text(format!("{CPUS}/cpu0/cpufreq/scaling_driver")),
        frequency_governors: governors.into_iter().collect(),
    }
}

fn idle_states(root: &Root) -> Vec<IdleState> {
    root.numbered(format!("{CPUS}/cpu0/cpuidle"), "state")
        .iter()
        .map(|state| IdleState {
            name: root.text(state.join("name")).unwrap_or_default(),
            exit_latency_us: root.parsed(state.join("latency")),
            // Bit 0 is the user's switch, bit 1 the driver's.
            disabled: root.parsed::<u32>(state.join("disable")).map(|d| d != 0),
        })
        .collect()
}
