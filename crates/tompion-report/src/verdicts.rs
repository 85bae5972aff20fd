//! The verdicts as both the terminal and the page tell them.

use std::collections::{BTreeSet, HashMap};

use tompion_assess::verdict::{CHECK_S, LoadVerdict, Outcome, ProfileVerdict, company};
use tompion_model::{Cell, Factors, Status, factor, format_ns, range_in_words};
use tompion_stats::{BlockRange, Interval};

use crate::data::ReportData;
use crate::figures::{count, plural, quantile_name};
use crate::grid::{factors_in_words, sort_loads, under};
use crate::precision::{LEVEL, ns_within};

/// The loads under which anything was judged, in reading order.
pub(crate) fn loads<'a>(profiles: impl IntoIterator<Item = &'a ProfileVerdict>) -> Vec<&'a str> {
    let mut loads: Vec<&str> = profiles
        .into_iter()
        .flat_map(|p| p.by_load.iter().map(|l| l.load.as_str()))
        .collect();
    sort_loads(&mut loads);
    loads.dedup();
    loads
}

/// A profile's verdict under each of `loads`.
pub(crate) fn by_load<'a>(
    profile: &'a ProfileVerdict,
    loads: &'a [&str],
) -> impl Iterator<Item = Option<&'a LoadVerdict>> {
    loads.iter().map(|load| profile.under(load))
}

/// The method a profile was judged with, without the platform and placement, and whether alone or in company.
pub(crate) fn judged_with(p: &ProfileVerdict) -> Option<String> {
    method(p, true)
}

fn method(p: &ProfileVerdict, says_alone: bool) -> Option<String> {
    let method = p.method.as_ref()?;
    let is_said = says_alone || method.get(factor::COMPANY).is_some();
    let places = [factor::PLATFORM, factor::PLACEMENT, factor::COMPANY];
    let here = places
        .iter()
        .fold(method.clone(), |method, place| method.without(place));
    let limit_ns = p.by_load.first().map(|l| l.limit_ns).filter(|_| is_said);
    let how = limit_ns.map(|limit_ns| company::in_words(method, limit_ns));
    let words = [Some(factors_in_words(&here)), how];
    Some(words.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// Over how long a use that passes was watched; nothing for other outcomes.
pub(crate) fn watched(v: &LoadVerdict) -> Option<String> {
    let (ns, samples) = v.passed_over()?;
    let with = v
        .remedy
        .as_ref()
        .filter(|_| v.outcome == Outcome::WithRemedy);
    let with = with.map_or_else(String::new, |remedy| format!("with {}, ", remedy.name));
    let noun = plural(samples, "sample", "samples");
    Some(format!(
        "{with}watched for {}, {} {noun}",
        format_ns(ns as f64),
        count(samples)
    ))
}

/// What passes rest on: the fewest and the most samples, and the shortest and the longest time that these took, for
/// example `400 to 16 000 samples over 0.1 to 4.4 s`; nothing where none passes.
pub(crate) fn all_watched(profiles: &[ProfileVerdict]) -> Option<String> {
    let of_all = profiles.iter().flat_map(|p| &p.by_load);
    let passed: Vec<(u64, u64)> = of_all.filter_map(LoadVerdict::passed_over).collect();
    let range = |of: fn(&(u64, u64)) -> u64, words: fn(u64) -> String| {
        let (least, most) = (passed.iter().map(of).min()?, passed.iter().map(of).max()?);
        let (least, most) = (words(least), words(most));
        Some(match least == most {
            true => least,
            false => format!("{least} to {most}"),
        })
    };
    let samples = range(|p| p.1, count)?;
    let seconds = range(|p| p.0, seconds)?;
    Some(format!("{samples} samples over {seconds}\u{a0}s"))
}

/// With a tenth, which is all that is worth saying of so many samples.
fn seconds(ns: u64) -> String {
    match ns as f64 / 1e9 {
        s if s < 0.05 => "less than 0.1".to_owned(),
        s => format!("{s:.1}"),
    }
}

/// The verdicts of a run that holds several platforms or placements.
#[derive(Debug)]
pub(crate) struct ByPlace<'a> {
    /// Platforms, placements, or both, in the order of the run.
    pub places: Vec<String>,
    /// The loads that anything was judged under, in reading order.
    pub loads: Vec<&'a str>,
    /// One a profile.
    pub uses: Vec<OfUse<'a>>,
}

/// One profile wherever it was judged.
#[derive(Debug)]
pub(crate) struct OfUse<'a> {
    first: &'a ProfileVerdict,
    /// One a place; `None` where it was not judged.
    pub at: Vec<Option<&'a ProfileVerdict>>,
}

