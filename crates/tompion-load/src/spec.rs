//! The text that names a load: `name`, or `name:key=value:key=value`, and several
//! of them joined by `+`.

mod options;
mod part;
mod text;
mod values;

use std::fmt;
use std::str::FromStr;
use tompion_model::InvalidValue;

use crate::LoadError;
pub(crate) use options::{CPUS, KEY, Opt, Options, PEER, SIZE, THREADS};
pub(crate) use part::Part;
pub(crate) use text::Text;
pub(crate) use values::{
    Bits, Cpus, Irq, PortRule, Size, parse_bits, parse_peer, parse_size, split_peer,
};

/// Loads that run together at most: each of a stranger's may name all CPUs.
const MOST_PARTS: usize = 64;

/// A load as asked for: one, or several that run together.
///
/// `Display` gives the canonical text with all fixed defaults, for example
/// `cpu:threads=100`; [`LoadSpec::level`] leaves them out. Both parse back to an
/// equal value. The order in which loads are joined makes no difference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoadSpec(Vec<Part>);

impl LoadSpec {
    /// Whether this is the absence of load, which is never started.
    pub fn is_idle(&self) -> bool {
        self.0.iter().all(|part| part.work.is_idle())
    }

    /// Whether a thread that wakes up beside it may have to wait for the scheduler's tick, as far as anybody knows.
    pub fn makes_wait(&self) -> bool {
        self.0.iter().any(|part| part.work.makes_wait())
    }

    /// The factor level: the canonical text without the defaults.
    pub fn level(&self) -> String {
        let levels: Vec<_> = self.0.iter().map(Part::level).collect();
        levels.join("+")
    }

    /// Whether the load writes files to its directory, if only those that it reads.
    pub fn writes_files(&self) -> bool {
        self.0.iter().any(Part::writes_files)
    }

    /// Whether the load writes for as long as it runs, and ends when its write
    /// budget is used up.
    pub fn is_paced(&self) -> bool {
        self.0.iter().any(Part::is_paced)
    }

    /// Whether the load needs a directory for its files.
    pub fn needs_directory(&self) -> bool {
        self.0.iter().any(Part::needs_directory)
    }

    /// The loads that run together, each as a load of its own.
    pub fn parts(&self) -> impl Iterator<Item = LoadSpec> + '_ {
        self.0.iter().map(|part| Self(vec![part.clone()]))
    }

    /// The same, as the worker sees them.
    pub(crate) fn components(&self) -> &[Part] {
        &self.0
    }
}

impl fmt::Display for LoadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, part) in self.0.iter().enumerate() {
            let joint = if number == 0 { "" } else { "+" };
            write!(f, "{joint}{part}")?;
        }
        Ok(())
    }
}

impl FromStr for LoadSpec {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        parse(text).map(Self).map_err(|problem| LoadError::Spec {
            text: text.to_owned(),
            problem: problem.to_string(),
        })
    }
}

fn parse(text: &str) -> Result<Vec<Part>, InvalidValue> {
    if text.split('+').nth(MOST_PARTS).is_some() {
        return Err(format!("at most {MOST_PARTS} loads run together").into());
    }
    let mut parts: Vec<Part> = text.split('+').map(part::parse).collect::<Result<_, _>>()?;
    if parts.len() > 1 && parts.iter().any(|part| part.work.is_idle()) {
        return Err("idle is the absence of load and combines with nothing".into());
    }
    parts.sort_by_cached_key(|part| (part.rank(), part.to_string()));
    match parts.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(twice) => Err(format!("{} is given twice", twice[0].level()).into()),
        None => Ok(parts),
    }
}

/// Loads separated by commas, as an option's value: `idle,cpu:cpus=0,2-3,io`.
///
/// A comma before a digit goes on with a list of CPUs: no load's name begins with
/// a digit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadList(pub Vec<LoadSpec>);

impl FromStr for LoadList {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let mut rest = text;
        let mut loads = Vec::new();
        while let Some(end) = rest
            .match_indices(',')
            .map(|(at, _)| at)
            .find(|at| !rest[at + 1..].starts_with(|c: char| c.is_ascii_digit()))
        {
            loads.push(rest[..end].parse()?);
            rest = &rest[end + 1..];
        }
        loads.push(rest.parse()?);
        Ok(Self(loads))
    }
}

#[cfg(test)]
mod tests;
