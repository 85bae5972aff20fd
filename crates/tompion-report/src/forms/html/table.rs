//! Tables of the page: in pieces that a sheet of paper has room for.

use maud::{Markup, html as markup};
use tompion_assess::verdict::Outcome;

use crate::blocks::{Column, Entry, Judgement, Label, Media, Row, Style, Table, word};
use crate::figures::NONE;
use crate::remarks::Remarks;

/// Columns beside the labels that a sheet of paper has room for; further groups have a
/// table of their own below.
const MOST: usize = 12;

/// The same of columns with verdicts,
const MOST_VERDICTS: usize = 7;

/// and of columns with ranges of blocks.
const MOST_RANGES: usize = 5;

/// A column in its place: its number among those of a row, and whether a group begins.
struct Place<'a> {
    column: &'a Column,
    at: usize,
    first: bool,
}

pub(super) fn table(table: &Table) -> Markup {
    let of_page = |(_, column): &(usize, &Column)| column.media.has(Media::PAGE);
    let columns: Vec<(usize, &Column)> = table.columns.iter().enumerate().filter(of_page).collect();
    let rows: Vec<&Row> = table
        .rows
        .iter()
        .filter(|r| r.media.has(Media::PAGE))
        .collect();
    let remarks = Remarks::of(table, Media::PAGE);
    let has_ranges = rows
        .iter()
        .flat_map(|row| &row.cells)
        .any(|cell| match cell {
            Entry::Text(text) | Entry::Remarked(text, _) => is_range(text),
            _ => false,
        });
    if table.groups.is_empty() {
        let place = |(at, column)| Place {
            column,
            at,
            first: false,
        };
        let places: Vec<Place<'_>> = columns.into_iter().map(place).collect();
        let most = match table.style {
            Style::Verdicts => MOST_VERDICTS,
            _ if has_ranges => MOST_RANGES,
            Style::Numbers | Style::Small => places.len().max(1),
        };
        return markup! {
            div.parts {
                @for (i, places) in places.chunks(most).enumerate() {
                    (one(table, &[], places, &rows, i == 0, &remarks))
                }
                @if places.is_empty() { (one(table, &[], &[], &rows, true, &remarks)) }
                (below(&remarks))
            }
        };
    }
    let groups: Vec<usize> = (0..table.groups.len()).collect();
    let most = if has_ranges { MOST_RANGES } else { MOST };
    let together = (most / columns.len().max(1)).max(1);
    markup! {
        div.parts {
            @for groups in groups.chunks(together) {
                @let places: Vec<Place<'_>> = groups.iter().flat_map(|group| {
                    columns.iter().enumerate().map(move |(n, (i, column))| Place {
                        column,
                        at: group * table.columns.len() + i,
                        first: n == 0,
                    })
                }).collect();
                (one(table, groups, &places, &rows, true, &remarks))
            }
            (below(&remarks))
        }
    }
}

/// Some columns; `whole` with what labels say on pages.
fn one(
    table: &Table,
    groups: &[usize],
    places: &[Place<'_>],
    rows: &[&Row],
    whole: bool,
    remarks: &Remarks,
) -> Markup {
    let class = match table.style {
        Style::Numbers => "numbers",
        Style::Small => "numbers full",
        Style::Verdicts => "profiles",
    };
    let each = places.len() / groups.len().max(1);
    markup! {
        div.scroll tabindex="0" {
            table class=(class) {
                thead {
                    @if groups.is_empty() {
                        tr { th { (table.head) } @for p in places { (head(p)) } }
                    } @else {
                        tr {
                            th rowspan="2" { (table.head) }
                            @for group in groups { th.group colspan=(each) { (table.groups[*group].replace('\n', " ")) } }
                        }
                        tr { @for p in places { (head(p)) } }
                    }
                }
                @for rows in rows.chunk_by(|_, next| !next.is_heading()) {
                    tbody { @for row in rows { (line(table, row, places, whole, remarks)) } }
                }
            }
        }
    }
}

fn head(place: &Place<'_>) -> Markup {
    let title = place.column.title.replace('\n', " ");
    markup! { th class=[class(place)] { (title) } }
}

fn class(place: &Place<'_>) -> Option<&'static str> {
    match (place.first, place.column.words) {
        (true, _) => Some("first"),
        (_, true) => Some("left"),
        _ => None,
    }
}

/// What the signs beside figures stand for.
fn below(remarks: &Remarks) -> Markup {
    markup! { @for line in remarks.lines() { p.small { (line) } } }
}

fn line(table: &Table, row: &Row, places: &[Place<'_>], whole: bool, remarks: &Remarks) -> Markup {
    if row.is_heading() {
        return markup! {
            tr.group { th colspan=(places.len() + 1) { span { (row.label.line()) } } }
        };
    }
    let verdicts = table.style == Style::Verdicts;
    markup! {
        tr {
            th scope="row" { (label(&row.label, verdicts, whole)) }
            @for p in places {
                @let title = verdicts.then_some(p.column.title.as_str());
                td class=[class(p)] data-load=[title] { (entry(&row.cells[p.at], remarks)) }
            }
        }
    }
}

fn label(label: &Label, verdicts: bool, whole: bool) -> Markup {
    let notes = if whole { label.notes.as_slice() } else { &[] };
    markup! {
        @if verdicts { b { (label.name) } } @else { (label.name) }
        @if !label.variant.is_empty() { span.variant { (label.variant) } }
        @for note in notes { div.small { (note) } }
    }
}

/// Whether a figure is a range of blocks, which takes two lines where room is short.
fn is_range(text: &str) -> bool {
    text.ends_with("(blocks)")
}

fn entry(entry: &Entry, remarks: &Remarks) -> Markup {
    markup! {
        @match entry {
            Entry::None => (NONE),
            Entry::Text(text) => { @if is_range(text) { span.range { (text) } } @else { (text) } },
            Entry::Noted(text, note) => { (text) span.variant { (note) } },
            Entry::Remarked(text, remark) => span class=[is_range(text).then_some("range")] title=(remark) {
                (text) (remarks.sign(remark))
            },
            Entry::Share(share, words) => {
                svg.share viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                    rect class="f c0" width=(format!("{:.2}", (share * 100.0).max(0.4))) height="8" {}
                }
                b { (words) }
            },
            Entry::Verdict(judgement) => (verdict(judgement)),
        }
    }
}

fn verdict(judgement: &Judgement) -> Markup {
    markup! {
        (badge(judgement.outcome))
        @if let Some(value) = &judgement.value { div.value { (value.replace('\n', " ")) } }
        @for note in &judgement.notes { div.small.reason { (note) } }
    }
}

/// Sign and word, so that colour is never alone in saying it.
pub(super) fn badge(outcome: Outcome) -> Markup {
    let class = match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "fail",
        _ => "open",
    };
    let (sign, word) = word(outcome).split_once(' ').unwrap_or_default();
    markup! { span class={ "badge " (class) } { span aria-hidden="true" { (sign) } " " (word) } }
}
