//! What a check measures so that each use can be judged at its own period, and where its time goes.

use tompion_assess::verdict::company::may_have_company;
use tompion_assess::verdict::{ERROR, Profile, needed_cells};
use tompion_model::{Cells, InCheck, TrialData, TrialDraft, Way, factor, format_duration};
use tompion_probe::{read_cost, stalls, timer_events, wake_up};
use tompion_run::probes::Selection;
use tompion_run::{Attention, PlannedCell};

use super::selection::{EVENT_COUNT, EVENT_PERIOD, STALL, selection, texts};

/// Seconds that the samples of one sleep may take beside one load; where a single sleeper needs longer,
/// several wake up in turn.
const AT_MOST_S: f64 = 3.5;

/// Shorter periods are not slept, only spun.
const SHORTEST_SLEEP_NS: f64 = 10_000.0;

/// At shorter periods sleeps take so little time that nobody counts it.
const SHORT_NS: f64 = 100_000.0;

/// Seconds that a sleep at a short period gets.
const SHORT_S: f64 = 0.12;

/// Seconds of timer events, and of stalls at rest: rare pauses do not show in less.
const EVENTS_S: f64 = 0.4;
const STALLS_S: f64 = 20.0;
const QUICK_STALLS_S: f64 = 4.0;

/// Periods within this factor are judged by one measurement.
const SAME: f64 = 1.5;

/// Readings of a clock, over all blocks.
const READINGS: u64 = 60_000;

/// Share of its time that a cell keeps which no open verdict needs: enough for a median.
const NOT_NEEDED: f64 = 0.15;

/// Share of its time that a remedy gets in the first block, which shows where one is needed.
const AT_FIRST: f64 = 0.4;

/// What is measured for these profiles, with its shares of the time in seconds for each load.
pub fn selections(
    profiles: &[Profile],
    quick: bool,
    blocks: u32,
) -> anyhow::Result<Vec<Selection>> {
    let mut found = vec![reads(blocks)?];
    for period in periods(profiles) {
        found.extend(sleeps(&period)?);
    }
    found.extend(events(blocks)?);
    let loop_ = selection(stalls::NAME, [("threshold", texts(&[STALL]))])?;
    let seconds = if quick { QUICK_STALLS_S } else { STALLS_S };
    found.push(loop_.sharing(seconds).at_rest());
    Ok(found)
}

fn is_always(row: &tompion_model::MethodRow) -> bool {
    row.in_check == InCheck::Always
}

fn reads(blocks: u32) -> anyhow::Result<Selection> {
    let always = read_cost::Method::available().filter(|m| is_always(m.row()));
    let methods: Vec<_> = always.collect();
    let samples = READINGS.max(u64::from(blocks));
    let given = [("methods", texts(&methods)), ("samples", texts(&[samples]))];
    Ok(selection(read_cost::NAME, given)?)
}

fn events(blocks: u32) -> anyhow::Result<Option<Selection>> {
    let always =
        timer_events::Method::all().filter(|m| is_always(m.row()) && m.available().is_ok());
    let methods: Vec<_> = always.collect();
    if methods.is_empty() {
        return Ok(None);
    }
    let events = EVENT_COUNT.div_ceil(u64::from(blocks.max(1)));
    let given = [
        ("methods", texts(&methods)),
        ("forms", texts(&[timer_events::Form::Grid])),
        ("periods", texts(&[EVENT_PERIOD])),
        ("slack", texts(&["default"])),
        ("events", texts(&[events])),
        ("no-search", texts(&[true])),
    ];
    Ok(Some(
        selection(timer_events::NAME, given)?.sharing(EVENTS_S),
    ))
}

/// A period at which uses are judged.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Period {
    ns: f64,
    /// The smallest limit of a use at it.
    limit_ns: f64,
    /// Samples that the verdicts take, with one of them late.
    samples: f64,
}

/// The periods of these profiles, each of which stands for those slightly longer, too.
fn periods(profiles: &[Profile]) -> Vec<Period> {
    let mut sorted: Vec<&Profile> = profiles.iter().collect();
    sorted.sort_by(|a, b| a.period_ns.total_cmp(&b.period_ns));
    let mut found: Vec<Period> = Vec::new();
    for profile in sorted.iter().filter(|p| p.probe == wake_up::NAME) {
        // None late, and half as many again for one that is.
        let samples = 1.1 * ERROR.ln() / profile.quantile.ln();
        match found.last_mut() {
            Some(last) if profile.period_ns <= last.ns * SAME => {
                last.limit_ns = last.limit_ns.min(profile.limit_ns());
                last.samples = last.samples.max(samples);
            }
            _ => found.push(Period {
                ns: profile.period_ns,
                limit_ns: profile.limit_ns(),
                samples,
            }),
        }
    }
    found
}

