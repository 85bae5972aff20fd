//! Whose stamp it is: which packets wait for transmit stamps, and which stamps never came.
//!
//! The kernel numbers stamps by 32 bits (`SOF_TIMESTAMPING_OPT_ID`): a number that comes with the
//! packet, or one that it counts. Packets get *tickets* here, one after the other from 0 on and
//! never again; the kernel's number is the lower half of a ticket, or counts from the ticket at
//! which counting began. A stamp is handed on where its ticket is that of a packet in the ledger,
//! and once. All else is counted.
//!
//! One thread sends while another reads stamps: slots are atomic, and nobody waits.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::*};

use crate::stamps::TxKind;

/// Kinds that came are the lowest bits of a slot, then these.
const FAILED: u64 = 1 << 3;
/// A ticket stands from here on; 0 is a slot that was never used, so that tickets are kept plus 1.
const TICKET_AT: u32 = 8;

#[derive(Debug, Default)]
struct Slot {
    state: AtomicU64,
    number: AtomicU64,
    user_ns: AtomicI64,
}

/// Stamps that never came, or came to nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Stamps that packets which were sent never got, by the place of their kind in
    /// [`TxKind::ALL`].
    pub missing: [u64; 3],
    /// Stamps of no packet that is known here, or earlier than its sending.
    pub unattributed: u64,
    /// Stamps that a packet had already.
    pub repeated: u64,
}

/// Packets that wait for their stamps.
#[derive(Debug)]
pub struct Ledger {
    slots: Box<[Slot]>,
    /// The ticket of the next packet.
    next: AtomicU64,
    /// The ticket that the kernel's number 0 belongs to.
    base: AtomicU64,
    wanted: u64,
    missing: [AtomicU64; 3],
    unattributed: AtomicU64,
    repeated: AtomicU64,
}

/// What the kernel's number belongs to: the latest ticket not beyond `next` with those lower bits
/// above `base`.
fn ticket_of(id: u32, base: u64, next: u64) -> Option<u64> {
    let count = next.checked_sub(base)?;
    let whole = (count & !u64::from(u32::MAX)) | u64::from(id);
    let latest = match whole < count {
        true => whole,
        false => whole.checked_sub(1 << 32)?,
    };
    Some(base + latest)
}

impl Ledger {
    /// A ledger of at least `outstanding` packets at a time, which are to get stamps of these
    /// kinds. The first ticket is 0 but in tests, which need not send 2^32 packets then.
    pub fn new(first: u64, outstanding: usize, wanted: &[TxKind]) -> Self {
        let slots = outstanding.clamp(64, 1 << 22).next_power_of_two();
        Self {
            slots: (0..slots).map(|_| Slot::default()).collect(),
            next: AtomicU64::new(first),
            base: AtomicU64::new(0),
            wanted: wanted.iter().fold(0, |all, kind| all | kind.bit()),
            missing: Default::default(),
            unattributed: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
        }
    }

    fn slot(&self, ticket: u64) -> &Slot {
        &self.slots[ticket as usize & (self.slots.len() - 1)]
    }

    /// Enters a packet before it is sent, by one thread at a time: its ticket, and the number that the kernel is to give
    /// its stamps. What its slot's last packet has not got by now is missing.
    pub fn enter(&self, number: u64, user_ns: i64) -> (u64, u32) {
        let ticket = self.next.load(Relaxed);
        let slot = self.slot(ticket);
        // Not this ticket yet, and no longer the old one.
        self.settle(slot.state.swap(0, AcqRel));
        slot.number.store(number, Relaxed);
        slot.user_ns.store(user_ns, Relaxed);
        slot.state.store((ticket + 1) << TICKET_AT, Release);
        self.next.store(ticket + 1, Release);
        (ticket, self.id(ticket))
    }

    /// The kernel's number of a ticket.
    pub fn id(&self, ticket: u64) -> u32 {
        ticket.wrapping_sub(self.base.load(Relaxed)) as u32
    }

