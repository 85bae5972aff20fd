//! Trying remedies, on and off in randomised pairs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tompion_assess::verdict::{LEVEL, quantile_name};
use tompion_host::Root;
use tompion_model::now_utc;

use crate::advice::{Advice, SCHEMA_VERSION};
use crate::bench::{Bench, BenchError};
use crate::candidate::Candidate;
use crate::effect::Pair;
use crate::order::turns;
use crate::ranking::ranked;
use crate::tried::{Tried, tried};
use crate::{Journal, Refusal, Switch};

/// How remedies are tried.
#[derive(Clone, Debug)]
pub struct TryOptions {
    /// Time for everything.
    pub duration: Duration,
    /// Distance of wake-ups, in nanoseconds.
    pub target_ns: u64,
    /// The quantile that remedies are judged and ranked by, 0 to 1.
    pub quantile: f64,
    /// The use that asks for it and for the distance; absent where none was named.
    pub for_use: Option<String>,
    /// How long a change of the machine settles before it is measured.
    pub settle: Duration,
    /// Seed of the random order.
    pub seed: u64,
    /// What runs beside it; `idle` for nothing.
    pub load: String,
    /// The program that measures, for the record.
    pub tool: String,
}

/// Where the run stands, told after each pair.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Time used.
    pub elapsed: Duration,
    /// Pairs done.
    pub pairs: usize,
    /// The remedy just tried.
    pub knob: String,
}

/// Why trying ended with an error; all that could be put back was.
#[derive(Debug, thiserror::Error)]
pub enum TryError {
    /// A value is not back.
    #[error("`{knob}` could not be switched off: {why}; `tompion advise --restore` tries it again")]
    NotPutBack {
        /// The remedy.
        knob: String,
        /// The file, and what the system said.
        why: String,
    },
}

/// Pairs for which there should be time: enough for a family of a dozen remedies, and
/// as many again for what they show.
const PAIRS: u32 = 20;
/// Trials are never shorter.
const SHORTEST: Duration = Duration::from_millis(20);
/// Nor longer: more pairs tell more than longer trials.
const LONGEST: Duration = Duration::from_millis(100);

/// The length of one trial.
fn trial_length(options: &TryOptions, tried: usize) -> Duration {
    let trials = 2 * PAIRS * u32::try_from(tried.max(1)).unwrap_or(u32::MAX / 2 / PAIRS);
    // A third for what lies between trials.
    let sleeps = Duration::from_nanos(options.target_ns.saturating_mul(sleeps(options.quantile)));
    let length = (options.duration * 2 / 3 / trials).clamp(SHORTEST, LONGEST);
    length.max(sleeps)
}

/// Sleeps that a trial should have: a few dozen, and one beyond the quantile.
fn sleeps(quantile: f64) -> u64 {
    // 1 / (1 - 0.99) is a hair more than 100.
    (1.0 / (1.0 - quantile)).round().max(40.0) as u64
}

/// What a pair takes as a rule: its trials, and a third of the time between them.
fn pair_length(trial: Duration) -> Duration {
    trial * 3
}

