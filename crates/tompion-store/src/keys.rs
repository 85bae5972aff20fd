//! The cells of a run by their keys: whoever reads it says something of each.

use std::collections::{BTreeMap, BTreeSet};

use tompion_model::{Factors, factor};

use super::limits;
use crate::error::Fault;

/// How much a run is to hold, as far as it is known before anything is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Planned {
    /// Trials in all.
    pub trials: u64,
    /// Platforms, where it has any: then others measure, and what one of them says of its trials
    /// must leave room for the others'.
    pub platforms: u64,
    /// Cells: trials of one key are one.
    pub cells: u64,
    /// Names and levels of the factors of all cells, in bytes.
    pub key_bytes: u64,
}

impl Planned {
    /// Bytes of a key's names and levels.
    pub fn bytes_of(key: &Factors) -> u64 {
        key.iter().map(|(k, v)| (k.len() + v.len()) as u64).sum()
    }

    /// Refuses what a run is not sure to hold to its end.
    ///
    /// # Errors
    /// What is too many, and how many there may be; in one line.
    pub fn check(self) -> Result<(), String> {
        let within = |found: u64, what: &str, holds: &str, most: u64| match found > most {
            true => Err(format!("{found} {what} in one run, which {holds} {most}")),
            false => Ok(()),
        };
        const SURE: &str = "is sure to hold";
        match self.platforms {
            0 => within(self.trials, "trials", "holds some", limits::PLANNED_TRIALS)?,
            _ => within(self.trials, "trials", SURE, limits::SURE_TRIALS)?,
        }
        within(self.platforms, "platforms", SURE, limits::PLANNED_PLATFORMS)?;
        self.check_cells().map_err(|why| why.to_string())
    }

    fn check_cells(self) -> Result<(), Fault> {
        let within = |found: u64, what: &str, most: u64| match found > most {
            true => Err(Fault::from(format!(
                "{found} {what}; a run has at most {most}"
            ))),
            false => Ok(()),
        };
        within(self.cells, "cells", limits::CELLS)?;
        let what = "bytes of names and levels of the factors of its cells";
        within(self.key_bytes, what, limits::KEY_BYTES)
    }
}

/// The cells of a run so far.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Each with the number of its trials.
    seen: BTreeMap<Factors, u64>,
    /// Of all factors: tables have a column for each.
    names: BTreeSet<String>,
    bytes: u64,
}

impl Keys {
    /// Those of trials that are in a run.
    pub(super) fn of<'t>(keys: impl Iterator<Item = &'t Factors>) -> Result<Self, Fault> {
        let mut all = Self::default();
        for key in keys {
            all.add(key)?;
        }
        Ok(all)
    }

    /// Takes in one more, unless that would be more than a run has.
    pub(super) fn add(&mut self, key: &Factors) -> Result<(), Fault> {
        if let Some(trials) = self.seen.get_mut(key) {
            if *trials >= limits::TRIALS_OF_CELL {
                let most = limits::TRIALS_OF_CELL;
                return Err(format!("more than {most} trials of one cell").into());
            }
            *trials += 1;
            return Ok(());
        }
        let planned = Planned {
            cells: self.seen.len() as u64 + 1,
            key_bytes: self.bytes + Planned::bytes_of(key),
            ..Planned::default()
        };
        planned.check_cells()?;
        for (name, _) in key.iter() {
            if !self.names.contains(name) && self.names.len() >= limits::FACTORS_OF_RUN {
                let most = limits::FACTORS_OF_RUN;
                return Err(format!("more than {most} names of factors").into());
            }
            self.names.insert(name.to_owned());
        }
        self.bytes = planned.key_bytes;
        self.seen.insert(key.clone(), 1);
        Ok(())
    }
}

/// Factors that say where and beside what something was measured: a use has a verdict for each combination of their levels.
const JUDGED_BY: [&str; 4] = [
    factor::PLATFORM,
    factor::PLACEMENT,
    factor::GUEST,
    factor::LOAD,
];

