//! Whose fault it is that uses fail: the clock, who takes the CPU, what a remedy mends, the load beside which they fail,
//! or nobody's, where a limit is tighter than this machine sleeps. Pure: it goes by what a run recorded.
//!
//! Nobody is blamed for more than is seen of him. Who takes the CPU is at fault where what he took for longer than the
//! limit comes to more late sleeps than may be; where twice all of it does not explain the late ones, the sleep itself
//! is at fault, too.

use crate::parts::taker::Taker;
use crate::parts::takers;
use crate::parts::words::percent;
use crate::parts::{Seen, State, parts};
use crate::verdict::remedies::{self, REMEDIES, Remedy};
use crate::verdict::{LoadVerdict, Outcome, ProfileVerdict};

/// Pauses are few, and a sleep may meet twice as many as the loop that was watched for them.
const LUCK: f64 = 2.0;

/// What is at fault.
#[derive(Clone, Debug, PartialEq)]
pub enum Culprit {
    /// The wall clock, with what is wrong with it.
    Clock(String),
    /// The host, or the firmware where there is none.
    Host {
        /// Of the CPUs' time.
        share: f64,
        /// At once, in nanoseconds; absent where nobody saw that.
        longest_ns: Option<u64>,
        /// Whether it was there at all, and not the firmware.
        is_guest: bool,
        /// Whether it is known only by nobody else having taken the CPU.
        is_likely: bool,
    },
    /// A limit on CPU time.
    Quota,
    /// Other programs, those that took most by name.
    Programs(Vec<String>),
    /// What a remedy mends.
    Mended {
        /// The remedy.
        remedy: &'static Remedy,
        /// Verdicts that pass with it.
        passes: usize,
        /// The same and those that it keeps the limit of, which is not shown yet.
        all: usize,
    },
    /// A setting of the kernel's.
    Kernel(String),
    /// A processor that is imitated, and by what.
    Emulated(String),
    /// Loads beside which fails what does not fail at rest.
    Loads(Vec<String>),
    /// Limits that are tighter than the machine sleeps, and how many uses have them.
    Limits(usize),
}

impl Culprit {
    /// The same in a few words.
    pub fn in_words(&self) -> String {
        match self {
            Self::Clock(clause) if clause.starts_with("not synchronised") => {
                "clock not synchronised".to_owned()
            }
            Self::Clock(clause) => format!("clock {clause}"),
            Self::Host {
                share,
                longest_ns,
                is_guest,
                is_likely,
            } => {
                let who = match (is_guest, is_likely) {
                    (false, _) => "the firmware",
                    (true, true) => "most likely the host",
                    (true, false) => "the host",
                };
                let at_once = longest_ns.map(|ns| tompion_model::format_ns(ns as f64));
                let at_once =
                    at_once.map_or_else(String::new, |ns| format!(", up to {ns} at once"));
                let share = percent(*share);
                let guest = if *is_guest {
                    "this guest"
                } else {
                    "the kernel"
                };
                format!("{who} takes the CPU ({share}{at_once}); nothing in {guest} can mend that")
            }
            Self::Quota => "the CPU quota".to_owned(),
            Self::Programs(names) => {
                let names = match names.is_empty() {
                    true => String::new(),
                    false => format!(" ({})", names.join(", ")),
                };
                format!("other programs on this machine{names}")
            }
            Self::Mended { remedy, .. } => remedy.mends.to_owned(),
            Self::Kernel(clause) => format!("the kernel's settings ({clause})"),
            Self::Emulated(how) => format!("a processor that is imitated ({how})"),
            Self::Loads(loads) => match &loads[..] {
                [one] => format!("the load {one} itself delays sleeps"),
                loads => format!("the loads {} themselves delay sleeps", loads.join(", ")),
            },
            Self::Limits(1) => "1 use has a limit tighter than this machine sleeps".to_owned(),
            Self::Limits(n) => format!("{n} uses have limits tighter than this machine sleeps"),
        }
    }

