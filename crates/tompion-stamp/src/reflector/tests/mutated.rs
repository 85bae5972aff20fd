//! Whatever comes: no panic, no reply that is longer, no more memory.

use super::*;
use crate::random::{Random, times};
use crate::tlv::values::{ReplyControl, Tompion};

/// What is not the reply's keeps it.
const UNTOUCHED: [u8; 2048] = [0xee; 2048];

fn seeds(mode: Mode) -> Vec<Vec<u8>> {
    let control = ReplyControl {
        bytes: 300,
        replies: 2,
        interval_ns: 5000,
        for_group: false,
    };
    let all = [
        tlv(kinds::LOCATION, &[0; 24]),
        tlv(kinds::TIMESTAMP_INFORMATION, &[0; 4]),
        tlv(kinds::CLASS_OF_SERVICE, &[4, 0, 0, 0]),
        tlv(kinds::DIRECT_MEASUREMENT, &[0; 12]),
        tlv(kinds::ACCESS_REPORT, &[16, 1, 0, 0]),
        tlv(kinds::FOLLOW_UP, &[0; 16]),
        tlv(kinds::REPLY_CONTROL, &control.to_bytes()),
        tlv(kinds::PRIVATE, &Tompion::default().to_bytes()),
        tlv(kinds::EXTRA_PADDING, &[1, 2, 3]),
    ];
    let one_by_one = all.iter().map(|tlv| request(mode, 0, tlv));
    let sealed_ones = all.iter().map(|tlv| request(mode, 0, &sealed(0, tlv)));
    let together = request(mode, 0, &sealed(0, &all.concat()));
    let padded = request(mode, 0, &[0; 60]);
    one_by_one
        .chain(sealed_ones)
        .chain([together, padded])
        .collect()
}

fn mutate(random: &mut Random, seed: &[u8]) -> Vec<u8> {
    let mut packet = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(packet.len().max(1));
        match random.below(5) {
            0 => packet.truncate(at),
            1 => packet.extend((0..random.below(9)).map(|_| 0x80)),
            2 if at < packet.len() => {
                packet.remove(at);
            }
            3 => packet.insert(at.min(packet.len()), random.byte()),
            _ if at < packet.len() => packet[at] = random.byte(),
            _ => {}
        }
    }
    packet
}

/// Mutated packets against one reflector; half of the keyed ones get a right tag, so that what
/// lies behind it is reached.
fn run(config: ReflectorConfig, count: usize, seed: u64) -> Counters {
    let limits = keyed_limits(&config);
    let mut reflector = reflector(config);
    let mode = reflector.mode();
    let seeds = seeds(mode);
    let tables = reflector.table_bytes();
    let mut random = Random(seed);
    for turn in 0..count {
        let seed = random.below(seeds.len());
        let mut datagram = mutate(&mut random, &seeds[seed]);
        if datagram.len() >= 112 && random.below(2) == 0 {
            put(&mut datagram, 0, &(turn as u32).to_be_bytes());
            let _ = seal(&key(), &mut datagram);
        }
        let came = Arrival {
            source: SocketAddr::from(([10, 0, 0, random.byte()], 1024 + turn as u16 % 7)),
            now_ns: turn as u64 * 10_000_000,
            ttl: (random.below(2) == 0).then(|| random.byte()),
            traffic_class: (random.below(2) == 0).then(|| random.byte()),
            ..arrival(&datagram)
        };
        let mut out = UNTOUCHED;
        let Ok(mut reply) = reflector.reflect(&came, &mut out) else {
            continue;
        };
        let longest = if limits {
            datagram.len().max(400)
        } else {
            datagram.len()
        };
        assert!(
            reply.bytes <= longest,
            "{} of {}",
            reply.bytes,
            datagram.len()
        );
        assert!(limits || reply.bytes == datagram.len() && reply.repeats == 0);
        assert!(reflector.stamp(&reply, &mut out, NOW));
        assert!(limits || out[reply.bytes..] == UNTOUCHED[reply.bytes..]);
        while let Ok(next) = reflector.repeat(&reply, &mut out, came.now_ns) {
            assert!(next.repeats < reply.repeats);
            reply = next;
        }
        if random.below(2) == 0 {
            reflector.sent(reply.number, Stamp::kernel(NOW + turn as i64));
        }
    }
    assert_eq!(reflector.table_bytes(), tables);
    let counters = reflector.counters();
    assert_eq!(counters.received, count as u64);
    assert_eq!(counters.received, counters.replied + counters.silences());
    assert!(limits || counters.replied_bytes <= counters.received_bytes);
    counters
}

fn keyed_limits(config: &ReflectorConfig) -> bool {
    matches!(&config.trust, Trust::Keyed(keys) if keys[0].control.is_some())
}

#[test]
fn a_hundred_thousand_mutated_packets_do_no_harm() {
    let times = times();
    let counters = run(ReflectorConfig::default(), 40_000 * times, 1);
    assert!(
        counters.replied > 20_000 * times as u64,
        "{times}: {counters:?}"
    );
    assert!(counters.tlvs_malformed > 1000 && counters.tlvs_unrecognized > 1000);
    let with_tlv_key = ReflectorConfig {
        trust: Trust::Anybody {
            tlv_key: Some(key()),
        },
        ..ReflectorConfig::default()
    };
    run(with_tlv_key, 20_000 * times, 2);
    let counters = run(keyed(None), 20_000 * times, 3);
    assert!(
        counters.replied > 3000 && counters.wrong_tag > 3000,
        "{counters:?}"
    );
    let limits = ControlLimits {
        longest_bytes: 400,
        most_replies: 3,
        least_interval_ns: 1000,
    };
    let counters = run(keyed(Some(limits)), 20_000 * times, 4);
    assert!(counters.replied > 3000, "{counters:?}");
}
