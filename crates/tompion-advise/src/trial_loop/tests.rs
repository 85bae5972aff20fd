use std::fs;
use std::sync::atomic::AtomicU32;

use super::*;
use crate::advice::{KnobAdvice, Status};
use crate::{Figures, Leftover, Quantity, Setup, Surroundings, bar_system, candidates};
use tompion_probe::Policy;

const GOVERNOR: &str = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const LATENCY: &str = "/dev/cpu_dma_latency";

/// A machine made of files that has a governor, a clocksource and little else.
fn tree() -> (tempfile::TempDir, Surroundings) {
    let tree = tempfile::tempdir().unwrap();
    let root = Root::at(tree.path());
    for (path, text) in [
        (GOVERNOR, "powersave\n"),
        (
            "/sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors",
            "performance powersave\n",
        ),
        (CLOCKSOURCE, "hpet\n"),
        (
            "/sys/devices/system/clocksource/clocksource0/available_clocksource",
            "tsc hpet \n",
        ),
        (LATENCY, ""),
        ("/proc/sys/kernel/random/boot_id", "boot-1\n"),
    ] {
        let path = root.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let here = Surroundings {
        root,
        cpus: vec![0],
        slack_ns: Some(50_000),
        policy: Policy::Other,
        environment: tompion_model::Environment::default(),
        program: Err("none is planted".to_owned()),
    };
    (tree, here)
}

/// A machine whose latencies follow from its files and the trial's setup, with drift
/// and noise; time passes only in trials.
struct Planted<'a> {
    root: &'a Root,
    now: Duration,
    trials: u32,
    /// How many times larger or smaller than usual tails of wake-ups are, at most.
    tail_scatter: f64,
    /// The tails that others cause, whatever the setup; absent where they follow from the median.
    tail_of_others_ns: Option<f64>,
    /// Called before each trial with its number.
    each: Box<dyn FnMut(u32) + 'a>,
}

impl<'a> Planted<'a> {
    fn new(root: &'a Root) -> Self {
        Self {
            root,
            now: Duration::ZERO,
            trials: 0,
            tail_scatter: 1.0,
            tail_of_others_ns: None,
            each: Box::new(|_| {}),
        }
    }
}

impl Bench for Planted<'_> {
    fn now(&mut self) -> Duration {
        self.now
    }

    fn settle(&mut self, time: Duration) {
        self.now += time;
    }

    fn trial(
        &mut self,
        quantity: Quantity,
        setup: &Setup,
        time: Duration,
    ) -> Result<Figures, BenchError> {
        self.trials += 1;
        (self.each)(self.trials);
        self.now += time;
        if setup.locked {
            return Err(BenchError::Refused("needs CAP_IPC_LOCK".to_owned()));
        }
        let is = |path: &str, value: &str| self.root.text(path).as_deref() == Some(value);
        let median_ns = match quantity {
            Quantity::ReadCost if is(CLOCKSOURCE, "tsc") => 25.0,
            Quantity::ReadCost => 900.0,
            _ => {
                // Planted: slack adds itself, a real-time policy nothing, `performance`
                // costs 20 us.
                let slack = match setup.thread.policy {
                    Policy::Other => setup.thread.slack_ns.unwrap_or(50_000),
                    _ => 50_000,
                };
                let governor = if is(GOVERNOR, "performance") {
                    20e3
                } else {
                    0.0
                };
                7e3 + slack as f64 + governor
            }
        };
        let wave = f64::from(self.trials * 7919 % 101) / 101.0;
        let drift = f64::from(self.trials / 8) * 40.0;
        let median_ns =
            median_ns * (1.0 + 0.01 * wave) + drift * f64::from(quantity == Quantity::WakeUp);
        let tail_ns = match self.tail_of_others_ns {
            Some(tail_ns) => tail_ns * (1.0 + 0.02 * wave),
            None => median_ns * (1.5 + 0.1 * wave) * self.tail_scatter.powf(2.0 * wave - 1.0),
        };
        Ok(Figures {
            median_ns,
            tail_ns,
            cpu_ns: Some(3e3),
            samples: 100,
        })
    }
}

