//! Kernels that refuse stamps, as gVisor does: the same calls, refused by a filter.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use tompion_net::sender::one_by_one;
use tompion_net::{
    Losses, Options, ReceiveStamps, ReflectPlan, StampingSocket, Stop, TransmitStamps, Transport,
};
use tompion_time::sleep::{Policy, Sleeper};

use crate::reflecting::{Mirror, Running, listening};
use crate::senders::{Ends, every};
use crate::sys::refuse_socket_options;

const REFUSED: TransmitStamps = TransmitStamps::User {
    errno: libc::ENOPROTOOPT,
};

/// Measures on a thread that is refused these options. What stamps of answers it had.
fn measured_without(options: &[i32], expected: ReceiveStamps) {
    const PROBES: usize = 50;
    let far = listening((Ipv4Addr::LOCALHOST, 0).into());
    let address: SocketAddr = far.local();
    let running = Running::new(vec![far], ReflectPlan::default(), Mirror::default());
    let (ends, tally) = thread::scope(|scope| {
        scope
            .spawn(|| {
                refuse_socket_options(options).expect("a filter");
                let near = StampingSocket::open(&Options::to(Transport::Udp, address));
                let near = near.expect("a socket all the same");
                assert_eq!(near.capability().transmit, REFUSED);
                assert_eq!(near.capability().receive, expected);
                let mut ends = Ends::new(PROBES);
                let plan = every(Duration::from_millis(1), PROBES as u64);
                let stop = Stop::new().expect("a file");
                let mut sleeper = Sleeper::new(Policy::Kernel);
                let tally = one_by_one(&near, &plan, &mut sleeper, &mut ends, &stop);
                (ends, tally.expect("a run"))
            })
            .join()
            .expect("no panic")
    });
    running.end();
    assert_eq!((tally.sent, tally.answered), (PROBES as u64, PROBES as u64));
    // What was not to come is not missing.
    assert_eq!((tally.stamps, tally.losses), (0, Losses::default()));
    let has_none = matches!(expected, ReceiveStamps::User { .. });
    assert_eq!(tally.unstamped, if has_none { PROBES as u64 } else { 0 });
    for row in &ends.rows {
        let user = row.user_ns.expect("a user stamp");
        let (arrived, read) = row.answer.expect("an answer");
        assert!(user <= read);
        match expected {
            ReceiveStamps::User { .. } => assert_eq!(arrived, 0),
            ReceiveStamps::Microseconds => {
                assert!(arrived % 1000 == 0 && arrived >= user - 1000 && arrived <= read);
            }
            ReceiveStamps::Nanoseconds => assert!(user <= arrived && arrived <= read),
        }
    }
}

#[test]
fn without_transmit_stamps_those_of_arrival_serve() {
    measured_without(&[libc::SO_TIMESTAMPING], ReceiveStamps::Nanoseconds);
    measured_without(
        &[libc::SO_TIMESTAMPING, libc::SO_TIMESTAMPNS],
        ReceiveStamps::Microseconds,
    );
}

#[test]
fn without_any_stamps_of_the_kernel_user_stamps_serve() {
    let all = [
        libc::SO_TIMESTAMPING,
        libc::SO_TIMESTAMPNS,
        libc::SO_TIMESTAMP,
    ];
    let errno = libc::ENOPROTOOPT;
    measured_without(&all, ReceiveStamps::User { errno });
}

#[test]
fn stamps_that_were_not_asked_for_do_not_come() {
    let far = listening((Ipv4Addr::LOCALHOST, 0).into());
    let near = StampingSocket::open(&Options {
        kernel_stamps: false,
        ..Options::to(Transport::Udp, far.local())
    });
    let capability = *near.expect("a socket").capability();
    assert_eq!(capability.transmit, TransmitStamps::User { errno: 0 });
    assert_eq!(capability.receive, ReceiveStamps::User { errno: 0 });
}

/// A limit that root alone may override: what was granted is told.
#[test]
fn a_buffer_that_is_refused_is_told() {
    let near = thread::spawn(|| {
        refuse_socket_options(&[libc::SO_RCVBUFFORCE]).expect("a filter");
        StampingSocket::open(&Options {
            receive_buffer: 1 << 30,
            ..Options::new(Transport::Udp, (Ipv4Addr::LOCALHOST, 0).into())
        })
    });
    let near = near.join().expect("no panic").expect("a socket");
    let buffer = near.capability().receive_buffer;
    assert!(
        !buffer.is_forced && buffer.granted < buffer.asked,
        "{buffer:?}"
    );
    assert_eq!(buffer.asked, 1 << 30);
}
