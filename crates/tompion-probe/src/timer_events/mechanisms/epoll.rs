//! The timeout of `epoll_pwait2(2)`.

use std::io;

use tompion_model::MethodRow;

use super::{EVENTS, monotonic};
use crate::timer_events::{Firing, Mechanism, one_event, sys};

pub(super) static ENTRY: Firing = Firing {
    row: MethodRow {
        name: "epoll",
        about: "the timeout of epoll_pwait2(2), for what is left",
        ..EVENTS
    },
    spin_budget: None,
    available: || one_event(&mut Epoll::open()?),
    trial: |trial| Ok(trial.on(&mut Epoll::open()?)),
    advice: |error| match error {
        libc::ENOSYS => "; epoll_pwait2 needs Linux 5.11",
        _ => "",
    },
};

struct Epoll(sys::EpollFd);

impl Epoll {
    fn open() -> io::Result<Self> {
        sys::EpollFd::open().map(Self)
    }

    /// Waits for `ahead_ns`, and after a signal for what is left until the target.
    #[inline(always)]
    fn wait(&self, target_ns: u64, ahead_ns: u64) -> io::Result<()> {
        let mut left = ahead_ns;
        while !self.0.wait(left)? {
            left = target_ns.saturating_sub(monotonic());
        }
        Ok(())
    }
}

impl Mechanism for Epoll {
    #[inline(always)]
    fn wait_point(&mut self, _point: u64, target_ns: u64) -> io::Result<()> {
        self.wait(target_ns, target_ns.saturating_sub(monotonic()))
    }

    #[inline(always)]
    fn rearm(&mut self, target_ns: u64, period_ns: u64) -> io::Result<()> {
        self.wait(target_ns, period_ns)
    }
}
