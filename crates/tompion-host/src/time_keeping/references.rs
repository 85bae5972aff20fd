//! Clocks of this machine that the wall clock could follow: those of PTP devices.

use tompion_model::TimeReference;

use crate::root::Root;

/// More than a machine has.
const MOST: usize = 16;
const NAME_BYTES: u64 = 64;

/// PTP clocks, and VMClock where it has no such device.
pub fn references(root: &Root) -> Vec<TimeReference> {
    let clocks = root.numbered("/sys/class/ptp", "ptp");
    let mut found: Vec<TimeReference> = clocks
        .into_iter()
        .take(MOST)
        .filter_map(|clock| {
            let name = root.beginning(clock.join("clock_name"), NAME_BYTES)?;
            let number = clock.file_name()?.to_str()?;
            Some(TimeReference {
                device: format!("/dev/{number}"),
                of_host: is_of_host(&name),
                name,
            })
        })
        .collect();
    let has_vmclock = found.iter().any(|r| r.name.starts_with("vmclock"));
    if !has_vmclock && root.has("/dev/vmclock0") {
        found.push(TimeReference {
            device: "/dev/vmclock0".to_owned(),
            name: "vmclock".to_owned(),
            of_host: true,
        });
    }
    found
}

/// What drivers of hypervisors' clocks call them: drivers/ptp/ptp_kvm_common.c, ptp_vmw.c and
/// ptp_vmclock.c, drivers/hv/hv_util.c of Linux.
fn is_of_host(name: &str) -> bool {
    let names = ["KVM virtual PTP", "hyperv", "ptp_vmw", "vmclock"];
    names.iter().any(|known| name.starts_with(known))
}
