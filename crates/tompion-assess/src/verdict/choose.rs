//! Which method and which target a profile is judged by.

use std::collections::{BTreeMap, BTreeSet};

use tompion_model::{Cell, Factors, Way, factor, level_in_words, parse_duration_ns};

use crate::verdict::judge::judge;
use crate::verdict::{LoadVerdict, Outcome, Profile, ProfileVerdict, basis};

/// One verdict a profile, in their order, for each platform and placement of several by
/// itself.
pub fn verdicts(cells: &[Cell], profiles: &[Profile]) -> Vec<ProfileVerdict> {
    let scenes = scenes(cells);
    let platforms = scenes.iter().any(|s| s.platform != scenes[0].platform);
    let placements = scenes.iter().any(|s| s.placement != scenes[0].placement);
    let on = |scene: Scene<'_>| {
        let cells: Vec<&Cell> = cells.iter().filter(|c| Scene::of(c) == scene).collect();
        let judged = |profile| {
            let mut verdict = verdict(&cells, profile);
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
    scenes.iter().copied().flat_map(on).collect()
}

/// Where cells were measured: what holds on one says nothing of another.
#[derive(Clone, Copy, PartialEq, Eq)]
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

/// Those of a run, in the order of its cells.
fn scenes(cells: &[Cell]) -> Vec<Scene<'_>> {
    let mut found = Vec::new();
    for scene in cells.iter().map(Scene::of) {
        if !found.contains(&scene) {
            found.push(scene);
        }
    }
    if found.is_empty() {
        // A run without cells is judged, too: nothing was measured.
        found.push(Scene {
            platform: None,
            placement: None,
            guest: None,
        });
    }
    found
}

fn verdict(cells: &[&Cell], profile: &Profile) -> ProfileVerdict {
    let field = Field::new(cells, profile);
    let (best, note) = field.best(profile);
    let mut requirement = profile.requirement();
    if let Some(note) = note {
        requirement = format!("{requirement} ({note})");
    }
    ProfileVerdict {
        name: profile.name.clone(),
        title: profile.title.clone(),
        platform: None,
        placement: None,
        requirement,
        source: profile.source.clone(),
        outcome: best.as_ref().map_or(Outcome::Inconclusive, |c| c.outcome),
        method: best.as_ref().map(|c| c.method.clone()),
        chosen: best.as_ref().and_then(|c| c.chosen.clone()),
        missed_filled: best.as_ref().is_some_and(|c| c.missed_filled),
        by_load: best.map(|c| c.by_load).unwrap_or_default(),
    }
}

/// The cells that could serve a profile.
struct Field<'a> {
    cells: &'a [&'a Cell],
    loads: BTreeSet<&'a str>,
    /// Cell numbers by method (factors without the load).
    methods: BTreeMap<Factors, Vec<usize>>,
    /// Whether these are methods on a periodic grid.
    on_grid: bool,
}

