use std::cell::Cell;

use tompion_net::{Received, RxStamps};
use tompion_stamp::{Sender, SenderConfig};

use super::*;

#[test]
fn the_clock_is_looked_at_when_nothing_is_under_way() {
    let looks = Cell::new(0);
    let clock = || {
        looks.set(looks.get() + 1);
        ClockAccount::default()
    };
    let mut answers = Answers::new(ReflectorConfig::default(), 2048, clock).unwrap();
    let mut sender = Sender::new(SenderConfig {
        ssid: 7,
        ..SenderConfig::default()
    })
    .unwrap();
    let received = Received {
        stamps: RxStamps::default(),
        from: Some("127.0.0.1:40000".parse().unwrap()),
        to: None,
        interface: None,
        ttl: None,
        tos: None,
        length: 0,
        drops: None,
    };
    // It was never looked at: that is due, and waits.
    for number in 0..3 {
        let (mut request, mut room) = ([0; 256], [0; 2048]);
        let length = sender.prepare(&mut request, 0).unwrap().bytes;
        let answer = answers.answer(number, &request[..length], &received, &mut room);
        assert!(answer.is_some());
        assert_eq!(looks.get(), 0);
    }
    let now = monotonic_ns();
    answers.quiet(now);
    answers.quiet(now + LOOK_AT_CLOCK_NS - 1);
    assert_eq!(looks.get(), 1);
    answers.quiet(now + LOOK_AT_CLOCK_NS);
    assert_eq!(looks.get(), 2);
}
