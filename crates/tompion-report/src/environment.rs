//! The machine's description as grouped pairs of label and value.
//!
//! Rendered from the serialised form, so that a field added to
//! [`Environment`] shows up here without being named twice.

mod tree;
mod words;

use std::collections::BTreeMap;

use tompion_assess::wall_clock::{WallClock, wall_clock};
use tompion_model::{Environment, format_ns};

use crate::figures::plain;
use tree::Tree;
use words::{cpus, label, label_lower, number};

/// Values that belong together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    /// Heading.
    pub title: String,
    /// Label and value.
    pub rows: Vec<(String, String)>,
}

/// `tompion env`: the environment as aligned lines in groups.
pub fn environment_text(environment: &Environment) -> String {
    let mut groups = groups(environment);
    groups.extend(wall_clock(environment).map(|clock| of_wall_clock(&clock)));
    let rows = || groups.iter().flat_map(|g| &g.rows);
    let width = rows()
        .map(|r| r.0.chars().count())
        .max()
        .unwrap_or(0)
        .min(40);
    let mut out = String::new();
    for (i, group) in groups.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        out.push_str(&plain(&group.title));
        out.push('\n');
        for (label, value) in &group.rows {
            let pad = " ".repeat(width.saturating_sub(label.chars().count()));
            out.push_str(&format!("  {}{pad}  {}\n", plain(label), plain(value)));
        }
    }
    out
}

/// How the wall clock is kept, and what would help.
fn of_wall_clock(clock: &WallClock) -> Group {
    let in_step = match clock.in_step {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not known",
    };
    let bound = clock.error_at_most_ns.map(|ns| format_ns(ns as f64));
    let mut rows = vec![
        ("In step".to_owned(), in_step.to_owned()),
        ("Why".to_owned(), clock.answer.clone()),
        (
            "Error at most".to_owned(),
            bound.unwrap_or_else(|| "not known".to_owned()),
        ),
    ];
    if let Some(remedy) = &clock.remedy {
        rows.push(("What would help".to_owned(), remedy.what.clone()));
        let steps = remedy.steps.iter().enumerate();
        rows.extend(steps.map(|(i, step)| (format!("Step {}", i + 1), step.clone())));
    }
    Group {
        title: "Wall clock".to_owned(),
        rows,
    }
}

/// All groups in the order of their fields; what stands alone comes first.
pub(crate) fn groups(environment: &Environment) -> Vec<Group> {
    let Tree::Fields(top) = Tree::of(environment) else {
        return Vec::new();
    };
    let (nested, alone): (Vec<_>, Vec<_>) = top
        .into_iter()
        .partition(|(_, v)| matches!(v, Tree::Fields(_)));
    let mut groups = vec![Group {
        title: "Host".to_owned(),
        rows: rows(&alone),
    }];
    groups.extend(nested.iter().map(|(name, value)| Group {
        title: label(name),
        rows: match value {
            Tree::Fields(fields) => rows(fields),
            _ => Vec::new(),
        },
    }));
    groups.retain(|g| !g.rows.is_empty());
    groups
}

/// So much memory, for example `4.00 GiB`.
pub(crate) fn memory(bytes: u64) -> String {
    number("memory_bytes", bytes as f64, true)
}

/// Whether something in the machine's description says that it is emulated, in
/// whatever field.
pub(crate) fn emulation(environment: &Environment) -> Option<String> {
    fn search(name: &str, value: &Tree) -> Option<String> {
        match value {
            Tree::Fields(fields) => fields.iter().find_map(|(n, v)| search(n, v)),
            Tree::Null | Tree::Bool(false) => None,
            _ if !name.contains("emulat") => None,
            Tree::Bool(true) => Some("an emulator imitates the processor".to_owned()),
            other => one_line(name, other),
        }
    }
    search("", &Tree::of(environment))
}

/// What is known, one line each, and in a last line what is not.
fn rows(fields: &[(String, Tree)]) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let mut absent = Vec::new();
    for (name, value) in fields {
        match (one_line(name, value), value) {
            (Some(text), _) => rows.push((label(name), text)),
            (None, Tree::List(items)) if !items.is_empty() => {
                rows.extend(
                    items.iter().enumerate().map(|(i, item)| {
                        (format!("{} {}", label(name), i + 1), in_words(name, item))
                    }),
                );
            }
            (None, Tree::Fields(inner)) if !inner.is_empty() => {
                rows.push((label(name), in_words(name, &Tree::Fields(inner.clone()))));
            }
            _ => absent.push(label_lower(name)),
        }
    }
    gather_equal(&mut rows);
    if !absent.is_empty() {
        rows.push(("None or not known".to_owned(), absent.join(", ")));
    }
    rows
}

