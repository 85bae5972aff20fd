//! The network of a cell: a testbed, at whose sender the host of the instances is, a far end that answers there, and a tap
//! beside the host's own device.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Builder};
use std::time::Duration;

use tompion_load::{PeerSettings, serve_peer};
use tompion_model::format_ns;
use tompion_net::Stop;
use tompion_packets::Tapping;
use tompion_packets::reflector::{listen, serve};
use tompion_platforms::platform::TaskError;
use tompion_platforms::{Interface, Joined, Network, Tap};
use tompion_stamp::{ClockAccount, Limits, Rate, ReflectorConfig};
use tompion_testbed::{Attachment, Counts, Fate, Identity, Place, Summary, Testbed, prefer};

use crate::plan::TestbedPlan;
use crate::plan::testbed::PEER_PORT;

/// Where the far end answers probes.
const PORT: u16 = 862;
/// More packets than this are not kept of a cell: an instance may send any number. They take up to 300 bytes each.
const MOST_TAPPED: u64 = 1 << 18;
/// A path that is late by less than this is not told of, in nanoseconds.
const TOLD_NS: i64 = 1_000_000;
/// How long the far end has to open its socket.
const READY: Duration = Duration::from_secs(10);
/// Probes a second that are answered: of one source there may be as many as it likes.
const ANSWERS: Rate = Rate {
    per_second: 1_000_000,
    burst: 1_000_000,
};

/// The network of a cell at work.
pub(super) struct Bed<'a> {
    testbed: &'a Testbed,
    /// Of the instances; they are there as long as the cell.
    places: Mutex<Vec<Place>>,
}

/// Ends what runs beside a cell, whatever became of it.
struct Ends<'a>(&'a Stop, &'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.set();
        self.1.store(true, Ordering::Relaxed);
    }
}