/// Tries all remedies on a planted machine; without consent to changes of it where there is no journal.
fn tried(
    here: &Surroundings,
    options: &TryOptions,
    journal: Option<&Journal>,
    bench: &mut Planted<'_>,
    stop: &AtomicBool,
) -> Advice {
    let mut all = candidates(here);
    if journal.is_none() {
        bar_system(&mut all, "needs --system");
    }
    try_all(&all, options, &here.root, journal, bench, stop, |_| {}).unwrap()
}

/// The same without a journal, as nobody stops it.
fn tried_without_consent(
    here: &Surroundings,
    options: &TryOptions,
    bench: &mut Planted<'_>,
) -> Advice {
    tried(here, options, None, bench, &AtomicBool::new(false))
}

fn options(seconds: u64) -> TryOptions {
    TryOptions {
        duration: Duration::from_secs(seconds),
        target_ns: 500_000,
        settle: Duration::from_millis(10),
        seed: 11,
        load: "idle".to_owned(),
        quantile: 0.99,
        for_use: None,
        tool: "tompion test".to_owned(),
    }
}

fn status_of(advice: &Advice, name: &str) -> Status {
    find(advice, name).status
}

fn find<'a>(advice: &'a Advice, name: &str) -> &'a KnobAdvice {
    let knob = advice.knobs.iter().find(|k| k.name == name);
    knob.unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn planted_effects_are_found_and_absent_ones_are_not() {
    let (_tree, here) = tree();
    let journal = Journal::open(&here.root).unwrap();
    let mut bench = Planted::new(&here.root);
    let stop = AtomicBool::new(false);
    let journal_used = AtomicU32::new(0);
    let watched = &here.root;
    bench.each = Box::new(|_| {
        // While a file has its new value the journal names it.
        let changed = watched.text(GOVERNOR).as_deref() == Some("performance");
        let leftover = Leftover::find(watched).unwrap();
        if changed {
            assert_eq!(leftover.unwrap().knob(), "governor");
            journal_used.fetch_add(1, Ordering::Relaxed);
        }
    });
    let advice = tried(&here, &options(120), Some(&journal), &mut bench, &stop);
    assert!(bench.now <= Duration::from_secs(120), "{:?}", bench.now);
    drop(bench);
    assert!(journal_used.into_inner() >= 10);
    for (name, status) in [
        ("timer-slack", Status::Helps),
        ("clocksource=tsc", Status::Helps),
        ("sched-fifo", Status::NoEffect),
        ("cpu-dma-latency", Status::NoEffect),
        ("governor", Status::Harms),
        ("mlock", Status::Refused),
        ("pinning", Status::Already),
        ("preload", Status::Absent),
        ("idle-states", Status::Absent),
    ] {
        assert_eq!(
            status_of(&advice, name),
            status,
            "{name}: {:?}",
            find(&advice, name)
        );
    }
    // One family of all tests that were made: Holm multiplies the least p by their number.
    // What is absent, refused or so already was not tested and does not count.
    let effects: Vec<_> = advice.knobs.iter().flat_map(|k| &k.effects).collect();
    let tested = advice
        .knobs
        .iter()
        .filter(|k| k.pairs > 0 && k.status != Status::Refused);
    assert_eq!(effects.len(), 2 * tested.count());
    let least = effects.iter().min_by(|a, b| a.p.total_cmp(&b.p)).unwrap();
    let holm = (least.p * effects.len() as f64).min(1.0);
    assert!((least.p_adjusted - holm).abs() < 1e-12, "{least:?}");
    // The largest gain first: 97 % of the read cost, 86 % of the latency.
    assert_eq!(advice.knobs[0].name, "clocksource=tsc");
    assert_eq!(advice.knobs[1].name, "timer-slack");
    let change = &find(&advice, "timer-slack").effects[0];
    assert!((change.change_ns + 50_000.0).abs() < 1_500.0, "{change:?}");
    assert!(change.low_ns <= -50_000.0 + 1_000.0 && change.high_ns < -40_000.0);
    // Everything is as it was.
    assert_eq!(here.root.text(GOVERNOR).as_deref(), Some("powersave"));
    assert_eq!(here.root.text(CLOCKSOURCE).as_deref(), Some("hpet"));
    assert!(Leftover::find(&here.root).unwrap().is_none());
}

