//! Patterns in stalls, found trial by trial, and what they are in words.

use tompion_record::{Stalls, format_ns};
use tompion_stats::{Occurrence, modes, periodic, run_lengths};

use super::trace::TracedStall;
use crate::figures::{count, percent};

/// Periods of two trials this close, as a share, are one pattern.
const SAME_PERIOD: f64 = 1e-3;

/// Lengths of two trials this close, as a share, are one mode.
const SAME_LENGTH: f64 = 0.05;

/// A period this close to the tick's, as a share, is probably the tick.
const TICK: f64 = 1e-3;

/// Stalls of a trial that are searched, from its beginning; more would take
/// minutes.
const MOST_STALLS: usize = 200_000;

/// Runs are counted between stalls longer than this: a scheduler's, not an
/// interrupt's.
const RUN_BREAK_NS: u64 = 100_000;

/// Periods that are told.
const MOST_PERIODS: usize = 6;

/// Modes that are told, of lengths and of runs.
const MOST_MODES: usize = 4;

/// Patterns of one cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Structure {
    /// Trials that were searched.
    pub trials: u32,
    /// Periodic ones, those that cost most time first.
    pub periodic: Vec<Periodic>,
    /// Lengths at which stalls gather, the most frequent first.
    pub lengths: Vec<Mode>,
    /// Lengths of running between long stalls.
    pub runs: Vec<Mode>,
    /// Trials of which only the first stalls were searched.
    pub cut: u32,
}

/// Stalls that come at equal distances.
#[derive(Clone, Debug)]
pub(crate) struct Periodic {
    /// Trials in which it was found.
    pub trials: u32,
    /// Their distance, with its 95 % interval, in nanoseconds.
    pub period_ns: f64,
    /// Lower end of the interval.
    pub low_ns: f64,
    /// Upper end of the interval.
    pub high_ns: f64,
    /// Stalls found.
    pub events: u64,
    /// Stalls that there would be, were none missing.
    pub expected: u64,
    /// Median length in nanoseconds.
    pub cost_ns: f64,
    /// Share of the time that they take.
    pub time_share: f64,
    /// The last trial in which it was found, counted from 1.
    last_trial: u32,
}

/// A length at which values gather.
#[derive(Clone, Debug)]
pub(crate) struct Mode {
    /// Trials in which it was found.
    pub trials: u32,
    /// The length, with its interval, in nanoseconds.
    pub at_ns: f64,
    /// Lower end of the interval.
    pub low_ns: f64,
    /// Upper end of the interval.
    pub high_ns: f64,
    /// Values there.
    pub count: u64,
    last_trial: u32,
}

impl Structure {
    /// Searches the stalls of one trial.
    pub(super) fn add(&mut self, stalls: &[TracedStall], about: &Stalls) {
        self.trials += 1;
        let searched = &stalls[..stalls.len().min(MOST_STALLS)];
        let until_ns = if searched.len() < stalls.len() {
            self.cut += 1;
            searched[searched.len() - 1].at_ns
        } else {
            about.wall_ns
        };
        let occurrences: Vec<Occurrence> = searched
            .iter()
            .map(|s| Occurrence {
                at_ns: s.at_ns,
                length_ns: (s.length_ps / 1000).unsigned_abs(),
            })
            .collect();
        for p in periodic(&occurrences, 0, until_ns) {
            self.add_periodic(Periodic {
                trials: 1,
                period_ns: p.period_ns,
                low_ns: p.period_interval.low,
                high_ns: p.period_interval.high,
                events: p.events,
                expected: p.expected,
                cost_ns: p.cost_ns,
                time_share: p.time_share,
                last_trial: self.trials,
            });
        }
        // A stamp tells a length to one iteration.
        let step_ns = about.loop_period_ns.ceil() as u64;
        let lengths: Vec<u64> = occurrences.iter().map(|o| o.length_ns).collect();
        for m in modes(&lengths, about.threshold_ns, step_ns) {
            add_mode(&mut self.lengths, Mode::of(&m, self.trials));
        }
        for m in modes(&run_lengths(&occurrences, RUN_BREAK_NS), 0, step_ns) {
            add_mode(&mut self.runs, Mode::of(&m, self.trials));
        }
        self.order();
    }

    fn add_periodic(&mut self, new: Periodic) {
        // Two of one trial differ in phase, whatever their periods.
        let same = |p: &&mut Periodic| {
            p.last_trial < new.last_trial && (p.period_ns / new.period_ns - 1.0).abs() < SAME_PERIOD
        };
        let Some(p) = self.periodic.iter_mut().find(same) else {
            self.periodic.push(new);
            return;
        };
        // Of the trials, the one with the narrowest interval names the period.
        if new.high_ns - new.low_ns < p.high_ns - p.low_ns {
            (p.period_ns, p.low_ns, p.high_ns) = (new.period_ns, new.low_ns, new.high_ns);
        }
        let (a, b) = (p.events as f64, new.events as f64);
        p.cost_ns = (p.cost_ns * a + new.cost_ns * b) / (a + b).max(1.0);
        let (s, t) = (f64::from(p.trials), f64::from(new.trials));
        p.time_share = (p.time_share * s + new.time_share * t) / (s + t);
        p.events += new.events;
        p.expected += new.expected;
        p.trials += new.trials;
        p.last_trial = new.last_trial;
    }

    fn order(&mut self) {
        self.periodic
            .sort_by(|a, b| b.time_share.total_cmp(&a.time_share));
        for modes in [&mut self.lengths, &mut self.runs] {
            modes.sort_by_key(|m| std::cmp::Reverse(m.count));
        }
    }
}

impl Mode {
    fn of(m: &tompion_stats::Mode, trial: u32) -> Self {
        Self {
            trials: 1,
            at_ns: m.at_ns,
            low_ns: m.interval.low,
            high_ns: m.interval.high,
            count: m.count,
            last_trial: trial,
        }
    }
}

fn add_mode(modes: &mut Vec<Mode>, new: Mode) {
    let same = |m: &&mut Mode| {
        m.last_trial < new.last_trial && (m.at_ns / new.at_ns - 1.0).abs() < SAME_LENGTH
    };
    let Some(m) = modes.iter_mut().find(same) else {
        modes.push(new);
        return;
    };
    let (a, b) = (m.count as f64, new.count as f64);
    m.at_ns = (m.at_ns * a + new.at_ns * b) / (a + b).max(1.0);
    m.low_ns = m.low_ns.min(new.low_ns);
    m.high_ns = m.high_ns.max(new.high_ns);
    m.count += new.count;
    m.trials += new.trials;
    m.last_trial = new.last_trial;
}

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
    use super::*;
    use tompion_cause::Cause;

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
