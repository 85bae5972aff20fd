//! Tables in a terminal: as many groups of columns side by side as fit, and where not even
//! one does, as many columns.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table as Grid, TableStyle};

use super::wrap;
use crate::blocks::{Entry, Media, Row, Table, word};
use crate::figures::{NONE, plain};
use crate::remarks::Remarks;

/// Characters of a line where there is no room for longer ones.
const NARROW: usize = 14;

/// A rule below the headings is all the frame a table has.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// A column that is to be shown: its group, its title, what stands in each row.
struct Shown {
    group: usize,
    /// The group's title over the first of its columns.
    over: String,
    title: String,
    words: bool,
    /// Nothing for headings.
    entries: Vec<Option<String>>,
}

impl Shown {
    /// Characters of its widest line.
    fn width(&self) -> usize {
        let entries = self.entries.iter().flatten();
        let widest = entries.map(|text| chars(text)).fold(1, usize::max);
        widest.max(chars(&self.title))
    }

    /// Breaks words into lines where they take more than a figure does.
    fn narrow(&mut self) {
        for text in self.entries.iter_mut().flatten() {
            if chars(text) > NARROW {
                *text = text.split(' ').fold(String::new(), |lines, word| {
                    let last = lines.lines().last().map_or(0, chars);
                    match lines.as_str() {
                        "" => word.to_owned(),
                        _ if last + 1 + chars(word) > NARROW => format!("{lines}\n{word}"),
                        _ => format!("{lines} {word}"),
                    }
                });
            }
        }
    }

    /// The same where its group's title stands over it.
    fn first(&self) -> usize {
        self.width().max(chars(&self.over))
    }
}

/// Characters of the widest line of `text`.
fn chars(text: &str) -> usize {
    text.lines().map(|l| l.chars().count()).max().unwrap_or(0)
}

/// `table` as lines of at most `width` characters, where its narrowest form fits.
pub(super) fn table(table: &Table, width: usize) -> String {
    let rows: Vec<&Row> = table
        .rows
        .iter()
        .filter(|r| r.media.has(Media::SCREEN))
        .collect();
    let indented = rows.iter().any(|r| r.is_heading());
    let remarks = Remarks::of(table, Media::SCREEN);
    let mut columns = columns(table, &rows, &remarks);
    let wide = columns.iter().map(|c| c.first() + 2).max().unwrap_or(0);
    if wide + chars(&table.head) > width {
        columns.iter_mut().for_each(Shown::narrow);
    }
    let widest = columns.iter().map(|c| c.first() + 2).max().unwrap_or(0);
    let room = width.saturating_sub(widest).max(8);
    // The widest column must fit beside the labels, which are wrapped instead.
    let labels: Vec<String> = rows
        .iter()
        .map(|row| {
            let indent = if indented && !row.is_heading() {
                "  "
            } else {
                ""
            };
            wrap(&plain(&row.label.short()), room, indent, indent)
        })
        .collect();
    let labels_wide = labels
        .iter()
        .map(|label| chars(label))
        .fold(chars(&table.head), usize::max);
    let mut out = String::new();
    for columns in pieces(&columns, width.saturating_sub(labels_wide)) {
        out.push_str(&aligned(&table.head, &labels, columns));
    }
    for line in remarks.lines() {
        out.push_str(&wrap(&plain(&line), width, "", "  "));
        out.push('\n');
    }
    out
}

fn columns(table: &Table, rows: &[&Row], remarks: &Remarks) -> Vec<Shown> {
    let mut columns = Vec::new();
    for group in 0..table.groups.len().max(1) {
        let mut over = table.groups.get(group).map(|title| lines(title));
        for (i, column) in table.columns.iter().enumerate() {
            if !column.media.has(Media::SCREEN) {
                continue;
            }
            let at = group * table.columns.len() + i;
            columns.push(Shown {
                group,
                over: over.take().unwrap_or_default(),
                title: lines(&column.title),
                words: column.words,
                entries: rows
                    .iter()
                    .map(|r| r.cells.get(at).map(|e| entry(e, remarks)))
                    .collect(),
            });
        }
    }
    columns
}

/// Text with its line breaks, safe for a terminal.
fn lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(plain).collect();
    lines.join("\n")
}

