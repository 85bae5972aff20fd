//! `network`: TCP both ways at once (Whiteaker 2011: two streams of iperf).

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use tompion_model::Unavailable;

use crate::counters::Counter;
use crate::job::{Budget, Job, Plan};
use crate::load::{Load, Parse, Work};
use crate::peer::bulk::{BLOCK_BYTES, receive_bulk, send_bulk};
use crate::peer::hello::{Peer, Service, connect};
use crate::spec::{KEY, PEER, Size, Text};

pub(super) static ENTRY: Load = Load {
    name: "network",
    about: "TCP both ways over loopback; peer=HOST:PORT to another machine, key=FILE for it, \
            cpus=LIST",
    in_check: true,
    parse: Parse::Options(&[PEER, KEY], |options| {
        Ok(Arc::new(Network {
            peer: options.peer()?,
        }))
    }),
};

#[derive(Debug)]
struct Network {
    peer: Option<Peer>,
}

impl Work for Network {
    fn describe(&self, text: &mut Text) {
        text.peer(self.peer.as_ref());
    }

    fn plan(&self, _: Budget) -> Result<Plan, Unavailable> {
        plan(self.peer.as_ref())
    }
}

fn plan(peer: Option<&Peer>) -> Result<Plan, Unavailable> {
    let ends = match peer {
        Some(peer) => vec![connect(peer, Service::Bulk)?.0],
        None => loopback()?.into(),
    };
    let mut jobs = Vec::new();
    for end in ends {
        let again = end
            .try_clone()
            .map_err(Unavailable::refused("could not share a socket"))?;
        jobs.push(sender(end));
        jobs.push(receiver(again));
    }
    let operation = format!("{} sent or received over TCP", Size(BLOCK_BYTES as u64));
    Ok(Plan::new(operation, jobs))
}

fn sender(stream: TcpStream) -> Job {
    job(stream, "send", |stream, counter| {
        send_bulk(stream, count(counter))
    })
}

pub(super) fn receiver(stream: TcpStream) -> Job {
    job(stream, "receive", |stream, counter| {
        receive_bulk(stream, count(counter))
    })
}

pub(super) type Pump = fn(&TcpStream, &Counter<'_>) -> io::Result<()>;

pub(super) fn job(stream: TcpStream, action: &'static str, pump: Pump) -> Job {
    Box::new(move |counter, gate| {
        gate.pass();
        match pump(&stream, counter) {
            Ok(()) => "its pump stopped".to_owned(),
            Err(e) => format!("could not {action} over TCP: {e} (is the peer still there?)"),
        }
    })
}

/// Counts bytes, and whole blocks; TCP moves any number of bytes at a time.
fn count<'a>(counter: &'a Counter<'_>) -> impl FnMut(usize) -> bool + 'a {
    let mut bytes = 0;
    move |moved| {
        counter.add_bytes(moved as u64);
        bytes += moved;
        counter.add((bytes / BLOCK_BYTES) as u64);
        bytes %= BLOCK_BYTES;
        true
    }
}

/// Both ends of a connection within this process, on a port that the kernel picks.
pub(super) fn loopback() -> Result<[TcpStream; 2], Unavailable> {
    let ends = || -> io::Result<_> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let here = TcpStream::connect(listener.local_addr()?)?;
        loop {
            let (there, from) = listener.accept()?;
            // Somebody else may have found the port.
            if from == here.local_addr()? {
                return Ok([here, there]);
            }
        }
    };
    ends().map_err(Unavailable::refused("could not connect over 127.0.0.1"))
}