impl<'a> OfUse<'a> {
    /// The verdict of the first place, for what all have in common.
    pub(crate) fn first(&self) -> &'a ProfileVerdict {
        self.first
    }

    /// What the profile was judged with: once, or in each of `places` where that differs.
    pub(crate) fn judged_with(&self, places: &[String]) -> Option<String> {
        let mut methods: Vec<(String, Vec<&str>)> = Vec::new();
        let mut known = HashMap::new();
        for (place, p) in places.iter().zip(&self.at) {
            let Some(method) = p.and_then(|p| method(p, false)) else {
                continue;
            };
            let at = *known.entry(method).or_insert_with_key(|method| {
                methods.push((method.clone(), Vec::new()));
                methods.len() - 1
            });
            methods[at].1.push(place);
        }
        if let [(method, _)] = &methods[..] {
            return Some(method.clone());
        }
        let each = methods
            .iter()
            .map(|(method, places)| format!("{method} on {}", places.join(", ")));
        (!methods.is_empty()).then(|| each.collect::<Vec<_>>().join("; "))
    }
}

/// A profile by its places; `None` where there are less than two of them, or nothing was judged.
pub(crate) fn by_place(profiles: &[ProfileVerdict]) -> Option<ByPlace<'_>> {
    let loads = loads(profiles);
    let mut places: Vec<String> = Vec::new();
    let mut uses: Vec<OfUse<'_>> = Vec::new();
    let (mut columns, mut rows) = (HashMap::new(), HashMap::new());
    for p in profiles {
        let place = place(p);
        let column = *columns.entry(place).or_insert_with_key(|place| {
            places.push(place.clone());
            places.len() - 1
        });
        let row = *rows.entry(p.name.as_str()).or_insert_with(|| {
            let (first, at) = (p, Vec::new());
            uses.push(OfUse { first, at });
            uses.len() - 1
        });
        let at = &mut uses[row].at;
        at.resize(at.len().max(column + 1), None);
        at[column] = Some(p);
    }
    let several = places.len() > 1 && !loads.is_empty();
    uses.iter_mut()
        .for_each(|of_use| of_use.at.resize(places.len(), None));
    several.then_some(ByPlace {
        places,
        loads,
        uses,
    })
}

/// `runc`, or `runc, contention-cpu`.
fn place(p: &ProfileVerdict) -> String {
    let both = [&p.platform, &p.placement].into_iter().flatten();
    both.map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// What was measured, or how much is missing for saying so. No number stands
/// for a quantile that the samples do not support.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Judged {
    /// The quantile's name and value, for example `p99` and `4.10 µs`.
    Value(String, String),
    /// The quantile is not known, but lies beyond the limit.
    Beyond(String, String),
    /// So many samples are missing.
    TooFew(u64),
}

impl Judged {
    pub(crate) fn of(v: &LoadVerdict) -> Self {
        let name = quantile_name(v.quantile);
        match v.supported_estimate_ns() {
            Some(ns) => {
                let ends = v.low_ns.zip(v.high_ns);
                let interval = ends.map(|(low, high)| Interval {
                    low,
                    high,
                    level: LEVEL,
                });
                let range = v.blocks_low_ns.zip(v.blocks_high_ns);
                let range = range.map(|(low, high)| BlockRange { low, high });
                let number = || ns_within(ns, interval);
                Self::Value(name, range.map_or_else(number, range_in_words))
            }
            None if v.samples_missing > 0 => Self::TooFew(v.samples_missing),
            None => Self::Beyond(name, format_ns(v.limit_ns)),
        }
    }
}

