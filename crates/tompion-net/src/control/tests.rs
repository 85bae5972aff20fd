use proptest::prelude::*;

use super::*;

fn message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
    let mut bytes = (HEADER + data.len()).to_ne_bytes().to_vec();
    bytes.extend(level.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
    bytes
}

fn times(values: &[(i64, i64)]) -> Vec<u8> {
    let parts = values.iter().flat_map(|(s, ns)| [*s, *ns]);
    parts.flat_map(i64::to_ne_bytes).collect()
}

#[test]
fn software_and_hardware_stamps_are_told_apart() {
    let all = times(&[(5, 7), (0, 0), (9, 999_999_999)]);
    let read = Control::read(&message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &all));
    assert_eq!(read.software_ns, Some(5_000_000_007));
    assert_eq!(read.hardware_ns, Some(9_999_999_999));
    let none = times(&[(0, 0), (0, 0), (0, 0)]);
    let read = Control::read(&message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &none));
    assert_eq!((read.software_ns, read.hardware_ns), (None, None));
}

#[test]
fn a_stamp_of_microseconds_is_read_as_nanoseconds() {
    let data = times(&[(2, 3)]);
    let read = Control::read(&message(libc::SOL_SOCKET, libc::SO_TIMESTAMP, &data));
    assert_eq!(read.software_ns, Some(2_000_003_000));
}

#[test]
fn times_out_of_range_are_no_stamps() {
    for value in [(-1, 5), (i64::MAX, 0), (1, -5)] {
        let data = times(&[value]);
        let read = Control::read(&message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &data));
        assert_eq!(read.software_ns, None, "{value:?}");
    }
}

#[test]
fn several_messages_are_read_one_after_the_other() {
    let mut bytes = message(libc::SOL_IP, libc::IP_TTL, &64i32.to_ne_bytes());
    // The kernel sends the TOS as one byte.
    bytes.extend(message(libc::SOL_IP, libc::IP_TOS, &[0xb8]));
    bytes.extend(message(1234, 5, b"of no concern"));
    bytes.extend(message(
        libc::SOL_SOCKET,
        libc::SO_RXQ_OVFL,
        &7u32.to_ne_bytes(),
    ));
    let read = Control::read(&bytes);
    assert_eq!(
        (read.ttl, read.tos, read.drops),
        (Some(64), Some(0xb8), Some(7))
    );
}

#[test]
fn what_is_written_is_read_as_the_kernel_would() {
    let v4 = Route {
        from: Some(Ipv4Addr::new(127, 0, 0, 9).into()),
        interface: 3,
        tos: Some(0xb8),
        ttl: Some(255),
        ..Route::default()
    };
    let written = Written::new(&v4, Some(77), false);
    let read = Control::read(written.bytes());
    assert_eq!((read.ttl, read.tos), (Some(255), Some(0xb8)));
    assert_eq!(read.interface, Some(3));
    let v6 = Route {
        from: Some(Ipv6Addr::LOCALHOST.into()),
        ..v4
    };
    let written = Written::new(&v6, None, true);
    let read = Control::read(written.bytes());
    assert_eq!(read.destination, v6.from);
    assert_eq!(
        (read.ttl, read.tos, read.interface),
        (Some(255), Some(0xb8), Some(3))
    );
    // A source of the other family is none.
    let written = Written::new(
        &Route {
            from: v6.from,
            ..Route::default()
        },
        None,
        false,
    );
    assert_eq!(written.bytes(), b"");
}

#[test]
fn an_icmp_error_names_who_sent_it() {
    let mut data = 111u32.to_ne_bytes().to_vec();
    data.extend([libc::SO_EE_ORIGIN_ICMP, 3, 3, 0]);
    data.extend(1400u32.to_ne_bytes());
    data.extend(0u32.to_ne_bytes());
    let mut name = [0; address::MOST_BYTES];
    let offender = SocketAddr::from(([192, 0, 2, 1], 0));
    let length = address::write(&offender, &mut name);
    data.extend(&name[..length]);
    let read = Control::read(&message(libc::SOL_IP, libc::IP_RECVERR, &data));
    let error = read.error.expect("an error");
    assert_eq!(
        (error.errno, error.kind, error.code, error.info),
        (111, 3, 3, 1400)
    );
    assert_eq!(error.offender, Some(offender.ip()));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        Control::read(&bytes);
        address::read(&bytes);
        address::read_link(&bytes);
    }

    #[test]
    fn lengths_that_lie_end_the_reading(length in any::<u64>(), rest in prop::collection::vec(any::<u8>(), 8..64)) {
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(rest);
        Control::read(&bytes);
    }

    #[test]
    fn addresses_are_read_as_they_were_written(octets in any::<[u8; 16]>(), port in any::<u16>(), flow in 0u32..1 << 20, scope in any::<u32>()) {
        let mut name = [0; address::MOST_BYTES];
        let v6 = SocketAddr::V6(std::net::SocketAddrV6::new(octets.into(), port, flow, scope));
        let length = address::write(&v6, &mut name);
        prop_assert_eq!(address::read(&name[..length]), Some(v6));
        let v4 = SocketAddr::from(([octets[0], octets[1], octets[2], octets[3]], port));
        let length = address::write(&v4, &mut name);
        prop_assert_eq!(address::read(&name[..length]), Some(v4));
    }
}
