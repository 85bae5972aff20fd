//! Values of options, each checked where it is parsed.

use std::error::Error;
use std::ffi::OsStr;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use tompion_model::{InvalidValue, nearest};

use tompion_model::parse_duration_ns;
use tompion_run::probes::Form;

/// A time in nanoseconds, as an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nanoseconds(pub u64);

pub(super) fn nanoseconds(text: &str) -> Result<Nanoseconds, InvalidValue> {
    parse_duration_ns(text).map(Nanoseconds)
}

pub(super) fn duration(text: &str) -> Result<Duration, InvalidValue> {
    parse_duration_ns(text).map(Duration::from_nanos)
}

/// Bytes, with K, M or G for 1024 and its powers.
pub(super) fn bytes(text: &str) -> Result<u64, InvalidValue> {
    let wrong = || format!("`{text}` is no number of bytes; write one such as 500M (K, M, G)");
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(|| wrong().into())
}

/// A number from 1 on, as parameters of probes are read.
pub(super) fn samples(text: &str) -> Result<String, InvalidValue> {
    Form::Count.read(text)
}

/// A whole number as an option's value; `what` says what it is, and gives one.
fn whole<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, InvalidValue> {
    text.parse().map_err(|_| format!("write {what}").into())
}

/// A number of probes.
pub(super) fn probes(text: &str) -> Result<u64, InvalidValue> {
    match whole(text, "a whole number of probes, such as 100")? {
        0 => Err("no probes measure nothing; send at least 1".into()),
        probes => Ok(probes),
    }
}

/// A number of packets.
pub(super) fn packets(text: &str) -> Result<u64, InvalidValue> {
    match whole(text, "a whole number of packets, such as 100")? {
        0 => Err("no packets say nothing; capture at least 1".into()),
        packets => Ok(packets),
    }
}

/// How a sleep ends.
pub(super) fn policy_of_sleeps(text: &str) -> Result<tompion_time::sleep::Policy, InvalidValue> {
    text.parse::<tompion_time::sleep::Policy>()
        .map_err(|e| e.to_string().into())
}

pub(super) fn seed(text: &str) -> Result<u64, InvalidValue> {
    whole(text, "a whole number below 2^64, such as 42")
}

pub(super) fn blocks(text: &str) -> Result<u32, InvalidValue> {
    match whole(text, "a whole number of passes over all cells, such as 8")? {
        0 => Err("no blocks measure nothing; use at least 1".into()),
        blocks => Ok(blocks),
    }
}

pub(super) fn cpu(text: &str) -> Result<u32, InvalidValue> {
    whole(text, "the number of one CPU, such as 1")
}

pub(super) fn pid(text: &str) -> Result<i32, InvalidValue> {
    match whole(text, "the number of a running process, such as 1234")? {
        pid @ 1.. => Ok(pid),
        _ => Err("processes have numbers from 1 on, such as 1234".into()),
    }
}

pub(super) fn address(text: &str) -> Result<std::net::SocketAddr, InvalidValue> {
    whole(
        text,
        "an address and a port, such as 192.0.2.7:5210, 0.0.0.0:5210 or [::1]:5210",
    )
}

/// Names of all methods of either probe.
pub(super) fn method_names() -> Vec<&'static str> {
    let reads = tompion_probe::read_cost::Method::all().map(|m| m.name());
    reads.chain(wake_up_names()).collect()
}

/// Names of all methods of wake-up latency.
pub(super) fn wake_up_names() -> Vec<&'static str> {
    let all = tompion_probe::wake_up::Method::all();
    all.map(|m| m.name()).collect()
}

/// Names of all profiles.
pub(super) fn profile_names() -> Vec<&'static str> {
    let all = tompion_assess::verdict::profiles().iter();
    all.map(|p| p.name.as_str()).collect()
}

/// Names of all methods of available bandwidth.
pub(super) fn bandwidth_methods() -> Vec<&'static str> {
    let all = tompion_path::bandwidth::METHODS.iter();
    all.map(|method| method.name).collect()
}

/// A method of available bandwidth.
pub(super) fn bandwidth_method(
    text: &str,
) -> Result<&'static tompion_path::bandwidth::MethodEntry, InvalidValue> {
    let all = tompion_path::bandwidth::METHODS.iter().copied();
    all.into_iter()
        .find(|method| method.name == text)
        .ok_or_else(|| match nearest(text, bandwidth_methods()) {
            Some(better) => format!("unknown method `{text}`; did you mean `{better}`?").into(),
            None => format!(
                "unknown method `{text}`; there are {}",
                bandwidth_methods().join(", ")
            )
            .into(),
        })
}

/// Bits a second as networks write them, or `0`.
pub(super) fn bits_per_second_or_none(text: &str) -> Result<u64, InvalidValue> {
    match text {
        "0" => Ok(0),
        text => tompion_model::parse_bits_per_second(text),
    }
}

/// How cross traffic comes.
pub(super) fn cross_pattern(text: &str) -> Result<tompion_path::model::CrossPattern, InvalidValue> {
    use tompion_path::model::CrossPattern;
    let bursts = |count: &str| count.parse::<u32>().ok().filter(|count| *count >= 1);
    match text.split_once(':') {
        None if text == "even" => Ok(CrossPattern::Constant),
        None if text == "poisson" => Ok(CrossPattern::Poisson),
        Some(("bursts", count)) if bursts(count).is_some() => {
            Ok(CrossPattern::Bursts(bursts(count).unwrap_or(1)))
        }
        _ => Err(format!("`{text}` is no pattern; write even, poisson or bursts:10").into()),
    }
}

/// Names of all loads.
pub(super) fn load_names() -> Vec<&'static str> {
    tompion_load::loads().map(|load| load.name).collect()
}

/// Reads a value by its own rules, and has completions offer these names.
pub(super) fn offering<T>(names: fn() -> Vec<&'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: Into<Box<dyn Error + Send + Sync>>> + Clone + Send + Sync + 'static,
{
    let reader = StringValueParser::new().try_map(|text| text.parse::<T>());
    Offering { reader, names }
}

#[derive(Clone)]
struct Offering<P> {
    reader: P,
    names: fn() -> Vec<&'static str>,
}

impl<P: TypedValueParser> TypedValueParser for Offering<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<P::Value, clap::Error> {
        self.reader.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}

/// A method of either probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodName {
    /// Of read cost.
    Read(tompion_probe::read_cost::Method),
    /// Of wake-up latency.
    Wake(tompion_probe::wake_up::Method),
}

impl std::str::FromStr for MethodName {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        text.parse()
            .map(Self::Read)
            .or_else(|_| text.parse().map(Self::Wake))
            .map_err(|_: InvalidValue| {
                let known: Vec<&str> = method_names();
                match nearest(text, known) {
                    Some(better) => format!("unknown method `{text}`; did you mean `{better}`?"),
                    None => format!("unknown method `{text}`; `tompion list` shows all of them"),
                }
                .into()
            })
    }
}
