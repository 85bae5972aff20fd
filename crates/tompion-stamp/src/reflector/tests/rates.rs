//! Who gets how much.

use super::*;
use crate::tlv::kinds;
use crate::tlv::values::Tompion;

/// Answered ones of `count` requests from a source, one each `gap_ns`.
fn answered(
    reflector: &mut Reflector,
    from: impl Fn(u32) -> SocketAddr,
    count: u32,
    gap_ns: u64,
) -> u32 {
    let mut out = [0; 256];
    let mut replies = 0;
    for sequence in 0..count {
        let datagram = request(reflector.mode(), sequence, &[]);
        let came = Arrival {
            source: from(sequence),
            now_ns: 1_000_000_000 + u64::from(sequence) * gap_ns,
            ..arrival(&datagram)
        };
        replies += u32::from(reflector.reflect(&came, &mut out).is_ok());
    }
    replies
}

fn same(text: &str) -> impl Fn(u32) -> SocketAddr {
    let address = source(text);
    move |_| address
}

#[test]
fn a_stranger_within_its_rate_is_always_answered() {
    let mut reflector = reflector(ReflectorConfig::default());
    // 100 a second, and bursts of 32.
    assert_eq!(
        answered(&mut reflector, same("192.0.2.1:4000"), 3000, 10_000_000),
        3000
    );
}

#[test]
fn a_stranger_beyond_its_rate_gets_its_burst_and_silence() {
    let mut reflector = reflector(ReflectorConfig::default());
    let from = same("192.0.2.1:4000");
    assert_eq!(answered(&mut reflector, from, 10_000, 10_000), 32);
    assert_eq!(reflector.counters().source_rate, 10_000 - 32);
}

#[test]
fn who_went_beyond_its_rate_is_told_how_many_were_left_unanswered() {
    let mut reflector = reflector(ReflectorConfig::default());
    let mut out = [0; 256];
    let ours = tlv(kinds::PRIVATE, &Tompion::default().to_bytes());
    let mut told = |from: &str, at_ns| {
        let datagram = request(reflector.mode(), 0, &ours);
        let came = Arrival {
            source: source(from),
            now_ns: at_ns,
            ..arrival(&datagram)
        };
        let reply = reflector.reflect(&came, &mut out).ok()?;
        Tompion::read(&out[48..reply.bytes])?.unanswered
    };
    // A burst of 32 at once, then silence for a while.
    let burst: Vec<_> = (0..50)
        .map(|_| told("192.0.2.1:4000", 1_000_000_000))
        .collect();
    assert_eq!(burst[..32], [Some(0); 32]);
    assert_eq!(burst[32..], [None; 18]);
    let later_ns = 600_000_000_000;
    assert_eq!(told("192.0.2.1:4001", later_ns), Some(18));
    assert_eq!(told("192.0.2.2:4000", later_ns), Some(0), "somebody else");
}

#[test]
fn fifty_thousand_a_second_are_answered_with_a_key_and_on_loopback() {
    for (config, from) in [
        (keyed(None), "192.0.2.1:4000"),
        (ReflectorConfig::default(), "127.0.0.1:4000"),
        (ReflectorConfig::default(), "[::1]:4000"),
        (ReflectorConfig::default(), "[::ffff:127.0.0.1]:4000"),
    ] {
        let mut reflector = reflector(config);
        assert_eq!(
            answered(&mut reflector, same(from), 50_000, 20_000),
            50_000,
            "{from}"
        );
    }
}

#[test]
fn a_network_of_ipv6_has_one_share_and_two_addresses_of_ipv4_have_two() {
    let addresses = |sequence: u32| source(&format!("[2001:db8::{sequence:x}]:4000"));
    let mut reflector = reflector(ReflectorConfig::default());
    assert_eq!(answered(&mut reflector, addresses, 1000, 10_000), 32);
    let addresses = |sequence: u32| source(&format!("192.0.2.{}:4000", sequence % 2 + 1));
    assert_eq!(answered(&mut reflector, addresses, 1000, 10_000), 64);
}

#[test]
fn a_hundred_thousand_sources_get_no_more_than_all_together_and_no_more_memory() {
    let mut reflector = reflector(ReflectorConfig::default());
    let bytes = reflector.table_bytes();
    let addresses =
        |sequence: u32| SocketAddr::from((std::net::Ipv4Addr::from(sequence + (1 << 24)), 4000));
    // In a second: 20,000, and the burst.
    let replies = answered(&mut reflector, addresses, 100_000, 10_000);
    assert!((21_900..=22_100).contains(&replies), "{replies}");
    let counters = reflector.counters();
    assert_eq!(counters.total_rate, u64::from(100_000 - replies));
    assert_eq!(counters.sources_evicted, u64::from(replies) - 4096);
    assert_eq!(counters.sessions_evicted, u64::from(replies) - 4096);
    assert_eq!(reflector.table_bytes(), bytes);
    assert!(bytes < 4 << 20, "{bytes}");
}

#[test]
fn newcomers_give_nobody_more_than_its_rate() {
    // For eight seconds: 32 requests in the name of one, then 4200 of others, and so on, some 117,000 a second.
    let mut reflector = reflector(ReflectorConfig::default());
    let victim = source("198.51.100.7:4000");
    let is_victims = |sequence: u32| sequence % 4232 < 32;
    let addresses = |sequence: u32| match is_victims(sequence) {
        true => victim,
        false => SocketAddr::from((std::net::Ipv4Addr::from(sequence + (1 << 24)), 4000)),
    };
    let packet = request(Mode::Unauthenticated, 0, &[]);
    let mut out = [0; 256];
    let mut replies = 0;
    for sequence in 0..8 * 117_000_u32 {
        let mut asked = arrival(&packet);
        asked.source = addresses(sequence);
        asked.now_ns = 1_000_000_000 + u64::from(sequence) * 8_547;
        let is_answered = reflector.reflect(&asked, &mut out).is_ok();
        replies += u32::from(is_answered && is_victims(sequence));
    }
    // One second's rate after its burst, and then mostly silence.
    assert!(replies <= 8 * 100 + 32, "{replies}");
}

#[test]
fn a_wrong_tag_costs_nobody_anything() {
    let mut reflector = reflector(keyed(None));
    let mut wrong = request(Mode::Authenticated, 0, &[]);
    wrong[100] ^= 1;
    let mut out = [0; 256];
    for _ in 0..100_000 {
        assert!(reflector.reflect(&arrival(&wrong), &mut out).is_err());
    }
    let right = request(Mode::Authenticated, 0, &[]);
    assert!(reflector.reflect(&arrival(&right), &mut out).is_ok());
    assert_eq!(reflector.counters().wrong_tag, 100_000);
}