/// Why a use is open where that is not for want of samples, of which a table tells: each reason with its loads, for example
/// `under busy load these samples do not decide ...`.
pub(crate) fn why_open(p: &ProfileVerdict) -> Option<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    let open = p.by_load.iter().filter(|v| !v.outcome.is_decided());
    for v in open.filter(|v| !matches!(Judged::of(v), Judged::TooFew(_))) {
        let Some(reason) = v.reason.as_deref() else {
            continue;
        };
        let load = under(&v.load);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, loads)) => loads.push(load),
            None => reasons.push((reason, vec![load])),
        }
    }
    let told = reasons
        .iter()
        .map(|(reason, loads)| format!("{}: {reason}", loads.join(", ")));
    (!reasons.is_empty()).then(|| told.collect::<Vec<_>>().join("; "))
}

/// Samples that do not suffice.
#[derive(Clone, Copy)]
struct Samples {
    there: u64,
    missing: u64,
}

impl Samples {
    /// How many times as many it takes.
    fn times(self) -> f64 {
        (self.there + self.missing) as f64 / self.there as f64
    }
}

/// Those of an open verdict, as it is and with its remedy, with what took them: `as_it_is` or the method of the remedy.
fn too_few<'a>(
    v: &'a LoadVerdict,
    as_it_is: Option<&'a Factors>,
) -> impl Iterator<Item = (Samples, Option<&'a Factors>)> {
    let (there, missing) = (v.samples, v.samples_missing);
    let first = Some((v.as_it_is, Samples { there, missing }, as_it_is));
    let remedy = v.remedy.as_ref().map(|r| {
        let (there, missing) = (r.samples, r.samples_missing);
        (r.outcome, Samples { there, missing }, Some(&r.method))
    });
    let is_open = !v.outcome.is_decided();
    [first, remedy]
        .into_iter()
        .flatten()
        .filter(move |(outcome, samples, _)| {
            let is_short = samples.there > 0 && samples.missing > 0;
            is_open && *outcome == Outcome::Inconclusive && is_short
        })
        .map(|(_, samples, method)| (samples, method))
}

/// What to ask for so that every verdict gets the samples it needs, or nothing
/// when samples are not what is missing.
pub(crate) fn how_to_get_more(data: &ReportData) -> Option<String> {
    let starved = || {
        let judged = data.assessment().profiles.iter();
        let judged = judged.flat_map(|p| p.by_load.iter().map(move |v| (p, v)));
        judged.flat_map(|(p, v)| {
            let short = too_few(v, p.method.as_ref());
            short.map(move |(s, method)| (s, cell_of(data, method, v)))
        })
    };
    let most = starved().map(|(s, _)| s.missing).max()?;
    // Samples of a trial that ended by its time grow with the time of the run.
    let by_time =
        |c: &Option<&Cell>| c.is_none_or(|c| c.measurements.iter().any(|m| m.ended_by_time));
    let times = starved()
        .filter(|(_, c)| by_time(c))
        .map(|(s, _)| s.times())
        .reduce(f64::max);
    let wake_samples = starved()
        .filter(|(_, c)| !by_time(c))
        .map(|(s, _)| s.there + s.missing)
        .max();
    let more = plural(most, "sample", "samples");
    if !data.record().platforms.is_empty() {
        // Neither option is one of the lab's.
        return Some(format!(
            "Some verdicts need up to {} more {more}: give their probe a longer time in the \
             plan, or more replicates.",
            count(most)
        ));
    }
    let mut remedies = Vec::new();
    if let (Some(times), Some(ns)) = (times, run_length_ns(data)) {
        let mut share = 1.0;
        let cells: Option<Vec<&Cell>> = starved().map(|(_, cell)| cell).collect();
        if let Some(few) = cells.and_then(|cells| FewCells::of(data, &cells)) {
            remedies.push(few.options);
            share = few.share;
        } else if let Some(other) = other_run(data.record().status, ns, times) {
            return Some(format!(
                "Some verdicts need up to {} more {more}: {other}, may bring them.",
                count(most)
            ));
        }
        let length = round_duration(ns * share * times);
        remedies.push(format!("--duration {length}"));
    }
    if let Some(n) = wake_samples {
        remedies.push(format!("--wake-samples {n}"));
    }
    (!remedies.is_empty()).then(|| {
        format!(
            "Some verdicts need up to {} more {more}: run again with {}.",
            count(most),
            remedies.join(" ")
        )
    })
}

