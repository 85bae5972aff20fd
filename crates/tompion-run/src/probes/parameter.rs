//! A parameter of a probe: what it is called, what it takes, what it is by default.

use tompion_model::InvalidValue;
use tompion_model::{format_duration, parse_duration_ns};

use super::Slack;

/// What can be set of a probe.
#[derive(Debug)]
pub struct Parameter {
    /// Its name: the option `--NAME` of the command line, the key of a plan.
    pub name: &'static str,
    /// The letter of a short option.
    pub short: Option<char>,
    /// Another name of the option.
    pub alias: Option<&'static str>,
    /// What the help calls its value.
    pub value_name: &'static str,
    /// What it takes.
    pub form: Form,
    /// What it is on the command line where it is not given.
    pub preset: Preset,
    /// What it is in a plan of the lab.
    pub in_plan: InPlan,
    /// Options of a run that it cannot be combined with.
    pub excludes: &'static [&'static str],
    /// What it means.
    pub help: &'static str,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Names, each of which is checked; messages call one of them this.
    Names(&'static str, fn(&str) -> Result<(), InvalidValue>),
    /// Lengths of time; messages call one of them this.
    Times(&'static str),
    /// Timer slacks: `default` or a time.
    Slacks,
    /// A name or a number of its own kind: this reads it, into a text that is the same for equal
    /// values.
    One(fn(&str) -> Result<String, InvalidValue>),
    /// A length of time.
    Time,
    /// A number from 1 on.
    Count,
    /// CPUs: a list such as `0,2-3`, or `all`.
    Cpus,
    /// Nothing: it is set or not.
    Flag,
}

/// What a parameter is where it is not given.
#[derive(Clone, Copy, Debug)]
pub enum Preset {
    /// This; several are separated by commas.
    Text(&'static str),
    /// What this machine has.
    Here(fn() -> Vec<String>),
    /// Nothing.
    Absent,
    /// There is none: it has to be given.
    Required,
}

/// What a parameter is in a plan of the lab.
#[derive(Clone, Copy, Debug)]
pub enum InPlan {
    /// A key with the preset of the command line.
    Same,
    /// A key with this preset; several are separated by commas.
    Preset(&'static str),
    /// No key: always this.
    Always(Preset),
}

impl Parameter {
    /// One without short option and alias, the same on the command line and in plans.
    pub(super) const fn new(
        name: &'static str,
        value_name: &'static str,
        form: Form,
        preset: Preset,
        help: &'static str,
    ) -> Self {
        Self {
            name,
            short: None,
            alias: None,
            value_name,
            form,
            preset,
            in_plan: InPlan::Same,
            excludes: &[],
            help,
        }
    }

    /// Whether a plan of the lab has a key for it.
    pub fn is_key(&self) -> bool {
        !matches!(self.in_plan, InPlan::Always(_))
    }
}

impl Form {
    /// Names that `T` parses; messages call one of them `one`.
    pub(super) const fn names<T: std::str::FromStr<Err = InvalidValue>>(one: &'static str) -> Self {
        Self::Names(one, |text| text.parse::<T>().map(drop))
    }

    /// What one of several values is called in messages; `None` where there is one value.
    pub fn one_of_several(&self) -> Option<&'static str> {
        match self {
            Self::Names(one, _) | Self::Times(one) => Some(one),
            Self::Slacks => Some("slack"),
            Self::One(_) | Self::Time | Self::Count | Self::Cpus | Self::Flag => None,
        }
    }

    /// A value as it is kept: equal values are equal texts.
    ///
    /// # Errors
    /// What is wrong and what would be right, in one line.
    pub fn read(&self, text: &str) -> Result<String, InvalidValue> {
        match self {
            Self::Names(_, check) => check(text).map(|()| text.to_owned()),
            Self::One(read) => read(text),
            Self::Times(_) | Self::Time => parse_duration_ns(text).map(format_duration),
            Self::Slacks => text.parse::<Slack>().map(|slack| slack.to_string()),
            Self::Count => match text.parse::<u64>() {
                Ok(0) => Err("no samples measure nothing; use at least 1".into()),
                Ok(n) => Ok(n.to_string()),
                Err(_) => Err("not a whole number; write one such as 100000".into()),
            },
            Self::Cpus => cpus(text).map(|_| text.to_owned()),
            Self::Flag => match text {
                "true" | "false" => Ok(text.to_owned()),
                _ => Err("true or false is wanted".into()),
            },
        }
    }
}

impl Preset {
    /// The values.
    pub(super) fn texts(&self) -> Vec<String> {
        match self {
            Self::Text(text) => text.split(',').map(str::to_owned).collect(),
            Self::Here(find) => find(),
            Self::Absent | Self::Required => Vec::new(),
        }
    }
}

/// The CPUs of a list such as `0,2-3`; `all` is those that this process may use.
pub(super) fn cpus(text: &str) -> Result<Vec<u32>, InvalidValue> {
    /// More CPUs than any machine has.
    const MOST: u32 = 8192;
    if text == "all" {
        return Ok(tompion_host::usable_cpus());
    }
    let wrong = || {
        let most = MOST - 1;
        format!("`{text}` is no list of CPUs; write one such as 0,2-3 (up to {most}), or `all`")
    };
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |t: &str| t.trim().parse().ok().filter(|n| *n < MOST);
        let (first, last): (u32, u32) = (
            number(first).ok_or_else(wrong)?,
            number(last).ok_or_else(wrong)?,
        );
        if first > last {
            return Err(wrong().into());
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}
