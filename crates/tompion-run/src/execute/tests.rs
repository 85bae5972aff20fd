//! The runner on a planted bench: order, time, signals, failures.

use std::collections::HashMap;
use std::path::Path;

use tompion_model::{
    Environment, Mark, Measurement, RunHeader, Sample, Storage, Throttling, TrialData, TrialDraft,
};
use tompion_probe::Outcome;
use tompion_probe::timer_events::Found;
use tompion_store::Run;

use super::*;
use crate::Clocks;
use crate::plan::tests::{options, selection, wake_up};

/// A bench in virtual time; every trial takes all the time it is given.
pub(crate) struct Planted {
    pub(super) now: Duration,
    pub(super) measured: Vec<String>,
    given: HashMap<String, Duration>,
    pub(crate) fail_after: Option<usize>,
    lazy_load: Option<u32>,
    overhead: Duration,
    /// A load beside which everything is slow: what a trial takes more, and switching it off.
    slow: Option<(usize, Duration)>,
    pub(super) on: Option<usize>,
    stop_after: Option<(usize, Arc<AtomicBool>)>,
    readings: u64,
    searched: Vec<String>,
}

impl Planted {
    pub(crate) fn new() -> Self {
        Self {
            now: Duration::from_secs(1000),
            measured: Vec::new(),
            given: HashMap::new(),
            fail_after: None,
            lazy_load: None,
            overhead: Duration::from_millis(10),
            slow: None,
            on: None,
            stop_after: None,
            readings: 0,
            searched: Vec::new(),
        }
    }
}

impl Planted {
    fn slowness(&self, load: usize) -> Duration {
        let slow = self.slow.filter(|slow| slow.0 == load);
        slow.map_or(Duration::ZERO, |slow| slow.1)
    }
}

impl Bench for Planted {
    fn now(&mut self) -> Duration {
        self.now
    }

    fn throttling(&mut self) -> Option<Throttling> {
        // Every reading finds one more period throttled.
        self.readings += 1;
        Some(Throttling {
            periods: 10 * self.readings,
            throttled_periods: self.readings,
            throttled_ns: 80_000_000 * self.readings,
        })
    }

    fn clocks(&mut self) -> Clocks {
        // The counter has three ticks a nanosecond; after a second the wall clock is set.
        let ns = self.now.as_nanos() as u64;
        let set = if self.now > Duration::from_secs(1001) {
            7_000_000
        } else {
            0
        };
        Clocks {
            counter_ticks: Some(3 * ns),
            monotonic_raw_ns: ns,
            monotonic_ns: ns + ns / 100_000,
            realtime_ns: ns + ns / 100_000 + set,
            within_ns: 90,
            synchronisation: None,
        }
    }

    fn load_on(&mut self, load: usize) -> Result<(), Error> {
        assert_eq!(self.on.replace(load), None, "two loads at once");
        self.now += Duration::from_millis(20);
        Ok(())
    }

    fn load_off(&mut self, load: usize) -> Result<(), Error> {
        assert_eq!(self.on.take(), Some(load));
        self.now += self.slowness(load);
        Ok(())
    }

    fn search(&mut self, search: &PlannedSearch, _: &Arc<AtomicBool>) -> Result<Found, Error> {
        assert_eq!(self.on, Some(search.load));
        self.searched.push(search.factors.to_string());
        Ok(Found {
            smallest_ns: Some(7_000),
            not_held_ns: Some(6_700),
            ..Found::default()
        })
    }

