//! What uses are fit for: how many, with which steps, and up to which limit they fail.

use std::collections::HashSet;

use tompion_assess::verdict::{LoadVerdict, Outcome, ProfileVerdict};
use tompion_assess::wall_clock::wall_clock;
use tompion_model::format_ns;

use crate::data::ReportData;
use crate::grid::under;
use crate::verdicts::loads;

use super::lines::MOST_LOADS;
use super::steps::{Step, by_number, numbers};

/// How many uses are fit: as they are, and with which steps.
#[derive(Default)]
pub struct Fit {
    /// As they are.
    pub as_it_is: usize,
    /// These and those with a remedy.
    pub all: usize,
    /// Those of which something is known: that they are fit, that they are not, or that they are near their limit.
    pub known: usize,
    /// The others.
    pub open: usize,
    remedies: Vec<String>,
}

impl Fit {
    /// Of uses by what they come to: the outcome, and the remedies that are taken.
    pub fn of<'v>(uses: impl Iterator<Item = (Outcome, Vec<&'v LoadVerdict>)>) -> Self {
        let mut fit = Self::default();
        for (outcome, judged) in uses {
            fit.as_it_is += usize::from(outcome == Outcome::Pass);
            let is_open = matches!(outcome, Outcome::Inconclusive | Outcome::NotMeasured);
            fit.known += usize::from(!is_open);
            fit.open += usize::from(is_open);
            fit.all += usize::from(matches!(outcome, Outcome::Pass | Outcome::WithRemedy));
            if outcome == Outcome::WithRemedy {
                fit.remedies
                    .extend(judged.into_iter().filter_map(taken).map(str::to_owned));
            }
        }
        fit
    }

    /// ` (7 with steps 1 and 2)`; nothing where none is needed.
    pub fn with_steps(&self, steps: &[Step]) -> String {
        self.in_brackets(steps, 0)
    }

    /// ` (7 with steps 1 and 2; 1 open)`; nothing where none is needed, and none open.
    pub fn with_steps_and_open(&self, steps: &[Step]) -> String {
        self.in_brackets(steps, self.open)
    }

    fn in_brackets(&self, steps: &[Step], open: usize) -> String {
        let numbers = numbers(steps, self.remedies.iter().map(String::as_str));
        let with = by_number(&numbers).unwrap_or_else(|| "a remedy".to_owned());
        let with = (self.all > self.as_it_is).then(|| format!("{} with {with}", self.all));
        let open = (open > 0).then(|| format!("{open} open"));
        let told: Vec<String> = with.into_iter().chain(open).collect();
        match told.is_empty() {
            true => String::new(),
            false => format!(" ({})", told.join("; ")),
        }
    }
}

/// Whether time can be trusted where so many uses have to be fit, in a word.
pub fn trusted(fits: &[Fit], uses: usize, clock_is_off: bool) -> &'static str {
    let all = fits.iter().all(|fit| fit.as_it_is == uses);
    let none = fits.iter().all(|fit| fit.all == 0);
    // One that is known not to be fit beside eight that may be says nothing of the machine.
    let sum = |of: fn(&Fit) -> usize| fits.iter().map(of).sum::<usize>();
    let undecided = none && sum(|fit| fit.known) < sum(|fit| fit.open);
    match (all, none) {
        (true, _) if !clock_is_off => "YES",
        _ if undecided => "NOT KNOWN",
        (_, true) => "NO",
        _ => "PARTLY",
    }
}

/// Whether the wall clock is known not to be in step.
pub fn clock_is_off(data: &ReportData) -> bool {
    let clock = wall_clock(&data.record().header.environment);
    clock.is_some_and(|c| c.in_step == Some(false))
}

/// The remedy with which a verdict passes.
pub fn taken(judged: &LoadVerdict) -> Option<&str> {
    let remedy = judged.remedy.as_ref();
    let taken = remedy.filter(|_| judged.outcome == Outcome::WithRemedy);
    taken.map(|r| r.name.as_str())
}

