//! What to do now: one file each for the clock, for who takes the CPU, and for the remedies that were shown to help,
//! each with the load and the quantile at which it did. What was not measured says so.

use tompion_assess::blame::Culprit;
use tompion_assess::parts::ClockFault;
use tompion_assess::verdict::{Lateness, Outcome, ProfileVerdict};

use super::lines::cut;
use crate::data::ReportData;
use crate::figures::plain;
use crate::screen::{Paint, wrap};

/// What is said to gain where nothing was measured of it.
const NOT_MEASURED: &str = "what it gains was not measured here";

/// What a step mends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mends {
    /// The clock.
    Clock,
    /// A host that takes the CPU.
    Host,
    /// A CPU quota.
    Quota,
    /// Other programs.
    Programs,
    /// What this remedy does, as verdicts name it.
    With(&'static str),
}

impl Mends {
    /// What mends this.
    pub fn of(culprit: &Culprit) -> Option<Self> {
        match culprit {
            Culprit::Clock(ClockFault::NotSynchronised) => Some(Self::Clock),
            Culprit::Host { .. } => Some(Self::Host),
            Culprit::Quota => Some(Self::Quota),
            Culprit::Programs(_) => Some(Self::Programs),
            Culprit::Mended { remedy, .. } => Some(Self::With(remedy.name)),
            Culprit::Clock(_)
            | Culprit::Kernel(_)
            | Culprit::Emulated(_)
            | Culprit::Loads(_)
            | Culprit::Limits(_) => None,
        }
    }
}

/// Something to do.
#[derive(Clone, Debug)]
pub struct Step {
    mends: Mends,
    /// What to do.
    pub what: String,
    /// The same where there is little room.
    short: String,
    /// What it was shown to do, and what it costs.
    pub effect: String,
    /// The most telling of what it was shown to do.
    pub gain: String,
}

impl Step {
    /// One whose effect was not measured.
    fn not_measured(mends: Mends, what: String, short: String) -> Self {
        Self {
            mends,
            what,
            short,
            effect: NOT_MEASURED.to_owned(),
            gain: "not measured here".to_owned(),
        }
    }

    /// Whether it brings the clock in step.
    pub fn is_for_the_clock(&self) -> bool {
        self.mends == Mends::Clock
    }

    /// Whether nothing was measured of what it gains.
    pub fn is_not_measured(&self) -> bool {
        self.effect == NOT_MEASURED
    }

    /// One that mends this, for tests.
    #[cfg(test)]
    pub fn that(mends: Mends) -> Self {
        Self::not_measured(mends, String::new(), String::new())
    }
}

/// What one machine showed.
pub struct Shown<'a> {
    /// Its name among several; nothing where there is one.
    pub place: Option<&'a str>,
    pub lateness: Option<&'a Lateness>,
    pub profiles: Vec<&'a ProfileVerdict>,
    pub culprits: Vec<Culprit>,
}

