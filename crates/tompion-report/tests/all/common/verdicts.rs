//! An assessment in the form that the verdict crate makes.

use tompion_assess::verdict::{Advice, Assessment, Finding, LoadVerdict, Outcome, ProfileVerdict};
use tompion_model::factor;

use super::key;

pub fn verdict(load: &str, outcome: Outcome, estimate_ns: f64) -> LoadVerdict {
    LoadVerdict {
        load: load.into(),
        outcome,
        as_it_is: outcome,
        limit_ns: 12_000.0,
        quantile: 0.99,
        estimate_ns,
        low_ns: Some(estimate_ns * 0.9),
        high_ns: Some(estimate_ns * 1.2),
        samples: 16_000,
        watched_ns: 18_000_000_000,
        samples_missing: if outcome == Outcome::Inconclusive {
            2_400
        } else {
            0
        },
        reason: (outcome == Outcome::Inconclusive)
            .then(|| "the interval spans the limit".to_owned()),
        ..LoadVerdict::default()
    }
}

/// An assessment in the form that the verdict crate makes.
pub fn assessment() -> Assessment {
    let method = key("wake-up", "tompion-hybrid", "idle")
        .with(factor::TARGET, "100us")
        .without(factor::LOAD);
    let profile = |name: &str, title: &str, outcomes: [Outcome; 3]| ProfileVerdict {
        name: name.into(),
        title: title.into(),
        requirement: "p99 of wake-up latency at most 12.0 µs".into(),
        source: "Kirova 2019, eq. 1: R = 8 * MTU / T, MTU 1500 bytes, T = 12 µs".into(),
        outcome: outcomes.into_iter().max().unwrap(),
        method: Some(method.clone()),
        as_it_is: outcomes.into_iter().max().unwrap(),
        missed_filled: true,
        by_load: vec![
            verdict("idle", outcomes[0], 140.0),
            verdict("cpu", outcomes[1], 11_800.0),
            verdict("network", outcomes[2], 64_000.0),
        ],
        ..ProfileVerdict::default()
    };
    use Outcome::{Fail, Inconclusive, Pass};
    Assessment {
        headline: "Good for audio and VoIP under every load; packet pacing at 1 Gbit/s only when idle; not for 10 Gbit/s.".into(),
        profiles: vec![
            profile("voip", "VoIP", [Pass, Pass, Pass]),
            profile("audio-48k-64", "audio at 48 kHz with 64 frames", [Pass, Inconclusive, Pass]),
            profile("pacing-1g", "packet pacing at 1 Gbit/s", [Pass, Inconclusive, Fail]),
            profile("pacing-10g", "packet pacing at 10 Gbit/s", [Fail, Fail, Fail]),
        ],
        findings: vec![
            Finding {
                sentence: "Under load cpu the p99 of usleep at 100 µs is 412× that when idle: 26.1 ms instead of 63.4 µs.".into(),
                cell: key("wake-up", "usleep", "cpu").with(factor::TARGET, "100us"),
                ratio: 412.0,
                ratio_range: None,
            },
            Finding {
                sentence: "A real system call costs 12× a read of the counter.".into(),
                cell: key("read-cost", "syscall-clock-monotonic", "idle"),
                ratio: 12.0,
                ratio_range: None,
            },
        ],
        advice: vec![
            Advice {
                sentence: "Timer slack 1 ns took the median wake-up latency of usleep (100 µs, idle) from 54.0 µs to 4.00 µs.".into(),
                how: "prctl(PR_SET_TIMERSLACK, 1)".into(),
                price: "timers are no longer batched, so an idle CPU wakes more often".into(),
                quantile: 0.5,
                before_ns: 54_000.0,
                after_ns: 4_000.0,
                gain: 13.5,
                gain_low: Some(13.1),
                gain_high: Some(13.9),
                effective: true,
                ..Advice::default()
            },
            Advice {
                sentence: "Reading CLOCK_MONOTONIC_RAW instead of CLOCK_MONOTONIC gains nothing.".into(),
                how: "clock_gettime(CLOCK_MONOTONIC_RAW, &t)".into(),
                price: "no slewing by NTP".into(),
                quantile: 0.5,
                before_ns: 24.0,
                after_ns: 24.1,
                gain: 0.996,
                gain_low: Some(0.97),
                gain_high: Some(1.02),
                ..Advice::default()
            },
        ],
    }
}