/// Up to which limit uses fail, where under each load all that do have tighter limits than those that do not: under
/// every load, or under those at which the widest limits fail.
pub fn tightest(profiles: &[&ProfileVerdict]) -> Option<String> {
    let loads = loads(profiles.iter().copied());
    let by_load = loads
        .iter()
        .map(|load| Bound::under(load, profiles).ok_or(()));
    // Where one load has no such bound, another one's would hide that more fail there.
    let by_load: Vec<Option<Bound>> = by_load.collect::<Result<_, _>>().ok()?;
    let worst = by_load.iter().flatten().copied();
    let worst = worst.reduce(|a, b| if b.most > a.most { b } else { a })?;
    let at_worst = loads.iter().zip(&by_load);
    let at_worst: Vec<_> = at_worst
        .filter(|(_, bound)| bound.is_some_and(|bound| bound.most == worst.most))
        .collect();
    let is_few = at_worst
        .iter()
        .all(|(_, bound)| bound.is_some_and(|bound| bound.is_few));
    let named: Vec<String> = at_worst.iter().map(|(load, _)| under(load)).collect();
    let where_ = match named.len() {
        n if n == loads.len() => String::new(),
        n if n > MOST_LOADS => format!(" under {n} loads"),
        _ => format!(" {}", named.join(" and ")),
    };
    let only = if is_few { "only " } else { "" };
    Some(format!(
        "{only}limits of {} and less fail{where_}",
        format_ns(worst.most)
    ))
}

/// The limit that parts uses that fail under a load from those that do not.
#[derive(Clone, Copy)]
struct Bound {
    /// The widest limit that fails, in nanoseconds.
    most: f64,
    /// Whether all others are known not to fail, and are more.
    is_few: bool,
}

impl Bound {
    /// `None` where none parts them: all fail, or one that does has a wider limit than one that does not. None is needed
    /// where none fails.
    fn under(load: &str, profiles: &[&ProfileVerdict]) -> Option<Option<Self>> {
        // Wherever they were judged.
        let judged = || {
            let of_load = |p: &&'_ ProfileVerdict| p.under(load).is_some();
            profiles.iter().copied().filter(of_load)
        };
        let fails = |p: &ProfileVerdict| p.under(load).is_some_and(|l| l.outcome == Outcome::Fail);
        let failing: HashSet<&str> = judged()
            .filter(|p| fails(p))
            .map(|p| p.name.as_str())
            .collect();
        let failing = &failing;
        let limits = |wanted: bool| {
            let of = judged().filter(move |p| failing.contains(p.name.as_str()) == wanted);
            of.filter_map(|p| p.under(load)).map(|l| l.limit_ns)
        };
        let Some(most) = limits(true).reduce(f64::max) else {
            return Some(None);
        };
        let least = limits(false).reduce(f64::min)?;
        let is_fit = |l: &LoadVerdict| {
            matches!(
                l.outcome,
                Outcome::Pass | Outcome::WithRemedy | Outcome::NearLimit
            )
        };
        let others = || {
            let others = judged().filter(|p| !failing.contains(p.name.as_str()));
            others.filter_map(|p| p.under(load))
        };
        let is_few = others().all(is_fit) && limits(true).count() < others().count();
        (most < least).then_some(Some(Self { most, is_few }))
    }
}

