//! What a packet carries by which it is known again.

use std::net::IpAddr;

use sha2::{Digest, Sha256};

/// What a packet carries by which it is known again at another place; probe and reply have the
/// same. Keys of different forms never agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    high: u64,
    low: u64,
}

/// Forms of keys, in the uppermost bits.
const STAMP: u64 = 1;
const ICMP: u64 = 2;
const FLOW: u64 = 3;
const BYTES: u64 = 4;
const FORM_SHIFT: u32 = 60;

impl Key {
    /// Of a STAMP packet (RFC 8762, RFC 8972): the session's identifier, and the sequence number
    /// and stamp of the sender, as 64 bits in whichever format; the reflector returns all three.
    pub fn stamp(ssid: u16, sequence: u32, sender_stamp: u64) -> Self {
        Self {
            high: STAMP << FORM_SHIFT | u64::from(ssid) << 32 | u64::from(sequence),
            low: sender_stamp,
        }
    }

    /// Of an ICMP echo request or its reply: identifier, sequence number and payload. Identifier
    /// and sequence number repeat after 65 536 probes, so that the payload should begin with a
    /// stamp.
    pub fn icmp(identifier: u16, sequence: u16, payload: &[u8]) -> Self {
        let numbers = [identifier.to_be_bytes(), sequence.to_be_bytes()].concat();
        Self::digest(ICMP, &[&numbers, payload])
    }

    /// Of a packet of some protocol (the number in the IP header), known by where it goes and a
    /// number in it. For a reply, source and destination are those of the probe.
    pub fn flow(source: IpAddr, destination: IpAddr, protocol: u8, number: u64) -> Self {
        // IPv4 in the form of IPv6, so that fields have one length.
        let octets = |address: IpAddr| match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
            IpAddr::V6(v6) => v6.octets(),
        };
        let number = number.to_be_bytes();
        Self::digest(
            FLOW,
            &[&octets(source), &octets(destination), &[protocol], &number],
        )
    }

    /// Of the bytes that a packet and its reply have in common.
    pub fn bytes(bytes: &[u8]) -> Self {
        Self::digest(BYTES, &[bytes])
    }

    /// As two numbers, for files.
    pub fn halves(self) -> [u64; 2] {
        [self.high, self.low]
    }

    /// The one that has these halves.
    pub fn from_halves([high, low]: [u64; 2]) -> Self {
        Self { high, low }
    }

    /// 124 bits of SHA-256: nobody can make packets that are taken for others.
    fn digest(form: u64, parts: &[&[u8]]) -> Self {
        let mut sha = Sha256::new();
        for part in parts {
            sha.update(part);
        }
        let digest = sha.finalize();
        let mut words = digest.as_slice().chunks_exact(8).map(|word| {
            let bytes = word.iter().map(|&b| u64::from(b));
            bytes.fold(0, |value, byte| value << 8 | byte)
        });
        let mut word = || words.next().unwrap_or(0);
        let (high, low) = (word(), word());
        Self {
            high: form << FORM_SHIFT | high >> (64 - FORM_SHIFT),
            low,
        }
    }
}
