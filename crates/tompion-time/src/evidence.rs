//! Evidence for and against the CPU counter.
//!
//! [`Evidence::gather`] asks everything that does not change, once, before the
//! first read of the counter; [`Watch`] looks at what may change while the
//! clock runs. Nothing here decides: evidence is handed to the clock, which
//! calibrates and checks for itself. Whether the counters of several CPUs agree
//! is measured by [`crate::agreement`].
//!
//! ```
//! use tompion_time::evidence::{CounterAccess, Evidence, Standing};
//!
//! let evidence = Evidence::gather();
//! if evidence.access == CounterAccess::Refused {
//!     println!("a read of the counter would kill this thread");
//! }
//! match evidence.clocksources.standing() {
//!     Standing::InUse => println!("the kernel itself keeps time by the counter"),
//!     Standing::Listed => println!("the kernel could, but prefers another"),
//!     Standing::NotListed => println!("the kernel does not trust the counter"),
//!     Standing::Unknown => println!("the kernel does not say"),
//! }
//! for hint in &evidence.rate_hints {
//!     println!("{} Hz, says {:?}", hint.hz, hint.origin);
//! }
//! ```

#[deny(unsafe_code)]
mod clocksource;
#[deny(unsafe_code)]
mod cpuid;
#[deny(unsafe_code)]
mod pvclock;
mod sys;
#[cfg(test)]
mod testing;
#[deny(unsafe_code)]
mod vmclock;
#[deny(unsafe_code)]
mod watch;

use std::path::Path;

pub use clocksource::{COUNTER_CLOCKSOURCE, Clocksources, Current, Standing};
pub use cpuid::{Cpu, Hypervisor};
pub(crate) use sys::counter_access;
#[cfg(feature = "embed")]
pub(crate) use vmclock::Vmclock;
pub use vmclock::VmclockState;
pub use watch::{Watch, Watched};

/// Whether the kernel lets a thread read the counter (`prctl(PR_GET_TSC)`).
///
/// The kernel keeps this per thread; new threads inherit it. Where reads are
/// refused they raise SIGSEGV, and so do the vDSO's clocks, which read it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterAccess {
    /// Reads are allowed.
    Allowed,
    /// Reads raise a signal.
    Refused,
    /// The kernel does not know the question (aarch64 before Linux 6.12, some
    /// sandboxes): reads are allowed as far as anyone knows.
    NotTold,
}

/// Who told the counter's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HintOrigin {
    /// The vmclock device: measured by the host against its own time.
    Vmclock,
    /// The paravirtual clock page of KVM or Xen: nominal, in whole kHz.
    PvclockPage,
    /// The reference TSC page of Hyper-V.
    ReferenceTscPage,
    /// CPUID leaf 0x40000010 of VMware, KVM and others: in whole kHz.
    HypervisorLeaf,
    /// Xen's CPUID leaf for time: in whole kHz.
    XenLeaf,
    /// CPUID leaf 0x15: the crystal's nominal rate times a ratio. Under a
    /// hypervisor it may be the host's and not this machine's.
    CpuidCrystal,
    /// The aarch64 register CNTFRQ_EL0, as the firmware set it.
    GenericTimer,
}

/// A rate of the counter that somebody states. Never to be used unchecked: the
/// statement may be nominal (off by tens of ppm), the host's, or stale after a
/// live migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateHint {
    /// Ticks per second.
    pub hz: u64,
    /// Who states it.
    pub origin: HintOrigin,
}

impl RateHint {
    /// Rates of counters in use: Arm's generic timers start near 20 MHz.
    const PLAUSIBLE_HZ: std::ops::RangeInclusive<f64> = 10e6..=20e9;

    /// Rounds to whole Hz; `None` when no counter runs at this rate.
    fn plausible(hz: f64, origin: HintOrigin) -> Option<Self> {
        Self::PLAUSIBLE_HZ.contains(&hz).then(|| Self {
            hz: hz.round() as u64,
            origin,
        })
    }
}

