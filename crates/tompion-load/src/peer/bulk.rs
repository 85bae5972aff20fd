//! Bulk TCP: the pumps of either end.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// Bytes handed to the kernel at a time, and what one counted operation moves.
pub const BLOCK_BYTES: usize = 64 * 1024;

/// Sends blocks until `moved` answers false or the connection fails.
///
/// `moved` is told the bytes of each call, 0 when a timeout passed without any.
pub fn send_bulk(mut stream: &TcpStream, moved: impl FnMut(usize) -> bool) -> io::Result<()> {
    let block = vec![0x5a; BLOCK_BYTES];
    pump(moved, || stream.write(&block))
}

/// Receives and drops blocks; otherwise like [`send_bulk`].
pub fn receive_bulk(mut stream: &TcpStream, moved: impl FnMut(usize) -> bool) -> io::Result<()> {
    let mut block = vec![0; BLOCK_BYTES];
    pump(moved, || stream.read(&mut block))
}

fn pump(
    mut moved: impl FnMut(usize) -> bool,
    mut transfer: impl FnMut() -> io::Result<usize>,
) -> io::Result<()> {
    loop {
        let bytes = match transfer() {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => bytes,
            Err(e) if is_pause(&e) => 0,
            Err(e) => return Err(e),
        };
        if !moved(bytes) {
            return Ok(());
        }
    }
}

/// Whether a transfer was only interrupted. Timeouts show as either of the last
/// two, by platform.
pub fn is_pause(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut
    )
}

/// Fills the buffer; false if `go_on` says no, or the stream ends before the
/// first byte. (It may have a timeout, so that `go_on` is asked.)
pub fn fill(
    mut stream: &TcpStream,
    buffer: &mut [u8],
    go_on: impl Fn() -> bool,
) -> io::Result<bool> {
    let mut filled = 0;
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => filled += bytes,
            Err(e) if is_pause(&e) && go_on() => {}
            Err(e) if is_pause(&e) => return Ok(false),
            Err(e) => return Err(e),
        }
    }
    Ok(true)
}

/// Sends everything; false if `go_on` says no.
pub fn drain(mut stream: &TcpStream, bytes: &[u8], go_on: impl Fn() -> bool) -> io::Result<bool> {
    let mut sent = 0;
    while sent < bytes.len() {
        match stream.write(&bytes[sent..]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(more) => sent += more,
            Err(e) if is_pause(&e) && go_on() => {}
            Err(e) if is_pause(&e) => return Ok(false),
            Err(e) => return Err(e),
        }
    }
    Ok(true)
}
