//! Whatever comes: no panic, nothing counted twice, no more memory.

use super::*;
use crate::random::{Random, times};

#[test]
fn a_hundred_thousand_mutated_replies_do_no_harm() {
    let mut random = Random(7);
    let mut below = |end| random.below(end);
    let turns = 50_000 * times() as u32;
    for (config, mut reflector) in [
        (SenderConfig::default(), open_reflector()),
        (
            SenderConfig {
                key: Some(key()),
                ..SenderConfig::default()
            },
            keyed_reflector(),
        ),
    ] {
        let mut sender = sender(SenderConfig {
            ask: ALL,
            bytes: Some(400),
            outstanding: 64,
            ..config
        });
        let tables = sender.table_bytes();
        let mut last = Vec::new();
        for turn in 0..turns {
            if turn % 10 == 0 {
                let request = send(&mut sender, NOW + i64::from(turn));
                let received = NOW + 10_000_000 * i64::from(turn);
                last = reflect(&mut reflector, &request, received).1;
            }
            let mut bytes = last.clone();
            for _ in 0..=below(3) {
                let at = below(bytes.len());
                match below(4) {
                    0 => bytes.truncate(at.max(1)),
                    1 => bytes.insert(at, below(256) as u8),
                    _ => bytes[at] = below(256) as u8,
                }
            }
            if bytes.len() >= 112 && sender.mode == Mode::Authenticated && below(4) > 0 {
                assert!(seal(&key(), &mut bytes));
            }
            sender.take(&bytes, Stamp::user(NOW));
            if turn % 100 == 0 {
                while sender.give_up(1).is_some() {}
            }
        }
        let counted = sender.accounts();
        assert_eq!(counted.prepared, u64::from(turns / 10));
        let ends = counted.replies + counted.given_up + counted.forgotten + counted.waiting;
        assert_eq!(ends, counted.prepared);
        let taken = counted.replies
            + counted.duplicates
            + counted.late
            + counted.too_short
            + counted.other_ssid
            + counted.never_sent
            + counted.other_time
            + counted.wrong_tag;
        assert_eq!(taken, u64::from(turns));
        assert!(counted.replies > 2000, "{counted:?}");
        assert_eq!(sender.table_bytes(), tables);
    }
}
