//! Cells laid out for reading: a grid for each probe and target, in it one
//! row a method and variant, in each row one cell a load.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tompion_model::{AT_REST, Factors, factor, level_in_words as level, parse_duration_ns};

use crate::data::{ReportData, Shown};
use crate::figures::plain;
use crate::timer_events::REARMED;

/// The loads of Kirova 2019 in the paper's order.
pub(crate) const PUBLISHED_LOADS: [&str; 3] = [AT_REST, "cpu", "io-network"];

/// What a probe is called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeWords<'a> {
    /// Its name, the level of the factor.
    pub name: &'a str,
    /// What it measures.
    pub title: &'a str,
    /// What its targets are.
    pub target: &'a str,
}

/// What probes measure, by their names.
pub(crate) type Titles = fn(&str) -> String;

/// One probe at one target.
#[derive(Clone, Debug)]
pub(crate) struct Grid<'a> {
    /// What is measured.
    pub probe: ProbeWords<'a>,
    /// The sleep target, where there is one.
    pub target: Option<&'a str>,
    /// Loads in reading order.
    pub loads: Vec<&'a str>,
    /// Methods with their variants.
    pub rows: Vec<Row<'a>>,
    /// Its number, where there is one for each load.
    pub of_load: Option<usize>,
}

/// Empty places that a grid may have, whatever it holds.
const EMPTY: usize = 4096;
/// And for each cell.
const EMPTY_EACH: usize = 8;

/// One method in one variant.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    /// The function that was measured.
    pub method: &'a str,
    /// Further factors in words, for example `slack 1 ns`; empty for defaults.
    pub variant: String,
    /// Number of the method among those of its probe: its colour.
    pub method_index: usize,
    /// Number of the variant among those of the method: its dashes.
    pub variant_index: usize,
    /// One entry a load of the grid.
    pub by_load: Vec<Option<Shown<'a>>>,
}

impl Row<'_> {
    /// Method and variant.
    pub(crate) fn label(&self) -> String {
        match (self.method, self.variant.as_str()) {
            (m, "") => m.to_owned(),
            (m, v) => format!("{m}, {v}"),
        }
    }
}

impl<'a> Grid<'a> {
    /// For example `Wake-up latency, target 100 µs`.
    pub(crate) fn title(&self) -> String {
        let ProbeWords { title, target, .. } = self.probe;
        let title = self.target.map_or_else(
            || title.to_owned(),
            |t| format!("{title}, {target} {}", level(t)),
        );
        match (self.of_load, self.loads.first()) {
            (Some(_), Some(load)) => format!("{title}, under {}", load_title(load)),
            _ => title,
        }
    }

    /// A name for anchors, unique within a report.
    pub(crate) fn anchor(&self) -> String {
        // The name alone is that of the section.
        let target = self.target.unwrap_or("all");
        let mut raw = format!("{}-{target}", self.probe.name);
        if let Some(number) = self.of_load {
            raw = format!("{raw}-{number}");
        }
        let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        raw.chars()
            .map(safe)
            .collect::<String>()
            .trim_end_matches('-')
            .to_owned()
    }

    /// Every cell of the grid.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Shown<'a>> + Clone {
        self.rows
            .iter()
            .flat_map(|r| r.by_load.iter().flatten().copied())
    }
}

/// The load in words.
pub(crate) fn load_title(load: &str) -> &str {
    if load.is_empty() {
        "load not named"
    } else {
        load
    }
}

/// Under a load, in words.
pub(crate) fn under(load: &str) -> String {
    match load {
        "" => "under a load without a name".to_owned(),
        AT_REST => "at rest".to_owned(),
        load => format!("under {} load", plain(load)),
    }
}

/// Factors beside probe, method, target and load, in words.
pub(crate) fn variant(factors: &Factors) -> String {
    let parts: Vec<String> = factors
        .iter()
        .filter_map(|(name, l)| match name {
            factor::PROBE | factor::METHOD | factor::TARGET | factor::LOAD => None,
            factor::SLACK if l == "default" => None,
            factor::SLACK => Some(format!("slack {}", level(l))),
            factor::POLICY if l == "other" => None,
            factor::POLICY => Some(l.to_owned()),
            factor::FORM if l == "grid" => Some("periodic".to_owned()),
            factor::FORM if l == REARMED => Some("re-armed".to_owned()),
            factor::CPU => Some(format!("CPU {l}")),
            _ => Some(format!("{name} {l}")),
        })
        .collect();
    parts.join(", ")
}

/// A cell's key in words, for example `usleep, 100 µs, slack 1 ns, under cpu`.
pub(crate) fn factors_in_words(factors: &Factors) -> String {
    let mut parts = Vec::new();
    parts.extend(factors.get(factor::METHOD).map(str::to_owned));
    parts.extend(factors.get(factor::TARGET).map(level));
    parts.extend(Some(variant(factors)).filter(|v| !v.is_empty()));
    parts.extend(factors.get(factor::LOAD).map(|l| match l {
        AT_REST => AT_REST.to_owned(),
        other => format!("under {other}"),
    }));
    parts.join(", ")
}

/// The place of a method in the list of them; unknown ones follow by name.
fn method_rank(probe: &str, method: &str) -> usize {
    let row = tompion_probe::method::row(probe, method);
    let place = row.and_then(|row| tompion_probe::method::rows().position(|r| r == row));
    place.unwrap_or(usize::MAX)
}

/// The loads of a run, each once, in the order in which they are shown.
pub(crate) fn all_loads(data: &ReportData) -> Vec<&str> {
    let all = data.cells().iter().map(|c| c.factors.level(factor::LOAD));
    let mut loads: Vec<&str> = all.collect();
    sort_loads(&mut loads);
    loads.dedup();
    loads
}