/// All that can be asked about the counter. Every part is optional: where
/// something cannot be asked, its value says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Whether the calling thread may read the counter.
    pub access: CounterAccess,
    /// The kernel's clocksources.
    pub clocksources: Clocksources,
    /// The processor and the hypervisor.
    pub cpu: Cpu,
    /// Stated rates, the most trustworthy first; often empty.
    pub rate_hints: Vec<RateHint>,
    /// Whether the host promises, through the pvclock page, one counter for all
    /// virtual CPUs; `None` where there is no such page.
    pub host_promises_agreement: Option<bool>,
    /// The vmclock device.
    pub vmclock: VmclockState,
}

impl Evidence {
    /// Asks this machine, for the calling thread. Reads neither the counter nor
    /// a clock, so that it can be called where both would raise a signal; opens
    /// and closes a few files; never fails.
    pub fn gather() -> Self {
        Self::gather_below(Path::new("/"))
    }

    /// As [`Evidence::gather`], with the sysfs and the devices below `root`.
    /// The processor and this process's own memory are always the real ones.
    pub fn gather_below(root: &Path) -> Self {
        let access = sys::counter_access();
        let (cpu, cpu_hints) = cpuid::ask();
        let device = vmclock::Vmclock::open(root);
        let page = pvclock::look();
        let rate_hints = device
            .as_ref()
            .ok()
            .and_then(|d| d.rate_hint())
            .into_iter()
            .chain(page.map(|p| p.hint))
            .chain(cpu_hints)
            .collect();
        Self {
            access,
            clocksources: Clocksources::read(root),
            cpu,
            rate_hints,
            host_promises_agreement: page.and_then(|p| p.stable),
            vmclock: device.err().unwrap_or(VmclockState::Mapped),
        }
    }

    /// The most trustworthy stated rate.
    pub fn rate_hint(&self) -> Option<RateHint> {
        self.rate_hints.first().copied()
    }

    /// Whether the counter is known to be a computation and not a counter: an
    /// emulated machine, or reads that trap into the hypervisor.
    pub fn is_emulated(&self) -> bool {
        self.cpu.counter_emulated == Some(true)
            || self.cpu.hypervisor.is_some_and(|h| h.is_emulator())
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{Tree, vmclock_page};
    use super::*;

    #[test]
    fn this_machine_answers_the_same_twice() {
        let evidence = Evidence::gather();
        assert_eq!(evidence, Evidence::gather());
        assert_ne!(evidence.access, CounterAccess::Refused);
    }

    #[test]
    fn an_empty_root_is_no_error() {
        let evidence = Evidence::gather_below(Tree::new().root());
        assert_eq!(evidence.clocksources, Clocksources::default());
        assert_eq!(evidence.vmclock, VmclockState::Absent);
    }

    #[test]
    fn a_rate_measured_by_the_host_comes_first() {
        let tree = Tree::new();
        let mut page = vmclock_page(1);
        page[10] = u8::from(cfg!(target_arch = "x86_64"));
        page[34] = 3;
        page[48..56].copy_from_slice(&(u64::MAX / 3_000_000_000).to_le_bytes());
        tree.write("dev/vmclock0", page);
        let evidence = Evidence::gather_below(tree.root());
        if crate::counter::AVAILABLE {
            let hint = evidence.rate_hint().unwrap();
            assert_eq!(hint.origin, HintOrigin::Vmclock);
            assert!(hint.hz.abs_diff(3_000_000_000) < 10, "{hint:?}");
        }
        assert_eq!(evidence.vmclock, VmclockState::Mapped);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn evidence_is_gathered_where_the_counter_is_forbidden() {
        // The prohibition is the thread's own; a clock read in it would kill
        // the whole test.
        std::thread::spawn(|| {
            sys::set_counter_access(false).unwrap();
            let evidence = Evidence::gather();
            let watched = Watch::open(Path::new("/")).poll();
            sys::set_counter_access(true).unwrap();
            assert_eq!(evidence.access, CounterAccess::Refused);
            assert_eq!(
                watched.clocksource == Current::Counter,
                evidence.clocksources.standing() == Standing::InUse
            );
        })
        .join()
        .unwrap();
    }
}