/// What would bring the samples that open verdicts need: the rest of a run that ended early; of one shorter than a
/// default check, whose time went elsewhere, such a check; and how long a run of the same would take. Nothing where
/// samples are not what is missing.
pub(crate) fn longer(data: &ReportData) -> Option<String> {
    let all = data.assessment().profiles.iter().flat_map(|p| &p.by_load);
    let times = all.flat_map(|v| too_few(v, None)).map(|(s, _)| s.times());
    let times = times.reduce(f64::max)?;
    let ns = run_length_ns(data)?;
    let status = data.record().status;
    // A default check has no answer for more loads than its own.
    let is_usual = loads(&data.assessment().profiles).len() <= LOADS_OF_CHECK;
    match is_usual || status != Status::Complete {
        true => Some(how_to_get_there(status, ns, times)),
        false => Some(format!("--duration {}", round_duration(ns * times))),
    }
}

/// Loads of a default check.
const LOADS_OF_CHECK: usize = 3;

/// The same by how a run of so many nanoseconds ended, where so many times its samples are needed.
fn how_to_get_there(status: Status, ns: f64, times: f64) -> String {
    other_run(status, ns, times)
        .unwrap_or_else(|| format!("--duration {}", round_duration(ns * times)))
}

/// The run that it takes, where that is not one of the same for longer.
fn other_run(status: Status, ns: f64, times: f64) -> Option<String> {
    let check_ns = CHECK_S as f64 * 1e9;
    match status {
        Status::Interrupted | Status::Running => Some("a run that ends in order".to_owned()),
        _ if ns * times > check_ns && ns < NEARLY * check_ns => {
            Some(format!("a default check, {CHECK_S} s"))
        }
        _ => None,
    }
}

/// A run that takes so much of the time of a default check is no shorter.
const NEARLY: f64 = 0.8;

/// The part of a run that would do.
struct FewCells {
    /// What asks for it alone.
    options: String,
    /// Of the time that the run's trials took.
    share: f64,
}

impl FewCells {
    /// The methods and targets of `cells`, if these are few and most of the run is others. Sleepers in company have no
    /// options that a check takes, nor has what it measured beside them.
    fn of(data: &ReportData, cells: &[&Cell]) -> Option<Self> {
        const FEW: usize = 3;
        /// Naming them would hardly save any time.
        const MOST: f64 = 0.8;
        let levels = |name: &str| -> Option<BTreeSet<&str>> {
            cells.iter().map(|cell| cell.factors.get(name)).collect()
        };
        let (methods, targets) = (levels(factor::METHOD)?, levels(factor::TARGET)?);
        let trials = &data.record().trials;
        if trials
            .iter()
            .any(|t| t.factors.get(factor::COMPANY).is_some())
        {
            return None;
        }
        let took = |among: bool| -> f64 {
            let wanted = trials.iter().filter(|t| {
                let is_of = |name, all: &BTreeSet<&str>| all.contains(t.factors.level(name));
                let is_among = is_of(factor::METHOD, &methods) && is_of(factor::TARGET, &targets);
                is_among || !among
            });
            wanted.map(|t| t.duration_ns as f64).sum()
        };
        let share = took(true) / took(false).max(1.0);
        let list = |all: BTreeSet<&str>| all.into_iter().collect::<Vec<_>>().join(",");
        (methods.len() <= FEW && share < MOST).then(|| Self {
            options: format!("--methods {} --targets {}", list(methods), list(targets)),
            share,
        })
    }
}

/// What this method measured under the load of a verdict.
fn cell_of<'a>(
    data: &'a ReportData,
    method: Option<&Factors>,
    v: &LoadVerdict,
) -> Option<&'a Cell> {
    // In how much company differs from load to load.
    let method = method?.clone().without(factor::COMPANY);
    let key = method.with(factor::LOAD, v.load.as_str());
    data.cell(&key).or_else(|| data.cell_in_company(&key))
}

/// From the start of the run to the end of its last trial.
fn run_length_ns(data: &ReportData) -> Option<f64> {
    let ends = data
        .record()
        .trials
        .iter()
        .map(|t| t.started_ns + t.duration_ns);
    ends.max().map(|ns| ns as f64)
}

