use proptest::prelude::*;

use super::values::*;
use super::*;

#[test]
fn values_have_the_bytes_of_the_figures_of_rfc_8972() {
    let information = TimestampInformation {
        source_in: ClockSource::Ntp,
        method_in: StampMethod::Software,
        source_out: ClockSource::FreeRunning,
        method_out: StampMethod::Hardware,
    };
    assert_eq!(information.to_bytes(), [1, 2, 5, 1]);
    // DSCP1 101110, DSCP2 001010, ECN 01, RP 01.
    let class = ClassOfService {
        wanted_dscp: 46,
        received_dscp: 10,
        received_ecn: 1,
        refused: true,
    };
    assert_eq!(class.to_bytes(), [0b1011_1000, 0b1010_0101, 0, 0]);
    let measured = DirectMeasurement {
        sender_sent: 1,
        reflector_received: 2,
        reflector_sent: 0x0102_0304,
    };
    assert_eq!(measured.to_bytes(), [0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4]);
    let report = AccessReport { access: 2, code: 1 };
    assert_eq!(report.to_bytes(), [0x20, 1, 0, 0]);
    let followed = FollowUp {
        sequence: 0x0102_0304,
        time: 0x1112_1314_1516_1718,
        method: StampMethod::Software,
    };
    let expected = [
        1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 2, 0, 0, 0,
    ];
    assert_eq!(followed.to_bytes(), expected);
    let control = ReplyControl {
        bytes: 0x0102,
        replies: 3,
        interval_ns: 0x0405_0607,
        for_group: false,
    };
    assert_eq!(control.to_bytes(), [1, 2, 0, 3, 4, 5, 6, 7, 0, 0, 0, 0]);
}

#[test]
fn tompions_own_value_has_the_bytes_of_docs_wire() {
    let told = Tompion {
        software: (1, 2),
        received: Some(crate::StampKind::Kernel),
        sent: Some(crate::StampKind::User),
        stay: Some(TompionStay {
            sender_sequence: 0x0102_0304,
            stay_ns: 0x1112_1314_1516_1718,
        }),
        mark: Some(TompionMark {
            sender_sequence: 0x2122_2324,
            cause: 3,
            source: 1,
        }),
        unanswered: Some(0x3132),
    };
    let expected = [
        0, 0, 0, 0, b'T', b'M', b'P', b'N', 1, 0b111_0110, 1, 2, 1, 2, 3, 4, 0x11, 0x12, 0x13,
        0x14, 0x15, 0x16, 0x17, 0x18, 0x21, 0x22, 0x23, 0x24, 3, 1, 0x31, 0x32,
    ];
    assert_eq!(told.to_bytes(), expected);
    assert_eq!(Tompion::read(&expected), Some(told));
    // A later version adds behind.
    let mut later = expected.to_vec();
    later[8] = 2;
    later.extend([9; 8]);
    assert_eq!(Tompion::read(&later), Some(told));
    // One that ends before the mark has none.
    let without = Tompion {
        mark: None,
        unanswered: None,
        ..told
    };
    assert_eq!(Tompion::read(&expected[..31]), Some(without));
    assert_eq!(Tompion::read(&expected[..24]), Some(without));
    // Somebody else's, and one cut short.
    assert_eq!(Tompion::read(&expected[..23]), None);
    for at in 0..8 {
        let mut other = expected;
        other[at] ^= 1;
        assert_eq!(Tompion::read(&other), None);
    }
}

fn walk(packet: &[u8], base: usize) -> Vec<Step> {
    let mut steps = Steps::new(packet, base);
    let mut seen = Vec::new();
    loop {
        let step = steps.next(packet);
        let is_last = !matches!(step, Step::Tlv { .. });
        seen.push(step);
        if is_last {
            return seen;
        }
    }
}

