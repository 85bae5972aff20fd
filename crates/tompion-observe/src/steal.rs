//! Whether CPU time excludes what the hypervisor took.
//!
//! A guest kernel that its hypervisor tells how long each virtual CPU was kept
//! from running (KVM's and Xen's steal clocks, Arm's likewise) takes that time off
//! what it charges to threads (`CONFIG_PARAVIRT_TIME_ACCOUNTING`). A stall without
//! a context switch that is missing from the thread's CPU time was then stolen, to
//! the nanosecond, while `/proc/stat` counts steal in steps of 10 ms. Without such
//! accounting stolen time looks like time the thread ran.

use std::fs;
use std::io::Read;
use std::sync::OnceLock;

/// Whether it does.
pub fn is_accounted() -> bool {
    accounting().is_ok()
}

/// How this machine is known to account for steal, or why it is taken not to.
///
/// # Errors
/// In a few words: why not.
pub fn accounting() -> Result<&'static str, &'static str> {
    static ANSWER: OnceLock<Result<&'static str, &'static str>> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        decide(&Evidence {
            config: kernel_config(),
            command_line: text("/proc/cmdline"),
            steal_clock: steal_clock(),
            stat: text("/proc/stat"),
        })
    })
}

struct Evidence {
    /// The kernel's configuration, where it can be read.
    config: Option<String>,
    command_line: String,
    /// The hypervisor's offer, where one is known.
    steal_clock: Option<&'static str>,
    stat: String,
}

fn decide(evidence: &Evidence) -> Result<&'static str, &'static str> {
    let lacks = |config: &String| {
        !config
            .lines()
            .any(|l| l == "CONFIG_PARAVIRT_TIME_ACCOUNTING=y")
    };
    if evidence.config.as_ref().is_some_and(lacks) {
        return Err("the kernel was built without accounting for steal time");
    }
    if evidence
        .command_line
        .split_whitespace()
        .any(|w| w == "no-steal-acc")
    {
        return Err("the kernel was started with no-steal-acc");
    }
    if let Some(clock) = evidence.steal_clock {
        return Ok(clock);
    }
    if total_steal(&evidence.stat) > 0 {
        return Ok("the kernel has counted steal time since it started");
    }
    Err("no steal clock is known here, and no steal time was ever counted")
}

/// Field 8 of the line of all CPUs.
fn total_steal(stat: &str) -> u64 {
    let line = stat.lines().next().unwrap_or_default();
    line.split_whitespace()
        .nth(8)
        .and_then(|n| n.parse().ok())
        .unwrap_or(0)
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn steal_clock() -> Option<&'static str> {
    use raw_cpuid::{CpuId, Hypervisor, native_cpuid};
    /// Bit KVM_FEATURE_STEAL_TIME of the feature leaf.
    const KVM_STEAL_TIME: u32 = 1 << 5;
    let hypervisor = CpuId::new().get_hypervisor_info()?.identify();
    match hypervisor {
        Hypervisor::KVM => {
            let features = native_cpuid::cpuid_count(0x4000_0001, 0).eax;
            (features & KVM_STEAL_TIME != 0).then_some("KVM's steal clock")
        }
        Hypervisor::Xen => Some("Xen's run state of the virtual CPU"),
        _ => None,
    }
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
fn steal_clock() -> Option<&'static str> {
    None
}

fn kernel_config() -> Option<String> {
    if let Ok(packed) = fs::File::open("/proc/config.gz") {
        let mut text = String::new();
        flate2::read::GzDecoder::new(packed)
            .read_to_string(&mut text)
            .ok()?;
        return Some(text);
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    fs::read_to_string(format!("/boot/config-{}", release.trim())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence() -> Evidence {
        Evidence {
            config: Some("CONFIG_X=y\nCONFIG_PARAVIRT_TIME_ACCOUNTING=y\n".to_owned()),
            command_line: "quiet".to_owned(),
            steal_clock: None,
            stat: "cpu  1 2 3 4 5 6 7 0 0 0\ncpu0 1 2 3 4 5 6 7 0 0 0\n".to_owned(),
        }
    }

    #[test]
    fn a_steal_clock_or_counted_steal_tells() {
        assert!(decide(&evidence()).is_err());
        let clock = Evidence {
            steal_clock: Some("a clock"),
            ..evidence()
        };
        assert_eq!(decide(&clock), Ok("a clock"));
        let stat = "cpu  1 2 3 4 5 6 7 8 0 0\n".to_owned();
        assert!(decide(&Evidence { stat, ..evidence() }).is_ok());
    }

    #[test]
    fn a_kernel_that_does_not_account_overrules_the_clock() {
        let clock = || Evidence {
            steal_clock: Some("a clock"),
            ..evidence()
        };
        let config = Some("# CONFIG_PARAVIRT_TIME_ACCOUNTING is not set\n".to_owned());
        assert!(decide(&Evidence { config, ..clock() }).is_err());
        let command_line = "quiet no-steal-acc".to_owned();
        assert!(
            decide(&Evidence {
                command_line,
                ..clock()
            })
            .is_err()
        );
        assert!(
            decide(&Evidence {
                config: None,
                ..clock()
            })
            .is_ok(),
            "unknown is no objection"
        );
    }

    #[test]
    fn this_machine_gives_one_reason() {
        assert!(accounting().map_or_else(|why| !why.is_empty(), |how| !how.is_empty()));
    }
}
