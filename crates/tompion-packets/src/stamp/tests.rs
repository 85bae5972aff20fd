use tompion_stamp::{Ask, Mode, RequestFields, SenderConfig};

use super::*;

#[test]
fn probes_of_one_call_are_stamped_each_with_its_own_moment() {
    let sender = Sender::new(SenderConfig {
        ssid: 7,
        outstanding: 8,
        ask: Ask::default(),
        ..SenderConfig::default()
    });
    let mut speaker = StampSpeaker::new(sender.unwrap(), 7, TimeFormat::Ntp, 8);
    // Probe 2 came too late for its turn, and of those prepared probe 3 is left behind.
    let mut packets: Vec<(u64, [u8; 128])> = Vec::new();
    for number in [0, 1, 3, 4, 9] {
        let mut packet = [0; 128];
        assert!(speaker.prepare(number, &mut packet, 0) > 0);
        packets.push((number, packet));
    }
    packets.retain(|(number, _)| *number != 3);
    for (number, packet) in &mut packets {
        speaker.stamp(*number, 1_790_000_000_000_000_000 + *number as i64, packet);
    }
    let read: Vec<(u64, u32, u64)> = packets
        .iter()
        .map(|(number, packet)| {
            let fields = RequestFields::read(Mode::Unauthenticated, packet).unwrap();
            (*number, fields.sequence, fields.time)
        })
        .collect();
    let at = |number: i64| TimeFormat::Ntp.encode(1_790_000_000_000_000_000 + number);
    assert_eq!(
        read,
        [(0, 0, at(0)), (1, 1, at(1)), (4, 3, at(4)), (9, 4, at(9))]
    );
}