/// A verdict by its outcome, with how late it is where that is what counts.
pub fn with_figure(judged: &LoadVerdict) -> String {
    // No number stands for blocks that disagree.
    let late = judged.supported_estimate_ns();
    let late = late
        .filter(|_| judged.blocks_low_ns.is_none())
        .map(format_ns);
    match (judged.outcome, late) {
        (Outcome::Fail, Some(late)) => format!("FAIL {late}"),
        (Outcome::NearLimit, Some(late)) => format!("near {late}"),
        (outcome, _) => outcome.in_words().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use tompion_assess::verdict::Remedied;

    use super::super::steps::Mends;
    use super::*;

    /// A use under one load, that late.
    fn judged(outcome: Outcome, limit_ns: f64, remedy: Option<&str>) -> LoadVerdict {
        LoadVerdict {
            load: "idle".into(),
            outcome,
            as_it_is: outcome,
            remedy: remedy.map(|name| Remedied {
                name: name.to_owned(),
                outcome: Outcome::Pass,
                estimate_ns: 1.0,
                samples: 1_000,
                watched_ns: 1,
                ..Remedied::default()
            }),
            limit_ns,
            quantile: 0.99,
            estimate_ns: 12_400.0,
            samples: 1_000,
            watched_ns: 1,
            ..LoadVerdict::default()
        }
    }

    #[test]
    fn what_is_fit_with_a_step_only_is_counted_apart() {
        let steps = [
            Mends::Clock,
            Mends::With("slack 1 ns"),
            Mends::With("spinning"),
        ];
        let steps = steps.map(Step::that);
        let of = |all: &[(Outcome, Option<&str>)]| {
            let all: Vec<LoadVerdict> = all.iter().map(|(o, r)| judged(*o, 1e3, *r)).collect();
            let fit = Fit::of(all.iter().map(|l| (l.outcome, vec![l])));
            (fit.as_it_is, fit.with_steps(&steps))
        };
        use Outcome::{Fail, Pass, WithRemedy};
        let none = [(Pass, None), (Fail, Some("slack 1 ns"))];
        assert_eq!(of(&none), (1, String::new()));
        let one = [(Pass, None), (WithRemedy, Some("slack 1 ns"))];
        assert_eq!(of(&one), (1, " (2 with step 2)".to_owned()));
        let both = [
            (WithRemedy, Some("spinning")),
            (WithRemedy, Some("slack 1 ns")),
        ];
        assert_eq!(of(&both), (0, " (2 with steps 2 and 3)".to_owned()));
    }

    #[test]
    fn where_nothing_is_known_the_answer_is_not_no() {
        let fits = |all: &[Outcome]| {
            let all: Vec<LoadVerdict> = all.iter().map(|o| judged(*o, 1e3, None)).collect();
            [Fit::of(all.iter().map(|l| (l.outcome, vec![l])))]
        };
        use Outcome::{Fail, Inconclusive, Pass};
        // Of nine uses two were measured, as of a check that was interrupted.
        assert_eq!(trusted(&fits(&[Inconclusive; 2]), 9, false), "NOT KNOWN");
        assert_eq!(trusted(&fits(&[Inconclusive, Fail]), 9, false), "NO");
        // One that is known to fail says little of those that are open.
        let open = [Inconclusive, Inconclusive, Fail];
        assert_eq!(trusted(&fits(&open), 3, false), "NOT KNOWN");
        assert_eq!(trusted(&fits(&[Inconclusive, Fail, Fail]), 3, false), "NO");
        assert_eq!(trusted(&fits(&[Inconclusive, Pass]), 2, false), "PARTLY");
        assert_eq!(trusted(&fits(&[Pass, Pass]), 2, false), "YES");
    }

    #[test]
    fn how_late_stands_by_what_fails_and_by_what_is_near() {
        let of = |outcome| with_figure(&judged(outcome, 12_000.0, None));
        assert_eq!(of(Outcome::Fail), "FAIL 12.4 µs");
        assert_eq!(of(Outcome::NearLimit), "near 12.4 µs");
        assert_eq!(of(Outcome::Pass), "pass");
        // Of so few samples no quantile is known.
        let mut few = judged(Outcome::Fail, 12_000.0, None);
        few.samples = 80;
        assert_eq!(with_figure(&few), "FAIL");
        let mut disagree = judged(Outcome::Fail, 12_000.0, None);
        (disagree.blocks_low_ns, disagree.blocks_high_ns) = (Some(13e3), Some(4e6));
        assert_eq!(with_figure(&disagree), "FAIL");
    }

    #[test]
    fn limits_up_to_which_uses_fail_are_named_where_they_are_the_tightest() {
        let of = |all: &[(&str, f64, Outcome)]| {
            let one = |(name, limit_ns, outcome): &(&str, f64, Outcome)| ProfileVerdict {
                name: (*name).to_owned(),
                outcome: *outcome,
                as_it_is: *outcome,
                by_load: vec![judged(*outcome, *limit_ns, None)],
                ..ProfileVerdict::default()
            };
            let all: Vec<ProfileVerdict> = all.iter().map(one).collect();
            tightest(&all.iter().collect::<Vec<_>>())
        };
        use Outcome::{Fail, Inconclusive, Pass};
        let sound = [
            ("a", 1e3, Fail),
            ("b", 12e3, Inconclusive),
            ("c", 1e6, Pass),
        ];
        // What is open may fail, too.
        assert_eq!(of(&sound).unwrap(), "limits of 1.00 µs and less fail");
        let known = [("a", 1e3, Fail), ("b", 12e3, Pass), ("c", 1e6, Pass)];
        assert_eq!(of(&known).unwrap(), "only limits of 1.00 µs and less fail");
        let most = [("a", 1e3, Fail), ("b", 12e3, Fail), ("c", 1e6, Pass)];
        assert_eq!(of(&most).unwrap(), "limits of 12.0 µs and less fail");
        let mixed = [("a", 1e3, Pass), ("b", 12e3, Fail), ("c", 1e6, Pass)];
        assert_eq!(of(&mixed), None);
        assert_eq!(of(&sound[..1]), None, "all fail");
        assert_eq!(of(&sound[1..]), None, "none fails");
        // What fails on one of two platforms fails.
        let twice = [("a", 1e3, Pass), ("a", 1e3, Fail), ("b", 1e6, Pass)];
        assert!(of(&twice).is_some());
    }

    #[test]
    fn the_load_is_named_under_which_the_widest_limits_fail() {
        use Outcome::{Fail, Inconclusive, Pass, WithRemedy};
        let of = |all: &[(f64, Outcome, Outcome)]| {
            let one = |(limit_ns, at_rest, busy): &(f64, Outcome, Outcome)| ProfileVerdict {
                name: limit_ns.to_string(),
                by_load: vec![
                    judged(*at_rest, *limit_ns, None),
                    LoadVerdict {
                        load: "busy".into(),
                        ..judged(*busy, *limit_ns, None)
                    },
                ],
                ..ProfileVerdict::default()
            };
            let all: Vec<ProfileVerdict> = all.iter().map(one).collect();
            tightest(&all.iter().collect::<Vec<_>>())
        };
        let differs = [
            (1e3, Fail, Fail),
            (12e3, WithRemedy, Fail),
            (1e6, Pass, Pass),
        ];
        assert_eq!(
            of(&differs).unwrap(),
            "limits of 12.0 µs and less fail under busy load"
        );
        // One that is open under one of the loads changes nothing but that.
        let open = [
            (1e3, Fail, Fail),
            (1e6, Pass, Inconclusive),
            (1e7, Pass, Pass),
        ];
        assert_eq!(of(&open).unwrap(), "limits of 1.00 µs and less fail");
        let same = [(1e3, Fail, Fail), (1e6, Pass, Pass)];
        assert_eq!(of(&same).unwrap(), "limits of 1.00 µs and less fail");
        // At rest none fails.
        let busy = [(1e3, Pass, Fail), (12e3, Pass, Pass), (1e6, Pass, Pass)];
        assert_eq!(
            of(&busy).unwrap(),
            "only limits of 1.00 µs and less fail under busy load"
        );
        // At rest a bound, and beside the load none.
        let mixed = [(1e3, Fail, Pass), (12e3, Pass, Fail), (1e6, Pass, Pass)];
        assert_eq!(of(&mixed), None);
        let all = [(1e3, Fail, Fail), (12e3, Pass, Fail), (1e6, Pass, Fail)];
        assert_eq!(of(&all), None);
    }
}
