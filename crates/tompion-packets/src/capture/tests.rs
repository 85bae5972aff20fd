use proptest::prelude::*;
use tompion_net::frame::LinkType;
use tompion_net::pcapng::{Described, Writer};
use tompion_net::tap::{Direction, Record, TapStatistics};
use tompion_path::stamps::{Stamp, Vantage, round_trips};
use tompion_stamp::TimeFormat;

use super::*;
use crate::sighted::tests::exchange;

const SENT: i64 = 1_700_000_000_000_000_000;

/// A UDP datagram within IPv4 and Ethernet.
fn frame(payload: &[u8]) -> Vec<u8> {
    let length = |more: usize| (payload.len() + more) as u16;
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0]);
    frame.extend(length(28).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    frame.extend([0x13, 0x88, 0x03, 0x5e]);
    frame.extend(length(8).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(payload);
    frame
}

/// A request and its reply, and what both are known by.
fn probe() -> ([Vec<u8>; 2], Key) {
    let packets = exchange(None, TimeFormat::Ntp).map(|packet| frame(&packet));
    let read = Frame::read(LinkType::Ethernet, &packets[0]).unwrap();
    let key = Sighted::of(&read).unwrap().key;
    (packets, key)
}

/// Three probes, of which the second is the one of [`probe`].
fn table() -> (Packets, Vec<Key>) {
    let mut packets = Packets::new();
    for number in 0..3 {
        let row = packets.push(72).unwrap();
        let sent = SENT + number * 1_000_000;
        packets.set(row, Stamp::UserSent, sent).unwrap();
        packets
            .set(row, Stamp::UserReceived, sent + 900_000)
            .unwrap();
        packets.arrived(row).unwrap();
    }
    let keys = vec![Key::bytes(b"first"), probe().1, Key::bytes(b"third")];
    (packets, keys)
}

/// A capture of frames with their stamps and the device that each was captured at.
fn capture(frames: &[(usize, i64, &[u8])], dropped: u64) -> Vec<u8> {
    let device = |name| Described {
        name,
        link: LinkType::Ethernet,
        snap: 256,
        filter: None,
    };
    let devices = [device("vif1.0"), device("eth0")];
    let mut writer = Writer::new(vec![], "a test", "", &devices).unwrap();
    for (interface, ns, bytes) in frames {
        let record = Record {
            ns: *ns,
            direction: Direction::Outgoing,
            length: bytes.len() as u32,
            bytes,
        };
        writer.packet(*interface, &record).unwrap();
    }
    let statistics = TapStatistics { passed: 9, dropped };
    writer.statistics(0, SENT, &statistics).unwrap();
    writer.finish().unwrap()
}

fn joined(bytes: &[u8]) -> Result<(Packets, JoinedCapture), CaptureError> {
    let (mut packets, keys) = table();
    let joined = join_capture(&mut packets, &keys, "dom0", bytes)?;
    Ok((packets, joined))
}

fn told(bytes: &[u8]) -> String {
    let error = joined(bytes).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

#[test]
fn a_capture_of_another_clock_gives_round_trips_of_its_own() {
    let ([request, reply], _) = probe();
    // Of a clock that is an hour behind; among packets of others, and one copy.
    let hour = 3_600_000_000_000;
    let other = frame(b"a datagram of somebody else, long enough for a test packet");
    let frames: [(usize, i64, &[u8]); 5] = [
        (0, SENT - hour, &other),
        (0, SENT - hour + 100, &request),
        (0, SENT - hour + 700, &request),
        (1, SENT - hour + 300_000, b"no frame"),
        (0, SENT - hour + 400_100, &reply),
    ];
    let (packets, found) = joined(&capture(&frames, 0)).unwrap();
    assert_eq!(found.device.as_deref(), Some("vif1.0"));
    assert_eq!((found.frames, found.dropped), (5, Some(0)));
    let Joined {
        outward,
        homeward,
        duplicates,
        unmatched,
        ..
    } = found.joined;
    assert_eq!((outward, homeward, duplicates, unmatched), (1, 1, 1, 1));
    let seen = round_trips(&packets, Vantage::Tap(found.tap));
    let seen: Vec<_> = seen.iter().collect();
    assert_eq!(seen, [None, Some(400_000), None]);
    let why = packets.missing(0, Stamp::Tap(found.tap, Way::Outward));
    assert_eq!(why, Some(Missing::NotSeen));
}

#[test]
fn what_is_missing_of_a_capture_that_dropped_packets_may_have_been_dropped() {
    let ([request, _], _) = probe();
    let (packets, found) = joined(&capture(&[(0, SENT, &request)], 3)).unwrap();
    assert_eq!(found.dropped, Some(3));
    let why = |row, way| packets.missing(row, Stamp::Tap(found.tap, way));
    assert_eq!(why(1, Way::Outward), None);
    assert_eq!(why(1, Way::Homeward), Some(Missing::TapDropped));
    assert_eq!(why(2, Way::Outward), Some(Missing::TapDropped));
}

#[test]
fn captures_that_cannot_be_joined_are_told_in_one_line() {
    let ([request, reply], _) = probe();
    let other = exchange(Some(b"0123456789abcdef"), TimeFormat::Ptp).map(|p| frame(&p));
    let day = 86_400_000_000_000;
    let whole = capture(&[(0, SENT, &request), (0, SENT + 5, &reply)], 0);
    for (bytes, expected) in [
        (
            b"no capture at all, but some text".to_vec(),
            "not a capture",
        ),
        (vec![], "not a capture"),
        (whole[..whole.len() - 1].to_vec(), "cut off at byte"),
        (
            capture(&[], 0),
            "none of its 0 frames is a STAMP test packet",
        ),
        (
            capture(&[(0, SENT, b"no frame")], 0),
            "none of its 1 frames",
        ),
        (
            capture(&[(0, SENT, &request), (1, SENT + 5, &reply)], 0),
            "several devices (vif1.0 and eth0)",
        ),
        (
            capture(&[(0, SENT, &other[0]), (0, SENT + 5, &other[1])], 0),
            "none of the tap's 2 packets is one of the probes",
        ),
        (capture(&[(0, SENT - day, &other[0])], 0), "of another time"),
    ] {
        let told = told(&bytes);
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn stamps_of_microseconds_are_refused_with_what_would_be_right() {
    let ([request, _], _) = probe();
    let mut old = vec![];
    // As most programs write pcap: 0xa1b2c3d4, version 2.4, Ethernet.
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1] {
        old.extend(u32::to_le_bytes(word));
    }
    let length = request.len() as u32;
    for word in [(SENT / 1_000_000_000) as u32, 7, length, length] {
        old.extend(word.to_le_bytes());
    }
    old.extend(&request);
    let told = told(&old);
    assert!(told.contains("1000000 steps a second"), "{told}");
    assert!(told.contains("--time-stamp-precision=nano"), "{told}");
    // The same in nanoseconds.
    old[..4].copy_from_slice(&0xa1b2_3c4d_u32.to_le_bytes());
    assert_eq!(joined(&old).unwrap().1.joined.outward, 1);
}

proptest! {
    /// However it is cut or damaged it is joined or refused in one line.
    #[test]
    fn a_damaged_capture_does_no_harm(
        cut in 0..1000usize,
        flips in prop::collection::vec((0..1000usize, any::<u8>()), 0..4),
    ) {
        let ([request, reply], _) = probe();
        let mut bytes = capture(&[(0, SENT, &request), (0, SENT + 5, &reply)], 0);
        for (at, with) in flips {
            let at = at % bytes.len();
            bytes[at] ^= with;
        }
        bytes.truncate(bytes.len() - cut % bytes.len());
        if let Err(error) = joined(&bytes) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}
