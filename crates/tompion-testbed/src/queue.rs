//! What waits where: a device's token bucket, and which CPU handles what arrives.

use std::fs;
use std::io;

use nix::net::if_::if_nametoindex;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use crate::TestbedError;
use crate::namespace::Namespace;
use crate::netlink::{Netlink, TokenBucket};

/// Has a device of a place send through a token bucket.
pub(crate) fn shape(
    namespace: &Namespace,
    device: &str,
    bucket: TokenBucket,
) -> Result<(), TestbedError> {
    let done = namespace.inside(|| Netlink::new()?.shape(if_nametoindex(device)?, bucket));
    done.and_then(|done| done)
        .map_err(|source| match source.raw_os_error() {
            Some(nix::libc::ENOENT | nix::libc::EOPNOTSUPP) => TestbedError::Kernel {
                what: "token bucket (sch_tbf)",
                source,
            },
            _ => TestbedError::system("shape a device")(source),
        })
}

/// Has what arrives at a device handled on this process's last CPU (receive packet steering), where it
/// has several; where the kernel has no steering, it stays on the sender's.
pub(crate) fn steer(namespace: &Namespace, device: &str) -> Result<(), TestbedError> {
    let cpus = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0))
        .map_err(|e| TestbedError::system("ask for this process's CPUs")(e.into()))?;
    let allowed: Vec<usize> = (0..nix::sched::CpuSet::count())
        .filter(|cpu| cpus.is_set(*cpu).unwrap_or(false))
        .collect();
    let (true, Some(last)) = (allowed.len() > 1, allowed.last()) else {
        return Ok(());
    };
    // Words of 32 CPUs, the highest first.
    let words = (0..=last / 32).rev();
    let mask: Vec<String> = words
        .map(|word| {
            let bit = if word == last / 32 {
                1_u32 << (last % 32)
            } else {
                0
            };
            format!("{bit:08x}")
        })
        .collect();
    let file = format!("class/net/{device}/queues/rx-0/rps_cpus");
    let done = namespace.inside(|| -> io::Result<()> {
        // sysfs shows the devices of whoever mounts it; here nobody else ever sees this mount.
        let filesystem = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&filesystem)?;
        let mounted = fsmount(
            &filesystem,
            FsMountFlags::FSMOUNT_CLOEXEC,
            MountAttrFlags::empty(),
        )?;
        let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&mounted, &file, flags, rustix::fs::Mode::empty()) {
            Ok(file) => file,
            Err(rustix::io::Errno::NOENT) => return Ok(()),
            Err(refused) => return Err(refused.into()),
        };
        io::Write::write_all(&mut fs::File::from(file), mask.join(",").as_bytes())
    });
    done.and_then(|done| done)
        .map_err(TestbedError::system("steer the router's packets"))
}
