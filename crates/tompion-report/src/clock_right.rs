//! Is the clock right: what the kernel says of its synchronisation, how the clocks
//! drifted against one another during the run, and whether the wall clock was set.

use tompion_assess::wall_clock::{Step, WallClock, steps, wall_clock};
use tompion_model::{ClockReading, Synchronisation, TimeKeeper, TimeKeeping, format_ns};

use crate::data::ReportData;
use crate::figures::{count, plural, real, signed_ns};

/// How one clock went against another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Drift {
    /// Mean difference of rates in parts per million.
    pub ppm: f64,
    /// How far that may be off, because the clocks are not read at the same instant.
    pub plus_minus_ppm: f64,
}

/// How evenly the counter went, held against another clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CounterRate {
    /// Ticks a second.
    pub hz: f64,
    /// Largest departure from a constant rate, in nanoseconds; needs three readings.
    pub unevenness_ns: Option<f64>,
    /// How far one reading may be off, in nanoseconds.
    pub read_within_ns: f64,
}

/// What a run tells of its clocks.
#[derive(Debug)]
pub(crate) struct Clocks {
    /// The kernel's last word.
    pub synchronisation: Option<Synchronisation>,
    /// Whether the wall clock was in step when the run began; absent in older runs.
    pub wall_clock: Option<WallClock>,
    /// What kept it then.
    pub keeping: TimeKeeping,
    /// From the first to the last reading, in nanoseconds; 0 without readings.
    pub watched_ns: i64,
    /// How often the clocks were read.
    pub readings: usize,
    /// The counter against `CLOCK_MONOTONIC_RAW`.
    pub counter_by_raw: Option<CounterRate>,
    /// The counter against `CLOCK_MONOTONIC`.
    pub counter_by_monotonic: Option<CounterRate>,
    /// `CLOCK_MONOTONIC` against `CLOCK_MONOTONIC_RAW`: what NTP corrects.
    pub monotonic_by_raw: Option<Drift>,
    /// The counter's rate against the one that the processor states, in ppm.
    pub stated_ppm: Option<f64>,
    /// Times at which the wall clock was set.
    pub steps: Vec<Step>,
}

/// What the run tells of its clocks.
pub(crate) fn clocks(data: &ReportData) -> Clocks {
    let record = data.record();
    let environment = &record.header.environment;
    let mut clocks = of_readings(&record.clock_readings);
    if clocks.synchronisation.is_none() {
        clocks.synchronisation = environment.synchronisation.clone();
    }
    clocks.wall_clock = wall_clock(environment);
    clocks.keeping = environment.time_keeping.clone().unwrap_or_default();
    clocks.stated_ppm = environment
        .clock
        .tsc_stated_hz
        .filter(|hz| *hz > 0)
        .zip(clocks.counter_by_raw)
        .map(|(stated, rate)| (rate.hz / stated as f64 - 1.0) * 1e6);
    clocks
}

fn of_readings(readings: &[ClockReading]) -> Clocks {
    let last = readings.last();
    let raw = |r: &ClockReading| r.monotonic_raw_ns;
    let watched_ns = last.map_or(0, raw);
    Clocks {
        synchronisation: last.and_then(|r| r.synchronisation.clone()),
        wall_clock: None,
        keeping: TimeKeeping::default(),
        watched_ns,
        readings: readings.len(),
        counter_by_raw: counter_rate(readings, raw),
        counter_by_monotonic: counter_rate(readings, |r| r.monotonic_ns),
        monotonic_by_raw: readings.first().zip(last).and_then(|(first, last)| {
            let span = watched_ns as f64;
            (watched_ns > 0).then(|| Drift {
                ppm: last.monotonic_ns.saturating_sub(last.monotonic_raw_ns) as f64 / span * 1e6,
                plus_minus_ppm: (first.within_ns as f64 + last.within_ns as f64) / span * 1e6,
            })
        }),
        stated_ppm: None,
        steps: steps(readings),
    }
}

