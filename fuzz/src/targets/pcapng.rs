//! Captures of a tap, as somebody sends them to be joined with a run.

use tompion_net::frame::{Content, Frame};
use tompion_net::pcapng::{MOST_BLOCK_BYTES, MOST_INTERFACES, MOST_NAME_BYTES, Reader};
use tompion_packets::{Sighted, join_capture};
use tompion_path::stamps::{Key, Packets};

use crate::Target;
use crate::one_line;

pub static ENTRY: Target = Target {
    name: "pcapng",
    about: "a capture, pcapng or pcap, and the packets in it: read and joined, or refused in one line",
    parser: &[
        "tompion-net/src/pcapng.rs",
        "tompion-net/src/pcapng/read.rs",
        "tompion-net/src/frame.rs",
        "tompion-packets/src/sighted.rs",
        "tompion-packets/src/capture.rs",
    ],
    most_bytes: 4096,
    run,
};

fn run(bytes: &[u8]) {
    let mut reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return one_line(&error.to_string()),
    };
    let mut taken = 0;
    loop {
        let packet = match reader.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break,
            Err(error) => {
                one_line(&error.to_string());
                break;
            }
        };
        assert!(packet.bytes.len() <= MOST_BLOCK_BYTES);
        taken += packet.bytes.len();
        assert!(taken <= bytes.len(), "{taken} bytes of {}", bytes.len());
        let (interface, captured) = (packet.interface, packet.bytes.to_vec());
        let link = reader.interfaces()[interface].link;
        match Frame::read(link, &captured) {
            Ok(frame) => {
                within(&frame, captured.len());
                let _ = Sighted::of(&frame);
            }
            Err(error) => one_line(&error.to_string()),
        }
    }
    assert!(reader.interfaces().len() <= MOST_INTERFACES);
    for interface in reader.interfaces() {
        // Bytes that are no UTF-8 become three each.
        let length = interface.name.as_ref().map_or(0, String::len);
        assert!(length <= 3 * MOST_NAME_BYTES);
        assert!(interface.resolution.per_second > 0);
    }
    joined(bytes);
}

/// With a table of one probe.
fn joined(bytes: &[u8]) {
    let mut packets = Packets::new();
    let sent = packets.push(100);
    if sent.is_ok()
        && let Err(error) = join_capture(&mut packets, &[Key::stamp(1, 0, 1)], "tap", bytes)
    {
        one_line(&error.to_string());
    }
}

/// No more is handed on than was captured, nor than was sent.
fn within(frame: &Frame<'_>, captured: usize) {
    let (part, length) = match frame.content {
        Content::Udp {
            payload, length, ..
        } => (payload.len(), length),
        Content::Icmp {
            message, length, ..
        } => (message.len(), length),
        Content::Fragment { .. } | Content::Other { .. } => (0, 0),
    };
    assert!(part <= captured && part <= length);
}
