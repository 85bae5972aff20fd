//! Whose fault it is, in a line: what is wrong with a machine, and the step that mends it.

use std::collections::HashMap;

use tompion_assess::blame::{Culprit, culprits, culprits_by};
use tompion_assess::parts::{ClockFault, Part, Seen, State, parts, percent};
use tompion_assess::verdict::ProfileVerdict;
use tompion_assess::verdict::remedies::Delay;
use tompion_model::format_ns;

use super::lines::cut;
use super::steps::{Mends, Step, number};
use crate::data::ReportData;
use crate::figures::plain;
use crate::screen::wrap;

/// Causes that a sentence names, those that cost most.
const MOST: usize = 2;
/// Groups of machines that a line names.
const MOST_GROUPS: usize = 3;

/// Lines that a sentence has at most, at the narrowest screen.
const LINES: usize = 2;
const NARROWEST: usize = 80;

/// Characters of a name that is cut short.
const NAME: usize = 30;

/// What is at fault on the one machine of a run.
pub fn of_run(data: &ReportData) -> Vec<Culprit> {
    let profiles: Vec<&ProfileVerdict> = data.assessment().profiles.iter().collect();
    seen(data).map_or_else(Vec::new, |seen| culprits(&seen, &profiles))
}

/// The machines of a run, each looked at once.
pub struct Machines<'a> {
    all: Vec<(Seen<'a>, [Part; 4])>,
    /// The place of each among them; empty where there is one alone.
    by_name: HashMap<&'a str, usize>,
}

impl<'a> Machines<'a> {
    pub fn of(data: &'a ReportData) -> Self {
        let record = data.record();
        let looked = |seen: Seen<'a>| {
            let parts = parts(&seen);
            (seen, parts)
        };
        if let Some(one) = Seen::of_run(record) {
            return Self {
                all: vec![looked(one)],
                by_name: HashMap::new(),
            };
        }
        let (names, all): (Vec<&str>, Vec<_>) = Seen::of_platforms(record)
            .into_iter()
            .map(|(name, seen)| (name, looked(seen)))
            .unzip();
        let numbered = names.into_iter().enumerate().rev();
        Self {
            all,
            by_name: numbered.map(|(i, name)| (name, i)).collect(),
        }
    }

    /// What is at fault where these were judged.
    pub fn at_fault(&self, profiles: &[&ProfileVerdict]) -> Vec<Culprit> {
        let platform = profiles.iter().find_map(|p| p.platform.as_deref());
        let at = match platform {
            Some(name) if !self.by_name.is_empty() => self.by_name.get(name).copied(),
            _ => Some(0),
        };
        let found = at.and_then(|at| self.all.get(at));
        found.map_or_else(Vec::new, |(seen, parts)| {
            culprits_by(seen, parts.clone(), profiles)
        })
    }
}

/// What was seen of the machine, or of the first platform.
fn seen(data: &ReportData) -> Option<Seen<'_>> {
    let record = data.record();
    let of_platforms = || Seen::of_platforms(record).into_iter().next();
    Seen::of_run(record).or_else(|| Some(of_platforms()?.1))
}