    /// Whether something is wrong here; a limit that is tight, and a load that was asked for, are nobody's fault.
    pub fn is_fault(&self) -> bool {
        match self {
            Self::Loads(_) | Self::Limits(_) => false,
            Self::Mended { remedy, .. } => remedy.mends_a_fault(),
            _ => true,
        }
    }

    /// Whether it takes the CPU, behind which nobody sees how the machine would sleep.
    fn takes(&self) -> bool {
        matches!(self, Self::Host { .. } | Self::Quota | Self::Programs(_))
    }
}

/// What is at fault on the machine of which this was seen, by its verdicts: the clock first, then what costs most of
/// them. Nothing where no use fails, and no part.
pub fn culprits(seen: &Seen<'_>, profiles: &[&ProfileVerdict]) -> Vec<Culprit> {
    let [clock, host, kernel, here] = parts(seen);
    let first_clause = |sentence: &str| {
        let clause = sentence.split("; ").next();
        clause.unwrap_or_default().to_owned()
    };
    let (took, is_likely) = takers::host(seen);
    let of_host = Culprit::Host {
        share: took.share,
        longest_ns: took.longest_ns,
        is_guest: seen.is_guest(),
        is_likely,
    };
    let mut suspects = Suspects {
        takers: Vec::new(),
        mended: Vec::new(),
        kernel: None,
        slack_ns: (kernel.state > State::Ok)
            .then_some(seen.environment.clock.timer_slack_ns)
            .flatten()
            .unwrap_or(0),
        emulated: seen.environment.virtualization.emulated.as_deref(),
        loads: Vec::new(),
        limits: 0,
    };
    let mut suspect = |culprit, took, state| {
        // What is no more than usual is not at fault, and what hardly any use bears is so anyhow.
        let counted = usize::from(state == State::Fail);
        let suspected = state > State::Ok;
        if suspected {
            suspects.takers.push((culprit, took, counted));
        }
    };
    suspect(of_host, took, host.state);
    let quota = takers::quota(seen);
    if let Some(took) = quota {
        suspect(Culprit::Quota, took, here.state);
    }
    if let Some((took, names)) = takers::programs(seen) {
        // That the part fails is the quota's doing.
        suspect(Culprit::Programs(names), took, State::Warn);
    }
    if kernel.state == State::Fail {
        suspects.kernel = Some((first_clause(&kernel.sentence), 0));
    }
    for profile in profiles {
        let limits = suspects.limits;
        for judged in &profile.by_load {
            suspects.count(profile, judged);
        }
        // A use counts once.
        suspects.limits = suspects.limits.min(limits + 1);
    }
    let clock = (clock.state == State::Fail).then(|| first_clause(&clock.sentence));
    suspects.culprits(clock.map(Culprit::Clock))
}

/// What may be at fault, and how many verdicts it costs.
struct Suspects<'a> {
    /// Who takes the CPU, how much of it, and what that costs.
    takers: Vec<(Culprit, Taker, usize)>,
    /// Remedies, verdicts that pass with them, and all that these explain.
    mended: Vec<(&'static Remedy, usize, usize)>,
    /// A setting by which the part fails.
    kernel: Option<(String, usize)>,
    /// How much later sleeps may end by the slack that threads start with, where that is not as good as nothing.
    slack_ns: u64,
    emulated: Option<&'a str>,
    loads: Vec<String>,
    limits: usize,
}

