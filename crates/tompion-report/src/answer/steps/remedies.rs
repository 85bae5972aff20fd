//! Remedies that were shown to help, or that a verdict takes.

use tompion_assess::verdict::remedies::{REMEDIES, Remedy};
use tompion_assess::verdict::{LatenessRow, LoadVerdict, Outcome, ProfileVerdict, Remedied};
use tompion_model::format_ns;

use super::{Kind, Mends, Shown, Step, before};
use crate::data::ReportData;
use crate::figures::{plain, quantile_name};
use crate::grid::under;

pub(super) static ENTRY: Kind = Kind { steps };

/// Loads and uses that one step names for what it gains; further ones are in the report.
const MOST_GAINS: usize = 6;

fn steps(_: &ReportData, shown: &[Shown<'_>]) -> Vec<Step> {
    REMEDIES
        .iter()
        .filter_map(|remedy| of(remedy, shown))
        .collect()
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
        mends: Mends::With(remedy.name),
        what: format!("{}: {}", remedy.name, remedy.words.how),
        short: before(before(remedy.words.how, "; "), ", then ").to_owned(),
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
