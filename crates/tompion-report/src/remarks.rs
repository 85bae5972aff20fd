//! Remarks on figures of a table: a sign beside each, and a line below the table for each remark
//! with the rows that it is about.

use std::collections::HashMap;

use crate::blocks::{Entry, Media, Row, Table};

/// Rows that a remark names; of more it says how many.
const MOST_NAMED: usize = 6;

/// The remarks of one table, in the order of their first places.
pub(crate) struct Remarks {
    all: Vec<Remark>,
    /// The number of each.
    numbers: HashMap<String, usize>,
}

struct Remark {
    text: String,
    /// Rows in words, with the group of columns where there are several.
    places: Vec<String>,
    /// Whether it is about all that the table shows.
    everywhere: bool,
}

impl Remarks {
    /// Of what `table` shows in `medium`.
    pub(crate) fn of(table: &Table, medium: Media) -> Self {
        let mut all: Vec<Remark> = Vec::new();
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut heading = "";
        let mut places = 0;
        let columns = table.columns.len();
        for row in table.rows.iter().filter(|r| r.media.has(medium)) {
            if row.is_heading() {
                heading = &row.label.name;
                continue;
            }
            for group in 0..table.groups.len().max(1) {
                let entries = row.cells.iter().skip(group * columns).take(columns);
                let shown = entries
                    .zip(&table.columns)
                    .filter(|(_, column)| column.media.has(medium))
                    .map(|(entry, _)| entry);
                let shown: Vec<&Entry> = shown.collect();
                places += usize::from(shown.iter().any(|e| !matches!(e, Entry::None)));
                let place = || place(table, row, group, heading, medium);
                let mut told: Vec<&str> = Vec::new();
                for entry in shown {
                    let Entry::Remarked(_, text) = entry else {
                        continue;
                    };
                    // Of two figures in a row one is named.
                    if told.contains(&text.as_str()) {
                        continue;
                    }
                    told.push(text);
                    match numbers.get(text) {
                        Some(known) => all[*known].places.push(place()),
                        None => {
                            numbers.insert(text.clone(), all.len());
                            all.push(Remark {
                                text: text.clone(),
                                places: vec![place()],
                                everywhere: false,
                            });
                        }
                    }
                }
            }
        }
        for remark in &mut all {
            remark.everywhere = remark.places.len() == places;
        }
        Self { all, numbers }
    }

    /// What stands after a figure with this remark.
    pub(crate) fn sign(&self, text: &str) -> String {
        let number = self.numbers.get(text);
        number.map_or_else(String::new, |i| superscript(i + 1))
    }

    /// The lines below the table.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |(i, remark): (usize, &Remark)| {
            let number = superscript(i + 1);
            let text = &remark.text;
            let count = remark.places.len();
            if remark.everywhere {
                return format!("{number} {text}.");
            }
            let named = remark.places[..count.min(MOST_NAMED)].join("; ");
            match count.saturating_sub(MOST_NAMED) {
                0 => format!("{number} {text} ({named})."),
                more => format!("{number} {text} ({named}; and {more} more)."),
            }
        };
        self.all.iter().enumerate().map(line).collect()
    }
}

/// A row, with its group or the heading above it.
fn place(table: &Table, row: &Row, group: usize, heading: &str, medium: Media) -> String {
    let label = match medium == Media::SCREEN {
        true => row.label.short(),
        false => row.label.line(),
    };
    let of = match table.groups.len() {
        0 => heading.to_owned(),
        1 => String::new(),
        _ => table.groups[group].replace('\n', " "),
    };
    match of.as_str() {
        "" => label,
        of => format!("{label}, {of}"),
    }
}

fn superscript(number: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = number.to_string();
    let high = digits.bytes().map(|d| DIGITS[usize::from(d - b'0')]);
    high.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::{Column, Style};

    fn table(rows: Vec<Row>) -> Table {
        Table {
            head: "Method".to_owned(),
            by: "load",
            groups: ["idle", "cpu"].map(str::to_owned).into(),
            columns: Column::all(["median", "p99"]),
            rows,
            style: Style::Numbers,
        }
    }

    fn figure() -> Entry {
        Entry::Text("1 µs".to_owned())
    }

    fn remarked(why: &str) -> Entry {
        Entry::Remarked("1 µs".to_owned(), why.to_owned())
    }

    #[test]
    fn each_remark_is_told_once_with_its_rows() {
        let rows = vec![
            Row::new(
                "usleep",
                vec![remarked("few"), figure(), figure(), figure()],
            ),
            Row::new(
                "timerfd",
                vec![remarked("slow"), figure(), remarked("few"), remarked("few")],
            ),
        ];
        let remarks = Remarks::of(&table(rows), Media::PAGE);
        assert_eq!(
            remarks.lines(),
            [
                "¹ few (usleep, idle; timerfd, cpu).",
                "² slow (timerfd, idle)."
            ]
        );
        assert_eq!(
            ["few", "slow", "?"].map(|r| remarks.sign(r)),
            ["¹", "²", ""]
        );
    }

    #[test]
    fn what_is_true_of_all_names_none_and_of_many_few() {
        let row = |i: usize| {
            Row::new(
                format!("m{i}"),
                vec![remarked("few"), Entry::None, Entry::None, Entry::None],
            )
        };
        let remarks = |more: Vec<Row>| {
            let rows = (0..9).map(row).chain(more).collect();
            Remarks::of(&table(rows), Media::PAGE).lines()
        };
        assert_eq!(remarks(Vec::new()), ["¹ few."]);
        let one = Row::new(
            "other",
            vec![figure(), Entry::None, Entry::None, Entry::None],
        );
        assert_eq!(
            remarks(vec![one]),
            ["¹ few (m0, idle; m1, idle; m2, idle; m3, idle; m4, idle; m5, idle; and 3 more)."]
        );
        assert_eq!(superscript(120), "¹²⁰");
    }
}