/// The straight line through the first and the last reading, and how far the others
/// lie beside it.
fn counter_rate(
    readings: &[ClockReading],
    clock: impl Fn(&ClockReading) -> i64,
) -> Option<CounterRate> {
    let points: Vec<(f64, f64)> = readings
        .iter()
        .filter_map(|r| Some((r.counter_ticks? as f64, clock(r) as f64)))
        .collect();
    let (ticks, ns) = *points.last()?;
    if ticks <= 0.0 || ns <= 0.0 {
        return None;
    }
    let beside = |p: &(f64, f64)| (p.1 - p.0 * (ns / ticks)).abs();
    let within = readings.iter().map(|r| r.within_ns).max().unwrap_or(0);
    Some(CounterRate {
        hz: ticks / ns * 1e9,
        unevenness_ns: (points.len() > 2).then(|| points.iter().map(beside).fold(0.0, f64::max)),
        read_within_ns: within as f64,
    })
}

impl Clocks {
    /// The answer in one sentence.
    pub(crate) fn answer(&self) -> String {
        let kernel = match &self.synchronisation {
            _ if self.wall_clock.is_some() => self.kept(),
            None => "The kernel does not say whether its clock is synchronised".to_owned(),
            Some(s) if s.synchronised => format!(
                "The kernel regards its clock as synchronised, within {} at most",
                format_ns(s.maximum_error_ns as f64)
            ),
            Some(_) => "The kernel's clock is not synchronised, and its rate is the machine's own"
                .to_owned(),
        };
        let steps = self.steps.len() as u64;
        let set = match (self.readings, steps) {
            (0 | 1, _) => "this run did not watch for steps".to_owned(),
            (_, 0) => "it was not set during the run".to_owned(),
            (_, n) => format!(
                "it was set {} {} during the run",
                count(n),
                plural(n, "time", "times")
            ),
        };
        format!("{kernel}; {set}.")
    }

    /// How the wall clock was kept when the run began.
    fn kept(&self) -> String {
        let Some(clock) = &self.wall_clock else {
            return String::new();
        };
        match (clock.error_at_most_ns, clock.in_step) {
            (Some(ns), _) => format!("{}, within {} at most", clock.answer, format_ns(ns as f64)),
            (None, Some(true)) => format!("{}, and nothing bounds its error", clock.answer),
            (None, _) => clock.answer.clone(),
        }
    }

    /// Labels and values.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        if let Some(s) = &self.synchronisation {
            let yes = if s.synchronised { "yes" } else { "no" };
            if let Some(clock) = &self.wall_clock {
                let bound = clock.error_at_most_ns.map(|ns| format_ns(ns as f64));
                let bound = bound.unwrap_or_else(|| "not known".to_owned());
                rows.push(("Error of the wall clock at most", bound));
                rows.extend(self.keeping.keepers.iter().map(|k| ("Keeper", in_words(k))));
            }
            rows.push(("Synchronised", yes.to_owned()));
            rows.push((
                "Offset still to be corrected",
                signed_ns(s.offset_ns as f64),
            ));
            rows.push(("Correction of the rate", ppm(s.frequency_ppm)));
            let label = match self.wall_clock {
                Some(_) => "Error at most, by the kernel",
                None => "Error at most",
            };
            rows.push((label, format_ns(s.maximum_error_ns as f64)));
        }
        if self.readings > 1 {
            rows.push((
                "Watched for",
                format!(
                    "{}, {} readings",
                    format_ns(self.watched_ns as f64),
                    count(self.readings as u64)
                ),
            ));
        }
        if let Some(d) = self.monotonic_by_raw {
            rows.push(("MONOTONIC against MONOTONIC_RAW", d.in_words()));
        }
        for (label, rate) in [
            ("CPU counter against MONOTONIC_RAW", self.counter_by_raw),
            ("CPU counter against MONOTONIC", self.counter_by_monotonic),
        ] {
            rows.extend(rate.map(|r| (label, r.in_words())));
        }
        rows.extend(
            self.stated_ppm
                .map(|p| ("CPU counter against its stated rate", ppm(p))),
        );
        for s in &self.steps {
            let (from, to) = s.between_ns;
            rows.push((
                "Wall clock set",
                format!(
                    "by {} between {} and {} of the run",
                    signed_ns(s.ns as f64),
                    format_ns(from as f64),
                    format_ns(to as f64)
                ),
            ));
        }
        if self.readings > 1 && self.steps.is_empty() {
            rows.push(("Wall clock set", "no".to_owned()));
        }
        rows
    }
}