/// Tries what is to be tried until the time is up, or `stop` is set. What was
/// measured until then is kept, and everything is put back.
///
/// Without a `journal` no file of the machine is changed.
///
/// # Errors
/// If a value could not be put back.
pub fn try_all(
    candidates: &[Candidate],
    options: &TryOptions,
    root: &Root,
    journal: Option<&Journal>,
    bench: &mut dyn Bench,
    stop: &AtomicBool,
    mut progress: impl FnMut(&Progress),
) -> Result<Advice, TryError> {
    let started_at = now_utc();
    let mut tried = tried(candidates);
    let length = trial_length(options, tried.len());
    let began = bench.now();
    let end = began + options.duration;
    let mut left_alone = Vec::new();
    let mut done = 0;
    let interrupted = || stop.load(Ordering::Relaxed);
    'blocks: for block in 0.. {
        let before = done;
        for turn in turns(options.seed, block, tried.len()) {
            let one = &mut tried[turn.knob];
            if one.refused.is_some() {
                continue;
            }
            let pair_began = bench.now();
            if interrupted() || pair_began + one.longest.max(length * 2) > end {
                break 'blocks;
            }
            let mut switch = Switch::new(root, journal);
            let order = [turn.on_first, !turn.on_first];
            match pair(one, order, length, options.settle, &mut switch, bench) {
                Ok(made) => {
                    done += 1;
                    one.left_out = made.left_out;
                    // A pair beside someone else's change compares two other things.
                    if made.others.is_empty() {
                        one.pairs.push(made.pair);
                    } else {
                        one.refused = Some(made.others.join("; "));
                        left_alone.extend(made.others);
                    }
                }
                Err(Ended::Refused(why)) => one.refused = Some(why),
                Err(Ended::Interfered(why)) => {
                    one.refused = Some(why.clone());
                    left_alone.push(why);
                }
                Err(Ended::Stopped) => break 'blocks,
                Err(Ended::NotPutBack(why)) => {
                    let knob = one.knob.name();
                    return Err(TryError::NotPutBack { knob, why });
                }
            }
            let now = bench.now();
            one.longest = one.longest.max(now - pair_began);
            one.took += now - pair_began;
            progress(&Progress {
                elapsed: now - began,
                pairs: done,
                knob: one.knob.name(),
            });
        }
        if done == before {
            // Nothing is left that could be tried.
            break;
        }
    }
    let seconds = (bench.now() - began).as_secs_f64();
    Ok(Advice {
        started_at,
        seconds,
        interrupted: interrupted(),
        trial_ns: length.as_nanos() as u64,
        knobs: ranked(candidates, &tried, options.quantile, pair_length(length)),
        left_alone,
        ..Advice::nothing(options)
    })
}

impl Advice {
    /// What a dry run says: how every remedy stands, and nothing measured.
    pub fn dry_run(candidates: &[Candidate], options: &TryOptions) -> Self {
        let would = candidates.iter().filter(|c| c.is_tried()).count();
        Self {
            dry_run: true,
            trial_ns: trial_length(options, would).as_nanos() as u64,
            knobs: ranked(candidates, &[], options.quantile, Duration::ZERO),
            ..Self::nothing(options)
        }
    }

    fn nothing(options: &TryOptions) -> Self {
        Self {
            format: "tompion-advice".to_owned(),
            schema_version: SCHEMA_VERSION,
            tool: options.tool.clone(),
            started_at: now_utc(),
            seconds: 0.0,
            interrupted: false,
            dry_run: false,
            load: options.load.clone(),
            target_ns: options.target_ns,
            trial_ns: 0,
            quantile: quantile_name(options.quantile),
            for_use: options.for_use.clone(),
            seed: options.seed,
            level: LEVEL,
            knobs: Vec::new(),
            left_alone: Vec::new(),
        }
    }
}

/// Why a pair brought nothing.
enum Ended {
    Refused(String),
    Interfered(String),
    Stopped,
    NotPutBack(String),
}

/// One pair, and what was not as it should be.
struct Made {
    pair: Pair,
    /// What someone else changed meanwhile.
    others: Vec<String>,
    /// Files that did not take their value.
    left_out: Vec<String>,
}

fn pair(
    one: &Tried<'_>,
    order: [bool; 2],
    length: Duration,
    settle: Duration,
    switch: &mut Switch<'_>,
    bench: &mut dyn Bench,
) -> Result<Made, Ended> {
    let mut figures = [None, None];
    let (mut others, mut left_out) = (Vec::new(), Vec::new());
    for on in order {
        if on {
            left_out = switch
                .on(&one.knob.name(), one.ready)
                .map_err(|refusal| match refusal {
                    Refusal::NotAllowed(why) => Ended::Refused(why),
                    Refusal::Interfered(left) => Ended::Interfered(left.to_string()),
                })?;
        }
        if one.ready.touches_files() {
            // After switching off, too.
            bench.settle(settle);
        }
        let setup = if on { &one.ready.on } else { &one.ready.off };
        let measured = bench.trial(one.knob.quantity(), setup, length);
        if on {
            // Whatever the trial brought.
            let left = switch.off().map_err(Ended::NotPutBack)?;
            others.extend(left.iter().map(ToString::to_string));
        }
        figures[usize::from(on)] = Some(measured.map_err(|error| match error {
            BenchError::Stopped => Ended::Stopped,
            BenchError::Refused(why) | BenchError::Failed(why) => Ended::Refused(why),
        })?);
    }
    let [Some(off), Some(on)] = figures else {
        unreachable!("both sides were measured")
    };
    Ok(Made {
        pair: Pair { off, on },
        others,
        left_out,
    })
}

#[cfg(test)]
mod tests;
