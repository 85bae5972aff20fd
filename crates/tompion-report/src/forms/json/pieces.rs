//! What a section shows, for machines: figures as people read them.

use serde_json::{Value, json};

use crate::blocks::{Block, Content, Entry, Media, Table};
use crate::figures::NONE;
use crate::remarks::Remarks;

/// The blocks of a section, each an object with its kind; plots by what they show.
pub(crate) fn pieces(blocks: &[Block<'_>]) -> Vec<Value> {
    blocks.iter().filter_map(|b| piece(&b.content)).collect()
}

fn piece(content: &Content<'_>) -> Option<Value> {
    let of = |kind: &str, value: Value| Some(json!({ "kind": kind, "content": value }));
    match content {
        Content::Answer(sentences) => of("answer", json!(sentences)),
        Content::Alert(title, text) => of("alert", json!([title, text])),
        Content::Warning(text) => of("alert", json!(["", text])),
        Content::Judged(judged) => of("judged", json!(judged)),
        Content::Heading(text) | Content::Subheading(text) => of("heading", json!(text)),
        Content::Text(text) | Content::Lead(text) | Content::Note(text) => of("text", json!(text)),
        Content::Facts(items) | Content::List(items) => of("list", json!(items)),
        Content::Pairs(pairs) => of("pairs", json!(pairs)),
        Content::Tiles(tiles) => of(
            "pairs",
            tiles
                .iter()
                .map(|t| json!([t.what, t.value, t.of]))
                .collect(),
        ),
        Content::Items(_, items) => of(
            "items",
            items
                .iter()
                .map(
                    |i| json!({ "figure": i.figure, "text": i.text, "how": i.how, "more": i.more }),
                )
                .collect(),
        ),
        Content::Table(t) => of("table", table(t)),
        Content::Figures(_, figures) => {
            of("figures", figures.iter().map(|f| json!(f.label)).collect())
        }
        // A drawing says what a plot or a table says, too.
        Content::Characters(_) => None,
        Content::Code(text) => of("code", json!(text)),
        Content::Cards(cards) => of(
            "parts",
            cards
                .iter()
                .map(|(title, blocks)| part(title, blocks))
                .collect(),
        ),
        Content::Part { title, blocks, .. } => {
            of("part", part(title.as_deref().unwrap_or_default(), blocks))
        }
        Content::Fold { title, blocks, .. } => of("part", part(title, blocks)),
    }
}

fn part(title: &str, blocks: &[Block<'_>]) -> Value {
    json!({ "title": title, "content": pieces(blocks) })
}

fn table(table: &Table) -> Value {
    let titles = table.columns.iter().map(|c| c.title.replace('\n', " "));
    let entry = |entry: &Entry| match entry {
        Entry::None => Value::Null,
        Entry::Remarked(text, _) if text == NONE => Value::Null,
        Entry::Share(share, _) => json!(share),
        entry => json!(entry.line()),
    };
    let rows = table.rows.iter().map(|row| {
        let entries: Vec<Value> = row.cells.iter().map(entry).collect();
        json!({ "label": row.label.line(), "entries": entries })
    });
    let remarks = Remarks::of(table, Media::ALL).lines();
    let mut value = json!({
        "head": table.head,
        "groups": table.groups,
        "columns": titles.collect::<Vec<_>>(),
        "rows": rows.collect::<Vec<_>>(),
    });
    if !remarks.is_empty() {
        value["remarks"] = json!(remarks);
    }
    value
}
