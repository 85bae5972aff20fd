//! What a check measures so that each use can be judged at its own period, and where its time goes.

use std::collections::BTreeSet;
use std::time::Duration;

use tompion_assess::verdict::company::may_have_company;
use tompion_assess::verdict::{ERROR, Profile, late_cells, needed_cells};
use tompion_model::{Cells, Factors, InCheck, TrialData, TrialDraft, Way, factor, format_duration};
use tompion_probe::{Policy, read_cost, stalls, timer_events, wake_up};
use tompion_run::probes::Selection;
use tompion_run::{Attention, PlannedCell};

use super::selection::{EVENT_COUNT, EVENT_PERIOD, STALL, selection, texts};

/// Seconds that the samples of one sleep may take beside one load; where a single sleeper needs longer,
/// several wake up in turn.
const AT_MOST_S: f64 = 3.5;
const QUICK_AT_MOST_S: f64 = 1.5;

/// Shorter periods are not slept, only spun.
const SHORTEST_SLEEP_NS: f64 = 10_000.0;

/// At shorter periods sleeps take so little time that nobody counts it.
const SHORT_NS: f64 = 100_000.0;

/// Seconds that a sleep at a short period gets.
const SHORT_S: f64 = 0.12;

/// Seconds of timer events, and of stalls at rest: rare pauses do not show in less.
const EVENTS_S: f64 = 0.4;
const QUICK_EVENTS_S: f64 = 0.2;
const STALLS_S: f64 = 20.0;
const QUICK_STALLS_S: f64 = 4.0;

/// Seconds of a run.
pub const RUN_S: u64 = 70;
/// Half a minute with all that follows, where a quota leaves a fifth of a CPU, too.
pub const QUICK_RUN_S: u64 = 16;

/// Periods within this factor are judged by one measurement.
const SAME: f64 = 1.5;

/// Readings of a clock, over all blocks.
const READINGS: u64 = 60_000;

/// Share of its time that a cell keeps which no open verdict needs: enough for a median.
const NOT_NEEDED: f64 = 0.15;

/// The same where the time does not hold all that is needed: enough for a p99 of sleeps of a millisecond.
const LITTLE: f64 = 0.03;

/// Share of its time that a remedy gets in the first block, which shows where one is needed.
const AT_FIRST: f64 = 0.4;

/// What remains of a run's time beside stalls for what is measured: the rest goes into switching loads and saving.
const MEASURING: f64 = 0.75;

/// Where a sleep in company needs a remedy, it has this as well as timer slack.
const REAL_TIME: Policy = Policy::Fifo(50);

/// At longer periods remedies, whose warm-up alone takes long, begin once the first block shows where one is needed. As
/// their own first block chooses among them, the blocks that judge have so many times as much to do.
const LONG_NS: f64 = 5e6;
const LATER: f64 = 1.5;

/// What is measured for these profiles, with its shares of the time in seconds for each load.
pub fn selections(
    profiles: &[Profile],
    quick: bool,
    blocks: u32,
) -> anyhow::Result<Vec<Selection>> {
    let mut found = vec![reads(blocks)?];
    let at_most_s = if quick { QUICK_AT_MOST_S } else { AT_MOST_S };
    for period in periods(profiles) {
        found.extend(sleeps(&period, at_most_s, blocks)?);
    }
    found.extend(events(
        blocks,
        if quick { QUICK_EVENTS_S } else { EVENTS_S },
    )?);
    let loop_ = selection(stalls::NAME, [("threshold", texts(&[STALL]))])?;
    found.push(loop_.lasting(stalls_share(quick)).at_rest());
    Ok(found)
}

