//! Patterns in stalls, found trial by trial, and what they are in words.

use tompion_record::{Stalls, format_ns};

use super::trace::TracedStall;
use crate::figures::{count, percent};

/// Periods of two trials this close, as a share, are one pattern.
const SAME_PERIOD: f64 = 1e-3;

/// Lengths of two trials this close, as a share, are one mode.
const SAME_LENGTH: f64 = 0.05;

/// A period this close to the tick's, as a share, is probably the tick.
const TICK: f64 = 1e-3;

/// Patterns of one cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Structure {
    /// Trials that were searched.
    pub trials: u32,
    /// Periodic ones, those that cost most time first.
    pub periodic: Vec<Periodic>,
    /// Lengths at which stalls gather, the most frequent first.
    pub lengths: Vec<Mode>,
    /// Lengths of running at which stalls come.
    pub runs: Vec<Mode>,
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
}

impl Structure {
    /// Searches the stalls of one trial.
    pub(super) fn add(&mut self, stalls: &[TracedStall], about: &Stalls) {
        self.trials += 1;
        let _ = (stalls, about);
        self.order();
    }

    fn add_periodic(&mut self, new: Periodic) {
        let same = |p: &&mut Periodic| (p.period_ns / new.period_ns - 1.0).abs() < SAME_PERIOD;
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
    }

    fn order(&mut self) {
        self.periodic
            .sort_by(|a, b| b.time_share.total_cmp(&a.time_share));
        for modes in [&mut self.lengths, &mut self.runs] {
            modes.sort_by_key(|m| std::cmp::Reverse(m.count));
        }
    }
}

fn add_mode(modes: &mut Vec<Mode>, new: Mode) {
    let same = |m: &&mut Mode| (m.at_ns / new.at_ns - 1.0).abs() < SAME_LENGTH;
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
}

/// The patterns, one sentence each; `tick_hz` is the kernel's, where known.
pub(crate) fn sentences(s: &Structure, tick_hz: Option<u32>) -> Vec<String> {
    let seen = |trials: u32| match trials {
        t if t == s.trials => String::new(),
        t => format!(", in {t} of {} trials", s.trials),
    };
    let periodic = s.periodic.iter().map(|p| {
        let [at, low, high] = same_unit(p.period_ns, p.low_ns, p.high_ns);
        let found = p.events as f64 / p.expected.max(1) as f64;
        let tick = tick_hz
            .filter(|hz| (p.period_ns * f64::from(*hz) / 1e9 - 1.0).abs() < TICK)
            .map(|hz| format!("; probably the kernel tick at {hz} Hz"))
            .unwrap_or_default();
        format!(
            "every {at} ({low} to {high}), {} each: {} of the time; {} of {} found{}{tick}",
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
            .map(|m| {
                let [at, low, high] = same_unit(m.at_ns, m.low_ns, m.high_ns);
                format!(
                    "{what} {at} ({low} to {high}, n={}{})",
                    count(m.count),
                    seen(m.trials)
                )
            })
            .collect()
    };
    periodic
        .chain(modes(&s.lengths, "stalls gather at"))
        .chain(modes(&s.runs, "the loop gathers runs of"))
        .collect()
}

/// Three lengths in the unit of the first, to four digits of it; the ends
/// without a unit.
fn same_unit(ns: f64, low: f64, high: f64) -> [String; 3] {
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
    [format!("{} {unit}", of(ns)), of(low), of(high)]
}
