//! Passes that the host's pauses contradict.
//!
//! Sleeps of a short period are watched for a tenth of a second, a busy loop at rest for twenty. Where the host held that up
//! so long that far more sleeps have to be late than may be, what passes was watched between two of its pauses.

use std::collections::HashMap;

use tompion_model::{Factors, Stalls, Trial, factor, format_ns};

use crate::parts::host::BELOW;
use crate::parts::words::percent;
use crate::verdict::{LoadVerdict, Outcome};

/// As many pauses as come by chance seldom.
const SEVERAL: u64 = 4;

/// So many times as many late sleeps as may be.
const FAR: f64 = 2.0;

/// What the host took of busy loops at rest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pauses {
    ns: u64,
    parts: u64,
    longest_ns: u64,
    watched_ns: u64,
}

/// That of each platform by its name, of a run without platforms under none.
#[derive(Clone, Debug, Default)]
pub(super) struct OfPlatforms<'a>(HashMap<Option<&'a str>, Pauses>);

impl<'a> OfPlatforms<'a> {
    /// By the busy loops among these trials.
    pub fn of(trials: &'a [Trial]) -> Self {
        let loops = trials
            .iter()
            .filter_map(|t| Some((&t.factors, t.findings.stalls.as_ref()?)));
        Self::of_loops(loops)
    }

    fn of_loops(loops: impl Iterator<Item = (&'a Factors, &'a Stalls)>) -> Self {
        let mut found: HashMap<Option<&str>, Pauses> = HashMap::new();
        for (factors, stalls) in loops.filter(|(factors, _)| factors.is_at_rest()) {
            let pauses = found.entry(factors.get(factor::PLATFORM)).or_default();
            pauses.watched_ns += stalls.observed_ns;
            for of_host in stalls.causes.iter().filter(|c| BELOW.contains(&c.cause)) {
                pauses.ns += of_host.ns;
                pauses.parts += of_host.parts;
                pauses.longest_ns = pauses.longest_ns.max(of_host.longest_ns);
            }
        }
        Self(found)
    }

    /// Those of one; none where nobody looked.
    pub fn on(&self, platform: Option<&str>) -> Pauses {
        self.0.get(&platform).copied().unwrap_or_default()
    }
}

impl Pauses {
    /// The least share of all moments from which on a sleep is held up for longer than that: of each pause all but its end.
    fn late_share(self, limit_ns: f64) -> f64 {
        let late_ns = self.ns as f64 - self.parts as f64 * limit_ns;
        late_ns.max(0.0) / self.watched_ns.max(1) as f64
    }

