//! Which sleeps a profile is judged by: the one that programs have, and under each load on which that
//! does not do, with a remedy.

use std::collections::{BTreeSet, HashMap, HashSet};

use tompion_model::{AT_REST, Cell, Factors, Way, factor, level_in_words, parse_duration_ns};

use crate::verdict::judge::{
    ERROR, Part, by_several_moments, judge, judge_so_far, late_at_first, outlook,
};
use crate::verdict::pauses::{OfPlatforms, Pauses};
use crate::verdict::remedies::Remedy;
use crate::verdict::{LoadVerdict, Outcome, Profile, ProfileVerdict, Remedied, basis};

/// A use is judged at a target within this factor of its period.
const AT_ITS_PERIOD: f64 = 2.0;

/// Whether a use is judged where sleeps of these times, in nanoseconds, are measured: at its period, or, where that is
/// shorter than all of them, by the shortest.
pub fn is_judged_at(profile: &Profile, targets_ns: impl IntoIterator<Item = u64>) -> bool {
    let times = |ns: u64| (ns as f64 / profile.period_ns).ln();
    let all: Vec<f64> = targets_ns.into_iter().map(times).collect();
    let is_near = |times: &f64| times.abs() <= AT_ITS_PERIOD.ln() + 1e-9;
    all.iter().any(is_near) || all.iter().all(|times| *times > 0.0)
}

/// One verdict a profile, in their order, for each platform and placement of several by
/// itself.
pub fn verdicts(cells: &[Cell], profiles: &[Profile]) -> Vec<ProfileVerdict> {
    verdicts_beside(cells, profiles, &OfPlatforms::default())
}

/// The same beside what the host took.
pub(super) fn verdicts_beside(
    cells: &[Cell],
    profiles: &[Profile],
    pauses: &OfPlatforms<'_>,
) -> Vec<ProfileVerdict> {
    let scenes = scenes(cells);
    let first = scenes[0].0;
    let platforms = scenes.iter().any(|(s, _)| s.platform != first.platform);
    let placements = scenes.iter().any(|(s, _)| s.placement != first.placement);
    let on = |(scene, cells): &(Scene<'_>, Vec<&Cell>)| {
        let judged = |profile| {
            let mut verdict = verdict(cells, profile, pauses.on(scene.platform));
            let name =
                |level: Option<&str>, of_several| level.filter(|_| of_several).map(str::to_owned);
            verdict.platform = name(scene.platform, platforms);
            let guest = scene.guest.map(|number| format!("guest {number}"));
            let placed = [name(scene.placement, placements), guest];
            let placed: Vec<String> = placed.into_iter().flatten().collect();
            verdict.placement = Some(placed.join(", ")).filter(|placed| !placed.is_empty());
            // Said once.
            verdict.method = verdict.method.map(|method| {
                let mut method = method.without(factor::GUEST);
                if platforms {
                    method = method.without(factor::PLATFORM);
                }
                if placements {
                    method = method.without(factor::PLACEMENT);
                }
                method
            });
            verdict
        };
        profiles.iter().map(judged).collect::<Vec<_>>()
    };
    scenes.iter().flat_map(on).collect()
}

/// Where cells were measured: what holds on one says nothing of another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Scene<'a> {
    platform: Option<&'a str>,
    placement: Option<&'a str>,
    guest: Option<&'a str>,
}

impl<'a> Scene<'a> {
    fn of(cell: &'a Cell) -> Self {
        Self {
            platform: cell.factors.get(factor::PLATFORM),
            placement: cell.factors.get(factor::PLACEMENT),
            guest: cell.factors.get(factor::GUEST),
        }
    }
}

