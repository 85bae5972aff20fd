//! A machine in virtual time, all of whose measurements are planted.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tompion_cause::Cause;
use tompion_load::LoadSpec;
use tompion_model::{
    CauseTotal, CpuUse, LoadEvidence, Mark, Measurement, Recorder, Sample, StallPart, Stalls,
    Throttling, factor, stall_parts,
};
use tompion_probe::timer_events::Found;
use tompion_probe::{Limits, Outcome};
use tompion_run::probes::{ReadCost, TimerEvents, WakeUp, Way};
use tompion_run::{Bench, Clocks, Error, MachineSettings, PlannedCell, PlannedSearch, Trial};

pub use crate::plants::environment;
use crate::plants::{Plants, number, seed};

/// The most samples of a trial, 1000 unless told: what is planted has no more in it.
const MOST: &str = "PLANTED_SAMPLES";
/// Rows at the start of a trial that are warm-up.
const WARM_UP: u64 = 5;
/// By how many seconds the time of day is set once the machine has run for `STEP_AFTER`.
const STEP: &str = "PLANTED_STEP_S";
const STEP_AFTER: Duration = Duration::from_secs(4);
/// By what share everything becomes slower with each second of virtual time.
const DRIFT: &str = "PLANTED_DRIFT";
/// At which second of virtual time the run begins.
const BEGINS: &str = "PLANTED_BEGINS_S";
/// A file that holds by what factor all is slower, now.
const FACTOR: &str = "PLANTED_FACTOR_FILE";
/// By how many microseconds sleeps as they are come late beside a load.
const LATE: &str = "PLANTED_LATE_US";
/// What a trial takes beside its samples, in milliseconds.
const OVERHEAD: &str = "PLANTED_OVERHEAD_MS";
/// How long a load takes to settle.
const SETTLE: Duration = Duration::from_millis(300);

/// The machine.
pub struct Machine {
    now: Duration,
    loads: Vec<LoadSpec>,
    on: Option<(usize, Duration)>,
    step_s: i64,
    drift: f64,
    plants: Plants,
    most: u64,
    /// Always the same series of a seed.
    random: ChaCha8Rng,
}

impl Machine {
    /// One with these loads, all of them off.
    pub fn new(loads: &[LoadSpec], _: &MachineSettings) -> Result<Self, Error> {
        Ok(Self {
            now: Duration::from_secs_f64(number(BEGINS, 1.0)),
            loads: loads.to_vec(),
            on: None,
            step_s: std::env::var(STEP).map_or(0, |s| s.parse().expect("seconds")),
            drift: number(DRIFT, 0.0),
            plants: Plants::named(),
            most: number(MOST, 1000.0) as u64,
            random: ChaCha8Rng::seed_from_u64(seed()),
        })
    }

    /// How much slower than usual all is at present.
    fn slowness(&self) -> f64 {
        let from_file = std::env::var(FACTOR).map_or(1.0, |file| {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            text.trim().parse().unwrap_or(1.0)
        });
        from_file * (1.0 + self.drift * self.now.as_secs_f64())
    }

    /// `usual` nanoseconds and up to a tenth more, in picoseconds; one in fifty is thrice
    /// as long.
    fn value_ps(&mut self, usual: u64) -> i64 {
        let factor = if self.random.random_ratio(1, 50) {
            3
        } else {
            1
        };
        let jitter = self.random.random_range(0..=usual * 100);
        ((usual * 1000 + jitter) * factor).cast_signed()
    }

    /// So many samples, `every` nanoseconds apart; asleep beside a `load` until what they measure.
    fn samples(
        &mut self,
        wanted: u64,
        (every, usual): (u64, u64),
        load: Option<&str>,
        limits: &Limits,
    ) -> (Recorder, u64) {
        let fit = limits.time_ns / (every + usual).max(1);
        let count = wanted.min(fit).clamp(WARM_UP, self.most);
        let mut recorder = Recorder::new(self.most as usize + 64, None);
        for i in 0..WARM_UP + count {
            let at_ns = i * (every + usual);
            let due = self.now + Duration::from_nanos(at_ns + every);
            let waited = self.plants.waited(i).filter(|_| load.is_some());
            let (waited_ns, disturbed) = waited.unwrap_or((0, Mark::None));
            let stalled_ns = load.map_or(0, |load| self.plants.stalled_ns(load, due));
            let held_up_ns = self.plants.paused_ns(due) + waited_ns + stalled_ns;
            let value_ps = self.value_ps(usual) + (held_up_ns * 1000).cast_signed();
            recorder.push(Sample {
                at_ns,
                value_ps,
                n: 1,
                missed: 0,
                mark: if i < WARM_UP { Mark::WarmUp } else { disturbed },
            });
        }
        (recorder, count)
    }