/// A text that many fields share (`Not affected`) takes one line.
fn gather_equal(rows: &mut Vec<(String, String)>) {
    const MANY: usize = 5;
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in rows.iter() {
        names.entry(value.clone()).or_default().push(name.clone());
    }
    names.retain(|_, names| names.len() >= MANY);
    rows.retain(|(_, value)| !names.contains_key(value));
    let gathered = names.into_iter();
    rows.extend(gathered.map(|(value, names)| (value, names.join(", "))));
}

/// A single value or a list of single values; `None` when there is nothing or
/// something deeper.
fn one_line(name: &str, value: &Tree) -> Option<String> {
    match value {
        Tree::Bool(b) => Some(if *b { "yes" } else { "no" }.to_owned()),
        Tree::Number(n) => Some(number(name, n.as_f64()?, !n.is_f64())),
        Tree::Text(s) if name == "shared_by" && !s.is_empty() => Some(cpus(s)),
        Tree::Text(s) if !s.is_empty() => Some(s.clone()),
        Tree::List(items) if !items.is_empty() => {
            let parts: Option<Vec<String>> = items
                .iter()
                .map(|v| match v {
                    Tree::List(_) => None,
                    other => one_line(name, other),
                })
                .collect();
            parts.map(|p| p.join(", "))
        }
        _ => None,
    }
}

/// Anything on one line, deeper values as `name value` pairs.
fn in_words(name: &str, value: &Tree) -> String {
    match value {
        Tree::Fields(fields) => {
            let pairs: Vec<String> = fields
                .iter()
                .filter(|(_, v)| *v != Tree::Null)
                .map(|(n, v)| format!("{} {}", label_lower(n), in_words(n, v)))
                .collect();
            pairs.join(", ")
        }
        Tree::List(items) => {
            let parts: Vec<String> = items.iter().map(|v| in_words(name, v)).collect();
            parts.join("; ")
        }
        other => one_line(name, other).unwrap_or_else(|| "not known".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(json: &str) -> Vec<(String, Tree)> {
        match serde_json::from_str(json).unwrap() {
            Tree::Fields(fields) => fields,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn no_value_is_lost_and_absent_ones_are_named() {
        let rows = rows(&fields(
            r#"{ "offset_ns": 12, "status": ["pll", "x"], "governor": null, "firmware_vendor": "",
                 "caches": [{ "level": 1, "size_bytes": 32768 }, { "level": 3, "shared_by": null }],
                 "deep": { "a": { "b": 1 } }, "up": false, "flags": [] }"#,
        ));
        let row = |l: &str, v: &str| (l.to_owned(), v.to_owned());
        assert_eq!(
            rows,
            [
                row("Offset", "12.0 ns"),
                row("Status", "pll, x"),
                row("Caches 1", "level 1, size 32.0 KiB"),
                row("Caches 2", "level 3"),
                row("Deep", "a b 1"),
                row("Up", "no"),
                row("None or not known", "governor, firmware vendor, flags"),
            ]
        );
    }

    #[test]
    fn a_value_that_many_share_takes_one_line() {
        let same = |name: &str| format!(r#""{name}": "Not affected""#);
        let names = ["mds", "srbds", "tsa", "retbleed", "meltdown"]
            .map(same)
            .join(",");
        let rows = rows(&fields(&format!(
            r#"{{ "spectre_v1": "Vulnerable", {names} }}"#
        )));
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].0, "Not affected");
        assert_eq!(rows[1].1, "Mds, Srbds, Tsa, Retbleed, Meltdown");
    }

    #[test]
    fn the_host_name_is_shown_without_control_characters() {
        let text = environment_text(&Environment {
            hostname: "h1\u{1b}x".into(),
            ..Default::default()
        });
        assert!(
            text.starts_with("Host\n  Hostname") && text.contains("h1\u{fffd}x"),
            "{text}"
        );
    }

    #[test]
    fn emulation_is_found_where_it_is_stated() {
        let mut environment = Environment::default();
        assert_eq!(emulation(&environment), None);
        environment.virtualization.emulated = Some("QEMU TCG".into());
        assert_eq!(emulation(&environment), Some("QEMU TCG".to_owned()));
    }
}
