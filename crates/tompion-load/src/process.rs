//! A running load as the measurement sees it.

use tompion_model::LoadEvidence;

use crate::component::{Component, Counts};
use crate::{Activity, LoadConfig, LoadError, LoadSpec, machine_activity};

/// The counters of a load at one moment.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Operations done so far, where the driver counts them; absent for loads that
    /// run together, whose operations have nothing in common.
    pub operations: Option<u64>,
    /// Bytes moved so far, where the driver counts them.
    pub bytes: Option<u64>,
    /// CPU time used so far, in nanoseconds.
    pub cpu_time_ns: u64,
    /// Totals of the whole machine.
    pub activity: Activity,
    /// Of each load that runs together, in the order of [`LoadSpec::parts`].
    parts: Vec<Counts>,
}

/// A load beside the measurement: ready, and on or off.
///
/// Dropping it ends it, and nothing stays behind. It also ends with its parent,
/// however that ends.
pub struct LoadProcess {
    /// The load as asked for.
    load: String,
    components: Vec<Component>,
    paused: bool,
}

impl LoadProcess {
    /// Starts a load and returns when it is ready and paused: it does nothing
    /// until [`resume`](Self::resume). (A driver program works for some tenths
    /// of a second before, which shows that it can.) Loads that run together share
    /// the write budget.
    ///
    /// # Errors
    /// If the load cannot run here: its program is not installed, memory or disk
    /// would run short, the write budget is too small, the peer does not answer, a CPU
    /// that is named does not exist.
    pub fn start(spec: &LoadSpec, config: &LoadConfig) -> Result<Self, LoadError> {
        if spec.is_idle() {
            return Err(LoadError::Start {
                load: spec.to_string(),
                problem: "idle is the absence of load and is never started".to_owned(),
            });
        }
        for part in spec.components() {
            let named: Vec<u32> = part.named_cpus().chain(config.measured_cpu).collect();
            tompion_host::require_cpus(&named).map_err(|problem| LoadError::Start {
                load: part.to_string(),
                problem: problem.to_string(),
            })?;
        }
        let config = LoadConfig {
            write_budget_bytes: config.write_budget_bytes / spec.writers().max(1) as u64,
            ..config.clone()
        };
        let parts = spec.components().iter();
        let components: Result<_, _> = parts.map(|part| Component::start(part, &config)).collect();
        Ok(Self {
            load: spec.to_string(),
            components: components?,
            paused: true,
        })
    }