    /// Takes a pass back that was watched for less time than these, where they alone make far more late than may be.
    pub fn hold_against(self, judged: &mut LoadVerdict) {
        let Some((watched_ns, _)) = judged.passed_over() else {
            return;
        };
        let share = self.late_share(judged.limit_ns);
        let are_several = self.ns >= SEVERAL.saturating_mul(self.longest_ns);
        let is_far = share > FAR * (1.0 - judged.quantile);
        if !are_several || !is_far || watched_ns >= self.watched_ns {
            return;
        }
        let reason = Some(format!(
            "watched for {} between pauses of the host, which alone make {} late in {}",
            format_ns(watched_ns as f64),
            percent(share),
            format_ns(self.watched_ns as f64)
        ));
        match (judged.outcome, &mut judged.remedy) {
            (Outcome::WithRemedy, Some(remedy)) => {
                remedy.outcome = Outcome::Inconclusive;
                remedy.reason = reason;
                judged.outcome = judged.as_it_is;
            }
            _ => {
                judged.outcome = Outcome::Inconclusive;
                judged.as_it_is = Outcome::Inconclusive;
                judged.reason = reason;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tompion_cause::Cause;
    use tompion_model::{AT_REST, CauseTotal};

    use super::*;
    use crate::verdict::Remedied;

    const MS: u64 = 1_000_000;

    /// Of a busy loop of 20 s, so many pauses of so long each.
    fn loop_held_up(cause: Cause, pauses: u64, each_ns: u64) -> Stalls {
        let causes = vec![CauseTotal {
            cause,
            by: None,
            ns: pauses * each_ns,
            parts: pauses,
            longest_ns: each_ns,
        }];
        Stalls {
            observed_ns: 20_000 * MS,
            causes,
            ..Stalls::default()
        }
    }

    fn passes(limit_ns: f64, quantile: f64, watched_ns: u64) -> LoadVerdict {
        LoadVerdict {
            outcome: Outcome::Pass,
            as_it_is: Outcome::Pass,
            limit_ns,
            quantile,
            watched_ns,
            samples: 1_000,
            ..LoadVerdict::default()
        }
    }

    fn beside(load: &str, stalls: Stalls, mut judged: LoadVerdict) -> LoadVerdict {
        let factors = Factors::new().with(factor::LOAD, load);
        let loops = [(&factors, &stalls)];
        let pauses = OfPlatforms::of_loops(loops.into_iter());
        pauses.on(None).hold_against(&mut judged);
        judged
    }

    fn held_against(stalls: Stalls, judged: LoadVerdict) -> LoadVerdict {
        beside(AT_REST, stalls, judged)
    }

    #[test]
    fn a_pass_between_pauses_that_make_far_more_late_is_none() {
        let stolen = || loop_held_up(Cause::Stolen, 14, 400 * MS);
        let found = held_against(stolen(), passes(40_000.0, 0.99, 60 * MS));
        assert_eq!(
            (found.outcome, found.as_it_is),
            (Outcome::Inconclusive, Outcome::Inconclusive)
        );
        assert_eq!(
            found.reason.unwrap(),
            "watched for 60.0 ms between pauses of the host, which alone make 28 % late in 20.0 s"
        );
        // Watched for longer than they were.
        let found = held_against(stolen(), passes(40_000.0, 0.99, 25_000 * MS));
        assert_eq!(found.outcome, Outcome::Pass);
        // With a limit that is longer than any of them.
        let found = held_against(stolen(), passes(5e8, 0.99, 60 * MS));
        assert_eq!(found.outcome, Outcome::Pass);
    }

    #[test]
    fn a_remedy_that_passes_so_leaves_what_is_true_without_it() {
        let with = LoadVerdict {
            outcome: Outcome::WithRemedy,
            as_it_is: Outcome::Fail,
            remedy: Some(Remedied {
                outcome: Outcome::Pass,
                watched_ns: 60 * MS,
                ..Remedied::default()
            }),
            ..passes(40_000.0, 0.99, 100 * MS)
        };
        let found = held_against(loop_held_up(Cause::Unseen, 14, 400 * MS), with);
        assert_eq!(
            (found.outcome, found.as_it_is),
            (Outcome::Fail, Outcome::Fail)
        );
        let remedy = found.remedy.unwrap();
        assert_eq!(remedy.outcome, Outcome::Inconclusive);
        assert!(
            remedy
                .reason
                .unwrap()
                .starts_with("watched for 60.0 ms between")
        );
    }

    #[test]
    fn few_pauses_short_ones_and_those_of_others_leave_it() {
        let pass = || passes(40_000.0, 0.99, 60 * MS);
        let left = |stalls| held_against(stalls, pass()).outcome == Outcome::Pass;
        assert!(left(loop_held_up(Cause::Stolen, 3, 400 * MS)));
        assert!(left(loop_held_up(Cause::Stolen, 90_000, 40_000)));
        assert!(left(loop_held_up(Cause::Preempted, 14, 400 * MS)));
        // Not twice as many late as may be.
        assert!(left(loop_held_up(Cause::Stolen, 38, 10 * MS)));
        assert!(!left(loop_held_up(Cause::Stolen, 42, 10 * MS)));
        let stolen = loop_held_up(Cause::Stolen, 14, 400 * MS);
        assert_eq!(beside("busy", stolen, pass()).outcome, Outcome::Pass);
        assert!(left(Stalls::default()));
    }
}
