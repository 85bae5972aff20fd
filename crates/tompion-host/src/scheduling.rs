//! How the kernel shares the CPUs out.

use tompion_model::Scheduling;

use crate::root::{Root, field};

/// Describes the scheduler and this process's place in it.
pub fn scheduling(root: &Root) -> Scheduling {
    let sysctl = |name: &str| format!("/proc/sys/kernel/{name}");
    let status = root.text("/proc/self/status").unwrap_or_default();
    let place = root.text("/proc/self/stat").as_deref().and_then(place);
    Scheduling {
        policy: place.as_ref().map(|p| p.policy.to_owned()),
        realtime_priority: place.as_ref().map(|p| p.realtime_priority),
        nice: place.as_ref().map(|p| p.nice),
        allowed_cpus: field(&status, "Cpus_allowed_list").map(str::to_owned),
        realtime_runtime_us: root.parsed(sysctl("sched_rt_runtime_us")),
        realtime_period_us: root.parsed(sysctl("sched_rt_period_us")),
        autogroup: root
            .parsed::<u8>(sysctl("sched_autogroup_enabled"))
            .map(|v| v == 1),
        base_slice_ns: root.parsed("/sys/kernel/debug/sched/base_slice_ns"),
        isolated_cpus: root.text("/sys/devices/system/cpu/isolated"),
        tickless_cpus: root
            .text("/sys/devices/system/cpu/nohz_full")
            // The kernel prints this where the option was not given.
            .filter(|l| l != "(null)"),
        pressure_information: root
            .has("/proc")
            .then(|| root.text("/proc/pressure/cpu").is_some()),
    }
}

struct Place {
    policy: &'static str,
    realtime_priority: u32,
    nice: i32,
}

/// Reads `/proc/self/stat`; the name of the process, in parentheses, may hold
/// any character, so counting starts after the last one.
fn place(stat: &str) -> Option<Place> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // proc(5) counts from 1 and the state, first here, is its field 3.
    let numbered = |n: usize| fields.get(n - 3);
    Some(Place {
        policy: match numbered(41)?.parse::<u32>().ok()? {
            0 => "other",
            1 => "fifo",
            2 => "rr",
            3 => "batch",
            5 => "idle",
            6 => "deadline",
            7 => "ext",
            _ => "unknown",
        },
        realtime_priority: numbered(40)?.parse().ok()?,
        nice: numbered(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_process_name_with_parentheses_does_not_confuse() {
        let mut fields: Vec<String> = (3..=52).map(|i| i.to_string()).collect();
        fields[19 - 3] = "-5".to_owned();
        fields[40 - 3] = "50".to_owned();
        fields[41 - 3] = "1".to_owned();
        let stat = format!("77 (odd ) name) {}", fields.join(" "));
        let p = place(&stat).unwrap();
        assert_eq!((p.policy, p.realtime_priority, p.nice), ("fifo", 50, -5));
        assert!(place("77 (cut").is_none() && place("77 (x) S 1 2").is_none());
    }
}
