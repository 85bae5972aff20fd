//! This machine among the published ones: median and tail beside the platforms of
//! Kirova et al. 2019, Tables 1 and 2. Told, not tested.

use std::collections::BTreeMap;

use tompion_model::{factor, format_ns, level_in_words};
use tompion_papers::published::{
    Counterpart, Fit, Quality, Statistic, Table, comparison_notes, counterparts_of_cell, tables_of,
};

use crate::data::{ReportData, Shown};
use crate::figures::supported;
use crate::grid::{PUBLISHED_LOADS, variant};

/// The paper whose tables are shown.
const PAPER: &str = "kirova-2019";

/// How it is called in a legend.
const SHORT: &str = "Kirova et al. 2019";

/// Platforms in the order of the paper's text.
const PLATFORMS: [&str; 5] = ["host", "xen", "qemu", "esxi", "virtualbox"];

/// This machine among published ones.
#[derive(Clone, Debug)]
pub(crate) struct Among {
    /// The paper.
    pub citation: String,
    /// One for each published function and load that the run has too.
    pub panels: Vec<Panel>,
    /// What to know before comparing.
    pub caveats: Vec<String>,
}

/// One function under one load on all platforms.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// What the paper measured, for example `TSC`.
    pub function: String,
    /// The paper's load.
    pub load: String,
    /// What is measured, by the field's name.
    pub quantity: &'static str,
    /// Table and place in the paper.
    pub place: String,
    /// This machine's methods first, then the platforms.
    pub rungs: Vec<Rung>,
}

/// One line of a panel.
#[derive(Clone, Debug)]
pub(crate) struct Rung {
    /// The method and its setting, or the platform.
    pub label: String,
    /// Whether this run measured it.
    pub own: bool,
    /// Median in nanoseconds,
    pub median_ns: f64,
    /// and in words; where this run's blocks disagree, from which of theirs to which.
    pub median: String,
    /// The p99 in nanoseconds, where there is one; the paper has none.
    pub p99_ns: Option<f64>,
    /// The same in words.
    pub p99: Option<String>,
    /// Largest value in nanoseconds.
    pub max_ns: f64,
    /// Why the paper's figures are doubtful.
    pub marked: Option<String>,
}

/// What a run has a published counterpart of; nothing where no cell has one.
pub(crate) fn among(data: &ReportData) -> Option<Among> {
    type Key = (&'static str, &'static str, &'static str);
    let mut panels: BTreeMap<Key, Panel> = BTreeMap::new();
    let mut caveats = vec![
        "A paper gives one number for each of its cells, and other machines, kernels and years: differences are shown, not tested.".to_owned(),
    ];
    let add = |caveats: &mut Vec<String>, text: &str| {
        if !caveats.iter().any(|c| c == text) {
            caveats.push(text.to_owned());
        }
    };
    for shown in data.shown() {
        let found = counterparts_of_cell(PAPER, |f| shown.cell.factors.get(f));
        let Some(first) = found.first() else { continue };
        let Some(own) = own(&shown) else { continue };
        let (table, row) = (first.figure.table, first.figure.row);
        let level = |name| row.level(name).unwrap_or_default();
        let key = (table.id.as_str(), level("function"), level("load"));
        let panel = panels.entry(key).or_insert_with(|| Panel {
            function: words(table, "function", key.1),
            load: words(table, "load", key.2),
            quantity: &first.figure.column.quantity,
            place: format!("{SHORT}, {}", table.place),
            rungs: published(&found),
        });
        let at = panel.rungs.iter().filter(|r| r.own).count();
        panel.rungs.insert(at, own);
        for c in found.iter().filter(|c| c.fit == Fit::Near) {
            c.notes.iter().for_each(|note| add(&mut caveats, note));
        }
    }
    for table in tables_of(PAPER) {
        if panels.keys().any(|k| k.0 == table.id) {
            let notes = comparison_notes(table).iter().chain(&table.caveats);
            notes.for_each(|note| add(&mut caveats, note));
        }
    }
    let mut panels: Vec<(Key, Panel)> = panels.into_iter().collect();
    let load = |l: &str| PUBLISHED_LOADS.iter().position(|k| *k == l);
    panels.sort_by_key(|(k, _)| (k.0, std::cmp::Reverse(k.1), load(k.2)));
    let citation = tables_of(PAPER).first()?.paper().citation();
    (!panels.is_empty()).then(|| Among {
        citation,
        panels: panels.into_iter().map(|p| p.1).collect(),
        caveats,
    })
}

/// This machine's figures of one cell.
fn own(shown: &Shown<'_>) -> Option<Rung> {
    let summary = shown.view.measured.as_ref()?;
    let f = &shown.cell.factors;
    let mut label = f.level(factor::METHOD).to_owned();
    for more in [f.get(factor::TARGET).map(level_in_words), Some(variant(f))] {
        if let Some(more) = more.filter(|m| !m.is_empty()) {
            label = format!("{label}, {more}");
        }
    }
    Some(Rung {
        label,
        own: true,
        median_ns: summary.median_ns,
        median: shown.view.median()?,
        p99_ns: supported(summary, 0.99, summary.p99_ns),
        p99: shown.view.quantile(0.99, |m| m.p99_ns),
        max_ns: summary.max_ns,
        marked: None,
    })
}

/// The platforms of one published function and load.
fn published(found: &[Counterpart]) -> Vec<Rung> {
    let of = |platform: &str, statistic| {
        found
            .iter()
            .find(|c| c.statistic == statistic && c.figure.row.level("platform") == Some(platform))
    };
    let rung = |platform: &&str| {
        let median = of(platform, Statistic::Median)?;
        let max = of(platform, Statistic::Maximum)?;
        let marked = [median, max].map(|c| c.figure.value.quality());
        Some(Rung {
            label: words(median.figure.table, "platform", platform),
            own: false,
            median_ns: median.value_ns,
            median: format_ns(median.value_ns),
            p99_ns: None,
            p99: None,
            max_ns: max.value_ns,
            marked: marked.into_iter().find_map(|q| match q {
                Quality::Marked(why) => Some(why.to_owned()),
                Quality::Sound => None,
            }),
        })
    };
    PLATFORMS.iter().filter_map(rung).collect()
}

/// What the paper calls a level, without the explanation after the colon.
fn words(table: &'static Table, factor: &str, level: &str) -> String {
    let named = table.factor(factor).and_then(|f| f.levels.get(level));
    let named = named.map_or(level, |n| n.split(':').next().unwrap_or(n));
    match named {
        "VBox" => "VirtualBox".to_owned(),
        "QEMU/KVM" => "QEMU".to_owned(),
        "VMware ESXi" => "ESXi".to_owned(),
        other => other.to_owned(),
    }
}