/// Those of a run with their cells, in the order of these.
fn scenes(cells: &[Cell]) -> Vec<(Scene<'_>, Vec<&Cell>)> {
    let mut found: Vec<(Scene<'_>, Vec<&Cell>)> = Vec::new();
    let mut places: HashMap<Scene<'_>, usize> = HashMap::new();
    for cell in cells {
        let scene = Scene::of(cell);
        let place = *places.entry(scene).or_insert(found.len());
        match found.get_mut(place) {
            Some((_, cells)) => cells.push(cell),
            None => found.push((scene, vec![cell])),
        }
    }
    if found.is_empty() {
        // A run without cells is judged, too: nothing was measured.
        let nowhere = Scene {
            platform: None,
            placement: None,
            guest: None,
        };
        found.push((nowhere, Vec::new()));
    }
    found
}

fn verdict(cells: &[&Cell], profile: &Profile, pauses: Pauses) -> ProfileVerdict {
    let field = Field::new(cells, profile);
    let mut by_load: Vec<LoadVerdict> = field.loads.iter().filter_map(|l| field.pair(l)).collect();
    by_load.sort_by_key(|l| (l.load != AT_REST, l.load.clone()));
    by_load.iter_mut().for_each(|l| pauses.hold_against(l));
    let worst = |of: fn(&LoadVerdict) -> Outcome| {
        let worst = by_load.iter().map(of).max();
        match by_load.len() < field.loads.len() {
            true => worst.max(Some(Outcome::NotMeasured)),
            false => worst,
        }
        .unwrap_or(Outcome::NotMeasured)
    };
    let is_filled = |cell: &&Cell| !cell.filled_blocks.have_no_values();
    ProfileVerdict {
        name: profile.name.clone(),
        title: profile.title.clone(),
        platform: None,
        placement: None,
        requirement: field.requirement(),
        source: profile.source.clone(),
        outcome: worst(|l| l.outcome),
        as_it_is: worst(|l| l.as_it_is),
        missed_filled: field.figures_as_it_is().any(|cell| is_filled(&cell)),
        method: field.method(),
        by_load,
    }
}

/// A cell whose further samples can decide a use under its load.
#[derive(Clone, Debug, PartialEq)]
pub struct Prospect {
    /// Which cell.
    pub factors: Factors,
    /// What it is to the use.
    pub part: PartOfUse,
    /// How many samples more it takes at least; absent where nobody knows.
    pub more: Option<u64>,
    /// How likely these decide, 0 to 1: that it passes or fails, of a remedy that it passes.
    pub chance: f64,
}

/// What a cell is to a use, the more urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartOfUse {
    /// The sleep as it is.
    AsItIs,
    /// A remedy, by which a use may pass that is open as it is.
    RemedyOfOpen,
    /// A remedy of what fails as it is.
    RemedyOfFailed,
}

/// Where the order of the samples is not known, nobody can say.
const UNKNOWN: f64 = 0.5;

/// The cells whose further samples can decide what is still open for these profiles once `planned` blocks are done, an
/// entry for each use and load. All cells are of one place.
pub fn prospects(cells: &[Cell], profiles: &[Profile], planned: usize) -> Vec<Prospect> {
    let cells: Vec<&Cell> = cells.iter().collect();
    let of_profile = |profile| {
        let field = Field {
            planned,
            ..Field::new(&cells, profile)
        };
        let of_load = |load: &&str| field.prospects(load);
        field.loads.iter().flat_map(of_load).collect::<Vec<_>>()
    };
    profiles.iter().flat_map(of_profile).collect()
}

/// The sleeps as they are, by their factors, by which one of these profiles fails, or may once `planned` blocks are done:
/// those for which a remedy is worth measuring. All cells are of one place.
pub fn late_cells(cells: &[Cell], profiles: &[Profile], planned: usize) -> BTreeSet<Factors> {
    let cells: Vec<&Cell> = cells.iter().collect();
    let of_profile = |profile| {
        let field = Field {
            planned,
            ..Field::new(&cells, profile)
        };
        let late = |load: &&str| {
            let cell = field.judged_at(field.as_it_is.as_ref(), load)?;
            let part = field.whole(cell);
            let found = judge_so_far(cell, profile.quantile, profile.limit_ns(), part);
            let is_late = match found.map(|v| v.outcome) {
                Some(Outcome::Pass) => false,
                Some(Outcome::Fail) => true,
                _ => !field.has_few_late(cell),
            };
            is_late.then(|| cell.factors.clone())
        };
        field.loads.iter().filter_map(late).collect::<Vec<_>>()
    };
    profiles.iter().flat_map(of_profile).collect()
}

