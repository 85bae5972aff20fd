//! Datagrams from one place to another, seen by the taps of both.

use std::io;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use tompion_time::os::{self, ClockId, now_ns};
use tompion_time::sleep::{Policy, Sleeper};

use crate::TestbedError;
use crate::place::Place;
use crate::settings::UDP_HEADERS;
use crate::sys::real_time;
use crate::tap::Tapped;

/// What a datagram of ours begins with; its number follows.
const MARK: [u8; 12] = *b"tompion/path";
/// The shortest frame that carries a mark and a number.
pub const LEAST_FRAME: u32 = UDP_HEADERS + MARK.len() as u32 + 4;
/// Below the relay, above everything ordinary.
const PRIORITY: i32 = 40;
/// How long stragglers are waited for beyond the path's own delay.
const STRAGGLERS: Duration = Duration::from_millis(300);

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// How many datagrams.
    pub packets: u32,
    /// Bytes of each, Ethernet's header counted.
    pub frame_bytes: u32,
    /// Time from one to the next, in nanoseconds; 0 is back to back.
    pub gap_ns: f64,
    /// How long the last may be on its way.
    pub longest: Duration,
    /// The path's MTU.
    pub mtu: u32,
}

/// What the taps saw, in nanoseconds by `CLOCK_REALTIME`; for each number the first sight.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// When each left the sending place.
    pub sent: Vec<Option<i64>>,
    /// When each reached the other.
    pub seen: Vec<Option<i64>>,
    /// Other frames that came in there: when, and how long.
    pub others: Vec<(i64, usize)>,
}

impl Exchange {
    /// Delays of those that arrived, in nanoseconds, in the order of their numbers.
    pub fn delays_ns(&self) -> Vec<i64> {
        let both = self.sent.iter().zip(&self.seen);
        both.filter_map(|(sent, seen)| Some((*seen)? - (*sent)?))
            .collect()
    }

    /// When the first left and the last arrived.
    pub fn ends_ns(&self) -> Option<(i64, i64)> {
        let first = self.sent.iter().flatten().min()?;
        Some((*first, *self.seen.iter().chain(&self.sent).flatten().max()?))
    }
}

/// Sends a flow from one place to the other, and waits until it has arrived or is overdue.
pub fn exchange(from: &Place, to: &Place, flow: Flow) -> Result<Exchange, TestbedError> {
    let frames = 4 * flow.packets as usize + 256;
    let mut near = from.tap(flow.mtu, frames)?;
    let mut far = to.tap(flow.mtu, frames)?;
    let target = to.addresses().v4;
    let sockets = to.inside(|| UdpSocket::bind((target, 0))).and_then(|s| s);
    let what = "make a socket for the testbed's own probes";
    // Nobody reads it: it is there so that nothing is refused. What it holds is bounded.
    let sink = sockets.map_err(TestbedError::system(what))?;
    let source = from.inside(|| -> io::Result<UdpSocket> {
        let socket = UdpSocket::bind((from.addresses().v4, 0))?;
        socket.connect(sink.local_addr()?)?;
        Ok(socket)
    });
    let source = source.and_then(|s| s).map_err(TestbedError::system(what))?;
    let what = "send the testbed's own probes";
    let sent = std::thread::scope(|scope| {
        let sender = std::thread::Builder::new().name("probes".to_owned());
        let sending = sender.spawn_scoped(scope, || send(&source, flow));
        let sending = sending.map_err(TestbedError::system(what))?;
        sending
            .join()
            .map_err(|_| TestbedError::Thread("sender of probes"))
    })?;
    sent.map_err(TestbedError::system(what))?;

    let none = vec![None; flow.packets as usize];
    let mut result = Exchange {
        sent: none.clone(),
        seen: none,
        others: Vec::new(),
    };
    let overdue = Instant::now() + flow.longest + STRAGGLERS;
    loop {
        for frame in near.drain()? {
            note(&frame, true, &mut result.sent);
        }
        for frame in far.drain()? {
            if !note(&frame, false, &mut result.seen) && !frame.outgoing {
                result.others.push((frame.at_ns, frame.frame.len()));
            }
        }
        let is_whole = result.seen.iter().all(Option::is_some);
        if is_whole || Instant::now() > overdue {
            return Ok(result);
        }
        os::sleep(Duration::from_millis(2));
    }
}

fn send(socket: &UdpSocket, flow: Flow) -> io::Result<()> {
    let mut datagram = vec![0; flow.frame_bytes.max(LEAST_FRAME) as usize - UDP_HEADERS as usize];
    datagram[..MARK.len()].copy_from_slice(&MARK);
    // Where it is refused, other programs may interrupt a train; the taps show it.
    let _ = real_time(PRIORITY);
    let mut sleeper = Sleeper::new(Policy::hybrid());
    let begin = now_ns(ClockId::Monotonic);
    for number in 0..flow.packets {
        datagram[MARK.len()..][..4].copy_from_slice(&number.to_be_bytes());
        if flow.gap_ns > 0.0 {
            sleeper.sleep_until_ns(begin + (flow.gap_ns * f64::from(number)) as u64);
        }
        socket.send(&datagram)?;
    }
    Ok(())
}

/// Writes down when one of ours was first seen; whether it is one of ours.
fn note(frame: &Tapped, outgoing: bool, times: &mut [Option<i64>]) -> bool {
    let Some(number) = number(&frame.frame).filter(|_| frame.outgoing == outgoing) else {
        return false;
    };
    if let Some(time) = times.get_mut(number as usize) {
        time.get_or_insert(frame.at_ns);
    }
    true
}

/// The number of one of our datagrams, in a frame of Ethernet, IPv4 without options, and UDP.
fn number(frame: &[u8]) -> Option<u32> {
    let payload = frame.get(UDP_HEADERS as usize..)?;
    let is_udp = frame[12..15] == [0x08, 0x00, 0x45] && frame[23] == 17;
    let number = payload.strip_prefix(&MARK)?.first_chunk()?;
    is_udp.then(|| u32::from_be_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_of_our_frames_alone() {
        let mut frame = vec![0; LEAST_FRAME as usize];
        assert_eq!(number(&frame), None);
        frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
        frame[23] = 17;
        frame[42..54].copy_from_slice(&MARK);
        frame[57] = 9;
        assert_eq!(number(&frame), Some(9));
        for length in 0..frame.len() {
            assert_eq!(number(&frame[..length]), None);
        }
    }
}