impl Suspects<'_> {
    /// Takes in what one use came to beside one load.
    fn count(&mut self, profile: &ProfileVerdict, judged: &LoadVerdict) {
        match judged.outcome {
            Outcome::WithRemedy => self.is_mended(judged, true),
            Outcome::Inconclusive if judged.fails_beside_others => {
                let of_programs =
                    |t: &&mut (Culprit, Taker, usize)| matches!(t.0, Culprit::Programs(_));
                if let Some((.., costs)) = self.takers.iter_mut().find(of_programs) {
                    *costs += 1;
                }
            }
            Outcome::Fail => self.fails(profile, judged),
            _ => {}
        }
    }

    fn fails(&mut self, profile: &ProfileVerdict, judged: &LoadVerdict) {
        let allowed = 1.0 - judged.quantile;
        let mut all = 0.0;
        let mut is_anybody = false;
        for (_, took, costs) in &mut self.takers {
            let late = took.beyond(judged.limit_ns);
            all += late;
            // Alone it makes more sleeps late than may be.
            if late >= allowed {
                *costs += 1;
                is_anybody = true;
            }
        }
        let is_explained = judged.late_share - allowed <= LUCK * all;
        if is_anybody && is_explained {
            return;
        }
        let would_pass = |judged: &LoadVerdict| {
            let remedy = judged.remedy.as_ref();
            remedy.is_some_and(|r| r.outcome != Outcome::Fail && r.estimate_ns <= judged.limit_ns)
        };
        let at_rest = profile.by_load.iter().find(|l| l.load == "idle");
        let is_the_loads = at_rest.is_some_and(|rest| {
            rest.load != judged.load && matches!(rest.outcome, Outcome::Pass | Outcome::WithRemedy)
        });
        if would_pass(judged) {
            self.is_mended(judged, false);
        } else if let Some((_, costs)) = &mut self.kernel {
            *costs += 1;
        } else if self.emulated.is_some() || !is_the_loads {
            self.limits += 1;
        } else if !self.loads.contains(&judged.load) {
            self.loads.push(judged.load.clone());
        }
    }

    /// A verdict that a remedy explains: by passing, or by an estimate that keeps the limit.
    fn is_mended(&mut self, judged: &LoadVerdict, passes: bool) {
        let name = judged.remedy.as_ref().map(|r| r.name.as_str());
        let Some(taken) = REMEDIES.iter().find(|r| Some(r.name) == name) else {
            return;
        };
        // What sleeps otherwise has no slack either: where that alone exceeds the limit it is the fault, whatever was
        // measured in its place at this period.
        let is_slack = !taken.mends_a_fault() && self.slack_ns as f64 > judged.limit_ns;
        let remedy = match is_slack {
            true => remedies::SLACK,
            false => taken,
        };
        let passes = passes && remedy == taken;
        match self.mended.iter_mut().find(|(known, ..)| *known == remedy) {
            Some((_, passing, all)) => {
                *passing += usize::from(passes);
                *all += 1;
            }
            None => self.mended.push((remedy, usize::from(passes), 1)),
        }
    }

    fn culprits(mut self, clock: Option<Culprit>) -> Vec<Culprit> {
        self.takers.retain(|(.., costs)| *costs > 0);
        self.takers
            .sort_by_key(|(.., costs)| std::cmp::Reverse(*costs));
        self.mended.sort_by_key(|(.., all)| std::cmp::Reverse(*all));
        let mended = self.mended.into_iter();
        let mended = mended.map(|(remedy, passes, all)| Culprit::Mended {
            remedy,
            passes,
            all,
        });
        let mut found: Vec<Culprit> = clock.into_iter().collect();
        found.extend(self.takers.into_iter().map(|(culprit, ..)| culprit));
        found.extend(mended);
        // A slack that a remedy mends is said once.
        let is_said = |clause: &str| {
            let slack = |c: &Culprit| matches!(c, Culprit::Mended { remedy, .. } if clause.starts_with(remedy.mends));
            found.iter().any(slack)
        };
        let kernel = self.kernel.filter(|(clause, _)| !is_said(clause));
        found.extend(kernel.map(|(clause, _)| Culprit::Kernel(clause)));
        if !self.loads.is_empty() {
            found.push(Culprit::Loads(self.loads));
        }
        if self.limits > 0 && !found.iter().any(Culprit::takes) {
            found.push(match self.emulated {
                Some(how) => Culprit::Emulated(how.to_owned()),
                None => Culprit::Limits(self.limits),
            });
        }
        found
    }
}

#[cfg(test)]
mod tests;
