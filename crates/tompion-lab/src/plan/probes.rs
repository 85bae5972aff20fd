//! What is measured: the probes of a plan, each a part of one cell.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tompion_load::LoadSpec;
use tompion_probe::{Policy, read_cost, timer_events, wake_up};
use tompion_record::parse_duration_ns;
use tompion_run::{
    Observe, Plan, PlanOptions, Slack, StallOptions, TimeSetting, TimerEventOptions,
};

use super::read::{Table, nearest};

/// Names of the probes, as in `tompion measure`.
const NAMES: [&str; 4] = ["wake-up", "read-cost", "stalls", "timer-events"];

/// How long a load runs before its trial, as in `tompion measure`.
const SETTLE: Duration = Duration::from_millis(300);
/// What it takes for stalls to open the events of whole CPUs.
const OPENING: Duration = Duration::from_millis(50);
/// And to close them in the end, when each tracepoint waits in the kernel.
const CLOSING: Duration = Duration::from_millis(800);

/// Read-cost samples of each method in one cell.
const READ_SAMPLES: u64 = 100_000;
/// Most wake-up samples of one trial.
const WAKE_SAMPLES: u64 = 100_000;
/// Events of one trial (Adamczyk 2015).
const EVENTS: u64 = 4_500;

/// One probe with its parameters: names and times as the plan has them, so that it can
/// be sent to an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbePlan {
    /// What is measured.
    pub wish: ProbeWish,
    /// Scheduling policies of the measuring thread.
    pub policies: Vec<String>,
    /// Measuring time of one cell, in nanoseconds.
    pub time_ns: u64,
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "probe", rename_all = "kebab-case")]
pub enum ProbeWish {
    /// How much later than asked a sleeping thread runs again.
    WakeUp {
        /// Functions.
        methods: Vec<String>,
        /// Sleep targets in nanoseconds.
        targets_ns: Vec<u64>,
        /// Timer slacks: `default` or a time.
        slack: Vec<String>,
        /// Most samples of a trial.
        samples: u64,
    },
    /// What it costs to ask a clock for the time.
    ReadCost {
        /// Clocks.
        methods: Vec<String>,
        /// Samples of a trial.
        samples: u64,
    },
    /// How long and why a busy loop stands still.
    Stalls {
        /// Iterations longer than this are stalls, in nanoseconds.
        threshold_ns: u64,
    },
    /// How well periodic events keep their period.
    TimerEvents {
        /// Mechanisms.
        methods: Vec<String>,
        /// `grid`, `rearmed`.
        forms: Vec<String>,
        /// Periods in nanoseconds.
        periods_ns: Vec<u64>,
        /// Timer slacks: `default` or a time.
        slack: Vec<String>,
        /// Events of a trial.
        events: u64,
    },
}

impl ProbePlan {
    /// Name of the probe.
    pub fn name(&self) -> &'static str {
        match self.wish {
            ProbeWish::WakeUp { .. } => NAMES[0],
            ProbeWish::ReadCost { .. } => NAMES[1],
            ProbeWish::Stalls { .. } => NAMES[2],
            ProbeWish::TimerEvents { .. } => NAMES[3],
        }
    }

    /// Reads `[[probes]]`; `time_ns` where it names none.
    pub(super) fn read(table: Table<'_, '_>, time_ns: u64) -> Option<Self> {
        let kind = table.text("kind");
        let time_ns = table.time_ns("time").unwrap_or(time_ns);
        let policies: Option<Vec<Policy>> = table.parsed("policies");
        let Some(kind) = kind else {
            let known = NAMES.join("\", \"");
            table.wrong(table.at(), format!("a probe needs a kind: \"{known}\""));
            return None;
        };
        let wish = match kind.as_str() {
            "wake-up" => wake_up(&table),
            "read-cost" => read_cost(&table),
            "stalls" => ProbeWish::Stalls {
                threshold_ns: table.time_ns("threshold").unwrap_or(1_000),
            },
            "timer-events" => timer_events(&table),
            other => {
                let text = match nearest(other, NAMES) {
                    Some(better) => {
                        format!("no probe is called `{other}`; did you mean `{better}`?")
                    }
                    None => format!(
                        "no probe is called `{other}`; there are {}",
                        NAMES.join(", ")
                    ),
                };
                table.wrong(table.at_key("kind"), text);
                return None;
            }
        };
        table.finish();
        let other = || vec![Policy::Other];
        Some(Self {
            wish,
            policies: names(&policies.unwrap_or_else(other)),
            time_ns,
        })
    }

    /// What comes on top of the measuring time before it ends: the load settles, and for
    /// stalls the events of whole CPUs are opened.
    pub fn overhead(&self) -> Duration {
        match self.wish {
            ProbeWish::Stalls { .. } => SETTLE + OPENING,
            _ => SETTLE,
        }
    }

    /// What comes after it.
    pub fn closing(&self) -> Duration {
        match self.wish {
            ProbeWish::Stalls { .. } => CLOSING,
            _ => Duration::ZERO,
        }
    }

    /// The plan of one cell beside `load`: every method, target and slack once.
    ///
    /// # Errors
    /// A name that this version does not know, or a time too short for it all.
    pub fn plan(&self, load: &LoadSpec, seed: u64) -> Result<Plan, String> {
        let mut options = PlanOptions {
            read_methods: Vec::new(),
            wake_methods: Vec::new(),
            targets: Vec::new(),
            slacks: Vec::new(),
            timer_events: None,
            stalls: None,
            loads: vec![load.clone()],
            policies: parsed(&self.policies)?,
            cpu: None,
            observe: vec![Observe::Auto],
            blocks: 1,
            read_samples: 0,
            wake_samples: 0,
            duration: self.time() + self.overhead(),
            // Here it is a key of the plan, and without what comes on top.
            time: TimeSetting {
                name: "time",
                added: self.overhead(),
            },
            settle: SETTLE,
            seed,
        };
        match &self.wish {
            ProbeWish::WakeUp {
                methods,
                targets_ns,
                slack,
                samples,
            } => {
                options.wake_methods = parsed(methods)?;
                options.targets = targets_ns.iter().map(|t| (*t, None)).collect();
                options.slacks = slacks(slack)?;
                options.wake_samples = *samples;
            }
            ProbeWish::ReadCost { methods, samples } => {
                options.read_methods = parsed(methods)?;
                options.read_samples = *samples;
            }
            ProbeWish::Stalls { threshold_ns } => {
                options.stalls = Some(StallOptions {
                    cpus: Vec::new(),
                    threshold_ns: *threshold_ns,
                    weight: 1.0,
                });
            }
            ProbeWish::TimerEvents {
                methods,
                forms,
                periods_ns,
                slack,
                events,
            } => {
                options.slacks = slacks(slack)?;
                options.timer_events = Some(TimerEventOptions {
                    methods: parsed(methods)?,
                    forms: parsed(forms)?,
                    periods_ns: periods_ns.clone(),
                    events: *events,
                    search: false,
                });
            }
        }
        Plan::new(&options).map_err(|e| e.to_string())
    }
}

