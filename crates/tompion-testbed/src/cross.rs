//! Real cross traffic: a sender of datagrams of one size, beside the path's own sender, over the same
//! queue of the kernel's.

use std::io;
use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tompion_path::model::{CrossPattern, CrossTraffic};
use tompion_time::os::{ClockId, now_ns};
use tompion_time::sleep::{Policy, Sleeper};

use crate::TestbedError;
use crate::namespace::Namespace;
use crate::settings::UDP_HEADERS;
use crate::sys::real_time;

/// The discard service's port (RFC 863). The address is nobody's anyhow.
const PORT: u16 = 9;
/// Of its thread, where it may be real-time: between the probes' and the relay's.
const PRIORITY: i32 = 42;
/// What is late by more than this, in nanoseconds, is left out: sent at once it would be a burst that
/// nobody planned.
const LATEST_NS: u64 = 10_000_000;
/// How long it sleeps at most, in nanoseconds: it looks then whether it is to end.
const LONGEST_NS: u64 = 50_000_000;

/// A sender at work, ended when it is dropped.
#[derive(Debug)]
pub(crate) struct CrossSender {
    stop: Arc<AtomicBool>,
    left_out: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl CrossSender {
    /// Sends to `sink`, from `namespace`.
    pub fn start(
        namespace: &Namespace,
        sink: IpAddr,
        traffic: &CrossTraffic,
        seed: u64,
    ) -> Result<Self, TestbedError> {
        let what = "start cross traffic";
        let socket = namespace.inside(|| -> io::Result<UdpSocket> {
            let socket = UdpSocket::bind(("0.0.0.0", 0))?;
            socket.connect((sink, PORT))?;
            Ok(socket)
        });
        let socket = socket.and_then(|s| s).map_err(TestbedError::system(what))?;
        let stop = Arc::<AtomicBool>::default();
        let left_out = Arc::<AtomicU64>::default();
        let sender = Sender {
            datagram: vec![0; traffic.packet_bytes.saturating_sub(UDP_HEADERS) as usize],
            gaps: Gaps::new(traffic, seed),
            stop: Arc::clone(&stop),
            left_out: Arc::clone(&left_out),
        };
        let thread = Builder::new()
            .name("cross-traffic".to_owned())
            .spawn(move || sender.send(&socket))
            .map_err(TestbedError::system(what))?;
        Ok(Self {
            stop,
            left_out,
            thread: Some(thread),
        })
    }

    /// How many packets were not sent because they would have come too late.
    pub fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }
}

impl Drop for CrossSender {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Sender {
    datagram: Vec<u8>,
    gaps: Gaps,
    stop: Arc<AtomicBool>,
    left_out: Arc<AtomicU64>,
}

impl Sender {
    fn send(mut self, socket: &UdpSocket) {
        // Above the testbed's own probes, or it would stop while a train of these passes; where that is
        // refused other programs make it fall behind, which is counted.
        let _ = real_time(PRIORITY);
        // No spinning: the CPU is the path's.
        let mut sleeper = Sleeper::new(Policy::Kernel);
        let now = || now_ns(ClockId::Monotonic);
        let mut due_ns = now() as f64;
        while !self.stop.load(Ordering::Relaxed) {
            due_ns += self.gaps.next_ns();
            let due = due_ns as u64;
            while due > now() + LONGEST_NS && !self.stop.load(Ordering::Relaxed) {
                sleeper.sleep_until_ns(now() + LONGEST_NS);
            }
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            sleeper.sleep_until_ns(due);
            if now().saturating_sub(due) > LATEST_NS {
                self.left_out
                    .fetch_add(self.gaps.at_once.into(), Ordering::Relaxed);
                continue;
            }
            for _ in 0..self.gaps.at_once {
                // A full queue of its own device is loss as any other.
                let _ = socket.send(&self.datagram);
            }
        }
    }
}

/// Times between departures.
struct Gaps {
    mean_ns: f64,
    at_once: u32,
    random: Option<ChaCha8Rng>,
}

impl Gaps {
    fn new(traffic: &CrossTraffic, seed: u64) -> Self {
        let at_once = match traffic.pattern {
            CrossPattern::Bursts(packets) => packets.max(1),
            CrossPattern::Constant | CrossPattern::Poisson => 1,
        };
        let bits = 8.0 * f64::from(traffic.packet_bytes) * f64::from(at_once);
        Self {
            mean_ns: bits / traffic.rate_bps.max(1) as f64 * 1e9,
            at_once,
            random: (traffic.pattern != CrossPattern::Constant)
                .then(|| ChaCha8Rng::seed_from_u64(seed)),
        }
    }

    fn next_ns(&mut self) -> f64 {
        match &mut self.random {
            None => self.mean_ns,
            // Exponential: between packets that come independently of one another.
            Some(random) => -self.mean_ns * (1.0 - random.random::<f64>()).ln(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_the_mean_that_the_rate_asks_for() {
        for (pattern, at_once) in [
            (CrossPattern::Constant, 1.0),
            (CrossPattern::Poisson, 1.0),
            (CrossPattern::Bursts(10), 10.0),
        ] {
            let traffic = CrossTraffic {
                rate_bps: 100_000_000,
                packet_bytes: 1_250,
                pattern,
            };
            let mut gaps = Gaps::new(&traffic, 7);
            let mean = (0..20_000).map(|_| gaps.next_ns()).sum::<f64>() / 20_000.0;
            // Four standard errors of an exponential mean.
            let wanted = 100_000.0 * at_once;
            assert!((mean / wanted - 1.0).abs() < 0.03, "{pattern:?}: {mean}");
        }
    }
}
