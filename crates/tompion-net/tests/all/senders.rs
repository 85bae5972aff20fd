//! Senders: schedules kept, every probe accounted for, stamps in their order.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tompion_net::icmp::{Echo, Version};
use tompion_net::sender::{Plan, Sink, Source, Tally, at_rate, one_by_one};
use tompion_net::{
    Due, Losses, Options, Received, ReflectPlan, Schedule, SendError, StampingSocket, Stop,
    Transport, TxStamp, monotonic_ns,
};
use tompion_time::sleep::{Policy, Sleeper};

use crate::place::Place;
use crate::receiving::LONG;
use crate::reflecting::{ANSWER_BYTES, Mirror, Running, listening};

/// All that is known of a probe; made before the first is sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    pub due_ns: u64,
    pub late_ns: u64,
    pub user_ns: Option<i64>,
    pub tx: [Option<i64>; 3],
    pub answer: Option<(i64, i64)>,
    pub is_skipped: bool,
    pub has_failed: bool,
}

/// Both ends of a run over [`Mirror`], or over ICMP echo.
#[derive(Debug)]
pub struct Ends {
    pub rows: Vec<Row>,
    pub echo: Option<Echo>,
    pub length: usize,
    pub quiet: u64,
    pub foreign: u64,
    /// The numbers of the threads that send and receive.
    pub threads: Option<(i32, i32)>,
    /// Told to stop with the tenth answer.
    pub stop: Option<Stop>,
    /// For so long it does something else after each probe that it sent.
    pub held_up: Duration,
}

impl Ends {
    pub fn new(probes: usize) -> Self {
        Self {
            rows: vec![Row::default(); probes],
            echo: None,
            length: ANSWER_BYTES,
            quiet: 0,
            foreign: 0,
            threads: None,
            stop: None,
            held_up: Duration::ZERO,
        }
    }

    /// What both halves know.
    fn joined(&self, other: &Self) -> Vec<Row> {
        let join = |(a, b): (&Row, &Row)| Row {
            tx: b.tx,
            answer: b.answer,
            ..*a
        };
        self.rows.iter().zip(&other.rows).map(join).collect()
    }
}

impl Source for Ends {
    fn threads(&mut self, sending: i32, receiving: i32) {
        assert!(self.rows.iter().all(|row| row.due_ns == 0));
        for tid in [sending, receiving] {
            let task = format!("/proc/self/task/{tid}");
            assert!(std::path::Path::new(&task).exists(), "{task}");
        }
        assert_ne!(sending, receiving);
        self.threads = Some((sending, receiving));
    }

    fn prepare(&mut self, due: Due, packet: &mut [u8]) -> usize {
        self.rows[due.number as usize].due_ns = due.at_ns;
        match self.echo {
            Some(echo) => echo.write(due.number, &mut packet[..self.length]),
            None => {
                packet[..8].copy_from_slice(&due.number.to_be_bytes());
                self.length
            }
        }
    }

    fn sent(&mut self, sent: &tompion_net::sender::Sent) {
        let row = &mut self.rows[sent.due.number as usize];
        assert!(
            sent.mono_ns >= sent.due.at_ns,
            "before it was due: {sent:?}"
        );
        assert_eq!(sent.length, self.length);
        row.user_ns = Some(sent.user_ns);
        row.late_ns = sent.late_ns();
        if !self.held_up.is_zero() {
            std::thread::sleep(self.held_up);
        }
    }

    fn not_sent(&mut self, sent: &tompion_net::sender::Sent, _: SendError) {
        self.rows[sent.due.number as usize].has_failed = true;
    }

    fn skipped(&mut self, due: Due, _: u64) {
        self.rows[due.number as usize].is_skipped = true;
    }
}

impl Sink for Ends {
    fn received(&mut self, packet: &[u8], received: &Received) -> Option<u64> {
        let number = match self.echo {
            Some(echo) => echo.answered(packet),
            None => packet
                .get(..8)
                .map(|mark| u64::from_be_bytes(mark.try_into().expect("8"))),
        };
        let row = number.and_then(|number| self.rows.get_mut(number as usize));
        let Some(row) = row else {
            self.foreign += 1;
            return None;
        };
        if row.answer.is_some() {
            return None;
        }
        let stamps = received.stamps;
        row.answer = Some((stamps.software_ns.unwrap_or(0), stamps.user_ns));
        if let Some(stop) = self.stop.as_ref().filter(|_| number == Some(9)) {
            stop.set();
        }
        number
    }

