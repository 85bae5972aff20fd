//! Why the kernel's clock is used.

use std::fmt;

/// Why the clock reads the kernel's clock and not the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The counter's rate is being measured; takes three anchors, about 15 ms of
    /// a program that reads its clock.
    Calibrating,
    /// [`Policy::Kernel`](crate::Policy::Kernel) was asked for.
    Requested,
    /// This architecture has no counter that programs can read.
    NoCounter,
    /// `prctl(PR_SET_TSC)` forbids this thread to read the counter.
    Forbidden,
    /// An emulator computes the counter, or its reads trap.
    Emulated,
    /// The CPU does not promise a constant rate (no invariant TSC).
    NotInvariant,
    /// The kernel keeps time by another clocksource.
    NotTheClocksource,
    /// The kernel does not even list the counter: it marked it unstable, or never
    /// took it.
    NotListed,
    /// The kernel does not tell its clocksource.
    ClocksourceUnknown,
    /// The host says that the counters of the virtual CPUs differ.
    HostDeniesAgreement,
    /// The counters of two CPUs differ, as measured between them, or were not
    /// all compared.
    CpusMeasuredApart {
        /// By how much at least, in ticks.
        by_ticks: u64,
    },
    /// A thread that moved between CPUs met another count.
    CpusDisagree {
        /// By how much at least, in nanoseconds.
        by_ns: u64,
    },
    /// The kernel's clocksource was switched while the clock ran.
    ClocksourceSwitched,
    /// The vmclock device says that time was disrupted (live migration, restore
    /// from a snapshot).
    Disrupted,
    /// The machine was suspended. Says nothing against the counter, whose rate
    /// is measured anew.
    Suspended,
    /// The counter ran ahead between two anchors.
    JumpedAhead {
        /// By how much, in nanoseconds.
        by_ns: u64,
    },
    /// The counter went back.
    JumpedBack {
        /// By how much at least, in nanoseconds.
        by_ns: u64,
    },
    /// The counter fell behind between two anchors.
    FellBehind {
        /// By how much, in nanoseconds.
        by_ns: u64,
    },
    /// The counter stood still.
    StoodStill {
        /// For how long, in nanoseconds.
        for_ns: u64,
    },
    /// The measured rate is far from the one that the CPU or the host states.
    RateContradicted {
        /// The stated one.
        stated_hz: u64,
        /// The measured one.
        measured_hz: u64,
    },
    /// The kernel's clock cannot be read tightly enough between two reads of the
    /// counter.
    ReadsUncertain,
}

impl Reason {
    /// Whether nothing that happens later changes it.
    pub(crate) fn is_final(self) -> bool {
        matches!(
            self,
            Self::Requested
                | Self::NoCounter
                | Self::Forbidden
                | Self::Emulated
                | Self::NotInvariant
                | Self::NotListed
                | Self::HostDeniesAgreement
                | Self::CpusMeasuredApart { .. }
        )
    }

    /// What a further jump by `off` nanoseconds (positive: the counter fell
    /// behind) tells: one that takes back the first belongs to a thread that
    /// moves between unequal CPUs.
    pub(crate) fn and_then_off_by(self, off: f64) -> Self {
        let before = match self {
            Self::JumpedAhead { by_ns } => -(by_ns as f64),
            Self::FellBehind { by_ns } | Self::JumpedBack { by_ns } => by_ns as f64,
            other => return other,
        };
        if (before + off).abs() <= before.abs() / 10.0 {
            Self::CpusDisagree {
                by_ns: before.abs() as u64,
            }
        } else {
            self
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |ns: &u64| *ns as f64 / 1e3;
        match self {
            Self::Calibrating => f.write_str("the counter's rate is being measured"),
            Self::Requested => f.write_str("asked for"),
            Self::NoCounter => f.write_str("this CPU has no counter that programs can read"),
            Self::Forbidden => f.write_str("this thread may not read the counter (PR_SET_TSC)"),
            Self::Emulated => f.write_str("the counter is emulated"),
            Self::NotInvariant => f.write_str("the CPU promises no constant rate of its counter"),
            Self::NotTheClocksource => f.write_str("the kernel keeps time by another clocksource"),
            Self::NotListed => f.write_str("the kernel does not accept the counter as clocksource"),
            Self::ClocksourceUnknown => f.write_str("the kernel does not tell its clocksource"),
            Self::HostDeniesAgreement => {
                f.write_str("the host does not promise equal counters on all virtual CPUs")
            }
            Self::CpusMeasuredApart { by_ticks: 0 } => {
                f.write_str("the counters of all CPUs could not be compared")
            }
            Self::CpusMeasuredApart { by_ticks } => {
                write!(f, "the counters of two CPUs differ by {by_ticks} ticks")
            }
            Self::CpusDisagree { by_ns } => {
                write!(f, "the counters of two CPUs differ by {:.1} us", us(by_ns))
            }
            Self::ClocksourceSwitched => f.write_str("the kernel switched to another clocksource"),
            Self::Disrupted => f.write_str("the host disrupted time (vmclock)"),
            Self::Suspended => f.write_str("the machine was suspended; measuring the rate anew"),
            Self::JumpedAhead { by_ns } => {
                write!(f, "the counter jumped ahead by {:.1} us", us(by_ns))
            }
            Self::JumpedBack { by_ns } => {
                write!(f, "the counter went back by {:.1} us", us(by_ns))
            }
            Self::FellBehind { by_ns } => {
                write!(f, "the counter fell behind by {:.1} us", us(by_ns))
            }
            Self::StoodStill { for_ns } => {
                write!(f, "the counter stood still for {:.1} us", us(for_ns))
            }
            Self::RateContradicted {
                stated_hz,
                measured_hz,
            } => write!(
                f,
                "the counter runs at {measured_hz} Hz and not at the stated {stated_hz} Hz"
            ),
            Self::ReadsUncertain => f.write_str("the kernel's clock cannot be read tightly enough"),
        }
    }
}
