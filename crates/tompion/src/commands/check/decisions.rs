//! What a check measures so that each use can be judged at its own period, and where its time goes.

mod sharing;

use std::collections::BTreeSet;
use std::time::Duration;

use tompion_assess::verdict::company::{Scheduler, may_have_company};
use tompion_assess::verdict::{CHECK_S, ERROR, Profile, Prospect, late_cells, prospects};
use tompion_load::LoadSpec;
use tompion_model::{
    Cell, Cells, Factors, InCheck, TrialData, TrialDraft, Way, factor, format_duration, format_ns,
};
use tompion_probe::{Policy, read_cost, stalls, timer_events, wake_up};
use tompion_run::probes::{FEW, Selection};
use tompion_run::{Attention, PlannedCell};
use tompion_time::os;

use sharing::{Claim, Needed, Time, shared};

use super::selection::{EVENT_COUNT, EVENT_PERIOD, STALL, selection, texts};

/// Where a single sleeper needs more seconds for its samples, several wake up in turn, so that they take no longer. More of
/// them than this makes would move what is measured by more than anybody has measured.
const AT_MOST_S: f64 = 3.5;

/// Seconds that the samples of a sleep may take beside one load which bears no company.
const ALONE_S: f64 = 4.5;

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

/// Half a minute with all that follows, where a quota leaves a fifth of a CPU, too.
pub const QUICK_RUN_S: u64 = 17;

/// Periods within this factor are judged by one measurement.
const SAME: f64 = 1.5;

/// Readings of a clock, over all blocks.
const READINGS: u64 = 60_000;

/// Share of its time that a cell keeps which no open verdict needs: enough for a median.
const NOT_NEEDED: f64 = 0.15;

/// What is less likely to decide anything has no time. Chosen, not derived: what comes of it is held by the simulated
/// checks of `tests/acceptance/test_decided.py`, which decide nine in ten of what can be decided.
const LEAST_CHANCE: f64 = 0.1;

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

/// What is measured for these profiles beside these loads on a machine with that scheduler, with its shares of the time in
/// seconds for each load.
pub fn selections(
    profiles: &[Profile],
    loads: &[LoadSpec],
    scheduler: Scheduler,
    quick: bool,
    blocks: u32,
) -> anyhow::Result<Vec<Selection>> {
    let mut found = vec![reads(blocks)?];
    for period in periods(profiles) {
        let (waiting, others): (Vec<_>, Vec<_>) =
            loads.iter().cloned().partition(LoadSpec::makes_wait);
        let by_turns = [(others, false), (waiting, true)];
        for (loads, makes_wait) in by_turns.into_iter().filter(|(loads, _)| !loads.is_empty()) {
            let all = sleeps(
                &period,
                sleepers(&period, makes_wait, scheduler),
                quick,
                blocks,
            )?
            .into_iter();
            found.extend(all.map(|s| s.beside(loads.clone())));
        }
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
        false => STALLS_S / CHECK_S as f64,
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
        // With none late; what it takes where some are, or come in clusters, is seen then.
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

/// The sleeps measured at a period, of so many sleepers: as it is, and with remedies.
fn sleeps(period: &Period, n: u32, quick: bool, blocks: u32) -> anyhow::Result<Vec<Selection>> {
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
        let found = selection(wake_up::NAME, given)?.sharing(seconds);
        // Real-time policies have no slack: there it would be the sleep as it is, once more.
        let found = match slack {
            "default" => found,
            _ => found.under(Policy::Other),
        };
        Ok::<_, anyhow::Error>((!methods.is_empty()).then_some(found))
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
            sleeping(&sleep, "1ns", 1, SHORT_S)?,
            sleeping(&hybrid, "default", 1, SHORT_S)?,
            sleeping(&spin, "default", 1, SHORT_S)?,
        ]
    } else {
        let needed_s = period.samples * period.ns / 1e9;
        let longest_s = if n == 1 { ALONE_S } else { AT_MOST_S };
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
        // A quick check has no time for long sleeps by which it decides nothing.
        let is_dear = quick && period.ns >= LONG_NS;
        let as_it_is = sleeping(&sleep, "default", n, seconds)?;
        vec![
            as_it_is.map(|s| if is_dear { s.optional() } else { s }),
            remedy(&sleep, "1ns")?,
            other,
        ]
    };
    Ok(found.into_iter().flatten().collect())
}

/// How many wake up in turn at a period, so that its samples come within the time, beside loads that make them wait for
/// the scheduler's tick or not.
fn sleepers(period: &Period, make_wait: bool, scheduler: Scheduler) -> u32 {
    let alone_s = period.samples * period.ns / 1e9;
    if !may_have_company(period.limit_ns) || alone_s <= AT_MOST_S {
        return 1;
    }
    let wanted = (alone_s / AT_MOST_S).ceil().min(64.0) as u32;
    match make_wait {
        false => wanted,
        true => wanted.min(scheduler.most_in_turn(period.ns)),
    }
}

/// That of this machine; with the tick of most kernels where this one does not say.
pub fn scheduler() -> Scheduler {
    let tick_ns = match os::tick_ns() {
        ns @ 500_000..=50_000_000 => ns as f64,
        _ => 4e6,
    };
    Scheduler {
        tick_ns,
        cpus: tompion_host::usable_cpus().len() as u32,
    }
}

