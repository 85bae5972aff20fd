//! What chronyd answers on its command port: protocol version 6, of chrony 2.2 and later
//! (`candm.h` of chrony has it).

use std::net::{Ipv4Addr, Ipv6Addr};

use super::Ask;
use super::source::Source;

/// Where it listens unless `cmdport` says otherwise.
const PORT: u16 = 323;
const VERSION: u8 = 6;
const IS_REQUEST: u8 = 1;
const IS_REPLY: u8 = 2;
const REQUEST_BYTES: usize = 20;
const REPLY_BYTES: usize = 28;
/// Requests are as long as their replies, so that nobody's answers flood somebody else.
const PADDED_BYTES: usize = REPLY_BYTES + 256;
/// Of its own choosing; a connected socket receives no others.
const SEQUENCE: u32 = 0x746f_6d70;

/// A command and the form of its reply, by number.
struct Command(u16, u16);

const N_SOURCES: Command = Command(14, 2);
const SOURCE_DATA: Command = Command(15, 3);
const TRACKING: Command = Command(33, 5);

const NOT_SYNCHRONISED: u16 = 3;

/// How chronyd follows its sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tracking {
    /// Whether it is synchronised.
    pub in_step: bool,
    pub stratum: u16,
    /// By how much the clock is ahead and still to be corrected, in seconds.
    pub ahead_s: f64,
    pub root_delay_s: f64,
    pub root_dispersion_s: f64,
}

/// What chronyd says; nothing where it does not answer, or in another way than it should.
pub fn tracking(daemons: &dyn Ask) -> Option<Tracking> {
    let reply = request(daemons, TRACKING, &[])?;
    let mut fields = Fields(&reply);
    fields.skip(4 + ADDRESS_BYTES)?;
    let (stratum, leap) = (fields.u16()?, fields.u16()?);
    fields.skip(12)?;
    // Positive where it will be added, to a clock that is behind.
    let correction_s = fields.float()?;
    fields.skip(5 * 4)?;
    let tracking = Tracking {
        in_step: leap < NOT_SYNCHRONISED,
        stratum,
        ahead_s: -correction_s,
        root_delay_s: fields.float()?,
        root_dispersion_s: fields.float()?,
    };
    let numbers = [
        tracking.ahead_s,
        tracking.root_delay_s,
        tracking.root_dispersion_s,
    ];
    numbers.iter().all(|x| x.is_finite()).then_some(tracking)
}

/// Its sources, `most` of them.
pub fn sources(daemons: &dyn Ask, most: u32) -> Vec<Source> {
    let number = request(daemons, N_SOURCES, &[]).and_then(|reply| Fields(&reply).u32());
    let indices = 0..number.unwrap_or(0).min(most);
    // The first that is not answered is the last that is asked for.
    let answers = indices.map_while(|i| request(daemons, SOURCE_DATA, &i.to_be_bytes()));
    answers.filter_map(|reply| source(&reply)).collect()
}

fn source(reply: &[u8]) -> Option<Source> {
    let mut fields = Fields(reply);
    let address = fields.take(16)?;
    let family = fields.u16()?;
    fields.skip(2 + 2 + 2)?;
    let (state, mode) = (fields.u16()?, fields.u16()?);
    fields.skip(2)?;
    let reach = fields.u16()?;
    let first: [u8; 4] = address[..4].try_into().ok()?;
    let is_reference_clock = mode == 2;
    let name = match family {
        1 if is_reference_clock => reference(&first),
        1 => Ipv4Addr::from(first).to_string(),
        2 => Ipv6Addr::from(<[u8; 16]>::try_from(address).ok()?).to_string(),
        _ => "not resolved".to_owned(),
    };
    Some(Source {
        name,
        is_reference_clock,
        state: match state {
            0 => "selected",
            4 | 5 => "usable",
            _ if reach == 0 => "unreachable",
            _ => "not usable",
        },
    })
}

/// The name of a reference clock: up to four letters.
fn reference(id: &[u8; 4]) -> String {
    let letters = id.iter().copied().filter(u8::is_ascii_graphic);
    letters.map(char::from).collect()
}

/// What follows the header of the reply.
fn request(daemons: &dyn Ask, command: Command, body: &[u8]) -> Option<Vec<u8>> {
    let mut packet = vec![0; PADDED_BYTES];
    packet[0] = VERSION;
    packet[1] = IS_REQUEST;
    packet[4..6].copy_from_slice(&command.0.to_be_bytes());
    packet[8..12].copy_from_slice(&SEQUENCE.to_be_bytes());
    packet[REQUEST_BYTES..REQUEST_BYTES + body.len()].copy_from_slice(body);
    let reply = daemons.ask(PORT, &packet)?;
    let mut header = Fields(&reply);
    let is_ours = header.take(4)? == [VERSION, IS_REPLY, 0, 0]
        && (header.u16()?, header.u16()?, header.u16()?) == (command.0, command.1, 0)
        && header.skip(6).is_some()
        && header.u32()? == SEQUENCE;
    is_ours.then(|| reply.get(REPLY_BYTES..).unwrap_or_default().to_vec())
}

/// An address with its family.
const ADDRESS_BYTES: usize = 20;

/// Fields of a reply, one after the other, most significant byte first.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.take(bytes).map(|_| ())
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    /// A number of chrony's own form: 7 bits of exponent, then 25 of mantissa, both with
    /// their signs.
    fn float(&mut self) -> Option<f64> {
        let bits = self.u32()?.cast_signed();
        let (exponent, mantissa) = (bits >> 25, bits << 7 >> 7);
        Some(f64::from(mantissa) * f64::from(exponent - 25).exp2())
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn numbers_of_chrony_are_read() {
        // Of the reply that is recorded in tests.rs, reckoned by hand; `chronyc -c tracking`
        // showed 9.257 us a moment before.
        for (bits, value) in [
            (0xdf4d_b23f_u32, -2.656_932_6e-6),
            (0xe29b_4e83, 9.257e-6),
            (0xdc86_23f0, 9.994_237_2e-7),
            (0x0281_8c79, 0.506_049_69),
            (0x0480_0000, 1.0),
            (0, 0.0),
        ] {
            let read = Fields(&bits.to_be_bytes()).float().unwrap();
            assert!(
                (read - value).abs() <= 1e-7 * value.abs(),
                "{bits:#x}: {read}"
            );
        }
    }

    #[test]
    fn a_reference_clock_has_letters_and_no_others() {
        assert_eq!(reference(b"PHC0"), "PHC0");
        assert_eq!(reference(b"\x1bA\0\n"), "A");
    }
}
