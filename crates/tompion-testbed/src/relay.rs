//! The path itself: a relay between two devices, which drives the model of a path by the kernel's stamps.
//!
//! Each frame that arrives is offered to the model with the kernel's stamp of its arrival, and sent when the
//! model says. One thread does that for both ways, real-time where that is allowed, and spins only when
//! something is soon due. What became of each packet goes to another thread, which writes it down; that
//! file is the truth about the path, and an interval in which the relay was late is called false.

mod false_time;
mod keeper;
mod line;
mod record;
mod truth;
mod turns;
mod work;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

use nix::net::if_::if_nametoindex;
use rustix::mm::{MlockAllFlags, mlockall};
use tompion_path::Way;
use tompion_path::model::{Jitter, Path, PathPlan, WayPlan};

use crate::TestbedError;
use crate::namespace::Namespace;
use crate::sys::{Ring, real_time};
use crate::topology::{RELAY_FAR, RELAY_NEAR};
use keeper::{Keeper, locked};
use line::{Book, Line};
use work::{Traffic, Work};

pub use false_time::{FalseInterval, FalseTime, Reason};
pub use keeper::{Counts, Summary};
pub use record::{Fate, Record};
pub use truth::{HEADER, TruthWriter, read_truth};

/// Frames that each ring holds: 50 ms at 80 000 packets a second.
const RING_FRAMES: usize = 4096;
/// Records on their way to the thread that writes them: most of a second at 160 000 packets a second.
const BOOK_RECORDS: usize = 1 << 17;
/// Above what ordinary real-time programs use, below the kernel's threads that serve devices.
const PRIORITY: i32 = 45;

/// What a relay is told.
#[derive(Debug)]
pub(crate) struct RelaySettings<'a> {
    pub plan: &'a PathPlan,
    pub mtu: u32,
    /// Where the truth is written.
    pub truth: Option<TruthWriter>,
    /// How much later than it is due a packet may leave, in nanoseconds.
    pub tolerance_ns: i64,
}

/// A relay at work.
#[derive(Debug)]
pub(crate) struct Relay {
    stop: Arc<AtomicBool>,
    relaying: Option<JoinHandle<io::Result<()>>>,
    keeping: Option<JoinHandle<Result<(), TestbedError>>>,
    summary: Arc<Mutex<Summary>>,
    traffic: Arc<Traffic>,
    is_real_time: bool,
}

impl Relay {
    /// Starts it between its two devices in `namespace`.
    pub fn start(namespace: &Namespace, settings: RelaySettings<'_>) -> Result<Self, TestbedError> {
        let what = "start the relay";
        let plan = settings.plan;
        let [outward, homeward] = Path::both(plan).map_err(crate::SettingsError::from)?;
        let open = |device| {
            let mtu = settings.mtu;
            let open = || Ring::open(if_nametoindex(device)?, mtu, RING_FRAMES);
            let ring = namespace.inside(open).and_then(|ring| ring);
            ring.map_err(TestbedError::system(what))
        };
        let (near, far) = (open(RELAY_NEAR.name)?, open(RELAY_FAR.name)?);
        // An Ethernet header, and a VLAN's tag.
        let slot_bytes = (settings.mtu as usize + 18).next_multiple_of(64);
        let line = |way, path, plan: &WayPlan| {
            let line = Line::new(way, path, plan.most_in_flight, slot_bytes);
            line.map_err(TestbedError::system(what))
        };
        let (producer, records) = rtrb::RingBuffer::new(BOOK_RECORDS);
        let unrecorded = Arc::new(AtomicU64::new(0));
        let clone = |ring: &Ring| ring.socket().try_clone_to_owned();
        let sockets = clone(&near).and_then(|near| Ok((near, clone(&far)?)));
        let (near_socket, far_socket) = sockets.map_err(TestbedError::system(what))?;
        let summary = Arc::new(Mutex::new(Summary::default()));
        let keeper = Keeper {
            records,
            unrecorded: Arc::clone(&unrecorded),
            sockets: [(Way::Outward, near_socket), (Way::Homeward, far_socket)],
            truth: settings.truth,
            tolerance_ns: settings.tolerance_ns,
            summary: Arc::clone(&summary),
        };
        let work = Work {
            outward: (line(Way::Outward, outward, &plan.outward)?, near),
            homeward: (line(Way::Homeward, homeward, &plan.homeward)?, far),
            book: Book {
                records: producer,
                lost: unrecorded,
            },
            least_delay_ns: least_delay_ns(&plan.outward).min(least_delay_ns(&plan.homeward)),
            gone: 0,
            traffic: Arc::default(),
        };
        let mut relay = Self {
            stop: Arc::default(),
            relaying: None,
            keeping: None,
            summary,
            traffic: Arc::clone(&work.traffic),
            is_real_time: false,
        };
        relay
            .run(work, keeper)
            .map_err(TestbedError::system(what))?;
        Ok(relay)
    }

    fn run(&mut self, mut work: Work, keeper: Keeper) -> io::Result<()> {
        // All that is mapped by now, code too, so that no page is missing when it is needed. Refused
        // beyond the limits of ordinary users: then pages may be missed, and lateness shows it.
        let _ = mlockall(MlockAllFlags::CURRENT);
        let ended = Arc::new(AtomicBool::new(false));
        let (stop, relay_ended) = (Arc::clone(&self.stop), Arc::clone(&ended));
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let relay = move || {
            let _ = tell.send(real_time(PRIORITY).is_ok());
            let done = work.run(&stop);
            relay_ended.store(true, Ordering::Release);
            done
        };
        let named = |name: &str| Builder::new().name(name.to_owned());
        self.relaying = Some(named("relay").spawn(relay)?);
        self.keeping = Some(named("relay-book").spawn(move || keeper.run(&ended))?);
        self.is_real_time = told.recv().unwrap_or(false);
        Ok(())
    }

    /// Whether its thread is real-time.
    pub fn is_real_time(&self) -> bool {
        self.is_real_time
    }

    /// How many packets are under way, as of its last sleep.
    pub fn under_way(&self) -> usize {
        self.traffic.under_way.load(Ordering::Relaxed)
    }

    /// How many left since the beginning, as of then.
    pub fn gone(&self) -> usize {
        self.traffic.gone.load(Ordering::Relaxed)
    }

    /// What it did so far; up to 20 ms behind.
    pub fn summary(&self) -> Summary {
        locked(&self.summary).clone()
    }

    /// Ends it. Packets under way are not sent.
    pub fn stop(mut self) -> Result<Summary, TestbedError> {
        self.end()?;
        Ok(self.summary())
    }

    fn end(&mut self) -> Result<(), TestbedError> {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.relaying.take() {
            let done = thread.join().map_err(|_| TestbedError::Thread("relay"))?;
            done.map_err(TestbedError::system("go on relaying"))?;
        }
        match self.keeping.take().map(JoinHandle::join) {
            Some(done) => done.map_err(|_| TestbedError::Thread("relay's book"))?,
            None => Ok(()),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // Whoever wants to hear of errors calls `stop`.
        let _ = self.end();
    }
}

/// A delay that no packet of this plan is below, in nanoseconds.
fn least_delay_ns(plan: &WayPlan) -> i64 {
    let least = match plan.jitter {
        // Around the fixed delay, not above it.
        Some(Jitter::Normal { .. }) => 0,
        _ => plan.delay_ns,
    };
    i64::try_from(least).unwrap_or(i64::MAX)
}
