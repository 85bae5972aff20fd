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
    CauseTotal, CpuUse, LoadEvidence, Mark, Measurement, ProgramUse, Recorder, Sample, StallPart,
    Stalls, Throttling, factor, stall_parts,
};
use tompion_probe::timer_events::Found;
use tompion_probe::{Limits, Outcome};
use tompion_run::probes::{ReadCost, TimerEvents, WakeUp, Way};
use tompion_run::{Bench, Clocks, Error, MachineSettings, PlannedCell, PlannedSearch, Trial};

/// The most samples of a trial: what is planted has no more in it.
const MOST: u64 = 1000;
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
/// The name of another program that keeps one of two CPUs busy.
const OTHER: &str = "PLANTED_OTHER";
/// By how many microseconds sleeps as they are come late beside a load.
const LATE: &str = "PLANTED_LATE_US";
/// How long a load takes to settle.
const SETTLE: Duration = Duration::from_millis(300);

/// The machine.
pub struct Machine {
    now: Duration,
    loads: Vec<LoadSpec>,
    on: Option<(usize, Duration)>,
    step_s: i64,
    drift: f64,
    /// Always the same series.
    random: ChaCha8Rng,
}

impl Machine {
    /// One with these loads, all of them off.
    pub fn new(loads: &[LoadSpec], _: &MachineSettings) -> Result<Self, Error> {
        Ok(Self {
            now: Duration::from_secs_f64(planted_number(BEGINS, 1.0)),
            loads: loads.to_vec(),
            on: None,
            step_s: std::env::var(STEP).map_or(0, |s| s.parse().expect("seconds")),
            drift: planted_number(DRIFT, 0.0),
            random: ChaCha8Rng::seed_from_u64(0),
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

    /// So many samples, `every` nanoseconds apart.
    fn samples(&mut self, wanted: u64, every: u64, usual: u64, limits: &Limits) -> (Recorder, u64) {
        let fit = limits.time_ns / (every + usual).max(1);
        let count = wanted.min(fit).clamp(WARM_UP, MOST);
        let mut recorder = Recorder::new(MOST as usize + 64, None);
        for i in 0..WARM_UP + count {
            let value_ps = self.value_ps(usual);
            recorder.push(Sample {
                at_ns: i * (every + usual),
                value_ps,
                n: 1,
                missed: 0,
                mark: if i < WARM_UP {
                    Mark::WarmUp
                } else {
                    Mark::None
                },
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

    /// A loop whose only stalls are ten of the kernel's, 20 us each.
    fn stalls(&mut self, cpu: Option<u32>, threshold_ns: u64, time_ns: u64) -> (Outcome, Stalls) {
        const COUNT: u64 = 10;
        const NS: u64 = 20_000;
        let cause = Cause::ALL[0];
        let mut recorder = Recorder::new(64, None);
        let mut parts = Vec::new();
        for i in 1..=COUNT {
            let at_ns = i * time_ns / (COUNT + 1);
            recorder.push(Sample {
                at_ns,
                value_ps: (NS * 1000).cast_signed(),
                n: 1,
                missed: 0,
                mark: Mark::None,
            });
            parts.push(StallPart {
                at_ns,
                ns: NS,
                cause,
                by: None,
                source: None,
                because: "planted".to_owned(),
            });
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
            stalls: COUNT,
            lost_ns: COUNT * NS,
            rows_lost: 0,
            causes: vec![CauseTotal {
                cause,
                by: None,
                ns: COUNT * NS,
                parts: COUNT,
                longest_ns: NS,
            }],
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
            let has_remedy = cell.factors.get(factor::SLACK) != Some("default")
                || cell.factors.get(factor::POLICY).is_some();
            let usual = match planted_number(LATE, 0.0) {
                late_us if late_us > 0.0 && busy > 1 && !has_remedy => (late_us * 1e3) as u64,
                _ => 55_000 * busy,
            };
            (every, slow(usual), grid, limits.time_ns)
        };
        let (mut recorder, count) = self.samples(limits.samples, every, usual, limits);
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

/// A number that a test plants.
fn planted_number(name: &str, usual: f64) -> f64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}

/// What others took of two CPUs in so much time.
fn other_programs(time: Duration) -> CpuUse {
    let watched_ns = time.as_nanos() as u64;
    let program = |name| ProgramUse {
        name,
        cpu_time_ns: watched_ns,
    };
    let most: Vec<ProgramUse> = std::env::var(OTHER).ok().map(program).into_iter().collect();
    CpuUse {
        watched_ns,
        cpus: 2,
        programs_ns: most.iter().map(|p| p.cpu_time_ns).sum(),
        kernel_threads_ns: Some(0),
        stolen_ns: None,
        most,
    }
}

impl Bench for Machine {
    fn guards(&self) -> Vec<String> {
        vec!["Nothing was measured: all values are planted.".to_owned()]
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
        let started = self.now;
        let mut found = Vec::new();
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
        let trial = |(factors, outcome, stalls)| Trial {
            factors,
            started,
            started_unix_ns: None,
            ended,
            outcome,
            load: load.clone(),
            stalls,
            observation: None,
            cpu_use: Some(other_programs(ended - started)),
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