/// Loads in the order of the list of them; others follow by name.
pub(crate) fn sort_loads(loads: &mut [&str]) {
    let place = |level: &str| tompion_load::loads().position(|l| l.name == level);
    loads.sort_by_key(|l| (place(l).unwrap_or(usize::MAX), *l));
}

fn target_rank(target: Option<&str>) -> (u64, Option<&str>) {
    let ns = target.map_or(0, |t| parse_duration_ns(t).unwrap_or(u64::MAX));
    (ns, target)
}

/// The grids of one probe, the shortest target first.
pub(crate) fn grids<'a>(data: &'a ReportData, probe: ProbeWords<'a>) -> Vec<Grid<'a>> {
    let mut groups: BTreeMap<Option<&str>, Vec<Shown<'_>>> = BTreeMap::new();
    let mut methods: BTreeSet<(usize, &str)> = BTreeSet::new();
    let of_probe = |s: &Shown<'_>| s.cell.factors.level(factor::PROBE) == probe.name;
    for shown in data.shown().filter(of_probe) {
        let f = &shown.cell.factors;
        groups.entry(f.get(factor::TARGET)).or_default().push(shown);
        let method = f.level(factor::METHOD);
        methods.insert((method_rank(probe.name, method), method));
    }
    let order: Vec<&str> = methods.iter().map(|m| m.1).collect();
    let mut grids: Vec<Grid<'_>> = groups
        .into_iter()
        .flat_map(|(target, cells)| of_target(probe, target, &cells, &order))
        .collect();
    grids.sort_by_key(|g| target_rank(g.target));
    grids
}

/// All cells of a target in one grid; in one for each load where nearly all of its places would
/// be empty, since they take memory as well.
fn of_target<'a>(
    probe: ProbeWords<'a>,
    target: Option<&'a str>,
    cells: &[Shown<'a>],
    methods: &[&'a str],
) -> Vec<Grid<'a>> {
    let load_of = |s: &Shown<'a>| s.cell.factors.level(factor::LOAD);
    let row_of = |s: &Shown<'a>| s.cell.factors.clone().without(factor::LOAD);
    let mut by_load: BTreeMap<&str, Vec<Shown<'a>>> = BTreeMap::new();
    for shown in cells {
        by_load.entry(load_of(shown)).or_default().push(*shown);
    }
    let rows: BTreeSet<Factors> = cells.iter().map(row_of).collect();
    if rows.len().saturating_mul(by_load.len()) <= EMPTY + EMPTY_EACH * cells.len() {
        return vec![grid(probe, target, cells, methods)];
    }
    let mut loads: Vec<&str> = by_load.keys().copied().collect();
    sort_loads(&mut loads);
    let of_load = |(number, load): (usize, &&str)| Grid {
        of_load: Some(number + 1),
        ..grid(probe, target, &by_load[*load], methods)
    };
    loads.iter().enumerate().map(of_load).collect()
}

fn grid<'a>(
    probe: ProbeWords<'a>,
    target: Option<&'a str>,
    cells: &[Shown<'a>],
    methods: &[&'a str],
) -> Grid<'a> {
    let load_of = |s: &Shown<'a>| s.cell.factors.level(factor::LOAD);
    let mut loads: Vec<&str> = cells.iter().map(load_of).collect();
    sort_loads(&mut loads);
    loads.dedup();
    let mut rows: BTreeMap<(usize, String), Row<'a>> = BTreeMap::new();
    let number = |all: &[&'a str]| -> HashMap<&'a str, usize> {
        all.iter().enumerate().map(|(i, name)| (*name, i)).collect()
    };
    let (of_method, of_load) = (number(methods), number(&loads));
    for shown in cells {
        let f = &shown.cell.factors;
        let method = f.level(factor::METHOD);
        let method_index = of_method.get(method).copied().unwrap_or(0);
        let variant = variant(f);
        let row = rows
            .entry((method_index, variant.clone()))
            .or_insert_with(|| Row {
                method,
                variant,
                method_index,
                variant_index: 0,
                by_load: vec![None; loads.len()],
            });
        if let Some(i) = of_load.get(load_of(shown)) {
            row.by_load[*i] = Some(*shown);
        }
    }
    let mut rows: Vec<Row<'a>> = rows.into_values().collect();
    for i in 1..rows.len() {
        if rows[i].method_index == rows[i - 1].method_index {
            rows[i].variant_index = rows[i - 1].variant_index + 1;
        }
    }
    Grid {
        probe,
        target,
        loads,
        rows,
        of_load: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_name_what_differs_from_the_default() {
        let f = Factors::new()
            .with("timer-slack", "default")
            .with("policy", "fifo:50");
        assert_eq!(variant(&f), "fifo:50");
        let f = f.with("timer-slack", "1ns").with("place", "a<b");
        assert_eq!(variant(&f), "place a<b, fifo:50, slack 1 ns");
        let words = |name, l| variant(&Factors::new().with(name, l));
        assert_eq!(words(factor::FORM, "grid"), "periodic");
        assert_eq!(words(factor::FORM, REARMED), "re-armed");
        assert_eq!(words(factor::CPU, "1"), "CPU 1");
    }

    #[test]
    fn idle_comes_first_and_unknown_loads_last() {
        let mut loads = ["network", "zeta", "cpu", "idle", "alpha"];
        sort_loads(&mut loads);
        assert_eq!(loads, ["idle", "cpu", "network", "alpha", "zeta"]);
    }
}
