use super::*;
use crate::packet::{ReplyFields, RequestFields};
use crate::{ErrorEstimate, TimeFormat};

const NOW: i64 = 1_790_000_000_000_000_000;
const HOUR: i64 = 3_600_000_000_000;
const MODES: [Mode; 2] = [Mode::Unauthenticated, Mode::Authenticated];

fn reply(format: TimeFormat, received: i64, sent: i64, copied: u64) -> ReplyFields {
    let error = ErrorEstimate::new(false, format, 1);
    ReplyFields {
        sequence: 1,
        time: format.encode(sent),
        error,
        ssid: 7,
        received: format.encode(received),
        sender_sequence: 1,
        sender_time: copied,
        sender_error: error,
        sender_ttl: 64,
    }
}

fn is_one(mode: Mode, reply: &ReplyFields) -> bool {
    let mut packet = [0; 112];
    assert!(reply.write(mode, &mut packet));
    looks_like_reply(mode, &packet, TimeFormat::Ntp.encode(NOW))
}

#[test]
fn a_reply_of_any_clock_is_one() {
    for mode in MODES {
        for format in [TimeFormat::Ntp, TimeFormat::Ptp] {
            // A clock at its start, and one decades off; a stay of a minute.
            for at in [1_000_000_000, NOW, NOW + 400_000 * HOUR] {
                assert!(is_one(mode, &reply(format, at, at + 60_000_000_000, 0)));
            }
        }
    }
}

#[test]
fn a_reply_without_its_own_stamps_is_one_if_it_has_ours() {
    let ours = TimeFormat::Ntp.encode(NOW - 1_000_000);
    for mode in MODES {
        let mut reply = reply(TimeFormat::Ntp, NOW, NOW, ours);
        (reply.received, reply.time) = (0, 0);
        assert!(is_one(mode, &reply));
        reply.sender_time = TimeFormat::Ntp.encode(NOW - 2 * HOUR);
        assert!(!is_one(mode, &reply));
    }
}

#[test]
fn a_request_is_none_whatever_its_clock() {
    for mode in MODES {
        for time in [0, 1, u64::MAX, TimeFormat::Ntp.encode(NOW)] {
            let request = RequestFields {
                sequence: 3,
                time,
                error: ErrorEstimate::from_wire(0),
                ssid: 0,
            };
            let mut packet = [0; 112];
            assert!(request.write(mode, &mut packet));
            assert!(!looks_like_reply(
                mode,
                &packet,
                TimeFormat::Ntp.encode(NOW)
            ));
        }
    }
}

#[test]
fn of_a_million_twamp_requests_with_random_padding_none_is_one() {
    let mut state = 1_u64;
    let mut taken = 0;
    for _ in 0..1_000_000 {
        let mut packet = [0_u8; 48];
        for word in packet.chunks_exact_mut(8) {
            // Xorshift (Marsaglia, 2003).
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_be_bytes());
        }
        packet[4..12].copy_from_slice(&TimeFormat::Ntp.encode(NOW).to_be_bytes());
        let now = TimeFormat::Ntp.encode(NOW);
        taken += u32::from(looks_like_reply(Mode::Unauthenticated, &packet, now));
    }
    assert_eq!(taken, 0);
}
