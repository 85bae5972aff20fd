//! Who hears what an instance says while it runs.

use std::fmt;
use std::sync::Arc;

/// Takes what comes, piece by piece, on the thread that reads it: it must not wait, and keeps of it what it likes.
#[derive(Clone)]
pub struct Listener(Arc<Hear>);

type Hear = dyn Fn(&[u8]) + Send + Sync;

impl Listener {
    /// One that does this with each piece.
    pub fn new(hear: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hear))
    }

    /// Has it hear a piece.
    pub fn hear(&self, words: &[u8]) {
        (self.0)(words);
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}