#[test]
fn a_walk_ends_at_the_end_at_zeros_at_a_fragment_and_at_what_goes_beyond() {
    let first = [0x80, 1, 0, 2, 7, 7];
    let tlv = Step::Tlv {
        flags: 0x80,
        kind: 1,
        value: 8..10,
    };
    let with = |rest: &[u8]| walk(&[&[1; 4][..], &first, rest].concat(), 4);
    assert_eq!(with(&[]), [tlv.clone(), Step::End]);
    assert_eq!(with(&[0; 9]), [tlv.clone(), Step::Zeros]);
    assert_eq!(with(&[0, 0, 1]), [tlv.clone(), Step::Fragment]);
    assert_eq!(
        with(&[0, 9, 0, 1]),
        [tlv.clone(), Step::Overrun { kind: 9 }]
    );
    let empty = Step::Tlv {
        flags: 0,
        kind: 9,
        value: 14..14,
    };
    assert_eq!(with(&[0, 9, 0, 0]), [tlv, empty, Step::End]);
    // A base that is not there.
    assert_eq!(walk(&[1; 3], 4), [Step::End]);
}

#[test]
fn a_packet_of_zeros_but_for_its_end_is_walked_in_no_time() {
    let mut packet = vec![0; 65_507];
    *packet.last_mut().expect("a byte") = 1;
    let begun = std::time::Instant::now();
    let steps: usize = (0..20).map(|_| walk(&packet, 44).len()).sum();
    assert!(steps > 300_000);
    // One search for the last byte each, not 16,000: those would take a minute.
    assert!(begun.elapsed().as_secs() < 10);
}

proptest! {
    #[test]
    fn every_value_comes_back(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        if let Some(read) = TimestampInformation::read(&bytes) {
            prop_assert_eq!(read.to_bytes().to_vec(), bytes.clone());
        }
        if let Some(read) = ClassOfService::read(&bytes) {
            prop_assert_eq!(ClassOfService::read(&read.to_bytes()), Some(read));
        }
        if let Some(read) = DirectMeasurement::read(&bytes) {
            prop_assert_eq!(read.to_bytes().to_vec(), bytes.clone());
        }
        if let Some(read) = AccessReport::read(&bytes) {
            prop_assert_eq!(AccessReport::read(&read.to_bytes()), Some(read));
        }
        if let Some(read) = FollowUp::read(&bytes) {
            prop_assert_eq!(FollowUp::read(&read.to_bytes()), Some(read));
        }
        if let Some(read) = ReplyControl::read(&bytes) {
            let again = ReplyControl::read(&read.to_bytes()).expect("it is long enough");
            prop_assert_eq!(ReplyControl { for_group: read.for_group, ..again }, read);
        }
    }

    #[test]
    fn tompions_own_value_comes_back(
        numbers in any::<(u8, u8, u32, u64)>(), kinds in (0_u8..4, 0_u8..4), knows in any::<bool>(),
    ) {
        let kind = |bits| match bits {
            1 => Some(crate::StampKind::User),
            2 => Some(crate::StampKind::Kernel),
            3 => Some(crate::StampKind::Hardware),
            _ => None,
        };
        let (major, minor, sender_sequence, stay_ns) = numbers;
        let told = Tompion {
            software: (major, minor),
            received: kind(kinds.0),
            sent: kind(kinds.1),
            stay: knows.then_some(TompionStay { sender_sequence, stay_ns }),
            mark: knows.then_some(TompionMark { sender_sequence, cause: major, source: minor }),
            unanswered: knows.then_some(stay_ns as u16),
        };
        prop_assert_eq!(Tompion::read(&told.to_bytes()), Some(told));
    }

    #[test]
    fn a_walk_over_anything_stays_within_and_goes_on(
        packet in proptest::collection::vec(0_u8..4, 0..200), base in 0_usize..60,
    ) {
        let mut last = base;
        for step in walk(&packet, base) {
            if let Step::Tlv { value, .. } = step {
                prop_assert!(value.start == last + HEADER_BYTES && value.end <= packet.len());
                last = value.end;
            }
        }
    }
}
