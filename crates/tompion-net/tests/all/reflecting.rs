//! The reflecting loop, and a plain responder for other tests.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use tompion_net::{
    Answering, Losses, Options, Received, ReflectPlan, Reflected, Responder, Route, StampingSocket,
    Stop, Transport, TxStamp, monotonic_ns, reflect, route_back,
};

use crate::receiving::{LONG, Sent};

/// Sends back what came, with its own stamp behind: number, T2, T3.
#[derive(Default)]
pub struct Mirror {
    pub sent: Sent,
    /// By the answer's number: its user stamp.
    pub users: Vec<i64>,
    /// Sent of its own accord, at this moment.
    pub extra: Option<(u64, Route)>,
    pub failed: u64,
    /// Answers that are written and not sent.
    under_way: u64,
    pub quiet: u64,
}

pub const ANSWER_BYTES: usize = 32;

impl Responder for Mirror {
    type Answer = u64;

    fn answer(
        &mut self,
        number: u64,
        packet: &[u8],
        received: &Received,
        room: &mut [u8],
    ) -> Option<Answering<u64>> {
        let mark = packet.get(..8)?;
        if mark == b"silence!" {
            return None;
        }
        room[..8].copy_from_slice(mark);
        room[8..16].copy_from_slice(&number.to_be_bytes());
        let arrived = received.stamps.software_ns.unwrap_or(0);
        room[16..24].copy_from_slice(&arrived.to_be_bytes());
        self.under_way += 1;
        Some(Answering {
            answer: number,
            length: ANSWER_BYTES,
            route: route_back(received),
        })
    }

    fn stamp(&mut self, answer: &u64, user_ns: i64, packet: &mut [u8]) {
        let at = *answer as usize;
        if self.users.len() <= at {
            self.users.resize(at + 1, 0);
        }
        self.users[at] = user_ns;
        packet[24..32].copy_from_slice(&user_ns.to_be_bytes());
    }

    fn sent(&mut self, _: u64, done: Result<(), tompion_net::SendError>) {
        self.failed += u64::from(done.is_err());
        self.under_way -= 1;
    }

    fn quiet(&mut self, _: u64) {
        assert_eq!(self.under_way, 0);
        self.quiet += 1;
    }

    fn transmitted(&mut self, stamp: TxStamp) {
        self.sent.take(stamp);
    }

    fn next_due_ns(&self) -> Option<u64> {
        self.extra.map(|(at, _)| at)
    }

    fn due(&mut self, number: u64, now_ns: u64, room: &mut [u8]) -> Option<Answering<u64>> {
        let (_, route) = self.extra.take_if(|(at, _)| *at <= now_ns)?;
        room[..16].copy_from_slice(b"unasked, by time");
        self.under_way += 1;
        Some(Answering {
            answer: number,
            length: ANSWER_BYTES,
            route,
        })
    }
}

/// A reflector on a thread of its own, in the namespace of whoever starts it.
pub struct Running {
    stop: Stop,
    thread: thread::JoinHandle<(Mirror, Reflected)>,
}

impl Running {
    pub fn new(sockets: Vec<StampingSocket>, plan: ReflectPlan, mut mirror: Mirror) -> Self {
        let stop = Stop::new().expect("a file");
        let seen = stop.clone();
        let thread = thread::spawn(move || {
            let done = reflect(&sockets, &plan, &mut mirror, &seen).expect("a reflector");
            (mirror, done)
        });
        Self { stop, thread }
    }

    pub fn end(self) -> (Mirror, Reflected) {
        self.stop.set();
        self.thread.join().expect("no panic")
    }
}

pub fn listening(address: SocketAddr) -> StampingSocket {
    StampingSocket::open(&Options::new(Transport::Udp, address)).expect("a socket")
}

/// A client without stamps, since what is asked here is who answers.
fn client(address: SocketAddr) -> UdpSocket {
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).expect("a socket");
    // An answer from another address than the one asked would not come.
    socket.connect(address).expect("a route");
    socket.set_read_timeout(Some(LONG)).expect("a timeout");
    socket
}

