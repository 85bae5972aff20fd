//! Which method and which target a profile is judged by.

use std::collections::{BTreeMap, BTreeSet};

use tompion_record::{Cell, Factors, factor, parse_duration_ns};

use crate::judge::Judge;
use crate::{LoadVerdict, Outcome, Profile, ProfileVerdict, basis};

/// A method that keeps a CPU to itself while it waits.
const SPINNING: &str = "busy-wait";

/// One verdict a profile, in their order.
pub fn verdicts(cells: &[Cell], profiles: &[Profile], seed: u64) -> Vec<ProfileVerdict> {
    let judge = Judge::new(cells, seed);
    profiles.iter().map(|p| verdict(cells, p, &judge)).collect()
}

fn verdict(cells: &[Cell], profile: &Profile, judge: &Judge<'_>) -> ProfileVerdict {
    let (best, note) = Field::new(cells, profile).best(profile, judge);
    let mut requirement = profile.requirement();
    if let Some(note) = note {
        requirement = format!("{requirement} ({note})");
    }
    ProfileVerdict {
        name: profile.name.clone(),
        title: profile.title.clone(),
        requirement,
        source: profile.source.clone(),
        outcome: best.as_ref().map_or(Outcome::Inconclusive, |c| c.outcome),
        method: best.as_ref().map(|c| c.method.clone()),
        by_load: best.map(|c| c.by_load).unwrap_or_default(),
    }
}

/// The cells that could serve a profile.
struct Field<'a> {
    cells: &'a [Cell],
    loads: BTreeSet<&'a str>,
    /// Cell numbers by method (factors without the load).
    methods: BTreeMap<Factors, Vec<usize>>,
}

impl<'a> Field<'a> {
    fn new(cells: &'a [Cell], profile: &Profile) -> Self {
        let mut field = Self {
            cells,
            loads: BTreeSet::new(),
            methods: BTreeMap::new(),
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
        field
    }

    /// The best candidate at the target nearest to the profile's period. If that
    /// target was sampled too little, one further away may pass in its stead,
    /// and the note says so.
    fn best(&self, profile: &Profile, judge: &Judge<'_>) -> (Option<Candidate>, Option<String>) {
        let mut at_targets = self
            .targets(profile)
            .into_iter()
            .filter_map(|t| Some((t, self.best_at(t, profile, judge)?)));
        let Some((target, nearest)) = at_targets.next() else {
            return (None, None);
        };
        let starved = nearest.outcome == Outcome::Inconclusive
            && nearest.by_load.iter().any(|l| l.samples_missing > 0);
        if starved
            && let Some((other, passing)) = at_targets.find(|(_, c)| c.outcome == Outcome::Pass)
        {
            let note = format!("judged at {other}; too few samples at {target}");
            return (Some(passing), Some(note));
        }
        let unseen = self.loads.len() - nearest.by_load.len();
        let note = (unseen > 0).then(|| format!("not measured under {unseen} of the loads"));
        (Some(nearest), note)
    }

    /// Targets from the nearest to the period to the farthest, on a logarithmic
    /// scale; of two equally far the shorter first, those without a length last.
    fn targets(&self, profile: &Profile) -> Vec<&str> {
        let names: BTreeSet<&str> = self
            .methods
            .keys()
            .map(|m| m.level(factor::TARGET))
            .collect();
        let mut targets: Vec<(f64, u64, &str)> = names
            .into_iter()
            .map(|name| match parse_duration_ns(name) {
                Ok(ns) => ((ns as f64 / profile.period_ns).ln().abs(), ns, name),
                Err(_) => (f64::INFINITY, u64::MAX, name),
            })
            .collect();
        targets.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(b.2)));
        targets.into_iter().map(|t| t.2).collect()
    }

    fn best_at(&self, target: &str, profile: &Profile, judge: &Judge<'_>) -> Option<Candidate> {
        self.methods
            .iter()
            .filter(|(method, _)| method.level(factor::TARGET) == target)
            .filter_map(|(method, cells)| self.candidate(method, cells, profile, judge))
            .min_by(Candidate::compare)
    }

    fn candidate(
        &self,
        method: &Factors,
        cells: &[usize],
        profile: &Profile,
        judge: &Judge<'_>,
    ) -> Option<Candidate> {
        let limit = profile.limit_ns();
        let mut by_load: Vec<LoadVerdict> = cells
            .iter()
            .filter_map(|&i| judge.judge(i, profile.quantile, limit))
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
        Some(Candidate {
            method: method.clone(),
            outcome,
            by_load,
            worst,
            cpu_ns,
        })
    }
}

/// A method with its judgement under each load.
struct Candidate {
    method: Factors,
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
            Outcome::Pass => (c.method.level(factor::METHOD) == SPINNING, c.cpu_class()),
            Outcome::Inconclusive | Outcome::Fail => (false, 0),
        };
        self.outcome
            .cmp(&other.outcome)
            .then_with(|| price(self).cmp(&price(other)))
            .then_with(|| self.worst.total_cmp(&other.worst))
            .then_with(|| self.method.cmp(&other.method))
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
mod tests {
    use super::*;
    use crate::planted::Planted;
    use crate::profiles;

    fn verdict_of(name: &str, cells: &[Cell]) -> ProfileVerdict {
        let all = verdicts(cells, profiles(), 3);
        all.into_iter().find(|v| v.name == name).expect("a verdict")
    }

    fn steady(method: &str, target: &str, load: &str, ns: i64) -> Cell {
        Planted::wake_up(method, target, load).blocks(8, &[ns; 500])
    }