    fn trial(&mut self, cell: &PlannedCell, limits: &Limits) -> Result<Vec<Trial>, Error> {
        assert_eq!(self.on, Some(cell.load));
        self.now += self.overhead + self.slowness(cell.load);
        if let Some(left) = self.lazy_load.as_mut().filter(|left| **left > 0) {
            *left -= 1;
            return Err(Error::Load(LoadError::DidNothing {
                load: "planted".into(),
                observed_ms: 1.0,
            }));
        }
        let started = self.now;
        if self.fail_after == Some(self.measured.len()) {
            return Err(Error::Probe {
                cell: cell.factors.to_string(),
                source: tompion_probe::Error::Panicked,
            });
        }
        if let Some((after, flag)) = &self.stop_after
            && *after == self.measured.len()
        {
            flag.store(true, Ordering::Relaxed);
        }
        self.measured.push(cell.factors.to_string());
        let time = Duration::from_nanos(limits.time_ns);
        self.given.insert(cell.factors.to_string(), time);
        self.now += match cell.probe.is_timed() {
            false => Duration::from_millis(5),
            true => time,
        };
        let outcome = Outcome {
            data: TrialData {
                samples: vec![Sample {
                    at_ns: 1,
                    value_ps: 5,
                    n: 1,
                    missed: 0,
                    mark: Mark::None,
                }],
                ..TrialData::default()
            },
            storage: Storage::Complete,
            measurement: Measurement::default(),
            missed_periods: None,
            began_ns: 0,
        };
        Ok(vec![Trial {
            factors: cell.factors.clone(),
            started,
            started_unix_ns: None,
            ended: self.now,
            outcome,
            load: None,
            findings: Default::default(),
            observation: None,
            cpu_use: None,
        }])
    }
}

pub(super) fn writer(directory: &Path, plan: &Plan) -> RunWriter {
    RunWriter::create(
        directory,
        RunHeader {
            command_line: vec!["test".into()],
            tool: "test".into(),
            started_at: "2026-01-01T00:00:00Z".into(),
            design: plan.design(),
            environment: Environment::default(),
            guards: Vec::new(),
            profiles: Vec::new(),
        },
    )
    .unwrap()
}

fn run(
    bench: &mut Planted,
    stop: &Arc<AtomicBool>,
) -> (Result<Status, Error>, Run, tempfile::TempDir, Plan) {
    let directory = tempfile::tempdir().unwrap();
    let plan = Plan::new(&options()).unwrap();
    let mut w = writer(directory.path(), &plan);
    let result = execute(&plan, bench, &mut w, stop, |_| ());
    let read = Run::open(directory.path()).unwrap();
    (result, read, directory, plan)
}

#[test]
fn every_block_measures_every_cell_once() {
    let mut bench = Planted::new();
    let (result, run, _directory, plan) = run(&mut bench, &Arc::default());
    assert_eq!(result.unwrap(), Status::Complete);
    assert_eq!(run.record().trials.len(), plan.trials());
    for block in 0..plan.blocks {
        let of_block = run
            .record()
            .trials
            .iter()
            .filter(|t| t.block == block)
            .count();
        assert_eq!(of_block, plan.cells.len());
    }
    assert_eq!(run.record().status, Status::Complete);
}

#[test]
fn the_time_asked_for_is_kept_whatever_trials_cost() {
    let mut bench = Planted::new();
    let began = bench.now;
    let (_, _, _directory, plan) = run(&mut bench, &Arc::default());
    let took = (bench.now - began).as_secs_f64() / plan.duration.as_secs_f64();
    // The plan asks for 2 s; its 56 trials cost 0.56 s before they measure.
    assert!(
        (0.8..=1.1).contains(&took),
        "took {took} of the time asked for"
    );
}

/// Wants one cell and nothing of the others.
struct One(usize, Vec<String>);

/// Asks for optional cells in the second half of the blocks.
struct Later(u32);

impl Attention for Later {
    fn saw(&mut self, _: &TrialDraft, _: &TrialData) {}

    fn shares(&mut self, cells: &[PlannedCell]) -> Vec<f64> {
        self.0 += 1;
        let asked = if self.0 > 2 { 1.0 } else { 0.0 };
        let share = |cell: &PlannedCell| if cell.is_optional { asked } else { 1.0 };
        cells.iter().map(share).collect()
    }
}

impl Attention for One {
    fn saw(&mut self, trial: &TrialDraft, data: &TrialData) {
        assert_eq!(data.samples.len(), 1);
        self.1.push(trial.factors.to_string());
    }

