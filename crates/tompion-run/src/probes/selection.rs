//! A probe with the values of its parameters.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use tompion_model::InvalidValue;

use serde::{Deserialize, Serialize};
use tompion_load::LoadSpec;
use tompion_model::parse_duration_ns;
use tompion_probe::Policy;

use super::parameter::cpus;
use super::{Context, InPlan, Parameter, Preset, Probe};
use crate::{PlannedCell, PlannedSearch};

/// What is measured: a probe with the values of its parameters. It is stored as
/// `{"probe": NAME, "parameters": {...}}`, without its weight, and checked when it is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Selection {
    /// The probe.
    pub probe: &'static Probe,
    /// A value for each of its parameters.
    pub values: Values,
    /// Share of the run's time relative to what its cells ask for.
    pub weight: f64,
    /// Share of the run's time that each cell has, whatever it asks for.
    pub share: Option<f64>,
    /// Whether it is measured at rest alone, where the run has loads besides.
    pub at_rest: bool,
    /// The loads of the run beside which it is measured, where these are not all.
    pub beside: Option<Vec<LoadSpec>>,
    /// Share of the run's time, 0 to 1, that each cell has before the others.
    pub lasting: Option<f64>,
    /// Whether it is measured only in blocks for which somebody asks for it.
    pub is_optional: bool,
    /// The policy of its threads, in place of the run's, where that is the usual one alone.
    pub policy: Option<Policy>,
}

/// Values of parameters by name, as texts that are known to be right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(BTreeMap<String, Vec<String>>);

/// Where the values of parameters are set, which decides what is not set there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the command line.
    CommandLine,
    /// In a plan of the lab.
    LabPlan,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    probe: String,
    parameters: BTreeMap<String, Vec<String>>,
}

impl Selection {
    /// A probe with these values, of each parameter one or several, and what `place` has for
    /// the others.
    ///
    /// # Errors
    /// A parameter that the probe does not have or a value that it does not take, in one
    /// line.
    pub fn new<N: AsRef<str>>(
        probe: &'static Probe,
        place: Place,
        given: impl IntoIterator<Item = (N, Vec<String>)>,
    ) -> Result<Self, InvalidValue> {
        let mut values = BTreeMap::new();
        for (name, texts) in given {
            let name = name.as_ref();
            let parameter = probe
                .parameter(name)
                .ok_or_else(|| format!("{} has no parameter `{name}`", probe.name))?;
            values.insert(name.to_owned(), read(parameter, &texts)?);
        }
        for parameter in probe.parameters {
            if !values.contains_key(parameter.name) {
                if matches!(parameter.preset, Preset::Required) {
                    let (probe, name) = (probe.name, parameter.name);
                    return Err(format!("{probe} needs `{name}`").into());
                }
                let texts = read(parameter, &preset(parameter, place))?;
                values.insert(parameter.name.to_owned(), texts);
            }
        }
        Ok(Self {
            probe,
            values: Values(values),
            weight: 1.0,
            share: None,
            at_rest: false,
            beside: None,
            lasting: None,
            is_optional: false,
            policy: None,
        })
    }

