use super::*;

const SECOND: u64 = 1_000_000_000;

#[test]
fn a_bucket_gives_its_burst_and_then_its_rate() {
    let rate = Rate {
        per_second: 10,
        burst: 5,
    };
    let mut bucket = Bucket::default();
    let start = 77 * SECOND;
    let at_once = (0..100).filter(|_| bucket.take(rate, start)).count();
    assert_eq!(at_once, 5);
    // Ten seconds, a try each millisecond.
    let later = (0..10_000)
        .filter(|ms| bucket.take(rate, start + ms * 1_000_000))
        .count();
    assert!((99..=101).contains(&later), "{later}");
    // After a pause the burst again, and no more.
    let start = start + 1000 * SECOND;
    assert_eq!((0..100).filter(|_| bucket.take(rate, start)).count(), 5);
}

#[test]
fn a_rate_of_none_gives_none_and_the_ends_of_the_clock_are_no_trouble() {
    let none = Rate {
        per_second: 0,
        burst: 9,
    };
    let all = Rate {
        per_second: u32::MAX,
        burst: u32::MAX,
    };
    for now in [0, 1, u64::MAX - 1, u64::MAX] {
        assert!(!Bucket::default().take(none, now));
        assert!(Bucket::default().take(all, now));
        let quiet = Quiet {
            first_ns: u64::MAX,
            longest_ns: u64::MAX,
        };
        let mut account = Account::default();
        for _ in 0..200 {
            account.take(none, Some(quiet), now);
        }
    }
    // A clock that goes backwards all the same.
    let mut bucket = Bucket::default();
    assert!(bucket.take(all, u64::MAX));
    assert!(!bucket.take(all, 0));
}

#[test]
fn silence_doubles_and_is_forgiven() {
    let rate = Rate {
        per_second: 1,
        burst: 1,
    };
    let quiet = Quiet {
        first_ns: SECOND,
        longest_ns: 8 * SECOND,
    };
    let mut account = Account::default();
    // A source that never stops.
    let mut answered = Vec::new();
    for tenth in 0..600 {
        if account.take(rate, Some(quiet), tenth * SECOND / 10) {
            answered.push(tenth);
        }
    }
    // Silences of 1, 2, 4 and then 8 s, after an answer each.
    let gaps: Vec<_> = answered.windows(2).map(|two| two[1] - two[0]).collect();
    assert_eq!(gaps[..4], [11, 21, 41, 81]);
    assert!(gaps[4..].iter().all(|gap| *gap == 81), "{gaps:?}");
    // One that behaves for as long as the longest silence.
    let start = 200 * SECOND;
    assert!(account.take(rate, Some(quiet), start));
    assert!(!account.take(rate, Some(quiet), start + 1));
    assert!(account.take(rate, Some(quiet), start + 1 + SECOND));
}

#[test]
fn ipv4_is_told_apart_by_address_and_ipv6_by_network() {
    let source = |text: &str| Source::from(text.parse::<IpAddr>().expect("an address"));
    assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:1:2"));
    assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
    assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
    // As a socket for both families shows them.
    assert_eq!(source("192.0.2.1"), source("::ffff:192.0.2.1"));
    assert_ne!(source("::ffff:192.0.2.1"), source("::ffff:192.0.2.2"));
    assert_ne!(source("0.0.0.1"), source("::1"));
}
