//! A packet between two hops.

/// A packet under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnderWay {
    pub at_ns: i64,
    pub bytes: u32,
    pub flow: u8,
    pub number: usize,
}
