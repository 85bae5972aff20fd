//! From text to one load.

use tompion_record::parse_duration_ns;

use super::NAMES;
use super::part::{CPU_THREADS, Kind, Level, PERIOD_NS, Part, READ_BYTES, UDP_BITS};
use super::values::{Cpus, PortRule, parse_bits, parse_peer, parse_size};

/// More threads than this are a typing error rather than a wish.
const MAX_THREADS: u32 = 4096;
/// Periods of a `cpu` load with a level: below, reading the CPU time would be the
/// load; above, trials would see the load on or off.
const PERIODS_NS: std::ops::RangeInclusive<u64> = 100_000..=10_000_000_000;

/// Every option with what it looks like.
const FORMS: &[(&str, &str)] = &[
    ("threads", "threads=N"),
    ("level", "level=PERCENT"),
    ("period", "period=TIME"),
    ("size", "size=BYTES"),
    ("irq", "irq=measured or irq=CPU"),
    ("peer", "peer=HOST:PORT"),
    ("rate", "rate=BITS"),
    ("dir", "dir=MOUNTPOINT"),
    ("cpus", "cpus=LIST"),
];

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

/// Parses one load, without `+`.
pub fn parse(text: &str) -> Result<Part, String> {
    let (name, rest) = match text.split_once(':') {
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    };
    let any_cpu = |kind| Part { kind, cpus: None };
    // These two hand their options on to another program.
    match name {
        "stress-ng" => return parse_stress_ng(rest).map(any_cpu),
        "iperf3" => {
            let peer = rest.map(|rest| {
                let form = "peer=HOST or peer=HOST:PORT";
                let peer = rest.strip_prefix("peer=");
                let peer = peer.ok_or_else(|| format!("'{rest}' should be {form}"))?;
                parse_peer(peer, PortRule::Optional)
            });
            return Ok(any_cpu(Kind::Iperf3 {
                peer: peer.transpose()?,
            }));
        }
        "idle" if rest.is_some() => return Err("idle takes no options".to_owned()),
        _ => {}
    }
    let known: &[&str] = match name {
        "idle" => &[],
        "cpu" => &["threads", "level", "period", "cpus"],
        "disk-read" => &["size", "irq", "cpus"],
        "nfs" => &["dir", "cpus"],
        "memory" => &["threads", "size", "cpus"],
        "io" | "hd" | "memory-bus" => &["cpus"],
        "network" | "download" | "file-server" => &["peer", "cpus"],
        "udp" => &["peer", "rate", "cpus"],
        _ => {
            let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
            return Err(format!("unknown name; known are {}", names.join(", ")));
        }
    };
    let options = Options::parse(rest, known)?;
    let kind = match name {
        "idle" => Kind::Idle,
        "io" => Kind::Io,
        "hd" => Kind::Hd,
        "memory-bus" => Kind::MemoryBus,
        "cpu" => cpu(&options)?,
        "disk-read" => Kind::DiskRead {
            size_bytes: options.value("size", parse_size)?.unwrap_or(READ_BYTES),
            irq: options.value("irq", str::parse)?,
        },
        "nfs" => Kind::Nfs {
            dir: options
                .value("dir", parse_dir)?
                .ok_or("nfs needs the directory of an NFS mount: nfs:dir=MOUNTPOINT")?,
        },
        "memory" => Kind::Memory {
            threads: options.threads()?,
            size_bytes: options.value("size", parse_size)?,
        },
        "udp" => Kind::Udp {
            peer: options.peer()?,
            bits_per_second: options.value("rate", parse_bits)?.unwrap_or(UDP_BITS),
        },
        "download" => Kind::Download {
            peer: options.peer()?,
        },
        "file-server" => Kind::FileServer {
            peer: options.peer()?,
        },
        _ => Kind::Network {
            peer: options.peer()?,
        },
    };
    let cpus = options.value("cpus", str::parse::<Cpus>)?;
    Ok(Part { kind, cpus })
}

fn cpu(options: &Options<'_>) -> Result<Kind, String> {
    let percent = options.value("level", |text| match text.trim_end_matches('%').parse() {
        Ok(percent @ 1..=100) => Ok(percent),
        _ => Err(format!(
            "level={text} should be a whole number of percent from 1 to 100"
        )),
    })?;
    let period = options.value("period", |text| {
        let ns = parse_duration_ns(text).map_err(|e| format!("period={text}: {e}"))?;
        match PERIODS_NS.contains(&ns) {
            true => Ok(ns),
            false => Err(format!("period={text} should be from 100us to 10s")),
        }
    })?;
    let threads = options.threads()?;
    match percent {
        None if period.is_some() => {
            Err("period=TIME needs level=PERCENT: without a level threads are always busy".into())
        }
        None => Ok(Kind::Cpu {
            threads: Some(threads.unwrap_or(CPU_THREADS)),
            level: None,
        }),
        Some(percent) => Ok(Kind::Cpu {
            threads,
            level: Some(Level {
                percent,
                period_ns: period.unwrap_or(PERIOD_NS),
            }),
        }),
    }
}

/// A path without the characters that part loads and their options.
fn parse_dir(text: &str) -> Result<String, String> {
    match text.starts_with('/') && !text.contains([':', '+', ',', '=']) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "dir={text} should be an absolute path without : + , and ="
        )),
    }
}

/// `key=value` pairs, each key at most once and from a known set.
struct Options<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Options<'a> {
    fn parse(rest: Option<&'a str>, known: &[&str]) -> Result<Self, String> {
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for part in rest.into_iter().flat_map(pieces) {
            let expected = || {
                let forms = FORMS.iter().filter(|form| known.contains(&form.0));
                let forms: Vec<_> = forms.map(|form| form.1).collect();
                format!("'{part}' should be {}", forms.join(" or "))
            };
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

    fn value<T>(
        &self,
        key: &str,
        parse: impl Fn(&'a str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let found = self.0.iter().find(|(k, _)| *k == key);
        found.map(|(_, value)| parse(value)).transpose()
    }

    fn threads(&self) -> Result<Option<u32>, String> {
        self.value("threads", |value| match value.parse() {
            Ok(threads @ 1..=MAX_THREADS) => Ok(threads),
            _ => Err(format!(
                "threads={value} should be a whole number from 1 to {MAX_THREADS}"
            )),
        })
    }

    fn peer(&self) -> Result<Option<String>, String> {
        self.value("peer", |peer| parse_peer(peer, PortRule::Required))
    }
}

/// Splits at colons, but not at those within a peer: what has no `=` belongs to
/// the piece before.
fn pieces(rest: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(rest);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let begins_option = |at: &usize| {
            let after = &text[at + 1..];
            let key = after.split(['=', ':']).next().unwrap_or("");
            after[key.len()..].starts_with('=')
        };
        let is_peer = text.starts_with("peer=");
        let mut colons = text.match_indices(':').map(|(at, _)| at);
        let end = colons.find(|at| !is_peer || begins_option(at));
        match end {
            Some(end) => {
                rest = Some(&text[end + 1..]);
                Some(&text[..end])
            }
            None => Some(text),
        }
    })
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
