use proptest::prelude::*;

use super::*;
use crate::frame::tests::{ethernet, mutated, udp, v4, v6};
use crate::frame::{Content, Frame, LinkType};

const ALL: [Filter; 4] = [
    Filter::All,
    Filter::UdpPort(1),
    Filter::Icmp,
    Filter::UdpPortOrIcmp(1),
];

/// What the kernel does with a program: of each instruction that is used here what the manual
/// says (bpf(4) of BSD); a load beyond the frame's end rejects it.
fn run(program: &[Instruction], frame: &[u8]) -> u32 {
    let (mut accumulator, mut index, mut at) = (0u32, 0u32, 0);
    let byte = |at: u32| frame.get(at as usize).copied().map(u32::from);
    let half = |at: u32| Some(byte(at)? << 8 | byte(at + 1)?);
    loop {
        let instruction = program[at];
        at += 1;
        let k = instruction.k;
        let loaded = match instruction.code {
            0x28 => half(k),
            0x30 => byte(k),
            0x48 => half(index + k),
            0xb1 => match byte(k) {
                Some(first) => {
                    index = 4 * (first & 15);
                    continue;
                }
                None => None,
            },
            0x06 => return k,
            code => {
                let holds = match code {
                    0x15 => accumulator == k,
                    0x45 => accumulator & k != 0,
                    code => panic!("{code:#x}"),
                };
                at += usize::from(match holds {
                    true => instruction.if_true,
                    false => instruction.if_false,
                });
                continue;
            }
        };
        match loaded {
            Some(value) => accumulator = value,
            None => return 0,
        }
    }
}

fn passes(filter: Filter, frame: &[u8]) -> bool {
    match run(&program(filter, 96), frame) {
        0 => false,
        snap => {
            assert_eq!(snap, 96);
            true
        }
    }
}

#[test]
fn without_a_filter_all_passes() {
    assert!(passes(Filter::All, b""));
    assert!(passes(Filter::All, b"anything at all"));
}

#[test]
fn either_port_passes_with_and_without_a_tag() {
    let filter = Filter::UdpPort(862);
    for tags in [&[][..], &[(0x8100, 7)], &[(0x88a8, 7)]] {
        for (source, destination, expected) in [(862, 9, true), (9, 862, true), (863, 861, false)] {
            let datagram = udp(source, destination, b"payload");
            for packet in [v4(17, 0, &datagram), v6(17, &datagram)] {
                let frame = ethernet(tags, &packet);
                assert_eq!(passes(filter, &frame), expected, "{tags:?} {source}");
            }
        }
    }
    // TCP with the same bytes, a later fragment.
    assert!(!passes(
        filter,
        &ethernet(&[], &v4(6, 0, &udp(862, 862, b"")))
    ));
    assert!(!passes(
        filter,
        &ethernet(&[], &v4(17, 3, &udp(862, 862, b"")))
    ));
    // Behind a header that it does not look through.
    assert!(passes(filter, &ethernet(&[], &v6(60, &udp(1, 1, b"")))));
}

#[test]
fn both_kinds_of_icmp_pass() {
    for tags in [&[][..], &[(0x8100, 7)]] {
        assert!(passes(Filter::Icmp, &ethernet(tags, &v4(1, 0, b"\x08\0"))));
        assert!(passes(Filter::Icmp, &ethernet(tags, &v6(58, b"\x80\0"))));
        assert!(!passes(
            Filter::Icmp,
            &ethernet(tags, &v4(58, 0, b"\x08\0"))
        ));
        assert!(!passes(Filter::Icmp, &ethernet(tags, &v6(1, b"\x80\0"))));
        assert!(!passes(Filter::Icmp, &ethernet(tags, &v4(17, 0, b""))));
    }
}

#[test]
fn a_port_and_icmp_pass_together() {
    let filter = Filter::UdpPortOrIcmp(862);
    for tags in [&[][..], &[(0x8100, 7)]] {
        let frame = |packet: &[u8]| ethernet(tags, packet);
        for (source, destination, expected) in [(862, 9, true), (9, 862, true), (863, 861, false)] {
            let datagram = udp(source, destination, b"payload");
            for packet in [v4(17, 0, &datagram), v6(17, &datagram)] {
                assert_eq!(
                    passes(filter, &frame(&packet)),
                    expected,
                    "{tags:?} {source}"
                );
            }
        }
        assert!(passes(filter, &frame(&v4(1, 0, b"\x08\0"))));
        assert!(passes(filter, &frame(&v6(58, b"\x80\0"))));
        assert!(!passes(filter, &frame(&v4(6, 0, &udp(862, 862, b"")))));
        assert!(!passes(filter, &frame(&v6(6, &udp(862, 862, b"")))));
    }
}

#[test]
fn jumps_stay_within_the_program() {
    for filter in ALL {
        let program = program(filter, 96);
        for (at, instruction) in program.iter().enumerate() {
            if instruction.code == RETURN {
                continue;
            }
            let furthest = at + 1 + usize::from(instruction.if_true.max(instruction.if_false));
            assert!(furthest < program.len(), "{filter:?} {at}");
        }
    }
}

proptest! {
    /// What the filter refuses is nothing that was wanted.
    #[test]
    fn no_wanted_frame_is_refused(bytes in mutated()) {
        let frame = Frame::read(LinkType::Ethernet, &bytes);
        // Two tags are more than it looks through.
        let Ok(frame) = frame else { return Ok(()) };
        prop_assume!(frame.vlans[1].is_none());
        match frame.content {
            Content::Udp { source, destination, .. } => {
                prop_assert!(passes(Filter::UdpPort(source), &bytes));
                prop_assert!(passes(Filter::UdpPort(destination), &bytes));
                prop_assert!(passes(Filter::UdpPortOrIcmp(source), &bytes));
            }
            Content::Icmp { .. } => {
                prop_assert!(passes(Filter::Icmp, &bytes));
                prop_assert!(passes(Filter::UdpPortOrIcmp(1), &bytes));
            }
            _ => {}
        }
    }

    #[test]
    fn any_bytes_are_filtered(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        for filter in ALL {
            passes(filter, &bytes);
        }
    }
}
