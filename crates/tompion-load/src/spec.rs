//! The text that names a load: `name`, or `name:key=value:key=value`.

use std::fmt;
use std::str::FromStr;

use crate::LoadError;

/// Every load: its name, and one line of help with its options.
pub const NAMES: &[(&str, &str)] = &[
    ("idle", "nothing runs beside the measurement"),
    (
        "cpu",
        "100 threads of square roots, as in Kirova 2019; threads=N",
    ),
    ("io", "one small block written and synced, over and over"),
    ("hd", "files written, synced and unlinked"),
    (
        "memory",
        "blocks mapped, touched and freed, one thread a CPU; threads=N, size=BYTES of one block (K, M, G)",
    ),
    (
        "memory-bus",
        "blocks larger than the last-level cache copied, one thread a CPU",
    ),
    (
        "network",
        "TCP both ways over loopback; peer=HOST:PORT to another machine",
    ),
    (
        "stress-ng",
        "the program stress-ng with these options, for example stress-ng:cpu=4:vm=1",
    ),
    (
        "iperf3",
        "the program iperf3, both ways over loopback; peer=HOST[:PORT] to an iperf3 server",
    ),
];

/// Threads of the `cpu` load in Kirova 2019, section 2.1.3.
const CPU_THREADS: u32 = 100;
/// More threads than this are a typing error rather than a wish.
const MAX_THREADS: u32 = 4096;
/// Smallest block of the `memory` load: one page of the usual size.
const MIN_BLOCK_BYTES: u64 = 4096;

/// stress-ng options refused because they break a promise of this crate.
const REFUSED: &[(&str, &str)] = &[
    ("io", "it syncs every file of the machine: use the load io"),
    ("hdd", "it writes without a limit: use the load hd"),
    ("iomix", "it writes without a limit: use the load hd"),
    ("sync-file", "it writes without a limit: use the load io"),
    ("all", "it includes stressors that write without a limit"),
    (
        "sequential",
        "it includes stressors that write without a limit",
    ),
    ("class", "it includes stressors that write without a limit"),
    ("timeout", "the load runs for as long as the trials need it"),
];

/// A load as asked for.
///
/// `Display` gives the canonical text with all fixed defaults, for example
/// `cpu:threads=100`; [`LoadSpec::level`] leaves them out. Both parse back to an
/// equal value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoadSpec(pub(crate) Kind);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Idle,
    Cpu {
        threads: u32,
    },
    Io,
    Hd,
    /// Absent means by the machine: see `worker::memory`.
    Memory {
        threads: Option<u32>,
        size_bytes: Option<u64>,
    },
    MemoryBus,
    Network {
        peer: Option<String>,
    },
    StressNg {
        options: Vec<(String, Option<String>)>,
    },
    Iperf3 {
        peer: Option<String>,
    },
}

impl LoadSpec {
    /// Whether this is the absence of load, which is never started.
    pub fn is_idle(&self) -> bool {
        self.0 == Kind::Idle
    }

    /// The factor level: the canonical text without the defaults.
    pub fn level(&self) -> String {
        match &self.0 {
            Kind::Cpu { threads } if *threads == CPU_THREADS => "cpu".to_owned(),
            _ => self.to_string(),
        }
    }

    /// Whether a program other than this one produces the load.
    pub(crate) fn is_driven(&self) -> bool {
        matches!(self.0, Kind::StressNg { .. } | Kind::Iperf3 { .. })
    }

    /// Whether writing files is what the load does.
    pub fn writes_files(&self) -> bool {
        matches!(self.0, Kind::Io | Kind::Hd)
    }

    /// Whether the load needs a directory for its files.
    pub fn needs_directory(&self) -> bool {
        self.writes_files() || self.is_driven()
    }
}

impl fmt::Display for LoadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peer = |f: &mut fmt::Formatter<'_>, peer: &Option<String>| match peer {
            Some(peer) => write!(f, ":peer={peer}"),
            None => Ok(()),
        };
        match &self.0 {
            Kind::Idle => f.write_str("idle"),
            Kind::Cpu { threads } => write!(f, "cpu:threads={threads}"),
            Kind::Io => f.write_str("io"),
            Kind::Hd => f.write_str("hd"),
            Kind::Memory {
                threads,
                size_bytes,
            } => {
                f.write_str("memory")?;
                if let Some(threads) = threads {
                    write!(f, ":threads={threads}")?;
                }
                match size_bytes {
                    Some(bytes) => write!(f, ":size={}", Size(*bytes)),
                    None => Ok(()),
                }
            }
            Kind::MemoryBus => f.write_str("memory-bus"),
            Kind::Network { peer: p } => {
                f.write_str("network")?;
                peer(f, p)
            }
            Kind::StressNg { options } => {
                f.write_str("stress-ng")?;
                options.iter().try_for_each(|(key, value)| match value {
                    Some(value) => write!(f, ":{key}={value}"),
                    None => write!(f, ":{key}"),
                })
            }
            Kind::Iperf3 { peer: p } => {
                f.write_str("iperf3")?;
                peer(f, p)
            }
        }
    }
}

impl FromStr for LoadSpec {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        parse(text).map(Self).map_err(|problem| LoadError::Spec {
            text: text.to_owned(),
            problem,
        })
    }
}