/// A duration for the command line with a tenth to spare, rounded up to what
/// people would type.
fn round_duration(ns: f64) -> String {
    let s = ns * 1.1e-9;
    match s {
        s if s <= 60.0 => format!("{}s", (s / 5.0).ceil() * 5.0),
        s if s <= 3600.0 => format!("{}m", (s / 60.0).ceil()),
        s => format!("{}h", (s / 3600.0).ceil()),
    }
}

#[cfg(test)]
mod tests {
    use tompion_assess::verdict::Remedied;

    use super::*;

    #[test]
    fn what_brings_the_samples_is_no_multiple_of_a_run_that_had_no_time_for_them() {
        let of = |status, s: f64, times| how_to_get_there(status, s * 1e9, times);
        let quick = of(Status::Complete, 18.0, 30.0);
        assert_eq!(quick, "a default check, 70 s");
        assert_eq!(of(Status::Complete, 18.0, 2.0), "--duration 40s");
        assert_eq!(of(Status::Complete, 71.0, 2.0), "--duration 3m");
        let broken_off = of(Status::Interrupted, 8.0, 15.0);
        assert_eq!(broken_off, "a run that ends in order");
    }

    fn verdict(quantile: f64, samples: u64, samples_missing: u64) -> LoadVerdict {
        LoadVerdict {
            load: "idle".into(),
            outcome: Outcome::Inconclusive,
            as_it_is: Outcome::Inconclusive,
            remedy: None,
            limit_ns: 12_000.0,
            quantile,
            estimate_ns: 503.0,
            low_ns: Some(500.0),
            high_ns: Some(510.0),
            blocks_low_ns: None,
            blocks_high_ns: None,
            late_share: 0.0,
            samples,
            watched_ns: 1_000_000,
            samples_missing,
            reason: None,
            fails_beside_others: false,
        }
    }

    #[test]
    fn a_number_stands_only_for_what_the_samples_support() {
        let judged = |q, n, missing| Judged::of(&verdict(q, n, missing));
        assert_eq!(judged(0.999, 59, 3629), Judged::TooFew(3629));
        assert_eq!(judged(0.99, 200, 168), Judged::TooFew(168));
        assert_eq!(
            judged(0.99, 80, 0),
            Judged::Beyond("p99".into(), "12.0 µs".into())
        );
        assert_eq!(
            judged(0.99, 368, 0),
            Judged::Value("p99".into(), "503 ns".into())
        );
    }

    fn used(by_load: Vec<LoadVerdict>) -> ProfileVerdict {
        ProfileVerdict {
            outcome: Outcome::Fail,
            as_it_is: Outcome::Fail,
            by_load,
            ..ProfileVerdict::default()
        }
    }

    #[test]
    fn why_a_use_is_open_is_said_once_with_all_loads_where_samples_are_not_what_is_missing() {
        let open = |load: &str, reason: Option<&str>, samples_missing| LoadVerdict {
            load: load.into(),
            reason: reason.map(str::to_owned),
            ..verdict(0.99, 4_060, samples_missing)
        };
        let held = Some("the host took as much");
        let decided = LoadVerdict {
            outcome: Outcome::Fail,
            ..open("cpu", held, 0)
        };
        let p = used(vec![
            open("idle", held, 0),
            open("busy", Some("others ran"), 0),
            open("network", held, 0),
            open("disk", held, 900),
            open("memory", None, 0),
            decided,
        ]);
        assert_eq!(
            why_open(&p).unwrap(),
            "at rest, under network load: the host took as much; under busy load: others ran"
        );
        assert_eq!(why_open(&used(vec![open("idle", None, 0)])), None);
    }

    #[test]
    fn samples_that_a_remedy_lacks_are_its_own() {
        let sleep = Factors::new().with(factor::METHOD, "usleep");
        let other = Factors::new().with(factor::METHOD, "hybrid");
        let short = LoadVerdict {
            remedy: Some(Remedied {
                name: "hybrid sleep".into(),
                method: other.clone(),
                outcome: Outcome::Inconclusive,
                estimate_ns: 1.0,
                samples: 100,
                watched_ns: 1,
                samples_missing: 300,
                reason: None,
            }),
            ..verdict(0.99, 200, 168)
        };
        let found: Vec<_> = too_few(&short, Some(&sleep))
            .map(|(s, method)| (s.missing, method.unwrap().level(factor::METHOD)))
            .collect();
        assert_eq!(found, [(168, "usleep"), (300, "hybrid")]);
        let failed = LoadVerdict {
            as_it_is: Outcome::Fail,
            ..short
        };
        assert_eq!(too_few(&failed, None).count(), 1);
    }

