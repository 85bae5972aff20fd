//! Patterns in stalls, in words.

use tompion_model::format_ns;

use super::structure::{MOST_STALLS, Mode, Periodic, RUN_BREAK_NS, Structure};
use crate::figures::{count, percent};

/// A period this close to the tick's, as a share, is as long.
const TICK: f64 = 1e-3;

/// A tick takes less than this share of its period.
const TICK_COST: f64 = 0.1;

/// Lengths that differ by less than this factor are told as one.
const ALIKE: f64 = 2.0;

/// Periods that are told.
const MOST_PERIODS: usize = 6;

/// Modes that are told, of lengths and of runs.
const MOST_MODES: usize = 4;

/// The patterns, one sentence each; `tick_hz` is the kernel's, where known.
pub(crate) fn sentences(s: &Structure, tick_hz: Option<u32>) -> Vec<String> {
    let seen = |trials: u32| match trials {
        t if t == s.trials => String::new(),
        t => format!(", in {t} of {} trials", s.trials),
    };
    let periodic = s
        .periodic
        .iter()
        .take(MOST_PERIODS)
        .map(|p| format!("{}{}", repeats(p, tick_hz), seen(p.trials)));
    let modes = |modes: &[Mode], what: &str| -> Vec<String> {
        modes
            .iter()
            .take(MOST_MODES)
            .map(|m| {
                format!(
                    "{what} {}, n={}{}",
                    with_interval(m.at_ns, m.low_ns, m.high_ns),
                    count(m.count),
                    seen(m.trials)
                )
            })
            .collect()
    };
    periodic
        .chain(modes(&s.lengths, "stalls gather at"))
        .chain(modes(
            &s.runs,
            &format!(
                "runs between stalls of more than {} gather at",
                format_ns(RUN_BREAK_NS as f64)
            ),
        ))
        .chain((s.cut > 0).then(|| {
            format!(
                "patterns were looked for among the first {} stalls of a trial",
                count(MOST_STALLS as u64)
            )
        }))
        .collect()
}

/// What comes again and again. "Every" is said only of what comes at most points
/// of its grid and ends before the next.
fn repeats(p: &Periodic, tick_hz: Option<u32>) -> String {
    let period = with_interval(p.period_ns, p.low_ns, p.high_ns);
    let cost = match p.costs_ns {
        (low, high) if high >= ALIKE * low => format!("{} to {}", format_ns(low), format_ns(high)),
        _ => format_ns(p.cost_ns),
    };
    let time = percent(p.time_share);
    let found = percent(p.events as f64 / p.expected.max(1) as f64);
    let expected = count(p.expected);
    let hz = tick_hz.filter(|hz| (p.period_ns * f64::from(*hz) / 1e9 - 1.0).abs() < TICK);
    let is_tick = p.ticks && p.costs_ns.1 < TICK_COST * p.period_ns;
    let most = 2 * p.events > p.expected && p.costs_ns.1 < p.period_ns;
    if most || (is_tick && hz.is_some()) {
        let phases = match p.phases {
            1 => String::new(),
            n => format!(" at {n} phases"),
        };
        let tick = match hz {
            Some(hz) if is_tick => format!("; probably the kernel tick at {hz} Hz"),
            _ => as_tick(hz),
        };
        format!(
            "every {period}{phases}, {cost} each: {time} of the time; {found} of {expected} found{tick}"
        )
    } else {
        let (grids, whose) = match p.phases {
            1 => ("a grid".to_owned(), "its"),
            n => (format!("{n} grids"), "their"),
        };
        let tick = as_tick(hz);
        format!(
            "stalls begin on {grids} of {period}, {cost} each: {time} of the time; in {found} of {whose} {expected} points{tick}"
        )
    }
}

/// A coincidence that a reader may want to know of: schedulers act at ticks.
fn as_tick(hz: Option<u32>) -> String {
    hz.map(|hz| format!("; as far apart as the kernel's ticks at {hz} Hz"))
        .unwrap_or_default()
}

