//! A probe that was held up, and where.

/// By how much longer than usual a stretch has to be for its probe to count as held up there, in nanoseconds.
pub const HELD_UP_NS: i64 = 60_000;
/// The usual length of a stretch is this quantile: it stands while fewer than three in four are held up.
pub(super) const USUAL: f64 = 0.25;

/// Where a probe was held up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Here, before the queueing discipline had it; before it and in it where it has no stamp.
    Sending,
    /// Here, in the queue of the own device.
    Queued,
    /// Here, after the kernel received the reply.
    Receiving,
    /// Here, between the kernel's stamps, while the machine or one of its CPUs stood still.
    UnderWay,
    /// At the far end.
    FarEnd,
}

impl Side {
    /// As machines read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sending => "sending",
            Self::Queued => "queued",
            Self::Receiving => "receiving",
            Self::UnderWay => "under-way",
            Self::FarEnd => "far-end",
        }
    }
}

/// A probe that was held up, and when: in nanoseconds by the clock of the stamps, which is the far end's own there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldUp {
    /// Which probe.
    pub row: usize,
    /// Where.
    pub side: Side,
    /// When it came there.
    pub from_ns: i64,
    /// When it left.
    pub until_ns: i64,
    /// By how much that is longer than usual.
    pub excess_ns: i64,
}
