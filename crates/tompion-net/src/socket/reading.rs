//! Reading packets, and the error queue with transmit stamps and ICMP errors.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering::Relaxed;

use super::StampingSocket;
use crate::address;
use crate::batch::{ErrorBatch, ReceiveBatch};
use crate::capability::Ids;
use crate::control::{Control, ExtendedError};
use crate::error::{NetError, is_pending};
use crate::stamps::{ErrorOrigin, Event, IcmpError, TxKind, TxStamp, realtime_ns};
use crate::sys::Arena;

/// A call is made again so often when the kernel returns an earlier packet's error from it.
pub(super) const TRIES: usize = 16;

/// What `ee_info` of a stamp says (`SCM_TSTAMP_` of linux/errqueue.h).
fn kind_of(info: u32, has_software: bool) -> Option<TxKind> {
    match (info, has_software) {
        (0, true) => Some(TxKind::Software),
        (0, false) => Some(TxKind::Hardware),
        (1, _) => Some(TxKind::Sched),
        _ => None,
    }
}

impl StampingSocket {
    /// Reads packets that are there, as many as fit; none where there is none. Does not wait.
    ///
    /// # Errors
    /// Whatever the system refuses but for errors of earlier packets, which are counted
    /// ([`pending_errors`](Self::pending_errors)).
    pub fn receive(&self, batch: &mut ReceiveBatch) -> Result<usize, NetError> {
        let read = self.read(self.as_fd(), &mut batch.arena, libc::MSG_TRUNC);
        let user_ns = realtime_ns();
        let count = read.map_err(NetError::io("receive"))?;
        batch.filled(count, user_ns, self.has_ip_header());
        Ok(count)
    }

    fn read(&self, file: BorrowedFd<'_>, arena: &mut Arena, flags: i32) -> io::Result<usize> {
        for _ in 0..TRIES {
            match arena.receive(file, flags, 0) {
                Ok(count) => return Ok(count),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN) => return Ok(0),
                    Some(libc::EINTR) => {}
                    Some(code) if is_pending(code) => {
                        self.pending_errors.fetch_add(1, Relaxed);
                    }
                    _ => return Err(error),
                },
            }
        }
        Ok(0)
    }

    /// Reads the error queue once and hands on what is there; how many entries there were, 0
    /// where it is empty. Does not wait.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn transmitted(
        &self,
        batch: &mut ErrorBatch,
        mut take: impl FnMut(Event<'_>),
    ) -> Result<usize, NetError> {
        let mut read = |file| self.read(file, &mut batch.arena, libc::MSG_ERRQUEUE);
        let mut count = read(self.as_fd());
        if let (Ok(0), Some(past)) = (&count, &self.past_queue) {
            count = read(past.as_fd());
        }
        let count = count.map_err(NetError::io("read transmit stamps"))?;
        for index in 0..count {
            let control = Control::read(batch.arena.control(index));
            let Some(error) = control.error else {
                continue;
            };
            if error.origin == libc::SO_EE_ORIGIN_TIMESTAMPING {
                if let Some(stamp) = self.stamp(&control, &error) {
                    take(Event::Stamp(stamp));
                }
            } else {
                take(Event::Error(icmp_error(&batch.arena, index, &error)));
            }
        }
        Ok(count)
    }

    /// Reads the error queue until it is empty, or `most` entries were read; how many.
    ///
    /// # Errors
    /// As [`transmitted`](Self::transmitted).
    pub fn drain(
        &self,
        batch: &mut ErrorBatch,
        most: usize,
        mut take: impl FnMut(Event<'_>),
    ) -> Result<usize, NetError> {
        let mut all = 0;
        while all < most {
            match self.transmitted(batch, &mut take)? {
                0 => break,
                count => all += count,
            }
        }
        Ok(all)
    }

    fn stamp(&self, control: &Control, error: &ExtendedError) -> Option<TxStamp> {
        let kind = kind_of(error.info, control.software_ns.is_some());
        let ns = match kind {
            Some(TxKind::Hardware) => control.hardware_ns,
            _ => control.software_ns,
        };
        let (Some(kind), Some(ns)) = (kind, ns) else {
            self.ledger.count_unattributed();
            return None;
        };
        if self.ids() == Ids::Counted && self.is_uncertain.load(Relaxed) {
            self.ledger.count_unattributed();
            return None;
        }
        let number = self.ledger.stamped(error.data, kind, ns)?;
        Some(TxStamp { number, kind, ns })
    }
}

fn icmp_error<'a>(arena: &'a Arena, index: usize, error: &ExtendedError) -> IcmpError<'a> {
    let origin = match error.origin {
        libc::SO_EE_ORIGIN_LOCAL => ErrorOrigin::Local,
        libc::SO_EE_ORIGIN_ICMP => ErrorOrigin::Icmp,
        libc::SO_EE_ORIGIN_ICMP6 => ErrorOrigin::Icmpv6,
        other => ErrorOrigin::Other(other),
    };
    let quoted = arena.data(index);
    IcmpError {
        origin,
        errno: error.errno,
        kind: error.kind,
        code: error.code,
        mtu: (error.errno == libc::EMSGSIZE as u32).then_some(error.info),
        offender: error.offender,
        destination: address::read(arena.name(index)),
        quoted: &quoted[..arena.lengths(index).data.min(quoted.len())],
    }
}
