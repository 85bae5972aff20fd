use proptest::prelude::*;
use tompion_net::icmp::Echo;
use tompion_path::stamps::{Packets, Stamp};
use tompion_stamp::{
    Arrival, Key as StampKey, Reflector, ReflectorConfig, Sender, SenderConfig, SharedKey,
    Stamp as Moment, TimeFormat, Trust,
};

use super::*;
use crate::Marks;

const SENT: i64 = 1_700_000_000_123_456_789;

/// A request and the reply to it, of the seventh probe of a session.
pub(crate) fn exchange(key: Option<&[u8]>, format: TimeFormat) -> [Vec<u8>; 2] {
    let key = key.map(|bytes| StampKey::new(bytes).unwrap());
    let mut sender = Sender::new(SenderConfig {
        ssid: 77,
        format,
        key: key.clone(),
        ..SenderConfig::default()
    })
    .unwrap();
    let mut request = vec![0; 2048];
    let mut prepared = None;
    for _ in 0..7 {
        prepared = sender.prepare(&mut request, 5);
    }
    let prepared = prepared.unwrap();
    assert!(sender.stamp(&prepared, &mut request, SENT));
    request.truncate(prepared.bytes);
    let trust = match key {
        None => Trust::Anybody { tlv_key: None },
        Some(key) => Trust::Keyed(vec![SharedKey {
            key,
            ssid: None,
            control: None,
        }]),
    };
    let mut reflector = Reflector::new(ReflectorConfig {
        trust,
        format,
        ..ReflectorConfig::default()
    })
    .unwrap();
    let arrival = Arrival {
        datagram: &request,
        source: "192.0.2.1:5000".parse().unwrap(),
        received: Moment::kernel(SENT + 1_000),
        ttl: Some(64),
        traffic_class: None,
        now_ns: 9,
    };
    let mut room = vec![0; 2048];
    let reply = reflector.reflect(&arrival, &mut room).unwrap();
    assert!(reflector.stamp(&reply, &mut room, SENT + 2_000));
    room.truncate(reply.bytes);
    [request, room]
}

fn key_of_marks(marks: &Marks, row: usize) -> Key {
    let mut packets = Packets::new();
    for probe in 0..=row {
        packets.push(100).unwrap();
        let sent = SENT + (probe as i64 - row as i64) * 1_000;
        packets.set(probe, Stamp::UserSent, sent).unwrap();
    }
    marks.keys(&packets)[row]
}

#[test]
fn requests_and_replies_of_stamp_are_known_in_both_modes_and_formats() {
    let secret = b"0123456789abcdef".as_slice();
    for key in [None, Some(secret)] {
        for format in [TimeFormat::Ntp, TimeFormat::Ptp] {
            let [request, reply] = exchange(key, format);
            let marks = Marks::Stamp {
                ssid: 77,
                format,
                numbers: (0..7).collect(),
            };
            let known = key_of_marks(&marks, 6);
            assert_eq!(stamp(&request), Some((Way::Outward, known)), "{format:?}");
            assert_eq!(stamp(&reply), Some((Way::Homeward, known)), "{format:?}");
            // As much as a base packet has is enough, and less is not.
            let base = match key {
                None => 44,
                Some(_) => 112,
            };
            assert_eq!(stamp(&reply[..base]), Some((Way::Homeward, known)));
            assert_eq!(stamp(&reply[..base - 1]), None);
        }
    }
}

#[test]
fn echo_requests_and_replies_are_known() {
    for version in [Version::V4, Version::V6] {
        let echo = Echo {
            version,
            identifier: 9,
            secret: [0x1234_5678_9abc_def0, 1],
        };
        let marks = Marks::Icmp { echo };
        let known = key_of_marks(&marks, 6);
        let mut packet = vec![0; 64];
        assert_eq!(echo.write(6, &mut packet), 64);
        assert_eq!(super::echo(version, &packet), Some((Way::Outward, known)));
        packet[0] = version.reply();
        assert_eq!(super::echo(version, &packet), Some((Way::Homeward, known)));
        assert_eq!(super::echo(version, &packet[..23]), None);
        packet[0] = 3;
        assert_eq!(super::echo(version, &packet), None);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_test_packet_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = stamp(&bytes);
        for version in [Version::V4, Version::V6] {
            let _ = super::echo(version, &bytes);
        }
    }
}