    /// The same with another weight.
    #[must_use]
    pub fn weighing(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    /// The same with cells that each have this share of the run's time.
    #[must_use]
    pub fn sharing(self, share: f64) -> Self {
        Self {
            share: Some(share),
            ..self
        }
    }

    /// The same, measured at rest alone where the run has loads besides.
    #[must_use]
    pub fn at_rest(self) -> Self {
        Self {
            at_rest: true,
            ..self
        }
    }

    /// The same, measured beside these of the run's loads alone.
    #[must_use]
    pub fn beside(self, loads: Vec<LoadSpec>) -> Self {
        Self {
            beside: Some(loads),
            ..self
        }
    }

    /// The same with cells that each have this share of the run's time, before the others.
    #[must_use]
    pub fn lasting(self, share: f64) -> Self {
        Self {
            lasting: Some(share),
            ..self
        }
    }

    /// The same, measured only in blocks for which somebody asks for it.
    #[must_use]
    pub fn optional(self) -> Self {
        Self {
            is_optional: true,
            ..self
        }
    }

    /// The same under this policy.
    #[must_use]
    pub fn under(self, policy: Policy) -> Self {
        Self {
            policy: Some(policy),
            ..self
        }
    }

    /// Whether one of its values is this text.
    pub fn has_value(&self, text: &str) -> bool {
        self.values.0.values().flatten().any(|value| value == text)
    }

    /// The same with another text in place of each value that is `from`.
    ///
    /// # Errors
    /// A parameter that does not take it.
    pub fn replacing(&self, from: &str, to: &str) -> Result<Self, InvalidValue> {
        let mut replaced = self.clone();
        for (name, texts) in &mut replaced.values.0 {
            if !texts.iter().any(|text| text == from) {
                continue;
            }
            let given = texts
                .iter()
                .map(|text| if text == from { to } else { text.as_str() });
            let given: Vec<String> = given.map(str::to_owned).collect();
            if let Some(parameter) = self.probe.parameter(name) {
                *texts = read(parameter, &given)?;
            }
        }
        Ok(replaced)
    }

    /// No more cells than this has it for one load and one policy: as many as its values can be
    /// combined in ways.
    pub fn most_cells(&self) -> usize {
        let each = self.values.0.values().map(|texts| texts.len().max(1));
        each.fold(1, usize::saturating_mul)
    }

    /// Its cells for one load and one policy.
    pub(crate) fn cells(&self, context: &Context<'_>) -> Vec<PlannedCell> {
        let context = Context {
            policy: self.policy.unwrap_or(context.policy),
            ..*context
        };
        let mut cells = (self.probe.cells)(&self.values, &context);
        for cell in &mut cells {
            cell.weight = match self.lasting {
                Some(_) => 0.0,
                None => self.share.unwrap_or(cell.weight) * self.weight,
            };
            cell.is_optional = self.is_optional;
        }
        cells
    }

    /// Its searches for one load and one policy.
    pub(crate) fn searches(&self, context: &Context<'_>) -> Vec<PlannedSearch> {
        (self.probe.searches)(&self.values, context)
    }

    /// What is named twice among its values, for example ``target `100us` ``.
    pub(crate) fn named_twice(&self) -> Option<String> {
        self.probe.parameters.iter().find_map(|parameter| {
            let one = parameter.form.one_of_several()?;
            let texts = self.values.texts(parameter.name);
            let mut later = texts.iter().enumerate();
            let twice = later.find_map(|(i, text)| texts[..i].contains(text).then_some(text));
            twice.map(|text| format!("{one} `{text}`"))
        })
    }
}

fn preset(parameter: &Parameter, place: Place) -> Vec<String> {
    match (place, parameter.in_plan) {
        (Place::CommandLine, _) | (Place::LabPlan, InPlan::Same) => parameter.preset.texts(),
        (Place::LabPlan, InPlan::Preset(text)) => text.split(',').map(str::to_owned).collect(),
        (Place::LabPlan, InPlan::Always(preset)) => preset.texts(),
    }
}

fn read(parameter: &Parameter, texts: &[String]) -> Result<Vec<String>, InvalidValue> {
    let form = &parameter.form;
    let may_be_absent = matches!(parameter.preset, Preset::Absent);
    let least = usize::from(!may_be_absent);
    if form.one_of_several().is_none() && !(least..=1).contains(&texts.len()) {
        return Err(format!("{}: one value is wanted", parameter.name).into());
    }
    let named = |why| InvalidValue::from(format!("{}: {why}", parameter.name));
    let all = texts.iter().map(|text| form.read(text).map_err(named));
    all.collect()
}

impl TryFrom<Stored> for Selection {
    type Error = InvalidValue;

    fn try_from(stored: Stored) -> Result<Self, InvalidValue> {
        let probe = Probe::find(&stored.probe)
            .ok_or_else(|| format!("no probe is called `{}`", stored.probe))?;
        Self::new(probe, Place::LabPlan, stored.parameters)
    }
}

impl From<Selection> for Stored {
    fn from(selection: Selection) -> Self {
        Self {
            probe: selection.probe.name.to_owned(),
            parameters: selection.values.0,
        }
    }
}

impl Values {
    /// The values of a parameter; none where it is absent.
    pub fn texts(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Them, parsed.
    pub(super) fn parsed<T: FromStr<Err: fmt::Debug>>(&self, name: &str) -> Vec<T> {
        let parsed = |text: &String| text.parse().expect(CHECKED);
        self.texts(name).iter().map(parsed).collect()
    }

    /// Lengths of time, in nanoseconds.
    pub(super) fn times_ns(&self, name: &str) -> Vec<u64> {
        let parsed = |text: &String| parse_duration_ns(text).expect(CHECKED);
        self.texts(name).iter().map(parsed).collect()
    }

    /// A length of time, in nanoseconds.
    pub(super) fn time_ns(&self, name: &str) -> u64 {
        parse_duration_ns(self.one(name)).expect(CHECKED)
    }

    /// A number from 1 on.
    pub(super) fn count(&self, name: &str) -> u64 {
        self.one(name).parse().expect(CHECKED)
    }

    /// CPUs; none where none are named.
    pub(super) fn cpus(&self, name: &str) -> Vec<u32> {
        let parsed = |text: &String| cpus(text).expect(CHECKED);
        self.texts(name).first().map(parsed).unwrap_or_default()
    }

    /// Whether a flag is set.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.texts(name).first().is_some_and(|text| text == "true")
    }

    fn one(&self, name: &str) -> &str {
        self.texts(name).first().expect("a value or a preset")
    }
}

/// Why no value can be wrong.
const CHECKED: &str = "values are checked when they are set";
