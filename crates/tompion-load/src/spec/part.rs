//! One load of a specification, and its canonical text.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use tompion_model::{InvalidValue, unknown_name};

use super::options::{CPUS, Options};
use super::text::Text;
use super::values::{Cpus, Irq};
use crate::load::{Load, Parse, Work, Writes};
use crate::loads;

/// One load with its options, and the CPUs that its threads may use; absent for any.
///
/// Two are equal where their canonical texts are.
#[derive(Clone, Debug)]
pub struct Part {
    pub load: &'static Load,
    pub work: Arc<dyn Work>,
    pub cpus: Option<Cpus>,
}

impl Part {
    /// Place in the order of names.
    pub fn rank(&self) -> usize {
        let place = loads::ALL.iter().position(|l| l.name == self.load.name);
        place.unwrap_or(usize::MAX)
    }

    /// Whether a program other than this one produces the load.
    pub fn is_driven(&self) -> bool {
        self.work.program().is_some()
    }

    /// Whether it writes files to its directory, if only those that it reads.
    pub fn writes_files(&self) -> bool {
        matches!(self.work.writes(), Writes::Once | Writes::Here)
    }

    /// Whether it writes files here or elsewhere, and so needs a budget.
    pub fn spends_budget(&self) -> bool {
        self.work.writes() != Writes::Nothing
    }

    /// Whether it writes for as long as it runs.
    pub fn is_paced(&self) -> bool {
        matches!(self.work.writes(), Writes::Here | Writes::Elsewhere)
    }

    /// Whether it needs a directory for its files.
    pub fn needs_directory(&self) -> bool {
        self.writes_files() || self.is_driven()
    }

    /// CPUs that it names by number: those it may use, and that of its interrupts.
    pub fn named_cpus(&self) -> impl Iterator<Item = u32> + '_ {
        let list = match &self.cpus {
            Some(Cpus::List(list)) => list.as_slice(),
            _ => &[],
        };
        let irq = match self.work.irq() {
            Some(Irq::Cpu(cpu)) => Some(cpu),
            Some(Irq::Measured) | None => None,
        };
        list.iter().copied().chain(irq)
    }

    /// The canonical text without the defaults.
    pub fn level(&self) -> String {
        self.text(false)
    }

    fn text(&self, with_defaults: bool) -> String {
        let mut text = Text::new(self.load.name, with_defaults);
        self.work.describe(&mut text);
        text.option(CPUS.0, self.cpus.as_ref());
        text.finish()
    }
}

/// Parses one load, without `+`.
pub fn parse(text: &str) -> Result<Part, InvalidValue> {
    let (name, rest) = match text.split_once(':') {
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    };
    let Some(load) = loads::ALL.iter().find(|load| load.name == name) else {
        let names: Vec<&str> = loads::ALL.iter().map(|load| load.name).collect();
        return Err(unknown_name("name", name, names).into());
    };
    let (work, cpus) = match load.parse {
        Parse::Text(parse) => (parse(rest)?, None),
        Parse::Options(known, parse) => {
            let options = Options::parse(rest, known)?;
            let work = parse(&options)?;
            (work, options.value(CPUS.0, str::parse::<Cpus>)?)
        }
    };
    Ok(Part { load, work, cpus })
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Part {}

impl Hash for Part {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_string().hash(state);
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(true))
    }
}