    fn shares(&mut self, cells: &[PlannedCell]) -> Vec<f64> {
        let share = |i| f64::from(u8::from(i == self.0));
        (0..cells.len()).map(share).collect()
    }
}

#[test]
fn time_goes_where_it_is_still_needed() {
    let directory = tempfile::tempdir().unwrap();
    let plan = Plan::new(&options()).unwrap();
    let wanted = plan.cells.iter().position(|c| c.timed_weight().is_some());
    let wanted = wanted.expect("a cell whose trials last as long as they are given");
    let carried_out = |guides: Guides<'_>, name: &str| {
        let mut bench = Planted::new();
        let began = bench.now;
        let mut w = writer(&directory.path().join(name), &plan);
        let done = execute_guided(&plan, &mut bench, &mut w, guides, &Arc::default(), |_| ());
        assert_eq!(done.unwrap(), Status::Complete);
        (bench.now - began, bench)
    };
    let (even_took, even) = carried_out(Guides::default(), "even");
    let mut one = One(wanted, Vec::new());
    let guides = Guides {
        attention: Some(&mut one),
        ..Guides::default()
    };
    let (took, bench) = carried_out(guides, "one");
    // All are measured in each block all the same, and it sees them all.
    assert_eq!(bench.measured, even.measured);
    assert_eq!(one.1.len(), plan.trials());
    // What was given last: the whole rest to one, the least to the others.
    for (i, cell) in plan.cells.iter().enumerate() {
        let of = |bench: &Planted| bench.given[&cell.factors.to_string()];
        if i == wanted {
            assert!(
                of(&bench) > 2 * of(&even),
                "{:?} {:?}",
                of(&bench),
                of(&even)
            );
        } else if cell.timed_weight().is_some() {
            assert_eq!(of(&bench), cell.least_time(), "{}", cell.factors);
        }
    }
    let ratio = took.as_secs_f64() / even_took.as_secs_f64();
    assert!((0.9..=1.1).contains(&ratio), "{took:?} {even_took:?}");
}

/// Carries out a plan on a planted bench; gives its trials, and how long it took.
fn carried_out(plan: &Plan, guides: Guides<'_>) -> (Vec<tompion_model::Trial>, Planted, Duration) {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Planted::new();
    let began = bench.now;
    let mut w = writer(&directory.path().join("run"), plan);
    let told = |p: Progress<'_>| assert!(p.done <= p.total);
    let done = execute_guided(plan, &mut bench, &mut w, guides, &Arc::default(), told);
    assert_eq!(done.unwrap(), Status::Complete);
    let run = Run::open(&directory.path().join("run")).unwrap();
    let took = bench.now - began;
    (run.record().trials.clone(), bench, took)
}

#[test]
fn what_is_optional_is_measured_only_while_somebody_asks_for_it() {
    let mut options = options();
    let usual = Plan::new(&options).unwrap().trials();
    options.probes.push(wake_up("timerfd", "1ms").optional());
    let plan = Plan::new(&options).unwrap();
    assert_eq!(plan.trials(), usual);
    assert_eq!(plan.design().cells * plan.blocks, usual as u32);
    let (trials, ..) = carried_out(&plan, Guides::default());
    assert_eq!(trials.len(), usual);
    let mut later = Later(0);
    let guides = Guides {
        attention: Some(&mut later),
        ..Guides::default()
    };
    let (trials, _, took) = carried_out(&plan, guides);
    let is_optional = |t: &&tompion_model::Trial| t.factors.level("method") == "timerfd";
    let blocks: Vec<u32> = trials.iter().filter(is_optional).map(|t| t.block).collect();
    // Beside two loads, in the blocks after the second.
    assert_eq!(blocks, [2, 2, 3, 3]);
    assert_eq!(trials.len(), usual + 4);
    let ratio = took.as_secs_f64() / plan.duration.as_secs_f64();
    assert!((0.8..=1.1).contains(&ratio), "{ratio}");
}

