//! Test packets that pass a device, written to a capture until enough are there.

use std::io::Write;
use std::net::IpAddr;
use std::time::Duration;

use serde::Serialize;
use tompion_net::device::Device;
use tompion_net::frame::{Frame, LinkType};
use tompion_net::pcapng::{Described, WriteError, Writer};
use tompion_net::tap::{Filter, Record, Tap, TapOptions};
use tompion_net::{NetError, Stop, monotonic_ns, realtime_ns, wait};
use tompion_path::Way;

use crate::error::PacketError;
use crate::sighted::Sighted;
use crate::target::Protocol;

/// How often the tap is read, in nanoseconds: no packet wakes anybody up.
const EVERY_NS: u64 = 50_000_000;
/// Frames that are read by one call.
pub(crate) const AT_ONCE: usize = 64;
/// Of these so many, before it is looked whether it is to end.
pub(crate) const ROUNDS: usize = 256;
/// Bytes of a frame that are kept: two VLAN tags, the longest header of IPv4 or one of IPv6 with
/// extensions, and STAMP's authenticated base packet, which has 112 bytes.
pub const KEPT_BYTES: usize = 256;

/// What is to be captured.
#[derive(Clone, Debug)]
pub struct Tapping {
    /// Where.
    pub device: Device,
    /// Only packets to or from one of these; all where there is none.
    pub hosts: Vec<IpAddr>,
    /// STAMP to or from this UDP port; none where ICMP echo alone is wanted.
    pub port: Option<u16>,
    /// Whether ICMP echo is wanted.
    pub icmp: bool,
    /// After so many packets it ends.
    pub count: Option<u64>,
    /// After this time it ends.
    pub duration: Option<Duration>,
}

/// Why capturing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// As many packets as were wanted are there.
    Count,
    /// The time is over.
    Duration,
    /// It was told to.
    Stopped,
    /// The device failed.
    Failed,
}

/// What was captured so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Captured {
    /// Packets in the file.
    pub packets: u64,
    /// Requests of STAMP among them.
    pub stamp_requests: u64,
    /// Replies of STAMP.
    pub stamp_replies: u64,
    /// Requests of ICMP echo.
    pub echo_requests: u64,
    /// Replies of ICMP echo.
    pub echo_replies: u64,
    /// Frames that passed the kernel's filter and are nothing that was asked for.
    pub others: u64,
    /// Frames that the tap dropped for want of room; counted at the end.
    pub dropped: u64,
    /// Frames without a stamp, which are not in the file.
    pub unstamped: u64,
}

/// What came of a capture.
#[derive(Debug)]
pub struct CaptureEnd {
    /// What is in the file.
    pub captured: Captured,
    /// Why it ended.
    pub ended: Ended,
    /// Why the device failed, where it did.
    pub failed: Option<NetError>,
}

impl Tapping {
    /// The same in words, as a capture has its filter.
    fn in_words(&self) -> String {
        let kinds = match (self.port, self.icmp) {
            (Some(port), true) => format!("STAMP on UDP port {port}, ICMP echo"),
            (Some(port), false) => format!("STAMP on UDP port {port}"),
            (None, _) => "ICMP echo".to_owned(),
        };
        let hosts: Vec<String> = self.hosts.iter().map(ToString::to_string).collect();
        match hosts.as_slice() {
            [] => kinds,
            hosts => format!("{kinds}, to or from {}", hosts.join(" or ")),
        }
    }

    /// Opens the tap: frames are kept by the kernel from here on. Takes CAP_NET_RAW.
    ///
    /// # Errors
    /// No such device, one that is switched off, missing rights.
    pub fn open(&self) -> Result<Tap, PacketError> {
        let filter = match (self.port, self.icmp) {
            (Some(port), true) => Filter::UdpPortOrIcmp(port),
            (Some(port), false) => Filter::UdpPort(port),
            (None, _) => Filter::Icmp,
        };
        Ok(Tap::open(&TapOptions {
            filter,
            snap: KEPT_BYTES,
            ..TapOptions::new(self.device.clone())
        })?)
    }

