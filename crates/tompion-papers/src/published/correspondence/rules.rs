//! The rules of `data/correspondence.toml`: read, checked against the tables, and
//! applied to a figure.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::counterpart::{Counterpart, Fit, Statistic};
use crate::published::{Figure, Row, Table, Unit, tables};

static RULES: LazyLock<Vec<Rules>> = LazyLock::new(|| {
    // The tests parse the same text, so a broken file never leaves the workshop.
    parse(include_str!("../../../data/correspondence.toml"))
        .unwrap_or_else(|e| panic!("embedded correspondence: {e}"))
});

/// The rules for a table.
pub(super) fn of(table: &Table) -> Option<&'static Rules> {
    RULES.iter().find(|r| r.id == table.id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    id: String,
    machine: Vec<String>,
    /// What to know before comparing anything of the table.
    pub(super) notes: Vec<String>,
    columns: BTreeMap<String, Statistic>,
    #[serde(default)]
    none: BTreeMap<String, String>,
    #[serde(default)]
    level: Vec<Level>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Level {
    factor: String,
    level: String,
    #[serde(default)]
    cell: BTreeMap<String, String>,
    fit: Option<Fit>,
    note: Option<String>,
    none: Option<String>,
}

impl Rules {
    /// The counterparts of a figure, or why there are none.
    pub(super) fn counterparts(
        &'static self,
        figure: Figure<'static>,
    ) -> Result<Vec<Counterpart>, &'static str> {
        let key = &figure.column.key;
        if let Some(why) = self.none.get(key) {
            return Err(why);
        }
        let statistic = *self.columns.get(key).ok_or("no rule")?;
        let value_ns = figure.ns().ok_or("It is told in words or is illegible.")?;
        let mut found = vec![Counterpart {
            figure,
            cell: BTreeMap::new(),
            statistic,
            value_ns,
            fit: Fit::Same,
            notes: Vec::new(),
        }];
        for factor in &figure.table.factors {
            if self.machine.contains(&factor.name) {
                continue;
            }
            let level = figure.row.level(&factor.name).unwrap_or_default();
            let rules = || {
                let of_factor = self.level.iter().filter(|l| l.factor == factor.name);
                of_factor.filter(move |l| l.level == level)
            };
            if let Some(why) = rules().find_map(|l| l.none.as_deref()) {
                return Err(why);
            }
            found = rules()
                .flat_map(|rule| found.iter().map(|c| rule.extend(c)))
                .collect();
        }
        Ok(found)
    }
}

impl Level {
    fn extend(&'static self, counterpart: &Counterpart) -> Counterpart {
        let mut c = counterpart.clone();
        let cell = self.cell.iter().map(|(f, l)| (f.as_str(), l.as_str()));
        c.cell.extend(cell);
        c.fit = c.fit.max(self.fit.unwrap_or(Fit::Near));
        c.notes.extend(self.note.as_deref());
        c
    }
}

fn parse(text: &str) -> Result<Vec<Rules>, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        table: Vec<Rules>,
    }
    let rules = toml::from_str::<File>(text)
        .map_err(|e| e.to_string().replace('\n', " "))?
        .table;
    for table in tables() {
        let mut of_table = rules.iter().filter(|r| r.id == table.id);
        let Some(rules) = of_table.next().filter(|_| of_table.next().is_none()) else {
            return Err(format!("{} needs rules, once", table.id));
        };
        check(rules, table).map_err(|e| format!("{}: {e}", table.id))?;
    }
    if let Some(odd) = rules.iter().find(|r| tables().iter().all(|t| t.id != r.id)) {
        return Err(format!("`{}` is no table", odd.id));
    }
    Ok(rules)
}

/// Every column and every level of a factor that is none of the machine's has a
/// rule, and no rule is about anything else.
fn check(rules: &Rules, table: &Table) -> Result<(), String> {
    for column in &table.columns {
        let (has, lacks) = (rules.columns.get(&column.key), rules.none.get(&column.key));
        if has.is_some() == lacks.is_some() {
            return Err(format!(
                "column {} needs a statistic or a reason",
                column.key
            ));
        }
        if has.is_some() && column.unit.exponent_to(Unit::Nanosecond).is_none() {
            return Err(format!("column {} is no time", column.key));
        }
    }
    let columns = rules.columns.keys().chain(rules.none.keys());
    if let Some(odd) = columns.clone().find(|k| table.column(k).is_none()) {
        return Err(format!("there is no column `{odd}`"));
    }
    for factor in &table.factors {
        let is_machine = rules.machine.contains(&factor.name);
        let used = table
            .rows
            .iter()
            .map(|r| r.level(&factor.name).unwrap_or_default());
        for level in used {
            let mut about = rules
                .level
                .iter()
                .filter(|l| l.factor == factor.name && l.level == level);
            if is_machine == about.next().is_some() {
                return Err(format!("level `{level}` of {} needs a rule", factor.name));
            }
        }
    }
    for rule in &rules.level {
        let used = |r: &Row| r.level(&rule.factor).unwrap_or_default() == rule.level;
        let complete = match &rule.none {
            Some(_) => rule.cell.is_empty() && rule.fit.is_none() && rule.note.is_none(),
            // What is near says how it differs.
            None => rule.fit.is_some() && (rule.fit == Some(Fit::Near)) == rule.note.is_some(),
        };
        if !complete || table.factor(&rule.factor).is_none() || !table.rows.iter().any(used) {
            return Err(format!(
                "the rule for level `{}` of {} is about nothing, or incomplete",
                rule.level, rule.factor
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_and_level_of_every_table_has_a_rule() {
        let text = include_str!("../../../data/correspondence.toml");
        parse(text).unwrap();
        for (from, to, want) in [
            (
                r#"id = "kirova-2019/table-1""#,
                r#"id = "kirova""#,
                "kirova-2019/table-1 needs rules",
            ),
            (
                r#"columns = { max = "maximum" }"#,
                "columns = {}",
                "column max needs",
            ),
            (
                r#"level = "io-network""#,
                r#"level = "io""#,
                "about nothing",
            ),
            (r#"fit = "same""#, r#"fit = "near""#, "incomplete"),
            (
                r#"level = "one-memory-guest""#,
                r#"level = "one-to-one""#,
                "one-memory-guest",
            ),
            (r#"step = "The"#, r#"stop = "The"#, "column step"),
            (r#"p90 = "#, r#"median2 = "#, "p90"),
        ] {
            let error = parse(&text.replacen(from, to, 1)).err().unwrap_or_default();
            assert!(error.contains(want), "{from}: {error}");
        }
    }
}
