//! Xen, from which a guest has the time when it starts or resumes, and all the time with old
//! kernels, unless they are told to keep their own.

use tompion_model::TimeKeeper;

use super::{Here, Keeper};

pub(super) static ENTRY: Keeper = Keeper {
    processes: &[],
    found,
};

fn found(here: &Here<'_>) -> Option<TimeKeeper> {
    let is_xen = here.text("/sys/hypervisor/type").as_deref() == Some("xen");
    let capabilities = here.text("/proc/xen/capabilities").unwrap_or_default();
    // The control domain keeps its own time, and Xen's.
    if !is_xen || capabilities.contains("control_d") {
        return None;
    }
    // Only kernels have it that can follow.
    let follows = here.text("/proc/sys/xen/independent_wallclock").as_deref() == Some("0");
    let note = match follows {
        true => "the kernel follows Xen's wall clock (independent_wallclock is 0)",
        false => "sets the clock when the machine starts or resumes",
    };
    Some(TimeKeeper {
        name: "Xen".to_owned(),
        running: true,
        keeps: follows,
        tells_kernel: false,
        note: Some(note.to_owned()),
        ..TimeKeeper::default()
    })
}
