//! When the counter is trusted.

use std::fmt;
use std::str::FromStr;

use crate::agreement::{Agreement, NotMeasured};
use crate::counter;
use crate::discipline::{Reason, Terms};
use crate::evidence::{CounterAccess, Evidence, Standing};

/// When the clock reads the counter instead of the kernel's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Policy {
    /// Where the kernel itself keeps time by it, the CPU promises a constant
    /// rate, and no emulator computes it.
    #[default]
    Auto = 0,
    /// Also where the kernel lists it as available but prefers another source, or
    /// where an emulator computes it, if it passes our own checks: equal counts
    /// on all CPUs (measured between them, about a millisecond of two CPUs for
    /// each), and a steady rate. Results obtained so should say so:
    /// [`Report::against`](crate::Report::against).
    Tsc = 1,
    /// Never.
    Kernel = 2,
}

impl Policy {
    pub(crate) fn from_number(n: u8) -> Self {
        match n {
            1 => Self::Tsc,
            2 => Self::Kernel,
            _ => Self::Auto,
        }
    }

    /// Whether the evidence admits the counter, as far as it is known before the
    /// first read.
    pub(crate) fn admits(
        self,
        evidence: &Evidence,
        agreement: Option<&Result<Agreement, NotMeasured>>,
    ) -> Result<(), Reason> {
        if self == Self::Kernel {
            return Err(Reason::Requested);
        }
        if !counter::AVAILABLE {
            return Err(Reason::NoCounter);
        }
        if evidence.access == CounterAccess::Refused {
            return Err(Reason::Forbidden);
        }
        let standing = evidence.clocksources.standing();
        if standing == Standing::NotListed {
            return Err(Reason::NotListed);
        }
        // What never changes first: the kernel may come to use the counter later,
        // and nobody asks the rest again.
        if self == Self::Tsc {
            compared(evidence, standing, agreement)?;
        } else if evidence.is_emulated() {
            return Err(Reason::Emulated);
        } else if !evidence.cpu.invariant {
            return Err(Reason::NotInvariant);
        }
        match (self, standing) {
            (_, Standing::Unknown) => Err(Reason::ClocksourceUnknown),
            (Self::Auto, Standing::Listed) => Err(Reason::NotTheClocksource),
            _ => Ok(()),
        }
    }
}

impl Terms {
    /// On what terms a counter that `policy` admits is used.
    pub(crate) fn of(policy: Policy, evidence: &Evidence) -> Self {
        let listed = evidence.clocksources.standing() == Standing::Listed;
        Self {
            // What was no more than listed may stay so.
            kernel_must_use_it: policy != Policy::Tsc || !listed,
            hint_hz: evidence.rate_hint().map(|hint| hint.hz),
            longest_hold_ns: u64::MAX,
        }
    }
}

/// Our own comparison of the CPUs. Where the kernel uses the counter itself, its
/// own is enough; nothing may contradict it.
fn compared(
    evidence: &Evidence,
    standing: Standing,
    agreement: Option<&Result<Agreement, NotMeasured>>,
) -> Result<(), Reason> {
    let all_needed = standing != Standing::InUse;
    if all_needed && evidence.host_promises_agreement == Some(false) {
        return Err(Reason::HostDeniesAgreement);
    }
    match agreement {
        Some(Err(NotMeasured::OneCpu)) => Ok(()),
        Some(Err(_)) if all_needed => Err(Reason::CpusMeasuredApart { by_ticks: 0 }),
        Some(Ok(found)) if !found.agrees() || (all_needed && !found.is_complete()) => {
            Err(Reason::CpusMeasuredApart {
                by_ticks: found.worst_excess_ticks().max(found.warps().largest_ticks),
            })
        }
        _ => Ok(()),
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Tsc => "tsc",
            Self::Kernel => "kernel",
        })
    }
}

/// A name that is no policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsePolicyError(String);

impl fmt::Display for ParsePolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no clock policy {:?}: use auto, tsc or kernel", self.0)
    }
}

impl std::error::Error for ParsePolicyError {}