#[test]
fn what_is_to_last_has_its_share_of_the_time_and_leaves_some_to_the_others() {
    let given = |share: f64, seconds: u64| {
        let loop_ = selection("stalls", &[("threshold", "1us")]).lasting(share);
        let mut options = options();
        options.probes.push(loop_.at_rest());
        options.duration = Duration::from_secs(seconds);
        let (trials, bench, took) = carried_out(&Plan::new(&options).unwrap(), Guides::default());
        let loops = trials
            .iter()
            .filter(|t| t.factors.level("probe") == "stalls");
        assert_eq!(loops.count(), 4, "at rest alone");
        let ratio = took.as_secs_f64() / seconds as f64;
        assert!((0.8..=1.1).contains(&ratio), "{ratio}");
        let loops = bench
            .given
            .iter()
            .find(|(name, _)| name.starts_with("stalls/"));
        loops.unwrap().1.as_secs_f64() * 4.0
    };
    let quarter = given(0.25, 8);
    assert!((quarter - 2.0).abs() < 0.01, "{quarter}");
    assert!((given(0.1, 20) - 2.0).abs() < 0.01);
    let most = given(0.95, 8);
    assert!((3.5..5.6).contains(&most), "{most}");
}

#[test]
fn what_is_to_last_and_was_cut_short_is_made_up_for_by_the_blocks_that_follow() {
    let mut options = options();
    let loop_ = selection("stalls", &[("threshold", "1us")]).lasting(0.25);
    options.probes.push(loop_.at_rest());
    options.duration = Duration::from_secs(8);
    let plan = Plan::new(&options).unwrap();
    let mut cells = plan.cells.iter().enumerate();
    let (index, cell) = cells.find(|(_, c)| c.lasting.is_some()).unwrap();
    let now = Duration::from_secs(1000);
    // What a trial has beyond the least, in the first block and in each of those after one that had `given`.
    let first_and_later = |given: &dyn Fn(Duration) -> Duration| {
        let mut budget = Budget::new(&plan, now);
        let first = budget.time_for(index, cell, now);
        let given = given(first);
        budget.spent(index, cell, given, given);
        let shares = vec![1.0; plan.cells.len()];
        budget.share_anew(&plan, &shares, plan.blocks - 1, now + given);
        let later = budget.time_for(index, cell, now + given);
        [first, later].map(|t| (t - cell.least_time()).as_secs_f64())
    };
    let [first, later] = first_and_later(&|first| first);
    assert!((later / first - 1.0).abs() < 0.01, "{first} {later}");
    let blocks = f64::from(plan.blocks);
    let [first, later] = first_and_later(&|_| cell.least_time());
    let owed = blocks / (blocks - 1.0);
    assert!((later / first - owed).abs() < 0.01, "{first} {later}");
}

#[test]
fn a_signal_drops_the_trial_under_way_and_keeps_the_rest() {
    let stop = Arc::new(AtomicBool::new(false));
    let mut bench = Planted {
        stop_after: Some((9, Arc::clone(&stop))),
        ..Planted::new()
    };
    let (result, run, _directory, _) = run(&mut bench, &stop);
    assert_eq!(result.unwrap(), Status::Interrupted);
    assert_eq!(run.record().trials.len(), 9);
    assert_eq!(run.record().status, Status::Interrupted);
    assert!(run.record().notes[0].text.contains("interrupted"));
}

#[test]
fn a_failing_probe_names_its_cell_and_keeps_the_rest() {
    let mut bench = Planted {
        fail_after: Some(5),
        ..Planted::new()
    };
    let (result, run, _directory, _) = run(&mut bench, &Arc::default());
    let text = result.unwrap_err().to_string();
    assert!(text.contains('/') && text.contains("panicked"), "{text}");
    assert_eq!(run.record().trials.len(), 5);
    assert_eq!(run.record().status, Status::Interrupted);
    assert_eq!(bench.on, None, "the load was left on");
}

