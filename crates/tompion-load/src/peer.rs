//! Bulk TCP both ways: the pumps, and the far end of `network:peer=`.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Bytes handed to the kernel at a time, and what one counted operation moves.
pub(crate) const BLOCK_BYTES: usize = 64 * 1024;

/// How often a waiting thread of the far end looks whether it should stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Loads served at a time; each costs two threads.
const MAX_CONNECTIONS: usize = 16;

/// Sends blocks until `moved` answers false or the connection fails.
///
/// `moved` is told the bytes of each call, 0 when a timeout passed without any.
pub(crate) fn send_bulk(
    mut stream: &TcpStream,
    moved: impl FnMut(usize) -> bool,
) -> io::Result<()> {
    let block = vec![0x5a; BLOCK_BYTES];
    pump(moved, || stream.write(&block))
}

/// Receives and drops blocks; otherwise like [`send_bulk`].
pub(crate) fn receive_bulk(
    mut stream: &TcpStream,
    moved: impl FnMut(usize) -> bool,
) -> io::Result<()> {
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
            // Timeouts show as either of the last two, by platform.
            Err(e) => match e.kind() {
                ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut => 0,
                _ => return Err(e),
            },
        };
        if !moved(bytes) {
            return Ok(());
        }
    }
}

/// Serves the far end of the load `network:peer=HOST:PORT` until `stop` is set.
///
/// Whoever connects is sent bulk data for as long as it stays, and what it sends
/// is dropped: listen only on networks that are meant to be loaded. Returns
/// within about a fifth of a second of `stop`.
///
/// # Errors
/// If the address cannot be listened on, or the listener fails.
pub fn serve_peer(listen: SocketAddr, stop: &AtomicBool) -> io::Result<()> {
    let listener = TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    let connections = AtomicUsize::new(0);
    thread::scope(|scope| {
        while !stop.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((stream, _)) if connections.load(Ordering::Relaxed) < MAX_CONNECTIONS => {
                    connections.fetch_add(1, Ordering::Relaxed);
                    let connections = &connections;
                    scope.spawn(move || {
                        // A load that goes away is the normal end of a connection.
                        let _ = serve_connection(&stream, stop);
                        connections.fetch_sub(1, Ordering::Relaxed);
                    });
                }
                // One too many: closed at once, which the load reports.
                Ok(_) => {}
                Err(e) => match e.kind() {
                    ErrorKind::WouldBlock => thread::sleep(LOOK_EVERY),
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => {
                        stop.store(true, Ordering::Relaxed);
                        return Err(e);
                    }
                },
            }
        }
        Ok(())
    })
}

fn serve_connection(stream: &TcpStream, stop: &AtomicBool) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(LOOK_EVERY))?;
    stream.set_write_timeout(Some(LOOK_EVERY))?;
    let go_on = |_| !stop.load(Ordering::Relaxed);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = send_bulk(stream, go_on);
            let _ = stream.shutdown(Shutdown::Both);
        });
        let result = receive_bulk(stream, go_on);
        // Wakes the sender, whose load is gone.
        let _ = stream.shutdown(Shutdown::Both);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_far_end_sinks_sends_and_stops() {
        // An ephemeral port that was free a moment ago.
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let server = scope.spawn(|| serve_peer(address, &stop));
            let connect = || TcpStream::connect(address).ok();
            let stream = (0..500)
                .find_map(|_| {
                    thread::sleep(Duration::from_millis(10));
                    connect()
                })
                .expect("the far end listens");
            let enough = |limit: usize| {
                let mut total = 0;
                move |bytes| {
                    total += bytes;
                    total < limit
                }
            };
            // More than both socket buffers hold, so it must really be read.
            send_bulk(&stream, enough(32 << 20)).unwrap();
            receive_bulk(&stream, enough(32 << 20)).unwrap();
            stop.store(true, Ordering::Relaxed);
            server.join().unwrap().unwrap();
            assert!(receive_bulk(&stream, |_| true).is_err(), "closed");
            assert!(connect().is_none(), "nobody listens any more");
        });
    }

    #[test]
    fn an_address_in_use_is_an_error() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let stop = AtomicBool::new(false);
        assert!(serve_peer(taken.local_addr().unwrap(), &stop).is_err());
    }
}