    fn evidence(&self, load: usize) -> Option<LoadEvidence> {
        let spec = &self.loads[load];
        let (_, since) = self.on?;
        let observed = (self.now - since).as_nanos() as u64;
        let is_idle = spec.is_idle();
        Some(LoadEvidence {
            load: spec.to_string(),
            driver: if is_idle { "none" } else { "planted" }.to_owned(),
            operations: (!is_idle).then_some(observed / 1000),
            operation: (!is_idle).then(|| "planted".to_owned()),
            bytes: None,
            cpu_time_ns: if is_idle { 0 } else { observed },
            observed_ns: observed,
            context_switches_per_second: 1000.0,
            interrupts_per_second: 500.0,
            notes: Vec::new(),
            parts: Vec::new(),
        })
    }

    /// A loop with ten stalls of the kernel's, 20 us each, and what else is planted.
    fn stalls(&mut self, cpu: Option<u32>, threshold_ns: u64, time_ns: u64) -> (Outcome, Stalls) {
        const COUNT: u64 = 10;
        const NS: u64 = 20_000;
        let own = (1..=COUNT).map(|i| (i * time_ns / (COUNT + 1), NS, Cause::ALL[0], None));
        let mut all = self.plants.stalls(self.now, time_ns);
        all.extend(own);
        all.sort_by_key(|(at, ..)| *at);
        let mut recorder = Recorder::new(all.len() + 64, None);
        let mut parts = Vec::new();
        let mut causes: Vec<CauseTotal> = Vec::new();
        for (at_ns, ns, cause, by) in &all {
            let (at_ns, ns, cause) = (*at_ns, *ns, *cause);
            recorder.push(Sample {
                at_ns,
                value_ps: (ns * 1000).cast_signed(),
                n: 1,
                missed: 0,
                mark: Mark::None,
            });
            parts.push(StallPart {
                at_ns,
                ns,
                cause,
                by: by.clone(),
                source: None,
                because: "planted".to_owned(),
            });
            match causes.iter_mut().find(|c| c.cause == cause) {
                Some(total) => {
                    total.ns += ns;
                    total.parts += 1;
                }
                None => causes.push(CauseTotal {
                    cause,
                    by: by.clone(),
                    ns,
                    parts: 1,
                    longest_ns: ns,
                }),
            }
        }
        let (mut data, storage) = recorder.finish();
        data.tables
            .insert(stall_parts::NAME.to_owned(), stall_parts::table(&parts));
        let outcome = Outcome {
            data,
            storage,
            measurement: Measurement {
                technique: "planted stalls".to_owned(),
                clock: "planted".to_owned(),
                pinned_cpu: cpu,
                ..Measurement::default()
            },
            missed_periods: None,
            began_ns: 0,
        };
        let stalls = Stalls {
            cpu,
            threshold_ns,
            iterations: time_ns / 50,
            loop_period_ns: 50.0,
            began_unix_ns: None,
            wall_ns: time_ns,
            observed_ns: time_ns,
            own_ns: 0,
            stalls: all.len() as u64,
            lost_ns: causes.iter().map(|c| c.ns).sum(),
            rows_lost: 0,
            causes,
        };
        (outcome, stalls)
    }

    /// What a probe without stalls of its own finds, and how long it took.
    fn outcome(&mut self, cell: &PlannedCell, limits: &Limits) -> (Outcome, u64) {
        let busy = if self.loads[cell.load].is_idle() {
            1
        } else {
            2
        };
        let probe: &dyn Any = &*cell.probe;
        let is_read = probe.is::<ReadCost>();
        let slow = |ns: u64| (ns as f64 * self.slowness()) as u64;
        let (every, usual, period_ns, lasts) = if is_read {
            (100, slow(25 * busy), None, 5_000_000)
        } else if let Some(&TimerEvents { period_ns, .. }) = probe.downcast_ref() {
            (
                period_ns,
                slow(8_000 * busy),
                Some(period_ns),
                limits.time_ns,
            )
        } else {
            // Sleeps, and what probes of later versions do.
            let alone: Option<&WakeUp> = probe.downcast_ref();
            let alone = alone.map(|s| (s.method, s.target_ns, 1));
            let in_company = match cell.probe.way() {
                Way::Sleepers(at_once) => at_once.members.first().map(|m| m.sleeper),
                _ => None,
            };
            let in_company = in_company.map(|s| (s.method, s.target_ns, s.threads.max(1)));
            let sleep = alone.or(in_company);
            let every = sleep.map_or(1_000_000, |(_, ns, threads)| ns / u64::from(threads));
            let grid = sleep.filter(|(method, ..)| method.row().has_grid);
            let grid = grid.map(|(_, ns, _)| ns);
            let slack = cell.factors.level(factor::SLACK);
            let late_ns = self.plants.sleep_ns(slack == "default");
            let has_remedy = slack != "default" || cell.factors.get(factor::POLICY).is_some();
            let usual = match number(LATE, 0.0) {
                late_us if late_us > 0.0 && busy > 1 && !has_remedy => (late_us * 1e3) as u64,
                _ => late_ns * busy,
            };
            (every, slow(usual), grid, limits.time_ns)
        };
        let load = self.loads[cell.load].level();
        let load = (!is_read).then_some(&*load);
        let (mut recorder, count) = self.samples(limits.samples, (every, usual), load, limits);
        if is_read {
            for i in 0..10 {
                let value_ps = self.value_ps(usual);
                recorder.push(Sample {
                    at_ns: lasts + i,
                    value_ps,
                    n: 100,
                    missed: 0,
                    mark: Mark::None,
                });
            }
        }
        let (data, storage) = recorder.finish();
        let measurement = Measurement {
            technique: "planted".to_owned(),
            clock: "planted".to_owned(),
            floor_ns: Some(10.0),
            period_ns,
            cpu_per_operation_ns: period_ns.map(|_| 2_000.0),
            wanted_samples: limits.samples,
            ended_by_time: count < limits.samples,
            ..Measurement::default()
        };
        let outcome = Outcome {
            data,
            storage,
            measurement,
            missed_periods: period_ns.map(|_| 0),
            began_ns: 0,
        };
        (outcome, lasts)
    }
}

