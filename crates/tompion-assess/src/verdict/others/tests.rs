//! Planted trials beside planted programs.

use tompion_cause::{Cause, Source};
use tompion_model::{
    Cell, Cells, CpuUse, Factors, Mark, Measurement, Observation, ProgramUse, Sample, TrialData,
    TrialDraft, factor,
};

use crate::verdict::judge::{Part, judge};
use crate::verdict::{LoadVerdict, Outcome, profiles, verdicts};

const BLOCKS: u32 = 6;
const PREEMPTED: Mark = Mark::Disturbed(Cause::Preempted, Source::Event);
const STOLEN: Mark = Mark::Disturbed(Cause::Stolen, Source::Event);
const MS: i64 = 1_000_000_000;

/// What is planted in each block: so many samples, in milliseconds, with a mark.
type Planted<'a> = &'a [(usize, i64, Mark)];

struct Beside {
    load: &'static str,
    target: &'static str,
    /// Of 1000 parts of two CPUs.
    others: u64,
    is_watched: bool,
}

const HOG: Beside = Beside {
    load: "idle",
    target: "20ms",
    others: 370,
    is_watched: true,
};

fn cell(planted: Planted<'_>, beside: &Beside) -> Cell {
    let mut cells = Cells::default();
    let program = ProgramUse {
        name: "rustc".to_owned(),
        cpu_time_ns: 2_000_000 * beside.others,
    };
    let cpu_use = CpuUse {
        watched_ns: 1_000_000_000,
        cpus: 2,
        programs_ns: program.cpu_time_ns,
        most: vec![program],
        ..CpuUse::default()
    };
    for block in 0..BLOCKS {
        let sample = |&(times, ms, mark): &(usize, i64, Mark)| {
            let one = Sample {
                value_ps: ms * MS,
                n: 1,
                mark,
                ..Sample::default()
            };
            std::iter::repeat_n(one, times)
        };
        let mut samples: Vec<Sample> = planted.iter().flat_map(sample).collect();
        // In disorder, so that late ones are no cluster.
        samples.sort_by_key(|s| s.value_ps);
        let n = samples.len();
        let samples = (0..n).map(|i| samples[i * 7919 % n]).collect();
        let data = TrialData {
            samples,
            ..TrialData::default()
        };
        let trial = TrialDraft {
            factors: Factors::new()
                .with(factor::PROBE, "wake-up")
                .with(factor::METHOD, "clock-nanosleep-abs")
                .with(factor::TARGET, beside.target)
                .with(factor::LOAD, beside.load),
            block,
            duration_ns: 3_000_000_000,
            measurement: Measurement {
                period_ns: Some(20_000_000),
                ..Measurement::default()
            },
            observation: beside.is_watched.then(Observation::default),
            cpu_use: Some(cpu_use.clone()),
            missed_periods: Some(0),
            ..TrialDraft::default()
        };
        cells.add_draft(&trial, &data);
    }
    let [cell] = <[Cell; 1]>::try_from(cells.into_vec()).expect("one cell");
    cell
}

/// Held against 5 ms.
fn judged(planted: Planted<'_>, beside: &Beside) -> LoadVerdict {
    let part = Part::whole(BLOCKS as usize);
    judge(&cell(planted, beside), 0.99, 5e6, part).expect("samples")
}

const LATE_WHERE_HELD_UP: Planted<'_> = &[(200, 1, Mark::None), (20, 9, PREEMPTED)];

#[test]
fn what_fails_only_where_others_ran_is_inconclusive() {
    let v = judged(LATE_WHERE_HELD_UP, &HOG);
    assert_eq!(v.outcome, Outcome::Inconclusive);
    assert!(v.fails_beside_others);
    assert_eq!(
        v.reason.unwrap(),
        "fails only where other programs ran (rustc 37 %)"
    );
    // By what is left it would pass, which says nothing of a machine that is left alone. The figures stay those of all
    // samples, and no number of samples would change it.
    assert_eq!(
        (v.estimate_ns, v.samples, v.samples_missing),
        (9e6, 1_320, 0)
    );
    let polled = Mark::Disturbed(Cause::Preempted, Source::Polled);
    let v = judged(&[(200, 1, Mark::None), (20, 9, polled)], &HOG);
    assert_eq!(v.outcome, Outcome::Inconclusive);
    // Nothing is left to judge.
    assert_eq!(
        judged(&[(200, 9, PREEMPTED)], &HOG).outcome,
        Outcome::Inconclusive
    );
}