impl Bed<'_> {
    /// Makes a network, does `work` in the network of its host, and takes it down. Returns what `work` does, and what
    /// is known of the network then.
    pub fn with<T: Send>(
        plan: &TestbedPlan,
        work: impl FnOnce(&Bed<'_>) -> Result<T, TaskError> + Send,
    ) -> Result<(T, Networked), TaskError> {
        let testbed = Testbed::start(&plan.settings()).map_err(failed)?;
        if let Some(bucket) = plan.bucket() {
            testbed.sender().shape(bucket).map_err(failed)?;
        }
        let far_end = testbed.far_end();
        let at = |port| SocketAddr::new(far_end.addresses().v4.into(), port);
        let sockets = far_end.inside(|| listen(&[at(PORT)]));
        let sockets = sockets.map_err(failed)?.map_err(failed)?;
        let tapping = Tapping {
            device: testbed.sender().device().into(),
            hosts: Vec::new(),
            port: Some(PORT),
            icmp: true,
            count: Some(MOST_TAPPED),
            duration: None,
        };
        let tap = testbed.sender().inside(|| tapping.open());
        let tap = tap.map_err(failed)?.map_err(failed)?;
        let (stop, over) = (Stop::new().map_err(failed)?, AtomicBool::new(false));
        thread::scope(|scope| {
            let ends = Ends(&stop, &over);
            let reflect = || {
                prefer();
                serve(&sockets, config(), ClockAccount::default, &[], &stop)
            };
            let begin = |what: &str| Builder::new().name(what.to_owned());
            begin("reflector")
                .spawn_scoped(scope, reflect)
                .map_err(failed)?;
            let (tell, told) = sync_channel(1);
            let (over, peer_at) = (&over, at(PEER_PORT));
            // Not before other work: what it sends an instance asks for.
            let peer = move || {
                let settings = PeerSettings {
                    listen: peer_at,
                    key: None,
                    files: None,
                };
                let entered = far_end.enter();
                let ended = entered
                    .and_then(|()| serve_peer(&settings, over, || drop(tell.try_send(Ok(())))));
                // Nobody listens once it was ready.
                ended.map_err(|why| drop(tell.try_send(Err(why))))
            };
            begin("peer").spawn_scoped(scope, peer).map_err(failed)?;
            told.recv_timeout(READY).map_err(failed)?.map_err(failed)?;
            let capture = || {
                let mut capture = Vec::new();
                let ended = tapping.write(tap, &mut capture, &stop, &mut |_| ());
                ended.map(|_| capture)
            };
            let capturing = begin("tap").spawn_scoped(scope, capture).map_err(failed)?;
            let bed = Bed {
                testbed: &testbed,
                places: Mutex::default(),
            };
            let done = testbed.sender().inside(|| work(&bed)).map_err(failed)?;
            drop(ends);
            let captured = capturing.join();
            let captured =
                captured.map_err(|_| TaskError::Failed("the tap of a cell failed".to_owned()))?;
            let networked = Networked {
                far_end: far_end.addresses().v4.into(),
                tapped: captured.map_err(failed)?,
                late: testbed.summary().as_ref().and_then(late),
            };
            Ok((done?, networked))
        })
    }

    /// The address of the far end, by which an instance is told of it.
    pub fn far_end(&self) -> IpAddr {
        self.testbed.far_end().addresses().v4.into()
    }

    /// A place for a further instance. Call it in the host's network, as `work` is.
    pub fn join(&self, network: Network) -> Result<Option<Joined>, TaskError> {
        Ok(Some(match network {
            Network::None => return Ok(None),
            Network::Host => Joined::Host,
            Network::Bridge => self.attach(Attachment::Bridge)?,
            Network::Macvlan => self.attach(Attachment::Macvlan)?,
            Network::Tap => {
                let Identity {
                    addresses,
                    v4_mask: mask,
                    mac,
                } = self.testbed.announce().map_err(failed)?;
                let guest = Interface {
                    address: addresses.v4,
                    mask,
                    mac: Some(mac),
                };
                let name = format!("tap{}", mac[5]);
                let tap = Tap::joined(&name, guest).map_err(failed)?;
                self.testbed.switch_in(&name).map_err(failed)?;
                Joined::Tap(Arc::new(tap))
            }
        }))
    }

    fn attach(&self, how: Attachment) -> Result<Joined, TaskError> {
        let place = self.testbed.attach(how).map_err(failed)?;
        let joined = Joined::Namespace(place.path());
        let places = self.places.lock();
        places.unwrap_or_else(PoisonError::into_inner).push(place);
        Ok(joined)
    }
}

/// What is known of the network of a cell that has been measured.
#[derive(Debug, PartialEq)]
pub(super) struct Networked {
    /// Where the far end was.
    pub far_end: IpAddr,
    /// A capture of what the tap beside the host's device saw.
    pub tapped: Vec<u8>,
    /// How the path held up packets by itself, where it did.
    pub late: Option<String>,
}

/// What the relay that is the path did wrong, in words.
fn late(path: &Summary) -> Option<String> {
    let ways = [&path.outward, &path.homeward];
    let worst_ns = ways.map(|way| way.worst_late_ns).into_iter().max()?;
    let sum = |of: fn(&Counts) -> u64| ways.into_iter().map(of).sum::<u64>();
    (worst_ns > TOLD_NS).then(|| {
        format!(
            "its path, which runs here too, held up {} of {} packets by itself, the worst by {}",
            sum(|way| way.late),
            sum(|way| way.of(Fate::Sent)),
            format_ns(worst_ns as f64)
        )
    })
}

fn config() -> ReflectorConfig {
    let limits = Limits {
        stranger: ANSWERS,
        ..Limits::default()
    };
    ReflectorConfig {
        limits,
        ..ReflectorConfig::default()
    }
}

fn failed(why: impl std::fmt::Display) -> TaskError {
    let why = why.to_string();
    // One line.
    TaskError::Failed(why.lines().next().unwrap_or_default().to_owned())
}