fn wake_up(table: &Table<'_, '_>) -> ProbeWish {
    let methods = table.parsed::<wake_up::Method>("methods");
    ProbeWish::WakeUp {
        methods: names(&methods.unwrap_or_else(|| wake_up::Method::all().collect())),
        targets_ns: times(table, "targets", &[100_000, 1_000_000, 10_000_000]),
        slack: slack(table, "default"),
        samples: samples(table, "samples", WAKE_SAMPLES),
    }
}

fn read_cost(table: &Table<'_, '_>) -> ProbeWish {
    let methods = table.parsed::<read_cost::Method>("methods");
    ProbeWish::ReadCost {
        methods: names(&methods.unwrap_or_else(|| read_cost::Method::available().collect())),
        samples: samples(table, "samples", READ_SAMPLES),
    }
}

fn timer_events(table: &Table<'_, '_>) -> ProbeWish {
    let methods = table.parsed::<timer_events::Method>("methods");
    let forms = table.parsed::<timer_events::Form>("forms");
    let all = || timer_events::Method::all();
    let available = || all().filter(|m| m.available().is_ok()).collect();
    ProbeWish::TimerEvents {
        methods: names(&methods.unwrap_or_else(available)),
        forms: names(&forms.unwrap_or_else(|| timer_events::Form::ALL.to_vec())),
        periods_ns: times(table, "periods", &[100_000]),
        slack: slack(table, "1ns"),
        events: samples(table, "events", EVENTS),
    }
}

fn times(table: &Table<'_, '_>, key: &'static str, usual: &[u64]) -> Vec<u64> {
    let given = table.list(key, parse_duration_ns);
    given.unwrap_or_else(|| usual.to_vec())
}

fn samples(table: &Table<'_, '_>, key: &'static str, usual: u64) -> u64 {
    table.number(key, 1..100_000_001).unwrap_or(usual)
}

fn slack(table: &Table<'_, '_>, usual: &str) -> Vec<String> {
    let given = table.list("slack", |text| one_slack(text).map(|_| text.to_owned()));
    given.unwrap_or_else(|| vec![usual.to_owned()])
}

fn one_slack(text: &str) -> Result<Slack, String> {
    match text {
        "default" => Ok(Slack::Default),
        time => parse_duration_ns(time).map(Slack::Ns),
    }
}

fn slacks(texts: &[String]) -> Result<Vec<Slack>, String> {
    texts.iter().map(|text| one_slack(text)).collect()
}

fn names(methods: &[impl ToString]) -> Vec<String> {
    methods.iter().map(ToString::to_string).collect()
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    texts: &[String],
) -> Result<Vec<T>, String> {
    let one = |text: &String| text.parse::<T>().map_err(|e| e.to_string());
    texts.iter().map(one).collect()
}