/// The sleeps measured at a period: as it is, and with remedies.
fn sleeps(period: &Period) -> anyhow::Result<Vec<Selection>> {
    let target = texts(&[format_duration(period.ns.max(1.0).round() as u64)]);
    let here = |way: Way| {
        let all = wake_up::Method::all().filter(move |m| is_always(m.row()) && m.row().way == way);
        all.filter(|m| m.available().is_ok()).collect::<Vec<_>>()
    };
    let sleeping = |methods: &[wake_up::Method], slack: &str, sleepers: u32, seconds: f64| {
        let given = [
            ("methods", texts(methods)),
            ("targets", target.clone()),
            ("slack", texts(&[slack])),
            ("sleepers", texts(&[sleepers])),
        ];
        Ok::<_, anyhow::Error>(
            (!methods.is_empty()).then_some(selection(wake_up::NAME, given)?.sharing(seconds)),
        )
    };
    let (sleep, hybrid, spin) = (
        here(Way::Sleeps),
        here(Way::SleepsThenSpins),
        here(Way::Spins),
    );
    let found = if period.ns < SHORTEST_SLEEP_NS {
        vec![sleeping(&spin, "default", 1, SHORT_S)?]
    } else if period.ns < SHORT_NS {
        vec![
            sleeping(&sleep, "default", 1, SHORT_S)?,
            sleeping(&hybrid, "default", 1, SHORT_S)?,
            sleeping(&spin, "default", 1, SHORT_S)?,
        ]
    } else {
        let needed_s = period.samples * period.ns / 1e9;
        let sleepers = sleepers(period);
        let seconds = (needed_s / f64::from(sleepers)).clamp(SHORT_S, AT_MOST_S);
        let mut found = vec![sleeping(&sleep, "default", sleepers, seconds)?];
        // What may have company is so far from its limit that remedies matter little.
        if sleepers == 1 {
            found.push(sleeping(&sleep, "1ns", sleepers, seconds)?);
            found.push(sleeping(&hybrid, "default", sleepers, seconds)?);
        }
        found
    };
    Ok(found.into_iter().flatten().collect())
}

/// How many wake up in turn at a period, so that its samples come within the time.
fn sleepers(period: &Period) -> u32 {
    let alone_s = period.samples * period.ns / 1e9;
    match may_have_company(period.limit_ns) && alone_s > AT_MOST_S {
        true => (alone_s / AT_MOST_S).ceil().min(64.0) as u32,
        false => 1,
    }
}

/// Gives the time to the cells by which open verdicts can still be closed.
pub struct Decisions<'a> {
    profiles: &'a [Profile],
    planned: usize,
    cells: Cells,
}

impl<'a> Decisions<'a> {
    /// Of a run with so many blocks.
    pub fn new(profiles: &'a [Profile], blocks: u32) -> Self {
        Self {
            profiles,
            planned: blocks as usize,
            cells: Cells::default(),
        }
    }
}

impl Attention for Decisions<'_> {
    fn saw(&mut self, trial: &TrialDraft, data: &TrialData) {
        let probe = trial.factors.level(factor::PROBE);
        if self.profiles.iter().any(|p| p.probe == probe) {
            self.cells.add_draft(trial, data);
        }
    }

    fn shares(&mut self, cells: &[PlannedCell]) -> Vec<f64> {
        let seen = self.cells.so_far();
        if seen.is_empty() {
            let at_first = |cell: &PlannedCell| if is_remedy(cell) { AT_FIRST } else { 1.0 };
            return cells.iter().map(at_first).collect();
        }
        let needed = needed_cells(&seen, self.profiles, self.planned);
        let share = |cell: &PlannedCell| {
            let is_judged = seen.iter().any(|s| s.factors == cell.factors);
            match !is_judged || needed.contains(&cell.factors) {
                true => 1.0,
                false => NOT_NEEDED,
            }
        };
        cells.iter().map(share).collect()
    }
}

/// Whether a cell is a sleep with a remedy.
fn is_remedy(cell: &PlannedCell) -> bool {
    let level = |name| cell.factors.level(name);
    if level(factor::PROBE) != wake_up::NAME {
        return false;
    }
    let way = level(factor::METHOD).parse::<wake_up::Method>();
    let is_sleep = way.is_ok_and(|m| m.row().way == Way::Sleeps);
    !is_sleep || ![None, Some("default")].contains(&cell.factors.get(factor::SLACK))
}

#[cfg(test)]
mod tests;
