//! What the tests do with sockets again and again.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use tompion_net::{
    ErrorBatch, Event, ReceiveBatch, Received, StampingSocket, Stop, TxKind, TxStamp, wait,
};

/// Longer than anything takes on a busy machine.
pub const LONG: Duration = Duration::from_secs(20);

/// The stamps of packets that were sent, by their numbers and by kind.
#[derive(Default)]
pub struct Sent(pub Vec<[Option<i64>; 3]>);

impl Sent {
    pub fn take(&mut self, stamp: TxStamp) {
        let at = stamp.number as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, [None; 3]);
        }
        let place = &mut self.0[at][stamp.kind.index()];
        assert_eq!(*place, None, "{stamp:?} came twice");
        *place = Some(stamp.ns);
    }

    pub fn of(&self, number: usize, kind: TxKind) -> Option<i64> {
        self.0.get(number)?[kind.index()]
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.iter().flatten().flatten().count()
    }
}

/// A packet that came.
pub struct Got {
    pub bytes: Vec<u8>,
    pub received: Received,
}

/// Reads both queues until `is_enough`, or for a long time.
pub fn read_until(
    socket: &StampingSocket,
    sent: &mut Sent,
    got: &mut Vec<Got>,
    is_enough: impl Fn(&Sent, &[Got]) -> bool,
) {
    let stop = Stop::new().expect("a file");
    let mut errors = ErrorBatch::new(64);
    let mut packets = ReceiveBatch::new(64, 2048);
    let end = Instant::now() + LONG;
    while !is_enough(sent, got) && Instant::now() < end {
        wait(&[socket.as_fd()], &stop, 100_000_000).expect("a wait");
        read(socket, sent, got, &mut errors, &mut packets);
    }
}

/// Reads what is in both queues.
pub fn read_now(socket: &StampingSocket, sent: &mut Sent, got: &mut Vec<Got>) {
    let (mut errors, mut packets) = (ErrorBatch::new(64), ReceiveBatch::new(64, 2048));
    read(socket, sent, got, &mut errors, &mut packets);
}

fn read(
    socket: &StampingSocket,
    sent: &mut Sent,
    got: &mut Vec<Got>,
    errors: &mut ErrorBatch,
    packets: &mut ReceiveBatch,
) {
    let take = |event: Event<'_>| match event {
        Event::Stamp(stamp) => sent.take(stamp),
        Event::Error(error) => println!("{error:?}"),
    };
    socket
        .drain(errors, usize::MAX, take)
        .expect("an error queue");
    while socket.receive(packets).expect("packets") > 0 {
        got.extend(packets.iter().map(|(bytes, received)| Got {
            bytes: bytes.to_vec(),
            received,
        }));
    }
}