/// Of the error that a use with a remedy may have, the share of the one that the first block chooses; the others, to which
/// one turns where that does not pass, have the rest. Chosen, not derived: the first takes 1.4 % more samples by it.
const OF_THE_CHOSEN: f64 = 0.95;

/// More remedies than anybody tries at once are not looked at: each is looked at under every load.
const MOST_REMEDIES: usize = 64;

/// The cells that could serve a profile.
pub(super) struct Field<'a> {
    profile: &'a Profile,
    /// Those of each way of waiting, by load.
    cells: HashMap<Factors, HashMap<&'a str, Vec<&'a Cell>>>,
    /// The loads, in the order of the run.
    pub loads: Vec<&'a str>,
    /// The sleep that programs have, without load and target.
    pub as_it_is: Option<Factors>,
    /// What can take its place, what costs least first.
    pub remedies: Vec<(&'static Remedy, Factors)>,
    /// Blocks of the run.
    planned: usize,
}

impl<'a> Field<'a> {
    pub fn new(cells: &[&'a Cell], profile: &'a Profile) -> Self {
        let of_probe = |c: &&Cell| c.factors.level(factor::PROBE) == profile.probe;
        let found = cells.iter().copied().filter(of_probe);
        let mut loads: Vec<&str> = Vec::new();
        let mut ways: Vec<Factors> = Vec::new();
        let mut of_ways: HashMap<Factors, HashMap<&str, Vec<&Cell>>> = HashMap::new();
        let mut known = HashSet::new();
        let mut planned = 0;
        for cell in found.filter(|c| basis::samples(c) > 0) {
            let load = cell.factors.level(factor::LOAD);
            if known.insert(load) {
                loads.push(load);
            }
            let of_way = of_ways.entry(way(cell)).or_insert_with_key(|way| {
                ways.push(way.clone());
                HashMap::new()
            });
            of_way.entry(load).or_default().push(cell);
            planned = planned.max(cell.first_block + cell.blocks.len());
        }
        let as_it_is = ways.iter().min_by_key(|w| how_unusual(w)).cloned();
        let remedies = ways.iter().filter_map(|w| {
            let before = as_it_is.as_ref()?;
            Some((Remedy::of(before, w)?, w.clone()))
        });
        let mut remedies: Vec<_> = remedies.collect();
        remedies.sort_by_key(|(remedy, _)| remedy.place());
        remedies.truncate(MOST_REMEDIES);
        Self {
            profile,
            planned,
            cells: of_ways,
            loads,
            as_it_is,
            remedies,
        }
    }

    /// What is open of the profile under a load.
    fn prospects(&self, load: &str) -> Vec<Prospect> {
        let (quantile, limit_ns) = (self.profile.quantile, self.profile.limit_ns());
        let Some(as_it_is) = self.judged_at(self.as_it_is.as_ref(), load) else {
            return Vec::new();
        };
        let prospect = |cell: &Cell, part, of_use| {
            let found = outlook(cell, quantile, limit_ns, part);
            Prospect {
                factors: cell.factors.clone(),
                part: of_use,
                more: found.map(|(more, _)| more),
                chance: match (found, of_use) {
                    (Some((_, found)), PartOfUse::AsItIs) => found.kept + found.exceeded,
                    (Some((_, found)), _) => found.kept,
                    (None, _) => UNKNOWN,
                },
            }
        };
        let judged = |cell, part| judge_so_far(cell, quantile, limit_ns, part).map(|v| v.outcome);
        let whole = self.whole(as_it_is);
        let mut found = Vec::new();
        let of_remedy = match judged(as_it_is, whole) {
            Some(Outcome::Pass) => return found,
            Some(Outcome::Fail) => PartOfUse::RemedyOfFailed,
            _ => {
                found.push(prospect(as_it_is, whole, PartOfUse::AsItIs));
                PartOfUse::RemedyOfOpen
            }
        };
        if self.has_few_late(as_it_is) {
            return found;
        }
        for (_, cell, part) in self.remedies_in_turn(load) {
            match judged(cell, part) {
                // The use is decided by it, and nobody asks for the others.
                Some(Outcome::Pass) => break,
                Some(outcome) if outcome.is_decided() => {}
                _ => {
                    found.push(prospect(cell, part, of_remedy));
                    break;
                }
            }
        }
        found
    }

    /// All blocks of a cell: it may be measured from a later one on.
    fn whole(&self, cell: &Cell) -> Part {
        Part::whole(self.planned.saturating_sub(cell.first_block))
    }

    /// Whether no more samples than may of the first block are late.
    fn has_few_late(&self, cell: &Cell) -> bool {
        let late = late_at_first(cell, self.profile.limit_ns());
        late.is_some_and(|late| late <= 1.0 - self.profile.quantile)
    }

    /// The cell of a way of waiting at the period of the profile: the nearest within a factor of
    /// two, and measured alone rather than in company.
    fn judged_at(&self, way_of: Option<&Factors>, load: &str) -> Option<&'a Cell> {
        let here = self.of(way_of?, load);
        let near = here.filter_map(|(cell, ns)| {
            let times = (ns as f64 / self.profile.period_ns).ln().abs();
            (times <= AT_ITS_PERIOD.ln() + 1e-9).then_some((cell, times))
        });
        let nearest = near.min_by(|a, b| {
            let company = |c: &Cell| c.factors.get(factor::COMPANY).is_some();
            let first = a.1.total_cmp(&b.1);
            first.then(company(a.0).cmp(&company(b.0)))
        });
        nearest.map(|(cell, _)| cell)
    }

