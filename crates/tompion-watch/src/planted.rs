//! A run that never was, for the tests: slices of known values.

use std::time::Duration;

use tompion_cause::{Cause, Source};
use tompion_model::{
    CauseTotal, Mark, Sample, StallPart, Stalls, Synchronisation, TrialData, stall_parts,
};

use crate::{Choices, Cost, Setting, Slice, StallSlice, State, Vitals};

pub const MS: u64 = 1_000_000;

pub fn choices() -> Choices {
    let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    Choices {
        loads: names(&["idle", "cpu"]),
        methods: names(&["clock-nanosleep-abs", "tompion-hybrid", "usleep"]),
        targets: names(&["100us", "1ms"]),
        cpus: vec![None, Some(0), Some(1)],
    }
}

/// 13:59:00 UTC on some day.
pub fn state() -> State {
    State::new(
        choices(),
        Setting::default(),
        Duration::from_secs(86_400 * 20_000 + 50_340),
    )
}

/// Latencies in nanoseconds, one each 100 us; the marked ones were disturbed.
pub fn latencies(values: &[(u64, Mark)]) -> TrialData {
    let sample = |(i, (ns, mark)): (usize, &(u64, Mark))| Sample {
        at_ns: (i as u64 + 1) * 100_000,
        value_ps: (*ns * 1000) as i64,
        n: 1,
        missed: (*ns / 100_000) as u32,
        mark: *mark,
    };
    TrialData {
        samples: values.iter().enumerate().map(sample).collect(),
        ..TrialData::default()
    }
}

/// 1000 wake-ups around `typical_ns`, the last of them `worst_ns` late.
pub fn slice(at: Duration, setting: Setting, typical_ns: u64, worst_ns: u64, mark: Mark) -> Slice {
    let mut values: Vec<(u64, Mark)> = (0..1000u64)
        .map(|i| (typical_ns + typical_ns * (i * i) / 1_000_000, Mark::None))
        .collect();
    values[999] = (worst_ns, mark);
    Slice::of(&latencies(&values), at, setting).unwrap()
}

/// A loop of 300 ms with a preemption of 4 ms, ticks, and one stall in two parts.
pub fn stalls(at: Duration, setting: Setting) -> StallSlice {
    let part = |at_ns, ns, cause, by: Option<&str>| StallPart {
        at_ns,
        ns,
        cause,
        by: by.map(str::to_owned),
        source: Some(Source::Event),
        because: String::new(),
    };
    let mut parts = vec![
        part(5 * MS, 4 * MS, Cause::Preempted, Some("hog[1234]")),
        part(
            50 * MS,
            30_000,
            Cause::HardInterrupt,
            Some("virtio0-input.0"),
        ),
        part(50 * MS, 10_000, Cause::Softirq, Some("NET_RX")),
    ];
    parts.extend((0..70).map(|i| part((60 + i) * MS, 3_000, Cause::Tick, None)));
    let total = |cause, by: Option<&str>, ns, parts, longest_ns| CauseTotal {
        cause,
        by: by.map(str::to_owned),
        ns,
        parts,
        longest_ns,
    };
    let stalls = Stalls {
        wall_ns: 300 * MS,
        stalls: 72,
        lost_ns: 4 * MS + 250_000,
        causes: vec![
            total(Cause::Preempted, Some("hog[1234]"), 3 * MS, 1, 3 * MS),
            total(Cause::Preempted, Some("hog[1235]"), MS, 1, MS),
            total(Cause::Tick, None, 210_000, 70, 3_000),
            total(
                Cause::HardInterrupt,
                Some("virtio0-input.0"),
                30_000,
                1,
                30_000,
            ),
            total(Cause::Softirq, Some("NET_RX"), 10_000, 1, 10_000),
        ],
        ..Stalls::default()
    };
    let data = TrialData {
        tables: [(stall_parts::NAME.to_owned(), stall_parts::table(&parts))].into(),
        ..TrialData::default()
    };
    StallSlice::of(&data, &stalls, at, setting)
}

pub fn vitals(at: Duration, steal_ms: u64) -> Vitals {
    Vitals {
        at,
        clocksource: Some("kvm-clock".to_owned()),
        synchronisation: Some(Synchronisation {
            synchronised: true,
            offset_ns: -12_345,
            frequency_ppm: -3.21,
            maximum_error_ns: 4_200_000,
            ..Synchronisation::default()
        }),
        stolen: Some(steal_ms * MS),
        cpu_time: at.as_nanos() as u64 * 2,
        throttled_ns: None,
    }
}

/// Four minutes at rest, then one beside a load, with a stop of a second.
pub fn run() -> State {
    let mut state = state();
    let loaded = Setting {
        load: 1,
        ..Setting::default()
    };
    for second in 0..300 {
        let at = Duration::from_secs(second);
        let setting = if second < 240 {
            Setting::default()
        } else {
            loaded
        };
        let worst = 90_000 + (second * 7919) % 60_000;
        state.wake_up(match second {
            200 => {
                let mark = Mark::Disturbed(Cause::Stopped, Source::Event);
                slice(at, setting, 55_000, 1_000 * MS, mark)
            }
            s if s < 240 => slice(at, setting, 55_000, worst, Mark::None),
            _ => {
                let mark = Mark::Disturbed(Cause::Preempted, Source::Polled);
                slice(at, setting, 60_000, 8 * MS + worst, mark)
            }
        });
        if second % 2 == 0 {
            state.stalled(stalls(at + Duration::from_millis(500), setting));
        }
        state.read(vitals(at, second / 10));
        state.tick(at + Duration::from_millis(900));
    }
    state.choose(loaded);
    state.steal_is_accounted(true);
    state.costs(Cost {
        drawing: 0.0031,
        observing: 0.012,
    });
    state
}
