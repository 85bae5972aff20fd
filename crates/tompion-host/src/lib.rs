//! What this machine is: processor, hypervisor, container, clock, power and
//! scheduler settings, read from CPUID, `/proc`, `/sys` and a few system calls.
//!
//! Nothing is changed and nothing fails: what cannot be read is absent.
//!
//! ```
//! let environment = tompion_host::detect();
//! assert!(!environment.machine.architecture.is_empty());
//! ```
#![deny(unsafe_code)]

mod cgroup;
mod clock;
mod container;
mod cpu_time;
mod cpuid;
mod cpus;
#[doc(hidden)]
pub mod fuzz;
mod hypervisor;
mod kernel;
mod machine;
mod machine_id;
mod names;
mod path_owners;
mod power;
mod root;
mod scheduling;
mod synchronisation;
mod sys;
#[cfg(test)]
mod tests;
mod time_keeping;
mod tree;

pub use cpu_time::CpuTime;
pub use cpus::{cpu_list, require_cpus, usable_cpus};
pub use path_owners::{others_above, others_on_the_way};
use tompion_model::{Environment, Synchronisation, Throttling};

pub use crate::cgroup::QuotaGroup;
use crate::cpuid::{Cpuid, CpuidFacts};
pub use crate::root::Root;
use crate::sys::SystemCalls;
pub use crate::sys::has_random_numbers;
use crate::time_keeping::{Ask, Loopback};
pub use crate::tree::remove_tree;

/// Describes this machine as it is now.
pub fn detect() -> Environment {
    describe(
        &Root::real(),
        &SystemCalls::made(),
        cpuid::native(),
        &Loopback::default(),
    )
}

/// What the CPU quota above this process has done since its control group was
/// made; absent without a quota. The difference of two tells of the time between.
pub fn throttling() -> Option<Throttling> {
    cgroup::throttling(&Root::real())
}

/// The kernel's clocksource as it is now; absent where the system does not tell.
pub fn clocksource() -> Option<String> {
    clock::clocksource(&Root::real())
}

/// The time of all CPUs since the system started; absent where it does not tell.
pub fn cpu_time() -> Option<CpuTime> {
    cpu_time::cpu_time(&Root::real())
}

/// What the kernel says of how well its clock follows a reference; absent where it
/// may not be asked.
pub fn synchronisation() -> Option<Synchronisation> {
    sys::adjtimex().as_ref().map(synchronisation::decode)
}

/// Whether the kernel's clock follows UTC by what it says, and its largest error then, in
/// nanoseconds; half a second where nobody keeps it or it may not be asked.
pub fn clock_error() -> (bool, u64) {
    const UNKNOWN_NS: u64 = 500_000_000;
    match synchronisation() {
        Some(state) if state.synchronised => {
            let error = u64::try_from(state.maximum_error_ns);
            (true, error.unwrap_or(u64::MAX))
        }
        _ => (false, UNKNOWN_NS),
    }
}

/// The control group whose CPU quota this process feels, where the files under
/// `root` show one.
pub fn quota_group(root: &Root) -> Option<QuotaGroup> {
    cgroup::quota_group(root)
}

/// Describes the machine whose files lie under `root`.
fn describe(
    root: &Root,
    calls: &SystemCalls,
    cpuid: Option<&dyn Cpuid>,
    daemons: &dyn Ask,
) -> Environment {
    let facts = cpuid.map(CpuidFacts::read).unwrap_or_default();
    let synchronisation = calls.timex.as_ref().map(synchronisation::decode);
    Environment {
        hostname: calls.hostname.clone(),
        machine: machine::machine(root, &calls.architecture),
        kernel: kernel::kernel(root, calls),
        virtualization: hypervisor::virtualization(root, &facts),
        container: container::container(root),
        clock: clock::clock(root, &facts, calls.timer_slack_ns),
        time_keeping: time_keeping::time_keeping(root, daemons, synchronisation.as_ref()),
        synchronisation,
        power: power::power(root),
        scheduling: scheduling::scheduling(root),
        cgroup: cgroup::cgroup(root),
        mitigations: machine::mitigations(root),
    }
}
