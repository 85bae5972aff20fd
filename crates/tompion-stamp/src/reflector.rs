//! A Session-Reflector as a state machine: a datagram and what is known of its arrival go in, a
//! reply or the reason of silence comes out. It neither reads a clock nor touches a socket, and
//! after [`Reflector::new`] it allocates nothing.
//!
//! A reply takes three calls: [`Reflector::reflect`] writes it, [`Reflector::stamp`] puts T3 in
//! as late as possible, and [`Reflector::sent`] takes the kernel's transmit stamp, which a later
//! reply of the session tells (RFC 8972, section 4.7).

pub(crate) mod config;
pub(crate) mod counters;
pub(crate) mod exchange;
mod keys;
mod options;
mod reshape;
mod sessions;
mod survey;
mod trains;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use config::{ClockAccount, ReflectorConfig, Trust};
use counters::{Counters, Silence};
use exchange::{Arrival, ReflectorError, Reply};
use options::Told;
use sessions::{Awaited, Session, SessionKey};
use survey::{Integrity, Survey, seal_tlvs, survey};
use trains::Trains;

use crate::error_estimate::ErrorEstimate;
use crate::limits::{Account, Bucket, Source};
use crate::loops::looks_like_reply;
use crate::packet::{Mode, ReplyFields, RequestFields, put_time, seal, tag_of};
use crate::replay::{Arrival as Sequence, Grants, RecentTags};
use crate::stamp::Stamp;
use crate::table::Table;
use crate::tlv::values::TompionMark;

/// A request that was sent longer ago, or later, than this by its T1 may be one that was recorded, in nanoseconds: it has no
/// more and no longer replies than one of its own length.
const FRESH_NS: u64 = 60_000_000_000;

/// The state of a reflector: of bounded size, all of it reserved at the start.
#[derive(Debug)]
pub struct Reflector {
    config: ReflectorConfig,
    error: ErrorEstimate,
    sessions: Table<SessionKey, Session>,
    sources: Table<Source, Account>,
    strangers: Bucket,
    all: Bucket,
    /// Where there are tags.
    recent: Option<RecentTags>,
    /// Where a key may ask for other replies than one of its length.
    grants: Option<Grants>,
    trains: Trains,
    awaited: Vec<Option<Awaited>>,
    next: u32,
    counters: Counters,
}

impl Reflector {
    /// A reflector with nothing in its tables.
    ///
    /// # Errors
    /// No memory for the tables, or authenticated mode without a key.
    pub fn new(config: ReflectorConfig) -> Result<Self, ReflectorError> {
        if matches!(&config.trust, Trust::Keyed(keys) if keys.is_empty()) {
            return Err(ReflectorError::NoKeys);
        }
        let recent = match config.trust {
            Trust::Anybody { .. } => None,
            Trust::Keyed(_) => Some(RecentTags::new()?),
        };
        let grants = match config.trust.grants_any() {
            true => Some(Grants::new()?),
            false => None,
        };
        let mut awaited = Vec::new();
        // Numbers wrap at 2^32: places have to follow one another there, too.
        let places = config.awaited_stamps.clamp(1, 1 << 24).next_power_of_two();
        awaited.try_reserve_exact(places)?;
        awaited.resize(places, None);
        Ok(Self {
            error: error_of(&config),
            sessions: Table::new(config.sessions)?,
            sources: Table::new(config.sources)?,
            strangers: Bucket::default(),
            all: Bucket::default(),
            recent,
            grants,
            trains: Trains::new(config.stateful && config.tells_software)?,
            awaited,
            next: 0,
            counters: Counters::default(),
            config,
        })
    }

    /// What was said of the clock is no longer so.
    pub fn set_clock(&mut self, clock: ClockAccount) {
        self.config.clock = clock;
        self.error = error_of(&self.config);
    }

    /// How often each thing happened so far.
    pub fn counters(&self) -> Counters {
        Counters {
            sessions_evicted: self.sessions.evicted(),
            sources_evicted: self.sources.evicted(),
            ..self.counters
        }
    }

    /// Bytes of all tables, which never change.
    pub fn table_bytes(&self) -> usize {
        self.sessions.bytes()
            + self.sources.bytes()
            + self.recent.as_ref().map_or(0, RecentTags::bytes)
            + self.grants.as_ref().map_or(0, Grants::bytes)
            + self.trains.bytes()
            + self.awaited.capacity() * size_of::<Option<Awaited>>()
    }