    /// The cells of a way of waiting under a load, with their targets in nanoseconds.
    pub fn of(&self, way_of: &Factors, load: &str) -> impl Iterator<Item = (&'a Cell, u64)> {
        let here = self.cells.get(way_of).and_then(|of_way| of_way.get(load));
        let with_target =
            |c: &'a Cell| Some((c, parse_duration_ns(c.factors.level(factor::TARGET)).ok()?));
        here.into_iter()
            .flatten()
            .filter_map(move |c| with_target(c))
    }

    /// One use under one load; `None` where nothing was measured that could tell.
    fn pair(&self, load: &str) -> Option<LoadVerdict> {
        let (quantile, limit_ns) = (self.profile.quantile, self.profile.limit_ns());
        let as_it_is = self.judged_at(self.as_it_is.as_ref(), load);
        let as_it_is = as_it_is.and_then(|c| judge(c, quantile, limit_ns, self.whole(c)));
        let as_it_is = as_it_is.or_else(|| self.too_slow_at_longer(load).map(|found| found.1));
        let remedied = || {
            let judged = |(remedy, cell, part)| {
                let found = judge(cell, quantile, limit_ns, part)?;
                Some((remedy, cell, part, found))
            };
            let all = self.remedies_in_turn(load).into_iter();
            let all: Vec<_> = all.filter_map(judged).collect();
            let passes = all
                .iter()
                .position(|found| found.3.outcome == Outcome::Pass);
            let (remedy, cell, part, found) = all.into_iter().nth(passes.unwrap_or(0))?;
            let cheaper = match passes {
                Some(0) => self.cheaper_that_passes(load, remedy, part),
                _ => None,
            };
            cheaper.or(Some((remedy, cell, found)))
        };
        match as_it_is {
            Some(verdict) if verdict.outcome == Outcome::Pass => Some(verdict),
            Some(verdict) => Some(match remedied() {
                Some((remedy, cell, found)) => verdict.remedied(remedy, way(cell), &found),
                None => verdict,
            }),
            None => {
                let (remedy, cell, found) = remedied()?;
                let not_measured = LoadVerdict {
                    outcome: Outcome::NotMeasured,
                    as_it_is: Outcome::NotMeasured,
                    ..found.clone()
                };
                Some(not_measured.remedied(remedy, way(cell), &found))
            }
        }
    }