fn entry(entry: &Entry, remarks: &Remarks) -> String {
    match entry {
        Entry::None => NONE.to_owned(),
        Entry::Remarked(text, remark) => format!("{}{}", plain(text), remarks.sign(remark)),
        Entry::Verdict(judgement) => match (word(judgement.outcome), &judgement.value) {
            (word, None) => word.to_owned(),
            (word, Some(value)) => {
                let sign = word.chars().next().unwrap_or(' ');
                format!("{sign} {}", lines(value).replace('\n', "\n  "))
            }
        },
        other => plain(&other.line()),
    }
}

/// The longest runs of columns that fit into `room`, of whole groups where these do, and of
/// one column at least.
fn pieces(columns: &[Shown], room: usize) -> Vec<&[Shown]> {
    // How many of the first columns fit.
    let longest = |some: &[Shown]| -> usize {
        let mut needs = 0;
        let fit = some.iter().enumerate().take_while(|(n, column)| {
            let is_first = n
                .checked_sub(1)
                .is_none_or(|before| some[before].group != column.group);
            // The group's title stands over its first column.
            needs += match is_first {
                true => column.first() + 2,
                false => column.width() + gap(column),
            };
            needs <= room
        });
        fit.count().max(1)
    };
    let mut pieces = Vec::new();
    let mut rest = columns;
    while !rest.is_empty() {
        let longest = longest(rest);
        // Whole groups, unless not even one fits.
        let ends = |n: &usize| *n == rest.len() || rest[*n].group != rest[*n - 1].group;
        let whole = (1..=longest).rev().find(ends).unwrap_or(longest);
        let (piece, left) = rest.split_at(whole);
        pieces.push(piece);
        rest = left;
    }
    pieces
}

/// Spaces before a column that is not the first of its group.
fn gap(column: &Shown) -> usize {
    if column.words { 2 } else { 1 }
}

fn aligned(head: &str, labels: &[String], columns: &[Shown]) -> String {
    let mut table = Grid::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Disabled);
    let high = |of: fn(&Shown) -> &str| columns.iter().map(|c| of(c).lines().count()).max();
    let (high, over) = (high(|c| &c.title), high(|c| &c.over));
    // All titles end on the line above the rule, and those of groups on one above them.
    let heading = |over_it: &str, title: &str| {
        let down = |text: &str, high: Option<usize>| {
            let above = high
                .unwrap_or(0)
                .saturating_sub(text.lines().count().max(1));
            "\n".repeat(above) + text
        };
        match over {
            None | Some(0) => Cell::new(down(title, high)),
            over => Cell::new(format!("{}\n{}", down(over_it, over), down(title, high))),
        }
    };
    let mut heads = vec![heading("", head)];
    heads.extend(columns.iter().map(|c| heading(&c.over, &c.title)));
    table.set_header(heads);
    for (i, label) in labels.iter().enumerate() {
        let entries = columns
            .iter()
            .map(|c| c.entries[i].clone().unwrap_or_default());
        table.add_row(std::iter::once(label.clone()).chain(entries));
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        let Some(shown) = i.checked_sub(1).map(|i| &columns[i]) else {
            column.set_padding((0, 0));
            continue;
        };
        let begins = i == 1 || columns[i - 2].group != shown.group;
        column.set_padding((if begins { 2 } else { gap(shown) as u16 }, 0));
        if !shown.words {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::{Column, Style};

    #[test]
    fn columns_break_and_labels_wrap_where_room_is_short() {
        let row = |label: &str, n: [&str; 3]| Row::of(label, n.map(str::to_owned));
        let of = |groups: &[&str], rows| Table {
            head: "Cause".to_owned(),
            by: "load",
            groups: groups.iter().map(|&g| g.to_owned()).collect(),
            columns: Column::all(["lost", "parts", "longest"]),
            rows,
            style: Style::Numbers,
        };
        let flat = of(
            &[],
            vec![
                row("preempted by a-name", ["1.20 s", "400", "5.02 ms"]),
                Row::heading("a heading longer than any label"),
                row("tick", ["3.40 ms", "1", "3.40 µs"]),
            ],
        );
        let twice = |r: Row| Row {
            cells: (0..6).map(|i| Entry::Text(format!("{i}.00 ms"))).collect(),
            ..r
        };
        let grouped = of(&["idle", "cpu"], vec![twice(Row::heading("tick"))]);
        for width in [24, 40, 100] {
            let text = table(&flat, width);
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {text}");
            }
            for words in ["1.20 s", "400", "5.02 ms", "tick"] {
                assert!(text.contains(words), "{text}");
            }
            let text = table(&grouped, width);
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {text}");
            }
            for i in 0..6 {
                assert!(text.contains(&format!("{i}.00 ms")), "{text}");
            }
        }
    }
}
