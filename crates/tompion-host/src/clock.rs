//! Where the kernel takes its time from.

use tompion_model::ClockState;

use crate::cpuid::CpuidFacts;
use crate::root::{Root, field};

const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0";

/// Flags of `/proc/cpuinfo` that describe the time stamp counter.
const TSC_FLAGS: [&str; 9] = [
    "tsc",
    "rdtscp",
    "constant_tsc",
    "nonstop_tsc",
    "nonstop_tsc_s3",
    "tsc_reliable",
    "tsc_known_freq",
    "tsc_adjust",
    "tsc_deadline_timer",
];

/// Describes the clock.
pub fn clock(root: &Root, cpuid: &CpuidFacts, timer_slack_ns: Option<u64>) -> ClockState {
    let available = root.words(format!("{CLOCKSOURCE}/available_clocksource"));
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    let tsc_flags = tsc_flags(&cpuinfo);
    ClockState {
        clocksource: clocksource(root),
        tsc_rejected: rejected(&tsc_flags, &available),
        clocksources_available: available,
        tsc_flags,
        tsc_invariant: cpuid.tsc_invariant,
        tsc_stated_hz: cpuid.tsc_stated.map(|s| s.0),
        tsc_stated_by: cpuid.tsc_stated.map(|s| format!("CPUID {}", s.1)),
        timer_slack_ns,
    }
}

/// The clocksource in use.
pub fn clocksource(root: &Root) -> Option<String> {
    root.text(format!("{CLOCKSOURCE}/current_clocksource"))
}

fn tsc_flags(cpuinfo: &str) -> Vec<String> {
    let flags: Vec<&str> = field(cpuinfo, "flags")
        .map(|f| f.split_whitespace().collect())
        .unwrap_or_default();
    let present = TSC_FLAGS.iter().filter(|f| flags.contains(f));
    present.map(|f| (*f).to_owned()).collect()
}

/// The kernel takes an unstable counter out of the list of clocksources, or
/// never enters it. Without a flag or a list there is nothing to conclude.
fn rejected(tsc_flags: &[String], available: &[String]) -> Option<bool> {
    let present = tsc_flags.iter().any(|f| f == "tsc");
    (present && !available.is_empty()).then(|| available.iter().all(|c| c != "tsc"))
}