/// A length to four digits with its interval: `4.000 ms (3.999 to 4.001)`, or
/// `4.000 ms (± 12.0 ns)` where four digits do not tell the ends apart.
fn with_interval(ns: f64, low: f64, high: f64) -> String {
    let (scale, unit) = match ns {
        // What rounds to 1000 of a unit is 1 of the next.
        x if x >= 999.95e6 => (1e9, "s"),
        x if x >= 999.95e3 => (1e6, "ms"),
        x if x >= 999.95 => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    let digits = match ns / scale {
        x if x >= 99.995 => 1,
        x if x >= 9.9995 => 2,
        _ => 3,
    };
    let of = |ns: f64| format!("{:.digits$}", ns / scale);
    let ends = match (of(low), of(high)) {
        (l, h) if l == h => format!("± {}", format_ns((high - low) / 2.0)),
        (l, h) => format!("{l} to {h}"),
    };
    format!("{} {unit} ({ends})", of(ns))
}

#[cfg(test)]
mod tests {
    use super::super::trace::TracedStall;
    use super::*;
    use tompion_cause::Cause;
    use tompion_model::Stalls;

    fn about() -> Stalls {
        Stalls {
            wall_ns: 2_000_000_000,
            threshold_ns: 1_000,
            loop_period_ns: 26.0,
            ..Stalls::default()
        }
    }

    fn every(period_ns: u64, length_ns: u64, cause: Cause) -> impl Iterator<Item = TracedStall> {
        (1..2_000_000_000 / period_ns).map(move |k| TracedStall {
            at_ns: k * period_ns + k * 7_919 % 1_900,
            length_ps: ((length_ns + k * 31 % 200) * 1000) as i64,
            cause,
        })
    }

    /// The words for what some trials have, with the tick at 250 Hz.
    fn words(trials: &[Vec<TracedStall>]) -> Vec<String> {
        let mut found = Structure::default();
        for stalls in trials {
            let mut stalls = stalls.clone();
            stalls.sort_by_key(|s| s.at_ns);
            found.add(&stalls, &about(), usize::MAX);
        }
        sentences(&found, Some(250))
    }

    /// A thread that runs for three ticks and is preempted for about four, at a
    /// tick, in a rhythm that does not repeat.
    fn beside_others(tick_ns: u64) -> Vec<TracedStall> {
        let mut all = Vec::new();
        let mut k = 1;
        let mut turn: u64 = 1;
        while (k + 12) * 4_000_000 < 2_000_000_000 {
            turn = turn
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let run = 1 + (turn >> 33) % 4;
            for _ in 0..run {
                all.push((k * 4_000_000, tick_ns, Cause::Tick));
                k += 1;
            }
            let away = 3 + (turn >> 45) % 4;
            all.push((k * 4_000_000, away * 4_000_000 + 100_000, Cause::Preempted));
            k += away + 1;
        }
        all.into_iter()
            .map(|(at_ns, ns, cause)| TracedStall {
                at_ns: at_ns + at_ns / 4_000_000 * 7_919 % 1_900,
                length_ps: ns as i64 * 1000,
                cause,
            })
            .collect()
    }

    #[test]
    fn preemptions_at_ticks_are_not_the_tick() {
        let words = words(&[beside_others(3_300), beside_others(3_300)]);
        let of_4_ms: Vec<&String> = words.iter().filter(|w| w.contains("4.000 ms")).collect();
        let [preempted, tick] = of_4_ms[..] else {
            panic!("{words:?}")
        };
        assert!(
            preempted.starts_with("stalls begin on a grid of 4.000 ms")
                && preempted.contains("of the time; in 1")
                && preempted.ends_with(" points; as far apart as the kernel's ticks at 250 Hz"),
            "{preempted}"
        );
        assert!(
            tick.starts_with("every 4.000 ms")
                && tick.contains("3.30 µs each: 0.0")
                && tick.ends_with("probably the kernel tick at 250 Hz"),
            "{tick}"
        );
    }

    #[test]
    fn only_a_short_stall_by_the_tick_is_the_tick() {
        let of = |length_ns, cause| words(&[every(4_000_000, length_ns, cause).collect()]);
        assert!(of(3_300, Cause::Tick)[0].contains("probably the kernel tick"));
        for other in [
            of(3_300, Cause::Unknown),
            of(3_300, Cause::HardInterrupt),
            of(900_000, Cause::Tick),
        ] {
            assert!(
                other[0].starts_with("every 4.000 ms") && !other[0].contains("probably"),
                "{other:?}"
            );
        }
    }

    #[test]
    fn what_has_one_period_is_told_once() {
        // Two phases of 1 ms, the second by a clock that is a little fast.
        let first = every(1_000_000, 3_000, Cause::HardInterrupt);
        let second = (1..2_000).map(|k| TracedStall {
            at_ns: 400_000 + k * 999_990,
            length_ps: 40_000_000,
            cause: Cause::Softirq,
        });
        let words = words(&[first.chain(second).collect()]);
        let every: Vec<&String> = words.iter().filter(|w| w.starts_with("every")).collect();
        let [one] = every[..] else {
            panic!("{words:?}")
        };
        assert!(
            one.starts_with("every 1.000 ms") && one.contains(" at 2 phases"),
            "{one}"
        );
        assert!(one.contains("3.10 µs to 40.0 µs each: 4.3"), "{one}");
    }

    #[test]
    fn a_planted_tick_and_a_hog_are_told_apart_in_two_trials() {
        let mut stalls: Vec<TracedStall> = every(4_000_000, 3_300, Cause::Tick)
            .chain(every(50_000_000, 5_000_000, Cause::Preempted))
            .collect();
        stalls.sort_by_key(|s| s.at_ns);
        let mut found = Structure::default();
        found.add(&stalls, &about(), usize::MAX);
        found.add(&stalls, &about(), usize::MAX);
        let words = sentences(&found, Some(250));
        let hog = words
            .iter()
            .find(|w| w.starts_with("every 50.00 ms"))
            .unwrap();
        assert!(hog.contains("5.00 ms each: 9.7"), "{hog}");
        let tick = words
            .iter()
            .find(|w| w.starts_with("every 4.000 ms"))
            .unwrap();
        assert!(tick.contains("3.40 µs each: 0.0"), "{tick}");
        assert!(
            tick.ends_with("; probably the kernel tick at 250 Hz"),
            "{tick}"
        );
        assert_eq!(
            words.iter().filter(|w| w.starts_with("every")).count(),
            2,
            "{words:?}"
        );
        assert!(
            words.iter().any(|w| w.starts_with("stalls gather at 5.00")),
            "{words:?}"
        );
        // Nobody knows of the tick where the kernel does not say.
        assert!(!sentences(&found, None).iter().any(|w| w.contains("tick")));
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        let mut found = Structure::default();
        found.add(&[], &about(), usize::MAX);
        assert!(sentences(&found, Some(250)).is_empty());
    }

    #[test]
    fn lengths_and_their_intervals_share_a_unit() {
        assert_eq!(
            with_interval(4_000_012.0, 3_999_900.0, 4_001_000.0),
            "4.000 ms (4.000 to 4.001)"
        );
        assert_eq!(
            with_interval(850.0, 840.0, 1_000.0),
            "850.0 ns (840.0 to 1000.0)"
        );
        assert_eq!(
            with_interval(999_960.0, 999_000.0, 1_001_000.0),
            "1.000 ms (0.999 to 1.001)"
        );
        assert_eq!(
            with_interval(50e6, 50e6 - 20.0, 50e6 + 20.0),
            "50.00 ms (± 20.0 ns)"
        );
    }
}