    /// Whether packets carry tags here.
    pub fn mode(&self) -> Mode {
        match self.config.trust {
            Trust::Anybody { .. } => Mode::Unauthenticated,
            Trust::Keyed(_) => Mode::Authenticated,
        }
    }

    /// Writes the reply to a datagram into `out`, all but T3 and the tag of the base packet. It
    /// is as long as the request, unless a key is allowed to ask for something else.
    ///
    /// # Errors
    /// Why there is to be no reply; `out` may have been written to.
    pub fn reflect(&mut self, arrival: &Arrival<'_>, out: &mut [u8]) -> Result<Reply, Silence> {
        self.counters.received += 1;
        self.counters.received_bytes += arrival.datagram.len() as u64;
        let reply = self.decide(arrival, out);
        match &reply {
            Ok(reply) => {
                self.counters.replied += 1;
                self.counters.replied_bytes += reply.bytes as u64;
            }
            Err(silence) => self.counters.count(*silence),
        }
        reply
    }

    /// Puts T3 (ns since 1970, UTC) into a reply, and the tag that covers it. To be called right
    /// before the reply is sent, as it may be again. False where `out` does not hold the reply.
    pub fn stamp(&self, reply: &Reply, out: &mut [u8], sent_utc_ns: i64) -> bool {
        let Some(packet) = out.get_mut(..reply.bytes) else {
            return false;
        };
        let mode = self.mode();
        put_time(mode, packet, self.config.format.encode(sent_utc_ns));
        match self.config.trust.base_key(reply.key) {
            Some(key) => seal(key, packet),
            None => true,
        }
    }

    /// Takes the transmit stamp of a reply by its number. False where nobody waits for it: the
    /// session is forgotten, or so many replies were sent since that the number is.
    pub fn sent(&mut self, number: u32, stamp: Stamp) -> bool {
        let place = number as usize & (self.awaited.len() - 1);
        let awaited = self.awaited[place].filter(|awaited| awaited.number == number);
        let session = awaited.and_then(|awaited| {
            self.awaited[place] = None;
            Some((awaited, self.sessions.at(awaited.place)?))
        });
        match session {
            Some((awaited, session)) => {
                session.leave(&awaited, stamp);
                self.counters.stamps_taken += 1;
                true
            }
            None => {
                self.counters.stamps_unclaimed += 1;
                false
            }
        }
    }

    /// Takes what held up the request of a reply, by the numbers of docs/wire.md: a later reply of the session tells it. False
    /// where the session is forgotten.
    pub fn mark(&mut self, reply: &Reply, cause: u8, source: u8) -> bool {
        let session = reply.session.and_then(|place| self.sessions.at(place));
        let mark = TompionMark {
            sender_sequence: reply.sender_sequence,
            cause,
            source,
        };
        session.map(|session| session.mark(mark)).is_some()
    }

    /// Makes of a reply the next one to the same request, for which T3 is to be put in again.
    ///
    /// # Errors
    /// The rates are exhausted, or no further reply was granted: no more of them should be tried.
    pub fn repeat(&mut self, reply: &Reply, out: &mut [u8], now_ns: u64) -> Result<Reply, Silence> {
        let repeats = reply.repeats.checked_sub(1).ok_or(Silence::NoneWanted)?;
        let packet = out.get_mut(..reply.bytes).ok_or(Silence::NoRoom)?;
        self.admit(reply.source, reply.is_trusted, now_ns)?;
        let mut next = Reply { repeats, ..*reply };
        if let Some(session) = reply.session.and_then(|place| self.sessions.at(place)) {
            (next.sequence, _) = session.send();
            crate::bytes::put(packet, 0, &next.sequence.to_be_bytes());
        }
        if let (Some(at), Some(key)) = (next.tag_at, self.config.trust.tlv_key(next.key)) {
            let base = self.mode().base_bytes();
            seal_tlvs(key, packet, base, at);
        }
        next.number = self.expect_stamp(&next);
        self.counters.repeated += 1;
        self.counters.replied_bytes += next.bytes as u64;
        Ok(next)
    }

