//! Published tables for a terminal: figures, what the names stand for, caveats,
//! and the reason of every mark.

use tompion_published::{
    Column, Factor, Figure, Quality, Relation, Row, Table, Value, correspondences, papers, tables,
};

use super::numbers::{Line, table as grid};
use super::paint::Paint;
use super::{NARROWEST, heading, wrap};
use crate::figures::{NONE, count, plain, plural};

/// All tables by paper, for a terminal of `width` columns (at least 40 are used).
pub fn published_list(width: usize, color: bool) -> String {
    let (width, paint) = (width.max(NARROWEST), Paint { color });
    let mut out = String::new();
    for paper in papers() {
        out.push_str(&paint.bold(&paper.short()));
        out.push('\n');
        line(&mut out, &paper.citation(), width, "  ", "  ", Some(paint));
        for table in tables().iter().filter(|t| t.paper == paper.id) {
            line(&mut out, &sizes(table), width, "  ", "    ", None);
            line(&mut out, &table.title, width, "    ", "    ", None);
        }
        out.push('\n');
    }
    let hint = "tompion published TABLE prints one, tompion published PAPER all of a paper.";
    line(&mut out, hint, width, "", "", None);
    out
}

/// `kirova-2019/table-1: 30 rows, 120 figures, 4 of them marked`.
fn sizes(table: &Table) -> String {
    let (rows, figures) = (table.rows.len() as u64, table.figures().count() as u64);
    let marked = table.figures().filter(|f| !f.value.is_sound()).count();
    format!(
        "{}: {} {}, {} {}, {marked} of them marked",
        table.id,
        count(rows),
        plural(rows, "row", "rows"),
        count(figures),
        plural(figures, "figure", "figures"),
    )
}

/// One table for a terminal of `width` columns (at least 40 are used).
pub fn published_table(table: &'static Table, width: usize, color: bool) -> String {
    let (width, paint) = (width.max(NARROWEST), Paint { color });
    let mut out = String::new();
    let title = format!("{}: {}", table.id, table.title);
    out.push_str(&paint.bold(&wrap(&plain(&title), width, "", "")));
    out.push('\n');
    let source = format!("{}.", table.paper().citation());
    line(&mut out, &source, width, "", "", Some(paint));
    let samples = format!("Place: {}. Samples: {}.", table.place, table.samples);
    line(&mut out, &samples, width, "", "", None);
    out.push('\n');
    let mut marks = Marks::default();
    figures(&mut out, table, &mut marks, width);
    names(&mut out, table, width, paint);
    if !marks.reasons.is_empty() {
        heading(&mut out, "Marks", paint);
        for (i, why) in marks.reasons.iter().enumerate() {
            let first = format!("{} ", sign(i));
            let rest = " ".repeat(first.len());
            line(&mut out, why, width, &first, &rest, None);
        }
    }
    heading(&mut out, "Caveats", paint);
    let notes = table.paper().note.iter();
    for caveat in table.caveats.iter().chain(notes) {
        line(&mut out, caveat, width, "· ", "  ", None);
    }
    let (with, without) = correspondences(table);
    let all = table.figures().count();
    let mut beside = format!(
        "{} of {all} figures have a counterpart in a run of Tompion; --json tells which, and why \
         the others have none.",
        all - without.len()
    );
    if with.is_empty() {
        beside = "No figure has a counterpart in a run of Tompion; --json tells why.".to_owned();
    }
    out.push('\n');
    line(&mut out, &beside, width, "", "", None);
    out
}

/// A wrapped line, a side remark where it is painted.
fn line(out: &mut String, text: &str, width: usize, first: &str, rest: &str, dim: Option<Paint>) {
    let text = wrap(&plain(text), width, first, rest);
    out.push_str(&dim.map_or(text.clone(), |paint| paint.dim(&text)));
    out.push('\n');
}

/// The reasons of marks in the order of their first use.
#[derive(Default)]
struct Marks {
    reasons: Vec<String>,
}

impl Marks {
    /// The figure with its sign and mark; what is told in words stands in the
    /// reason.
    fn show(&mut self, value: &Value) -> String {
        let Quality::Marked(why) = value.quality() else {
            return number(value);
        };
        let why = match value.number() {
            Some(_) => why.to_owned(),
            None => format!("\u{201c}{}\u{201d}: {why}", value.printed()),
        };
        let known = self.reasons.iter().position(|r| *r == why);
        let at = known.unwrap_or_else(|| {
            self.reasons.push(why);
            self.reasons.len() - 1
        });
        // In front, so that digits stay in line.
        match value.number() {
            Some(_) => format!("{} {}", sign(at), number(value)),
            None => format!("{} {NONE}", sign(at)),
        }
    }
}

/// A figure as printed, with signs as people write them.
fn number(value: &Value) -> String {
    let sign = match value.relation() {
        Relation::Exact => "",
        Relation::About => "~",
        Relation::AtMost => "≤ ",
        Relation::AtLeast => "≥ ",
    };
    let printed = value.printed().strip_prefix(value.relation().sign());
    let printed = printed.unwrap_or_default().trim_start();
    format!("{sign}{}", plain(printed).replace(" us", " µs"))
}

fn sign(at: usize) -> String {
    format!("[{}]", at + 1)
}

fn figures(out: &mut String, table: &Table, marks: &mut Marks, width: usize) {
    let dense = |row: &Row| row.values.len() == table.columns.len() && row.place.is_none();
    if table.rows.iter().all(dense) {
        all_columns(out, table, marks, width);
    } else {
        one_a_line(out, table, marks, width);
    }
}

