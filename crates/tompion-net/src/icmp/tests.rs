use proptest::prelude::*;

use super::*;

const ECHO: Echo = Echo {
    version: Version::V4,
    identifier: 0x1234,
    secret: [0xdead_beef_0bad_f00d, 7],
};

/// What a host makes of a request.
fn reply(echo: &Echo, number: u64, length: usize) -> Vec<u8> {
    let mut packet = vec![0; length];
    assert_eq!(echo.write(number, &mut packet), length);
    packet[0] = echo.version.reply();
    packet[2..4].fill(0);
    let sum = checksum(&packet);
    packet[2..4].copy_from_slice(&sum.to_be_bytes());
    packet
}

#[test]
fn the_checksum_is_that_of_rfc_1071() {
    // The RFC's own example: its sum is ddf2.
    let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(checksum(&bytes), !0xddf2);
    assert_eq!(checksum(&[0xff]), !0xff00);
    assert_eq!(checksum(&[]), 0xffff);
}

#[test]
fn answers_are_known_beyond_the_wrap_of_sequence_numbers() {
    for number in [0, 65_535, 65_536, 1 << 40] {
        let packet = reply(&ECHO, number, 100);
        assert_eq!(ECHO.answered(&packet), Some(number));
    }
}

#[test]
fn who_saw_some_tokens_has_no_other() {
    let tokens: std::collections::BTreeSet<u64> =
        (0..1000).map(|number| ECHO.token(number)).collect();
    assert_eq!(tokens.len(), 1000);
    // That of one probe with the number of the next.
    let mut early = reply(&ECHO, 7, 64);
    early[6..8].copy_from_slice(&8_u16.to_be_bytes());
    early[16..24].copy_from_slice(&8_u64.to_be_bytes());
    early[2..4].fill(0);
    let sum = checksum(&early);
    early[2..4].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(ECHO.answered(&early), None);
}

#[test]
fn what_is_not_an_answer_to_us_is_none() {
    let ours = reply(&ECHO, 7, 64);
    let others = Echo {
        secret: [1, 7],
        ..ECHO
    };
    assert_eq!(ECHO.answered(&reply(&others, 7, 64)), None);
    let others = Echo {
        identifier: 1,
        ..ECHO
    };
    assert_eq!(ECHO.answered(&reply(&others, 7, 64)), None);
    // A request, as loopback shows it to raw sockets.
    let mut request = vec![0; 64];
    ECHO.write(7, &mut request);
    assert_eq!(ECHO.answered(&request), None);
    assert_eq!(ECHO.quoted(&request), Some(7));
    // Cut off, and corrupted.
    assert_eq!(ECHO.answered(&ours[..23]), None);
    let mut corrupted = ours.clone();
    corrupted[40] ^= 1;
    assert_eq!(ECHO.answered(&corrupted), None);
    assert_eq!(ECHO.answered(&ours), Some(7));
}

#[test]
fn a_packet_without_room_for_the_mark_is_not_written() {
    let mut short = [7; 23];
    assert_eq!(ECHO.write(1, &mut short), 0);
    assert_eq!(short, [7; 23]);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let v6 = Echo { version: Version::V6, ..ECHO };
        ECHO.answered(&bytes);
        v6.answered(&bytes);
        ECHO.quoted(&bytes);
    }
}