    fn decide(&mut self, arrival: &Arrival<'_>, out: &mut [u8]) -> Result<Reply, Silence> {
        let mode = self.mode();
        let datagram = arrival.datagram;
        let request = RequestFields::read(mode, datagram).ok_or(Silence::TooShort)?;
        if out.len() < datagram.len() {
            return Err(Silence::NoRoom);
        }
        if !self.is_answered(arrival.source) {
            return Err(Silence::BadSource);
        }
        let received = self.config.format.encode(arrival.received.utc_ns);
        if looks_like_reply(mode, datagram, received) {
            return Err(Silence::LooksLikeReply);
        }
        let key = self.config.trust.key_of(&request, datagram)?;
        let survey = survey(mode, datagram, self.config.trust.tlv_key(key));
        let session_key = SessionKey::new(arrival.source, request.ssid);
        if survey.control.is_some_and(|control| control.replies == 0) {
            let ecn = arrival.traffic_class.map(|class| class & 3);
            let sequence = request.sequence;
            self.trains
                .note(session_key, sequence, arrival.received, ecn);
            return Err(Silence::NoneWanted);
        }
        if key.is_some() {
            self.is_new(session_key, &request, arrival)?;
        }
        let sent_ns = request
            .error
            .format
            .decode(request.time, arrival.received.utc_ns);
        let is_fresh = sent_ns.is_some_and(|ns| ns.abs_diff(arrival.received.utc_ns) <= FRESH_NS);
        let source = Source::from(arrival.source.ip());
        let is_trusted = key.is_some() || arrival.source.ip().to_canonical().is_loopback();
        let unanswered = self.admit(source, is_trusted, arrival.now_ns)?;
        self.counters.no_error_estimate += u64::from(request.error.error_ns().is_none());

        let session = self.config.stateful.then(|| {
            let (place, session) = self.sessions.enter(session_key, Session::default);
            session.receive();
            (place, session.send())
        });
        let mut reply = Reply {
            bytes: datagram.len(),
            number: 0,
            dscp: None,
            repeats: 0,
            interval_ns: 0,
            key,
            tag_at: None,
            session: session.map(|(place, _)| place),
            source,
            is_trusted,
            sequence: session.map_or(request.sequence, |(_, (sequence, _))| sequence),
            sender_sequence: request.sequence,
            received: arrival.received,
            takes_marks: false,
        };
        let told = session.map(|(_, (_, told))| told);
        self.write(
            &mut reply,
            arrival,
            &request,
            (&survey, is_fresh),
            (told, unanswered),
            out,
        );
        reply.number = self.expect_stamp(&reply);
        Ok(reply)
    }

    /// Writes base packet and TLVs of a reply.
    fn write(
        &mut self,
        reply: &mut Reply,
        arrival: &Arrival<'_>,
        request: &RequestFields,
        (survey, is_fresh): (&Survey, bool),
        (session, unanswered): (Option<sessions::Told>, u16),
        out: &mut [u8],
    ) {
        let mode = self.mode();
        let base = mode.base_bytes();
        out[..reply.bytes].copy_from_slice(arrival.datagram);
        if let Integrity::Shown(at) = survey.integrity {
            reply.tag_at = Some(at);
        }
        let limits = self.config.trust.control_limits(reply.key);
        let granted = survey
            .control
            .filter(|control| is_fresh && reshape::is_granted(control, limits, out.len()));
        let granted = granted.filter(|_| {
            // A request is fresh from a minute before its T1 to a minute behind it.
            let fresh_ns = 2 * FRESH_NS as i64;
            let tag = tag_of(arrival.datagram);
            let grants = self.grants.as_mut().zip(tag);
            grants.is_some_and(|(grants, tag)| grants.grant(tag, arrival.received.utc_ns, fresh_ns))
        });
        if let Some(control) = &granted {
            (reply.bytes, reply.tag_at) = reshape::reshape(out, reply.bytes, base, control);
            reply.repeats = control.replies - 1;
            reply.interval_ns = control.interval_ns;
        }
        self.counters.control_granted += u64::from(granted.is_some());
        self.counters.control_refused += u64::from(granted.is_none() && survey.control.is_some());
        let packet = &mut out[..reply.bytes];
        let fields = ReplyFields {
            sequence: reply.sequence,
            time: 0,
            error: self.error,
            ssid: request.ssid,
            received: self.config.format.encode(arrival.received.utc_ns),
            sender_sequence: request.sequence,
            sender_time: request.time,
            sender_error: request.error,
            // No packet arrives with none left, so that zero is free for what nobody knows.
            sender_ttl: arrival.ttl.unwrap_or(0),
        };
        let is_written = fields.write(mode, packet);
        debug_assert!(is_written, "a reply has the length of its base at least");
        let told = Told {
            received: arrival.received.kind,
            source: self.config.clock.source,
            format: self.config.format,
            class: arrival.traffic_class.map(|class| (class >> 2, class & 3)),
            dscp_permitted: self.config.dscp_permitted,
            session,
            unanswered,
            train: self
                .trains
                .of(SessionKey::new(arrival.source, request.ssid)),
            keeps_trains: self.trains.are_kept(),
            tells_software: self.config.tells_software,
            control_granted: granted.is_some(),
        };
        let outcome = options::answer(packet, base, survey.integrity, &told);
        reply.dscp = outcome.dscp;
        reply.takes_marks = outcome.takes_marks && reply.session.is_some();
        if let (Some(at), Some(key)) = (reply.tag_at, self.config.trust.tlv_key(reply.key)) {
            seal_tlvs(key, packet, base, at);
        }
        self.counters.tlvs_unrecognized += u64::from(outcome.unrecognized);
        self.counters.tlvs_malformed += u64::from(outcome.malformed);
        self.counters.integrity_failed += u64::from(survey.integrity == Integrity::Failed);
    }

