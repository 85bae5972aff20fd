//! Whose fault it is that uses fail: the clock, who takes the CPU, what a remedy mends, the load beside which they fail,
//! or nobody's, where a limit is tighter than this machine sleeps. Pure: it goes by what a run recorded.
//!
//! Nobody is blamed for more than is seen of him. Who takes the CPU is at fault where what he took for longer than the
//! limit comes to more late sleeps than may be; where twice all of it does not explain the late ones, the sleep itself
//! is at fault, too.

use std::cmp::Reverse;
use std::collections::HashSet;

use tompion_model::AT_REST;

use crate::parts::fault::Fault;
use crate::parts::taker::Taker;
use crate::parts::{ClockFault, KernelFault, Part, Seen, State, parts};
use crate::verdict::remedies::{self, Delay, Remedy};
use crate::verdict::{LoadVerdict, Outcome, ProfileVerdict};

/// Pauses are few, and a sleep may meet twice as many as the loop that was watched for them. Chosen, not derived: what comes
/// of it is held by the simulated machines of `tests/acceptance/test_planted_machines.py`, of which only the one whose host
/// pauses it blames its host.
const LUCK: f64 = 2.0;

/// Who made so small a part as many sleeps late as somebody else is not blamed beside him.
const HARDLY: f64 = 0.1;

/// What is at fault.
#[derive(Clone, Debug, PartialEq)]
pub enum Culprit {
    /// A clock, with what is wrong with it.
    Clock(ClockFault),
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
    Kernel(KernelFault),
    /// A processor that is imitated, and by what.
    Emulated(String),
    /// Loads beside which fails what does not fail at rest.
    Loads(Vec<String>),
    /// Limits that are tighter than the machine sleeps, and how many uses have them.
    Limits(usize),
}

impl Culprit {
    /// Whether something is wrong here; a limit that is tight, and a load that was asked for, are nobody's fault.
    pub fn is_fault(&self) -> bool {
        match self {
            Self::Loads(_) | Self::Limits(_) => false,
            Self::Mended { remedy, .. } => remedy.mends_a_fault(),
            _ => true,
        }
    }

    /// Whether nothing was shown to pass without it.
    pub fn is_unshown(&self) -> bool {
        matches!(self, Self::Mended { passes: 0, .. })
    }

    /// Whether it takes the CPU, behind which nobody sees how the machine would sleep.
    fn takes(&self) -> bool {
        matches!(self, Self::Host { .. } | Self::Quota | Self::Programs(_))
    }
}

/// What is at fault on the machine of which this was seen, by its verdicts: faults first, of these what is
/// shown, and of that what costs most of the verdicts. Nothing where no use fails, and no part.
pub fn culprits(seen: &Seen<'_>, profiles: &[&ProfileVerdict]) -> Vec<Culprit> {
    culprits_by(seen, parts(seen), profiles)
}

/// The same where it is known how the parts of the machine stand.
pub fn culprits_by(
    seen: &Seen<'_>,
    parts: impl IntoIterator<Item = Part>,
    profiles: &[&ProfileVerdict],
) -> Vec<Culprit> {
    let mut suspects = Suspects {
        emulated: seen.environment.virtualization.emulated.as_deref(),
        ..Suspects::default()
    };
    for (state, fault) in parts.into_iter().flat_map(|part| part.faults) {
        suspects.suspect(state, fault);
    }
    for profile in profiles {
        let uses = suspects.limits.uses;
        for judged in &profile.by_load {
            suspects.count(profile, judged);
        }
        // A use counts once.
        suspects.limits.uses = suspects.limits.uses.min(uses + 1);
    }
    suspects.culprits()
}

/// What may be at fault, and how many verdicts it costs.
#[derive(Default)]
struct Suspects<'a> {
    clock: Option<ClockFault>,
    takers: Vec<Suspect>,
    /// Remedies, verdicts that pass with them, and all that these explain.
    mended: Vec<(&'static Remedy, usize, usize)>,
    /// Settings by which the part fails, and what they cost.
    kernel: Vec<KernelFault>,
    kernel_costs: usize,
    /// How much later sleeps may end by the slack that threads start with, where that is not as good as nothing.
    slack_ns: u64,
    emulated: Option<&'a str>,
    /// Those that delay sleeps, and how many verdicts fail by them.
    loads: (Vec<String>, usize),
    /// The same, to find one of them.
    named: HashSet<String>,
    limits: Limits,
}

/// Who takes the CPU.
struct Suspect {
    culprit: Culprit,
    took: Taker,
    /// How its part stands by it.
    state: State,
    costs: usize,
    /// Shares of the sleeps of each verdict that it made late, added up.
    late: f64,
}

/// Failures that nothing else explains.
#[derive(Clone, Copy, Default)]
struct Limits {
    uses: usize,
    verdicts: usize,
}