/// What may be done against one thing.
struct Kind {
    /// What to do by what these machines showed, where there is anything.
    steps: fn(&ReportData, &[Shown<'_>]) -> Vec<Step>,
}

tompion_model::entries! {
    /// The clock comes before who takes the CPU, and that before what makes sleeps better than they need be; of remedies what
    /// costs least is first.
    static KINDS: [Kind] =
        clock,
        host,
        quota,
        programs,
        remedies,
}

/// What to do by what these machines showed.
pub fn steps(data: &ReportData, shown: &[Shown<'_>]) -> Vec<Step> {
    let of = |kind: &&Kind| (kind.steps)(data, shown);
    in_order(KINDS.iter().flat_map(of).collect(), shown)
}

/// Of those who take the CPU the first is who made most sleeps late.
fn in_order(mut found: Vec<Step>, shown: &[Shown<'_>]) -> Vec<Step> {
    let place = |step: &Step| match step.mends {
        Mends::Clock => 0,
        Mends::With(_) => usize::MAX,
        mends => {
            let at_fault = |s: &Shown<'_>| {
                let mut of = s.culprits.iter();
                of.position(|c| Mends::of(c) == Some(mends))
            };
            shown.iter().filter_map(at_fault).min().unwrap_or(0) + 1
        }
    };
    found.sort_by_key(place);
    found
}

/// The machines on which something is at fault, to precede what to do: `on a, b: `; nothing where there is one.
fn places(shown: &[Shown<'_>], is_at_fault: impl Fn(&Culprit) -> bool) -> Option<String> {
    let there = shown.iter().filter(|s| s.culprits.iter().any(&is_at_fault));
    let named: Vec<Option<&str>> = there.map(|s| s.place).collect();
    let names: Vec<String> = named.iter().flatten().map(|place| plain(place)).collect();
    match (named.is_empty(), names.is_empty()) {
        (true, _) => None,
        (_, true) => Some(String::new()),
        _ => Some(format!("on {}: ", names.join(", "))),
    }
}

/// Whether a name may stand in a command that people type: a run may come from anywhere, and this has nothing in it that a shell
/// would act on, nor is it an option.
fn is_plain(name: &str) -> bool {
    let is_harmless = |c: char| c.is_ascii_alphanumeric() || "_.@:-".contains(c);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(is_harmless)
}

/// The number of the step that mends this.
pub fn number(steps: &[Step], mends: Mends) -> Option<usize> {
    let at = steps.iter().position(|step| step.mends == mends);
    at.map(|at| at + 1)
}

/// The numbers of remedies among the steps, in order.
pub fn numbers<'a>(steps: &[Step], remedies: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let is = |step: &Step, name: &str| matches!(step.mends, Mends::With(known) if known == name);
    let number = |name: &str| steps.iter().position(|step| is(step, name));
    let mut numbers: Vec<usize> = remedies.filter_map(number).map(|at| at + 1).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// `with 2`: verdicts name what to do by number.
pub fn with<'a>(steps: &[Step], remedies: impl Iterator<Item = &'a str>) -> String {
    let numbers = numbers(steps, remedies);
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    match numbers.is_empty() {
        true => Outcome::WithRemedy.in_words().to_owned(),
        false => format!("with {}", numbers.join(", ")),
    }
}

/// `step 1`, `steps 1 and 2`; nothing without a number.
pub fn by_number(numbers: &[usize]) -> Option<String> {
    let texts: Vec<String> = numbers.iter().map(usize::to_string).collect();
    match &texts[..] {
        [] => None,
        [one] => Some(format!("step {one}")),
        [most @ .., last] => Some(format!("steps {} and {last}", most.join(", "))),
    }
}

/// The steps, numbered; without what they gain where there is no room for it. Without any `nothing` says so.
pub fn to_do(
    steps: &[Step],
    nothing: &str,
    width: usize,
    room: usize,
    paint: &Paint,
) -> Vec<String> {
    if steps.is_empty() {
        let line = wrap(&format!("Do now: {nothing}"), width, "", "  ");
        let lines = std::iter::once("").chain(line.lines());
        return lines.map(str::to_owned).collect();
    }
    let mut lines = vec![String::new(), paint.bold("Do now")];
    let numbered = |(i, step): (usize, &Step)| {
        let first = format!("  {}  ", i + 1);
        let what = wrap(&plain(&step.what), width, &first, "     ");
        let effect = wrap(&plain(&step.effect), width, "     ", "     ");
        [what, effect].join("\n")
    };
    let whole: Vec<String> = steps.iter().enumerate().map(numbered).collect();
    let whole: Vec<&str> = whole.iter().flat_map(|step| step.lines()).collect();
    if lines.len() + whole.len() <= room {
        lines.extend(whole.into_iter().map(str::to_owned));
        return lines;
    }
    // Verdicts name them by number: each has a line at least.
    let short = |(i, step): (usize, &Step)| {
        let what = plain(&step.what);
        // Without what follows, and where that is not enough, in its short form.
        let clause = before(&what, "; ");
        let first = before(clause, ", then ");
        let short = plain(&step.short);
        let gain = plain(&step.gain);
        let bare = |what: &str| format!("  {}  {what}", i + 1);
        let line = |what: &str| format!("{}   {gain}", bare(what));
        let fits = |line: &String| line.chars().count() <= width;
        // Half a command helps nobody: what it gains gives way before.
        let whole = [
            line(clause),
            line(first),
            line(&short),
            bare(clause),
            bare(first),
            bare(&short),
        ];
        let whole = whole.into_iter().find(fits);
        whole.unwrap_or_else(|| cut(&bare(first), width))
    };
    lines.extend(steps.iter().enumerate().map(short));
    if lines.len() < room {
        lines.push("     What they gain and cost: in the report".to_owned());
    }
    lines
}

/// What stands before the first `mark`; without one, all of it.
fn before<'t>(text: &'t str, mark: &str) -> &'t str {
    text.split_once(mark).map_or(text, |(before, _)| before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_those_who_take_the_cpu_who_made_most_sleeps_late_is_first() {
        let steps = || {
            let mends = [
                Mends::With("spinning"),
                Mends::Host,
                Mends::Quota,
                Mends::Programs,
                Mends::Clock,
            ];
            mends.map(Step::that).to_vec()
        };
        let order = |culprits: Vec<Culprit>| {
            let shown = Shown {
                place: None,
                lateness: None,
                profiles: Vec::new(),
                culprits,
            };
            in_order(steps(), &[shown])
                .iter()
                .map(|s| s.mends)
                .collect::<Vec<_>>()
        };
        let programs = || Culprit::Programs(vec!["cc1".to_owned()]);
        let (clock, with) = (Mends::Clock, Mends::With("spinning"));
        // Whoever is at fault nowhere is before who is, as nothing else is known of it.
        assert_eq!(
            order(vec![programs(), Culprit::Quota]),
            [clock, Mends::Host, Mends::Programs, Mends::Quota, with]
        );
        assert_eq!(
            order(vec![Culprit::Quota, programs()]),
            [clock, Mends::Host, Mends::Quota, Mends::Programs, with]
        );
    }

    #[test]
    fn where_there_is_little_room_each_step_has_a_line_with_what_it_gains() {
        let step = |what: &str, short: &str, gain: &str| Step {
            mends: Mends::Clock,
            what: what.to_owned(),
            short: short.to_owned(),
            effect: format!("{gain}; costs: nothing"),
            gain: gain.to_owned(),
        };
        let steps = [
            step(
                "slack 1 ns: prctl(1) in the thread; others inherit it",
                "prctl(1)",
                "p99 9 → 3 µs",
            ),
            step(
                "hybrid sleep: Sleeper::new(Policy::hybrid()), then sleep(duration)",
                "Sleeper::new(Policy::hybrid())",
                "p99 9 → 1 µs",
            ),
            step(
                "another word: a command of some length that wants all its words; and more",
                "a command of some length that wants all its words",
                "p99 at rest 9 → 3 µs and more",
            ),
            step(
                "one word: another thing that is far too long for a line of this kind",
                "another thing that is far too long for a line of this kind",
                "p99",
            ),
        ];
        let paint = Paint { color: false };
        let lines = to_do(&steps, "", 60, 8, &paint);
        assert_eq!(
            lines[2..],
            [
                "  1  slack 1 ns: prctl(1) in the thread   p99 9 → 3 µs",
                "  2  Sleeper::new(Policy::hybrid())   p99 9 → 1 µs",
                "  3  a command of some length that wants all its words",
                "  4  one word: another thing that is far too long for a lin…",
                "     What they gain and cost: in the report",
            ]
        );
        assert_eq!(
            to_do(&steps, "", 60, 6, &paint).len(),
            6,
            "what they gain has no room"
        );
        assert!(to_do(&steps, "", 100, 20, &paint).len() > 7);
        let nothing = to_do(&[], "nothing to do.", 100, 20, &paint);
        assert_eq!(nothing, ["", "Do now: nothing to do."]);
    }
}
