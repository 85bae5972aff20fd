use super::*;

fn refused() -> io::Error {
    io::Error::from_raw_os_error(libc::EACCES)
}

#[test]
fn missing_rights_are_named_in_the_same_line() {
    let address = SocketAddr::from(([0, 0, 0, 0], 862));
    for (error, needs) in [
        (
            NetError::Open {
                what: "a raw ICMP socket",
                needs: "CAP_NET_RAW",
                source: refused(),
            },
            "CAP_NET_RAW",
        ),
        (
            NetError::Bind {
                address,
                source: refused(),
            },
            LOW_PORT,
        ),
        (
            NetError::Device {
                device: "eth0".to_owned(),
                what: "stamp in hardware",
                source: refused(),
            },
            "CAP_NET_ADMIN",
        ),
    ] {
        let line = error.to_string();
        assert!(line.ends_with(&format!(" (it takes {needs})")), "{line}");
        assert!(!line.contains('\n'));
    }
    let taken = NetError::Bind {
        address,
        source: io::Error::from_raw_os_error(libc::EADDRINUSE),
    };
    assert!(!taken.to_string().contains("it takes"), "{taken}");
}

#[test]
fn what_was_not_sent_says_why() {
    let of = |code| SendError::new(io::Error::from_raw_os_error(code));
    assert!(matches!(of(libc::EAGAIN), SendError::QueueFull(_)));
    assert!(matches!(of(libc::ENOBUFS), SendError::QueueFull(_)));
    assert!(matches!(of(libc::EMSGSIZE), SendError::TooLong(_)));
    assert!(matches!(of(libc::ENETUNREACH), SendError::Unreachable(_)));
    assert!(matches!(of(libc::EBADF), SendError::Other(_)));
}