    /// What the reader of the evidence has to know, each in one line; also part of
    /// the evidence.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.components
            .iter()
            .flat_map(|component| component.notes.iter().map(String::as_str))
    }

    /// Switches the load on; the calling thread sleeps until it is.
    ///
    /// It gets the CPU back when the load lets it: within a few milliseconds with
    /// few threads, but with a hundred busy threads on two CPUs only after each of
    /// them has run once, a tenth to half a second.
    ///
    /// # Errors
    /// If the load has ended by itself, or cannot be continued.
    pub fn resume(&mut self) -> Result<(), LoadError> {
        self.check_alive()?;
        if self.paused {
            // Even if only some of it can be switched on.
            self.paused = false;
            for component in &mut self.components {
                component.begin_on()?;
            }
            for component in &mut self.components {
                component.await_on()?;
            }
        }
        Ok(())
    }

    /// Switches the load off; returns when it has stopped. What a network load
    /// has in flight still drains, up to the size of its socket buffers.
    ///
    /// # Errors
    /// If the load has ended by itself, or cannot be stopped.
    pub fn pause(&mut self) -> Result<(), LoadError> {
        self.check_alive()?;
        if !self.paused {
            for component in &mut self.components {
                component.begin_off()?;
            }
            for component in &mut self.components {
                component.await_off()?;
            }
            self.paused = true;
        }
        Ok(())
    }

    fn check_alive(&mut self) -> Result<(), LoadError> {
        self.components
            .iter_mut()
            .try_for_each(Component::check_alive)
    }

    /// The counters now.
    ///
    /// # Errors
    /// If the load has ended by itself, or `/proc` cannot be read.
    pub fn observe(&mut self) -> Result<Observation, LoadError> {
        let counts = self.components.iter_mut().map(Component::counts);
        let parts: Vec<Counts> = counts.collect::<Result<_, _>>()?;
        let activity = machine_activity();
        Ok(Observation {
            operations: match &parts[..] {
                [one] => one.operations,
                _ => None,
            },
            bytes: parts
                .iter()
                .filter_map(|part| part.bytes)
                .reduce(|a, b| a + b),
            cpu_time_ns: parts.iter().map(|part| part.cpu_time_ns).sum(),
            activity: activity
                .map_err(|e| self.components[0].system_error("read the machine's activity", e))?,
            parts,
        })
    }

    /// What the load did since an earlier observation.
    ///
    /// # Errors
    /// [`LoadError::DidNothing`] if it, or one of several, neither used CPU time
    /// nor counted an operation; [`LoadError::Died`] if it has ended by itself.
    pub fn evidence(&mut self, since: &Observation) -> Result<LoadEvidence, LoadError> {
        let now = self.observe()?;
        let machine = whole_machine(since, &now);
        let counts = now.parts.iter().zip(&since.parts);
        let parts = self.components.iter().zip(counts);
        let parts =
            parts.map(|(component, (now, before))| of_one(component, before, now, &machine));
        let mut parts: Vec<LoadEvidence> = parts.collect::<Result<_, _>>()?;
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        let mut drivers: Vec<&str> = parts.iter().map(|part| part.driver.as_str()).collect();
        drivers.sort_unstable();
        drivers.dedup();
        Ok(LoadEvidence {
            load: self.load.clone(),
            driver: drivers.join(", "),
            bytes: parts
                .iter()
                .filter_map(|part| part.bytes)
                .reduce(|a, b| a + b),
            cpu_time_ns: parts.iter().map(|part| part.cpu_time_ns).sum(),
            parts,
            ..machine
        })
    }

    /// Ends the load; returns when nothing of it is left.
    ///
    /// # Errors
    /// If something of it could not be ended.
    pub fn stop(mut self) -> Result<(), LoadError> {
        let ends = self.components.iter_mut().map(|component| {
            let end = component.end();
            end.map_err(|e| component.system_error("end it", e))
        });
        // Each is ended, whatever happened to the others.
        ends.fold(Ok(()), Result::and)
    }
}

/// The time observed, and what the whole machine did meanwhile.
fn whole_machine(since: &Observation, now: &Observation) -> LoadEvidence {
    let observed = now.activity.at.saturating_duration_since(since.activity.at);
    let rates = now.activity.rates_since(&since.activity);
    LoadEvidence {
        observed_ns: u64::try_from(observed.as_nanos()).unwrap_or(u64::MAX),
        context_switches_per_second: rates.context_switches_per_second,
        interrupts_per_second: rates.interrupts_per_second,
        ..LoadEvidence::default()
    }
}

fn of_one(
    component: &Component,
    before: &Counts,
    now: &Counts,
    machine: &LoadEvidence,
) -> Result<LoadEvidence, LoadError> {
    let since = |now: Option<u64>, before: Option<u64>| {
        now.zip(before)
            .map(|(now, before)| now.saturating_sub(before))
    };
    let operations = since(now.operations, before.operations);
    let cpu_time_ns = now.cpu_time_ns.saturating_sub(before.cpu_time_ns);
    if cpu_time_ns == 0 && operations.unwrap_or(0) == 0 {
        return Err(LoadError::DidNothing {
            load: component.load.clone(),
            observed_ms: machine.observed_ns as f64 / 1e6,
        });
    }
    Ok(LoadEvidence {
        load: component.load.clone(),
        driver: component.driver.clone(),
        operations,
        operation: component.operation().map(str::to_owned),
        bytes: since(now.bytes, before.bytes),
        cpu_time_ns,
        notes: component.notes.clone(),
        ..machine.clone()
    })
}
