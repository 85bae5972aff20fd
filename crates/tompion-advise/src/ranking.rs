//! From trials to a ranked list.

use std::time::Duration;

use tompion_model::format_duration;

use crate::State;
use crate::advice::{KnobAdvice, Status};
use crate::candidate::Candidate;
use crate::effect::{Judged, NO_EFFECT, Pair, gain, judge, judged_by, median, more_pairs, status};
use crate::text::share;
use crate::tried::Tried;

/// Longer trying is not advised, in seconds.
const LONGEST: f64 = 86_400.0;

/// Every candidate with what came of it at this quantile, the best first. A pair of trials takes `a_pair`
/// where none was made.
pub(crate) fn ranked(
    candidates: &[Candidate],
    tried: &[Tried<'_>],
    quantile: f64,
    a_pair: Duration,
) -> Vec<KnobAdvice> {
    let counted: Vec<&Tried<'_>> = tried.iter().filter(|t| t.refused.is_none()).collect();
    let pairs: Vec<&[Pair]> = counted.iter().map(|t| t.pairs.as_slice()).collect();
    let judged = judge(&pairs, quantile);
    // What a block takes, for those that need more of them.
    let mean = |t: &&Tried<'_>| match u32::try_from(t.pairs.len()).unwrap_or(u32::MAX) {
        0 => a_pair,
        n => t.took / n,
    };
    let block: Duration = counted.iter().map(mean).sum();
    let mut all: Vec<KnobAdvice> = candidates.iter().map(described).collect();
    for one in tried {
        let advice = &mut all[one.candidate];
        if let Some(why) = &one.refused {
            (advice.status, advice.reason) = (Status::Refused, Some(why.clone()));
        }
    }
    for (one, judged) in counted.into_iter().zip(judged) {
        all[one.candidate].measured(one, judged, block);
    }
    all.sort_by(|a, b| {
        let by_gain = gain(&b.effects).total_cmp(&gain(&a.effects));
        a.status.cmp(&b.status).then(by_gain)
    });
    all
}

/// A candidate that was not tried.
fn described(candidate: &Candidate) -> KnobAdvice {
    let knob = &candidate.knob;
    let (status, reason) = match (&candidate.state, &candidate.barred) {
        (State::Absent(why), _) => (Status::Absent, Some(why.clone())),
        (State::Already(how), _) => (Status::Already, Some(how.clone())),
        (State::Ready(_), Some(why)) => (Status::NotTried, Some(why.clone())),
        (State::Ready(_), None) => (Status::WouldBeTried, None),
        (State::Advised(advised), _) => (Status::Advised, Some(advised.from.clone())),
    };
    let ready = match &candidate.state {
        State::Ready(ready) | State::Advised(ready) => Some(ready),
        _ => None,
    };
    KnobAdvice {
        name: knob.name(),
        title: knob.title(),
        reach: knob.reach(),
        quantity: knob.quantity(),
        status,
        reason,
        from: ready.map(|r| r.from.clone()),
        to: ready.map(|r| r.to.clone()),
        pairs: 0,
        pairs_needed: None,
        effects: Vec::new(),
        cpu_off_ns: None,
        cpu_on_ns: None,
        files: ready.map_or_else(Vec::new, |r| {
            let changed = r.files.iter().map(|c| c.path.clone());
            let held = r.held.iter().map(|(path, _)| path.clone());
            let joined = r.joined.iter().map(|(to, _)| to.clone());
            changed.chain(held).chain(joined).collect()
        }),
        left_out: Vec::new(),
        apply: ready.map_or_else(Vec::new, |r| r.apply.clone()),
        price: knob.price().to_owned(),
        source: knob.source().to_owned(),
    }
}

impl KnobAdvice {
    fn measured(&mut self, one: &Tried<'_>, judged: Judged, block: Duration) {
        let cpu = |of: fn(&Pair) -> Option<f64>| {
            let known: Vec<f64> = one.pairs.iter().filter_map(of).collect();
            Some(median(&known)).filter(|ns| ns.is_finite())
        };
        self.status = status(&judged);
        self.pairs = one.pairs.len();
        self.left_out.clone_from(&one.left_out);
        self.cpu_off_ns = cpu(|p| p.off.cpu_ns);
        self.cpu_on_ns = cpu(|p| p.on.cpu_ns);
        self.effects = judged.effects;
        self.pairs_needed = judged.pairs_needed;
        if self.status == Status::NotDecidable {
            let effect = judged_by(&self.effects);
            let needed = judged.pairs_needed;
            let times = effect.map_or(2.0, more_pairs);
            let pairs = needed.map_or(times * self.pairs as f64, |need| need as f64);
            let seconds = (block.as_secs_f64() * pairs).ceil();
            let longer = match seconds <= LONGEST {
                true => {
                    let option = format_duration(seconds as u64 * 1_000_000_000);
                    format!("try --duration {option} or more")
                }
                // Nobody waits so long, and the machine would not stay as it is.
                false => "the machine is too uneven to tell in a day".to_owned(),
            };
            let why = match (needed, effect) {
                (Some(need), _) => format!("it takes {need} pairs, there were {}", self.pairs),
                (None, Some(e)) if e.low_share <= 0.0 && e.high_share >= 0.0 => format!(
                    "the change of {} may be {}, which rules out neither an effect of {:.0} % nor none",
                    e.quantile,
                    share(e.low_share, e.change_share, e.high_share),
                    100.0 * NO_EFFECT
                ),
                _ => "an effect is likely, but not sure among all that was tested".to_owned(),
            };
            self.reason = Some(format!("{why}; {longer}"));
        }
    }
}
