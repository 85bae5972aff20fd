//! Why there is no reply, and how often each thing happened.

/// Why a datagram is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Silence {
    /// Shorter than a base packet: the reply would be larger.
    #[error("shorter than a base packet")]
    TooShort,
    /// The caller's buffer does not hold the reply.
    #[error("no room for the reply")]
    NoRoom,
    /// It comes from where no sender is: no port, a well-known one, many hosts at once.
    #[error("from an address or a port to which nothing is sent")]
    BadSource,
    /// It looks like a reply of a reflector.
    #[error("it looks like a reply")]
    LooksLikeReply,
    /// No key is for its session.
    #[error("no key for its session")]
    NoKey,
    /// Its tag is wrong.
    #[error("a wrong tag")]
    WrongTag,
    /// It was seen before, or is so old that nobody knows.
    #[error("a replay")]
    Replay,
    /// Its source has had its share.
    #[error("its source is beyond its rate")]
    SourceRate,
    /// Everybody together has had theirs.
    #[error("all together are beyond their rate")]
    TotalRate,
    /// It asks for no reply.
    #[error("it asks for none")]
    NoneWanted,
}

/// How often each thing happened. Silences add up with `replied` to `received`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Datagrams handed in.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// First replies.
    pub replied: u64,
    /// Further replies to one request.
    pub repeated: u64,
    /// Bytes of all replies.
    pub replied_bytes: u64,
    /// [`Silence::TooShort`].
    pub too_short: u64,
    /// [`Silence::NoRoom`].
    pub no_room: u64,
    /// [`Silence::BadSource`].
    pub bad_source: u64,
    /// [`Silence::LooksLikeReply`].
    pub looks_like_reply: u64,
    /// [`Silence::NoKey`].
    pub no_key: u64,
    /// [`Silence::WrongTag`].
    pub wrong_tag: u64,
    /// [`Silence::Replay`].
    pub replay: u64,
    /// [`Silence::SourceRate`].
    pub source_rate: u64,
    /// [`Silence::TotalRate`].
    pub total_rate: u64,
    /// [`Silence::NoneWanted`].
    pub none_wanted: u64,
    /// Requests without an error estimate: RFC 4656 has them discarded, but many senders write
    /// none, and nothing here depends on it.
    pub no_error_estimate: u64,
    /// Sessions forgotten for others.
    pub sessions_evicted: u64,
    /// Sources forgotten for others.
    pub sources_evicted: u64,
    /// TLVs returned with U.
    pub tlvs_unrecognized: u64,
    /// TLVs returned with M.
    pub tlvs_malformed: u64,
    /// Replies whose TLVs have I.
    pub integrity_failed: u64,
    /// Requests for longer or more replies that were done.
    pub control_granted: u64,
    /// Those that were not.
    pub control_refused: u64,
    /// Transmit stamps that came for a reply of a session that is still known.
    pub stamps_taken: u64,
    /// Those that came too late, or for nothing.
    pub stamps_unclaimed: u64,
}

impl Counters {
    pub(super) fn count(&mut self, silence: Silence) {
        let counter = match silence {
            Silence::TooShort => &mut self.too_short,
            Silence::NoRoom => &mut self.no_room,
            Silence::BadSource => &mut self.bad_source,
            Silence::LooksLikeReply => &mut self.looks_like_reply,
            Silence::NoKey => &mut self.no_key,
            Silence::WrongTag => &mut self.wrong_tag,
            Silence::Replay => &mut self.replay,
            Silence::SourceRate => &mut self.source_rate,
            Silence::TotalRate => &mut self.total_rate,
            Silence::NoneWanted => &mut self.none_wanted,
        };
        *counter += 1;
    }

    /// Datagrams that were not answered.
    pub fn silences(&self) -> u64 {
        self.too_short
            + self.no_room
            + self.bad_source
            + self.looks_like_reply
            + self.no_key
            + self.wrong_tag
            + self.replay
            + self.source_rate
            + self.total_rate
            + self.none_wanted
    }
}
