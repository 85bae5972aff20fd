//! Where the tests take place: network namespaces without names, which are gone with the process.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns, unshare};

use crate::receiving::LONG;

/// A network namespace, whose loopback device is up.
pub struct Place(File);

/// Addresses of the two ends of [`pair`].
pub const NEAR: [u8; 4] = [192, 0, 2, 1];
pub const FAR: [u8; 4] = [192, 0, 2, 2];
pub const NEAR_V6: &str = "2001:db8::1";
pub const FAR_V6: &str = "2001:db8::2";

impl Place {
    /// A new one; none without the right to make one.
    pub fn new() -> Option<Self> {
        let made = thread::scope(|scope| {
            scope
                .spawn(|| {
                    unshare(CloneFlags::CLONE_NEWNET).ok()?;
                    File::open("/proc/thread-self/ns/net").ok()
                })
                .join()
                .expect("no panic")
        });
        let place = match made {
            Some(file) => Self(file),
            None => {
                println!("NOT RUN: no right to make a network namespace");
                return None;
            }
        };
        place.ip("link set lo up");
        place.inside(|| {
            fs::write("/proc/sys/net/ipv4/ping_group_range", "0 2147483647").expect("ping sockets");
        });
        Some(place)
    }

    /// Does something there; sockets that it makes stay there.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            scope
                .spawn(|| {
                    setns(&self.0, CloneFlags::CLONE_NEWNET).expect("a namespace");
                    work()
                })
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Runs a program there; what it prints.
    pub fn run(&self, program: &str, arguments: &str) -> String {
        let done = self.inside(|| {
            Command::new(program)
                .args(arguments.split(' '))
                .output()
                .expect("iproute2")
        });
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{program} {arguments}: {said}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Runs `ip` there.
    pub fn ip(&self, arguments: &str) -> String {
        self.run("ip", arguments)
    }

    /// A path by which other programs enter it.
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}

/// Two of them with a cable between: `near0` with [`NEAR`] and `far0` with [`FAR`].
pub fn pair() -> Option<(Place, Place)> {
    let (near, far) = (Place::new()?, Place::new()?);
    near.ip(&format!(
        "link add near0 type veth peer name far0 netns {}",
        far.path()
    ));
    let addresses = [(&near, "near0", NEAR, NEAR_V6), (&far, "far0", FAR, FAR_V6)];
    for (place, device, v4, v6) in addresses {
        let [a, b, c, d] = v4;
        place.ip(&format!("address add {a}.{b}.{c}.{d}/24 dev {device}"));
        place.ip(&format!("address add {v6}/64 dev {device} nodad"));
        place.ip(&format!("link set {device} up"));
    }
    // Until the kernel has seen the cable it drops what is sent.
    for (place, device, ..) in addresses {
        let end = Instant::now() + LONG;
        let is_up = || {
            place
                .ip(&format!("-o link show {device}"))
                .contains("state UP")
        };
        while !is_up() && Instant::now() < end {
            thread::sleep(Duration::from_millis(20));
        }
    }
    Some((near, far))
}
