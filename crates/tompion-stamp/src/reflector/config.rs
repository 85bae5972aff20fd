//! What a reflector is told before it begins.

use crate::key::Key;
use crate::limits::{Quiet, Rate};
use crate::time_format::TimeFormat;
use crate::tlv::values::ClockSource;

/// A key that senders may have, and for which of them it is.
#[derive(Clone, Debug)]
pub struct SharedKey {
    /// The key.
    pub key: Key,
    /// The session that has it, by its SSID; `None` for all that have no key of their own.
    pub ssid: Option<u16>,
    /// Whether who has it may ask for replies that are longer or more than its requests.
    pub control: Option<ControlLimits>,
}

/// How far the Reflected Test Packet Control TLV is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlLimits {
    /// Bytes of the longest reply (UDP payload); whoever sets this knows the path's MTU.
    pub longest_bytes: u16,
    /// Replies to one request, at most.
    pub most_replies: u16,
    /// The shortest interval between them, in ns.
    pub least_interval_ns: u32,
}

/// Who is answered.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Everybody, in unauthenticated mode.
    Anybody {
        /// For senders that protect their TLVs alone.
        tlv_key: Option<Key>,
    },
    /// Who has a key, in authenticated mode.
    Keyed(Vec<SharedKey>),
}

/// What the reflector's clock is, by its owner's account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockAccount {
    /// In step with UTC by an external source.
    pub synchronized: bool,
    /// Its error, in ns.
    pub error_ns: u64,
    /// What keeps it in step.
    pub source: ClockSource,
}

impl Default for ClockAccount {
    /// Of a clock of which nobody knows anything: out of step, by half a second.
    fn default() -> Self {
        Self {
            synchronized: false,
            error_ns: 500_000_000,
            source: ClockSource::Unknown,
        }
    }
}

/// How much is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Each source that has shown no key. With a burst below 50 a fast loop with something whose
    /// replies look like requests ends within 100 packets.
    pub stranger: Rate,
    /// Silence of a stranger that goes beyond its rate.
    pub quiet: Quiet,
    /// Each source that has a key, or is this machine itself: no silence follows.
    pub trusted: Rate,
    /// All strangers together, however many sources they pretend to be.
    pub strangers: Rate,
    /// Everybody together.
    pub all: Rate,
}

impl Default for Limits {
    /// Safe for the open Internet: a stranger gets 100 packets a second, in bursts of 32. 50,000
    /// packets a second with a key, or on the machine itself, are half of what is allowed.
    fn default() -> Self {
        Self {
            stranger: Rate {
                per_second: 100,
                burst: 32,
            },
            quiet: Quiet {
                first_ns: 1_000_000_000,
                longest_ns: 64_000_000_000,
            },
            trusted: Rate {
                per_second: 100_000,
                burst: 20_000,
            },
            strangers: Rate {
                per_second: 20_000,
                burst: 2_000,
            },
            all: Rate {
                per_second: 200_000,
                burst: 40_000,
            },
        }
    }
}

/// All of it.
#[derive(Clone, Debug)]
pub struct ReflectorConfig {
    /// Who is answered.
    pub trust: Trust,
    /// The format of T2 and T3.
    pub format: TimeFormat,
    /// The clock that stamps them.
    pub clock: ClockAccount,
    /// Whether replies are counted by session (RFC 8762, section 4.2). Without that replies have
    /// their requests' numbers, and there is no follow-up and no counter.
    pub stateful: bool,
    /// Sessions that are remembered, at most: the one used least recently goes first.
    pub sessions: usize,
    /// Sources whose rates are remembered, at most, likewise.
    pub sources: usize,
    /// Replies whose transmit stamps may still come, at most.
    pub awaited_stamps: usize,
    /// How much is answered.
    pub limits: Limits,
    /// DSCP values that a sender may have its replies bear: bit n for n. Others are answered
    /// with the request's own DSCP.
    pub dscp_permitted: u64,
    /// Whether Tompion's own TLV is answered; it tells the version.
    pub tells_software: bool,
    /// Whether requests from ports below 1024 are answered, 862 aside: services there (echo,
    /// chargen, DNS, NTP) answer anything, so that one forged packet makes a loop with them.
    pub answers_low_ports: bool,
}

impl Default for ReflectorConfig {
    fn default() -> Self {
        Self {
            trust: Trust::Anybody { tlv_key: None },
            format: TimeFormat::Ntp,
            clock: ClockAccount::default(),
            stateful: true,
            sessions: 4096,
            sources: 4096,
            awaited_stamps: 4096,
            limits: Limits::default(),
            // Best effort.
            dscp_permitted: 1,
            tells_software: true,
            answers_low_ports: false,
        }
    }
}
