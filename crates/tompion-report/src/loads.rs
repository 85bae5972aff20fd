//! The proof that the loads ran, brought together over trials.

use std::collections::{BTreeMap, BTreeSet};

use tompion_model::{Cell, LoadEvidence, factor};

use crate::data::ReportData;
use crate::grid::{load_title, sort_loads};

/// What one load did over all trials beside which it ran.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoadSummary {
    /// Where it ran; absent where the run has one platform at most.
    pub platform: Option<String>,
    /// The factor's level.
    pub load: String,
    /// The load as asked for.
    pub asked: String,
    /// What produced it.
    pub driver: String,
    /// Trials with evidence.
    pub trials: usize,
    /// Whether it ran as a part of the load before.
    pub is_part: bool,
    /// Operations per second, and what one is.
    pub operations: Option<(f64, String)>,
    /// Bytes moved per second.
    pub bytes_per_second: Option<f64>,
    /// CPUs kept busy on average.
    pub busy_cpus: f64,
    /// Context switches per second of the whole machine.
    pub context_switches_per_second: f64,
    /// Interrupts per second of the whole machine.
    pub interrupts_per_second: f64,
    /// What has to be known about the way in which it ran.
    pub notes: Vec<String>,
}

impl LoadSummary {
    /// Platform and load in words, and whether it ran as a part.
    pub(crate) fn name(&self) -> String {
        let with = if self.is_part { "with " } else { "" };
        let load = format!("{with}{}", load_title(&self.load));
        match &self.platform {
            Some(platform) => format!("{platform}, {load}"),
            None => load,
        }
    }
}

/// One summary a load and platform, in reading order, and after it those of its parts where
/// several ran together. Rates are means over time, of one platform: what an instance says of
/// its load changes no other's.
pub(crate) fn summaries(data: &ReportData) -> Vec<LoadSummary> {
    of_cells(data.cells(), data.has_platforms())
}

fn of_cells(cells: &[Cell], has_platforms: bool) -> Vec<LoadSummary> {
    let mut by_load: BTreeMap<&str, BTreeMap<Option<&str>, Vec<&LoadEvidence>>> = BTreeMap::new();
    for cell in cells {
        let platform = cell.factors.get(factor::PLATFORM);
        let platforms = by_load.entry(cell.factors.level(factor::LOAD)).or_default();
        let evidence = platforms.entry(platform.filter(|_| has_platforms));
        evidence.or_default().extend(&cell.loads);
    }
    let mut levels: Vec<&str> = by_load.keys().copied().collect();
    sort_loads(&mut levels);
    let on = |level, platform: Option<&str>, evidence: &[&LoadEvidence]| {
        let mut all = with_parts(level, evidence);
        for summary in &mut all {
            summary.platform = platform.map(str::to_owned);
        }
        all
    };
    let of_level = |level| {
        let platforms = by_load[level].iter();
        platforms.flat_map(move |(platform, evidence)| on(level, *platform, evidence))
    };
    levels.into_iter().flat_map(of_level).collect()
}

fn with_parts(level: &str, evidence: &[&LoadEvidence]) -> Vec<LoadSummary> {
    let parts = evidence.iter().map(|e| e.parts.len()).min().unwrap_or(0);
    let parts = (0..parts).filter_map(|part| {
        let of_part: Vec<_> = evidence.iter().map(|e| &e.parts[part]).collect();
        let summary = summary(&of_part[0].load, &of_part)?;
        Some(LoadSummary {
            is_part: true,
            ..summary
        })
    });
    summary(level, evidence).into_iter().chain(parts).collect()
}

