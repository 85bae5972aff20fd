//! ICMP echo packets: RFC 792, RFC 4443.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha12Rng;

#[cfg(test)]
mod tests;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 8;
/// Bytes at the beginning of the data by which an answer is known: a token and the probe's number.
pub const MARK_BYTES: usize = 16;

/// Which ICMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// ICMP, over IPv4.
    V4,
    /// ICMPv6, over IPv6.
    V6,
}

impl Version {
    /// The type of an echo request.
    pub const fn request(self) -> u8 {
        match self {
            Self::V4 => 8,
            Self::V6 => 128,
        }
    }

    /// The type of an echo reply.
    pub const fn reply(self) -> u8 {
        match self {
            Self::V4 => 0,
            Self::V6 => 129,
        }
    }
}

/// Echo requests of one run, and the answers to them.
///
/// The 16 bits of a sequence number do not tell probes apart for long, and other programs'
/// answers reach a raw socket, too: the data begins with a token of the probe and its
/// number, and an answer has to bring both back, with the identifier and the sequence number.
/// Nobody who saw those of other probes can answer one before it was sent: tokens are the words of a
/// stream cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Over which IP.
    pub version: Version,
    /// The identifier: the caller's choice on a raw socket, the local port of a ping socket.
    pub identifier: u16,
    /// What nobody else has, and tokens are made of; a random number.
    pub secret: [u64; 2],
}

impl Echo {
    /// That of a probe.
    pub fn token(&self, number: u64) -> u64 {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.secret[0].to_be_bytes());
        seed[8..16].copy_from_slice(&self.secret[1].to_be_bytes());
        let mut words = ChaCha12Rng::from_seed(seed);
        words.set_stream(number);
        words.next_u64()
    }

    /// Writes the request of a probe into `packet`, with a checksum over IPv4 (over IPv6 the
    /// kernel makes it). Data beyond the mark counts up from 0.
    ///
    /// Its length in bytes: that of `packet`, which is at least [`HEADER_BYTES`] and
    /// [`MARK_BYTES`]; 0 where it is shorter, and nothing is written.
    pub fn write(&self, number: u64, packet: &mut [u8]) -> usize {
        if packet.len() < HEADER_BYTES + MARK_BYTES {
            return 0;
        }
        packet[..4].copy_from_slice(&[self.version.request(), 0, 0, 0]);
        packet[4..6].copy_from_slice(&self.identifier.to_be_bytes());
        packet[6..8].copy_from_slice(&(number as u16).to_be_bytes());
        packet[8..16].copy_from_slice(&self.token(number).to_be_bytes());
        packet[16..24].copy_from_slice(&number.to_be_bytes());
        for (index, byte) in packet[24..].iter_mut().enumerate() {
            *byte = index as u8;
        }
        if self.version == Version::V4 {
            let sum = checksum(packet);
            packet[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        packet.len()
    }

    /// Whose answer it is; none where it is not one to this run's requests.
    pub fn answered(&self, packet: &[u8]) -> Option<u64> {
        let is_intact = self.version == Version::V6 || checksum(packet) == 0;
        let is_reply = packet.get(..2) == Some(&[self.version.reply(), 0]);
        (is_intact && is_reply).then(|| self.number(packet))?
    }

    /// The probe of which an ICMP error quotes the request; as much of it as is needed may be
    /// missing, and then there is none.
    pub fn quoted(&self, packet: &[u8]) -> Option<u64> {
        let is_request = packet.get(..2) == Some(&[self.version.request(), 0]);
        is_request.then(|| self.number(packet))?
    }

    fn number(&self, packet: &[u8]) -> Option<u64> {
        let token = u64::from_be_bytes(packet.get(8..16)?.try_into().ok()?);
        let number = u64::from_be_bytes(packet.get(16..24)?.try_into().ok()?);
        let is_ours = packet[4..6] == self.identifier.to_be_bytes()
            && packet[6..8] == (number as u16).to_be_bytes()
            && token == self.token(number);
        is_ours.then_some(number)
    }
}

/// The Internet checksum (RFC 1071); 0 over what has the right one in it.
pub fn checksum(bytes: &[u8]) -> u16 {
    let mut sum = 0u64;
    for pair in bytes.chunks(2) {
        let low = pair.get(1).copied().unwrap_or(0);
        sum += u64::from(u16::from_be_bytes([pair[0], low]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
