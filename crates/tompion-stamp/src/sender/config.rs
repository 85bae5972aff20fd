//! What a sender is told before it begins.

use crate::key::Key;
use crate::time_format::TimeFormat;
use crate::tlv::values::ReplyControl;

/// Which TLVs requests have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// Timestamp Information.
    pub timestamp_information: bool,
    /// Class of Service: the DSCP that replies shall have.
    pub dscp: Option<u8>,
    /// Direct Measurement.
    pub direct_measurement: bool,
    /// Follow-Up Telemetry.
    pub follow_up: bool,
    /// Tompion's own.
    pub tompion: bool,
    /// Reflected Test Packet Control.
    pub control: Option<ReplyControl>,
    /// Tompion's question for the arrivals of a train: of so many packets; none where it is zero. Which packets a
    /// [`TrainSender`](crate::TrainSender) says.
    pub arrivals: u16,
}

/// What padding consists of. It is the same in all packets of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// Zeros, which some links compress.
    Zeros,
    /// Bytes that look random, from this seed.
    Random(u64),
}

/// All of it.
#[derive(Clone, Debug)]
pub struct SenderConfig {
    /// The session's identifier: not zero, and another one for each session of an address.
    pub ssid: u16,
    /// The format of T1.
    pub format: TimeFormat,
    /// Whether the clock of T1 is in step with UTC by an external source, by its own account.
    pub synchronized: bool,
    /// Its error, in ns.
    pub error_ns: u64,
    /// For authenticated mode.
    pub key: Option<Key>,
    /// In unauthenticated mode, for the TLVs alone.
    pub tlv_key: Option<Key>,
    /// Which TLVs requests have.
    pub ask: Ask,
    /// Bytes of requests (UDP payload), padded to that length; `None` for as few as do.
    pub bytes: Option<usize>,
    /// What padding consists of.
    pub padding: Padding,
    /// Requests that are remembered while their replies may come, at most; rounded up to a power
    /// of two.
    pub outstanding: usize,
    /// Whether replies without an SSID count: of reflectors that know RFC 8762 alone.
    pub accepts_no_ssid: bool,
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            ssid: 1,
            format: TimeFormat::Ntp,
            synchronized: false,
            error_ns: 500_000_000,
            key: None,
            tlv_key: None,
            ask: Ask::default(),
            bytes: None,
            padding: Padding::Random(0),
            outstanding: 1024,
            accepts_no_ssid: true,
        }
    }
}

/// Why there is no sender.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SenderError {
    /// More memory is wanted than there is.
    #[error("no memory for {0} outstanding requests")]
    Memory(usize),
    /// Zero means that there is none.
    #[error("an SSID is not zero")]
    NoSsid,
    /// A DSCP has six bits.
    #[error("a DSCP is 0 to 63, not {0}")]
    Dscp(u8),
    /// The packet holds more than that, or its padding would be shorter than a TLV's header.
    #[error("a request has {least} bytes, or {padded} to {longest}, not {wanted}")]
    Length {
        /// What was wanted.
        wanted: usize,
        /// Without padding.
        least: usize,
        /// With the shortest padding.
        padded: usize,
        /// The longest UDP payload.
        longest: usize,
    },
    /// Base packets with a key protect their TLVs by the same one.
    #[error("a key for the TLVs alone beside one for everything")]
    TwoKeys,
}