    fn transmitted(&mut self, stamp: TxStamp) {
        self.rows[stamp.number as usize].tx[stamp.kind.index()] = Some(stamp.ns);
    }

    fn quiet(&mut self, until_ns: u64) {
        // It has time to spare.
        self.quiet += 1;
        let _ = until_ns;
    }
}

/// Waits for the last answer as long as a machine that others use may take.
pub fn every(interval: Duration, count: u64) -> Plan {
    Plan {
        timeout: LONG,
        ..Plan::new(Schedule::Periodic { interval }, Some(count))
    }
}

/// All that a whole run without loss has.
fn is_whole(tally: &Tally, rows: &[Row]) {
    let count = rows.len() as u64;
    assert_eq!(
        (tally.due, tally.sent, tally.answered),
        (count, count, count),
        "{tally:?}"
    );
    assert_eq!(tally.stamps, 2 * count, "{tally:?}");
    assert_eq!((tally.losses, tally.unstamped), (Losses::default(), 0));
    assert_eq!(tally.drops.unwrap_or(0), 0);
    assert!(!tally.is_stopped);
    let latest = rows.iter().map(|row| row.late_ns).max();
    assert_eq!(Some(tally.most_late_ns), latest);
    assert_eq!(tally.late_sum_ns, rows.iter().map(|row| row.late_ns).sum());
    for (number, row) in rows.iter().enumerate() {
        let [Some(sched), Some(software), None] = row.tx else {
            panic!("{number}: {row:?}");
        };
        let (arrived, read) = row.answer.expect("an answer");
        let user = row.user_ns.expect("a user stamp");
        let order = [user, sched, software, arrived, read];
        assert!(order.is_sorted(), "{number}: {order:?}");
    }
}

fn mirrored(address: IpAddr) -> (StampingSocket, Running) {
    let far = listening(SocketAddr::new(address, 0));
    let near = Options::to(Transport::Udp, far.local());
    let near = StampingSocket::open(&near).expect("a socket");
    let running = Running::new(vec![far], ReflectPlan::default(), Mirror::default());
    (near, running)
}

#[test]
fn each_probe_has_its_answer_and_all_stamps() {
    const PROBES: usize = 150;
    for (address, policy) in [
        (IpAddr::from(Ipv4Addr::LOCALHOST), Policy::Kernel),
        (IpAddr::from(Ipv6Addr::LOCALHOST), Policy::hybrid()),
    ] {
        let (near, running) = mirrored(address);
        let mut ends = Ends::new(PROBES);
        let plan = every(Duration::from_millis(2), PROBES as u64);
        let stop = Stop::new().expect("a file");
        let tally = one_by_one(&near, &plan, &mut Sleeper::new(policy), &mut ends, &stop);
        running.end();
        is_whole(&tally.expect("a run"), &ends.rows);
        for two in ends.rows.windows(2) {
            assert_eq!(two[1].due_ns - two[0].due_ns, 2_000_000);
        }
        assert_eq!(ends.foreign, 0);
        assert!(ends.threads.is_some());
    }
}

#[test]
fn an_answer_is_stamped_when_it_comes_whatever_holds_up_who_sends() {
    const HELD_UP: Duration = Duration::from_millis(50);
    let (near, running) = mirrored(Ipv4Addr::LOCALHOST.into());
    let plan = every(Duration::from_millis(60), 9);
    let stop = Stop::new().expect("a file");
    let mut ends = Ends {
        held_up: HELD_UP,
        ..Ends::new(9)
    };
    let mut sleeper = Sleeper::new(Policy::Kernel);
    let tally = one_by_one(&near, &plan, &mut sleeper, &mut ends, &stop);
    running.end();
    is_whole(&tally.expect("a run"), &ends.rows);
    let took = |row: &Row| row.answer.expect("an answer").1 - row.user_ns.expect("a user stamp");
    let mut took: Vec<i64> = ends.rows.iter().map(took).collect();
    took.sort_unstable();
    // Of most: a machine that others use may be late.
    assert!(took[4] < HELD_UP.as_nanos() as i64 / 2, "{took:?}");
}

