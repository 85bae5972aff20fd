//! A Session-Sender without a socket and a clock: it writes requests, takes what comes, and says
//! which request each datagram answers. After [`Sender::new`] it allocates nothing.
//!
//! A request takes two calls: [`Sender::prepare`] writes it, [`Sender::stamp`] puts T1 in as late
//! as possible. [`Sender::take`] takes a datagram, [`Sender::give_up`] what has waited too long.

pub(crate) mod config;
mod options;
mod outstanding;
pub(crate) mod taken;
mod template;
pub(crate) mod train;

#[cfg(test)]
mod tests;

use config::{SenderConfig, SenderError};
use options::Context;
use outstanding::{Outstanding, State};
use taken::{Answer, NotOurs, Oddities, Oddity, Taken};
use template::Template;

use crate::bytes::put;
use crate::error_estimate::ErrorEstimate;
use crate::key::Key;
use crate::packet::{Mode, ReplyFields, RequestFields, is_authentic, put_time, seal};
use crate::stamp::Stamp;
use crate::tlv::HEADER_BYTES;

/// A request that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number.
    pub sequence: u32,
    /// Its length.
    pub bytes: usize,
}

/// How often each thing happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Accounts {
    /// Requests written.
    pub prepared: u64,
    /// First replies.
    pub replies: u64,
    /// Further ones.
    pub duplicates: u64,
    /// Replies to what was given up or forgotten.
    pub late: u64,
    /// Requests given up.
    pub given_up: u64,
    /// Requests whose place was needed before they were answered or given up: there were more
    /// outstanding than the sender was made for.
    pub forgotten: u64,
    /// Requests that wait now.
    pub waiting: u64,
    /// [`NotOurs::TooShort`].
    pub too_short: u64,
    /// [`NotOurs::OtherSsid`].
    pub other_ssid: u64,
    /// [`NotOurs::NeverSent`].
    pub never_sent: u64,
    /// [`NotOurs::OtherTime`].
    pub other_time: u64,
    /// [`NotOurs::WrongTag`].
    pub wrong_tag: u64,
    /// Replies with something odd about them.
    pub odd: u64,
}

/// The state of a sender: of bounded size, all of it reserved at the start.
#[derive(Debug)]
pub struct Sender {
    config: SenderConfig,
    mode: Mode,
    error: ErrorEstimate,
    template: Template,
    outstanding: Outstanding,
    accounts: Accounts,
}

impl Sender {
    /// A sender that has sent nothing.
    ///
    /// # Errors
    /// No memory, or a setting that no packet can have.
    pub fn new(config: SenderConfig) -> Result<Self, SenderError> {
        if config.ssid == 0 {
            return Err(SenderError::NoSsid);
        }
        if config.key.is_some() && config.tlv_key.is_some() {
            return Err(SenderError::TwoKeys);
        }
        let mode = if config.key.is_some() {
            Mode::Authenticated
        } else {
            Mode::Unauthenticated
        };
        let template = Template::new(mode, &config, tlv_key(&config))?;
        Ok(Self {
            mode,
            error: ErrorEstimate::new(config.synchronized, config.format, config.error_ns),
            template,
            outstanding: Outstanding::new(config.outstanding)?,
            accounts: Accounts::default(),
            config,
        })
    }

    /// What was said of the clock is no longer so.
    pub fn set_clock(&mut self, synchronized: bool, error_ns: u64) {
        self.error = ErrorEstimate::new(synchronized, self.config.format, error_ns);
    }

    /// Bytes of a request.
    pub fn request_bytes(&self) -> usize {
        self.template.bytes.len()
    }

    /// Bytes of the memory that grows with the number of outstanding requests; they never
    /// change.
    pub fn table_bytes(&self) -> usize {
        self.outstanding.bytes()
    }

    /// How often each thing happened so far.
    pub fn accounts(&self) -> Accounts {
        Accounts {
            prepared: self.outstanding.prepared(),
            waiting: self.outstanding.waiting() as u64,
            forgotten: self.outstanding.forgotten(),
            ..self.accounts
        }
    }

    /// Writes the next request into `out`, all but T1 and the tag of the base packet. `now_ns`
    /// is of a clock that never goes backwards, for [`Self::give_up`] alone. Nothing, and no
    /// number is used, where there is no room for it.
    pub fn prepare(&mut self, out: &mut [u8], now_ns: u64) -> Option<Request> {
        let bytes = self.template.bytes.len();
        let packet = out.get_mut(..bytes)?;
        packet.copy_from_slice(&self.template.bytes);
        let sequence = self.outstanding.prepare(now_ns);
        let fields = RequestFields {
            sequence,
            time: 0,
            error: self.error,
            ssid: self.config.ssid,
        };
        let is_written = fields.write(self.mode, packet);
        debug_assert!(is_written, "a request has the length of its base at least");
        if let Some(at) = self.template.counted_at {
            // With this one; the field wraps.
            let sent = self.outstanding.prepared() as u32;
            put(packet, at, &sent.to_be_bytes());
        }
        if let (Some(at), Some(key)) = (self.template.tag_at, tlv_key(&self.config)) {
            let tag = key.tag(&[&packet[..4], &packet[self.mode.base_bytes()..at]]);
            put(packet, at + HEADER_BYTES, &tag);
        }
        Some(Request { sequence, bytes })
    }