/// The line for one machine; nothing where no part of it was looked at.
pub fn line(data: &ReportData, found: &[Culprit], steps: &[Step]) -> String {
    let Some(seen) = seen(data) else {
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
    let more = groups.len().saturating_sub(MOST_GROUPS);
    let each = groups.iter().take(MOST_GROUPS).map(|(found, at)| {
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

/// What is at fault, at most two of it, and the names of the rest: the longest way to say it that keeps to the lines it has.
fn sentence(found: &[Culprit], steps: &[Step], on: &str) -> String {
    let begins = match found.iter().any(Culprit::is_fault) {
        true => "Cause",
        false => "No fault found",
    };
    let of = |n: usize, long: Length, others: Others| {
        let mut chosen: Vec<&Culprit> = found.iter().take(n).collect();
        // Those that cost most, in the order of what to do.
        let step = |c: &&Culprit| Mends::of(c).and_then(|mends| number(steps, mends));
        chosen.sort_by_key(|c| step(c).unwrap_or(usize::MAX));
        let each = chosen.into_iter();
        let mut told: Vec<String> = each.map(|c| with_step(c, steps, long)).collect();
        let rest = &found[n.min(found.len())..];
        match (rest.is_empty(), others) {
            (true, _) => {}
            (false, Others::Named) => {
                let names: Vec<&str> = rest.iter().map(in_a_word).collect();
                told.push(format!("also {}", names.join(", ")));
            }
            (false, Others::Counted) => told.push(format!("and {} more", rest.len())),
        }
        format!("{begins}{on}: {}.", told.join("; "))
    };
    let fits = |text: &String| wrap(text, NARROWEST, "", "  ").lines().count() <= LINES;
    let ways = [
        of(MOST, Length::Whole, Others::Named),
        of(MOST, Length::Short, Others::Named),
        of(1, Length::Whole, Others::Named),
        of(1, Length::Short, Others::Named),
        of(MOST, Length::Short, Others::Counted),
    ];
    // Names can have any length.
    let shortest = of(1, Length::Short, Others::Counted);
    let cut_off = (0..=LINES * NARROWEST).rev().map(|n| cut(&shortest, n));
    let ways = ways.into_iter().chain(cut_off);
    ways.into_iter().find(fits).unwrap_or_default()
}

/// What is said of causes that have no words of their own.
#[derive(Clone, Copy)]
enum Others {
    Named,
    Counted,
}

/// How much is said of a cause.
#[derive(Clone, Copy, PartialEq)]
enum Length {
    Whole,
    Short,
}

/// A cause, and the step against it: that it mends it is said only of what a measurement showed.
fn with_step(culprit: &Culprit, steps: &[Step], length: Length) -> String {
    let words = plain(&in_words(culprit, length));
    let step = Mends::of(culprit).and_then(|mends| number(steps, mends));
    match (step, culprit) {
        (None, _) if culprit.is_unshown() => format!("perhaps {words}"),
        (None, _) => words,
        (Some(n), Culprit::Host { .. }) if length == Length::Whole => {
            format!("{words} (step {n})")
        }
        (Some(n), Culprit::Mended { passes, all, .. }) if passes == all => {
            format!("{words}, step {n} mends it")
        }
        (Some(n), Culprit::Mended { passes, all, .. }) => {
            let shown = match passes {
                0 => String::new(),
                _ => format!(" (shown for {passes} of {all} verdicts)"),
            };
            format!("{words}, step {n} may mend it{shown}")
        }
        (Some(n), _) => format!("{words}, step {n}"),
    }
}

/// What is at fault, in a few words.
fn in_words(culprit: &Culprit, length: Length) -> String {
    let is_short = length == Length::Short;
    match culprit {
        Culprit::Clock(fault @ ClockFault::Backwards { .. }) => {
            format!("clock {}", cut(&fault.in_words(), 2 * NAME))
        }
        Culprit::Clock(fault) => format!("clock {}", fault.in_words()),
        Culprit::Host {
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
            let at_once = longest_ns.map(|ns| format!(", up to {} at once", format_ns(ns as f64)));
            let took = format!("{}{}", percent(*share), at_once.unwrap_or_default());
            let within = if *is_guest {
                "this guest"
            } else {
                "the kernel"
            };
            match is_short {
                true => format!("{who} takes the CPU ({took})"),
                false => format!("{who} takes the CPU ({took}); nothing in {within} can mend that"),
            }
        }
        Culprit::Quota => "the CPU quota".to_owned(),
        Culprit::Programs(names) => {
            // This very one is not among them.
            let name = |name: &String| match name.starts_with("tompion") {
                true => format!("another {name}"),
                false => name.clone(),
            };
            let names: Vec<String> = names.iter().map(name).collect();
            match &names[..] {
                [] => "other programs on this machine".to_owned(),
                [first, _, ..] if is_short => format!("other programs ({first} and others)"),
                names => format!("other programs on this machine ({})", names.join(", ")),
            }
        }
        Culprit::Mended { remedy, .. } => match remedy.mends {
            Delay::Slack => "timer slack",
            Delay::Turn => "threads wait for their turn on a CPU",
            Delay::TightLimits => "limits tighter than the kernel sleeps",
        }
        .to_owned(),
        Culprit::Kernel(fault) => {
            let setting = cut(&fault.in_words(), 2 * NAME);
            format!("the kernel's settings ({setting})")
        }
        Culprit::Emulated(how) => {
            let how = if is_short {
                cut(how, NAME)
            } else {
                how.clone()
            };
            format!("a processor that is imitated ({how})")
        }
        Culprit::Loads(loads) => match &loads[..] {
            [one] if is_short => format!("the load {} itself delays sleeps", cut(one, NAME)),
            [one] => format!("the load {one} itself delays sleeps"),
            loads if is_short => format!("{} loads themselves delay sleeps", loads.len()),
            loads => format!("the loads {} themselves delay sleeps", loads.join(", ")),
        },
        Culprit::Limits(1) => "1 use has a limit tighter than this machine sleeps".to_owned(),
        Culprit::Limits(n) => format!("{n} uses have limits tighter than this machine sleeps"),
    }
}

/// The same by name alone.
fn in_a_word(culprit: &Culprit) -> &'static str {
    match culprit {
        Culprit::Clock(_) => "the clock",
        Culprit::Host { is_guest: true, .. } => "the host",
        Culprit::Host { .. } => "the firmware",
        Culprit::Quota => "the CPU quota",
        Culprit::Programs(_) => "other programs",
        Culprit::Mended { remedy, .. } => match remedy.mends {
            Delay::Slack => "timer slack",
            Delay::Turn => "waits for a CPU",
            Delay::TightLimits => "tight limits",
        },
        Culprit::Kernel(_) => "the kernel's settings",
        Culprit::Emulated(_) => "emulation",
        Culprit::Loads(_) => "the loads themselves",
        Culprit::Limits(_) => "tight limits",
    }
}

#[cfg(test)]
mod tests {
    use tompion_assess::parts::KernelFault;
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
        let clock = Culprit::Clock(ClockFault::NotSynchronised);
        assert_eq!(
            told(&[clock.clone(), Culprit::Limits(4)]),
            "Cause: clock not synchronised, step 1; 4 uses have limits tighter than this machine sleeps."
        );
        let host = Culprit::Host {
            share: 0.28,
            longest_ns: Some(400_000_000),
            is_guest: true,
            is_likely: false,
        };
        assert_eq!(
            told(std::slice::from_ref(&host)),
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
        assert_eq!(
            sentence(&[mended(0, 2)], &[], ""),
            "Cause: perhaps timer slack."
        );
        let limits = "No fault found: 1 use has a limit tighter than this machine sleeps.";
        assert_eq!(told(&[Culprit::Limits(1)]), limits);
        // The step is for a clock that is in step with nothing.
        let set = ClockFault::Set {
            ns: -16_000_000_000,
            times: 3,
        };
        assert_eq!(
            told(&[Culprit::Clock(set)]),
            "Cause: clock set by \u{2212}16.0 s and 2 times more during the run."
        );
        let backwards = ClockFault::Backwards {
            clock: "rdtsc".to_owned(),
            times: 1,
        };
        let found = [
            Culprit::Clock(backwards),
            Culprit::Kernel(KernelFault::NoHighResolution),
        ];
        assert_eq!(
            told(&found),
            "Cause: clock rdtsc ran backwards once; the kernel's settings (no high-resolution timers)."
        );
        let loads =
            |names: &[&str]| Culprit::Loads(names.iter().map(|n| (*n).to_owned()).collect());
        assert_eq!(
            told(&[loads(&["busy", "io"]), Culprit::Limits(2)]),
            "No fault found: the loads busy, io themselves delay sleeps; 2 uses have limits tighter than this machine \
             sleeps."
        );
    }

    /// A machine of which five things are wrong, as it stands on screens of two widths.
    fn lines_of(found: &[Culprit], steps: &[Step]) -> [Vec<String>; 2] {
        let told = sentence(found, steps, "");
        [80, 100].map(|width| {
            let lines = wrap(&told, width, "", "  ");
            lines.lines().map(str::to_owned).collect()
        })
    }

    #[test]
    fn of_five_causes_all_are_named_in_two_lines() {
        let steps = [
            Mends::Clock,
            Mends::Host,
            Mends::Quota,
            Mends::Programs,
            Mends::With("slack 1 ns"),
        ]
        .map(Step::that);
        let host = Culprit::Host {
            share: 0.28,
            longest_ns: Some(400_000_000),
            is_guest: true,
            is_likely: true,
        };
        let names = ["transcode", "cc1", "make"].map(str::to_owned);
        let found = [
            host,
            Culprit::Programs(names.into()),
            mended(3, 8),
            Culprit::Clock(ClockFault::NotSynchronised),
            Culprit::Limits(4),
        ];
        let [narrow, wide] = lines_of(&found, &steps);
        assert_eq!(
            narrow.join("\n"),
            "Cause: most likely the host takes the CPU (28 %, up to 400 ms at once), step 2;\n  \
             also other programs, timer slack, the clock, tight limits."
        );
        assert_eq!(wide.len(), 2, "{wide:?}");
        // Any two of them, in any order, and names without end.
        let long = "x".repeat(300);
        let clock = ClockFault::Backwards {
            clock: long.clone(),
            times: 12_345,
        };
        let hostile = [
            Culprit::Clock(clock),
            Culprit::Programs(vec![long.clone()]),
            Culprit::Emulated(long.clone()),
            Culprit::Loads(vec![long.clone(); 9]),
            Culprit::Kernel(KernelFault::CoarseClocksource(long)),
        ];
        let all = [&found[..], &hostile[..]].concat();
        for a in &all {
            for b in &all {
                let pair = [a.clone(), b.clone()];
                let many = [&pair[..], &found[..3]].concat();
                for lines in [lines_of(&pair, &steps), lines_of(&many, &steps)].concat() {
                    assert!(lines.len() <= 2, "{lines:?}");
                }
            }
        }
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
