//! The requests whose replies may still come.

use super::config::SenderError;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Nobody has had the place.
    #[default]
    Free,
    Waiting,
    Answered,
    GivenUp,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub(super) state: State,
    pub(super) sequence: u32,
    /// T1, ns since 1970, and as the packet has it.
    pub(super) sent_utc_ns: i64,
    pub(super) time: u64,
    prepared_ns: u64,
}

/// Two rings of a size that is a power of two, so that numbers that wrap keep following one
/// another.
#[derive(Debug)]
pub(super) struct Outstanding {
    slots: Vec<Slot>,
    /// The reflector's numbers of replies, and which requests they were to.
    replies: Vec<Option<(u32, u32)>>,
    /// Number of the next request.
    next: u32,
    /// Requests so far.
    prepared: u64,
    /// The first that may still be waiting.
    oldest: u32,
    waiting: usize,
    forgotten: u64,
}

fn reserved<T: Clone + Default>(most: usize) -> Result<Vec<T>, SenderError> {
    let mut ring = Vec::new();
    ring.try_reserve_exact(most)
        .map_err(|_| SenderError::Memory(most))?;
    ring.resize(most, T::default());
    Ok(ring)
}

impl Outstanding {
    pub(super) fn new(most: usize) -> Result<Self, SenderError> {
        let places = most.clamp(1, 1 << 30).next_power_of_two();
        Ok(Self {
            slots: reserved(places)?,
            replies: reserved(places)?,
            next: 0,
            prepared: 0,
            oldest: 0,
            waiting: 0,
            forgotten: 0,
        })
    }

    fn place(&self, number: u32) -> usize {
        number as usize & (self.slots.len() - 1)
    }

    /// Begins at another number than zero.
    #[cfg(test)]
    pub(super) fn begin_at(&mut self, sequence: u32) {
        (self.next, self.oldest) = (sequence, sequence);
    }

    /// Bytes of both rings.
    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
            + self.replies.capacity() * size_of::<Option<(u32, u32)>>()
    }

    pub(super) fn prepared(&self) -> u64 {
        self.prepared
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Requests whose place was needed before they were answered or given up.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The number of the next request.
    pub(super) fn prepare(&mut self, now_ns: u64) -> u32 {
        let sequence = self.next;
        self.next = self.next.wrapping_add(1);
        self.prepared += 1;
        let place = self.place(sequence);
        if self.slots[place].state == State::Waiting {
            self.waiting -= 1;
            self.forgotten += 1;
        }
        self.waiting += 1;
        self.slots[place] = Slot {
            state: State::Waiting,
            sequence,
            sent_utc_ns: 0,
            time: 0,
            prepared_ns: now_ns,
        };
        sequence
    }

    /// The request of a number, if it is remembered.
    pub(super) fn find(&mut self, sequence: u32) -> Option<&mut Slot> {
        let place = self.place(sequence);
        let slot = &mut self.slots[place];
        (slot.state != State::Free && slot.sequence == sequence).then_some(slot)
    }

    /// Whether there was a request of that number.
    pub(super) fn was_prepared(&self, sequence: u32) -> bool {
        let ago = self.next.wrapping_sub(sequence);
        // A number of 2^32 packets ago is that of the next one.
        ago != 0 && u64::from(ago) <= self.prepared
    }

    /// The first reply to a request has come.
    pub(super) fn answer(&mut self, sequence: u32, reply_sequence: u32) {
        if let Some(slot) = self.find(sequence) {
            slot.state = State::Answered;
            self.waiting -= 1;
        }
        self.note(sequence, reply_sequence);
    }

    /// Which request a reply was to, by the reflector's number.
    pub(super) fn note(&mut self, sequence: u32, reply_sequence: u32) {
        let place = self.place(reply_sequence);
        self.replies[place] = Some((reply_sequence, sequence));
    }

    /// The request to which the reflector sent the reply of that number.
    pub(super) fn request_of(&self, reply_sequence: u32) -> Option<u32> {
        let (found, sequence) = self.replies[self.place(reply_sequence)]?;
        (found == reply_sequence).then_some(sequence)
    }

    /// The oldest request that was prepared before a moment and still waits; from now on it
    /// does not.
    pub(super) fn give_up(&mut self, before_ns: u64) -> Option<u32> {
        let places = self.slots.len() as u64;
        if u64::from(self.next.wrapping_sub(self.oldest)) > places {
            self.oldest = self.next.wrapping_sub(self.slots.len() as u32);
        }
        while self.oldest != self.next {
            let sequence = self.oldest;
            if let Some(slot) = self
                .find(sequence)
                .filter(|slot| slot.state == State::Waiting)
            {
                if slot.prepared_ns >= before_ns {
                    return None;
                }
                slot.state = State::GivenUp;
                self.waiting -= 1;
                self.oldest = sequence.wrapping_add(1);
                return Some(sequence);
            }
            self.oldest = sequence.wrapping_add(1);
        }
        None
    }
}
