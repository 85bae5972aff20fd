//! Captures of taps, as files: read, and joined with the probes of a measurement.
//!
//! Files come from strangers. They are read packet by packet, in bounded memory
//! ([`tompion_net::pcapng`]), and nothing is kept of them but what belongs to a probe.

use std::io::Read;

use tompion_net::frame::{Frame, FrameError};
use tompion_net::pcapng::{ReadError, Reader};
use tompion_path::Way;
use tompion_path::stamps::{
    Clock, JoinError, Joined, Key, Missing, Packets, PacketsError, Stamp, TapId, TapRecord,
    join_tap,
};

use crate::sighted::Sighted;

/// Why a capture cannot be joined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// It cannot be read to its end.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its stamps are coarser than what is measured.
    #[error(
        "its stamps have {per_second} steps a second, which says nothing of microseconds: capture \
         with nanoseconds (`tompion tap`, or `tcpdump --time-stamp-precision=nano`)"
    )]
    Coarse {
        /// Steps in a second.
        per_second: u64,
    },
    /// Packets of several devices, each of which would be a tap of its own.
    #[error("it has packets of several devices ({first} and {second}): capture one in each file")]
    SeveralDevices {
        /// One.
        first: String,
        /// Another.
        second: String,
    },
    /// Packets without stamps.
    #[error("{packets} of its packets have no stamps")]
    Unstamped {
        /// How many.
        packets: u64,
    },
    /// Frames of a kind that is not read.
    #[error(transparent)]
    Frames(#[from] FrameError),
    /// It has no test packet at all.
    #[error("none of its {frames} frames is a STAMP test packet or an ICMP echo")]
    NoTestPackets {
        /// How many frames it has.
        frames: u64,
    },
    /// Its packets are not those of the measurement.
    #[error(transparent)]
    Join(#[from] JoinError),
}

impl From<PacketsError> for CaptureError {
    fn from(error: PacketsError) -> Self {
        Self::Join(error.into())
    }
}

/// What came of joining a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedCapture {
    /// The table's tap.
    pub tap: TapId,
    /// Where it was captured, if the file says so.
    pub device: Option<String>,
    /// Frames in all.
    pub frames: u64,
    /// What belongs to a probe, and what does not.
    pub joined: Joined,
    /// Packets that the capture lost, if the file says so.
    pub dropped: Option<u64>,
}

/// Joins a capture with the probes of a table as a further tap of this name and of a clock of its
/// own. `keys` has what each probe carries, in the order of the table. Of the same packet seen
/// several times the earliest stamp counts.
///
/// # Errors
/// Where the capture is damaged or cut off, has stamps coarser than nanoseconds or packets of
/// several devices; where it is of another time or of other packets. The table has a tap without
/// a stamp more then.
pub fn join_capture(
    packets: &mut Packets,
    keys: &[Key],
    name: &str,
    capture: impl Read,
) -> Result<JoinedCapture, CaptureError> {
    let number = packets.taps().len();
    let tap = packets.add_tap(name, Clock::other(number as u8))?;
    let mut sightings = Sightings {
        reader: Reader::new(capture)?,
        device: None,
        frames: 0,
        failed: None,
    };
    let joined = join_tap(packets, keys, tap, &mut sightings);
    let Sightings {
        reader,
        device,
        frames,
        failed,
    } = sightings;
    if let Some(error) = failed {
        return Err(error);
    }
    if reader.unstamped() > 0 {
        let packets = reader.unstamped();
        return Err(CaptureError::Unstamped { packets });
    }
    let joined = match joined {
        Err(JoinError::Empty) => return Err(CaptureError::NoTestPackets { frames }),
        joined => joined?,
    };
    let interface = device.and_then(|place| reader.interfaces().get(place));
    let counts = interface.map(|interface| interface.counts);
    let dropped = counts.and_then(|counts| {
        let (device, system) = (counts.dropped_by_device, counts.dropped_by_system);
        (device.is_some() || system.is_some())
            .then(|| device.unwrap_or(0).saturating_add(system.unwrap_or(0)))
    });
    if dropped.is_some_and(|dropped| dropped > 0) {
        blame_drops(packets, tap)?;
    }
    Ok(JoinedCapture {
        tap,
        device: interface.and_then(|interface| interface.name.clone()),
        frames,
        joined,
        dropped,
    })
}

/// Of a tap that dropped packets nobody knows which ones it would not have seen anyway.
pub(crate) fn blame_drops(packets: &mut Packets, tap: TapId) -> Result<(), PacketsError> {
    for row in 0..packets.len() {
        for way in Way::BOTH {
            let stamp = Stamp::Tap(tap, way);
            if packets.missing(row, stamp) == Some(Missing::NotSeen) {
                packets.set_missing(row, stamp, Missing::TapDropped)?;
            }
        }
    }
    Ok(())
}

/// The test packets of a capture, as long as it can be read.
struct Sightings<R> {
    reader: Reader<R>,
    /// The interface that test packets were captured at.
    device: Option<usize>,
    frames: u64,
    failed: Option<CaptureError>,
}

impl<R: Read> Iterator for Sightings<R> {
    type Item = TapRecord;

    fn next(&mut self) -> Option<TapRecord> {
        if self.failed.is_some() {
            return None;
        }
        match self.next_sighting() {
            Ok(record) => record,
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }
}

impl<R: Read> Sightings<R> {
    fn next_sighting(&mut self) -> Result<Option<TapRecord>, CaptureError> {
        loop {
            let Some(packet) = self.reader.next_packet()? else {
                return Ok(None);
            };
            self.frames += 1;
            if !packet.resolution.has_nanoseconds() {
                let per_second = packet.resolution.per_second;
                return Err(CaptureError::Coarse { per_second });
            }
            let (interface, at_ns) = (packet.interface, packet.ns);
            let sighted = match Frame::read(packet.link, packet.bytes) {
                Ok(frame) => Sighted::of(&frame),
                Err(FrameError::LinkType(number)) => {
                    return Err(FrameError::LinkType(number).into());
                }
                // Of another protocol, or damaged: somebody else's.
                Err(_) => None,
            };
            let Some(Sighted { way, key, .. }) = sighted else {
                continue;
            };
            match self.device {
                None => self.device = Some(interface),
                Some(first) if first != interface => return Err(self.several(first, interface)),
                Some(_) => {}
            }
            return Ok(Some(TapRecord { at_ns, way, key }));
        }
    }

    fn several(&self, first: usize, second: usize) -> CaptureError {
        let name = |place: usize| {
            let named = self.reader.interfaces().get(place);
            let named = named.and_then(|interface| interface.name.clone());
            named.unwrap_or_else(|| format!("interface {place}"))
        };
        CaptureError::SeveralDevices {
            first: name(first),
            second: name(second),
        }
    }
}

#[cfg(test)]
mod tests;
