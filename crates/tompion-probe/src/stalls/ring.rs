//! From the loop to the thread that looks after it.

use super::Row;

/// The loop's end of the ring.
#[derive(Debug)]
pub struct Producer {
    rows: rtrb::Producer<Row>,
    lost: u64,
}

/// The other end: to be emptied often enough.
#[derive(Debug)]
pub struct Consumer {
    rows: rtrb::Consumer<Row>,
}

/// A ring for so many rows (at least one). All of its memory has been written
/// once, so that the loop meets no fresh page.
pub fn ring(capacity: usize) -> (Producer, Consumer) {
    let capacity = capacity.max(1);
    let (mut producer, mut consumer) = rtrb::RingBuffer::new(capacity);
    for _ in 0..capacity {
        let _ = producer.push(Row::default());
    }
    while consumer.pop().is_ok() {}
    let producer = Producer {
        rows: producer,
        lost: 0,
    };
    (producer, Consumer { rows: consumer })
}

impl Producer {
    /// Hands over one row; one that finds the ring full is counted as lost.
    /// Neither waits nor allocates.
    pub(super) fn push(&mut self, row: Row) {
        if self.rows.push(row).is_err() {
            self.lost += 1;
        }
    }

    /// Rows that found the ring full.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

impl Consumer {
    /// The oldest row.
    pub fn pop(&mut self) -> Option<Row> {
        self.rows.pop().ok()
    }
}
