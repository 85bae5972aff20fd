//! `udp`: datagrams at a rate. Operations are those sent, bytes those that arrived.

use std::io::ErrorKind;
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Instant;
use tompion_model::Unavailable;
use tompion_time::os;

use crate::job::{Budget, Job, Plan};
use crate::load::{Load, Parse, Work};
use crate::peer::datagrams::{
    DATAGRAM_BYTES, Schedule, arrived_bytes, datagram, token_of, told_token,
};
use crate::peer::hello::{Peer, Service, connect, read_line};
use crate::spec::{Bits, KEY, Opt, PEER, Text, parse_bits};

pub(super) static ENTRY: Load = Load {
    name: "udp",
    about: "UDP sent over loopback; peer=HOST:PORT to another machine, key=FILE for it, rate=BITS \
            per second (100M), cpus=LIST",
    in_check: false,
    parse: Parse::Options(&[PEER, KEY, RATE], |options| {
        Ok(Arc::new(Udp {
            peer: options.peer()?,
            bits_per_second: options.value(RATE.0, parse_bits)?.unwrap_or(USUAL_BITS),
        }))
    }),
};

const RATE: Opt = ("rate", "rate=BITS");

/// The rate unless told otherwise: felt by any machine, and within what most networks carry.
const USUAL_BITS: u64 = 100_000_000;

#[derive(Debug)]
struct Udp {
    peer: Option<Peer>,
    bits_per_second: u64,
}

impl Work for Udp {
    fn describe(&self, text: &mut Text) {
        text.peer(self.peer.as_ref());
        let rate = text.shows(self.bits_per_second == USUAL_BITS);
        text.option(RATE.0, rate.then_some(Bits(self.bits_per_second)));
    }

    fn plan(&self, _: Budget) -> Result<Plan, Unavailable> {
        plan(self.peer.as_ref(), self.bits_per_second)
    }
}

/// Of the load's own receiver.
const OWN_TOKEN: u64 = 1;

fn plan(peer: Option<&Peer>, bits_per_second: u64) -> Result<Plan, Unavailable> {
    let (socket, token, receiver) = match peer {
        Some(peer) => remote(peer)?,
        None => own()?,
    };
    let sender: Job = Box::new(move |counter, gate| {
        let datagram = datagram(token);
        let mut schedule = Schedule::new(bits_per_second);
        gate.pass();
        let begun = Instant::now();
        loop {
            let wait = schedule.next(begun.elapsed());
            if !wait.is_zero() {
                os::sleep(wait);
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
        "datagram of {DATAGRAM_BYTES} bytes sent, {}bit/s",
        Bits(bits_per_second)
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
        let mut buffer = [0; 2048];
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
