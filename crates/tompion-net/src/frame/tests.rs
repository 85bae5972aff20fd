use proptest::prelude::*;

use super::*;

/// An IPv4 packet with a header of five words.
pub(crate) fn v4(protocol: u8, fragment: u16, carried: &[u8]) -> Vec<u8> {
    let total = (20 + carried.len()) as u16;
    let mut packet = vec![0x45, 0xb8];
    packet.extend(total.to_be_bytes());
    packet.extend(0x1234u16.to_be_bytes());
    packet.extend(fragment.to_be_bytes());
    packet.extend([63, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(carried);
    packet
}

/// An IPv6 packet; `next` is that of its first header.
pub(crate) fn v6(next: u8, carried: &[u8]) -> Vec<u8> {
    // Traffic class 0xb8, flow label 5.
    let mut packet = vec![0x6b, 0x80, 0, 5];
    packet.extend((carried.len() as u16).to_be_bytes());
    packet.extend([next, 61]);
    packet.extend(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1).octets());
    packet.extend(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2).octets());
    packet.extend(carried);
    packet
}

pub(crate) fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    let mut datagram = source.to_be_bytes().to_vec();
    datagram.extend(destination.to_be_bytes());
    datagram.extend((8 + payload.len() as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    datagram
}

/// A frame with these tags around a packet.
pub(crate) fn ethernet(tags: &[(u16, u16)], packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    for (ether_type, tag) in tags {
        frame.extend(ether_type.to_be_bytes());
        frame.extend(tag.to_be_bytes());
    }
    let ether_type = match packet.first().map(|first| first >> 4) {
        Some(6) => IPV6,
        _ => IPV4,
    };
    frame.extend(ether_type.to_be_bytes());
    frame.extend(packet);
    frame
}

fn payload<'a>(frame: &Frame<'a>) -> (u16, u16, &'a [u8], usize) {
    match frame.content {
        Content::Udp {
            source,
            destination,
            payload,
            length,
        } => (source, destination, payload, length),
        other => panic!("{other:?}"),
    }
}

#[test]
fn udp_over_ipv4_is_read_without_the_padding_of_ethernet() {
    let mut bytes = ethernet(&[], &v4(17, 0x4000, &udp(5000, 862, b"probe")));
    bytes.resize(60, 0xee);
    let frame = Frame::read(LinkType::Ethernet, &bytes).expect("a frame");
    assert_eq!(payload(&frame), (5000, 862, &b"probe"[..], 5));
    assert_eq!(frame.source, IpAddr::from([10, 0, 0, 1]));
    assert_eq!(frame.destination, IpAddr::from([10, 0, 0, 2]));
    assert_eq!(
        (frame.ttl, frame.tos, frame.identification),
        (63, 0xb8, 0x1234)
    );
    assert_eq!(frame.vlans, [None, None]);
}

#[test]
fn options_of_ipv4_are_passed_over() {
    let mut packet = v4(17, 0, &udp(1, 2, b"x"));
    packet[0] = 0x46;
    packet.splice(20..20, [1, 1, 1, 0]);
    let total = (packet.len() as u16).to_be_bytes();
    packet[2..4].copy_from_slice(&total);
    let frame = Frame::read(LinkType::Raw, &packet).expect("a frame");
    assert_eq!(payload(&frame), (1, 2, &b"x"[..], 1));
}

#[test]
fn two_tags_are_read_and_a_third_is_none_of_ours() {
    let packet = v4(17, 0, &udp(1, 2, b"x"));
    let tags = [(0x88a8, 0xe064), (0x8100, 0x0007), (0x8100, 3)];
    let bytes = ethernet(&tags[..2], &packet);
    let frame = Frame::read(LinkType::Ethernet, &bytes).expect("a frame");
    assert_eq!(frame.vlans, [Some(0x064), Some(7)]);
    let bytes = ethernet(&tags, &packet);
    let refused = Frame::read(LinkType::Ethernet, &bytes);
    assert_eq!(refused, Err(FrameError::NotIp(0x8100)));
}

#[test]
fn extension_headers_of_ipv6_are_passed_over() {
    // Hop-by-hop options of 16 bytes, destination options of 8, a first fragment.
    let mut carried = vec![60, 1];
    carried.extend([0; 14]);
    carried.extend([44, 0, 1, 4, 0, 0, 0, 0]);
    carried.extend([17, 0, 0, 1, 0xde, 0xad, 0xbe, 0xef]);
    carried.extend(udp(7, 8, b"yz"));
    let packet = v6(0, &carried);
    let frame = Frame::read(LinkType::Raw, &packet).expect("a frame");
    assert_eq!(payload(&frame), (7, 8, &b"yz"[..], 2));
    assert_eq!(frame.identification, 0xdead_beef);
    assert_eq!((frame.ttl, frame.tos), (61, 0xb8));
}

#[test]
fn later_fragments_are_nobodys() {
    let packet = v4(17, 185, &udp(1, 2, b"no header"));
    let frame = Frame::read(LinkType::Raw, &packet).expect("a frame");
    assert_eq!(frame.content, Content::Fragment { offset: 1480 });
    let mut carried = vec![17, 0];
    carried.extend((1448u16 | 1).to_be_bytes());
    carried.extend([0, 0, 0, 9]);
    carried.extend(b"no header at all");
    let packet = v6(44, &carried);
    let frame = Frame::read(LinkType::Raw, &packet).expect("a frame");
    assert_eq!(frame.content, Content::Fragment { offset: 1448 });
}