#[test]
fn a_poisson_schedule_is_kept_and_there_is_time_for_other_things() {
    const PROBES: usize = 60;
    let (near, running) = mirrored(Ipv4Addr::LOCALHOST.into());
    let schedule = Schedule::Poisson {
        mean: Duration::from_millis(10),
        seed: 7,
    };
    let plan = Plan {
        timeout: LONG,
        ..Plan::new(schedule, Some(PROBES as u64))
    };
    let stop = Stop::new().expect("a file");
    let mut ends = Ends::new(PROBES);
    let tally = one_by_one(
        &near,
        &plan,
        &mut Sleeper::new(Policy::Kernel),
        &mut ends,
        &stop,
    );
    running.end();
    is_whole(&tally.expect("a run"), &ends.rows);
    let start = ends.rows[0].due_ns;
    let dues: Vec<u64> = ends.rows.iter().map(|row| row.due_ns).collect();
    let expected: Vec<u64> = schedule
        .starting_at(start)
        .take(PROBES)
        .map(|d| d.at_ns)
        .collect();
    assert_eq!(dues, expected);
    assert!(
        ends.quiet > 0 && ends.quiet <= PROBES as u64,
        "{}",
        ends.quiet
    );
}

#[test]
fn echo_requests_go_by_the_same_sender() {
    let Some(place) = Place::new() else { return };
    place.inside(|| {
        for (transport, address, version) in [
            (
                Transport::IcmpRaw,
                IpAddr::from(Ipv4Addr::LOCALHOST),
                Version::V4,
            ),
            (
                Transport::IcmpPing,
                IpAddr::from(Ipv6Addr::LOCALHOST),
                Version::V6,
            ),
        ] {
            let options = Options::to(transport, SocketAddr::new(address, 0));
            let socket = StampingSocket::open(&options).expect("a socket");
            let mut ends = Ends {
                echo: Some(Echo {
                    version,
                    identifier: match transport {
                        Transport::IcmpPing => socket.local().port(),
                        _ => 77,
                    },
                    secret: [1234, 1],
                }),
                length: 100,
                ..Ends::new(100)
            };
            let plan = every(Duration::from_millis(1), 100);
            let stop = Stop::new().expect("a file");
            let mut sleeper = Sleeper::new(Policy::Kernel);
            let tally = one_by_one(&socket, &plan, &mut sleeper, &mut ends, &stop);
            is_whole(&tally.expect("a run"), &ends.rows);
        }
    });
}

/// The fastest schedule there is: nobody can keep it.
#[test]
fn a_schedule_that_cannot_be_kept_leaves_nothing_out_in_silence() {
    const PROBES: usize = 2000;
    for most_late in [None, Some(Duration::from_micros(500))] {
        let (near, running) = mirrored(Ipv4Addr::LOCALHOST.into());
        let plan = Plan {
            most_late,
            // It waits so long, whatever came.
            timeout: Duration::from_secs(2),
            ..every(Duration::from_nanos(10), PROBES as u64)
        };
        let stop = Stop::new().expect("a file");
        let mut ends = Ends::new(PROBES);
        let mut sleeper = Sleeper::new(Policy::Kernel);
        let tally = one_by_one(&near, &plan, &mut sleeper, &mut ends, &stop).expect("a run");
        running.end();
        let skipped = ends.rows.iter().filter(|row| row.is_skipped).count() as u64;
        let sent = ends.rows.iter().filter(|row| row.user_ns.is_some()).count() as u64;
        assert_eq!(tally.due, PROBES as u64);
        assert_eq!((tally.skipped, tally.sent), (skipped, sent));
        assert_eq!(skipped + sent + tally.not_sent, PROBES as u64);
        match most_late {
            None => assert_eq!(skipped, 0),
            Some(_) => assert!(skipped > 0, "{sent} were sent"),
        }
        assert!(tally.most_late_ns > 0);
        let missing: u64 = tally.losses.missing.iter().sum();
        assert_eq!(tally.stamps + missing, 2 * sent, "{tally:?}");
    }
}