    /// The verdict where even at a longer period sleeps come later than may be: at a shorter one they
    /// cannot be in time. With the cell of that period.
    fn too_slow_at_longer(&self, load: &str) -> Option<(&'a Cell, LoadVerdict)> {
        let longer = self.of(self.as_it_is.as_ref()?, load);
        let longer = longer.filter(|(_, ns)| *ns as f64 > self.profile.period_ns);
        let (cell, _) = longer.min_by_key(|(_, ns)| *ns)?;
        let part = self.whole(cell);
        let (quantile, limit_ns) = (self.profile.quantile, self.profile.limit_ns());
        let seen = judge_so_far(cell, quantile, limit_ns, part)?;
        // Nobody knows whether it would be that late without the others, or at another moment.
        let is_late = seen.outcome == Outcome::Fail || seen.fails_beside_others;
        let found = is_late.then(|| by_several_moments(cell, seen, limit_ns, part))?;
        let target = level_in_words(cell.factors.level(factor::TARGET)).to_owned();
        let found = match found.outcome {
            Outcome::Fail => LoadVerdict {
                reason: Some(format!(
                    "that late at {target} already, the shortest period slept"
                )),
                ..found
            },
            _ => found,
        };
        Some((cell, found))
    }

    /// The remedies to judge under a load, with their cells and the blocks to judge them by: first the one that the first
    /// block chooses, judged by the others, then what to turn to where that does not pass. All of them together are wrong
    /// no more often than one answer may be.
    fn remedies_in_turn(&self, load: &str) -> Vec<(&'static Remedy, &'a Cell, Part)> {
        let limit_ns = self.profile.limit_ns();
        let here = self.remedies.iter().filter_map(|(remedy, way)| {
            let cell = self.judged_at(Some(way), load)?;
            Some((*remedy, cell, late_at_first(cell, limit_ns)?))
        });
        let mut here: Vec<_> = here.collect();
        // What was in time comes first, the cheapest before others; then what was late least often.
        let may_be_late = 1.0 - self.profile.quantile;
        let beyond = |late: f64| if late <= may_be_late { 0.0 } else { late };
        here.sort_by(|a, b| beyond(a.2).total_cmp(&beyond(b.2)));
        let n = here.len();
        let in_turn = here.into_iter().enumerate().map(|(i, (remedy, cell, _))| {
            let whole = self.whole(cell);
            let part = match (n, whole.planned, i) {
                (1, ..) => whole,
                // There are no other blocks.
                (n, 0..=1, _) => Part {
                    error: ERROR / n as f64,
                    ..whole
                },
                (_, _, 0) => Part {
                    skipped: 1,
                    error: ERROR * OF_THE_CHOSEN,
                    ..whole
                },
                (n, ..) => Part {
                    skipped: 1,
                    error: ERROR * (1.0 - OF_THE_CHOSEN) / (n - 1) as f64,
                    ..whole
                },
            };
            (remedy, cell, part)
        });
        in_turn.collect()
    }

    /// A remedy that costs less than one that passes and does as well: the first block, by which it was not taken, may
    /// have been no more than bad luck. All that are looked at share the error.
    fn cheaper_that_passes(
        &self,
        load: &str,
        than: &Remedy,
        part: Part,
    ) -> Option<(&'static Remedy, &'a Cell, LoadVerdict)> {
        let cheaper = || {
            let all = self.remedies.iter();
            all.filter(|(remedy, _)| remedy.place() < than.place())
        };
        let part = Part {
            error: part.error / cheaper().count().max(1) as f64,
            ..part
        };
        cheaper().find_map(|(remedy, way)| {
            let cell = self.judged_at(Some(way), load)?;
            let planned = self.whole(cell).planned;
            let part = Part { planned, ..part };
            let (quantile, limit_ns) = (self.profile.quantile, self.profile.limit_ns());
            let found = judge(cell, quantile, limit_ns, part)?;
            (found.outcome == Outcome::Pass).then_some((*remedy, cell, found))
        })
    }