#[test]
fn icmp_is_that_of_its_ip() {
    let echo = [8, 0, 1, 2, 3, 4, 5, 6, 7];
    let packet = v4(ICMP, 0, &echo);
    let frame = Frame::read(LinkType::Raw, &packet).expect("a frame");
    let expected = Content::Icmp {
        kind: 8,
        code: 0,
        message: &echo,
        length: 9,
    };
    assert_eq!(frame.content, expected);
    let packet = v4(ICMPV6, 0, &echo);
    let frame = Frame::read(LinkType::Raw, &packet).expect("a frame");
    assert_eq!(frame.content, Content::Other { protocol: ICMPV6 });
    let packet = v6(ICMPV6, &echo);
    let frame = Frame::read(LinkType::Raw, &packet).expect("a frame");
    assert_eq!(frame.content, expected);
}

#[test]
fn what_was_cut_off_by_the_capture_has_its_length_still() {
    let bytes = ethernet(&[], &v4(17, 0, &udp(1, 2, &[7; 1000])));
    let frame = Frame::read(LinkType::Ethernet, &bytes[..100]).expect("a frame");
    let (_, _, payload, length) = payload(&frame);
    assert_eq!((payload.len(), length), (100 - 14 - 20 - 8, 1000));
    // Within the headers nothing can be said.
    for end in 0..14 + 20 + 8 {
        let cut = Frame::read(LinkType::Ethernet, &bytes[..end]);
        assert_eq!(cut, Err(FrameError::CutOff), "{end}");
    }
}

#[test]
fn headers_that_contradict_themselves_are_refused() {
    let good = v4(17, 0, &udp(1, 2, b"x"));
    for (at, value) in [(0, 0x44), (3, 19), (0, 0x55)] {
        let mut bad = good.clone();
        bad[at] = value;
        let refused = Frame::read(LinkType::Raw, &bad);
        assert_eq!(refused, Err(FrameError::Malformed), "{at} {value}");
    }
    // A UDP length below its header.
    let mut bad = good;
    bad[24..26].copy_from_slice(&7u16.to_be_bytes());
    assert_eq!(Frame::read(LinkType::Raw, &bad), Err(FrameError::Malformed));
}

#[test]
fn cooked_captures_are_read() {
    let packet = v4(17, 0, &udp(1, 2, b"x"));
    let mut cooked = vec![0; 14];
    cooked.extend(IPV4.to_be_bytes());
    cooked.extend(&packet);
    let frame = Frame::read(LinkType::LinuxCooked, &cooked).expect("a frame");
    assert_eq!(payload(&frame).2, b"x");
    let mut cooked = IPV4.to_be_bytes().to_vec();
    cooked.extend([0; 18]);
    cooked.extend(&packet);
    let frame = Frame::read(LinkType::LinuxCooked2, &cooked).expect("a frame");
    assert_eq!(payload(&frame).2, b"x");
    let other = Frame::read(LinkType::from_number(105), &cooked);
    assert_eq!(other, Err(FrameError::LinkType(105)));
}

/// Frames that are nearly right.
pub(crate) fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let packet = prop_oneof![
        Just(v4(17, 0, &udp(5000, 862, b"payload"))),
        Just(v4(17, 0, &udp(862, 5000, b"payload"))),
        Just(v4(17, 0x2000, &udp(862, 5000, b"payload"))),
        Just(v4(17, 5, &udp(862, 5000, b"payload"))),
        Just(v4(6, 0, &udp(862, 5000, b"payload"))),
        Just(v4(1, 0, b"\x08\0\0\0abcdefgh")),
        Just(v6(17, &udp(5000, 862, b"payload"))),
        Just(v6(58, b"\x80\0\0\0abcdefgh")),
        Just(v6(44, b"\x11\0\0\0abcd\0\x01\x03\x5e\0\x08\0\0")),
        Just(v6(6, b"twenty bytes of text")),
    ];
    let tags = prop_oneof![
        Just(vec![]),
        Just(vec![(0x8100, 5)]),
        Just(vec![(0x88a8, 5), (0x8100, 6)]),
    ];
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    let keep = prop_oneof![Just(None), any::<prop::sample::Index>().prop_map(Some)];
    (packet, tags, changes, keep).prop_map(|(packet, tags, changes, keep)| {
        let mut frame = ethernet(&tags, &packet);
        for (at, value) in changes {
            let at = at.index(frame.len());
            frame[at] = value;
        }
        if let Some(keep) = keep {
            frame.truncate(keep.index(frame.len()));
        }
        frame
    })
}

fn link() -> impl Strategy<Value = LinkType> {
    prop_oneof![
        Just(LinkType::Ethernet),
        Just(LinkType::Raw),
        Just(LinkType::LinuxCooked),
        Just(LinkType::LinuxCooked2),
    ]
}

proptest! {
    #[test]
    fn any_frame_is_read_or_refused(link in link(), bytes in prop_oneof![mutated(), prop::collection::vec(any::<u8>(), 0..120)]) {
        if let Ok(frame) = Frame::read(link, &bytes) {
            let (part, length) = match frame.content {
                Content::Udp { payload, length, .. } => (payload, length),
                Content::Icmp { message, length, .. } => (message, length),
                _ => (&[][..], 0),
            };
            prop_assert!(part.len() <= length && part.len() <= bytes.len());
        }
    }

    #[test]
    fn a_payload_is_found_again(source in any::<u16>(), destination in any::<u16>(), sent in prop::collection::vec(any::<u8>(), 0..100), is_v6 in any::<bool>(), padding in 0usize..40) {
        let datagram = udp(source, destination, &sent);
        let packet = match is_v6 {
            true => v6(17, &datagram),
            false => v4(17, 0, &datagram),
        };
        let mut bytes = ethernet(&[], &packet);
        bytes.extend(vec![0xaa; padding]);
        let frame = Frame::read(LinkType::Ethernet, &bytes).expect("a frame");
        prop_assert_eq!(payload(&frame), (source, destination, &sent[..], sent.len()));
    }
}