    /// Writes test packets as pcapng until as many are there as are wanted, the time is over,
    /// `stop` is set or the device fails; what was captured until then is a whole file in each
    /// case. `watching` is shown what there is after each look.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write(
        &self,
        mut tap: Tap,
        to: impl Write,
        stop: &Stop,
        watching: &mut dyn FnMut(&Captured),
    ) -> Result<CaptureEnd, WriteError> {
        let filter = self.in_words();
        let device = tap.device().to_owned();
        let described = Described {
            name: &device,
            link: LinkType::Ethernet,
            snap: tap.snap() as u32,
            filter: Some(&filter),
        };
        let program = concat!("tompion ", env!("CARGO_PKG_VERSION"));
        let comment = "test packets; stamps of this machine's CLOCK_REALTIME";
        let mut writing = Writing {
            wanted: self,
            writer: Writer::new(to, program, comment, &[described])?,
            captured: Captured::default(),
        };
        let (ended, failed) = writing.until_the_end(&mut tap, stop, watching)?;
        let statistics = tap.statistics().unwrap_or_default();
        writing.captured.dropped = statistics.dropped;
        writing.captured.unstamped = tap.unstamped();
        let Writing {
            mut writer,
            captured,
            ..
        } = writing;
        writer.statistics(0, realtime_ns().max(0), &statistics)?;
        writer.finish()?;
        Ok(CaptureEnd {
            captured,
            ended,
            failed,
        })
    }
}

struct Writing<'a, W> {
    wanted: &'a Tapping,
    writer: Writer<W>,
    captured: Captured,
}

impl<W: Write> Writing<'_, W> {
    fn until_the_end(
        &mut self,
        tap: &mut Tap,
        stop: &Stop,
        watching: &mut dyn FnMut(&Captured),
    ) -> Result<(Ended, Option<NetError>), WriteError> {
        let mut batch = tap.batch(AT_ONCE);
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let began_ns = monotonic_ns();
        let duration = self.wanted.duration;
        let end_ns = duration.map(|time| began_ns.saturating_add(ns(time)));
        loop {
            // What was tapped before is in the file.
            let is_stopped = stop.is_set();
            let is_over = end_ns.is_some_and(|end| monotonic_ns() >= end);
            let (mut failed, mut is_drained) = (None, true);
            for round in 0.. {
                // However many come meanwhile.
                if round == ROUNDS {
                    is_drained = false;
                    break;
                }
                let mut written = Ok(());
                let read = tap.read(&mut batch, |record| {
                    if written.is_ok() && !self.is_full() {
                        written = self.take(&record);
                    }
                });
                written?;
                match read {
                    Ok(0) => break,
                    Ok(_) if self.is_full() => break,
                    Ok(_) => {}
                    // Told once, before the frames that came until then.
                    Err(error) if failed.is_none() => failed = Some(error),
                    Err(_) => break,
                }
            }
            self.writer.flush()?;
            watching(&self.captured);
            match failed {
                Some(error) => return Ok((Ended::Failed, Some(error))),
                None if self.is_full() => return Ok((Ended::Count, None)),
                None if is_over => return Ok((Ended::Duration, None)),
                None if is_stopped => return Ok((Ended::Stopped, None)),
                None => {}
            }
            if !is_drained {
                continue;
            }
            let left = end_ns.map_or(u64::MAX, |end| end.saturating_sub(monotonic_ns()));
            if let Err(error) = wait(&[], stop, left.min(EVERY_NS)) {
                return Ok((Ended::Failed, Some(error)));
            }
        }
    }

    fn is_full(&self) -> bool {
        let count = self.wanted.count;
        count.is_some_and(|count| self.captured.packets >= count)
    }

    fn take(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        let frame = Frame::read(LinkType::Ethernet, record.bytes);
        let frame = frame.ok().filter(|frame| self.is_of_hosts(frame));
        let Some(sighted) = frame.and_then(|frame| Sighted::of(&frame)) else {
            self.captured.others += 1;
            return Ok(());
        };
        let captured = &mut self.captured;
        let count = match (sighted.protocol, sighted.way) {
            (Protocol::Stamp, Way::Outward) => &mut captured.stamp_requests,
            (Protocol::Stamp, Way::Homeward) => &mut captured.stamp_replies,
            (Protocol::Icmp, Way::Outward) => &mut captured.echo_requests,
            (Protocol::Icmp, Way::Homeward) => &mut captured.echo_replies,
        };
        *count += 1;
        captured.packets += 1;
        self.writer.packet(0, record)
    }

    fn is_of_hosts(&self, frame: &Frame<'_>) -> bool {
        let hosts = &self.wanted.hosts;
        let is_named = |address: &IpAddr| hosts.contains(address);
        hosts.is_empty() || is_named(&frame.source) || is_named(&frame.destination)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_is_told_in_words() {
        let tapping = |port, icmp, hosts: &[&str]| Tapping {
            device: Device::Index(1),
            hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(),
            port,
            icmp,
            count: None,
            duration: None,
        };
        let words = tapping(Some(862), true, &[]).in_words();
        assert_eq!(words, "STAMP on UDP port 862, ICMP echo");
        let words = tapping(None, true, &["192.0.2.7", "2001:db8::7"]).in_words();
        assert_eq!(words, "ICMP echo, to or from 192.0.2.7 or 2001:db8::7");
    }
}