#[test]
fn what_fails_without_these_samples_too_fails() {
    let both = &[
        (200, 1, Mark::None),
        (20, 9, PREEMPTED),
        (20, 9, Mark::None),
    ];
    let v = judged(both, &HOG);
    assert_eq!((v.outcome, v.reason), (Outcome::Fail, None));
    // Who steals is no other program here.
    let stolen = &[(200, 1, Mark::None), (20, 9, STOLEN), (2, 1, PREEMPTED)];
    assert_eq!(judged(stolen, &HOG).outcome, Outcome::Fail);
}

#[test]
fn others_that_took_little_excuse_nothing() {
    let little = Beside { others: 49, ..HOG };
    let v = judged(LATE_WHERE_HELD_UP, &little);
    assert_eq!((v.outcome, v.reason), (Outcome::Fail, None));
}

#[test]
fn beside_a_load_nobody_tells_whose_doing_it_is() {
    let busy = Beside { load: "cpu", ..HOG };
    let v = judged(LATE_WHERE_HELD_UP, &busy);
    assert_eq!((v.outcome, v.reason), (Outcome::Fail, None));
}

#[test]
fn where_nothing_was_watched_it_fails_and_says_so() {
    let unseen = Beside {
        is_watched: false,
        ..HOG
    };
    let v = judged(&[(200, 1, Mark::None), (20, 9, Mark::None)], &unseen);
    assert_eq!(v.outcome, Outcome::Fail);
    assert_eq!(
        v.reason.unwrap(),
        "other programs ran meanwhile (rustc 37 %), and nothing watched which samples they held up"
    );
}

#[test]
fn what_passes_stays_so() {
    let in_time = judged(&[(200, 1, Mark::None), (20, 1, PREEMPTED)], &HOG);
    assert_eq!((in_time.outcome, in_time.reason), (Outcome::Pass, None));
}

#[test]
fn a_shorter_period_that_was_not_slept_is_no_failure_by_it_either() {
    let slept = Beside {
        target: "40us",
        ..HOG
    };
    let cell = cell(LATE_WHERE_HELD_UP, &slept);
    let found = verdicts(&[cell], profiles());
    let of = |name: &str| {
        let p = found.iter().find(|p| p.name == name).expect("a profile");
        p.by_load[0].clone()
    };
    for name in ["pacing-300m", "pacing-10g"] {
        // Even the samples in time are later than these may be.
        assert_eq!(of(name).outcome, Outcome::Fail, "{name}");
    }
    let mut all = profiles().to_vec();
    for p in &mut all {
        p.limit = crate::verdict::Limit::Time { ns: 5e6 };
        p.quantile = 0.99;
    }
    let cell = self::cell(LATE_WHERE_HELD_UP, &slept);
    let found = verdicts(&[cell], &all);
    let shorter = found.iter().find(|p| p.name == "pacing-10g").unwrap();
    assert_eq!(shorter.by_load[0].outcome, Outcome::Inconclusive);
    assert!(shorter.by_load[0].fails_beside_others);
}

#[test]
fn a_pass_says_over_how_long() {
    let v = judged(&[(200, 1, Mark::None)], &HOG);
    assert_eq!(v.passed_over(), Some((18_000_000_000, 1_200)));
    assert_eq!(judged(&[(200, 9, Mark::None)], &HOG).passed_over(), None);
    let part = Part {
        skipped: 1,
        ..Part::whole(BLOCKS as usize)
    };
    let v = judge(&cell(&[(200, 1, Mark::None)], &HOG), 0.99, 5e6, part).unwrap();
    assert_eq!(v.passed_over(), Some((15_000_000_000, 1_000)));
}
