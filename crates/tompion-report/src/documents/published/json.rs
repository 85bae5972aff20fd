//! Published tables for machines.

use serde_json::{Value, json};
use tompion_papers::published::{
    Figure, Table, comparison_notes, correspondences, paper, papers, tables,
};

/// Version of the form; raised when a reader of the old form would misread the
/// new one.
const VERSION: u64 = 1;

/// All papers and tables by name and size.
pub fn published_list_json() -> Value {
    let tables = tables().iter().map(|t| {
        json!({
            "id": t.id,
            "paper": t.paper,
            "title": t.title,
            "place": t.place,
            "rows": t.rows.len(),
            "figures": t.figures().count(),
            "marked": t.figures().filter(|f| !f.value.is_sound()).count(),
        })
    });
    json!({
        "schema_version": VERSION,
        "kind": "tompion-published-list",
        "papers": papers(),
        "tables": tables.collect::<Vec<_>>(),
    })
}

/// These tables whole, with their counterparts in a run.
pub fn published_json(tables: &[&'static Table]) -> Value {
    let mut cited: Vec<_> = tables.iter().filter_map(|t| paper(&t.paper)).collect();
    cited.dedup();
    json!({
        "schema_version": VERSION,
        "kind": "tompion-published",
        "papers": cited,
        "tables": tables.iter().map(|t| whole(t)).collect::<Vec<_>>(),
    })
}

fn whole(table: &'static Table) -> Value {
    let (with, without) = correspondences(table);
    let mut value = serde_json::to_value(table).unwrap_or_default();
    let counterparts = with.iter().map(|c| {
        json!({
            "factors": c.figure.row.factors,
            "column": c.figure.column.key,
            "value_ns": c.value_ns,
            "cell": c.cell,
            "statistic": c.statistic.summary_name(),
            "fit": c.fit,
            "notes": c.notes,
        })
    });
    value["comparison_notes"] = json!(comparison_notes(table));
    value["counterparts"] = counterparts.collect();
    value["without_counterpart"] = without.iter().map(|a| absent(&a.figure, a.why)).collect();
    value
}

fn absent(figure: &Figure<'_>, why: &str) -> Value {
    json!({ "factors": figure.row.factors, "column": figure.column.key, "why": why })
}