impl Keys {
    /// Refuses so many uses of a run's own where a report would have more to say of them than it holds.
    pub(super) fn check_uses(&self, uses: usize) -> Result<(), Fault> {
        let judged_at = self
            .seen
            .keys()
            .map(|key| JUDGED_BY.map(|name| key.get(name)));
        let judged_at = judged_at.collect::<BTreeSet<_>>().len() as u64;
        let most = limits::OWN_VERDICTS;
        match judged_at.saturating_mul(uses as u64) > most {
            true => Err(format!(
                "{uses} uses of its own, to be judged at {judged_at} loads and places: at most {most} of both together are"
            )
            .into()),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64, length: usize) -> Factors {
        Factors::new().with("load", format!("{number:0length$}"))
    }

    #[test]
    fn factors_of_many_names_are_refused() {
        let of = |name: u64| Factors::new().with(format!("f{name}").as_str(), "");
        let mut keys = Keys::default();
        (0..256).for_each(|name| keys.add(&of(name)).unwrap());
        let why = keys.add(&of(256)).unwrap_err().to_string();
        assert_eq!(why, "more than 256 names of factors");
    }

    #[test]
    fn uses_of_ones_own_are_no_more_than_a_report_holds_verdicts_of() {
        let cell = |place: u64, method: u64| {
            let key = key(place % 10, 4).with(factor::PLATFORM, place.to_string());
            key.with("method", method.to_string())
        };
        let all: Vec<Factors> = (0..512).map(|i| cell(i / 2, i % 2)).collect();
        let keys = Keys::of(all.iter()).unwrap();
        keys.check_uses(64).unwrap();
        let more = cell(1024, 0);
        let keys = Keys::of(all.iter().chain([&more])).unwrap();
        let why = keys.check_uses(64).unwrap_err().to_string();
        assert!(
            why.contains("at 257 loads and places: at most 16384"),
            "{why}"
        );
    }

    #[test]
    fn cells_beyond_what_a_report_holds_are_refused_and_trials_of_one_are_not() {
        let mut keys = Keys::default();
        for number in 0..limits::CELLS {
            keys.add(&key(number, 4)).unwrap();
        }
        keys.add(&key(7, 4)).unwrap();
        let why = keys.add(&key(limits::CELLS, 4)).unwrap_err().to_string();
        assert_eq!(why, "2561 cells; a run has at most 2560");
    }

    #[test]
    fn trials_of_one_cell_are_as_many_as_can_be_held_against_one_another() {
        let mut keys = Keys::default();
        for _ in 0..limits::TRIALS_OF_CELL {
            keys.add(&key(1, 4)).unwrap();
        }
        keys.add(&key(2, 4)).unwrap();
        let why = keys.add(&key(1, 4)).unwrap_err().to_string();
        assert_eq!(why, "more than 8192 trials of one cell");
    }

    #[test]
    fn long_keys_are_fewer() {
        let mut keys = Keys::default();
        let fit = limits::KEY_BYTES / 1024;
        for number in 0..fit {
            keys.add(&key(number, 1020)).unwrap();
        }
        let why = keys.add(&key(fit, 1020)).unwrap_err().to_string();
        assert!(why.starts_with("263168 bytes of names"), "{why}");
        // What was refused is not counted.
        assert!(Keys::of([key(1, 9), key(2, 9)].iter()).is_ok());
        assert_eq!((keys.seen.len() as u64, keys.bytes), (fit, fit * 1024));
    }

    #[test]
    fn a_plan_that_a_run_would_not_hold_is_told_what_is_too_many() {
        let on = |platforms, trials, cells, key_bytes| {
            let all = Planned {
                trials,
                cells,
                key_bytes,
                platforms,
            };
            all.check().err().unwrap_or_default()
        };
        let planned = |trials, cells, bytes| on(limits::PLANNED_PLATFORMS, trials, cells, bytes);
        let (trials, cells, bytes) = (limits::SURE_TRIALS, limits::CELLS, limits::KEY_BYTES);
        assert_eq!(planned(trials, cells, bytes), "");
        assert!(
            planned(trials + 1, 1, 1)
                .contains("3001 trials in one run, which is sure to hold 3000")
        );
        assert!(planned(1, cells + 1, 1).contains("2561 cells"));
        // What nobody else measures needs no room for the longest.
        assert_eq!(on(0, limits::PLANNED_TRIALS, cells, bytes), "");
        let why = on(0, limits::PLANNED_TRIALS + 1, cells, bytes);
        assert_eq!(why, "5001 trials in one run, which holds some 5000");
        let all = Planned {
            platforms: limits::PLANNED_PLATFORMS + 1,
            ..Planned::default()
        };
        assert!(all.check().unwrap_err().starts_with("129 platforms"));
        assert!(planned(1, 1, bytes + 1).contains("262145 bytes"));
    }
}