    #[test]
    fn a_pass_says_over_how_long() {
        let of = |outcome, watched_ns| LoadVerdict {
            outcome,
            watched_ns,
            ..verdict(0.99, 4_060, 0)
        };
        let pass = of(Outcome::Pass, 18_000_000_000);
        let words = "watched for 18.0 s, 4\u{202f}060 samples";
        assert_eq!(watched(&pass).unwrap(), words);
        assert_eq!(watched(&of(Outcome::Fail, 5)), None);
        let remedied = LoadVerdict {
            remedy: Some(Remedied {
                name: "slack 1 ns".into(),
                method: tompion_model::Factors::new(),
                outcome: Outcome::Pass,
                estimate_ns: 1.0,
                samples: 1,
                watched_ns: 700_000_000,
                samples_missing: 0,
                reason: None,
            }),
            ..of(Outcome::WithRemedy, 5)
        };
        let words = "with slack 1 ns, watched for 700 ms, 1 sample";
        assert_eq!(watched(&remedied).unwrap(), words);
        let fails = of(Outcome::Fail, 5);
        let all = [
            used(vec![fails.clone(), remedied]),
            used(vec![pass.clone()]),
        ];
        let words = "1 to 4\u{202f}060 samples over 0.7 to 18.0\u{a0}s";
        assert_eq!(all_watched(&all).unwrap(), words);
        let words = "4\u{202f}060 samples over 18.0\u{a0}s";
        assert_eq!(all_watched(&[used(vec![pass])]).unwrap(), words);
        let short = of(Outcome::Pass, 40_000_000);
        let words = "4\u{202f}060 samples over less than 0.1\u{a0}s";
        assert_eq!(all_watched(&[used(vec![short])]).unwrap(), words);
        assert_eq!(all_watched(&[used(vec![fails])]), None);
    }

    #[test]
    fn a_use_has_one_row_for_all_places() {
        let profile = |name: &str, platform: &str, outcome| ProfileVerdict {
            name: name.into(),
            title: name.into(),
            platform: Some(platform.into()),
            outcome,
            as_it_is: outcome,
            by_load: vec![verdict(0.99, 500, 0)],
            ..ProfileVerdict::default()
        };
        let (pass, fail) = (Outcome::Pass, Outcome::Fail);
        let all = [
            profile("voip", "host", pass),
            profile("voip", "runc", fail),
            profile("audio", "runc", fail),
        ];
        let found = by_place(&all).expect("two platforms");
        assert_eq!(found.places, ["host", "runc"]);
        assert_eq!(found.loads, ["idle"]);
        let outcomes = |of_use: &OfUse<'_>| -> Vec<_> {
            let at = of_use.at.iter();
            at.map(|p| p.map(|p| p.outcome)).collect()
        };
        let rows: Vec<_> = found.uses.iter().map(outcomes).collect();
        assert_eq!(rows, [[Some(pass), Some(fail)], [None, Some(fail)]]);
        assert!(by_place(&all[1..]).is_none());
        assert_eq!(found.uses[0].judged_with(&found.places), None);
        let mut all = all;
        let method = |name: &str| Some(tompion_model::Factors::new().with(factor::METHOD, name));
        all[0].method = method("usleep");
        all[1].method = method("usleep");
        let judged = |all: &[ProfileVerdict]| {
            let found = by_place(all).expect("two platforms");
            found.uses[0].judged_with(&found.places).expect("methods")
        };
        assert_eq!(judged(&all), "usleep");
        all[1].method = method("poll");
        assert_eq!(judged(&all), "usleep on host; poll on runc");
    }

    #[test]
    fn durations_are_rounded_up() {
        let words = |s: f64| round_duration(s * 1e9);
        assert_eq!(words(4.0), "5s");
        assert_eq!(words(50.0), "55s");
        assert_eq!(words(300.0), "6m");
        assert_eq!(words(9000.0), "3h");
    }
}