impl FromStr for Policy {
    type Err = ParsePolicyError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "auto" => Ok(Self::Auto),
            "tsc" => Ok(Self::Tsc),
            "kernel" => Ok(Self::Kernel),
            other => Err(ParsePolicyError(other.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::{PairOffset, Warps};
    use crate::evidence::{Clocksources, Cpu, VmclockState};

    fn evidence(current: &str, available: &[&str]) -> Evidence {
        Evidence {
            access: CounterAccess::Allowed,
            clocksources: Clocksources {
                current: Some(current.into()),
                available: available.iter().map(|s| (*s).to_owned()).collect(),
            },
            cpu: Cpu {
                invariant: true,
                rdtscp: true,
                waitpkg: false,
                hypervisor: None,
                counter_emulated: None,
            },
            rate_hints: Vec::new(),
            host_promises_agreement: None,
            vmclock: VmclockState::Absent,
        }
    }

    fn measured(offset_ticks: i64) -> Result<Agreement, NotMeasured> {
        Ok(Agreement {
            reference_cpu: 0,
            allowed_cpus: 2,
            pairs: vec![PairOffset {
                cpu: 1,
                offset_ticks,
                uncertainty_ticks: 100,
                steady: true,
                exchanges: 1000,
                warps: Warps::default(),
            }],
            not_covered: Vec::new(),
        })
    }

    const TSC: &str = crate::evidence::COUNTER_CLOCKSOURCE;

    #[test]
    fn what_the_kernel_uses_is_trusted() {
        let e = evidence(TSC, &[TSC, "hpet"]);
        assert_eq!(Policy::Auto.admits(&e, None), Ok(()));
        assert_eq!(Policy::Kernel.admits(&e, None), Err(Reason::Requested));
    }

    #[test]
    fn what_the_kernel_could_use_needs_an_opt_in_and_agreement() {
        let mut e = evidence("kvm-clock", &["kvm-clock", TSC]);
        assert_eq!(
            Policy::Auto.admits(&e, None),
            Err(Reason::NotTheClocksource)
        );
        assert_eq!(Policy::Tsc.admits(&e, Some(&measured(-26))), Ok(()));
        assert_eq!(
            Policy::Tsc.admits(&e, Some(&measured(1100))),
            Err(Reason::CpusMeasuredApart { by_ticks: 1000 })
        );
        e.host_promises_agreement = Some(false);
        assert_eq!(
            Policy::Tsc.admits(&e, Some(&measured(0))),
            Err(Reason::HostDeniesAgreement)
        );
    }

    #[test]
    fn what_the_kernel_dropped_is_refused_by_all() {
        let e = evidence("hpet", &["hpet", "acpi_pm"]);
        for policy in [Policy::Auto, Policy::Tsc] {
            assert_eq!(policy.admits(&e, None), Err(Reason::NotListed));
        }
    }

    #[test]
    fn a_forbidden_counter_is_refused_by_all() {
        let mut e = evidence(TSC, &[TSC]);
        e.access = CounterAccess::Refused;
        for policy in [Policy::Auto, Policy::Tsc] {
            assert_eq!(policy.admits(&e, None), Err(Reason::Forbidden));
        }
    }

    #[test]
    fn a_counter_without_a_constant_rate_needs_an_opt_in() {
        let mut e = evidence(TSC, &[TSC]);
        e.cpu.invariant = false;
        assert_eq!(Policy::Auto.admits(&e, None), Err(Reason::NotInvariant));
        let alone = Err(NotMeasured::OneCpu);
        assert_eq!(Policy::Tsc.admits(&e, Some(&alone)), Ok(()));
    }

    #[test]
    fn a_kernel_that_does_not_tell_is_not_overruled() {
        let mut e = evidence(TSC, &[TSC]);
        e.clocksources = Clocksources::default();
        assert_eq!(
            Policy::Auto.admits(&e, None),
            Err(Reason::ClocksourceUnknown)
        );
        assert_eq!(
            Policy::Tsc.admits(&e, Some(&measured(0))),
            Err(Reason::ClocksourceUnknown)
        );
        let failed = Err(NotMeasured::NoThread);
        assert_eq!(
            Policy::Tsc.admits(&e, Some(&failed)),
            Err(Reason::CpusMeasuredApart { by_ticks: 0 })
        );
    }

    #[test]
    fn what_never_changes_is_said_before_what_may() {
        let mut e = evidence("kvm-clock", &["kvm-clock", TSC]);
        e.cpu.invariant = false;
        assert_eq!(Policy::Auto.admits(&e, None), Err(Reason::NotInvariant));
    }

    #[test]
    fn names_parse_back() {
        for policy in [Policy::Auto, Policy::Tsc, Policy::Kernel] {
            assert_eq!(policy.to_string().parse(), Ok(policy));
            assert_eq!(Policy::from_number(policy as u8), policy);
        }
        assert!("TSC!".parse::<Policy>().is_err());
    }
}
