//! Whose fault it is, in a line: what is wrong with a machine, and the step that mends it.

use tompion_assess::blame::{Culprit, culprits};
use tompion_assess::parts::{Seen, State, parts};
use tompion_assess::verdict::ProfileVerdict;

use super::steps::{Mends, Step, number};
use crate::data::ReportData;
use crate::figures::plain;

/// Causes that a line names.
const MOST: usize = 3;

/// What is at fault on the one machine of a run.
pub fn of_run(data: &ReportData) -> Vec<Culprit> {
    let profiles: Vec<&ProfileVerdict> = data.assessment().profiles.iter().collect();
    seen(data, None).map_or_else(Vec::new, |seen| culprits(&seen, &profiles))
}

/// What is at fault where these were judged.
pub fn at_place(data: &ReportData, profiles: &[&ProfileVerdict]) -> Vec<Culprit> {
    let platform = profiles.iter().find_map(|p| p.platform.as_deref());
    seen(data, platform).map_or_else(Vec::new, |seen| culprits(&seen, profiles))
}

/// What was seen of a platform by name, or of the first.
fn seen<'a>(data: &'a ReportData, platform: Option<&str>) -> Option<Seen<'a>> {
    let record = data.record();
    let of_platforms = || {
        let mut all = Seen::of_platforms(record).into_iter();
        all.find(|(name, _)| platform.is_none_or(|wanted| *name == wanted))
    };
    Seen::of_run(record).or_else(|| Some(of_platforms()?.1))
}

/// The line for one machine; nothing where no part of it was looked at.
pub fn line(data: &ReportData, found: &[Culprit], steps: &[Step]) -> String {
    let Some(seen) = seen(data, None) else {
        return String::new();
    };
    if !found.is_empty() {
        return sentence(found, steps, "");
    }
    let parts = parts(&seen);
    let in_state = |state: State| {
        let of = parts.iter().filter(|p| p.state == state);
        of.map(|p| p.name).collect::<Vec<_>>().join(", ")
    };
    let (unmeasured, warn) = (in_state(State::NotMeasured), in_state(State::Warn));
    match (unmeasured.is_empty(), warn.is_empty()) {
        (true, true) => "No fault found.".to_owned(),
        (true, false) => format!("No fault found that a use fails by; but see {warn}."),
        (false, _) => format!("No fault found; not measured: {unmeasured}."),
    }
}

/// The line for several machines: what is wrong, and where, those without a fault last.
pub fn line_of_places(places: &[(&str, &[Culprit])], steps: &[Step]) -> String {
    let mut groups: Vec<(&[Culprit], Vec<String>)> = Vec::new();
    for (place, found) in places {
        match groups.iter_mut().find(|(known, _)| known == found) {
            Some((_, at)) => at.push(plain(place)),
            None => groups.push((found, vec![plain(place)])),
        }
    }
    groups.sort_by_key(|(found, _)| !found.iter().any(Culprit::is_fault));
    let is_one = groups.len() == 1;
    let more = groups.len().saturating_sub(MOST);
    let each = groups.iter().take(MOST).map(|(found, at)| {
        let on = match is_one {
            true => String::new(),
            false => format!(" on {}", at.join(", ")),
        };
        match found.is_empty() {
            true => format!("No fault found{on}."),
            false => sentence(found, steps, &on),
        }
    });
    let mut told: Vec<String> = each.collect();
    if more > 0 {
        told.push(format!("{more} more: tompion report."));
    }
    told.join(" ")
}