impl<'a> Field<'a> {
    fn new(cells: &'a [&'a Cell], profile: &Profile) -> Self {
        let mut field = Self {
            cells,
            loads: BTreeSet::new(),
            methods: BTreeMap::new(),
            on_grid: false,
        };
        for (i, cell) in cells.iter().enumerate() {
            if cell.factors.level(factor::PROBE) == profile.probe && basis::samples(cell) > 0 {
                field.loads.insert(cell.factors.level(factor::LOAD));
                let method = cell.factors.clone().without(factor::LOAD);
                field.methods.entry(method).or_default().push(i);
            }
        }
        // Only methods measured under every load can be compared; when there is
        // none, the others stay, and their loads that are missing tell.
        let all = field.loads.len();
        if field.methods.values().any(|m| m.len() == all) {
            field.methods.retain(|_, m| m.len() == all);
        }
        // Profiles pace periodically. A relative sleep counts each wait from a
        // new beginning, so the periods that it misses never show: beside a
        // method that counts them it would win by what it does not see.
        let on_grid = |m: &Vec<usize>| m.iter().all(|&i| cells[i].missed_periods.is_some());
        field.on_grid = field.methods.values().any(on_grid);
        if field.on_grid {
            field.methods.retain(|_, m| on_grid(m));
        }
        field
    }

    /// The best candidate at the target nearest to the profile's period. If that
    /// target was sampled too little, one further away may pass in its stead,
    /// and the note says so.
    fn best(&self, profile: &Profile) -> (Option<Candidate>, Option<String>) {
        let by_target = self.by_target();
        // Each further target that is looked at is a further choice.
        let nearest_first = targets(&by_target, profile).into_iter().enumerate();
        let mut at_targets = nearest_first.filter_map(|(before, target)| {
            let best = self.best_at(&by_target[target], profile, before + 1)?;
            Some((target, best))
        });
        let Some((target, nearest)) = at_targets.next() else {
            return (None, None);
        };
        let relative = (!self.on_grid).then(|| {
            "by relative sleeps, which do not see the periods they miss; no method with absolute deadlines was measured"
                .to_owned()
        });
        let noted = |note: Option<String>| match (note, relative) {
            (Some(a), Some(b)) => Some(format!("{a}; {b}")),
            (a, b) => a.or(b),
        };
        let starved = nearest.outcome == Outcome::Inconclusive
            && nearest.by_load.iter().any(|l| l.samples_missing > 0);
        if starved
            && let Some((other, passing)) = at_targets.find(|(_, c)| c.outcome == Outcome::Pass)
        {
            let note = format!(
                "judged at {}; too few samples at {}",
                level_in_words(other),
                level_in_words(target)
            );
            return (Some(passing), noted(Some(note)));
        }
        let unseen = self.loads.len() - nearest.by_load.len();
        let note = (unseen > 0).then(|| format!("not measured under {unseen} of the loads"));
        (Some(nearest), noted(note))
    }

    /// Methods with their cells, by target.
    fn by_target(&self) -> ByTarget<'_> {
        let mut all = ByTarget::new();
        for (method, cells) in &self.methods {
            let here = all.entry(method.level(factor::TARGET)).or_default();
            here.push((method, cells));
        }
        all
    }

    /// Of these, which have one target; `targets` is how many have been looked at with this one.
    fn best_at(
        &self,
        methods: &[(&Factors, &Vec<usize>)],
        profile: &Profile,
        targets: usize,
    ) -> Option<Candidate> {
        let tried = methods.len() * targets;
        let all: Vec<Candidate> = methods
            .iter()
            .filter_map(|(method, cells)| self.candidate(method, cells, profile, tried))
            .collect();
        let (tried, passing) = (
            all.len(),
            all.iter().filter(|c| c.outcome == Outcome::Pass).count(),
        );
        let mut best = all.into_iter().min_by(Candidate::compare)?;
        best.chosen = match (tried, passing) {
            (1, _) => None,
            (_, 0) => Some(format!("the best of {tried}")),
            (_, 1) => Some(format!("the only one of {tried} that passes")),
            (_, n) => Some(format!(
                "of {n} that pass, the one that burns least CPU time"
            )),
        };
        Some(best)
    }

    fn candidate(
        &self,
        method: &Factors,
        cells: &[usize],
        profile: &Profile,
        tried: usize,
    ) -> Option<Candidate> {
        let limit = profile.limit_ns();
        let mut by_load: Vec<LoadVerdict> = cells
            .iter()
            .filter_map(|&i| judge(self.cells[i], profile.quantile, limit, tried))
            .collect();
        by_load.sort_by_key(|l| (l.load != "idle", l.load.clone()));
        let mut outcome = by_load.iter().map(|l| l.outcome).max()?;
        if by_load.len() < self.loads.len() {
            outcome = outcome.max(Outcome::Inconclusive);
        }
        let worst = by_load
            .iter()
            .map(|l| l.high_ns.unwrap_or(l.estimate_ns) / limit)
            .fold(f64::NEG_INFINITY, f64::max);
        let cpu_ns = cells
            .iter()
            .filter_map(|&i| self.cells[i].cpu_per_operation_ns())
            .reduce(f64::max);
        let missed_filled = |&i: &usize| !self.cells[i].filled_blocks.have_no_values();
        Some(Candidate {
            method: method.clone(),
            chosen: None,
            missed_filled: cells.iter().any(missed_filled),
            outcome,
            by_load,
            worst,
            cpu_ns,
        })
    }
}

/// Methods with the numbers of their cells, by target.
type ByTarget<'a> = BTreeMap<&'a str, Vec<(&'a Factors, &'a Vec<usize>)>>;

/// Targets from the nearest to the period to the farthest, on a logarithmic
/// scale; of two equally far the shorter first, those without a length last.
fn targets<'a>(all: &ByTarget<'a>, profile: &Profile) -> Vec<&'a str> {
    let names = all.keys().copied();
    let mut targets: Vec<(f64, u64, &str)> = names
        .map(|name| match parse_duration_ns(name) {
            Ok(ns) => ((ns as f64 / profile.period_ns).ln().abs(), ns, name),
            Err(_) => (f64::INFINITY, u64::MAX, name),
        })
        .collect();
    targets.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(b.2)));
    targets.into_iter().map(|t| t.2).collect()
}

/// A method with its judgement under each load.
struct Candidate {
    method: Factors,
    /// Why it is the one to judge; `None` where there is no other.
    chosen: Option<String>,
    missed_filled: bool,
    outcome: Outcome,
    by_load: Vec<LoadVerdict>,
    /// Largest upper end over the loads, relative to the limit.
    worst: f64,
    /// Largest CPU time per operation over the loads.
    cpu_ns: Option<f64>,
}

impl Candidate {
    /// The better of two first. Among methods that pass, being better than the
    /// limit is worth less than leaving the CPU to others.
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        let price = |c: &Self| match c.outcome {
            Outcome::Pass => (c.keeps_a_cpu(), c.cpu_class()),
            Outcome::Inconclusive | Outcome::Fail => (false, 0),
        };
        self.outcome
            .cmp(&other.outcome)
            .then_with(|| price(self).cmp(&price(other)))
            .then_with(|| self.worst.total_cmp(&other.worst))
            .then_with(|| self.method.cmp(&other.method))
    }

    /// Whether it keeps a CPU to itself while it waits.
    fn keeps_a_cpu(&self) -> bool {
        basis::way(&self.method) == Some(Way::Spins)
    }

    /// CPU time to the nearest power of two: smaller differences decide nothing.
    fn cpu_class(&self) -> i64 {
        match self.cpu_ns {
            Some(ns) if ns > 0.0 => ns.log2().round() as i64,
            Some(_) => i64::MIN,
            None => i64::MAX,
        }
    }
}

#[cfg(test)]
mod tests;
