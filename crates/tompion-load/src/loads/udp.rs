//! `udp`: datagrams at a rate. Operations are those sent, bytes those that arrived.

use std::io::ErrorKind;
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Instant;
use tompion_model::{InvalidValue, Unavailable};
use tompion_time::os;
use tompion_time::sleep::{self, Policy, Sleeper};

use crate::job::{Budget, Departures, Gaps, Job, Plan};
use crate::load::{Load, Parse, Work};
use crate::peer::datagrams::{
    DATAGRAM_BYTES, SIZES, arrived_bytes, datagram, token_of, told_token,
};
use crate::peer::hello::{Peer, Service, connect, read_line};
use crate::spec::{Bits, KEY, Opt, PEER, Text, parse_bits};

pub(super) static ENTRY: Load = Load {
    name: "udp",
    about: "UDP sent over loopback; peer=HOST:PORT to another machine, key=FILE for it, rate=BITS \
            per second (100M), size=BYTES of a datagram (1400), gaps=KIND between them (even, poisson or \
            bursts:N), cpus=LIST",
    in_check: false,
    parse: Parse::Options(&[PEER, KEY, RATE, BYTES, GAPS], |options| {
        Ok(Arc::new(Udp {
            peer: options.peer()?,
            sent: Sent {
                bits_per_second: options.value(RATE.0, parse_bits)?.unwrap_or(USUAL_BITS),
                bytes: options
                    .value(BYTES.0, parse_bytes)?
                    .unwrap_or(DATAGRAM_BYTES),
                gaps: options.value(GAPS.0, Gaps::parse)?.unwrap_or_default(),
            },
        }))
    }),
};

const RATE: Opt = ("rate", "rate=BITS");
const BYTES: Opt = ("size", "size=BYTES");
const GAPS: Opt = ("gaps", "gaps=even|poisson|bursts:N");

/// How much of the time may be spun so that datagrams leave when they are due; the rest is left to what carries them.
const SPINS: sleep::Budget = sleep::Budget::nanoseconds_per_second(500_000_000);

/// The rate unless told otherwise: felt by any machine, and within what most networks carry.
const USUAL_BITS: u64 = 100_000_000;

#[derive(Debug)]
struct Udp {
    peer: Option<Peer>,
    sent: Sent,
}

/// What is sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    bits_per_second: u64,
    /// Of a datagram.
    bytes: usize,
    gaps: Gaps,
}

fn parse_bytes(text: &str) -> Result<usize, InvalidValue> {
    let (least, most) = (SIZES.start(), SIZES.end());
    let wrong = || format!("size={text} should be a whole number of bytes from {least} to {most}");
    let bytes = text.parse().ok().filter(|bytes| SIZES.contains(bytes));
    Ok(bytes.ok_or_else(wrong)?)
}

impl Work for Udp {
    fn describe(&self, text: &mut Text) {
        text.peer(self.peer.as_ref());
        let Sent {
            bits_per_second,
            bytes,
            gaps,
        } = self.sent;
        let rate = text.shows(bits_per_second == USUAL_BITS);
        text.option(RATE.0, rate.then_some(Bits(bits_per_second)));
        let size = bytes != DATAGRAM_BYTES;
        text.option(BYTES.0, size.then_some(bytes));
        let gaps = Some(gaps).filter(|gaps| *gaps != Gaps::AsSlept);
        text.option(GAPS.0, gaps);
    }

    fn plan(&self, _: Budget) -> Result<Plan, Unavailable> {
        plan(self.peer.as_ref(), self.sent)
    }
}

/// Of the load's own receiver.
const OWN_TOKEN: u64 = 1;

fn plan(peer: Option<&Peer>, sent: Sent) -> Result<Plan, Unavailable> {
    let (socket, token, receiver) = match peer {
        Some(peer) => remote(peer)?,
        None => own()?,
    };
    let sender: Job = Box::new(move |counter, gate| {
        let datagram = datagram(token, sent.bytes);
        let mut departures = Departures::new(sent.bits_per_second, sent.bytes, sent.gaps);
        let mut sleeper = Sleeper::new(Policy::Hybrid { budget: SPINS });
        gate.pass();
        let begun = Instant::now();
        loop {
            let wait = departures.next(begun.elapsed());
            match sent.gaps {
                _ if wait.is_zero() => {}
                Gaps::AsSlept => os::sleep(wait),
                Gaps::Even | Gaps::Poisson | Gaps::Bursts(_) => {
                    sleeper.sleep(wait);
                }
            }
            match socket.send(&datagram) {
                Ok(_) => counter.add(1),
                // A full queue drops datagrams too, further down.
                Err(e) if e.raw_os_error() == Some(nix::libc::ENOBUFS) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    return format!("could not send over UDP: {e} (is the peer still there?)");
                }
            }
        }
    });
    let operation = format!(
        "datagram of {} bytes sent, {}bit/s",
        sent.bytes,
        Bits(sent.bits_per_second)
    );
    Ok(Plan::new(operation, vec![sender, receiver]))
}

/// A receiver within this process.
fn own() -> Result<(UdpSocket, u64, Job), Unavailable> {
    let failed = |e: std::io::Error| format!("could not use UDP on 127.0.0.1: {e}");
    let there = UdpSocket::bind("127.0.0.1:0").map_err(failed)?;
    let here = UdpSocket::bind("127.0.0.1:0").map_err(failed)?;
    here.connect(there.local_addr().map_err(failed)?)
        .map_err(failed)?;
    let receiver: Job = Box::new(move |counter, gate| {
        let mut buffer = [0; *SIZES.end()];
        gate.pass();
        loop {
            match there.recv(&mut buffer) {
                Ok(length) if token_of(&buffer[..length]) == Some(OWN_TOKEN) => {
                    counter.add_bytes(length as u64);
                }
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return format!("could not receive over UDP: {e}"),
            }
        }
    });
    Ok((here, OWN_TOKEN, receiver))
}

/// A far end that reports what arrives.
fn remote(peer: &Peer) -> Result<(UdpSocket, u64, Job), Unavailable> {
    let (control, answer) = connect(peer, Service::Datagrams)?;
    let at = &peer.address;
    let token = told_token(&answer).map_err(|why| format!("the peer {at} {why}"))?;
    let socket = towards(&control)
        .map_err(|e| Unavailable::refused(format!("could not use UDP to {at}"))(e))?;
    let receiver: Job = Box::new(move |counter, gate| {
        gate.pass();
        let mut known = 0;
        loop {
            let report = match read_line(&control, || true) {
                Ok(report) => report,
                Err(e) => return format!("the peer no longer counts: {e}"),
            };
            let bytes = match arrived_bytes(&report) {
                Ok(bytes) => bytes,
                Err(why) => return format!("the peer {why}"),
            };
            counter.add_bytes(bytes.saturating_sub(known));
            known = bytes;
        }
    });
    Ok((socket, token, receiver))
}

/// UDP to the address and port that TCP has reached.
fn towards(control: &TcpStream) -> std::io::Result<UdpSocket> {
    let mut here = control.local_addr()?;
    here.set_port(0);
    let socket = UdpSocket::bind(here)?;
    socket.connect(control.peer_addr()?)?;
    Ok(socket)
}