/// A row for a row: where every row has every figure.
fn all_columns(out: &mut String, table: &Table, marks: &mut Marks, width: usize) {
    let mut heads = Vec::new();
    heads.extend(table.columns.iter().map(|c| match c.unit.to_string() {
        unit if unit.is_empty() => plain(&c.key),
        unit => format!("{}, {unit}", plain(&c.key)),
    }));
    let mut shown = |row: &Row| -> Vec<Option<String>> {
        let columns = table.columns.iter();
        columns
            .map(|c| row.value(&c.key).map(|v| marks.show(v)))
            .collect()
    };
    let numbers: Vec<_> = table.rows.iter().map(&mut shown).collect();
    let labels = Labels::of(table, &[], numbers.iter().flatten().flatten(), width);
    let rows = table.rows.iter().zip(numbers);
    let lines: Vec<Line> = rows
        .map(|(row, numbers)| Line {
            label: labels.row(row, None),
            numbers,
        })
        .collect();
    heads.insert(0, labels.title());
    grid(out, &heads, &lines, width);
}

/// A row for a figure, below the sections of the paper: where rows have few.
fn one_a_line(out: &mut String, table: &Table, marks: &mut Marks, width: usize) {
    let shown: Vec<String> = table.figures().map(|f| with_unit(&f, marks)).collect();
    let labels = Labels::of(table, &table.columns, shown.iter(), width);
    let widest = shown.iter().map(|n| n.chars().count()).max().unwrap_or(0);
    let room = width.saturating_sub(widest + GAP);
    let mut lines = Vec::new();
    let mut place = "";
    for (figure, shown) in table.figures().zip(shown) {
        if figure.place() != place {
            place = figure.place();
            let numbered = place.starts_with(|c: char| c.is_ascii_digit());
            let section = if numbered { "Section " } else { "" };
            // A heading shares its column with the labels.
            let text = wrap(&format!("{section}{}", plain(place)), room, "", "");
            lines.push(Line::heading(text));
        }
        let label = labels.row(figure.row, Some(figure.column));
        lines.push(Line {
            label: format!("{INDENT}{label}"),
            numbers: vec![Some(shown)],
        });
    }
    let heads = [format!("{INDENT}{}", labels.title()), "figure".to_owned()];
    grid(out, &heads, &lines, width);
}

/// The figure with its unit, where it has a number and does not print its own.
fn with_unit(figure: &Figure<'_>, marks: &mut Marks) -> String {
    let shown = marks.show(figure.value);
    let unit = figure.column.unit.to_string();
    let ends_in_digit = shown.ends_with(|c: char| c.is_ascii_digit());
    if ends_in_digit && !unit.is_empty() {
        format!("{shown} {unit}")
    } else {
        shown
    }
}

/// Levels in columns of their own, where there is room.
struct Labels<'a> {
    table: &'a Table,
    /// Width of each factor's column, and of the name of a figure; none where
    /// there is no room.
    widths: Option<Vec<usize>>,
}

impl<'a> Labels<'a> {
    /// Labels that stand beside `numbers` in `width` columns, and name the figures
    /// of `columns`, if any.
    fn of<'n>(
        table: &'a Table,
        columns: &[Column],
        numbers: impl Iterator<Item = &'n String>,
        width: usize,
    ) -> Self {
        let chars = |s: &str| s.chars().count();
        let levels = |f: &Factor| f.levels.keys().map(|l| chars(l)).max();
        let mut widths: Vec<usize> = table
            .factors
            .iter()
            .map(|f| chars(&f.name).max(levels(f).unwrap_or_default()))
            .collect();
        widths.extend(columns.iter().map(|c| chars(&c.key)).max());
        let beside = numbers.map(|n| chars(n)).max().unwrap_or_default();
        let all = widths.iter().map(|w| w + GAP).sum::<usize>() + INDENT.len() + beside;
        Self {
            table,
            widths: (all < width).then_some(widths),
        }
    }

    fn title(&self) -> String {
        let names = self.table.factors.iter().map(|f| f.name.as_str());
        match &self.widths {
            Some(widths) => padded(names, widths),
            None => "row".to_owned(),
        }
    }

    fn row(&self, row: &Row, column: Option<&Column>) -> String {
        let factors = self.table.factors.iter();
        let levels = factors.map(|f| row.level(&f.name).unwrap_or_default());
        let cells = levels.chain(column.map(|c| c.key.as_str()));
        match &self.widths {
            Some(widths) => padded(cells, widths),
            None => {
                let told: Vec<&str> = cells.filter(|c| !c.is_empty()).collect();
                plain(&told.join(", "))
            }
        }
    }
}

/// Between the columns of labels.
const GAP: usize = 2;
/// Before rows below a heading.
const INDENT: &str = "  ";

fn padded<'c>(cells: impl Iterator<Item = &'c str>, widths: &[usize]) -> String {
    let pad = |(cell, width): (&str, &usize)| format!("{:<1$}", plain(cell), width + GAP);
    let all: String = cells.zip(widths).map(pad).collect();
    all.trim_end().to_owned()
}

/// What columns, factors and levels stand for.
fn names(out: &mut String, table: &Table, width: usize, paint: Paint) {
    heading(out, "Columns", paint);
    for column in &table.columns {
        let text = format!("{}: {}; {}", column.key, column.quantity, column.statistic);
        line(out, &text, width, "  ", "    ", None);
    }
    for factor in &table.factors {
        let title = format!("{}: {}", factor.name, factor.meaning);
        heading(out, &wrap(&plain(&title), width, "", ""), paint);
        for (level, meaning) in &factor.levels {
            line(
                out,
                &format!("{level} = {meaning}"),
                width,
                "  ",
                "    ",
                None,
            );
        }
    }
}
