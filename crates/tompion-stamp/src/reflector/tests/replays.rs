//! Keyed packets that come again.

use super::*;

fn from(datagram: &[u8], port: u16) -> Arrival<'_> {
    Arrival {
        source: SocketAddr::from(([192, 0, 2, 1], port)),
        ..arrival(datagram)
    }
}

#[test]
fn a_replay_is_not_answered_from_wherever_it_comes() {
    let mut reflector = reflector(keyed(None));
    let datagrams: Vec<_> = (0..200)
        .map(|sequence| request(Mode::Authenticated, sequence, &[]))
        .collect();
    for datagram in &datagrams {
        assert!(answer(&mut reflector, &from(datagram, 4000)).is_ok());
    }
    for port in [4000, 4001] {
        for datagram in &datagrams {
            let silence = answer(&mut reflector, &from(datagram, port)).expect_err("silence");
            assert_eq!(silence, Silence::Replay);
        }
    }
    let counters = reflector.counters();
    assert_eq!((counters.replied, counters.replay), (200, 400));
}

#[test]
fn a_replay_is_known_by_its_number_when_its_tag_is_forgotten() {
    let mut reflector = reflector(keyed(None));
    let first = request(Mode::Authenticated, 0, &[]);
    assert!(answer(&mut reflector, &from(&first, 4000)).is_ok());
    reflector.recent = Some(RecentTags::new().expect("memory"));
    let silence = answer(&mut reflector, &from(&first, 4000)).expect_err("silence");
    assert_eq!(silence, Silence::Replay);
}

#[test]
fn a_sender_that_begins_again_is_answered_from_zero() {
    let mut reflector = reflector(keyed(None));
    for sequence in 0..2000 {
        let datagram = request(Mode::Authenticated, sequence, &[]);
        assert!(answer(&mut reflector, &from(&datagram, 4000)).is_ok());
    }
    let mut again = request(Mode::Authenticated, 0, &[]);
    put(
        &mut again,
        16,
        &TimeFormat::Ntp.encode(NOW + 9_000_000).to_be_bytes(),
    );
    assert!(seal(&key(), &mut again));
    let (_, bytes) = answer(&mut reflector, &from(&again, 4000)).expect("a reply");
    assert_eq!(u32_at(&bytes, 0), 0);
}

#[test]
fn two_senders_with_one_key_do_not_disturb_each_other() {
    let mut reflector = reflector(keyed(None));
    for sequence in 0..100 {
        for port in [4000, 4001] {
            let mut datagram = request(Mode::Authenticated, sequence, &[]);
            // No two clocks are read at one nanosecond; else one tag for two packets.
            let time = NOW + i64::from(sequence) * 1000 + i64::from(port);
            put(
                &mut datagram,
                16,
                &TimeFormat::Ntp.encode(time).to_be_bytes(),
            );
            assert!(seal(&key(), &mut datagram));
            assert!(answer(&mut reflector, &from(&datagram, port)).is_ok());
        }
    }
}
