//! A table of numbers whose columns are broken into as many tables as the
//! width needs.

use super::tables::aligned;
use super::wrap;
use crate::figures::NONE;

/// One row: its label, and its numbers; a heading between rows has none.
pub(super) struct Line {
    /// Stands left.
    pub label: String,
    /// One entry a column.
    pub numbers: Vec<Option<String>>,
}

impl Line {
    /// A heading over the rows that follow.
    pub(super) fn heading(text: String) -> Self {
        Self {
            label: text,
            numbers: Vec::new(),
        }
    }
}

/// Writes `lines` below `titles`, the first of which heads the labels.
pub(super) fn table(out: &mut String, titles: &[String], lines: &[Line], width: usize) {
    let Some((first, titles)) = titles.split_first() else {
        return;
    };
    let chars = |s: &str| s.lines().map(|l| l.chars().count()).max().unwrap_or(0);
    let columns: Vec<usize> = titles
        .iter()
        .enumerate()
        .map(|(c, title)| {
            let entries = lines
                .iter()
                .filter_map(|l| l.numbers.get(c)?.as_deref().map(chars));
            entries.fold(chars(title).max(NONE.chars().count()), usize::max)
        })
        .collect();
    // The widest column must fit beside the labels, which are wrapped instead.
    let widest = columns.iter().max().map_or(0, |w| w + 2);
    let labels: Vec<String> = lines
        .iter()
        .map(|l| {
            let room = width.saturating_sub(widest);
            let indent = " ".repeat(l.label.len() - l.label.trim_start().len());
            wrap(l.label.trim_start(), room.max(8), &indent, &indent)
        })
        .collect();
    // Headings between rows stand in the column of the labels.
    let label_width = labels
        .iter()
        .map(|label| chars(label))
        .fold(chars(first), usize::max);
    let mut from = 0;
    while from < columns.len() {
        let mut used = label_width + 1;
        let mut to = from;
        while to < columns.len() && (to == from || used + columns[to] < width) {
            used += columns[to] + 1;
            to += 1;
        }
        let heads = std::iter::once(first.clone()).chain(titles[from..to].iter().cloned());
        let rows = lines.iter().zip(&labels).map(|(l, label)| {
            let numbers = (from..to).map(|c| match l.numbers.get(c) {
                None => String::new(),
                Some(n) => n.clone().unwrap_or_else(|| NONE.to_owned()),
            });
            std::iter::once(label.clone()).chain(numbers).collect()
        });
        out.push_str(&aligned(heads.collect(), rows, Some(to - from)));
        from = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_break_and_labels_wrap_where_room_is_short() {
        let line = |label: &str, n: [&str; 3]| Line {
            label: label.to_owned(),
            numbers: n.map(|x| Some(x.to_owned())).to_vec(),
        };
        let titles = ["Cause", "lost", "parts", "longest"].map(str::to_owned);
        let lines = [
            line("preempted by a-name", ["1.20 s", "400", "5.02 ms"]),
            Line::heading("a heading longer than any label".to_owned()),
            line("tick", ["3.40 ms", "1", "3.40 µs"]),
        ];
        for width in [24, 40, 100] {
            let mut out = String::new();
            table(&mut out, &titles, &lines, width);
            for text in out.lines() {
                assert!(text.chars().count() <= width, "{width}: {out}");
            }
            for text in ["1.20 s", "400", "5.02 ms", "tick"] {
                assert!(out.contains(text), "{out}");
            }
        }
    }
}