    /// Whether anything is sent to an address and a port.
    fn is_answered(&self, source: SocketAddr) -> bool {
        let address = source.ip().to_canonical();
        let is_broadcast = matches!(address, std::net::IpAddr::V4(v4) if v4.is_broadcast());
        let port = source.port();
        port != 0
            && (port >= 1024 || port == STAMP_PORT || self.config.answers_low_ports)
            && !(address.is_unspecified() || address.is_multicast() || is_broadcast)
    }

    /// Whether a request with a right tag was not seen before.
    fn is_new(
        &mut self,
        key: SessionKey,
        request: &RequestFields,
        arrival: &Arrival<'_>,
    ) -> Result<(), Silence> {
        if let (Some(recent), Some(tag)) = (&mut self.recent, tag_of(arrival.datagram))
            && recent.arrive(tag)
        {
            return Err(Silence::Replay);
        }
        let sent = request
            .error
            .format
            .decode(request.time, arrival.received.utc_ns);
        let (_, session) = self.sessions.enter(key, Session::default);
        match session.window.arrive(request.sequence, sent) {
            Sequence::New => Ok(()),
            Sequence::Restart => {
                session.restart();
                Ok(())
            }
            Sequence::Replay => Err(Silence::Replay),
        }
    }

    /// Takes a packet's worth of all rates that it falls under: how many packets of its source were left unanswered for these
    /// before.
    fn admit(&mut self, source: Source, is_trusted: bool, now_ns: u64) -> Result<u16, Silence> {
        let limits = self.config.limits;
        let mut is_taken = is_trusted;
        if !is_trusted && !self.sources.has(&source) {
            // Where strangers have no more, newcomers drive nobody's account out of the table.
            if !self.strangers.take(limits.strangers, now_ns) {
                return Err(Silence::TotalRate);
            }
            is_taken = true;
        }
        let stays = |account: &Account| account.is_restrained(limits.stranger, now_ns);
        let (_, account) = self.sources.enter_beside(source, Account::default, stays);
        let (rate, quiet) = if is_trusted {
            (limits.trusted, None)
        } else {
            (limits.stranger, Some(limits.quiet))
        };
        let why = if !account.take(rate, quiet, now_ns) {
            Silence::SourceRate
        } else if (is_taken || self.strangers.take(limits.strangers, now_ns))
            && self.all.take(limits.all, now_ns)
        {
            return Ok(account.unanswered());
        } else {
            Silence::TotalRate
        };
        account.leave_unanswered();
        Err(why)
    }

    /// The number of a reply, and its transmit stamp expected.
    fn expect_stamp(&mut self, reply: &Reply) -> u32 {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let place = number as usize & (self.awaited.len() - 1);
        self.awaited[place] = reply.session.map(|place| Awaited {
            number,
            place,
            sequence: reply.sequence,
            sender_sequence: reply.sender_sequence,
            received: reply.received,
        });
        number
    }
}

/// The port of STAMP, and of TWAMP's tests: the one of those below 1024 that senders have, too.
const STAMP_PORT: u16 = 862;

fn error_of(config: &ReflectorConfig) -> ErrorEstimate {
    let clock = &config.clock;
    ErrorEstimate::new(clock.synchronized, config.format, clock.error_ns)
}
