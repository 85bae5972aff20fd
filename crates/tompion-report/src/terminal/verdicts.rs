//! What time is good for, use by use.

use tompion_verdict::{LoadVerdict, Outcome, ProfileVerdict};

use super::numbers::{Line, table as numbers};
use super::tables::{aligned, missed_any};
use super::{Paint, heading, wrap};
use crate::data::ReportData;
use crate::figures::{NONE, count, plain};
use crate::sections::load_title;
use crate::verdicts::{self, ByPlace, Judged, OfUse};

/// Below this width outcomes are shown by their signs alone.
const NARROW: usize = 64;

/// Every use judged under every load, and on every platform where there are several.
pub(super) fn profiles(out: &mut String, data: &ReportData, width: usize, paint: Paint) {
    let profiles = &data.assessment().profiles;
    if profiles.is_empty() {
        return;
    }
    heading(out, "Is time good enough here?", paint);
    let missed = data.shown().any(|s| missed_any(&s));
    let lines: Vec<String> = match verdicts::by_place(profiles) {
        Some(found) => {
            by_place(out, &found, missed, width, paint);
            let of_use = |of_use: &OfUse<'_>| {
                let p = of_use.first();
                requirement(&p.name, p, of_use.judged_with(&found.places))
            };
            found.uses.iter().map(of_use).collect()
        }
        None => {
            by_load(out, profiles, missed, width, paint);
            let of_use = |p: &ProfileVerdict| {
                requirement(
                    &format!("{}{}", p.name, p.place()),
                    p,
                    verdicts::judged_with(p),
                )
            };
            profiles.iter().map(of_use).collect()
        }
    };
    for line in lines {
        out.push_str(&paint.dim(&wrap(&plain(&line), width, "  ", "    ")));
        out.push('\n');
    }
    if let Some(more) = verdicts::how_to_get_more(data) {
        out.push_str(&wrap(&more, width, "", ""));
        out.push('\n');
    }
}

/// A row for each use, a column for each platform or placement; under several loads these
/// rows for each of them.
fn by_place(out: &mut String, found: &ByPlace<'_>, missed: bool, width: usize, paint: Paint) {
    let titles = std::iter::once("Use".to_owned()).chain(found.places.iter().map(|p| plain(p)));
    let mut lines = Vec::new();
    let label = |of_use: &OfUse<'_>| plain(&of_use.first().title);
    if found.loads.len() > 1 {
        lines.push(Line::heading("Overall".to_owned()));
        lines.extend(found.uses.iter().map(|of_use| {
            Line {
                label: label(of_use),
                numbers: (of_use.at.iter())
                    .map(|p| p.map(|p| outcome(p.outcome).to_owned()))
                    .collect(),
            }
        }));
    }
    for load in &found.loads {
        if found.loads.len() > 1 {
            lines.push(Line::heading(plain(load_title(load))));
        }
        lines.extend(found.uses.iter().map(|of_use| {
            let judged = of_use.at.iter().map(|p| {
                let p = (*p)?;
                let v = p.by_load.iter().find(|v| v.load == *load)?;
                Some(judgement(v, p.missed_filled && missed))
            });
            Line {
                label: label(of_use),
                numbers: judged.collect(),
            }
        }));
    }
    let mut table = String::new();
    numbers(&mut table, &titles.collect::<Vec<_>>(), &lines, width);
    out.push_str(&paint.glyphs(&table));
}

/// A row for each use, a column for each load.
fn by_load(
    out: &mut String,
    profiles: &[ProfileVerdict],
    missed: bool,
    width: usize,
    paint: Paint,
) {
    let loads = verdicts::loads(profiles);
    let short = width < NARROW;
    let longest = profiles.iter().map(|p| plain(&p.title()).chars().count());
    let (overall, judged) = (if short { 3 } else { 16 }, 20);
    let title = longest
        .max()
        .unwrap_or(0)
        .min(width.saturating_sub(overall + judged));
    let fit = (width.saturating_sub(title + overall) / judged).max(1);
    let mut table = String::new();
    let groups: Vec<&[&str]> = if loads.is_empty() {
        vec![&[]]
    } else {
        loads.chunks(fit).collect()
    };
    for some in groups {
        let mut heads = vec!["Use".to_owned(), "Overall".to_owned()];
        if short {
            heads[1].clear();
        }
        heads.extend(some.iter().map(|l| plain(load_title(l))));
        let rows = profiles.iter().map(|p| {
            let name = wrap(&plain(&p.title()), title, "", "");
            let overall = match short {
                true => glyph(p.outcome).to_string(),
                false => outcome(p.outcome).to_owned(),
            };
            let judged = verdicts::by_load(p, some);
            let filled = p.missed_filled && missed;
            let judged =
                judged.map(|v| v.map_or_else(|| NONE.to_owned(), |v| judgement(v, filled)));
            [name, overall].into_iter().chain(judged).collect()
        });
        table.push_str(&aligned(heads, rows, None));
    }
    out.push_str(&paint.glyphs(&table));
}

/// Glyph and word for an outcome.
fn outcome(o: Outcome) -> &'static str {
    match o {
        Outcome::Pass => "✓ pass",
        Outcome::Fail => "✗ fail",
        Outcome::Inconclusive => "? inconclusive",
    }
}

/// The judged value, for example `✓ p99 4.10 µs`, with a dagger after the
/// quantile where that is not the one as measured; on two lines where there is
/// none.
fn judgement(v: &LoadVerdict, filled: bool) -> String {
    let glyph = glyph(v.outcome);
    let mark = if filled { "\u{2020}" } else { "" };
    match Judged::of(v) {
        Judged::Value(quantile, value) => format!("{glyph} {quantile}{mark} {value}"),
        Judged::Beyond(quantile, limit) => format!("{glyph} {quantile}{mark} > {limit}"),
        Judged::TooFew(missing) => {
            format!("{glyph} too few samples\n  ({} more)", count(missing))
        }
    }
}

/// The sign of an outcome alone.
fn glyph(o: Outcome) -> char {
    outcome(o).chars().next().unwrap_or(' ')
}

/// The limit of a use, and what it was judged with.
fn requirement(name: &str, p: &ProfileVerdict, method: Option<String>) -> String {
    let judged_with = method.map_or_else(String::new, |m| format!("; judged with {m}"));
    format!("{name}: {}{judged_with}", p.requirement)
}
