//! What time is good for, use by use.

use tompion_assess::verdict::{LoadVerdict, ProfileVerdict};
use tompion_model::{factor, format_ns};
use tompion_probe::wake_up;

use super::{Machine, Question, Section};
use crate::blocks::{
    Block, Column, Content, Entry, Judgement, Label, Layout, Media, Row, Style, Table,
};
use crate::data::{ReportData, Shown};
use crate::figures::count;
use crate::grid::load_title;
use crate::summary;
use crate::verdicts::{self, ByPlace, Judged, OfUse};

pub(super) static ENTRY: Section = Section {
    name: "uses",
    title: "Is time good enough here?",
    question: Some(Question::Fit),
    probe: None,
    blocks,
    // Machines find it in the assessment.
    machine: Machine::Keys(|_, _| {}),
};

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let profiles = &data.assessment().profiles;
    if profiles.is_empty() {
        let none = "No fitness profile was judged.";
        return vec![Content::Text(none.to_owned()).on(Media::PAGE)];
    }
    // Where nothing slept there is nothing to judge, and a terminal has no room to say so.
    let slept = |s: Shown<'_>| s.cell.factors.level(factor::PROBE) == wake_up::NAME;
    let judged = data.shown().any(slept);
    let screen = |media: Media| if judged { media } else { Media::NOT_SCREEN };
    let missed = data.shown().any(|s| missed_any(&s));
    let mut blocks = vec![
        Content::Lead(
            "Each use is judged at its own period, by the number of samples that come later than its limit: it passes where so few show \
             that the quantile keeps the limit, fails where so many show that it does not (each wrong in at most 5 % of runs), and is \
             inconclusive otherwise. It is judged as it is, by the kernel's sleep to absolute deadlines; where that does not do, with a \
             remedy, which is chosen by the first block and judged by the others. \
             With absolute deadlines the quantile counts the periods that a late wake-up missed (coordinated omission); the tables \
             further down show it as a column of its own."
                .to_owned(),
        )
        .on(Media::PAGE),
    ];
    let lines: Vec<String> = match verdicts::by_place(profiles) {
        Some(found) => {
            blocks.push(Content::Table(by_place(profiles, &found, missed)).on(screen(Media::ALL)));
            let each = Content::fold(
                "Each by itself: requirements, methods, figures",
                false,
                vec![Content::Table(by_load(profiles, missed)).into()],
            );
            blocks.push(each.on(Media::NOT_SCREEN));
            let of_use = |of_use: &OfUse<'_>| {
                let p = of_use.first();
                requirement(&p.name, p, of_use.judged_with(&found.places))
            };
            found.uses.iter().map(of_use).collect()
        }
        None => {
            blocks.push(Content::Table(by_load(profiles, missed)).on(screen(Media::ALL)));
            let of_use = |p: &ProfileVerdict| {
                let name = format!("{}{}", p.name, p.place());
                requirement(&name, p, verdicts::judged_with(p))
            };
            profiles.iter().map(of_use).collect()
        }
    };
    // Those of the first loads stand on a page's first sheet.
    let pictures = summary::verdicts(data).map(|found| found.pictures());
    let further: Vec<_> = pictures.into_iter().flatten().skip(1).collect();
    if !further.is_empty() {
        blocks.push(Content::Figures(Layout::Below, further).on(Media::PAGE));
    }
    if judged {
        let notes = lines
            .into_iter()
            .map(|line| Content::Note(line).on(Media::SCREEN));
        blocks.extend(notes);
        if verdicts::by_place(profiles).is_none() {
            let why =
                |p: &ProfileVerdict| Some(format!("{}: open {}", p.name, verdicts::why_open(p)?));
            let open = profiles.iter().filter_map(why);
            blocks.extend(open.map(|line| Content::Note(line).on(Media::NOT_PAGE)));
        }
        let more = verdicts::how_to_get_more(data);
        blocks.extend(more.map(|more| Content::Text(more).into()));
    }
    blocks
}

/// Whether verdicts see other quantiles of this cell than the tables of latency.
pub(super) fn missed_any(s: &Shown<'_>) -> bool {
    s.cell.missed_periods.is_some_and(|n| n > 0) && s.view.filled.is_some()
}

/// Empty places that a table of verdicts may have, whatever it holds.
const EMPTY: usize = 4096;
/// And for each verdict.
const EMPTY_EACH: usize = 8;

