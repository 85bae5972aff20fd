//! The talk at the door over any stream.

use std::io::{Read, Write};

use super::door::Hearing;
use super::key::Key;

pub use super::datagrams::{arrived_bytes, token_of};

/// Hears a client until it waits, is gone or is let in; whether that.
pub fn admitted(stream: impl Read + Write, key: Option<&Key>) -> bool {
    Hearing::new(stream).is_admitted(key)
}
