//! Packets from the thread that receives to the one that sends, in memory that is there before, so that
//! neither allocates or waits for the other while a probe is under way.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

use crate::stamps::Received;

/// Packets that are on their way from one thread to the other at most; the kernel keeps what is more.
const PACKETS: usize = 64;

/// A packet in a buffer that goes back and forth, and how much of that is used.
struct Packet {
    room: Vec<u8>,
    length: usize,
    received: Received,
}

/// The end of the thread that receives.
pub(super) struct Handing {
    came: SyncSender<Packet>,
    buffers: Receiver<Vec<u8>>,
}

/// The end of the thread that sends.
pub(super) struct Taking {
    came: Receiver<Packet>,
    buffers: SyncSender<Vec<u8>>,
}

/// Nobody takes anything any longer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IsOver;

/// How much was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// All that was there.
    All,
    /// As much as there is room for; there may be more.
    Some,
    /// The other end is gone, so that nothing more comes.
    IsOver,
}

/// Both ends, for packets of so many bytes.
pub(super) fn pair(bytes: usize) -> (Handing, Taking) {
    let (came, taken) = sync_channel(PACKETS);
    let (back, buffers) = sync_channel(PACKETS);
    for _ in 0..PACKETS {
        back.try_send(vec![0; bytes]).expect("room for all of them");
    }
    let handing = Handing { came, buffers };
    let taking = Taking {
        came: taken,
        buffers: back,
    };
    (handing, taking)
}

impl Handing {
    /// Hands a packet over, once there is a buffer; what does not fit is cut off.
    pub fn hand(&self, packet: &[u8], received: &Received) -> Result<(), IsOver> {
        let mut room = self.buffers.recv().map_err(|_| IsOver)?;
        let length = packet.len().min(room.len());
        room[..length].copy_from_slice(&packet[..length]);
        let packet = Packet {
            room,
            length,
            received: *received,
        };
        self.came.send(packet).map_err(|_| IsOver)
    }
}

impl Taking {
    /// Takes what is there, and no more than there is room for, however fast the other end hands over.
    pub fn take(&self, mut each: impl FnMut(&[u8], &Received)) -> Taken {
        for _ in 0..PACKETS {
            match self.came.try_recv() {
                Ok(packet) => self.enter(packet, &mut each),
                Err(TryRecvError::Empty) => return Taken::All,
                Err(TryRecvError::Disconnected) => return Taken::IsOver,
            }
        }
        Taken::Some
    }

    /// Takes all that comes until the other end is gone.
    pub fn take_rest(&self, mut each: impl FnMut(&[u8], &Received)) {
        while let Ok(packet) = self.came.recv() {
            self.enter(packet, &mut each);
        }
    }

    fn enter(&self, packet: Packet, each: &mut impl FnMut(&[u8], &Received)) {
        each(&packet.room[..packet.length], &packet.received);
        // There is room: it was taken from there. If the other end is gone nobody needs it.
        let _ = self.buffers.try_send(packet.room);
    }
}

#[cfg(test)]
mod tests;
