//! This machine among the published ones.

use serde_json::{Map, Value, json};
use tompion_model::format_ns;

use super::{Machine, Question, Section};
use crate::among::{Among, Panel, among};
use crate::blocks::{
    Block, Column, Content, Entry, Figure, Key, Label, Layout, Media, Row, Sign, Style, Table,
};
use crate::data::ReportData;
use crate::plot;

pub(super) static ENTRY: Section = Section {
    name: "among",
    title: "Among published machines",
    question: Some(Question::Fit),
    probe: None,
    blocks,
    machine: Machine::Keys(keys),
};

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let Some(found) = among(data) else {
        return Vec::new();
    };
    let lead = format!(
        "This machine next to the five platforms of {}. A dot is the median, the line ends at the largest value; \
         the long tick on a line of this run is its p99, which the paper does not give.",
        found.citation
    );
    let mut blocks = vec![Content::Lead(lead).on(Media::PAGE)];
    for panels in found.panels.chunk_by(|a, b| a.place == b.place) {
        blocks.push(Content::Figures(Layout::Ranges, figures(panels)).on(Media::PAGE));
    }
    let note = format!(
        "{} {} The page lists what else to know before comparing; * marks what the sources contradict.",
        found.citation, found.caveats[0]
    );
    let folded = Content::fold(
        "The figures",
        false,
        vec![Content::Table(table(&found)).into()],
    );
    blocks.push(folded.on(Media::PAGE));
    blocks.push(Content::Table(table(&found)).on(Media::NOT_PAGE));
    blocks.push(Content::Note(note).on(Media::SCREEN));
    blocks.push(Content::Note(found.citation).on(Media::TEXT));
    let caveats = Content::fold(
        "Before comparing",
        true,
        vec![Content::List(found.caveats).into()],
    );
    blocks.push(caveats.on(Media::NOT_SCREEN));
    blocks
}

/// Plots of one table; reads and sleeps lie orders of magnitude apart, so that each
/// table has its own axis.
fn figures<'a>(panels: &[Panel]) -> Vec<Figure<'a>> {
    let values = plot::range_plot::range(panels.iter());
    let figure = |panel: &Panel| -> Figure<'a> {
        let key =
            |(own, words): (bool, &str)| Key::of(Sign::Line, plot::range_plot::look(own), words);
        let marked = panel.rungs.iter().filter_map(|r| {
            let why = r.marked.as_ref()?;
            Some(format!("* {}: {why}", r.label))
        });
        let (drawn, values): (Panel, _) = (panel.clone(), values.clone());
        Figure {
            title: format!("{}, {}", panel.function, panel.load),
            label: format!(
                "{} under {}: median and largest value of this run and of published ones",
                panel.function, panel.load
            ),
            draw: Box::new(move |label| {
                plot::range_plot::draw(&drawn, &values, drawn.quantity, label)
            }),
            keys: [(true, "this run"), (false, panel.place.as_str())]
                .map(key)
                .into(),
            values: None,
            notes: marked.collect(),
            wide: false,
        }
    };
    panels.iter().map(figure).collect()
}

fn table(found: &Among) -> Table {
    let mut rows = Vec::new();
    for panel in &found.panels {
        rows.push(Row::heading(format!("{}, {}", panel.function, panel.load)));
        rows.extend(panel.rungs.iter().map(|r| {
            let star = if r.marked.is_some() { "*" } else { "" };
            let here = if r.own { "this run" } else { "" };
            let label = Label {
                name: format!("{}{star}", r.label),
                variant: here.to_owned(),
                short: here.to_owned(),
                notes: Vec::new(),
            };
            let entries = vec![
                Entry::Text(r.median.clone()),
                r.p99.clone().into(),
                Entry::Text(format_ns(r.max_ns)),
            ];
            Row::new(label, entries)
        }));
    }
    Table::of("Platform", Column::all(["median", "p99", "max"]), rows)
        .by("function, load")
        .set(Style::Small)
}

/// Null where nothing corresponds.
fn keys(data: &ReportData, keys: &mut Map<String, Value>) {
    let value = among(data).map_or(Value::Null, |found| {
        json!({
            "citation": found.citation,
            "caveats": found.caveats,
            "panels": found.panels.iter().map(|p| json!({
                "function": p.function,
                "load": p.load,
                "place": p.place,
                "rungs": p.rungs.iter().map(|r| json!({
                    "platform": r.label,
                    "this_machine": r.own,
                    "median_ns": r.median_ns,
                    "p99_ns": r.p99_ns,
                    "max_ns": r.max_ns,
                    "marked": r.marked,
                })).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
        })
    });
    keys.insert("among_published".to_owned(), value);
}