    fn method_of(v: &ProfileVerdict) -> &str {
        v.method.as_ref().expect("a method").level(factor::METHOD)
    }

    #[test]
    fn the_worst_load_decides() {
        let v = verdict_of(
            "pacing-300m",
            &[
                steady("usleep", "100us", "idle", 5_000),
                steady("usleep", "100us", "cpu", 60_000),
            ],
        );
        assert_eq!(v.outcome, Outcome::Fail);
        let outcomes: Vec<_> = v
            .by_load
            .iter()
            .map(|l| (l.load.as_str(), l.outcome))
            .collect();
        assert_eq!(outcomes, [("idle", Outcome::Pass), ("cpu", Outcome::Fail)]);
    }

    #[test]
    fn the_best_method_is_judged() {
        let v = verdict_of(
            "pacing-1g",
            &[
                steady("usleep", "100us", "idle", 55_000),
                steady("tompion-hybrid", "100us", "idle", 300),
            ],
        );
        assert_eq!(
            (v.outcome, method_of(&v)),
            (Outcome::Pass, "tompion-hybrid")
        );
    }

    #[test]
    fn spinning_is_not_recommended_where_less_would_do() {
        let spin = Planted::wake_up("busy-wait", "100us", "idle")
            .cpu(100.0)
            .blocks(8, &[50; 500]);
        let hybrid = Planted::wake_up("tompion-hybrid", "100us", "idle")
            .cpu(9_000.0)
            .blocks(8, &[300; 500]);
        let sleep = Planted::wake_up("nanosleep", "100us", "idle")
            .cpu(2_000.0)
            .blocks(8, &[7_000; 500]);
        let all = [spin.clone(), hybrid.clone(), sleep];
        assert_eq!(method_of(&verdict_of("pacing-1g", &all)), "nanosleep");
        assert_eq!(method_of(&verdict_of("pacing-10g", &all)), "tompion-hybrid");
        assert_eq!(method_of(&verdict_of("pacing-100g", &all)), "busy-wait");
    }

    #[test]
    fn small_differences_of_cpu_time_do_not_outweigh_latency() {
        let a = Planted::wake_up("nanosleep", "100us", "idle")
            .cpu(2_050.0)
            .blocks(8, &[4_000; 500]);
        let b = Planted::wake_up("usleep", "100us", "idle")
            .cpu(2_000.0)
            .blocks(8, &[11_000; 500]);
        assert_eq!(method_of(&verdict_of("pacing-1g", &[a, b])), "nanosleep");
    }

    #[test]
    fn a_method_missing_under_a_load_does_not_compete() {
        let cells = [
            steady("usleep", "100us", "idle", 60_000),
            steady("usleep", "100us", "cpu", 60_000),
            steady("tompion-hybrid", "100us", "idle", 300),
        ];
        let v = verdict_of("pacing-1g", &cells);
        assert_eq!((v.outcome, method_of(&v)), (Outcome::Fail, "usleep"));
    }

    #[test]
    fn without_a_method_under_every_load_nothing_passes() {
        let v = verdict_of(
            "pacing-1g",
            &[
                steady("usleep", "100us", "idle", 300),
                steady("timerfd", "100us", "cpu", 300),
            ],
        );
        assert_eq!(v.outcome, Outcome::Inconclusive);
        assert!(
            v.requirement
                .ends_with("(not measured under 1 of the loads)")
        );
    }

    #[test]
    fn the_nearest_target_is_judged() {
        let cells = [
            Planted::wake_up("usleep", "100us", "idle").blocks(8, &[5_000; 500]),
            Planted::wake_up("usleep", "1ms", "idle").blocks(8, &[900_000; 500]),
        ];
        let audio = verdict_of("audio-48k-64", &cells);
        assert_eq!(audio.outcome, Outcome::Fail);
        assert_eq!(audio.method.unwrap().level(factor::TARGET), "1ms");
        let pacing = verdict_of("pacing-300m", &cells);
        assert_eq!(pacing.method.unwrap().level(factor::TARGET), "100us");
    }

    #[test]
    fn a_well_sampled_target_may_pass_for_a_starved_one_but_not_fail() {
        let at = |target, n, ns| Planted::wake_up("usleep", target, "idle").blocks(8, &vec![ns; n]);
        let v = verdict_of("voip", &[at("1ms", 50, 60_000), at("100us", 500, 60_000)]);
        assert_eq!(v.outcome, Outcome::Pass);
        assert_eq!(
            v.requirement,
            "p99.9 of wake-up latency at most 5.00 ms (judged at 100us; too few samples at 1ms)"
        );
        let v = verdict_of(
            "voip",
            &[at("1ms", 50, 60_000), at("100us", 500, 9_000_000)],
        );
        assert_eq!(v.outcome, Outcome::Inconclusive);
        assert_eq!(v.by_load[0].samples_missing, 3688 - 400);
        assert_eq!(v.method.unwrap().level(factor::TARGET), "1ms");
    }

    #[test]
    fn nothing_measured_is_inconclusive() {
        let empty = Planted::wake_up("usleep", "100us", "idle").blocks(8, &[]);
        for cells in [
            vec![],
            vec![empty],
            vec![Planted::read_cost("rdtsc", "idle").blocks(8, &[14; 500])],
        ] {
            let v = verdict_of("voip", &cells);
            assert_eq!((v.outcome, v.by_load.len()), (Outcome::Inconclusive, 0));
            assert!(v.method.is_none());
        }
    }
}