/// Share of the time that stalls have.
fn stalls_share(quick: bool) -> f64 {
    match quick {
        true => QUICK_STALLS_S / QUICK_RUN_S as f64,
        false => STALLS_S / RUN_S as f64,
    }
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

fn events(blocks: u32, seconds: f64) -> anyhow::Result<Option<Selection>> {
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
    Ok(Some(selection(timer_events::NAME, given)?.sharing(seconds)))
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

/// The sleeps measured at a period: as it is, and with remedies. Of what one sleeper has no time for, several take the samples
/// in `at_most_s` seconds.
fn sleeps(period: &Period, at_most_s: f64, blocks: u32) -> anyhow::Result<Vec<Selection>> {
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
        let n = sleepers(period, at_most_s);
        let longest_s = if n == 1 { AT_MOST_S } else { at_most_s };
        let warm_up_s = wake_up::WARM_UP as f64 * period.ns / 1e9 * f64::from(blocks);
        let seconds = (needed_s / f64::from(n)).clamp(SHORT_S, longest_s) + warm_up_s;
        let remedy = |methods: &[wake_up::Method], slack| {
            let is_dear = period.ns >= LONG_NS;
            let times = if is_dear { LATER } else { 1.0 };
            let found = sleeping(methods, slack, n, seconds * times)?;
            Ok::<_, anyhow::Error>(found.map(|s| if is_dear { s.optional() } else { s }))
        };
        // Several that spin have no CPU for themselves; a real-time policy is for what is far from its limit as it is.
        let other = match n {
            1 => remedy(&hybrid, "default")?,
            _ if REAL_TIME.is_available() => remedy(&sleep, "default")?.map(|s| s.under(REAL_TIME)),
            _ => None,
        };
        vec![
            sleeping(&sleep, "default", n, seconds)?,
            remedy(&sleep, "1ns")?,
            other,
        ]
    };
    Ok(found.into_iter().flatten().collect())
}

/// How many wake up in turn at a period, so that its samples come within the time.
fn sleepers(period: &Period, at_most_s: f64) -> u32 {
    let alone_s = period.samples * period.ns / 1e9;
    match may_have_company(period.limit_ns) && alone_s > at_most_s {
        true => (alone_s / at_most_s).ceil().min(64.0) as u32,
        false => 1,
    }
}

/// Gives the time to the cells by which open verdicts can still be closed.
pub struct Decisions<'a> {
    profiles: &'a [Profile],
    planned: usize,
    /// Seconds of the run, and those of them that stalls have.
    seconds: f64,
    stalls_s: f64,
    /// Blocks that have begun.
    begun: usize,
    /// Seconds from the beginning of the run to the end of the last trial, and of trials of stalls and of others.
    elapsed_s: f64,
    stalled_s: f64,
    measured_s: f64,
    cells: Cells,
    /// Cells that have had the time that they need.
    chosen: BTreeSet<Factors>,
}

impl<'a> Decisions<'a> {
    /// Of a run with so many blocks, which takes so long.
    pub fn new(profiles: &'a [Profile], quick: bool, blocks: u32, duration: Duration) -> Self {
        Self {
            profiles,
            planned: blocks as usize,
            seconds: duration.as_secs_f64(),
            stalls_s: duration.as_secs_f64() * stalls_share(quick),
            begun: 0,
            elapsed_s: 0.0,
            stalled_s: 0.0,
            measured_s: 0.0,
            cells: Cells::default(),
            chosen: BTreeSet::new(),
        }
    }

    /// Seconds that are left for what is no stalls, as far as measuring goes at the pace so far.
    fn seconds_left(&self) -> f64 {
        let measuring = match self.measured_s > 0.0 {
            true => self.measured_s / (self.elapsed_s - self.stalled_s).max(self.measured_s),
            false => MEASURING,
        };
        let left = self.seconds - self.elapsed_s - (self.stalls_s - self.stalled_s).max(0.0);
        left.max(0.0) * measuring
    }
}