#[test]
fn a_load_that_did_nothing_is_tried_again_and_then_an_error() {
    let mut bench = Planted {
        lazy_load: Some(ATTEMPTS - 1),
        ..Planted::new()
    };
    let (result, run_, _directory, plan) = run(&mut bench, &Arc::default());
    assert_eq!(result.unwrap(), Status::Complete);
    assert_eq!(run_.record().trials.len(), plan.trials());

    let mut bench = Planted {
        lazy_load: Some(u32::MAX),
        ..Planted::new()
    };
    let (result, run_, _directory, _) = run(&mut bench, &Arc::default());
    assert!(result.unwrap_err().to_string().contains("did nothing"));
    assert_eq!(run_.record().trials.len(), 0);
}

#[test]
fn a_slow_machine_gets_fewer_blocks_not_more_time() {
    let mut bench = Planted {
        overhead: Duration::from_millis(50),
        ..Planted::new()
    };
    let began = bench.now;
    let (result, run, _directory, plan) = run(&mut bench, &Arc::default());
    // 56 trials with 50 ms beside measuring are 2.8 s; the plan has 2 s.
    assert_eq!(result.unwrap(), Status::TimeLimit);
    assert_eq!(run.record().status, Status::TimeLimit);
    assert!(bench.now - began < plan.duration + Duration::from_secs(1));
    // Whole blocks, fewer than planned.
    let blocks = run.record().trials.len() / plan.cells.len();
    assert_eq!(run.record().trials.len(), blocks * plan.cells.len());
    assert!((1..4).contains(&blocks), "{blocks}");
    let note = &run.record().notes[0].text;
    assert!(
        note.starts_with(&format!("Time ran out after {blocks} of 4 blocks"))
            && note.contains("--duration"),
        "{note}"
    );
}

#[test]
fn where_not_even_one_block_fits_every_load_has_its_turn() {
    let mut bench = Planted {
        overhead: Duration::from_millis(600),
        ..Planted::new()
    };
    let began = bench.now;
    let (result, run, _directory, plan) = run(&mut bench, &Arc::default());
    assert_eq!(result.unwrap(), Status::TimeLimit);
    // One trial may be under way at the end.
    assert!(bench.now - began < plan.duration + Duration::from_secs(2));
    let loads: std::collections::BTreeSet<&str> = run
        .record()
        .trials
        .iter()
        .map(|t| t.factors.level(tompion_model::factor::LOAD))
        .collect();
    assert_eq!(loads.into_iter().collect::<Vec<_>>(), ["cpu", "idle"]);
    assert!(
        run.record().notes[0]
            .text
            .starts_with("Time ran out within block 1 of 4, before")
    );
}

#[test]
fn a_load_beside_which_a_trial_takes_most_of_the_time_leaves_the_others_their_turn() {
    // Of the run's time, and whether it leaves the others theirs, or no more than a trial.
    for (part, is_pass) in [(0.35, true), (0.6, false)] {
        for (slow, seed) in (0..16).map(|n| ((n % 2) as usize, n)) {
            let slowness = Duration::from_secs_f64(part * 6.0);
            let mut bench = Planted {
                slow: Some((slow, slowness)),
                ..Planted::new()
            };
            let o = crate::PlanOptions {
                duration: Duration::from_secs(6),
                seed,
                ..options()
            };
            let plan = Plan::new(&o).unwrap();
            let directory = tempfile::tempdir().unwrap();
            let mut w = writer(directory.path(), &plan);
            let began = bench.now;
            let status = execute(&plan, &mut bench, &mut w, &Arc::default(), |_| ()).unwrap();
            assert_eq!(status, Status::TimeLimit);
            let took = bench.now - began;
            let quick = plan.cells.iter().filter(|cell| cell.load != slow).count();
            let of = |load: usize| {
                let cells = plan.cells.iter().filter(|cell| cell.load == load);
                let cells: Vec<&Factors> = cells.map(|cell| &cell.factors).collect();
                let trials = w.record().trials.iter();
                trials.filter(|t| cells.contains(&&t.factors)).count()
            };
            let (fast, slow) = (of(1 - slow), of(slow));
            let enough = if is_pass { quick } else { 1 };
            let told = format!("seed {seed}: {slow} slow, {fast} of {quick} in {took:?}");
            assert!(slow >= 1 && fast >= enough, "{told}");
            assert!(took < plan.duration + 2 * slowness, "{told}");
        }
    }
}