/// What keeps the clock, and what it follows.
fn in_words(keeper: &TimeKeeper) -> String {
    let state = match (keeper.running, keeper.in_step) {
        (false, _) => "installed, does not run",
        (_, Some(true)) => "in step",
        (_, Some(false)) => "not in step",
        (_, None) => "runs",
    };
    let sources = keeper.sources.iter();
    let sources: Vec<String> = sources
        .map(|s| format!("{} {} ({})", s.kind, s.name, s.state))
        .collect();
    let note = keeper.note.iter().cloned();
    let parts: Vec<String> = [format!("{}: {state}", keeper.name)]
        .into_iter()
        .chain(note)
        .chain(sources)
        .collect();
    parts.join("; ")
}

impl Drift {
    /// No more digits than its uncertainty supports.
    fn in_words(self) -> String {
        if self.ppm.abs() <= self.plus_minus_ppm {
            return format!(
                "no drift beyond {} ppm, as fine as it was read",
                real_small(self.plus_minus_ppm)
            );
        }
        let digits = (-self.plus_minus_ppm.log10().floor()).clamp(0.0, 6.0) as usize;
        format!(
            "{:+.digits$} ppm (±{})",
            self.ppm,
            real_small(self.plus_minus_ppm)
        )
        .replace('-', "\u{2212}")
    }
}

impl CounterRate {
    fn in_words(self) -> String {
        let mhz = format!("{:.6} MHz", self.hz / 1e6);
        match self.unevenness_ns {
            None => mhz,
            Some(ns) if ns <= self.read_within_ns => format!(
                "{mhz}, no unevenness beyond {}, as fine as it was read",
                format_ns(self.read_within_ns)
            ),
            Some(ns) => format!("{mhz}, within {} of a constant rate", format_ns(ns)),
        }
    }
}

fn ppm(ppm: f64) -> String {
    if ppm == 0.0 {
        return "0 ppm".to_owned();
    }
    format!("{ppm:+.3} ppm").replace('-', "\u{2212}")
}

fn real_small(x: f64) -> String {
    if x < 0.01 {
        format!("{x:.0e}")
    } else {
        real(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(s: i64, ppm: i64, set_ns: i64) -> ClockReading {
        let raw = s * 1_000_000_000;
        let monotonic_ns = raw + s * 1_000 * ppm;
        ClockReading {
            at_ns: raw as u64,
            counter_ticks: Some(3 * raw),
            monotonic_raw_ns: raw,
            monotonic_ns,
            realtime_ns: monotonic_ns + set_ns,
            within_ns: 100,
            synchronisation: None,
        }
    }

    #[test]
    fn slewing_is_drift_and_setting_is_a_step() {
        let c = of_readings(&[
            reading(0, 0, 0),
            reading(5, 20, 0),
            reading(10, 20, -2_000_000),
        ]);
        let drift = c.monotonic_by_raw.unwrap();
        assert!((drift.ppm - 20.0).abs() < 1e-9, "{drift:?}");
        assert_eq!(drift.in_words(), "+20.00 ppm (±0.02)");
        let step = Step {
            ns: -2_000_000,
            between_ns: (5_000_000_000, 10_000_000_000),
        };
        assert_eq!(c.steps, [step]);
        assert!(c.answer().contains("set 1 time"), "{}", c.answer());
        let rate = c.counter_by_raw.unwrap();
        assert_eq!(rate.hz, 3e9);
        assert_eq!(rate.unevenness_ns, Some(0.0));
    }

    #[test]
    fn a_difference_below_what_reading_takes_is_none() {
        let mut late = reading(10, 0, 150);
        late.monotonic_ns += 150;
        late.realtime_ns += 150;
        let c = of_readings(&[reading(0, 0, 0), late]);
        assert!(c.steps.is_empty());
        assert!(
            c.monotonic_by_raw
                .unwrap()
                .in_words()
                .starts_with("no drift beyond")
        );
        assert_eq!(c.counter_by_raw.unwrap().unevenness_ns, None);
    }

    #[test]
    fn a_jump_of_the_counter_shows() {
        let mut jumped = reading(5, 0, 0);
        jumped.counter_ticks = Some(3 * 5_000_000_000 + 3_000_000);
        let c = of_readings(&[reading(0, 0, 0), jumped, reading(10, 0, 0)]);
        let off = c.counter_by_raw.unwrap().unevenness_ns.unwrap();
        assert!((off - 1_000_000.0).abs() < 1.0, "{off}");
    }

    #[test]
    fn an_old_run_says_that_it_did_not_watch() {
        let c = of_readings(&[]);
        assert!(c.answer().ends_with("this run did not watch for steps."));
        assert!(c.rows().is_empty());
    }
}