fn summary(level: &str, evidence: &[&LoadEvidence]) -> Option<LoadSummary> {
    let first = evidence.first()?;
    let observed: f64 = evidence.iter().map(|e| e.observed_ns as f64).sum();
    let observed = observed.max(1.0);
    let mean = |of: fn(&LoadEvidence) -> f64| {
        evidence
            .iter()
            .map(|e| of(e) * e.observed_ns as f64)
            .sum::<f64>()
            / observed
    };
    let counted: Vec<u64> = evidence.iter().filter_map(|e| e.operations).collect();
    let moved: Vec<u64> = evidence.iter().filter_map(|e| e.bytes).collect();
    let mut known = BTreeSet::new();
    let notes = evidence.iter().flat_map(|e| &e.notes);
    let notes: Vec<String> = notes.filter(|note| known.insert(*note)).cloned().collect();
    Some(LoadSummary {
        platform: None,
        load: level.to_owned(),
        asked: first.load.clone(),
        driver: first.driver.clone(),
        trials: evidence.len(),
        is_part: false,
        bytes_per_second: (!moved.is_empty())
            .then(|| moved.iter().map(|n| *n as f64).sum::<f64>() / (observed / 1e9)),
        notes,
        operations: (!counted.is_empty()).then(|| {
            let sum: f64 = counted.iter().map(|n| *n as f64).sum();
            let unit = first
                .operation
                .clone()
                .unwrap_or_else(|| "operation".to_owned());
            (sum / (observed / 1e9), unit)
        }),
        busy_cpus: evidence.iter().map(|e| e.cpu_time_ns as f64).sum::<f64>() / observed,
        context_switches_per_second: mean(|e| e.context_switches_per_second),
        interrupts_per_second: mean(|e| e.interrupts_per_second),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tompion_model::Factors;

    #[test]
    fn what_one_platform_says_of_its_load_changes_no_other_row() {
        let cell = |platform: &str, switches: f64| Cell {
            factors: Factors::new()
                .with(factor::LOAD, "cpu")
                .with(factor::PLATFORM, platform),
            loads: vec![LoadEvidence {
                observed_ns: 1_000_000_000,
                context_switches_per_second: switches,
                ..LoadEvidence::default()
            }],
            ..Cell::default()
        };
        let cells = [cell("bare", 100.0), cell("guest", 1e9)];
        let row = |l: &LoadSummary| (l.name(), l.context_switches_per_second);
        let rows: Vec<_> = of_cells(&cells, true).iter().map(row).collect();
        assert_eq!(
            rows,
            [
                ("bare, cpu".to_owned(), 100.0),
                ("guest, cpu".to_owned(), 1e9)
            ]
        );
        let one: Vec<_> = of_cells(&cells[..1], false).iter().map(row).collect();
        assert_eq!(one, [("cpu".to_owned(), 100.0)]);
    }

    #[test]
    fn rates_are_weighted_by_time() {
        let one = LoadEvidence {
            load: "cpu:threads=100".into(),
            driver: "built-in".into(),
            operations: Some(3_000),
            operation: Some("square root".into()),
            cpu_time_ns: 2_000_000_000,
            observed_ns: 1_000_000_000,
            context_switches_per_second: 100.0,
            interrupts_per_second: 10.0,
            ..LoadEvidence::default()
        };
        let two = LoadEvidence {
            observed_ns: 3_000_000_000,
            context_switches_per_second: 500.0,
            ..one.clone()
        };
        let s = summary("cpu", &[&one, &two]).unwrap();
        assert_eq!(s.context_switches_per_second, 400.0);
        assert_eq!(s.busy_cpus, 1.0);
        assert_eq!(s.operations, Some((1_500.0, "square root".into())));
        assert_eq!(s.bytes_per_second, None);
        assert_eq!(summary("idle", &[]), None);
    }

    #[test]
    fn parts_follow_their_load() {
        let part = |load: &str, bytes| LoadEvidence {
            load: load.into(),
            bytes,
            observed_ns: 2_000_000_000,
            notes: vec!["slow disk".into()],
            ..LoadEvidence::default()
        };
        let both = LoadEvidence {
            parts: vec![part("cpu:threads=4", None), part("io", Some(8192))],
            ..part("cpu:threads=4+io", Some(8192))
        };
        let s = with_parts("cpu:threads=4+io", &[&both, &both]);
        let rows: Vec<_> = s.iter().map(|s| (s.load.as_str(), s.is_part)).collect();
        assert_eq!(
            rows,
            [
                ("cpu:threads=4+io", false),
                ("cpu:threads=4", true),
                ("io", true)
            ]
        );
        assert_eq!(s[0].bytes_per_second, Some(4096.0));
        assert_eq!((s[1].bytes_per_second, s[2].trials), (None, 2));
        assert_eq!(s[2].notes, ["slow disk"], "told once");
        assert_eq!(with_parts("idle", &[]), []);
    }
}