#[test]
fn thousands_a_second_are_drained_by_another_thread() {
    const PROBES: usize = 3000;
    for batch in [1, 64] {
        let (near, running) = mirrored(Ipv4Addr::LOCALHOST.into());
        let plan = Plan {
            batch,
            // It waits so long, whatever came.
            timeout: Duration::from_secs(2),
            ..every(Duration::from_micros(200), PROBES as u64)
        };
        let stop = Stop::new().expect("a file");
        let (mut source, mut sink) = (Ends::new(PROBES), Ends::new(PROBES));
        let mut sleeper = Sleeper::new(Policy::Kernel);
        let tally = at_rate(&near, &plan, &mut sleeper, &mut source, &mut sink, &stop);
        let (mirror, done) = running.end();
        is_whole(&tally.expect("a run"), &source.joined(&sink));
        assert_eq!(done.answered, PROBES as u64);
        assert_eq!(mirror.sent.count() as u64, done.stamps);
        assert!(sink.quiet > 0);
    }
}

#[test]
fn what_is_late_at_a_high_rate_is_sent_or_told() {
    const PROBES: usize = 5000;
    for most_late in [None, Some(Duration::from_millis(1))] {
        let (near, running) = mirrored(Ipv4Addr::LOCALHOST.into());
        let plan = Plan {
            most_late,
            // It waits so long, whatever came.
            timeout: Duration::from_secs(2),
            ..every(Duration::from_nanos(10), PROBES as u64)
        };
        let stop = Stop::new().expect("a file");
        let (mut source, mut sink) = (Ends::new(PROBES), Ends::new(PROBES));
        let mut sleeper = Sleeper::new(Policy::Spin);
        let tally = at_rate(&near, &plan, &mut sleeper, &mut source, &mut sink, &stop);
        let tally = tally.expect("a run");
        running.end();
        let rows = source.joined(&sink);
        let count = |is: fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count() as u64;
        assert_eq!(tally.due, PROBES as u64);
        assert_eq!(tally.skipped, count(|row| row.is_skipped));
        assert_eq!(tally.sent, count(|row| row.user_ns.is_some()));
        assert_eq!(tally.not_sent, count(|row| row.has_failed));
        assert_eq!(tally.sent + tally.skipped + tally.not_sent, PROBES as u64);
        assert_eq!(tally.skipped > 0, most_late.is_some(), "{tally:?}");
        assert_eq!(tally.answered, count(|row| row.answer.is_some()));
    }
}

#[test]
fn a_stop_ends_each_sender_and_keeps_what_was_measured() {
    for is_alone in [true, false] {
        let (near, running) = mirrored(Ipv4Addr::LOCALHOST.into());
        let plan = Plan {
            count: None,
            ..every(Duration::from_millis(5), 0)
        };
        let stop = Stop::new().expect("a file");
        let mut sleeper = Sleeper::new(Policy::Kernel);
        let mut sink = Ends {
            stop: Some(stop.clone()),
            ..Ends::new(100_000)
        };
        let tally = match is_alone {
            true => one_by_one(&near, &plan, &mut sleeper, &mut sink, &stop),
            false => {
                let mut source = Ends::new(100_000);
                at_rate(&near, &plan, &mut sleeper, &mut source, &mut sink, &stop)
            }
        };
        running.end();
        let tally = tally.expect("a run");
        assert!(tally.is_stopped && tally.answered >= 10, "{tally:?}");
        // It did not go on until the table was full, nor wait for what was under way.
        assert!(tally.sent < 50_000);
        assert_eq!(tally.due, tally.sent + tally.not_sent + tally.skipped);
    }
}

#[test]
fn what_nobody_answers_is_waited_for_no_longer_than_was_asked() {
    // Taken, and silent.
    let far = listening((Ipv4Addr::LOCALHOST, 0).into());
    let near = StampingSocket::open(&Options::to(Transport::Udp, far.local()));
    let near = near.expect("a socket");
    let plan = Plan {
        timeout: Duration::from_millis(200),
        ..every(Duration::from_millis(50), 10)
    };
    let mut ends = Ends::new(10);
    let stop = Stop::new().expect("a file");
    let before = monotonic_ns();
    let tally = one_by_one(
        &near,
        &plan,
        &mut Sleeper::new(Policy::Kernel),
        &mut ends,
        &stop,
    );
    let tally = tally.expect("a run");
    let took = monotonic_ns() - before;
    assert_eq!((tally.sent, tally.answered, tally.stamps), (10, 0, 20));
    assert!(took >= 650_000_000, "{took}");
    // Also without an answer there is time for other things.
    assert!(ends.quiet > 0);
}
