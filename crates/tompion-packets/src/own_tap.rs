//! A tap at the sender's own device, beside a measurement: what packet sniffers (libpcap) see.
//!
//! A thread of its own takes what was tapped fifty times a second, so that no packet wakes
//! anybody up, and keeps stamps and keys; which of them are probes is found out at the end.

use std::thread::{self, JoinHandle};

use tompion_net::device::{Device, towards};
use tompion_net::frame::{Frame, LinkType};
use tompion_net::tap::{Direction, Filter, Record, Tap, TapOptions};
use tompion_net::{NetError, Stop, wait};
use tompion_path::Way;
use tompion_path::stamps::{JoinError, Joined, Packets, PacketsError, TapRecord, join_tap};

use crate::capture::blame_drops;
use crate::error::PacketError;
use crate::marks::Marks;
use crate::measure::Settings;
use crate::sighted::Sighted;
use crate::tapping::{AT_ONCE, ROUNDS};
use crate::target::Protocol;

/// How often it is read, in nanoseconds. Its buffer holds some 20,000 frames.
const EVERY_NS: u64 = 20_000_000;
/// Room beside a probe and a reply each, for copies and for packets of others.
const SPARE: usize = 4096;

/// A tap that is open beside a measurement.
#[derive(Debug)]
pub struct OwnTap {
    device: String,
    stop: Stop,
    thread: JoinHandle<Seen>,
}

/// What it saw.
#[derive(Debug)]
struct Seen {
    records: Vec<TapRecord>,
    /// Frames that found no room, here or in the kernel.
    dropped: u64,
    failed: Option<NetError>,
}

/// What came of a tap beside a measurement.
#[derive(Debug)]
pub struct OwnTapped {
    /// Where it was.
    pub device: String,
    /// What it saw of the probes, or why it is of no use.
    pub joined: Result<Joined, JoinError>,
    /// Frames that it dropped.
    pub dropped: u64,
    /// Why it ended before the measurement did.
    pub failed: Option<NetError>,
}

impl OwnTap {
    /// Opens a tap for the probes of a measurement and their replies: at this device, or at the
    /// one by which packets leave for the far end. Takes CAP_NET_RAW.
    ///
    /// # Errors
    /// Where the device cannot be tapped, or it is not known which one it is; where there is no
    /// memory for as many probes.
    pub fn open(device: Option<&str>, settings: &Settings) -> Result<Self, PacketError> {
        let device = match device {
            Some(name) => Device::from(name),
            None => towards(settings.to.ip())?,
        };
        let filter = match settings.protocol {
            Protocol::Stamp => Filter::UdpPort(settings.to.port()),
            Protocol::Icmp => Filter::Icmp,
        };
        let tap = Tap::open(&TapOptions {
            filter,
            ..TapOptions::new(device)
        })?;
        let probes = usize::try_from(settings.count).unwrap_or(usize::MAX);
        let most = probes.saturating_mul(2).saturating_add(SPARE);
        let mut records = Vec::new();
        let no_memory = |_| PacketsError::NoMemory { probes };
        records.try_reserve_exact(most).map_err(no_memory)?;
        let name = tap.device().to_owned();
        let stop = Stop::new()?;
        let ends = stop.clone();
        let thread = thread::Builder::new()
            .name("tap".to_owned())
            .spawn(move || watch(tap, records, &ends));
        let thread = thread.map_err(|source| NetError::Io {
            what: "start a thread",
            source,
        })?;
        Ok(Self {
            device: name,
            stop,
            thread,
        })
    }

    /// Ends the tap and enters its stamps into the table, as the tap `name`.
    ///
    /// # Errors
    /// Where the table has no room for a tap of that name.
    pub fn join(
        self,
        packets: &mut Packets,
        marks: &Marks,
        name: &str,
    ) -> Result<OwnTapped, PacketError> {
        self.stop.set();
        let seen = self.thread.join();
        let Seen {
            records,
            dropped,
            failed,
        } = seen.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let tap = packets.add_own_tap(name)?;
        let keys = marks.keys(packets);
        let joined = join_tap(packets, &keys, tap, records);
        if joined.is_ok() && dropped > 0 {
            blame_drops(packets, tap)?;
        }
        Ok(OwnTapped {
            device: self.device,
            joined,
            dropped,
            failed,
        })
    }
}

/// Keeps what is tapped until `stop` is set, and then what is there still.
fn watch(mut tap: Tap, records: Vec<TapRecord>, stop: &Stop) -> Seen {
    let mut batch = tap.batch(AT_ONCE);
    let mut seen = Seen {
        records,
        dropped: 0,
        failed: None,
    };
    loop {
        let is_last = stop.is_set();
        let mut is_drained = false;
        // However many come meanwhile.
        for _ in 0..ROUNDS {
            match tap.read(&mut batch, |record| seen.take(&record)) {
                Ok(0) => {
                    is_drained = true;
                    break;
                }
                Ok(_) => {}
                // Told once, before the frames that came until then.
                Err(error) if seen.failed.is_none() => seen.failed = Some(error),
                Err(_) => break,
            }
        }
        if is_last || seen.failed.is_some() {
            break;
        }
        if !is_drained {
            continue;
        }
        if let Err(error) = wait(&[], stop, EVERY_NS) {
            seen.failed = Some(error);
            break;
        }
    }
    seen.dropped += tap.statistics().map_or(0, |found| found.dropped);
    seen
}

impl Seen {
    /// Probes as they go and replies as they come: on loopback, where every frame does both, the
    /// other passes are the far end's.
    fn take(&mut self, record: &Record<'_>) {
        let frame = Frame::read(LinkType::Ethernet, record.bytes);
        let sighted = frame.ok().and_then(|frame| Sighted::of(&frame));
        let Some(Sighted { way, key, .. }) = sighted else {
            return;
        };
        match (record.direction, way) {
            (Direction::Outgoing, Way::Outward) | (Direction::Incoming, Way::Homeward) => {}
            _ => return,
        }
        if self.records.len() == self.records.capacity() {
            self.dropped += 1;
            return;
        }
        self.records.push(TapRecord {
            at_ns: record.ns,
            way,
            key,
        });
    }
}