fn long(bytes: &[u8], at: usize) -> i64 {
    i64::from_be_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

#[test]
fn several_addresses_of_both_families_are_answered_from_where_they_were_asked() {
    let v4 = listening((Ipv4Addr::UNSPECIFIED, 0).into());
    let v6 = listening((Ipv6Addr::UNSPECIFIED, 0).into());
    let (port, port_v6) = (v4.local().port(), v6.local().port());
    let running = Running::new(vec![v4, v6], ReflectPlan::default(), Mirror::default());
    let mut asked = 0;
    for address in [
        SocketAddr::from(([127, 0, 0, 1], port)),
        SocketAddr::from(([127, 9, 8, 7], port)),
        SocketAddr::from((Ipv6Addr::LOCALHOST, port_v6)),
    ] {
        let client = client(address);
        for number in 0u64..20 {
            client.send(b"silence!").expect("sent");
            client.send(&number.to_be_bytes()).expect("sent");
            let mut answer = [0; 100];
            let length = client.recv(&mut answer).expect("an answer");
            assert_eq!(length, ANSWER_BYTES);
            assert_eq!(long(&answer, 0), number as i64);
            // T2 is not after T3.
            let (arrived, user) = (long(&answer, 16), long(&answer, 24));
            assert!(arrived > 0 && arrived <= user, "{arrived} {user}");
            asked += 1;
        }
    }
    let (mirror, done) = running.end();
    assert_eq!(
        (done.answered, done.silent, done.received),
        (asked, asked, 2 * asked)
    );
    assert_eq!(
        (done.not_sent, done.too_long, done.drops, done.unstamped),
        (0, 0, 0, 0)
    );
    // Those of the last answer may be under way when it is told to stop.
    let missing: u64 = done.losses.missing.iter().sum();
    assert_eq!(done.stamps + missing, 2 * asked);
    assert!(missing <= 2, "{done:?}");
    for (number, user) in mirror.users.iter().enumerate() {
        let [Some(sched), Some(software), None] = mirror.sent.0[number] else {
            continue;
        };
        assert!(*user <= sched && sched <= software, "{number}");
    }
}

#[test]
fn it_stops_while_it_waits_and_while_it_is_busy() {
    for is_busy in [false, true] {
        let socket = listening((Ipv4Addr::LOCALHOST, 0).into());
        let address = socket.local();
        let running = Running::new(vec![socket], ReflectPlan::default(), Mirror::default());
        let stop = running.stop.clone();
        thread::scope(|scope| {
            if is_busy {
                scope.spawn(|| {
                    let client = client(address);
                    while !stop.is_set() {
                        // Errors of a port that is gone by then do not matter.
                        let _ = client.send(b"as fast as possible");
                    }
                });
            }
            thread::sleep(Duration::from_millis(200));
            let before = Instant::now();
            let (_, done) = running.end();
            // 100 ms, and what a machine that others use takes to let it run.
            assert!(before.elapsed() < Duration::from_secs(5));
            assert!(!is_busy || done.received > 0, "{done:?}");
        });
    }
}

#[test]
fn what_is_longer_than_its_room_is_counted_and_not_answered() {
    let socket = listening((Ipv4Addr::LOCALHOST, 0).into());
    let address = socket.local();
    let plan = ReflectPlan {
        packet_bytes: 64,
        ..ReflectPlan::default()
    };
    let running = Running::new(vec![socket], plan, Mirror::default());
    let client = client(address);
    client.send(&[1; 65]).expect("sent");
    client.send(&[2; 64]).expect("sent");
    let mut answer = [0; 100];
    client.recv(&mut answer).expect("an answer");
    assert_eq!(answer[..8], [2; 8]);
    let (_, done) = running.end();
    assert_eq!((done.too_long, done.answered), (1, 1));
}

#[test]
fn a_responder_may_send_of_its_own_accord() {
    let socket = listening((Ipv4Addr::LOCALHOST, 0).into());
    let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    client.set_read_timeout(Some(LONG)).expect("a timeout");
    let due = monotonic_ns() + 300_000_000;
    let route = Route {
        to: Some(client.local_addr().expect("an address")),
        ..Route::default()
    };
    let mirror = Mirror {
        extra: Some((due, route)),
        ..Mirror::default()
    };
    let running = Running::new(vec![socket], ReflectPlan::default(), mirror);
    let mut unasked = [0; 100];
    let length = client.recv(&mut unasked).expect("a packet");
    assert_eq!(&unasked[..16], b"unasked, by time");
    assert_eq!(length, ANSWER_BYTES);
    assert!(monotonic_ns() >= due);
    let (_, done) = running.end();
    assert_eq!((done.answered, done.received), (1, 0));
}

#[test]
fn a_high_rate_is_drained_in_batches_and_loses_nothing() {
    const PACKETS: u64 = 3000;
    const WINDOW: usize = 100;
    let socket = listening((Ipv4Addr::LOCALHOST, 0).into());
    let address = socket.local();
    let plan = ReflectPlan {
        drain_above_per_s: 500,
        ..ReflectPlan::default()
    };
    let running = Running::new(vec![socket], plan, Mirror::default());
    let client = client(address);
    let mut marks = vec![];
    // No more at a time than the client has room for.
    for first in (0..PACKETS).step_by(WINDOW) {
        for number in first..first + WINDOW as u64 {
            client.send(&number.to_be_bytes()).expect("sent");
        }
        for _ in 0..WINDOW {
            let mut answer = [0; 100];
            client.recv(&mut answer).expect("an answer");
            marks.push(long(&answer, 0));
        }
    }
    let (mirror, done) = running.end();
    assert_eq!((done.received, done.answered), (PACKETS, PACKETS));
    assert_eq!(marks, (0..PACKETS as i64).collect::<Vec<_>>());
    assert!(done.drains > 0, "{done:?}");
    assert_eq!(done.drops, 0);
    let missing: u64 = done.losses.missing.iter().sum();
    assert_eq!(done.stamps + missing, 2 * PACKETS);
    assert_eq!(
        Losses {
            missing: [0; 3],
            ..done.losses
        },
        Losses::default()
    );
    assert_eq!(mirror.failed, 0);
}