/// Whether verdicts under so many loads stand in a table: not where nearly all of its places would be
/// empty, since they take memory as well. What each use comes to over its loads is told all the same.
fn is_mostly_judged(profiles: &[ProfileVerdict], loads: usize) -> bool {
    let judged: usize = profiles.iter().map(|p| p.by_load.len()).sum();
    profiles.len().saturating_mul(loads) <= EMPTY + EMPTY_EACH * judged
}

/// A row for each use, a column for each platform or placement; under several loads these
/// rows for each of them.
fn by_place(profiles: &[ProfileVerdict], found: &ByPlace<'_>, missed: bool) -> Table {
    let several = found.loads.len() > 1;
    let mut rows = Vec::new();
    let label = |of_use: &OfUse<'_>| of_use.first().title.clone();
    if several {
        rows.push(Row::heading("all loads together"));
        rows.extend(found.uses.iter().map(|of_use| {
            let overall = of_use.at.iter().map(|p| p.map_or(Entry::None, overall));
            Row::new(label(of_use), overall.collect())
        }));
    }
    let loads = match is_mostly_judged(profiles, found.loads.len()) {
        true => &found.loads[..],
        false => &[],
    };
    for load in loads {
        if several {
            rows.push(Row::heading(load_title(load)));
        }
        rows.extend(found.uses.iter().map(|of_use| {
            let judged = of_use.at.iter().map(|p| {
                let found = p.and_then(|p| Some((p, p.under(load)?)));
                found.map_or(Entry::None, |(p, v)| {
                    judgement(v, p.missed_filled && missed)
                })
            });
            Row::new(label(of_use), judged.collect())
        }));
    }
    Table::of(
        "Use",
        found.places.iter().map(Column::words).collect(),
        rows,
    )
    .by("load")
    .set(Style::Verdicts)
}

/// A row for each verdict, a column for each load.
fn by_load(profiles: &[ProfileVerdict], missed: bool) -> Table {
    let mut loads = verdicts::loads(profiles);
    if !is_mostly_judged(profiles, loads.len()) {
        loads.clear();
    }
    let mut columns = vec![
        Column::words("Requirement").on(Media::TEXT),
        Column::words("Overall"),
    ];
    columns.extend(loads.iter().map(|load| Column::words(load_title(load))));
    let row = |p: &ProfileVerdict| {
        let filled = p.missed_filled && missed;
        let judged = verdicts::by_load(p, &loads);
        let judged = judged.map(|v| v.map_or(Entry::None, |v| judgement(v, filled)));
        let entries = [Entry::Text(p.requirement.clone()), overall(p)];
        let method = verdicts::judged_with(p).map(|method| {
            let filled = if p.missed_filled {
                ", corrected for coordinated omission"
            } else {
                ""
            };
            format!("judged with {method}{filled}")
        });
        let notes = [p.name.clone(), p.requirement.clone()];
        let notes = notes.into_iter().chain(method).chain([p.source.clone()]);
        let label = Label {
            notes: notes.collect(),
            ..Label::from(p.title())
        };
        Row::new(label, entries.into_iter().chain(judged).collect())
    };
    Table::of("Use", columns, profiles.iter().map(row).collect()).set(Style::Verdicts)
}

fn overall(p: &ProfileVerdict) -> Entry {
    Entry::Verdict(Judgement {
        outcome: p.outcome,
        value: None,
        notes: Vec::new(),
    })
}

/// The judged value, for example `p99 4.10 µs`, with a dagger after the quantile where that
/// is not the one as measured; how much is missing where there is none.
fn judgement(v: &LoadVerdict, filled: bool) -> Entry {
    let mark = if filled { "\u{2020}" } else { "" };
    let mut notes = Vec::new();
    let value = match Judged::of(v) {
        Judged::Value(quantile, value) => {
            if let (Some(low), Some(high)) = (v.low_ns, v.high_ns) {
                notes.push(format!("[{}, {}]", format_ns(low), format_ns(high)));
            }
            format!("{quantile}{mark} {value}")
        }
        Judged::Beyond(quantile, limit) => format!("{quantile}{mark} > {limit}"),
        Judged::TooFew(missing) => format!("too few samples\n({} more)", count(missing)),
    };
    notes.extend(verdicts::watched(v));
    notes.extend(v.reason.clone());
    Entry::Verdict(Judgement {
        outcome: v.outcome,
        value: Some(value),
        notes,
    })
}

/// The limit of a use, and what it was judged with.
fn requirement(name: &str, p: &ProfileVerdict, method: Option<String>) -> String {
    let judged_with = method.map_or_else(String::new, |m| format!("; judged with {m}"));
    format!("{name}: {}{judged_with}", p.requirement)
}
