//! Published tables: figures, what the names stand for, caveats, and the reason of every mark.

mod json;

use tompion_papers::published::{
    Figure, Quality, Relation, Row as Printed, Table as Tabled, Value, correspondences, papers,
    tables,
};

use crate::blocks::{Block, Column, Content, Entry, Row, Table};
use crate::figures::{NONE, count, plain, plural};
use crate::screen::printed;
pub use json::{published_json, published_list_json};

/// All tables by paper, for a terminal of `width` columns (at least 40 are used).
pub fn published_list(width: usize, color: bool) -> String {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for paper in papers() {
        blocks.push(Content::Heading(paper.short()).into());
        blocks.push(Content::Note(paper.citation()).into());
        for table in tables().iter().filter(|t| t.paper == paper.id) {
            let text = format!("{}; {}", sizes(table), table.title);
            blocks.push(Content::List(vec![text]).into());
        }
    }
    let hint = "tompion published TABLE prints one, tompion published PAPER all of a paper.";
    blocks.push(Content::Text(String::new()).into());
    blocks.push(Content::Text(hint.to_owned()).into());
    printed(width, color, &blocks)
}

/// `kirova-2019/table-1: 30 rows, 120 figures, 4 of them marked`.
fn sizes(table: &Tabled) -> String {
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
pub fn published_table(table: &'static Tabled, width: usize, color: bool) -> String {
    printed(width, color, &blocks(table))
}

fn blocks<'a>(table: &'static Tabled) -> Vec<Block<'a>> {
    let mut marks = Marks::default();
    let mut blocks: Vec<Block<'a>> = vec![
        Content::Answer(vec![format!("{}: {}", table.id, table.title)]).into(),
        Content::Note(format!("{}.", table.paper().citation())).into(),
        Content::Text(format!(
            "Place: {}. Samples: {}.",
            table.place, table.samples
        ))
        .into(),
        Content::Table(figures(table, &mut marks)).into(),
    ];
    blocks.extend(names(table));
    if !marks.reasons.is_empty() {
        let reasons = marks.reasons.iter().enumerate();
        blocks.push(Content::Heading("Marks".to_owned()).into());
        let reasons = reasons.map(|(i, why)| format!("{} {why}", sign(i)));
        blocks.push(Content::List(reasons.collect()).into());
    }
    blocks.push(Content::Heading("Caveats".to_owned()).into());
    let notes = table.paper().note.iter();
    let caveats = table.caveats.iter().chain(notes).cloned();
    blocks.push(Content::List(caveats.collect()).into());
    let (with, without) = correspondences(table);
    let all = table.figures().count();
    let counterparts = match with.is_empty() {
        true => "No figure has a counterpart in a run of Tompion; --json says why.".to_owned(),
        false => format!(
            "{} of {all} figures have a counterpart in a run of Tompion; --json says which, and why \
             the others have none.",
            all - without.len()
        ),
    };
    blocks.push(Content::Text(counterparts).into());
    blocks
}

/// The reasons of marks in the order of their first use.
#[derive(Default)]
struct Marks {
    reasons: Vec<String>,
}

impl Marks {
    /// The figure with its sign and mark; what is said in words stands in the
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

/// A row for a row, where every row has every figure; else a row for a figure, below the
/// sections of the paper.
fn figures(table: &Tabled, marks: &mut Marks) -> Table {
    let dense = |row: &Printed| row.values.len() == table.columns.len() && row.place.is_none();
    let mut factors = table.factors.iter().map(|f| f.name.as_str());
    let head = factors.next().unwrap_or("row").to_owned();
    let mut columns: Vec<Column> = factors.map(Column::words).collect();
    let levels = |row: &Printed| -> Vec<String> {
        let levels = table.factors.iter().map(|f| row.level(&f.name));
        levels.map(|l| l.unwrap_or_default().to_owned()).collect()
    };
    let row = |row: &Printed, figures: Vec<Entry>| {
        let mut levels = levels(row).into_iter();
        let label = levels.next().unwrap_or_default();
        Row::new(label, levels.map(Entry::Text).chain(figures).collect())
    };
    let mut rows = Vec::new();
    if table.rows.iter().all(dense) {
        columns.extend(table.columns.iter().map(|c| match c.unit.to_string() {
            unit if unit.is_empty() => Column::of(c.key.as_str()),
            unit => Column::of(format!("{}, {unit}", c.key)),
        }));
        for of in &table.rows {
            let values = table.columns.iter().map(|c| of.value(&c.key));
            let values = values.map(|v| v.map(|v| marks.show(v)).into());
            let values: Vec<Entry> = values.collect();
            rows.push(row(of, values));
        }
    } else {
        columns.extend([Column::words("figure"), Column::of("value")]);
        let mut place = "";
        for figure in table.figures() {
            if figure.place() != place {
                place = figure.place();
                let numbered = place.starts_with(|c: char| c.is_ascii_digit());
                let section = if numbered { "Section " } else { "" };
                rows.push(Row::heading(format!("{section}{place}")));
            }
            let entries = [figure.column.key.clone(), with_unit(&figure, marks)];
            rows.push(row(figure.row, entries.map(Entry::Text).into()));
        }
    }
    Table::of(head, columns, rows).by("place")
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

/// What columns, factors and levels stand for.
fn names<'a>(table: &Tabled) -> Vec<Block<'a>> {
    let columns = table.columns.iter();
    let columns = columns.map(|c| format!("{}: {}; {}", c.key, c.quantity, c.statistic));
    let mut blocks: Vec<Block<'a>> = vec![
        Content::Heading("Columns".to_owned()).into(),
        Content::List(columns.collect()).into(),
    ];
    for factor in &table.factors {
        let levels = factor.levels.iter();
        let levels = levels.map(|(level, meaning)| format!("{level} = {meaning}"));
        blocks.push(Content::Heading(format!("{}: {}", factor.name, factor.meaning)).into());
        blocks.push(Content::List(levels.collect()).into());
    }
    blocks
}
