//! The kernel and how it was built and started.

use std::io::Read;

use flate2::read::GzDecoder;
use tompion_model::Kernel;

use crate::root::{Root, chosen};
use crate::sys::SystemCalls;

/// Starts of the options that bear on timing.
const TIMING: [&str; 44] = [
    "acpi_pm",
    "amd_pstate",
    "clocksource",
    "cpufreq.",
    "cpuidle",
    "haltpoll.",
    "highres",
    "hlt",
    "hpet",
    "hv_",
    "idle=",
    "intel_idle.",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "kthread_cpus",
    "kvm",
    "lapic",
    "maxcpus",
    "mce",
    "mitigations",
    "nmi_watchdog",
    "no-kvmclock",
    "no-steal-acc",
    "no_timer_check",
    "nohalt",
    "nohlt",
    "nohpet",
    "nohz",
    "nolapic_timer",
    "nosmt",
    "nosoftlockup",
    "notsc",
    "nowatchdog",
    "preempt",
    "processor.",
    "psi",
    "rcu_nocb",
    "sched_",
    "skew_tick",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
    "xen",
];

/// Describes the kernel.
pub fn kernel(root: &Root, calls: &SystemCalls) -> Kernel {
    let some = |s: &str| (!s.is_empty()).then(|| s.to_owned());
    let config = config(root, &calls.release).unwrap_or_default();
    Kernel {
        release: some(&calls.release),
        version: some(&calls.version),
        preemption: preemption(root, &calls.version, &config),
        tick_rate_hz: setting(&config, "CONFIG_HZ").and_then(|v| v.parse().ok()),
        timing_options: timing_options(&root.text("/proc/cmdline").unwrap_or_default()),
    }
}

/// The build configuration, from the kernel itself or beside its image.
fn config(root: &Root, release: &str) -> Option<String> {
    if let Some(packed) = root.bytes("/proc/config.gz") {
        let mut text = String::new();
        GzDecoder::new(packed.as_slice())
            .read_to_string(&mut text)
            .ok()?;
        return Some(text);
    }
    root.text(format!("/boot/config-{release}"))
}

fn setting<'a>(config: &'a str, name: &str) -> Option<&'a str> {
    config
        .lines()
        .find_map(|l| l.strip_prefix(name)?.strip_prefix('='))
}

/// The model in force where debugfs or the command line tells, else the one
/// built in, else what the version string says.
fn preemption(root: &Root, version: &str, config: &str) -> Option<String> {
    let in_force = root.text("/sys/kernel/debug/sched/preempt");
    if let Some(model) = in_force.and_then(|t| chosen_in_parentheses(&t)) {
        return Some(model);
    }
    let words = || version.split_whitespace();
    if words().any(|w| w == "PREEMPT_RT") {
        return Some("realtime".to_owned());
    }
    let cmdline = root.text("/proc/cmdline").unwrap_or_default();
    let asked = cmdline
        .split_whitespace()
        .find_map(|o| o.strip_prefix("preempt="));
    if let Some(model) = asked {
        return Some(model.to_owned());
    }
    const MODELS: [(&str, &str); 5] = [
        ("CONFIG_PREEMPT_RT", "realtime"),
        ("CONFIG_PREEMPT_LAZY", "lazy"),
        ("CONFIG_PREEMPT_NONE", "none"),
        ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
        ("CONFIG_PREEMPT", "full"),
    ];
    let built = MODELS
        .iter()
        .find(|(name, _)| setting(config, name) == Some("y"));
    if let Some((_, model)) = built {
        return Some((*model).to_owned());
    }
    if words().any(|w| w == "PREEMPT_DYNAMIC") {
        return Some("dynamic, model not known".to_owned());
    }
    words().any(|w| w == "PREEMPT").then(|| "full".to_owned())
}

/// The word in parentheses, as in `none voluntary (full)`.
fn chosen_in_parentheses(text: &str) -> Option<String> {
    chosen(&text.replace('(', "[").replace(')', "]"))
}

/// Options that bear on timing; what follows `--` is meant for init.
fn timing_options(cmdline: &str) -> Vec<String> {
    cmdline
        .split_whitespace()
        .take_while(|o| *o != "--")
        .filter(|o| TIMING.iter().any(|start| o.starts_with(start)))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn only_options_that_bear_on_timing_are_kept() {
        let line = "root=UUID=0123 quiet tsc=reliable isolcpus=2-3 ip=10.0.0.2 nohz_full=2-3 \
                    crashkernel=256M clocksource=tsc -- tsc=secret";
        assert_eq!(
            timing_options(line),
            [
                "tsc=reliable",
                "isolcpus=2-3",
                "nohz_full=2-3",
                "clocksource=tsc"
            ]
        );
    }

    #[test]
    fn settings_are_matched_by_their_whole_name() {
        let config = "CONFIG_HZ_250=y\nCONFIG_HZ=250\n# CONFIG_PREEMPT is not set\n";
        assert_eq!(setting(config, "CONFIG_HZ"), Some("250"));
        assert_eq!(setting(config, "CONFIG_PREEMPT"), None);
    }
}