    /// The packet was not sent: it need not get stamps, though it may get some, where it was
    /// dropped on its way out of this machine.
    pub fn failed(&self, ticket: u64) {
        let slot = self.slot(ticket);
        let _ = slot.state.fetch_update(AcqRel, Acquire, |state| {
            (state >> TICKET_AT == ticket + 1).then_some(state | FAILED)
        });
    }

    /// The kernel counts from 0 again, with the next packet.
    pub fn count_again(&self) {
        self.base.store(self.next.load(Relaxed), Release);
    }

    /// A stamp by the kernel's number: the number of its packet, where it has one that lacks it.
    pub fn stamped(&self, id: u32, kind: TxKind, ns: i64) -> Option<u64> {
        let found = self.find(id, kind, ns);
        match found {
            Ok(number) => return Some(number),
            Err(Why::Repeated) => self.repeated.fetch_add(1, Relaxed),
            Err(Why::Unknown) => self.unattributed.fetch_add(1, Relaxed),
        };
        None
    }

    fn find(&self, id: u32, kind: TxKind, ns: i64) -> Result<u64, Why> {
        let next = self.next.load(Acquire);
        let base = self.base.load(Acquire);
        let ticket = ticket_of(id, base, next).ok_or(Why::Unknown)?;
        let slot = self.slot(ticket);
        loop {
            let state = slot.state.load(Acquire);
            if state >> TICKET_AT != ticket + 1 {
                return Err(Why::Unknown);
            }
            if state & kind.bit() != 0 {
                return Err(Why::Repeated);
            }
            let number = slot.number.load(Relaxed);
            // Once the kernel has begun to count anew an old number may look like a new one, but
            // its stamp is too early. The device's clock is another one.
            let is_early = kind != TxKind::Hardware && ns < slot.user_ns.load(Relaxed);
            if base != 0 && is_early {
                return Err(Why::Unknown);
            }
            let changed = state | kind.bit();
            // Where the slot has a new packet by now, what was read may be of that.
            if slot
                .state
                .compare_exchange(state, changed, AcqRel, Acquire)
                .is_ok()
            {
                return Ok(number);
            }
        }
    }

    /// A stamp whose packet is unknown for another reason.
    pub fn count_unattributed(&self) {
        self.unattributed.fetch_add(1, Relaxed);
    }

    fn settle(&self, state: u64) {
        if state == 0 || state & FAILED != 0 {
            return;
        }
        for kind in TxKind::ALL {
            if self.wanted & kind.bit() != 0 && state & kind.bit() == 0 {
                self.missing[kind.index()].fetch_add(1, Relaxed);
            }
        }
    }

    /// How many packets of those in the ledger still lack a stamp.
    pub fn waiting(&self) -> usize {
        let lacks = |slot: &&Slot| {
            let state = slot.state.load(Acquire);
            state != 0 && state & FAILED == 0 && self.wanted & !state != 0
        };
        self.slots.iter().filter(lacks).count()
    }

    /// Whether the packet that was entered last lacks a stamp.
    pub fn is_last_waiting(&self) -> bool {
        let Some(last) = self.next.load(Acquire).checked_sub(1) else {
            return false;
        };
        let state = self.slot(last).state.load(Acquire);
        state >> TICKET_AT == last + 1 && state & FAILED == 0 && self.wanted & !state != 0
    }

    /// Gives up all that have not come, and clears the ledger. Call it when nothing is sent and a
    /// moment has passed.
    pub fn give_up(&self) {
        for slot in &self.slots {
            self.settle(slot.state.swap(0, AcqRel));
        }
    }

    /// What was lost so far. Packets that still wait are not in it.
    pub fn losses(&self) -> Losses {
        Losses {
            missing: std::array::from_fn(|kind| self.missing[kind].load(Relaxed)),
            unattributed: self.unattributed.load(Relaxed),
            repeated: self.repeated.load(Relaxed),
        }
    }
}

enum Why {
    Unknown,
    Repeated,
}
