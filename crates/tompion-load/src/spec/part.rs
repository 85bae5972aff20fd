//! One load of a specification, and its canonical text.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::values::{Cpus, Irq};
use crate::loads::{self, Load, Work, Writes};

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
        let mut text = Text {
            text: self.load.name.to_owned(),
            with_defaults,
        };
        self.work.describe(&mut text);
        text.option("cpus", self.cpus.as_ref());
        text.text
    }
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

/// The canonical text of a load while its options are added.
pub struct Text {
    text: String,
    with_defaults: bool,
}

impl Text {
    /// Whether an option is shown: a fixed default is left out where it goes without saying.
    pub fn shows(&self, is_default: bool) -> bool {
        self.with_defaults || !is_default
    }

    /// Adds an option that has a value.
    pub fn option(&mut self, key: &str, value: Option<impl fmt::Display>) {
        if let Some(value) = value {
            self.text += &format!(":{key}={value}");
        }
    }

    /// Adds an option without one.
    pub fn flag(&mut self, key: &str) {
        self.text += &format!(":{key}");
    }
}