fn parse(text: &str) -> Result<Kind, String> {
    let (name, rest) = match text.split_once(':') {
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    };
    let without_options = |kind| match rest {
        None => Ok(kind),
        Some(_) => Err(format!("{name} takes no options")),
    };
    match name {
        "idle" => without_options(Kind::Idle),
        "io" => without_options(Kind::Io),
        "hd" => without_options(Kind::Hd),
        "memory-bus" => without_options(Kind::MemoryBus),
        "cpu" => {
            let options = Options::parse(rest, &["threads"])?;
            let threads = options.threads()?.unwrap_or(CPU_THREADS);
            Ok(Kind::Cpu { threads })
        }
        "memory" => {
            let options = Options::parse(rest, &["threads", "size"])?;
            Ok(Kind::Memory {
                threads: options.threads()?,
                size_bytes: options.get("size").map(parse_size).transpose()?,
            })
        }
        // A peer holds colons of its own, and is the only option.
        "network" => Ok(Kind::Network {
            peer: parse_peer(rest, PortRule::Required)?,
        }),
        "iperf3" => Ok(Kind::Iperf3 {
            peer: parse_peer(rest, PortRule::Optional)?,
        }),
        "stress-ng" => parse_stress_ng(rest),
        _ => {
            let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
            Err(format!("unknown name; known are {}", names.join(", ")))
        }
    }
}

/// `key=value` pairs, each key at most once and from a known set.
struct Options<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Options<'a> {
    fn parse(rest: Option<&'a str>, known: &[&str]) -> Result<Self, String> {
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for part in rest.iter().flat_map(|rest| rest.split(':')) {
            let expected = || format!("'{part}' should be {}", known.join("=... or ") + "=...");
            let (key, value) = part.split_once('=').ok_or_else(expected)?;
            if !known.contains(&key) || value.is_empty() {
                return Err(expected());
            }
            if pairs.iter().any(|(other, _)| *other == key) {
                return Err(format!("{key} is given twice"));
            }
            pairs.push((key, value));
        }
        Ok(Self(pairs))
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.iter().find(|(k, _)| *k == key).map(|(_, v)| *v)
    }

    fn threads(&self) -> Result<Option<u32>, String> {
        let parse = |value: &str| match value.parse() {
            Ok(threads @ 1..=MAX_THREADS) => Ok(threads),
            _ => Err(format!(
                "threads={value} should be a whole number from 1 to {MAX_THREADS}"
            )),
        };
        self.get("threads").map(parse).transpose()
    }
}

/// Bytes, with an optional binary suffix.
fn parse_size(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("size={text} should be a whole number of bytes from 4K, with K, M or G (64M)");
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(1 << shift).ok_or_else(wrong)?;
    // Half the address space: beyond it no address arithmetic is safe.
    match (MIN_BLOCK_BYTES..=i64::MAX as u64).contains(&bytes) {
        true => Ok(bytes),
        false => Err(wrong()),
    }
}

/// Bytes in the largest unit that divides them.
pub(crate) struct Size(pub(crate) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes.is_multiple_of(1 << 30) => write!(f, "{}G", bytes >> 30),
            bytes if bytes.is_multiple_of(1 << 20) => write!(f, "{}M", bytes >> 20),
            bytes if bytes.is_multiple_of(1 << 10) => write!(f, "{}K", bytes >> 10),
            bytes => write!(f, "{bytes}"),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum PortRule {
    Required,
    Optional,
}

fn parse_peer(rest: Option<&str>, port: PortRule) -> Result<Option<String>, String> {
    let Some(rest) = rest else { return Ok(None) };
    let form = match port {
        PortRule::Required => "peer=HOST:PORT",
        PortRule::Optional => "peer=HOST or peer=HOST:PORT",
    };
    let wrong = || format!("'{rest}' should be {form}");
    let peer = rest.strip_prefix("peer=").ok_or_else(wrong)?;
    let (host, number) = split_peer(peer);
    let host_is_safe = |c: char| c.is_ascii_alphanumeric() || ".-_:[]%".contains(c);
    // A leading dash would be an option to a driver.
    if host.is_empty() || host.starts_with('-') || !host.chars().all(host_is_safe) {
        return Err(wrong());
    }
    match number {
        None if port == PortRule::Required => Err(wrong()),
        Some(number) if !matches!(number.parse::<u16>(), Ok(1..)) => {
            Err(format!("port '{number}' should be from 1 to 65535"))
        }
        _ => Ok(Some(peer.to_owned())),
    }
}

/// Host and port of `HOST:PORT`, `[V6]:PORT` or `HOST`; the colons of a bare
/// IPv6 address are not a port's.
pub(crate) fn split_peer(peer: &str) -> (&str, Option<&str>) {
    match peer.rsplit_once(':') {
        Some((host, port)) if host.ends_with(']') || !host.contains(':') => (host, Some(port)),
        _ => (peer, None),
    }
}

fn parse_stress_ng(rest: Option<&str>) -> Result<Kind, String> {
    let example = "for example stress-ng:cpu=4";
    let rest = rest.ok_or_else(|| format!("stress-ng needs a stressor, {example}"))?;
    let mut options = Vec::new();
    for part in rest.split(':') {
        let (key, value) = match part.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (part, None),
        };
        let key_is_safe = key.starts_with(|c: char| c.is_ascii_lowercase())
            && key
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        let value_is_safe = value.is_none_or(|value| {
            value.starts_with(|c: char| c.is_ascii_alphanumeric())
                && value
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "._%-".contains(c))
        });
        if !key_is_safe || !value_is_safe {
            return Err(format!(
                "'{part}' should be an option of stress-ng without its dashes, made of letters, \
                 digits and . _ % -, {example}"
            ));
        }
        if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == key) {
            return Err(format!(
                "the option {key} of stress-ng is not allowed: {why}"
            ));
        }
        options.push((key.to_owned(), value.map(str::to_owned)));
    }
    Ok(Kind::StressNg { options })
}

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;