    /// The cells that are judged as they are.
    fn judged_as_it_is(&self) -> impl Iterator<Item = &'a Cell> {
        let judged = |load: &&str| self.judged_at(self.as_it_is.as_ref(), load);
        self.loads.iter().filter_map(judged)
    }

    /// The cells that figures as it is are of: those, and where there is none that of a longer period.
    fn figures_as_it_is(&self) -> impl Iterator<Item = &'a Cell> {
        let of = |load: &&str| {
            let judged = self.judged_at(self.as_it_is.as_ref(), load);
            judged.or_else(|| self.too_slow_at_longer(load).map(|found| found.0))
        };
        self.loads.iter().filter_map(of)
    }

    /// The sleep that is judged as it is, at its target.
    fn method(&self) -> Option<Factors> {
        let method = self.judged_as_it_is().next()?.factors.clone();
        let method = method.without(factor::LOAD).without(factor::COMPANY);
        let at_once = |c: &Cell| c.factors.get(factor::COMPANY)?.parse::<u32>().ok();
        let all = self.judged_as_it_is().map(|c| at_once(c).unwrap_or(1));
        let (least, most) = all.fold((u32::MAX, 0), |(l, m), n| (l.min(n), m.max(n)));
        Some(match (least, most) {
            (1, 1) => method,
            _ if least == most => method.with(factor::COMPANY, most.to_string()),
            // Beside loads fewer than at rest.
            _ => method.with(factor::COMPANY, format!("{least} to {most}")),
        })
    }

    fn requirement(&self) -> String {
        let requirement = self.profile.requirement();
        let relative = |c: &Cell| c.missed_periods.is_none();
        match self.judged_as_it_is().any(relative) {
            true => format!(
                "{requirement} (by relative sleeps, which do not see the periods they miss; no \
                 method with absolute deadlines was measured)"
            ),
            false => requirement,
        }
    }
}

/// How a cell waits, whatever the load and the target.
fn way(cell: &Cell) -> Factors {
    let factors = cell.factors.clone();
    factors
        .without(factor::LOAD)
        .without(factor::TARGET)
        .without(factor::COMPANY)
}

/// The place of a way of waiting among those that programs have: a sleep to absolute deadlines with
/// the slack and the policy that threads start with comes first.
fn how_unusual(way: &Factors) -> (u8, bool, bool, bool, bool, Option<u8>, Factors) {
    let row = basis::method(way);
    let kind = match row.map(|r| r.way) {
        Some(Way::Sleeps) => 0,
        Some(Way::SleepsThenSpins) => 1,
        Some(_) => 2,
        None => 3,
    };
    let is_usual = |level: Option<&str>, usual| level.is_none_or(|level| level == usual);
    (
        kind,
        !row.is_some_and(|r| r.has_grid),
        !is_usual(way.get(factor::SLACK), "default"),
        !is_usual(way.get(factor::POLICY), "other"),
        !row.is_some_and(|r| r.has_slack),
        row.and_then(|r| r.usual),
        way.clone(),
    )
}

impl LoadVerdict {
    /// The same where the remedy has been judged, too.
    fn remedied(self, remedy: &'static Remedy, method: Factors, found: &Self) -> Self {
        let outcome = match found.outcome {
            Outcome::Pass => Outcome::WithRemedy,
            _ => self.outcome,
        };
        Self {
            outcome,
            remedy: Some(Remedied {
                name: remedy.name.to_owned(),
                method,
                outcome: found.outcome,
                estimate_ns: found.estimate_ns,
                samples: found.samples,
                watched_ns: found.watched_ns,
                samples_missing: found.samples_missing,
                reason: found.reason.clone(),
            }),
            ..self
        }
    }
}

#[cfg(test)]
mod tests;