    /// Puts T1 (ns since 1970, UTC) into a request, and the tag that covers it. To be called
    /// right before it is sent. False where `out` does not hold it, or nobody remembers it.
    pub fn stamp(&mut self, request: &Request, out: &mut [u8], sent_utc_ns: i64) -> bool {
        let Some(packet) = out.get_mut(..request.bytes) else {
            return false;
        };
        if packet.len() < self.mode.base_bytes() {
            return false;
        }
        let Some(slot) = self.outstanding.find(request.sequence) else {
            return false;
        };
        slot.sent_utc_ns = sent_utc_ns;
        slot.time = self.config.format.encode(sent_utc_ns);
        put_time(self.mode, packet, slot.time);
        match &self.config.key {
            Some(key) => seal(key, packet),
            None => true,
        }
    }

    /// The oldest request that was prepared before a moment and has no reply; from now on its
    /// reply is late. To be called until there is none.
    pub fn give_up(&mut self, prepared_before_ns: u64) -> Option<u32> {
        let given_up = self.outstanding.give_up(prepared_before_ns);
        self.accounts.given_up += u64::from(given_up.is_some());
        given_up
    }

    /// Says what a datagram that came at T4 is.
    pub fn take(&mut self, datagram: &[u8], received: Stamp) -> Taken {
        let taken = match self.understand(datagram, received) {
            Ok(taken) => taken,
            Err(reason) => Taken::NotOurs(reason),
        };
        let accounts = &mut self.accounts;
        let counter = match &taken {
            Taken::Reply(_) => &mut accounts.replies,
            Taken::Duplicate(_) => &mut accounts.duplicates,
            Taken::Late { .. } => &mut accounts.late,
            Taken::NotOurs(NotOurs::TooShort) => &mut accounts.too_short,
            Taken::NotOurs(NotOurs::OtherSsid) => &mut accounts.other_ssid,
            Taken::NotOurs(NotOurs::NeverSent) => &mut accounts.never_sent,
            Taken::NotOurs(NotOurs::OtherTime) => &mut accounts.other_time,
            Taken::NotOurs(NotOurs::WrongTag) => &mut accounts.wrong_tag,
        };
        *counter += 1;
        if let Taken::Reply(answer) = &taken {
            accounts.odd += u64::from(!answer.oddities.is_empty());
        }
        taken
    }

    fn understand(&mut self, datagram: &[u8], received: Stamp) -> Result<Taken, NotOurs> {
        let fields = ReplyFields::read(self.mode, datagram).ok_or(NotOurs::TooShort)?;
        let has_no_ssid = fields.ssid == 0 && self.config.accepts_no_ssid;
        if fields.ssid != self.config.ssid && !has_no_ssid {
            return Err(NotOurs::OtherSsid);
        }
        if let Some(key) = &self.config.key
            && !is_authentic(key, datagram)
        {
            return Err(NotOurs::WrongTag);
        }
        let sequence = fields.sender_sequence;
        if !self.outstanding.was_prepared(sequence) {
            return Err(NotOurs::NeverSent);
        }
        let Some(slot) = self.outstanding.find(sequence).copied() else {
            return Ok(Taken::Late { sequence });
        };
        if fields.sender_time != slot.time {
            return Err(NotOurs::OtherTime);
        }
        match slot.state {
            State::Waiting => {
                self.outstanding.answer(sequence, fields.sequence);
                let answer = self.answer(datagram, &fields, slot.sent_utc_ns, received);
                Ok(Taken::Reply(answer))
            }
            State::Answered => {
                self.outstanding.note(sequence, fields.sequence);
                let answer = self.answer(datagram, &fields, slot.sent_utc_ns, received);
                Ok(Taken::Duplicate(answer))
            }
            State::GivenUp | State::Free => Ok(Taken::Late { sequence }),
        }
    }

    fn answer(
        &self,
        datagram: &[u8],
        fields: &ReplyFields,
        sent_utc_ns: i64,
        received: Stamp,
    ) -> Answer {
        let format = fields.error.format;
        let decoded = |time| format.decode(time, received.utc_ns);
        let (came, left) = (decoded(fields.received), decoded(fields.time));
        let context = Context {
            base: self.mode.base_bytes(),
            key: tlv_key(&self.config),
            fields,
            received_utc_ns: received.utc_ns,
            request_of: &|number| self.outstanding.request_of(number),
        };
        let options = options::read(datagram, &context);
        let wants_other_length = self.config.ask.control.is_some();
        let bytes = self.template.bytes.len();
        let both = came.zip(left);
        let mut oddities = Oddities::default();
        oddities.add(
            Oddity::SameStamps,
            both.is_some_and(|(came, left)| came == left),
        );
        oddities.add(Oddity::NoReceived, came.is_none());
        oddities.add(Oddity::NoSent, left.is_none());
        oddities.add(
            Oddity::Backwards,
            both.is_some_and(|(came, left)| left < came),
        );
        oddities.add(Oddity::NoErrorEstimate, fields.error.error_ns().is_none());
        oddities.add(Oddity::NoSsid, fields.ssid == 0);
        oddities.add(
            Oddity::Shorter,
            datagram.len() < bytes && !wants_other_length,
        );
        oddities.add(
            Oddity::Longer,
            datagram.len() > bytes && !wants_other_length,
        );
        oddities.add(Oddity::NotAuthentic, options.is_none());
        Answer {
            sequence: fields.sender_sequence,
            reply_sequence: fields.sequence,
            sent_utc_ns,
            reflector_received_utc_ns: came,
            reflector_sent_utc_ns: left,
            received,
            reflector_error: fields.error,
            ttl: (fields.sender_ttl != 0).then_some(fields.sender_ttl),
            oddities,
            options: options.unwrap_or_default(),
        }
    }
}

/// The key of TLVs.
fn tlv_key(config: &SenderConfig) -> Option<&Key> {
    config.key.as_ref().or(config.tlv_key.as_ref())
}
