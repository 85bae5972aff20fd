//! Who is at the other end.

use std::net::SocketAddr;

use serde::Serialize;
use tompion_packets::{Family, TRANSPORT_BYTES};

/// How it tells when packets arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Of a whole train at once, when it is asked: nothing goes back while it passes.
    Asked,
    /// In a reply to each packet, as long as the packet.
    Replies,
}

/// What is known of the far end.
#[derive(Clone, Debug, Serialize)]
pub struct FarEnd {
    /// Version of Tompion that answers, its first two numbers.
    pub tompion: Option<(u8, u8)>,
    /// How it tells when packets arrived.
    pub arrivals: Arrivals,
    /// Who stamps packets there, where it says so: `user`, `kernel` or `hardware`.
    pub receives_by: Option<&'static str>,
    /// The least step of its receive stamps that was seen, in nanoseconds.
    pub step_ns: Option<i64>,
    /// The least round trip of a packet of full length, in nanoseconds.
    pub round_trip_ns: i64,
}

/// What UDP carries of a packet of that length.
pub(crate) fn payload(to: &SocketAddr, bytes: u32) -> usize {
    let headers = Family::of(&to.ip()).header_bytes() + TRANSPORT_BYTES;
    (bytes as usize).saturating_sub(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_of_the_family() {
        let payload = |to: &str| payload(&to.parse().expect("an address"), 1_500);
        assert_eq!(payload("192.0.2.1:862"), 1_472);
        assert_eq!(payload("[2001:db8::1]:862"), 1_452);
    }
}
