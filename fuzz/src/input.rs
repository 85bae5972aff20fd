//! Inputs read as values: numbers that are often at the edge of their range.

use arbitrary::Unstructured;

/// Numbers at which something may go wrong.
const EDGES: [i64; 24] = [
    0,
    1,
    -1,
    2,
    127,
    128,
    1_000,
    1_000_000,
    1_000_000_000,
    1_000_000_000_000,
    i32::MAX as i64,
    i32::MIN as i64,
    u32::MAX as i64,
    1 << 32,
    1 << 40,
    1 << 52,
    1 << 53,
    1 << 62,
    9_000_000_000_000_000_000,
    -9_000_000_000_000_000_000,
    i64::MAX,
    i64::MIN,
    i64::MAX - 1,
    i64::MIN + 1,
];

/// An input as a row of values: from the front, little endian. What is read behind its end is zero.
pub struct Input<'a>(Unstructured<'a>);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or(0)
    }

    pub fn u16(&mut self) -> u16 {
        self.0.arbitrary().unwrap_or(0)
    }

    pub fn u32(&mut self) -> u32 {
        self.0.arbitrary().unwrap_or(0)
    }

    /// One of so many.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count.max(1)
    }

    /// A whole number. Its first byte says how it stands there: as 8, 16, 32 or 64 bits, or as one
    /// of those at an edge.
    pub fn integer(&mut self) -> i64 {
        match self.byte() {
            kind @ 0..=127 => EDGES[usize::from(kind) % EDGES.len()],
            kind => match kind % 4 {
                0 => i64::from(self.byte()),
                1 => i64::from(self.u16()),
                2 => i64::from(self.u32()),
                _ => self.0.arbitrary().unwrap_or(0),
            },
        }
    }

    /// The same without a sign.
    pub fn unsigned(&mut self) -> u64 {
        self.integer().cast_unsigned()
    }

    /// So many bytes, or what is left of them.
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let count = count.min(self.0.len());
        self.0.bytes(count).unwrap_or_default()
    }

    /// Bytes behind a length of one byte.
    pub fn short(&mut self) -> &'a [u8] {
        let count = usize::from(self.byte());
        self.bytes(count)
    }

    /// A text behind a length of one byte.
    pub fn text(&mut self) -> String {
        String::from_utf8_lossy(self.short()).into_owned()
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        self.bytes(usize::MAX)
    }
}
