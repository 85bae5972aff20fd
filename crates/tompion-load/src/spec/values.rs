//! Values of options: sizes, rates, peers, CPUs.

use std::fmt;
use std::str::FromStr;
use tompion_model::{InvalidValue, parse_with_suffix};

/// Smallest size of a block or file: one page of the usual size.
const MIN_SIZE_BYTES: u64 = 4096;
/// Highest number of a CPU that Linux is built for.
const MAX_CPU: u32 = 8191;

/// The value of `size=`.
pub fn parse_size(text: &str) -> Result<u64, InvalidValue> {
    let wrong =
        || format!("size={text} should be a whole number of bytes from 4K, with K, M or G (64M)");
    let bytes = parse_with_suffix(text, 1024).ok_or_else(wrong)?;
    // Half the address space: beyond it no address arithmetic is safe.
    match (MIN_SIZE_BYTES..=i64::MAX as u64).contains(&bytes) {
        true => Ok(bytes),
        false => Err(wrong().into()),
    }
}

/// Bits per second, with an optional decimal suffix as networks use it.
pub fn parse_bits(text: &str) -> Result<u64, InvalidValue> {
    match parse_with_suffix(text, 1000) {
        Some(bits @ 100_000..=1_000_000_000_000) => Ok(bits),
        _ => Err(format!(
            "rate={text} should be bits per second from 100K to 1000G, with K, M or G (10M)"
        )
        .into()),
    }
}

/// The largest unit that divides the number.
fn in_unit(f: &mut fmt::Formatter<'_>, number: u64, base: u64) -> fmt::Result {
    for (power, unit) in [(3, 'G'), (2, 'M'), (1, 'K')] {
        let scale = base.pow(power);
        if number.is_multiple_of(scale) && number > 0 {
            return write!(f, "{}{unit}", number / scale);
        }
    }
    write!(f, "{number}")
}

/// Bytes in the largest unit that divides them.
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        in_unit(f, self.0, 1024)
    }
}

/// Bits per second in the largest unit that divides them.
pub struct Bits(pub u64);

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        in_unit(f, self.0, 1000)
    }
}

/// CPUs that a load may use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Cpus {
    /// These, sorted.
    List(Vec<u32>),
    /// The one on which the measurement runs.
    Measured,
    /// All but that one.
    Others,
}

impl FromStr for Cpus {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text {
            "measured" => return Ok(Self::Measured),
            "others" => return Ok(Self::Others),
            _ => {}
        }
        let wrong = || {
            format!(
                "cpus={text} should be measured, others, or CPU numbers such as 0,2-3 (up to \
                 {MAX_CPU})"
            )
        };
        // A plan may name the same ones a million times.
        let mut named = vec![false; MAX_CPU as usize + 1];
        for range in text.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| text.parse().ok().filter(|cpu: &u32| *cpu <= MAX_CPU);
            match (number(first), number(last)) {
                (Some(first), Some(last)) if first <= last => {
                    named[first as usize..=last as usize].fill(true);
                }
                _ => return Err(wrong().into()),
            }
        }
        let list = (0..=MAX_CPU).filter(|cpu| named[*cpu as usize]);
        Ok(Self::List(list.collect()))
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = match self {
            Self::Measured => return f.write_str("measured"),
            Self::Others => return f.write_str("others"),
            Self::List(list) => list,
        };
        f.write_str(&tompion_host::cpu_list(list))
    }
}

/// Where a load moves interrupts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Irq {
    /// The CPU on which the measurement runs.
    Measured,
    /// This one.
    Cpu(u32),
}

impl FromStr for Irq {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match (text, text.parse()) {
            ("measured", _) => Ok(Self::Measured),
            (_, Ok(cpu @ 0..=MAX_CPU)) => Ok(Self::Cpu(cpu)),
            _ => Err(format!(
                "irq={text} should be measured or the number of a CPU (up to {MAX_CPU})"
            )
            .into()),
        }
    }
}

impl fmt::Display for Irq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured => f.write_str("measured"),
            Self::Cpu(cpu) => write!(f, "{cpu}"),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum PortRule {
    Required,
    Optional,
}

/// The value of `peer=`.
pub fn parse_peer(peer: &str, port: PortRule) -> Result<String, InvalidValue> {
    let form = match port {
        PortRule::Required => "peer=HOST:PORT",
        PortRule::Optional => "peer=HOST or peer=HOST:PORT",
    };
    let wrong = || format!("'peer={peer}' should be {form}");
    let (host, number) = split_peer(peer);
    let host_is_safe = |c: char| c.is_ascii_alphanumeric() || ".-_:[]%".contains(c);
    // A leading dash would be an option to a driver.
    if host.is_empty() || host.starts_with('-') || !host.chars().all(host_is_safe) {
        return Err(wrong().into());
    }
    match number {
        None if port == PortRule::Required => Err(wrong().into()),
        Some(number) if !matches!(number.parse::<u16>(), Ok(1..)) => {
            Err(format!("port '{number}' should be from 1 to 65535").into())
        }
        _ => Ok(peer.to_owned()),
    }
}

/// Host and port of `HOST:PORT`, `[V6]:PORT` or `HOST`; the colons of a bare
/// IPv6 address are not a port's.
pub fn split_peer(peer: &str) -> (&str, Option<&str>) {
    match peer.rsplit_once(':') {
        Some((host, port)) if host.ends_with(']') || !host.contains(':') => (host, Some(port)),
        _ => (peer, None),
    }
}