impl Suspects<'_> {
    /// Takes in what is wrong with a part.
    fn suspect(&mut self, state: State, fault: Fault) {
        let fails = state == State::Fail;
        let (culprit, took) = match fault {
            Fault::Clock(fault) => {
                if fails && self.clock.is_none() {
                    self.clock = Some(fault);
                }
                return;
            }
            Fault::Kernel(fault) => {
                if let KernelFault::Slack(ns) = fault {
                    self.slack_ns = ns;
                }
                if fails {
                    self.kernel.push(fault);
                }
                return;
            }
            Fault::Host {
                took,
                is_guest,
                is_likely,
            } => {
                let host = Culprit::Host {
                    share: took.share,
                    longest_ns: took.longest_ns,
                    is_guest,
                    is_likely,
                };
                (host, took)
            }
            Fault::Quota { took } => (Culprit::Quota, took),
            Fault::Programs { took, names } => (Culprit::Programs(names), took),
        };
        self.takers.push(Suspect {
            culprit,
            took,
            state,
            costs: 0,
            late: 0.0,
        });
    }

    /// Takes in what one use came to beside one load.
    fn count(&mut self, profile: &ProfileVerdict, judged: &LoadVerdict) {
        match judged.outcome {
            Outcome::WithRemedy => self.is_mended(judged, true),
            Outcome::Inconclusive if judged.fails_beside_others => {
                let of_programs = |t: &&mut Suspect| matches!(t.culprit, Culprit::Programs(_));
                if let Some(programs) = self.takers.iter_mut().find(of_programs) {
                    programs.costs += 1;
                    programs.late += judged.late_share;
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
        for taker in &mut self.takers {
            let late = taker.took.beyond(judged.limit_ns);
            all += late;
            // Alone it makes more sleeps late than may be.
            if late >= allowed {
                taker.costs += 1;
                taker.late += late.min(judged.late_share);
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
        let at_rest = profile.under(AT_REST);
        let is_the_loads = at_rest.is_some_and(|rest| {
            rest.load != judged.load && matches!(rest.outcome, Outcome::Pass | Outcome::WithRemedy)
        });
        if would_pass(judged) {
            self.is_mended(judged, false);
        } else if !self.kernel.is_empty() {
            self.kernel_costs += 1;
        } else if self.emulated.is_some() || !is_the_loads {
            self.limits.uses += 1;
            self.limits.verdicts += 1;
        } else {
            let (loads, costs) = &mut self.loads;
            *costs += 1;
            if self.named.insert(judged.load.clone()) {
                loads.push(judged.load.clone());
            }
        }
    }

    /// A verdict that a remedy explains: by passing, or by an estimate that keeps the limit.
    fn is_mended(&mut self, judged: &LoadVerdict, passes: bool) {
        let remedy = judged.remedy.as_ref();
        let Some(taken) = remedy.and_then(|r| Remedy::named(&r.name)) else {
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

    fn culprits(self) -> Vec<Culprit> {
        // The wall clock makes no sleep late.
        let clock = self.clock.map(|fault| (Culprit::Clock(fault), 0));
        let mut found: Vec<(Culprit, usize)> = clock.into_iter().collect();
        // What hardly any use bears is at fault anyhow.
        let is_at_fault = |taker: &Suspect| taker.costs > 0 || taker.state == State::Fail;
        let mut takers: Vec<Suspect> = self.takers.into_iter().filter(is_at_fault).collect();
        // Who made more sleeps late comes first, and of those alike who took more.
        let weight = |taker: &Suspect| (taker.late, taker.took.share);
        takers.sort_by(|a, b| {
            let ((late_a, share_a), (late_b, share_b)) = (weight(a), weight(b));
            late_b.total_cmp(&late_a).then(share_b.total_cmp(&share_a))
        });
        // Who made hardly any late beside the first is not named: a line has room for two.
        let first = takers.first().map_or(0.0, |taker| taker.late);
        takers.retain(|taker| taker.state == State::Fail || taker.late >= HARDLY * first);
        // Between them that decides alone: one limit too many that a small one exceeds outweighs nothing.
        let most = takers.iter().map(|taker| taker.costs).max().unwrap_or(0);
        let takers = takers.into_iter().map(|taker| match taker.costs {
            0 => (taker.culprit, 0),
            _ => (taker.culprit, most),
        });
        found.extend(takers);
        let takes_cpu = found.iter().any(|(culprit, _)| culprit.takes());
        let mends_slack = self.mended.iter().any(|(r, ..)| r.mends == Delay::Slack);
        let mended = |(remedy, passes, all)| {
            let culprit = Culprit::Mended {
                remedy,
                passes,
                all,
            };
            (culprit, all)
        };
        found.extend(self.mended.into_iter().map(mended));
        // A slack that a remedy mends is said once.
        let is_said = |fault: &KernelFault| mends_slack && matches!(fault, KernelFault::Slack(_));
        let kernel = self.kernel.into_iter().find(|fault| !is_said(fault));
        found.extend(kernel.map(|fault| (Culprit::Kernel(fault), self.kernel_costs)));
        let (loads, costs) = self.loads;
        if !loads.is_empty() {
            found.push((Culprit::Loads(loads), costs));
        }
        if self.limits.uses > 0 && !takes_cpu {
            let culprit = match self.emulated {
                Some(how) => Culprit::Emulated(how.to_owned()),
                None => Culprit::Limits(self.limits.uses),
            };
            found.push((culprit, self.limits.verdicts));
        }
        let rank = |(culprit, costs): &(Culprit, usize)| {
            let is_fault = culprit.is_fault();
            (!is_fault, culprit.is_unshown(), Reverse(*costs))
        };
        found.sort_by_key(rank);
        found.into_iter().map(|(culprit, _)| culprit).collect()
    }
}

#[cfg(test)]
mod tests;
