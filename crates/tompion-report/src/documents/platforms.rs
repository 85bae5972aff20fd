//! The platforms of a lab by their maxima.

mod json;

use tompion_assess::compare::{PairRatio, PlatformSummary};
use tompion_model::factor;
use tompion_stats::Interval;

use crate::blocks::{Block, Column, Content, Entry, Row, Table};
use crate::figures::{real, times};
use crate::grid::factors_in_words;
use crate::platforms::{HEADS, legend, tables};
use crate::screen::printed;
use crate::sections::probe_title;
pub use json::platforms_json;

/// The platforms of a lab, cell by cell, for a terminal of `width` columns (at least 40
/// are used).
pub fn platforms_text(summary: &PlatformSummary, width: usize, color: bool) -> String {
    printed(width, color, &blocks(summary))
}

fn blocks(summary: &PlatformSummary) -> Vec<Block<'_>> {
    let title = match &summary.reference {
        Some(name) => format!("Platforms by their maxima, compared with {name}"),
        None => "Platforms by their maxima".to_owned(),
    };
    let mut blocks: Vec<Block<'_>> = vec![Content::Answer(vec![title]).into()];
    let absent = summary.absent.iter();
    blocks.extend(
        absent.map(|(platform, why)| Content::Warning(format!("absent: {platform}: {why}")).into()),
    );
    for table in tables(summary, probe_title) {
        blocks.push(Content::Heading(table.title).into());
        let row = |row: [String; 8]| {
            let [label, entries @ ..] = row;
            Row::of(label, entries)
        };
        let columns = HEADS[1..].iter().map(|head| Column::of(*head));
        let table = of(
            HEADS[0],
            columns.collect(),
            table.rows.into_iter().map(row).collect(),
        );
        blocks.push(table);
    }
    blocks.extend(ratios(summary));
    blocks.extend(
        legend(summary)
            .into_iter()
            .map(|text| Content::Note(text).into()),
    );
    blocks
}

fn of<'a>(head: &str, columns: Vec<Column>, rows: Vec<Row>) -> Block<'a> {
    Content::Table(Table::of(head, columns, rows)).into()
}

fn ratios<'a>(summary: &PlatformSummary) -> Vec<Block<'a>> {
    let within = |(ratio, i): (f64, Interval)| {
        format!("{} [{}, {}]", times(ratio), real(i.low), real(i.high))
    };
    let row = |r: &PairRatio| {
        let probe = probe_title(r.cell.level(factor::PROBE));
        let label = format!("{probe}: {}", factors_in_words(&r.cell));
        let entries = vec![r.of_added.map(times).into(), r.of_maxima.map(within).into()];
        Row::new(label, entries)
    };
    let mut blocks = Vec::new();
    for of_pair in summary.ratios.chunk_by(|a, b| a.wish == b.wish) {
        let mut rows: Vec<Row> = of_pair.iter().map(row).collect();
        let added: Vec<f64> = of_pair.iter().filter_map(|r| r.of_added).collect();
        if added.len() > 1 {
            let mean = added.iter().sum::<f64>() / added.len() as f64;
            let entries = vec![Entry::Text(times(mean)), Entry::None];
            rows.push(Row::new(format!("mean of {}", added.len()), entries));
        }
        let pair = &of_pair[0].wish;
        blocks.push(Content::Heading(format!("{} over {}", pair.over, pair.under)).into());
        blocks.push(of("", Column::all(["of what they add", "of maxima"]), rows));
    }
    blocks
}
