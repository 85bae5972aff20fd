use tompion_cause::Disturbance;
use tompion_net::{Received, Responder, RxStamps, TxKind, TxStamp, monotonic_ns};
use tompion_stamp::{Ask, ClockAccount, ReflectorConfig, Sender, SenderConfig, Taken};

use super::*;
use crate::reflector::Answers;

const AHEAD: i64 = 1_700_000_000_000_000_000;
const MS: i64 = 1_000_000;

fn disturbance(from_ms: u64, until_ms: u64, cause: Cause) -> Disturbance {
    Disturbance {
        from_ns: from_ms * 1_000_000,
        until_ns: until_ms * 1_000_000,
        cause,
        by: None,
        source: Source::Event,
    }
}

/// A reflector, who asks it, and who would observe it.
struct Asked<C> {
    answers: Answers<C>,
    sender: Sender,
    windows: Sender2,
    number: u64,
}

type Sender2 = std::sync::mpsc::Sender<Observed>;

fn asked() -> Asked<impl FnMut() -> ClockAccount> {
    let mut answers =
        Answers::new(ReflectorConfig::default(), 2048, ClockAccount::default).unwrap();
    let (told, windows) = channel();
    let (_stop, _) = channel();
    answers.held_up.cpus = vec![0];
    answers.held_up.watcher = Some(Watcher { windows, _stop });
    let ask = Ask {
        tompion: true,
        ..Ask::default()
    };
    let sender = Sender::new(SenderConfig {
        ssid: 7,
        ask,
        ..SenderConfig::default()
    });
    Asked {
        answers,
        sender: sender.unwrap(),
        windows: told,
        number: 0,
    }
}

impl<C: FnMut() -> ClockAccount> Asked<C> {
    /// One request, which came and was answered then; what its reply says was held up.
    fn request(&mut self, from_ns: i64, stay_ns: i64) -> Option<(u32, u8)> {
        self.request_queued(from_ns, stay_ns, 0)
    }

    /// The same, which waited for so long in the device's queue.
    fn request_queued(&mut self, from_ns: i64, stay_ns: i64, queued_ns: i64) -> Option<(u32, u8)> {
        let (mut request, mut room) = ([0; 256], [0; 2048]);
        let prepared = self.sender.prepare(&mut request, 0).unwrap();
        self.sender.stamp(&prepared, &mut request, AHEAD + from_ns);
        let received = Received {
            stamps: RxStamps {
                software_ns: Some(AHEAD + from_ns),
                ..RxStamps::default()
            },
            from: Some("127.0.0.1:40000".parse().unwrap()),
            to: None,
            interface: None,
            ttl: None,
            tos: None,
            length: prepared.bytes,
            drops: None,
        };
        let number = self.number;
        self.number += 1;
        let packet = &request[..prepared.bytes];
        let answering = self.answers.answer(number, packet, &received, &mut room);
        let answering = answering.unwrap();
        self.answers
            .stamp(&answering.answer, AHEAD + from_ns, &mut room);
        let left_ns = AHEAD + from_ns + stay_ns;
        for (kind, ns) in [
            (TxKind::Sched, left_ns - queued_ns),
            (TxKind::Software, left_ns),
        ] {
            self.answers.transmitted(TxStamp { number, kind, ns });
        }
        let now = Stamp {
            kind: StampKind::User,
            utc_ns: AHEAD + from_ns + stay_ns,
        };
        let Taken::Reply(reply) = self.sender.take(&room[..answering.length], now) else {
            panic!("no reply");
        };
        let mark = reply.options.tompion.given().and_then(|ours| ours.mark);
        mark.map(|mark| (mark.sender_sequence, mark.cause))
    }

    fn observed(&mut self, window: Observed) {
        self.windows.send(window).unwrap();
        self.answers.quiet(monotonic_ns());
    }
}

