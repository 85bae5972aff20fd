//! What to do now: what brings the clock in step, then the remedies that were shown to help, each with the
//! load and the quantile at which it did.

use tompion_assess::verdict::remedies::{REMEDIES, Remedy};
use tompion_assess::verdict::{
    Lateness, LatenessRow, LoadVerdict, Outcome, ProfileVerdict, Remedied,
};
use tompion_assess::wall_clock::wall_clock;
use tompion_model::format_ns;

use super::lines::{cut, under};
use crate::data::ReportData;
use crate::figures::{plain, quantile_name};
use crate::screen::{Paint, wrap};

/// Loads and uses that one step names for what it gains; further ones are in the report.
const MOST_GAINS: usize = 6;

/// Something to do.
pub struct Step {
    /// The remedy as verdicts name it; nothing for what helps the clock.
    remedy: Option<&'static str>,
    what: String,
    /// What it was shown to do, and what it costs.
    effect: String,
    /// The most telling of what it was shown to do.
    gain: String,
}

/// What one machine showed of remedies.
pub struct Shown<'a> {
    /// Its name among several; nothing where there is one.
    pub place: Option<&'a str>,
    pub lateness: Option<&'a Lateness>,
    pub profiles: Vec<&'a ProfileVerdict>,
}

/// What to do by what these machines showed.
pub fn steps(data: &ReportData, shown: &[Shown<'_>]) -> Vec<Step> {
    let remedies = REMEDIES.iter().filter_map(|remedy| of(remedy, shown));
    clock_step(data).into_iter().chain(remedies).collect()
}

/// A remedy, if it helped somewhere or a verdict takes it.
fn of(remedy: &'static Remedy, shown: &[Shown<'_>]) -> Option<Step> {
    let mut gains = Vec::new();
    for one in shown {
        let mut found = late(one, remedy);
        if found.is_empty() {
            // Those of periods that the table of lateness does not have.
            found = taken(one, remedy);
        }
        if let (Some(place), Some(first)) = (one.place, found.first_mut()) {
            *first = format!("{}: {first}", plain(place));
        }
        gains.extend(found);
    }
    let gain = gains.first()?.clone();
    let more = gains.len().saturating_sub(MOST_GAINS);
    gains.truncate(MOST_GAINS);
    if more > 0 {
        gains.push(format!("{more} more in the report"));
    }
    Some(Step {
        remedy: Some(remedy.name),
        what: format!("{}: {}", remedy.name, remedy.words.how),
        effect: format!("{}; costs: {}", gains.join(", "), remedy.words.price),
        gain,
    })
}

/// Under which loads it helped at the period of the table, and by how much.
fn late(shown: &Shown<'_>, remedy: &Remedy) -> Vec<String> {
    let Some(lateness) = shown.lateness else {
        return Vec::new();
    };
    let [before, rows @ ..] = &lateness.rows[..] else {
        return Vec::new();
    };
    let Some(after) = rows
        .iter()
        .find(|row: &&LatenessRow| row.name == remedy.name)
    else {
        return Vec::new();
    };
    let each = lateness.loads.iter().enumerate().filter_map(|(i, load)| {
        let (before, after) = (before.by_load[i]?, after.by_load[i]?);
        let [from, to] = [before.late_ns?, after.late_ns?].map(format_ns);
        let name = quantile_name(lateness.quantile);
        let helps = after.helps;
        helps.then(|| format!("{name} {} {from} \u{2192} {to}", under(load)))
    });
    each.collect()
}

/// Which uses it makes possible, under which loads.
fn taken(shown: &Shown<'_>, remedy: &Remedy) -> Vec<String> {
    let uses = shown.profiles.iter().flat_map(|p| {
        p.by_load
            .iter()
            .filter_map(move |l| Some((*p, l, takes(l, remedy)?)))
    });
    let each = uses.map(|(p, l, with): (&ProfileVerdict, &LoadVerdict, &Remedied)| {
        format!(
            "{}: {} {} {} \u{2192} {}",
            plain(&p.title),
            quantile_name(l.quantile),
            under(&l.load),
            format_ns(l.estimate_ns),
            format_ns(with.estimate_ns)
        )
    });
    each.collect()
}