impl Bench for Machine {
    fn guards(&self) -> Vec<String> {
        vec!["Nothing was measured: all values are planted.".to_owned()]
    }

    fn cpu_use_before(&self) -> Option<CpuUse> {
        Some(self.plants.other_programs(Duration::from_secs(1)))
    }

    fn now(&mut self) -> Duration {
        self.now
    }

    fn load_on(&mut self, load: usize) -> Result<(), Error> {
        self.on = Some((load, self.now));
        if !self.loads[load].is_idle() {
            self.now += SETTLE;
        }
        Ok(())
    }

    fn load_off(&mut self, _: usize) -> Result<(), Error> {
        self.on = None;
        Ok(())
    }

    fn throttling(&mut self) -> Option<Throttling> {
        None
    }

    fn clocks(&mut self) -> Clocks {
        /// Of 2026-01-01, when all planted runs begin.
        const BEGAN_NS: u64 = 1_767_225_600_000_000_000;
        let ns = self.now.as_nanos() as u64;
        let step_s = if self.now > STEP_AFTER {
            self.step_s
        } else {
            0
        };
        Clocks {
            counter_ticks: Some(3 * ns),
            monotonic_raw_ns: ns,
            monotonic_ns: ns,
            realtime_ns: (BEGAN_NS + ns).wrapping_add_signed(step_s * 1_000_000_000),
            within_ns: 90,
            synchronisation: None,
        }
    }

    fn trial(&mut self, cell: &PlannedCell, limits: &Limits) -> Result<Vec<Trial>, Error> {
        self.now += Duration::from_secs_f64(number(OVERHEAD, 0.0) / 1e3);
        let started = self.now;
        let mut found = Vec::new();
        // Beside sleepers at once nothing is watched on real machines either.
        let in_company = matches!(cell.probe.way(), Way::Sleepers(_) | Way::Split(_));
        if let Way::Loops(loops) = cell.probe.way() {
            let threshold_ns = loops.threshold_ns;
            let named = loops.cpus.iter().map(|cpu| {
                let factors = cell.factors.clone();
                (factors.with(factor::CPU, cpu.to_string()), Some(*cpu))
            });
            let mut loops: Vec<_> = named.collect();
            if loops.is_empty() {
                loops.push((cell.factors.clone(), cell.thread.cpu));
            }
            for (factors, cpu) in loops {
                let (outcome, stalls) = self.stalls(cpu, threshold_ns, limits.time_ns);
                found.push((factors, outcome, Some(stalls)));
            }
            self.now += Duration::from_nanos(limits.time_ns);
        } else {
            let members = match cell.probe.way() {
                Way::Sleepers(at_once) => {
                    at_once.members.iter().map(|m| m.factors.clone()).collect()
                }
                Way::Split(split) => split.parts,
                _ => vec![cell.factors.clone()],
            };
            let mut longest = 0;
            for factors in members {
                let factors = cell.factors.clone().joined(&factors);
                let cell = PlannedCell {
                    factors: factors.clone(),
                    ..cell.clone()
                };
                let (outcome, lasts) = self.outcome(&cell, limits);
                found.push((factors, outcome, None));
                longest = longest.max(lasts);
            }
            self.now += Duration::from_nanos(longest);
        }
        let (ended, load) = (self.now, self.evidence(cell.load));
        let watches = |outcome: &Outcome| {
            let observed = self.plants.observation(&outcome.data.samples);
            observed.filter(|_| !in_company)
        };
        let trial = |(factors, outcome, stalls): (_, _, Option<Stalls>)| Trial {
            factors,
            started,
            started_unix_ns: None,
            ended,
            observation: watches(&outcome),
            outcome,
            load: load.clone(),
            findings: stalls.map(Into::into).unwrap_or_default(),
            cpu_use: Some(self.plants.other_programs(ended - started)),
        };
        Ok(found.into_iter().map(trial).collect())
    }

    fn search(&mut self, _: &PlannedSearch, stop: &Arc<AtomicBool>) -> Result<Found, Error> {
        self.now += Duration::from_nanos(PlannedSearch::search().time_ns);
        Ok(Found {
            smallest_ns: Some(20_000),
            not_held_ns: Some(10_000),
            ended_early: stop.load(Ordering::Relaxed),
            ..Found::default()
        })
    }
}
