//! From the moment a probe is due until its stamps are read nothing is allocated.

use std::net::Ipv4Addr;
use std::time::Duration;

use tompion_net::sender::{Plan, Sent, Sink, Source, at_rate, one_by_one};
use tompion_net::{
    Answering, Due, Options, Received, ReflectPlan, Responder, SendError, StampingSocket, Stop,
    Transport, TxStamp, reflect, route_back,
};
use tompion_time::sleep::{Policy, Sleeper};

use crate::reflecting::listening;
use crate::senders::every;
use crate::sys::allocations;

/// What its thread had allocated when it began, and in the end.
#[derive(Default)]
struct Watched {
    first: Option<u64>,
    last: u64,
    calls: u64,
}

impl Watched {
    fn look(&mut self) {
        let now = allocations();
        self.first.get_or_insert(now);
        self.last = now;
        self.calls += 1;
    }

    fn is_clean(&self, least: u64) {
        assert!(self.calls >= least, "{} calls", self.calls);
        assert_eq!(Some(self.last), self.first, "in {} calls", self.calls);
    }
}

#[derive(Default)]
struct Watching(Watched);

impl Source for Watching {
    fn prepare(&mut self, due: Due, packet: &mut [u8]) -> usize {
        self.0.look();
        packet[..8].copy_from_slice(&due.number.to_be_bytes());
        40
    }

    fn sent(&mut self, _: &Sent) {
        self.0.look();
    }

    fn not_sent(&mut self, _: &Sent, _: SendError) {
        self.0.look();
    }
}

impl Sink for Watching {
    fn received(&mut self, packet: &[u8], _: &Received) -> Option<u64> {
        self.0.look();
        let mark = packet.get(..8)?.try_into().ok()?;
        Some(u64::from_be_bytes(mark))
    }

    fn transmitted(&mut self, _: TxStamp) {
        self.0.look();
    }
}

impl Responder for Watching {
    type Answer = ();

    fn answer(
        &mut self,
        _: u64,
        packet: &[u8],
        received: &Received,
        room: &mut [u8],
    ) -> Option<Answering<()>> {
        self.0.look();
        room[..packet.len()].copy_from_slice(packet);
        Some(Answering {
            answer: (),
            length: packet.len(),
            route: route_back(received),
        })
    }

    fn stamp(&mut self, (): &(), _: i64, _: &mut [u8]) {
        self.0.look();
    }

    fn transmitted(&mut self, _: TxStamp) {
        self.0.look();
    }
}

#[test]
fn neither_the_senders_nor_the_reflector_allocate_on_their_way() {
    const PROBES: u64 = 400;
    let far = [listening((Ipv4Addr::LOCALHOST, 0).into())];
    let address = far[0].local();
    let stop = Stop::new().expect("a file");
    let mut responder = Watching::default();
    let plan = ReflectPlan {
        drain_above_per_s: 3000,
        ..ReflectPlan::default()
    };
    let done = std::thread::scope(|scope| {
        let reflecting = scope.spawn(|| reflect(&far, &plan, &mut responder, &stop));
        let sends = Stop::new().expect("a file");
        let open = || {
            let options = Options::to(Transport::Udp, address);
            StampingSocket::open(&options).expect("a socket")
        };
        let mut ends = Watching::default();
        let mut sleeper = Sleeper::new(Policy::Kernel);
        let plan = every(Duration::from_millis(1), PROBES);
        let tally = one_by_one(&open(), &plan, &mut sleeper, &mut ends, &sends).expect("a run");
        assert_eq!(tally.answered, PROBES);
        // Prepared, sent, two stamps, an answer.
        ends.0.is_clean(5 * PROBES);
        let (mut source, mut sink) = (Watching::default(), Watching::default());
        let plan = Plan {
            timeout: Duration::from_secs(2),
            ..every(Duration::from_micros(100), 10 * PROBES)
        };
        let tally = at_rate(&open(), &plan, &mut sleeper, &mut source, &mut sink, &sends);
        assert_eq!(tally.expect("a run").answered, 10 * PROBES);
        source.0.is_clean(20 * PROBES);
        sink.0.is_clean(30 * PROBES);
        stop.set();
        reflecting.join().expect("no panic")
    });
    let answered = done.expect("a reflector").answered;
    assert_eq!(answered, 11 * PROBES);
    responder.0.is_clean(3 * answered);
}
