//! What goes into a reflector, and what comes out.

use std::net::SocketAddr;

use crate::limits::Source;
use crate::stamp::Stamp;
use crate::table::Place;

/// A datagram that has come.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Its UDP payload.
    pub datagram: &'a [u8],
    /// Where it came from.
    pub source: SocketAddr,
    /// When (T2).
    pub received: Stamp,
    /// TTL or hop limit that it had left.
    pub ttl: Option<u8>,
    /// The byte of its header with DSCP (six bits) and ECN (two).
    pub traffic_class: Option<u8>,
    /// A clock that never goes backwards, in ns from anywhere: for rates alone.
    pub now_ns: u64,
}

/// A reply as it was written.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// Its length.
    pub bytes: usize,
    /// Of all replies of this reflector, from zero; it wraps. [`super::Reflector::sent`] wants
    /// it.
    pub number: u32,
    /// DSCP that its header has to have, where the request asks for one.
    pub dscp: Option<u8>,
    /// How many more replies the request is to have, by [`super::Reflector::repeat`].
    pub repeats: u16,
    /// From one to the next, in ns.
    pub interval_ns: u32,
    /// When the request came (T2).
    pub received: Stamp,
    /// Whether the sender can be told what held up a request: by [`super::Reflector::mark`].
    pub takes_marks: bool,
    /// Which of the keys.
    pub(super) key: Option<usize>,
    /// Where the HMAC TLV begins.
    pub(super) tag_at: Option<usize>,
    pub(super) session: Option<Place>,
    pub(super) source: Source,
    pub(super) is_trusted: bool,
    pub(super) sequence: u32,
    pub(super) sender_sequence: u32,
}

/// Why there is no reflector.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReflectorError {
    /// Its tables are larger than the memory that there is.
    #[error("no memory for the reflector's tables: {0}")]
    Memory(#[from] std::collections::TryReserveError),
    /// Everybody would be turned away.
    #[error("a reflector in authenticated mode needs at least one key")]
    NoKeys,
}