#[test]
fn more_blocks_than_any_time_holds_end_in_time() {
    let mut bench = Planted::new();
    let began = bench.now;
    let o = crate::PlanOptions {
        blocks: 1_000_000,
        ..options()
    };
    let plan = Plan::new(&o).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut w = writer(directory.path(), &plan);
    let status = execute(&plan, &mut bench, &mut w, &Arc::default(), |_| ()).unwrap();
    assert_eq!(status, Status::TimeLimit);
    assert!(bench.now - began <= plan.duration + Duration::from_secs(1));
}

#[test]
fn the_clocks_are_read_at_both_ends_and_after_each_block() {
    let (_, run, _directory, _) = run(&mut Planted::new(), &Arc::default());
    let readings = &run.record().clock_readings;
    let blocks = run.record().header.design.blocks as usize;
    assert_eq!(readings.len(), blocks + 2);
    assert_eq!((readings[0].at_ns, readings[0].realtime_ns), (0, 0));
    let last = readings.last().unwrap();
    assert_eq!(last.counter_ticks, Some(3 * last.monotonic_raw_ns));
    assert_eq!(last.realtime_ns - last.monotonic_ns, 7_000_000);
    assert!(readings.is_sorted_by_key(|r| r.at_ns));
}

#[test]
fn throttling_is_that_of_the_run_alone() {
    let (_, run, _directory, _) = run(&mut Planted::new(), &Arc::default());
    let seen = run.record().throttling.unwrap();
    assert_eq!((seen.periods, seen.throttled_periods), (10, 1));
}

#[test]
fn long_targets_get_more_time_and_never_none() {
    let mut bench = Planted::new();
    let o = crate::PlanOptions {
        probes: vec![wake_up("usleep,tompion-hybrid", "100us,10ms")],
        loads: vec!["idle".parse().unwrap()],
        duration: Duration::from_secs(6),
        blocks: 8,
        ..options()
    };
    let plan = Plan::new(&o).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut w = writer(directory.path(), &plan);
    execute(&plan, &mut bench, &mut w, &Arc::default(), |_| ()).unwrap();
    let given = |method: &str, target: &str| {
        let key = format!("wake-up/{method}/{target}");
        let of = |k: &&String| k.starts_with(&key);
        let name = bench.given.keys().find(of).unwrap();
        bench.given[name].as_secs_f64()
    };
    // Warm-up and five samples at the very least.
    assert!(given("usleep", "10ms") > 0.08);
    assert!(given("usleep", "10ms") > 2.0 * given("usleep", "100us"));
}

#[test]
fn searches_follow_the_last_block_beside_their_load() {
    let directory = tempfile::tempdir().unwrap();
    let mut o = options();
    o.blocks = 1;
    let events = [
        ("methods", "timerfd"),
        ("forms", "grid"),
        ("periods", "100us"),
        ("events", "10"),
    ];
    o.probes.push(selection("timer-events", &events));
    let plan = Plan::new(&o).unwrap();
    let mut bench = Planted::new();
    let mut writer = writer(&directory.path().join("r"), &plan);
    let status = execute(&plan, &mut bench, &mut writer, &Arc::default(), |_| ()).unwrap();
    assert_eq!(status, Status::Complete);
    assert_eq!(
        bench.searched,
        [
            "timer-events/timerfd/form=grid/idle",
            "timer-events/timerfd/form=grid/cpu"
        ]
    );
    let run = Run::open(&directory.path().join("r")).unwrap();
    let holds: Vec<_> = run.record().holds.iter().map(|h| h.smallest_ns).collect();
    assert_eq!(holds, [Some(7_000), Some(7_000)]);
}
