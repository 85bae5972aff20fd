//! A Session-Sender of trains: packets that want no reply, and requests that ask for when these arrived. A reflector of Tompion's
//! answers those (docs/wire.md, "Arrivals of a train").

use super::config::{Ask, SenderConfig, SenderError};
use super::template::Template;
use super::{options, tlv_key};
use crate::bytes::put;
use crate::error_estimate::ErrorEstimate;
use crate::key::TAG_BYTES;
use crate::packet::{Mode, ReplyFields, RequestFields, is_authentic, seal};
use crate::tlv::values::{ReplyControl, TrainArrival, TrainArrivals};
use crate::tlv::{HEADER_BYTES, Step, Steps, flags, kinds};

/// A sender of trains in one session. Packets are numbered across all of them.
#[derive(Debug)]
pub struct TrainSender {
    config: SenderConfig,
    mode: Mode,
    error: ErrorEstimate,
    of_train: Template,
    asking: Template,
    next: u32,
}

/// A request for arrivals that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivalsAsked {
    sequence: u32,
    time: u64,
    first: u32,
}

/// What a reflector says to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrainAnswer {
    /// When each packet arrived; nothing where it did not.
    Arrivals(Vec<Option<TrainArrival>>),
    /// It answers, and remembers no trains: it is no reflector of Tompion's, an older one, or one without state.
    NotKept,
}

impl TrainSender {
    /// One that has sent nothing. Of the settings, `bytes` is the length of a train's packets, and of `ask` nothing counts but
    /// `arrivals`: of how many packets one request asks.
    ///
    /// # Errors
    /// A setting that no packet can have.
    pub fn new(config: SenderConfig) -> Result<Self, SenderError> {
        if config.ssid == 0 {
            return Err(SenderError::NoSsid);
        }
        if config.key.is_some() && config.tlv_key.is_some() {
            return Err(SenderError::TwoKeys);
        }
        let mode = match config.key {
            Some(_) => Mode::Authenticated,
            None => Mode::Unauthenticated,
        };
        let none = ReplyControl {
            bytes: 0,
            replies: 0,
            interval_ns: 0,
            for_group: false,
        };
        let of_train = SenderConfig {
            ask: Ask {
                control: Some(none),
                ..Ask::default()
            },
            ..config.clone()
        };
        let asking = SenderConfig {
            ask: Ask {
                arrivals: config.ask.arrivals.max(1),
                ..Ask::default()
            },
            bytes: None,
            ..config.clone()
        };
        let template = |config: &SenderConfig| Template::new(mode, config, tlv_key(config));
        Ok(Self {
            mode,
            error: ErrorEstimate::new(config.synchronized, config.format, config.error_ns),
            of_train: template(&of_train)?,
            asking: template(&asking)?,
            config,
            next: 0,
        })
    }

    /// Bytes of a train's packet.
    pub fn bytes(&self) -> usize {
        self.of_train.bytes.len()
    }

    /// A packet of a train, but for what [`write`](Self::write) puts in.
    pub fn packet(&self) -> Vec<u8> {
        self.of_train.bytes.clone()
    }

    /// Takes numbers for a train: that of its first packet.
    pub fn begin(&mut self, packets: u32) -> u32 {
        let first = self.next;
        self.next = self.next.wrapping_add(packets);
        first
    }

    /// Puts number and T1 (ns since 1970, UTC) into a packet of any session that has this one's settings, and the tags that cover
    /// them. Allocates nothing.
    pub fn write(&self, sequence: u32, sent_utc_ns: i64, packet: &mut [u8]) {
        let time = self.config.format.encode(sent_utc_ns);
        self.finish(&self.of_train, sequence, time, packet);
    }

    fn finish(&self, template: &Template, sequence: u32, time: u64, packet: &mut [u8]) {
        let fields = RequestFields {
            sequence,
            time,
            error: self.error,
            ssid: self.config.ssid,
        };
        let is_written = fields.write(self.mode, packet);
        debug_assert!(is_written, "a packet has the length of its base at least");
        if let (Some(at), Some(key)) = (template.tag_at, tlv_key(&self.config)) {
            let tag = key.tag(&[&packet[..4], &packet[self.mode.base_bytes()..at]]);
            put(packet, at + HEADER_BYTES, &tag);
        }
        if let Some(key) = &self.config.key {
            let is_sealed = seal(key, packet);
            debug_assert!(is_sealed, "its base has room for a tag");
        }
    }

    /// Bytes of a request for arrivals.
    pub fn asking_bytes(&self) -> usize {
        self.asking.bytes.len()
    }

    /// Of how many packets one request of at most so many bytes can ask, in authenticated mode or not.
    pub fn arrivals_within(bytes: usize, mode: Mode) -> u16 {
        let tag = match mode {
            Mode::Authenticated => HEADER_BYTES + TAG_BYTES,
            Mode::Unauthenticated => 0,
        };
        let value = bytes.saturating_sub(mode.base_bytes() + tag + HEADER_BYTES);
        u16::try_from(TrainArrivals::room(value)).unwrap_or(u16::MAX)
    }

    /// A request for the arrivals of the packets from `first` on.
    pub fn ask(&mut self, first: u32, sent_utc_ns: i64) -> (ArrivalsAsked, Vec<u8>) {
        let asked = ArrivalsAsked {
            sequence: self.begin(1),
            time: self.config.format.encode(sent_utc_ns),
            first,
        };
        let mut packet = self.asking.bytes.clone();
        if let Some(range) = self.asking.arrivals.clone() {
            TrainArrivals::ask(&mut packet[range], first);
        }
        self.finish(&self.asking, asked.sequence, asked.time, &mut packet);
        (asked, packet)
    }

    /// What a datagram says to such a request; nothing where it is no reply to it, which would be as long.
    pub fn answer(&self, asked: &ArrivalsAsked, datagram: &[u8]) -> Option<TrainAnswer> {
        if datagram.len() != self.asking.bytes.len() {
            return None;
        }
        let fields = ReplyFields::read(self.mode, datagram)?;
        let has_no_ssid = fields.ssid == 0 && self.config.accepts_no_ssid;
        let is_of_it = (fields.ssid == self.config.ssid || has_no_ssid)
            && fields.sender_sequence == asked.sequence
            && fields.sender_time == asked.time;
        let is_true = |key| is_authentic(key, datagram);
        let base = self.mode.base_bytes();
        if !is_of_it
            || !self.config.key.as_ref().is_none_or(is_true)
            || !options::are_authentic(datagram, base, tlv_key(&self.config))
        {
            return None;
        }
        let mut steps = Steps::new(datagram, base);
        while let Step::Tlv { flags, kind, value } = steps.next(datagram) {
            let is_understood = flags & (flags::UNRECOGNIZED | flags::MALFORMED) == 0;
            let value = &datagram[value];
            if kind == kinds::PRIVATE
                && is_understood
                && let Some(told) = TrainArrivals::read(value, asked.first)
            {
                return Some(TrainAnswer::Arrivals(told.arrivals));
            }
        }
        Some(TrainAnswer::NotKept)
    }
}

#[cfg(test)]
mod tests;
