//! Two reflectors that a forged packet sets on each other.

use super::*;

/// Packets that two parties exchange after one packet to the first, each on its way for
/// `way_ns`; at most a thousand.
fn exchanged(
    mut first: impl FnMut(&[u8], u64) -> Option<Vec<u8>>,
    mut second: impl FnMut(&[u8], u64) -> Option<Vec<u8>>,
    forged: &[u8],
    way_ns: u64,
) -> usize {
    let (mut packet, mut now, mut count) = (forged.to_vec(), 1_000_000_000, 0);
    while count < 1000 {
        now += way_ns;
        let next = if count % 2 == 0 {
            first(&packet, now)
        } else {
            second(&packet, now)
        };
        match next {
            Some(reply) => packet = reply,
            None => break,
        }
        count += 1;
    }
    count
}

fn ours(config: ReflectorConfig) -> impl FnMut(&[u8], u64) -> Option<Vec<u8>> {
    let mut reflector = reflector(config);
    move |datagram, now_ns| {
        let came = Arrival {
            source: source("198.51.100.7:862"),
            received: Stamp::user(NOW + i64::try_from(now_ns).expect("soon")),
            now_ns,
            ..arrival(datagram)
        };
        answer(&mut reflector, &came).ok().map(|(_, bytes)| bytes)
    }
}

const WAYS: [u64; 4] = [1, 1_000_000, 50_000_000, 5_000_000_000];

#[test]
fn two_of_ours_are_silent_after_one_packet() {
    for config in [ReflectorConfig::default(), keyed(None)] {
        let mode = reflector(config.clone()).mode();
        let forged = request(mode, 0, &[0; 40]);
        for way in WAYS {
            let count = exchanged(ours(config.clone()), ours(config.clone()), &forged, way);
            assert_eq!(count, 1);
        }
    }
}

#[test]
fn two_with_clocks_decades_apart_and_of_two_formats_are_silent_too() {
    let mut slow = reflector(ReflectorConfig {
        format: TimeFormat::Ptp,
        ..ReflectorConfig::default()
    });
    let at_start = |datagram: &[u8], now_ns: u64| {
        let came = Arrival {
            source: source("198.51.100.7:862"),
            received: Stamp::user(i64::try_from(now_ns).expect("soon")),
            now_ns,
            ..arrival(datagram)
        };
        answer(&mut slow, &came).ok().map(|(_, bytes)| bytes)
    };
    let forged = request(Mode::Unauthenticated, 0, &[]);
    let count = exchanged(
        ours(ReflectorConfig::default()),
        at_start,
        &forged,
        1_000_000,
    );
    assert_eq!(count, 1);
}

#[test]
fn one_of_ours_and_one_that_answers_everything_are_silent_after_two() {
    // By the RFC to the letter: what a request has where it should have zeros is ignored.
    let theirs = |datagram: &[u8], now: u64| {
        let request = RequestFields::read(Mode::Unauthenticated, datagram)?;
        let mut packet = datagram.to_vec();
        let fields = ReplyFields {
            sequence: request.sequence,
            time: TimeFormat::Ntp.encode(now.cast_signed()),
            error: request.error,
            ssid: request.ssid,
            received: TimeFormat::Ntp.encode(now.cast_signed()),
            sender_sequence: request.sequence,
            sender_time: request.time,
            sender_error: request.error,
            sender_ttl: 255,
        };
        fields
            .write(Mode::Unauthenticated, &mut packet)
            .then_some(packet)
    };
    let forged = request(Mode::Unauthenticated, 0, &[]);
    for way in WAYS {
        let count = exchanged(ours(ReflectorConfig::default()), theirs, &forged, way);
        assert_eq!(count, 2);
    }
}

#[test]
fn one_that_returns_what_it_gets_ends_it_too() {
    let echo = |datagram: &[u8], _: u64| Some(datagram.to_vec());
    let forged = request(Mode::Unauthenticated, 0, &[]);
    for way in WAYS {
        let count = exchanged(ours(ReflectorConfig::default()), echo, &forged, way);
        assert_eq!(count, 2);
    }
}

#[test]
fn one_whose_replies_look_like_requests_is_ended_by_its_rate() {
    let fresh = request(Mode::Unauthenticated, 0, &[]);
    for way in [1, 500_000, 1_000_000] {
        let theirs = |_: &[u8], _: u64| Some(fresh.clone());
        let count = exchanged(ours(ReflectorConfig::default()), theirs, &fresh, way);
        assert!(
            (60..100).contains(&count),
            "{count} packets at {way} ns a way"
        );
    }
}