impl Attention for Decisions<'_> {
    fn saw(&mut self, trial: &TrialDraft, data: &TrialData) {
        let probe = trial.factors.level(factor::PROBE);
        let seconds = trial.duration_ns as f64 / 1e9;
        self.elapsed_s = self.elapsed_s.max(trial.started_ns as f64 / 1e9 + seconds);
        match probe == stalls::NAME {
            true => self.stalled_s += seconds,
            false => self.measured_s += seconds,
        }
        if self.profiles.iter().any(|p| p.probe == probe) {
            self.cells.add_draft(trial, data);
        }
    }

    fn shares(&mut self, cells: &[PlannedCell]) -> Vec<f64> {
        let seen = self.cells.so_far();
        let needed = needed_cells(&seen, self.profiles, self.planned);
        let late = late_cells(&seen, self.profiles, self.planned);
        let blocks_left = self.planned.saturating_sub(self.begun);
        let claim = |cell: &PlannedCell| {
            let known = seen.iter().find(|s| s.factors == cell.factors);
            let is_of = |sleep: &Factors| {
                let same = |name| sleep.level(name) == cell.factors.level(name);
                [factor::TARGET, factor::LOAD, factor::COMPANY]
                    .into_iter()
                    .all(same)
            };
            match known {
                _ if !is_sleep(cell) => Claim::Share(1.0),
                Some(known) if needed.contains(&cell.factors) => {
                    let taken_s = known.durations_ns.iter().sum::<u64>() as f64 / 1e9;
                    Claim::Seconds((cell.weight - taken_s).max(0.0))
                }
                Some(_) => Claim::Little(NOT_NEEDED),
                // One block chooses, others judge: of two remedies one is gone on with.
                None if cell.is_optional && blocks_left >= 3 && late.iter().any(is_of) => {
                    Claim::Seconds(cell.weight / 2.0)
                }
                None if cell.is_optional => Claim::Share(0.0),
                None if is_remedy(cell) => Claim::Little(AT_FIRST),
                None => Claim::Seconds(cell.weight),
            }
        };
        let claims: Vec<Claim> = cells.iter().map(claim).collect();
        let shares = shared(
            cells,
            &claims,
            self.seconds_left(),
            blocks_left,
            &self.chosen,
        );
        let has_time = |(i, claim): (usize, &Claim)| {
            (matches!(claim, Claim::Seconds(_)) && shares[i] > LITTLE)
                .then(|| cells[i].factors.clone())
        };
        self.chosen
            .extend(claims.iter().enumerate().filter_map(has_time));
        self.begun += 1;
        shares
    }
}

/// What a cell asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Claim {
    /// This share of its time.
    Share(f64),
    /// The same, and less where time is short: no verdict needs it.
    Little(f64),
    /// These seconds, of which a part decides nothing.
    Seconds(f64),
}

/// The shares of cells that claim these, where there are so many seconds. Where they do not hold all, those that need least
/// have what they need, those that were `chosen` before first, and the others little: so some verdicts are reached, in place
/// of none.
fn shared(
    cells: &[PlannedCell],
    claims: &[Claim],
    seconds: f64,
    blocks_left: usize,
    chosen: &BTreeSet<Factors>,
) -> Vec<f64> {
    let mut wanted: Vec<(usize, f64)> = Vec::new();
    let mut others = 0.0;
    for (i, (cell, claim)) in cells.iter().zip(claims).enumerate() {
        match claim {
            Claim::Seconds(needed) => wanted.push((i, *needed)),
            Claim::Little(_) => others += cell.weight * LITTLE,
            Claim::Share(_) => {}
        }
    }
    let is_new = |i: usize| !chosen.contains(&cells[i].factors);
    wanted.sort_by(|a, b| is_new(a.0).cmp(&is_new(b.0)).then(a.1.total_cmp(&b.1)));
    let all: f64 = wanted.iter().map(|w| w.1).sum();
    let is_short = all > seconds;
    let mut left = seconds - others;
    let mut has_it = vec![false; cells.len()];
    for (i, needed) in wanted {
        // What was begun is gone on with: the time is a guess, and what it needs has some to spare.
        has_it[i] = needed <= if is_new(i) { left } else { seconds };
        left -= needed;
    }
    // Each trial has the least that is worth making it for before all are shared.
    let beyond_least = |cell: &PlannedCell, seconds: f64| {
        let least = cell.least_time().as_secs_f64() * blocks_left as f64;
        ((seconds - least) / cell.weight).clamp(2.0 * LITTLE, 1.0)
    };
    let share = |(i, claim): (usize, &Claim)| match claim {
        Claim::Share(share) => *share,
        Claim::Little(share) if is_short => share.min(LITTLE),
        Claim::Little(share) => *share,
        Claim::Seconds(_) if !is_short => 1.0,
        Claim::Seconds(seconds) if has_it[i] => beyond_least(&cells[i], *seconds),
        Claim::Seconds(_) if cells[i].is_optional && is_new(i) => 0.0,
        Claim::Seconds(_) => LITTLE,
    };
    claims.iter().enumerate().map(share).collect()
}

fn is_sleep(cell: &PlannedCell) -> bool {
    cell.factors.level(factor::PROBE) == wake_up::NAME
}

/// Whether a sleep is one with a remedy.
fn is_remedy(cell: &PlannedCell) -> bool {
    let level = |name| cell.factors.level(name);
    let way = level(factor::METHOD).parse::<wake_up::Method>();
    let is_sleep = way.is_ok_and(|m| m.row().way == Way::Sleeps);
    !is_sleep || ![None, Some("default")].contains(&cell.factors.get(factor::SLACK))
}

#[cfg(test)]
mod tests;