#[test]
fn the_known_effect_of_slack_is_judged_at_p99_and_not_at_the_median() {
    let (_tree, here) = tree();
    let slack = |tail_of_others_ns| {
        let mut bench = Planted::new(&here.root);
        bench.tail_of_others_ns = tail_of_others_ns;
        let advice = tried_without_consent(&here, &options(20), &mut bench);
        let slack = find(&advice, "timer-slack").clone();
        let [median, tail] = &slack.effects[..] else {
            panic!("{slack:?}");
        };
        let (median, tail) = (median.clone(), tail.clone());
        // 50 us less, whatever the tails are.
        assert!(median.sure && !median.judged, "{median:?}");
        assert!((median.change_ns + 50e3).abs() < 1_500.0, "{median:?}");
        assert!(tail.judged && tail.quantile == "p99", "{tail:?}");
        (slack.status, advice.knobs[0].name.clone(), tail)
    };
    // A tail of one and a half medians: 1.55 times the 50 us.
    let (status, first, tail) = slack(None);
    assert_eq!((status, first.as_str()), (Status::Helps, "timer-slack"));
    assert!(tail.sure && tail.p_adjusted <= 0.05, "{tail:?}");
    assert!((tail.change_ns / 77.5e3 + 1.0).abs() < 0.05, "{tail:?}");
    assert!(tail.low_ns <= tail.change_ns && tail.change_ns <= tail.high_ns);
    assert!(tail.high_ns < -70e3, "{tail:?}");
    // Where the tail is others' whatever the slack, a median of an eighth is no help.
    let (status, _, tail) = slack(Some(400e3));
    assert_eq!(status, Status::NoEffect, "{tail:?}");
    assert!(tail.low_share > -0.1 && tail.high_share < 0.1, "{tail:?}");
}

#[test]
fn where_tails_scatter_what_has_no_effect_is_inconclusive_with_its_interval() {
    let (_tree, here) = tree();
    let mut bench = Planted::new(&here.root);
    bench.tail_scatter = 6.0;
    let advice = tried_without_consent(&here, &options(20), &mut bench);
    let fifo = find(&advice, "sched-fifo");
    let tail = fifo.effects.iter().find(|e| e.judged).unwrap();
    assert_eq!(
        (tail.quantile.as_str(), advice.quantile.as_str()),
        ("p99", "p99")
    );
    assert!(tail.low_share < -0.1 && tail.high_share > 0.1, "{tail:?}");
    assert_eq!(fifo.status, Status::NotDecidable);
    let reason = fifo.reason.as_deref().unwrap();
    let interval = crate::text::share(tail.low_share, tail.change_share, tail.high_share);
    assert!(reason.contains(&interval), "{reason}");
    assert!(reason.contains("try --duration"), "{reason}");
    // The median, 50 us of slack aside, is as tight as before, and decides nothing.
    let median = fifo.effects.iter().find(|e| !e.judged).unwrap();
    assert!(
        median.low_share > -0.1 && median.high_share < 0.1,
        "{median:?}"
    );
    // Seven eighths less are seen all the same.
    assert_eq!(status_of(&advice, "timer-slack"), Status::Helps);
}

#[test]
fn a_trial_is_long_enough_for_the_quantile_of_its_use() {
    let with = |quantile| TryOptions {
        quantile,
        duration: Duration::from_secs(1),
        ..options(0)
    };
    let length = |quantile| trial_length(&with(quantile), 10);
    assert_eq!(length(0.5), SHORTEST);
    assert_eq!(length(0.99), 100 * Duration::from_micros(500));
    assert_eq!(length(0.999), 1000 * Duration::from_micros(500));
}

