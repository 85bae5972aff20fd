//! HMAC-SHA-256 truncated to 128 bits (RFC 8762, section 4.4; RFC 8972, section 4.8).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of a tag.
pub const TAG_BYTES: usize = 16;

/// A key that both ends have: the hash with the key already in it, so that a packet pays for
/// its own bytes alone.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

// Never shown.
impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

/// A key without a byte is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a key without any byte")]
pub struct EmptyKey;

impl Key {
    /// A key of any length but none.
    ///
    /// # Errors
    /// No byte.
    pub fn new(bytes: &[u8]) -> Result<Self, EmptyKey> {
        if bytes.is_empty() {
            return Err(EmptyKey);
        }
        Hmac::new_from_slice(bytes).map(Self).map_err(|_| EmptyKey)
    }

    fn code(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut code = self.0.clone();
        for part in parts {
            code.update(part);
        }
        code
    }

    /// The tag of these bytes, one part after another.
    pub fn tag(&self, parts: &[&[u8]]) -> [u8; TAG_BYTES] {
        let whole = self.code(parts).finalize().into_bytes();
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(&whole[..TAG_BYTES]);
        tag
    }

    /// Whether that is the tag; takes as long for any other one.
    pub fn verifies(&self, parts: &[&[u8]], tag: &[u8; TAG_BYTES]) -> bool {
        self.code(parts).verify_truncated_left(tag).is_ok()
    }
}
