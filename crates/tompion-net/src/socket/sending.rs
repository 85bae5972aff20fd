//! Sending, one packet or many, each with its number.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;

use super::StampingSocket;
use super::reading::TRIES;
use crate::address::MOST_BYTES;
use crate::batch::{SendBatch, name_of};
use crate::capability::{Ids, TransmitStamps};
use crate::control::{Route, Written};
use crate::error::{SendError, is_pending};
use crate::sys::{self, Outgoing};

impl StampingSocket {
    /// Sends a packet without waiting. Its transmit stamps will come with `number`, which is the
    /// caller's to choose; `user_ns` is its user stamp, which no kernel stamp of it precedes.
    ///
    /// # Errors
    /// Why it was not sent. Errors of earlier packets are counted
    /// ([`pending_errors`](Self::pending_errors)), and the packet is sent.
    pub fn send(
        &self,
        number: u64,
        user_ns: i64,
        packet: &[u8],
        route: &Route,
    ) -> Result<(), SendError> {
        let (ticket, id) = self.ledger.enter(number, user_ns);
        let mut name = [0; MOST_BYTES];
        let name_length = name_of(route.to, &mut name);
        let mut control = self.control(route, id);
        let mut last = None;
        for _ in 0..TRIES {
            let message = Outgoing {
                data: packet,
                name: &name[..name_length],
                control: control.bytes(),
            };
            let done = match &self.past_queue {
                None => sys::send(self.as_fd(), &message),
                Some(past) => past.send(packet, control.bytes()),
            };
            match done {
                Ok(_) => {
                    self.is_proven.store(true, Relaxed);
                    return Ok(());
                }
                Err(error) if self.is_again(&error) => {
                    control = self.control(route, id);
                    let is_same = last == error.raw_os_error();
                    last = error.raw_os_error();
                    // The same twice is what this packet gets.
                    if is_same && last != Some(libc::EINTR) {
                        return Err(self.not_sent(ticket, error));
                    }
                }
                Err(error) => return Err(self.not_sent(ticket, error)),
            }
        }
        let error = io::Error::from_raw_os_error(last.unwrap_or(libc::EIO));
        Err(self.not_sent(ticket, error))
    }

    fn control(&self, route: &Route, id: u32) -> Written {
        let is_numbered =
            self.capability.transmit == TransmitStamps::Kernel && self.ids() == Ids::ByPacket;
        Written::new(route, is_numbered.then_some(id), self.is_v6())
    }

    /// Whether a packet is to be sent again after this error.
    fn is_again(&self, error: &io::Error) -> bool {
        match error.raw_os_error() {
            // Of the first packet, a kernel that does not know the number's control message.
            Some(libc::EINVAL) => {
                let was_numbered = self.capability.transmit == TransmitStamps::Kernel;
                let is_first = !self.is_proven.load(Relaxed);
                was_numbered && is_first && self.is_by_packet.swap(false, Relaxed)
            }
            Some(libc::EINTR) => true,
            Some(code) if is_pending(code) => {
                self.pending_errors.fetch_add(1, Relaxed);
                // Older kernels count a packet that such an error keeps from going.
                if self.ids() != Ids::ByPacket {
                    self.is_uncertain.store(true, Relaxed);
                }
                true
            }
            _ => false,
        }
    }

    fn not_sent(&self, ticket: u64, error: io::Error) -> SendError {
        self.ledger.failed(ticket);
        if error.raw_os_error() == Some(libc::EINVAL) && !self.is_proven.load(Relaxed) {
            // It was not the number that was wrong.
            self.is_by_packet.store(self.prefers_by_packet, Relaxed);
        }
        // Whether the kernel counted it depends on where it failed, and on the version.
        self.is_uncertain.store(true, Relaxed);
        SendError::new(error)
    }

    /// Sends all packets of a batch without waiting, with few system calls; how many went
    /// ([`SendBatch::was_sent`]). What did not go is told by its index and its length, and the
    /// rest goes all the same.
    pub fn send_batch(
        &self,
        batch: &mut SendBatch,
        user_ns: i64,
        mut not_sent: impl FnMut(usize, usize, SendError),
    ) -> usize {
        let count = batch.len();
        batch.control.clear();
        batch.tickets.clear();
        for index in 0..count {
            let (ticket, id) = self.ledger.enter(batch.number(index), user_ns);
            let control = self.control(batch.route(index), id);
            batch.tickets.push(ticket);
            batch.control.push(control);
        }
        let (mut first, mut sent, mut tries) = (0, 0, 0);
        while first < count {
            match batch.send(self.as_fd(), first, count) {
                Ok(went) => {
                    self.is_proven.store(true, Relaxed);
                    // It is never none without an error.
                    let end = (first + went.max(1)).min(count);
                    (first..end).for_each(|index| batch.set_sent(index));
                    first = end;
                    sent += went;
                    tries = 0;
                }
                Err(error) if tries < 2 && self.is_again(&error) => {
                    tries += 1;
                    for index in first..count {
                        let id = self.ledger.id(batch.tickets[index]);
                        batch.control[index] = self.control(batch.route(index), id);
                    }
                }
                Err(error) => {
                    let why = self.not_sent(batch.tickets[first], error);
                    not_sent(first, batch.packet_mut(first).len(), why);
                    first += 1;
                    tries = 0;
                }
            }
        }
        sent
    }
}
