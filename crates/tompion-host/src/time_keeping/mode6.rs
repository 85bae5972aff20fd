//! What ntpd answers to control messages (mode 6 of NTP, RFC 9327), of which `ntpq` makes use.

use std::collections::BTreeMap;

use super::Ask;
use super::source::Source;

const PORT: u16 = 123;
/// No leap warning, version 2, mode 6.
const FIRST_BYTE: u8 = 0x16;
const READ_STATUS: u8 = 1;
const READ_VARIABLES: u8 = 2;
const IS_RESPONSE: u8 = 0x80;
const IS_ERROR: u8 = 0x40;
const OPERATION: u8 = 0x1f;
const SEQUENCE: u16 = 0x746f;
const HEADER_BYTES: usize = 12;
/// What a clock of unknown rate is reckoned to go wrong, in seconds a second (RFC 5905, PHI).
const DRIFT: f64 = 15e-6;

/// How ntpd follows its sources.
#[derive(Clone, Debug, PartialEq)]
pub struct Tracking {
    pub version: String,
    pub in_step: bool,
    pub stratum: u32,
    /// By how much the clock is ahead, in seconds.
    pub ahead_s: f64,
    pub root_delay_s: f64,
    /// As of its last correction, and grown since then.
    pub root_dispersion_s: f64,
}

/// What ntpd says; nothing where it does not answer, as it may be told not to.
pub fn tracking(daemons: &dyn Ask) -> Option<Tracking> {
    let wanted = "version,leap,stratum,rootdelay,rootdisp,offset,reftime,clock";
    let values = variables(daemons, 0, wanted)?;
    let number = |name: &str| {
        let value: f64 = values.get(name)?.parse().ok()?;
        value.is_finite().then_some(value)
    };
    let moment = |name: &str| timestamp(values.get(name)?);
    let since_s = moment("clock")
        .zip(moment("reftime"))
        .map(|(now, then)| now - then);
    Some(Tracking {
        version: values.get("version").cloned().unwrap_or_default(),
        in_step: number("leap")? < 3.0,
        stratum: number("stratum")? as u32,
        // Its offset is what the clock is behind by.
        ahead_s: -number("offset")? / 1e3,
        root_delay_s: number("rootdelay")? / 1e3,
        root_dispersion_s: number("rootdisp")? / 1e3 + since_s.unwrap_or(0.0).max(0.0) * DRIFT,
    })
}

/// Its sources, `most` of them.
pub fn sources(daemons: &dyn Ask, most: usize) -> Vec<Source> {
    let listed = request(daemons, READ_STATUS, 0, "").unwrap_or_default();
    let pairs = listed.chunks_exact(4).take(most);
    let pairs = pairs.map(|b| {
        (
            u16::from_be_bytes([b[0], b[1]]),
            u16::from_be_bytes([b[2], b[3]]),
        )
    });
    let asked = pairs.map_while(|(association, status)| {
        let values = variables(daemons, association, "srcadr,reach")?;
        Some(source(status, &values))
    });
    asked.collect()
}

fn source(status: u16, values: &BTreeMap<String, String>) -> Source {
    const LONGEST: usize = 64;
    let name = values.get("srcadr").map_or("", String::as_str);
    let reach = values.get("reach").map_or("", String::as_str);
    Source {
        name: name.chars().take(LONGEST).collect(),
        // Addresses of drivers: 127.127.TYPE.UNIT; ntpsec gives them names.
        is_reference_clock: name.starts_with("127.127.") || name.contains('('),
        state: match status >> 8 & 7 {
            6 | 7 => "selected",
            4 | 5 => "usable",
            _ if matches!(reach, "0" | "0x0" | "000") => "unreachable",
            _ => "not usable",
        },
    }
}

/// Seconds since 1900 of a time in hexadecimal digits, `0xeeb05c9c.6a776347`.
fn timestamp(text: &str) -> Option<f64> {
    let (seconds, fraction) = text.strip_prefix("0x")?.split_once('.')?;
    let number = |digits| u32::from_str_radix(digits, 16).ok().map(f64::from);
    Some(number(seconds)? + number(fraction)? / 4_294_967_296.0)
}

/// Variables of the system (association 0) or of a source.
fn variables(
    daemons: &dyn Ask,
    association: u16,
    wanted: &str,
) -> Option<BTreeMap<String, String>> {
    let data = request(daemons, READ_VARIABLES, association, wanted)?;
    let text = String::from_utf8_lossy(&data);
    let text = tompion_model::printable(&text);
    let pairs = text.split(',').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let value = value.trim().trim_matches('"');
        Some((name.trim().to_owned(), value.to_owned()))
    });
    Some(pairs.collect())
}

/// The data of the first packet of a response: few variables are asked for, and fit.
fn request(daemons: &dyn Ask, operation: u8, association: u16, text: &str) -> Option<Vec<u8>> {
    let mut packet = vec![FIRST_BYTE, operation];
    for field in [SEQUENCE, 0, association, 0, text.len() as u16] {
        packet.extend(field.to_be_bytes());
    }
    packet.extend(text.as_bytes());
    // In words of four bytes.
    packet.resize(packet.len().next_multiple_of(4), 0);
    let reply = daemons.ask(PORT, &packet)?;
    let header = reply.get(..HEADER_BYTES)?;
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let is_ours = header[0] & 7 == 6
        && header[1] & IS_RESPONSE != 0
        && header[1] & IS_ERROR == 0
        && header[1] & OPERATION == operation
        && (word(2), word(6), word(8)) == (SEQUENCE, association, 0);
    let length = usize::from(word(10));
    is_ours.then_some(())?;
    reply
        .get(HEADER_BYTES..HEADER_BYTES + length)
        .map(<[u8]>::to_vec)
}
