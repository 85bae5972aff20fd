//! The relay's loop: packets in, packets out when they are due.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use crate::relay::line::{Book, Line, now};
use crate::relay::turns::Turns;
use crate::sys::Ring;

/// How long before a packet is due the thread stops sleeping. Waking up takes a real-time thread some 10
/// to 60 us on virtual machines.
const SPIN_NS: i64 = 80_000;
/// How long it sleeps at most: it looks then whether it is to end.
const LONGEST_NS: i64 = 50_000_000;
/// With a delay at least so long arrivals need not be answered at once: each wake-up costs the sender's
/// CPU an interrupt.
const LAZY_NS: i64 = 1_000_000;
/// How long it leaves them at most: the ring has to hold them.
const LAZIEST_NS: i64 = 5_000_000;

/// Steps before it looks whether it is to end, and whether its turn on a CPU is over: packets may come without a gap.
const STEPS: usize = 1024;

/// Both ways, each with the ring that it reads.
#[derive(Debug)]
pub struct Work {
    /// From the sender, and what comes from there.
    pub outward: (Line, Ring),
    /// From the far end.
    pub homeward: (Line, Ring),
    /// Where records go.
    pub book: Book,
    /// The least delay of any packet, in nanoseconds.
    pub least_delay_ns: i64,
    /// Packets that left, all told.
    pub gone: usize,
    /// For others to see.
    pub traffic: Arc<Traffic>,
}

/// What is on the path, as of the relay's last sleep.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Packets under way.
    pub under_way: AtomicUsize,
    /// Packets that left since the beginning.
    pub gone: AtomicUsize,
}

impl Work {
    /// Relays until `stop` is set; packets that are under way then are not sent.
    ///
    /// # Errors
    /// Where the kernel does not let it wait.
    pub fn run(&mut self, stop: &AtomicBool) -> io::Result<()> {
        // What came before there was a path was never on it.
        for ring in [&mut self.outward.1, &mut self.homeward.1] {
            while ring.take(|_| ()).is_some() {}
        }
        let mut turns = Turns::new();
        let mut awake_ns = now();
        while !stop.load(Ordering::Relaxed) {
            let is_busy = (0..STEPS).all(|_| self.step());
            let under_way = self.outward.0.under_way() + self.homeward.0.under_way();
            self.traffic.under_way.store(under_way, Ordering::Relaxed);
            self.traffic.gone.store(self.gone, Ordering::Relaxed);
            let now_ns = now();
            turns.spun(now_ns - awake_ns);
            awake_ns = now_ns;
            if !is_busy && self.wait(&mut turns)? {
                awake_ns = now();
            }
        }
        Ok(())
    }

    /// Sends what is due and takes in a packet of each side; whether there was anything.
    fn step(&mut self) -> bool {
        let (near, far) = (&mut self.outward, &mut self.homeward);
        let book = &mut self.book;
        let mut any = false;
        // What is due comes first: one that is late is wrong, one that arrived has its stamp.
        while near.0.send_due(now(), far.1.socket(), book) {
            any = true;
            self.gone += 1;
        }
        while far.0.send_due(now(), near.1.socket(), book) {
            any = true;
            self.gone += 1;
        }
        any |= near.0.take(&mut near.1, far.1.socket(), book);
        any | far.0.take(&mut far.1, near.1.socket(), book)
    }

    fn next_due(&self) -> Option<i64> {
        let both = [self.outward.0.next_due(), self.homeward.0.next_due()];
        both.into_iter().flatten().min()
    }

    /// Sleeps or spins until something is due or has arrived; whether it slept.
    fn wait(&self, turns: &mut Turns) -> io::Result<bool> {
        let due = self.next_due();
        let left = due.map_or(i64::MAX, |due| due - now());
        if left <= SPIN_NS {
            while due.is_some_and(|due| now() < due)
                && !self.outward.1.is_ready()
                && !self.homeward.1.is_ready()
            {
                std::hint::spin_loop();
            }
            return Ok(false);
        }
        turns.sleeps();
        // Whoever comes while others are under way cannot be due before this.
        let lazily = due.is_some() && self.least_delay_ns >= LAZY_NS;
        let longest = if lazily {
            LAZIEST_NS.min(self.least_delay_ns / 2)
        } else {
            LONGEST_NS
        };
        let time = (left - SPIN_NS).min(longest);
        let time = TimeSpec::from(Duration::from_nanos(time.cast_unsigned()));
        let mut sockets = [&self.outward.1, &self.homeward.1]
            .map(|ring| PollFd::new(ring.socket(), PollFlags::POLLIN));
        let heard = if lazily {
            &mut sockets[..0]
        } else {
            &mut sockets[..]
        };
        match ppoll(heard, Some(time), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(true),
            Err(refused) => Err(refused.into()),
        }
    }
}
