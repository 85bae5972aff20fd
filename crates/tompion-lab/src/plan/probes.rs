//! What is measured: the probes of a plan, each a part of one cell.

use std::time::Duration;
use tompion_model::{InvalidValue, nearest};

use serde::{Deserialize, Serialize};
use tompion_load::LoadSpec;
use tompion_probe::Policy;
use tompion_run::probes::{Form, PROBES, Parameter, Place, Probe, Selection};
use tompion_run::{Observe, Plan, PlanOptions, TimeSetting};

use tompion_platforms::keys::{Table, text};

/// How long a load runs before its trial, as in `tompion measure`.
const SETTLE: Duration = Duration::from_millis(300);

/// The most samples of a trial.
const MOST: u64 = 100_000_000;

/// One probe with its parameters: names and times as the plan has them, so that it can
/// be sent to an instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbePlan {
    /// What is measured.
    #[serde(flatten)]
    pub selection: Selection,
    /// Scheduling policies of the measuring thread.
    pub policies: Vec<String>,
    /// Measuring time of one cell, in nanoseconds.
    pub time_ns: u64,
}

impl ProbePlan {
    /// Name of the probe.
    pub fn name(&self) -> &'static str {
        self.selection.probe.name
    }

    /// Reads `[[probes]]`; `time_ns` where it names none.
    pub(super) fn read(table: Table<'_, '_>, time_ns: u64) -> Option<Self> {
        let kind = table.text("kind");
        let time_ns = table.time_ns("time").unwrap_or(time_ns);
        let policies: Option<Vec<Policy>> = table.parsed("policies");
        let names = PROBES.iter().map(|probe| probe.name);
        let Some(kind) = kind else {
            let known: Vec<&str> = names.collect();
            let known = known.join("\", \"");
            table.wrong(table.at(), format!("a probe needs a kind: \"{known}\""));
            return None;
        };
        let Some(probe) = Probe::find(&kind) else {
            let text = match nearest(&kind, names.clone()) {
                Some(better) => format!("no probe is called `{kind}`; did you mean `{better}`?"),
                None => {
                    let known: Vec<&str> = names.collect();
                    format!(
                        "no probe is called `{kind}`; there are {}",
                        known.join(", ")
                    )
                }
            };
            table.wrong(table.at_key("kind"), text);
            return None;
        };
        let keys = probe.parameters.iter().filter(|p| p.is_key());
        let given = keys.filter_map(|p| Some((p.name, values(&table, p)?)));
        let selection = Selection::new(probe, Place::LabPlan, given.collect::<Vec<_>>());
        let selection = selection
            .map_err(|why| table.wrong(table.at(), why.to_string()))
            .ok()?;
        table.finish();
        let policies = policies.unwrap_or_else(|| vec![Policy::Other]);
        Some(Self {
            selection,
            policies: policies.iter().map(Policy::to_string).collect(),
            time_ns,
        })
    }

    /// No more trials than this has it on one platform beside one load.
    pub(super) fn most_trials(&self) -> usize {
        let policies = self.policies.len().max(1);
        let cells = self.selection.most_cells().saturating_mul(policies);
        cells.saturating_mul(self.selection.probe.parts)
    }

    /// What comes on top of the measuring time before it ends: the load settles, and the
    /// probe begins.
    pub fn overhead(&self) -> Duration {
        SETTLE + self.selection.probe.opening
    }

    /// What comes after it.
    pub fn closing(&self) -> Duration {
        self.selection.probe.closing
    }

    /// The plan of one cell beside `load`: every method, target and slack once.
    ///
    /// # Errors
    /// A policy that this version does not know, or a time too short for it all.
    pub fn plan(&self, load: &LoadSpec, seed: u64) -> Result<Plan, tompion_run::Error> {
        let policies = self.policies.iter().map(|policy| policy.parse());
        let options = PlanOptions {
            probes: vec![self.selection.clone()],
            loads: vec![load.clone()],
            policies: policies.collect::<Result<_, _>>()?,
            cpu: None,
            observe: vec![Observe::Auto],
            blocks: 1,
            duration: self.time() + self.overhead(),
            // Here it is a key of the plan, and without what comes on top.
            time: TimeSetting {
                name: "time",
                added: self.overhead(),
            },
            settle: SETTLE,
            seed,
        };
        Plan::new(&options)
    }
}

/// The values of a parameter, where the table has its key.
fn values(table: &Table<'_, '_>, parameter: &Parameter) -> Option<Vec<String>> {
    let (key, form) = (parameter.name, parameter.form);
    if form.one_of_several().is_some() {
        return table.list(key, |text| form.read(text));
    }
    let one = match form {
        Form::Count => table.number(key, 1..MOST + 1).map(|n| n.to_string()),
        Form::Flag => table.read(key, |value| -> Result<_, InvalidValue> {
            let is_set = value.as_bool().ok_or("true or false is wanted")?;
            Ok(is_set.to_string())
        }),
        _ => table.read(key, |value| text(value).and_then(|text| form.read(text))),
    };
    Some(vec![one?])
}