fn sentence(found: &[Culprit], steps: &[Step], on: &str) -> String {
    let begins = match found.iter().any(Culprit::is_fault) {
        true => "Cause",
        false => "No fault found",
    };
    let each = found.iter().take(MOST).map(|culprit| {
        let words = plain(&culprit.in_words());
        let step = Mends::of(culprit).and_then(|mends| number(steps, mends));
        match (step, culprit) {
            (None, _) => words,
            (Some(n), Culprit::Host { .. }) => format!("{words} (step {n})"),
            (Some(n), Culprit::Clock(_)) => format!("{words}, step {n} mends it"),
            // No more is promised than was shown.
            (Some(n), Culprit::Mended { passes: 0, .. }) => format!("{words}, step {n} may mend it"),
            (Some(n), Culprit::Mended { passes, all, .. }) if passes < all => {
                format!("{words}, step {n} may mend it (shown for {passes} of {all} verdicts)")
            }
            (Some(n), Culprit::Mended { .. }) => format!("{words}, step {n} mends it"),
            (Some(n), _) => format!("{words}, step {n}"),
        }
    });
    let mut told: Vec<String> = each.collect();
    if found.len() > MOST {
        told.push(format!("{} more", found.len() - MOST));
    }
    format!("{begins}{on}: {}.", told.join("; "))
}

#[cfg(test)]
mod tests {
    use tompion_assess::verdict::remedies::REMEDIES;

    use super::super::steps::Step;
    use super::*;

    fn mended(passes: usize, all: usize) -> Culprit {
        let remedy = &REMEDIES[0];
        Culprit::Mended {
            remedy,
            passes,
            all,
        }
    }

    fn programs(name: &str) -> Culprit {
        Culprit::Programs(vec![name.to_owned()])
    }

    #[test]
    fn each_cause_has_the_step_that_mends_it() {
        let steps = [
            Mends::Clock,
            Mends::Host,
            Mends::Programs,
            Mends::With("slack 1 ns"),
        ]
        .map(Step::that);
        let told = |found: &[Culprit]| sentence(found, &steps, "");
        let clock = Culprit::Clock("not synchronised".to_owned());
        assert_eq!(
            told(&[clock.clone(), Culprit::Limits(4)]),
            "Cause: clock not synchronised, step 1 mends it; 4 uses have limits tighter than this machine sleeps."
        );
        let host = Culprit::Host {
            share: 0.28,
            longest_ns: Some(400_000_000),
            is_guest: true,
            is_likely: false,
        };
        assert_eq!(
            told(&[host]),
            "Cause: the host takes the CPU (28 %, up to 400 ms at once); nothing in this guest can mend that (step 2)."
        );
        assert_eq!(
            told(&[programs("cc1\u{1b}")]),
            "Cause: other programs on this machine (cc1\u{fffd}), step 3."
        );
        assert_eq!(
            told(&[mended(5, 5)]),
            "Cause: timer slack, step 4 mends it."
        );
        assert_eq!(
            told(&[mended(5, 11)]),
            "Cause: timer slack, step 4 may mend it (shown for 5 of 11 verdicts)."
        );
        assert_eq!(
            told(&[mended(0, 11)]),
            "Cause: timer slack, step 4 may mend it."
        );
        let limits = "No fault found: 1 use has a limit tighter than this machine sleeps.";
        assert_eq!(told(&[Culprit::Limits(1)]), limits);
        let many = [clock, programs("a"), mended(1, 1), Culprit::Limits(4)];
        assert!(told(&many).ends_with("; 1 more."), "{}", told(&many));
    }

    #[test]
    fn machines_with_the_same_cause_are_named_together_and_those_without_last() {
        let (fine, slack, busy) = (vec![], vec![mended(1, 1)], vec![programs("cc1")]);
        let all = [
            ("host", &fine[..]),
            ("runc", &slack[..]),
            ("vm", &busy[..]),
            ("runsc", &slack[..]),
        ];
        assert_eq!(
            line_of_places(&all, &[]),
            "Cause on runc, runsc: timer slack. Cause on vm: other programs on this machine (cc1). No fault found on host."
        );
        let same = [("a", &fine[..]), ("b", &fine[..])];
        assert_eq!(line_of_places(&same, &[]), "No fault found.");
    }
}