#[test]
fn without_consent_nothing_outside_of_the_process_is_touched() {
    let (_tree, here) = tree();
    let mut bench = Planted::new(&here.root);
    let advice = tried_without_consent(&here, &options(20), &mut bench);
    let governor = find(&advice, "governor");
    assert_eq!(governor.status, Status::NotTried);
    assert_eq!(governor.reason.as_deref(), Some("needs --system"));
    assert_eq!(status_of(&advice, "timer-slack"), Status::Helps);
    assert!(here.root.bytes(LATENCY).unwrap().is_empty());
    assert!(!here.root.has("/run"));
}

#[test]
fn a_signal_puts_everything_back_and_keeps_what_was_measured() {
    let (_tree, here) = tree();
    let journal = Journal::open(&here.root).unwrap();
    let stop = AtomicBool::new(false);
    let mut bench = Planted::new(&here.root);
    bench.each = Box::new(|trial| stop.store(trial >= 200, Ordering::Relaxed));
    let advice = tried(&here, &options(600), Some(&journal), &mut bench, &stop);
    assert!(
        advice.interrupted && bench.trials <= 202,
        "{}",
        bench.trials
    );
    assert_eq!(status_of(&advice, "timer-slack"), Status::Helps);
    assert_eq!(here.root.text(GOVERNOR).as_deref(), Some("powersave"));
    assert!(Leftover::find(&here.root).unwrap().is_none());
}

#[test]
fn too_little_time_is_not_decidable_and_says_what_it_takes() {
    let (_tree, here) = tree();
    let mut bench = Planted::new(&here.root);
    let short = TryOptions {
        duration: Duration::from_millis(400),
        ..options(0)
    };
    let advice = tried_without_consent(&here, &short, &mut bench);
    assert!(bench.now <= short.duration);
    let slack = find(&advice, "timer-slack");
    assert_eq!(slack.status, Status::NotDecidable);
    assert!(slack.pairs < slack.pairs_needed.unwrap());
    let reason = slack.reason.as_deref().unwrap();
    assert!(reason.contains("--duration"), "{reason}");
}

#[test]
fn a_value_that_someone_else_sets_is_left_alone_named_and_not_judged() {
    let (_tree, here) = tree();
    let journal = Journal::open(&here.root).unwrap();
    let stop = AtomicBool::new(false);
    let mut bench = Planted::new(&here.root);
    let root = &here.root;
    bench.each = Box::new(move |trial| {
        if trial > 40 && root.text(GOVERNOR).as_deref() == Some("performance") {
            fs::write(root.path(GOVERNOR), "schedutil\n").unwrap();
        }
    });
    let advice = tried(&here, &options(60), Some(&journal), &mut bench, &stop);
    assert_eq!(status_of(&advice, "governor"), Status::Refused);
    assert_eq!(advice.left_alone.len(), 1);
    assert!(
        advice.left_alone[0].contains("`schedutil`"),
        "{:?}",
        advice.left_alone
    );
    assert_eq!(root.text(GOVERNOR).as_deref(), Some("schedutil"));
    assert_eq!(status_of(&advice, "timer-slack"), Status::Helps);
}

#[test]
fn a_dry_run_says_how_everything_stands() {
    let (_tree, here) = tree();
    let mut all = candidates(&here);
    bar_system(&mut all, "needs --system");
    let advice = Advice::dry_run(&all, &options(60));
    assert_eq!(status_of(&advice, "timer-slack"), Status::WouldBeTried);
    assert_eq!(status_of(&advice, "governor"), Status::NotTried);
    assert_eq!(status_of(&advice, "preload"), Status::Absent);
    let text = advice.text(80);
    assert!(
        text.contains("Would be tried") && text.contains("50.0 µs → 1.00 ns"),
        "{text}"
    );
}