/// What a verdict has with this remedy, where it passes with it.
fn takes<'a>(verdict: &'a LoadVerdict, remedy: &Remedy) -> Option<&'a Remedied> {
    let with = verdict.remedy.as_ref();
    with.filter(|with| verdict.outcome == Outcome::WithRemedy && with.name == remedy.name)
}

/// `with 2`: verdicts name what to do by number.
pub fn with(steps: &[Step], remedies: &[&str]) -> String {
    let number = |name: &&str| steps.iter().position(|s| s.remedy == Some(*name));
    let mut numbers: Vec<usize> = remedies.iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let numbers: Vec<String> = numbers.iter().map(|i| (i + 1).to_string()).collect();
    match numbers.is_empty() {
        true => Outcome::WithRemedy.in_words().to_owned(),
        false => format!("with {}", numbers.join(", ")),
    }
}

/// The steps, numbered; without what they gain where there is no room for it.
pub fn to_do(steps: &[Step], width: usize, room: usize, paint: &Paint) -> Vec<String> {
    if steps.is_empty() {
        return Vec::new();
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
        // Without what follows, and where that is not enough, without its name.
        let [clause, _] = parted(&what, "; ");
        let [first, _] = parted(clause, ", then ");
        let [_, bare] = parted(first, ": ");
        let gain = plain(&step.gain);
        let line = |what: &str| format!("  {}  {what}   {gain}", i + 1);
        let fits = |line: &String| line.chars().count() <= width;
        let whole = [line(clause), line(first), line(bare)]
            .into_iter()
            .find(fits);
        whole.unwrap_or_else(|| cut(&format!("  {}  {first}", i + 1), width))
    };
    lines.extend(steps.iter().enumerate().map(short));
    if lines.len() < room {
        lines.push("     What they gain and cost: tompion report".to_owned());
    }
    lines
}

/// What stands before and after the first `mark`; without one, all of it both times.
fn parted<'t>(text: &'t str, mark: &str) -> [&'t str; 2] {
    text.split_once(mark).map_or([text, text], |(a, b)| [a, b])
}

/// What brings the clock in step, where it is not.
fn clock_step(data: &ReportData) -> Option<Step> {
    let clock = wall_clock(&data.record().header.environment);
    let clock = clock.filter(|c| c.in_step == Some(false))?;
    let remedy = clock.remedy?;
    let off = clock.error_at_most_ns.map(|ns| format_ns(ns as f64));
    let now = off.map_or_else(|| "no bound".to_owned(), |off| format!("at most {off}"));
    Some(Step {
        remedy: None,
        what: match &remedy.steps[..] {
            [] => remedy.what.clone(),
            [one] => one.clone(),
            [one, two] => format!("{one}, then {two}"),
            [one, two, more @ ..] => {
                format!("{one}, then {two}; {} more steps: tompion env", more.len())
            }
        },
        effect: format!("{}; clock error now: {now}", remedy.what),
        gain: format!("clock error now: {now}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_little_room_each_step_has_a_line_with_what_it_gains() {
        let step = |what: &str, gain: &str| Step {
            remedy: None,
            what: what.to_owned(),
            effect: format!("{gain}; costs: nothing"),
            gain: gain.to_owned(),
        };
        let steps = [
            step(
                "slack 1 ns: prctl(1) in the thread; others inherit it",
                "p99 9 → 3 µs",
            ),
            step(
                "hybrid sleep: Sleeper::new(Policy::hybrid()), then sleep(duration)",
                "p99 9 → 1 µs",
            ),
            step(
                "one word: another thing that is far too long for a line of this kind",
                "p99",
            ),
        ];
        let paint = Paint { color: false };
        let lines = to_do(&steps, 60, 7, &paint);
        assert_eq!(
            lines[2..],
            [
                "  1  slack 1 ns: prctl(1) in the thread   p99 9 → 3 µs",
                "  2  Sleeper::new(Policy::hybrid())   p99 9 → 1 µs",
                "  3  one word: another thing that is far too long for a lin…",
                "     What they gain and cost: tompion report",
            ]
        );
        assert_eq!(
            to_do(&steps, 60, 5, &paint).len(),
            5,
            "what they gain has no room"
        );
        assert!(to_do(&steps, 100, 20, &paint).len() > 7);
    }
}
