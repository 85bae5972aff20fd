//! What the tests with mutated packets draw from, and how many they draw.

/// Xorshift (Marsaglia, 2003).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    /// A byte; half of them are those at which lengths and flags change their meaning.
    pub(crate) fn byte(&mut self) -> u8 {
        const EDGES: [u8; 8] = [0, 1, 4, 12, 16, 0x7f, 0x80, 0xff];
        match self.below(2) {
            0 => EDGES[self.below(EDGES.len())],
            _ => self.below(256) as u8,
        }
    }
}

/// How many times a hundred thousand packets a test mutates: once, and a thousand times where
/// `TOMPION_LONG` is set (`make test-full`): 10^8 requests, and as many replies.
pub(crate) fn times() -> usize {
    match std::env::var_os("TOMPION_LONG") {
        Some(_) => 1000,
        None => 1,
    }
}