#[test]
fn a_request_that_was_held_up_is_marked_in_a_later_reply() {
    let mut asked = asked();
    for n in 0..20 {
        assert_eq!(asked.request(n * 20 * MS, MS / 50), None);
    }
    // Stopped for 80 ms, over the end of a window.
    asked.request(400 * MS, 80 * MS);
    asked.request(430 * MS, 50 * MS);
    asked.observed(Observed::planted(
        &[disturbance(400, 450, Cause::Stopped)],
        AHEAD,
        450_000_000,
    ));
    assert_eq!(asked.request(500 * MS, MS / 50), None, "not over yet");
    asked.observed(Observed::planted(
        &[disturbance(450, 480, Cause::Stopped)],
        AHEAD,
        600_000_000,
    ));
    assert_eq!(asked.request(520 * MS, MS / 50), Some((20, 3)));
    assert_eq!(asked.request(540 * MS, MS / 50), Some((21, 3)));
    assert_eq!(asked.request(560 * MS, MS / 50), None, "each once");
    // Nothing is known of it: nothing is said.
    asked.request(700 * MS, 5 * MS);
    asked.observed(Observed::planted(&[], AHEAD, 800_000_000));
    assert_eq!(asked.request(820 * MS, MS / 50), None);
}

#[test]
fn what_waited_in_the_devices_queue_waited_for_other_packets_unless_its_sender_was_kept_from_running()
 {
    let mut asked = asked();
    for n in 0..20 {
        asked.request(n * 20 * MS, MS / 50);
    }
    asked.request_queued(400 * MS, 8 * MS, 7 * MS);
    asked.request_queued(420 * MS, 8 * MS, 7 * MS);
    // Only a part of it was the queue's.
    asked.request_queued(440 * MS, 8 * MS, 3 * MS);
    asked.observed(Observed::planted(
        &[disturbance(420, 428, Cause::Stopped)],
        AHEAD,
        600_000_000,
    ));
    assert_eq!(asked.request(620 * MS, MS / 50), Some((20, 16)));
    assert_eq!(asked.request(640 * MS, MS / 50), Some((21, 3)));
    assert_eq!(asked.request(660 * MS, MS / 50), None);
}

#[test]
fn where_the_clock_was_set_nothing_is_said_of_what_was_before() {
    let mut asked = asked();
    for n in 0..20 {
        asked.request(n * 20 * MS, MS / 50);
    }
    asked.request(400 * MS, 80 * MS);
    let unsteady = Observed::planted(&[disturbance(400, 480, Cause::Stopped)], AHEAD, 500_000_000);
    asked.observed(unsteady.with_clock_set());
    asked.observed(Observed::planted(
        &[disturbance(400, 480, Cause::Stopped)],
        AHEAD,
        700_000_000,
    ));
    assert_eq!(asked.request(720 * MS, MS / 50), None);
}

#[test]
fn nobody_observes_who_was_not_asked_or_may_not() {
    let mut idle = HeldUpAnswers::new(&[0]);
    idle.quiet(monotonic_ns(), |_, _| panic!("nothing is known"));
    assert!(idle.watcher.is_none());
    let mut refused = HeldUpAnswers::new(&[]);
    refused.asked(monotonic_ns());
    refused.quiet(monotonic_ns(), |_, _| panic!("nothing is known"));
    assert!(refused.watcher.is_none());
    // It ends some time after the last one that asked.
    let mut asked = asked();
    asked.request(0, MS);
    asked.answers.quiet(monotonic_ns() + IDLE_NS + 1);
    assert!(asked.answers.held_up.watcher.is_none());
}

#[test]
fn usual_is_what_a_quarter_keeps_to_and_of_few_nothing_is() {
    let mut usual = Usual::default();
    for n in 1..=8 {
        assert_eq!(usual.ns(), None);
        usual.push(100 - n);
    }
    assert_eq!(usual.ns(), Some(94));
    for n in 0..1_000 {
        usual.push(if n % 2 == 0 { 50 } else { 7_000_000 });
    }
    assert_eq!(usual.ns(), Some(50));
}
