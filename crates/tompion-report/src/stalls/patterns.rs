//! Patterns in stalls, in words.

use tompion_record::format_ns;

use super::structure::{MOST_STALLS, Mode, RUN_BREAK_NS, Structure};
use crate::figures::{count, percent};

/// A period this close to the tick's, as a share, is probably the tick.
const TICK: f64 = 1e-3;

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
    let periodic = s.periodic.iter().take(MOST_PERIODS).map(|p| {
        let period = with_interval(p.period_ns, p.low_ns, p.high_ns);
        let found = p.events as f64 / p.expected.max(1) as f64;
        let tick = tick_hz
            .filter(|hz| (p.period_ns * f64::from(*hz) / 1e9 - 1.0).abs() < TICK)
            .map(|hz| format!("; probably the kernel tick at {hz} Hz"))
            .unwrap_or_default();
        format!(
            "every {period}, {} each: {} of the time; {} of {} found{}{tick}",
            format_ns(p.cost_ns),
            percent(p.time_share),
            percent(found),
            count(p.expected),
            seen(p.trials),
        )
    });
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

/// A length to four digits with its interval: `4.000 ms (3.999 to 4.001)`, or
/// `4.000 ms (± 12.0 ns)` where four digits do not tell the ends apart.
fn with_interval(ns: f64, low: f64, high: f64) -> String {
    let (scale, unit) = match ns {
        x if x >= 1e9 => (1e9, "s"),
        x if x >= 1e6 => (1e6, "ms"),
        x if x >= 1e3 => (1e3, "µs"),
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
    use tompion_record::Stalls;

    fn about() -> Stalls {
        Stalls {
            wall_ns: 2_000_000_000,
            threshold_ns: 1_000,
            loop_period_ns: 26.0,
            ..Stalls::default()
        }
    }

    fn every(period_ns: u64, length_ns: u64) -> impl Iterator<Item = TracedStall> {
        (1..2_000_000_000 / period_ns).map(move |k| TracedStall {
            at_ns: k * period_ns + k * 7_919 % 1_900,
            length_ps: ((length_ns + k * 31 % 200) * 1000) as i64,
            cause: Cause::Tick,
        })
    }

    #[test]
    fn a_planted_tick_and_a_hog_are_told_apart_in_two_trials() {
        let mut stalls: Vec<TracedStall> = every(4_000_000, 3_300)
            .chain(every(50_000_000, 5_000_000))
            .collect();
        stalls.sort_by_key(|s| s.at_ns);
        let mut found = Structure::default();
        found.add(&stalls, &about());
        found.add(&stalls, &about());
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
        found.add(&[], &about());
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
            with_interval(50e6, 50e6 - 20.0, 50e6 + 20.0),
            "50.00 ms (± 20.0 ns)"
        );
    }
}
