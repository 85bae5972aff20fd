//! Which published figure corresponds to which cell and statistic of a run.
//!
//! The rules are data (`data/correspondence.toml`); here they are crossed with the
//! tables. The platform is no factor of a run: a run has one machine, and each
//! figure of each platform stands beside it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::{Figure, Table, Unit, tables, tables_of};

static RULES: LazyLock<Vec<Rules>> = LazyLock::new(|| {
    // The tests parse the same text, so a broken file never leaves the workshop.
    parse(include_str!("../data/correspondence.toml"))
        .unwrap_or_else(|e| panic!("embedded correspondence: {e}"))
});

/// A statistic of a cell of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// Smallest value.
    Minimum,
    /// Median.
    Median,
    /// Largest value.
    Maximum,
    /// Half the interquartile range.
    HalfInterquartileRange,
    /// Standard deviation with divisor n, of the intervals between timer events.
    UncorrectedStandardDeviation,
}

impl Statistic {
    /// The name that a run's summaries have for it.
    pub fn summary_name(self) -> &'static str {
        match self {
            Self::Minimum => "min_ns",
            Self::Median => "median_ns",
            Self::Maximum => "max_ns",
            Self::HalfInterquartileRange => "half_interquartile_range_ns",
            Self::UncorrectedStandardDeviation => "uncorrected_standard_deviation_ns",
        }
    }

    /// The quantile that it is, 0 to 1; `None` where it is none.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::Minimum => Some(0.0),
            Self::Median => Some(0.5),
            Self::Maximum => Some(1.0),
            Self::HalfInterquartileRange | Self::UncorrectedStandardDeviation => None,
        }
    }
}

/// How well a cell of a run corresponds to a published row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// The same function and load, as far as the paper tells.
    Same,
    /// The nearest that a run has; the notes say how it differs.
    Near,
}

/// A published figure and the cells of a run that may stand beside it.
#[derive(Clone, Debug)]
pub struct Counterpart {
    /// The figure.
    pub figure: Figure<'static>,
    /// Factors and levels that a cell must have: an empty level is the absence of
    /// the factor, and one that ends in `:*` takes any options. Other factors, such
    /// as the target where the paper does not state it, may have any level.
    pub cell: BTreeMap<&'static str, &'static str>,
    /// The statistic of that cell.
    pub statistic: Statistic,
    /// The figure in nanoseconds.
    pub value_ns: f64,
    /// How well it fits.
    pub fit: Fit,
    /// How it differs.
    pub notes: Vec<&'static str>,
}

/// A published figure beside which no cell of a run may stand.
#[derive(Clone, Debug)]
pub struct Absent {
    /// The figure.
    pub figure: Figure<'static>,
    /// Why there is no counterpart.
    pub why: &'static str,
}

impl Counterpart {
    /// Whether a cell with these levels (`None` where it lacks the factor) is a
    /// counterpart.
    pub fn fits<'l>(&self, level: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.cell
            .iter()
            .all(|(factor, want)| matches(want, level(factor).unwrap_or_default()))
    }
}

/// Whether a level is the one wanted: the same, or of that kind with any options
/// where the wish ends in `:*`. Loads that run together are another thing.
fn matches(want: &str, level: &str) -> bool {
    match want.strip_suffix(":*") {
        None => level == want,
        Some(kind) => {
            let options = level.strip_prefix(kind).filter(|_| !level.contains('+'));
            options.is_some_and(|o| o.is_empty() || o.starts_with(':'))
        }
    }
}

/// Every figure of a table with its counterparts in a run, and those without.
pub fn correspondences(table: &'static Table) -> (Vec<Counterpart>, Vec<Absent>) {
    let mut found = (Vec::new(), Vec::new());
    // A test holds every table to having rules.
    let Some(rules) = RULES.iter().find(|r| r.id == table.id) else {
        return found;
    };
    for figure in table.figures() {
        match rules.counterparts(figure) {
            Ok(some) => found.0.extend(some),
            Err(why) => found.1.push(Absent { figure, why }),
        }
    }
    found
}

/// The figures of a table that have counterparts, one entry for each kind of cell.
pub fn counterparts(table: &'static Table) -> Vec<Counterpart> {
    correspondences(table).0
}

/// The figures of the table or paper of that name beside which this cell may stand;
/// `level` tells its level of a factor.
pub fn counterparts_of_cell<'l>(
    name: &str,
    level: impl Fn(&str) -> Option<&'l str>,
) -> Vec<Counterpart> {
    tables_of(name)
        .into_iter()
        .flat_map(counterparts)
        .filter(|c| c.fits(&level))
        .collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    id: String,
    machine: Vec<String>,
    notes: Vec<String>,
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
    fn counterparts(
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
            notes: self.notes.iter().map(String::as_str).collect(),
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
        let used = |r: &crate::Row| r.level(&rule.factor).unwrap_or_default() == rule.level;
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
        let text = include_str!("../data/correspondence.toml");
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

    #[test]
    fn levels_match_with_or_without_options() {
        for (want, level, fits) in [
            ("idle", "idle", true),
            ("cpu", "cpu:threads=4", false),
            ("nfs:*", "nfs:dir=/mnt", true),
            ("file-server:*", "file-server", true),
            ("file-server:*", "file-server+cpu", false),
            ("disk-read:*", "disk-reader", false),
            ("", "", true),
            ("", "fifo:50", false),
        ] {
            assert_eq!(matches(want, level), fits, "{want} {level}");
        }
    }
}
