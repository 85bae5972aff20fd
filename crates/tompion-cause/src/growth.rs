//! By how much counters grew from before a stall to after it.

use crate::{Counters, Stall};

/// Two readings of the same thread's counters are up to this far apart in what
/// they say of CPU and wall time, in nanoseconds.
const NOISE_NS: u64 = 5_000;

/// Growth of the counters over the window that holds a stall.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// Wall time in which the thread used no CPU time.
    pub off_cpu_ns: u64,
    pub run_delay_ns: Option<u64>,
    pub voluntary: Option<u64>,
    pub involuntary: Option<u64>,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub throttled_ns: Option<u64>,
    pub smi: u64,
    elsewhere_ns: u64,
    stall_ns: u64,
}

/// How much of a growth belongs to a stall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// Surely, or with an error below a tenth of the stall.
    pub sure_ns: u64,
    /// Perhaps: other stalls of the window may have caused it.
    pub perhaps_ns: u64,
}

impl Growth {
    /// `None` when the two readings do not enclose the stall.
    pub fn between(
        stall: &Stall,
        before: Option<Counters>,
        after: Option<Counters>,
        elsewhere_ns: u64,
    ) -> Option<Self> {
        let (before, after) = (before?, after?);
        if before.at_ns > stall.from_ns.saturating_add(NOISE_NS)
            || after.at_ns.saturating_add(NOISE_NS) < stall.until_ns
        {
            return None;
        }
        let grew = |a: Option<u64>, b: Option<u64>| Some(b?.saturating_sub(a?));
        let wall_ns = after.at_ns.saturating_sub(before.at_ns);
        Some(Self {
            off_cpu_ns: wall_ns
                .saturating_sub(after.cpu_time_ns.saturating_sub(before.cpu_time_ns)),
            run_delay_ns: grew(before.run_delay_ns, after.run_delay_ns),
            voluntary: grew(before.voluntary_switches, after.voluntary_switches),
            involuntary: grew(before.involuntary_switches, after.involuntary_switches),
            minor_faults: grew(before.minor_faults, after.minor_faults).unwrap_or(0),
            major_faults: grew(before.major_faults, after.major_faults).unwrap_or(0),
            throttled_ns: grew(before.throttled_ns, after.throttled_ns),
            smi: grew(before.smi, after.smi).unwrap_or(0),
            elsewhere_ns,
            stall_ns: stall.until_ns.saturating_sub(stall.from_ns),
        })
    }

    /// What of `grown_ns` belongs to the stall, of which `room_ns` have no cause
    /// yet.
    pub fn share(&self, grown_ns: u64, room_ns: u64) -> Share {
        let possible = grown_ns.min(room_ns);
        if grown_ns < NOISE_NS {
            return Share::default();
        }
        let sure_ns = if self.elsewhere_ns <= self.stall_ns / 10 {
            possible
        } else {
            grown_ns.saturating_sub(self.elsewhere_ns).min(room_ns)
        };
        Share {
            sure_ns,
            perhaps_ns: possible - sure_ns,
        }
    }
}