/// Refuses a use at whose period a check of `duration` has no time for a few sleeps under each of so many loads.
///
/// # Errors
/// Its name, and how long a check would have to be.
pub fn require_time(profiles: &[Profile], loads: usize, duration: Duration) -> anyhow::Result<()> {
    /// Of the time, for one such use.
    const MOST: f64 = 0.5;
    let takes_s =
        |p: &Profile| (wake_up::WARM_UP + FEW) as f64 * p.period_ns / 1e9 * loads as f64 / MOST;
    let sleeps = profiles.iter().filter(|p| p.probe == wake_up::NAME);
    let longest = sleeps.max_by(|a, b| a.period_ns.total_cmp(&b.period_ns));
    match longest.filter(|p| takes_s(p) > duration.as_secs_f64()) {
        Some(p) => anyhow::bail!(
            "profile `{}`: a few sleeps of {} under {loads} loads do not fit into {} s; name at least --duration {}s, or \
             fewer loads",
            p.name,
            format_ns(p.period_ns),
            duration.as_secs(),
            takes_s(p).ceil()
        ),
        None => Ok(()),
    }
}

/// Those of these uses that a check of `duration` cannot pass under these loads, since the samples that a pass takes
/// with none late alone take more than it measures.
pub fn without_time<'p>(
    uses: impl IntoIterator<Item = &'p Profile>,
    quick: bool,
    loads: &[LoadSpec],
    scheduler: Scheduler,
    duration: Duration,
) -> Vec<&'p Profile> {
    let measured_s = duration.as_secs_f64() * (1.0 - stalls_share(quick)) * MEASURING;
    let takes_s = |profile: &Profile| {
        let samples = ERROR.ln() / profile.quantile.ln();
        let period = Period {
            ns: profile.period_ns,
            limit_ns: profile.limit_ns(),
            samples,
        };
        let at_once = |load: &LoadSpec| f64::from(sleepers(&period, load.makes_wait(), scheduler));
        let alone_s = samples * period.ns / 1e9;
        loads
            .iter()
            .map(|load| alone_s / at_once(load))
            .sum::<f64>()
    };
    let sleeps = uses.into_iter().filter(|p| p.probe == wake_up::NAME);
    sleeps.filter(|p| takes_s(p) > measured_s).collect()
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

    /// What a sleep asks for in the blocks that are left, by what further samples of it can decide.
    fn claim(
        &self,
        cell: &PlannedCell,
        seen: &[Cell],
        open: &[Prospect],
        late: &BTreeSet<Factors>,
    ) -> Claim {
        let Some(known) = seen.iter().find(|s| s.factors == cell.factors) else {
            let is_of = |sleep: &Factors| {
                let same = |name| sleep.level(name) == cell.factors.level(name);
                let names = [factor::TARGET, factor::LOAD, factor::COMPANY];
                names.into_iter().all(same)
            };
            // One block chooses, others judge: of two remedies one is gone on with.
            let is_in_time = self.planned.saturating_sub(self.begun) >= 3;
            return match cell.is_optional {
                true if !is_remedy(cell) && self.begun == 0 => Claim::Seconds(Needed::whole(cell)),
                true if is_remedy(cell) && is_in_time && late.iter().any(is_of) => {
                    Claim::Begin(cell.weight / 2.0)
                }
                true => Claim::Share(0.0),
                false if is_remedy(cell) => Claim::Little(AT_FIRST),
                false => Claim::Seconds(Needed::whole(cell)),
            };
        };
        let of_cell = open.iter().filter(|p| p.factors == cell.factors);
        let wanted: Vec<&Prospect> = of_cell.filter(|p| p.chance >= LEAST_CHANCE).collect();
        let Some(part) = wanted.iter().map(|p| p.part).min() else {
            return match cell.is_optional {
                true => Claim::Share(0.0),
                false => Claim::Little(NOT_NEEDED),
            };
        };
        let taken_s = known.durations_ns.iter().sum::<u64>() as f64 / 1e9;
        let taken: u64 = known.blocks.iter().map(|b| b.len()).sum();
        let seconds = |p: &&Prospect| match p.more {
            Some(more) => more as f64 * taken_s / taken.max(1) as f64,
            None => (cell.weight - taken_s).max(0.0),
        };
        Claim::Seconds(Needed {
            seconds: wanted.iter().map(seconds).fold(0.0, f64::max),
            part,
            verdicts: wanted.iter().map(|p| p.chance).sum(),
        })
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
        let open = prospects(&seen, self.profiles, self.planned);
        let late = late_cells(&seen, self.profiles, self.planned);
        let claim = |cell: &PlannedCell| match is_sleep(cell) {
            true => self.claim(cell, &seen, &open, &late),
            false => Claim::Share(1.0),
        };
        let claims: Vec<Claim> = cells.iter().map(claim).collect();
        let time = Time {
            seconds: self.seconds_left(),
            left: self.planned.saturating_sub(self.begun).max(1) as f64,
            planned: self.planned.max(1) as f64,
            stretch: (self.seconds / CHECK_S as f64).max(1.0),
        };
        let (shares, has_it) = shared(cells, &claims, time, &self.chosen);
        let new = cells.iter().zip(has_it).filter(|(_, has_it)| *has_it);
        self.chosen
            .extend(new.map(|(cell, _)| cell.factors.clone()));
        self.begun += 1;
        shares
    }
}

fn is_sleep(cell: &PlannedCell) -> bool {
    cell.factors.level(factor::PROBE) == wake_up::NAME
}

/// Whether a sleep is one with a remedy.
fn is_remedy(cell: &PlannedCell) -> bool {
    let level = |name| cell.factors.level(name);
    let way = level(factor::METHOD).parse::<wake_up::Method>();
    let is_sleep = way.is_ok_and(|m| m.row().way == Way::Sleeps);
    let has_usual = |name, usual| cell.factors.get(name).is_none_or(|level| level == usual);
    !(is_sleep && has_usual(factor::SLACK, "default") && has_usual(factor::POLICY, "other"))
}

#[cfg(test)]
mod tests;
