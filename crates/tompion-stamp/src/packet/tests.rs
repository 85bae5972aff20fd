use proptest::prelude::*;

use super::*;

fn request() -> RequestFields {
    RequestFields {
        sequence: 0x0102_0304,
        time: 0x1112_1314_1516_1718,
        error: ErrorEstimate::from_wire(0x8f84),
        ssid: 0xabcd,
    }
}

fn reply() -> ReplyFields {
    ReplyFields {
        sequence: 0x2122_2324,
        time: 0x3132_3334_3536_3738,
        error: ErrorEstimate::from_wire(0x4102),
        ssid: 0xabcd,
        received: 0x4142_4344_4546_4748,
        sender_sequence: 0x0102_0304,
        sender_time: 0x1112_1314_1516_1718,
        sender_error: ErrorEstimate::from_wire(0x8f84),
        sender_ttl: 0x3f,
    }
}

/// Bytes as they stand in a figure, one line of it after another.
fn figure(lines: &str) -> Vec<u8> {
    let digits: String = lines.split_whitespace().collect();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("two digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

#[test]
fn an_unauthenticated_request_is_as_in_figure_1_of_rfc_8972() {
    let mut packet = [0xee; 44];
    assert!(request().write(Mode::Unauthenticated, &mut packet));
    let zeros = "00000000 ".repeat(7);
    let expected = figure(&format!("01020304 11121314 15161718 8f84abcd {zeros}"));
    assert_eq!(packet.as_slice(), expected);
}

#[test]
fn an_authenticated_request_is_as_in_figure_2_of_rfc_8972() {
    let mut packet = [0xee; 112];
    assert!(request().write(Mode::Authenticated, &mut packet));
    let (three, rest) = ("00000000 ".repeat(3), "00000000 ".repeat(21));
    let expected = figure(&format!(
        "01020304 {three} 11121314 15161718 8f84abcd {rest}"
    ));
    assert_eq!(packet.as_slice(), expected);
}

#[test]
fn an_unauthenticated_reply_is_as_in_figure_3_of_rfc_8972() {
    let mut packet = [0xee; 44];
    assert!(reply().write(Mode::Unauthenticated, &mut packet));
    let expected = figure(
        "21222324 31323334 35363738 4102abcd 41424344 45464748 01020304 11121314 15161718
         8f840000 3f000000",
    );
    assert_eq!(packet.as_slice(), expected);
}

#[test]
fn an_authenticated_reply_is_as_in_figure_4_of_rfc_8972() {
    let mut packet = [0xee; 112];
    assert!(reply().write(Mode::Authenticated, &mut packet));
    let expected = figure(
        "21222324 00000000 00000000 00000000
         31323334 35363738 4102abcd 00000000
         41424344 45464748 00000000 00000000
         01020304 00000000 00000000 00000000
         11121314 15161718 8f840000 00000000
         3f000000 00000000 00000000 00000000
         00000000 00000000 00000000 00000000",
    );
    assert_eq!(packet.as_slice(), expected);
}

/// By Python: `hmac.new(bytes(range(16)), bytes([0xab]) * 96, "sha256").hexdigest()[:32]`.
const TAG: &str = "4e447422d59c6a01b981cbad46350559";

#[test]
fn a_tag_is_that_of_another_implementation_and_covers_96_bytes() {
    let key = Key::new(&(0..16).collect::<Vec<u8>>()).expect("a key");
    let mut packet = [0xab; 120];
    assert!(seal(&key, &mut packet));
    assert_eq!(packet[96..112], figure(TAG));
    assert!(is_authentic(&key, &packet));
    for at in 0..packet.len() {
        packet[at] ^= 1;
        assert_eq!(is_authentic(&key, &packet), at >= 112, "byte {at}");
        packet[at] ^= 1;
    }
    let other = Key::new(b"another").expect("a key");
    assert!(!is_authentic(&other, &packet));
}

#[test]
fn what_is_too_short_is_neither_read_nor_written() {
    let key = Key::new(b"a key").expect("a key");
    for mode in [Mode::Unauthenticated, Mode::Authenticated] {
        let mut packet = vec![0; mode.base_bytes() - 1];
        assert_eq!(RequestFields::read(mode, &packet), None);
        assert_eq!(ReplyFields::read(mode, &packet), None);
        assert!(!request().write(mode, &mut packet));
        assert!(!reply().write(mode, &mut packet));
        assert!(!seal(&key, &mut packet));
        assert!(!is_authentic(&key, &packet));
    }
    assert_eq!(Key::new(b"").err(), Some(crate::key::EmptyKey));
}

proptest! {
    #[test]
    fn every_field_comes_back(
        numbers in any::<(u32, u32, u64, u64, u64, u16, u16, u16, u8)>(), auth in any::<bool>(),
    ) {
        let (sequence, sender_sequence, time, received, sender_time, ssid, error, sender_error, ttl) =
            numbers;
        let mode = if auth { Mode::Authenticated } else { Mode::Unauthenticated };
        let mut packet = [0xee; 112];
        let (error, sender_error) =
            (ErrorEstimate::from_wire(error), ErrorEstimate::from_wire(sender_error));
        let request = RequestFields { sequence, time, error, ssid };
        prop_assert!(request.write(mode, &mut packet));
        prop_assert_eq!(RequestFields::read(mode, &packet), Some(request));
        let reply = ReplyFields {
            sequence, time, error, ssid, received, sender_sequence, sender_time, sender_error,
            sender_ttl: ttl,
        };
        prop_assert!(reply.write(mode, &mut packet));
        prop_assert_eq!(ReplyFields::read(mode, &packet), Some(reply));
    }
}
