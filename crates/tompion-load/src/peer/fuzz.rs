//! The talk at the door over any stream.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use super::datagrams::told_token;
use super::door::Hearing;
use super::hello::{Peer, Service, ask};
use super::key::Key;

pub use super::datagrams::{arrived_bytes, token_of};

/// Hears a client until it waits, is gone or is let in; whether that.
pub fn admitted(stream: impl Read + Write, key: Option<&Key>) -> bool {
    Hearing::new(stream).is_admitted(key)
}

/// Asks a far end for datagrams, as a load does: the token that it tells.
///
/// # Errors
/// Anything but the answers that are due, in one line.
pub fn asked(stream: &TcpStream, key: Option<PathBuf>) -> Result<u64, String> {
    let address = "planted:1".to_owned();
    let answer = ask(stream, &Peer { address, key }, Service::Datagrams);
    told_token(&answer.map_err(|why| why.to_string())?)
}
