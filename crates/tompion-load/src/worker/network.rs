//! `network`: TCP both ways at once (Whiteaker 2011: two streams of iperf).

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::{Job, Plan};
use crate::counters::Counter;
use crate::peer::{BLOCK_BYTES, receive_bulk, send_bulk};
use crate::spec::Size;

/// How long a peer may take to answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

pub fn plan(peer: Option<&str>) -> Result<Plan, String> {
    let ends = match peer {
        Some(peer) => vec![connect(peer)?],
        None => loopback().map_err(|e| format!("could not connect over 127.0.0.1: {e}"))?,
    };
    let mut jobs = Vec::new();
    for end in ends {
        let again = end
            .try_clone()
            .map_err(|e| format!("could not share a socket: {e}"))?;
        jobs.push(job(end, "send", |stream, counter| {
            send_bulk(stream, count_blocks(counter))
        }));
        jobs.push(job(again, "receive", |stream, counter| {
            receive_bulk(stream, count_blocks(counter))
        }));
    }
    Ok(Plan {
        operation: format!("{} sent or received over TCP", Size(BLOCK_BYTES as u64)),
        jobs,
    })
}

type Pump = fn(&TcpStream, &Counter<'_>) -> io::Result<()>;

fn job(stream: TcpStream, action: &'static str, pump: Pump) -> Job {
    Box::new(move |counter, gate| {
        gate.pass();
        match pump(&stream, counter) {
            Ok(()) => "its pump stopped".to_owned(),
            Err(e) => format!("could not {action} over TCP: {e} (is the peer still there?)"),
        }
    })
}

/// Counts whole blocks; TCP moves any number of bytes at a time.
fn count_blocks<'a>(counter: &'a Counter<'_>) -> impl FnMut(usize) -> bool + 'a {
    let mut bytes = 0;
    move |moved| {
        bytes += moved;
        counter.add((bytes / BLOCK_BYTES) as u64);
        bytes %= BLOCK_BYTES;
        true
    }
}

/// Both ends of a connection within this process, on a port that the kernel picks.
fn loopback() -> io::Result<Vec<TcpStream>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let here = TcpStream::connect(listener.local_addr()?)?;
    loop {
        let (there, from) = listener.accept()?;
        // Somebody else may have found the port.
        if from == here.local_addr()? {
            return Ok(vec![here, there]);
        }
    }
}

fn connect(peer: &str) -> Result<TcpStream, String> {
    let addresses: Vec<SocketAddr> = peer
        .to_socket_addrs()
        .map_err(|e| format!("could not look up the peer {peer}: {e}"))?
        .collect();
    let mut problem = "the name has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(e) => problem = format!("{address}: {e}"),
        }
    }
    Err(format!(
        "could not connect to the peer {peer} ({problem}); its far end must be running there"
    ))
}
