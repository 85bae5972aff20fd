//! Runs of every format version so far, read as they were written: `tests/golden`.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tompion_model::{Column, Mark, SCHEMA_VERSION, Status, Trial, TrialData, Values, View, factor};
use tompion_store::{Directory, Run, RunWriter};

fn golden(name: &str, extension: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    tests.join(format!("{name}.{extension}"))
}

/// A run, unpacked, and what another program found in it.
pub(crate) fn unpacked(name: &str) -> (tempfile::TempDir, PathBuf, Value) {
    let place = tempfile::tempdir().unwrap();
    let packed = File::open(golden(name, "tar.gz")).unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed));
    archive.unpack(place.path()).unwrap();
    let told = std::fs::read(golden(name, "json")).unwrap();
    let run = place.path().join(name);
    (place, run, serde_json::from_slice(&told).unwrap())
}

/// What `tests/golden/expect.py` says of a run.
fn content(run: &Run, schema_version: u64) -> Value {
    let record = run.record();
    let environment = &record.header.environment;
    let platforms: Vec<_> = record.platforms.iter().map(|p| &p.level).collect();
    let trials: Vec<_> = record.trials.iter().map(|t| of_trial(run, t)).collect();
    json!({
        "schema_version": schema_version,
        "status": record.status,
        "hostname": environment.hostname,
        "clocksource": environment.clock.clocksource,
        "cpu_model": environment.machine.cpu_model,
        "platforms": platforms,
        "trials": trials,
    })
}

fn of_trial(run: &Run, trial: &Trial) -> Value {
    let data = run.data(trial).unwrap();
    let mut marks: BTreeMap<String, u64> = BTreeMap::new();
    for mark in data.samples.iter().filter_map(|s| s.mark.name()) {
        *marks.entry(mark.into_owned()).or_default() += 1;
    }
    let sum = |pick: fn(&tompion_model::Sample) -> u64| data.samples.iter().map(pick).sum::<u64>();
    let summary = data.summarise(trial.measurement.period_ns, trial.summary.missed_periods);
    // But for the last bit, which reading a number from JSON may cost.
    let (found, stated) = (json!(summary), json!(trial.summary));
    assert!(
        is_alike(&found, &stated),
        "the figures are those of the samples: {found} {stated}"
    );
    let median = data
        .distribution(View::Measured)
        .median()
        .map(|ps| ps / 1000.0);
    let binned = data.bins.as_ref().map(tompion_stats::Bins::len);
    let mut told = json!({
        "factors": trial.factors,
        "block": trial.block,
        "rows": data.samples.len(),
        "last_at_ns": data.samples.iter().map(|s| s.at_ns).max(),
        "sum_ps": data.samples.iter().map(|s| s.value_ps).sum::<i64>(),
        "sum_n": sum(|s| s.n.into()),
        "sum_missed": sum(|s| s.missed.into()),
        "marks": marks,
        "median_ns": median.filter(|_| binned.is_none()),
        "stated_median_ns": trial.summary.measured.as_ref().map(|s| s.median_ns),
        "binned": binned.map(|n| n + data.filled_bins.as_ref().map_or(0, tompion_stats::Bins::len)),
        "parts": parts(&data),
    });
    if let Some(packets) = data.tables.get("packets") {
        told["packets"] = packets.columns().iter().map(of_column).collect();
    }
    told
}

/// How many values a column has and their sum, modulo 2^64; of words how often each stands there.
fn of_column(column: &Column) -> (String, Value) {
    let numbers = |values: Vec<u64>| {
        let sum = values.iter().fold(0u64, |sum, v| sum.wrapping_add(*v));
        json!([values.len(), sum])
    };
    let told = match &column.values {
        Values::UInt32(values) => numbers(values.iter().flatten().map(|v| (*v).into()).collect()),
        Values::Int64(values) => {
            numbers(values.iter().flatten().map(|v| v.cast_unsigned()).collect())
        }
        Values::Text(values) => {
            let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
            for word in values.iter().flatten() {
                *counts.entry(word).or_default() += 1;
            }
            json!(counts)
        }
        other => panic!("a column of packets of another type: {other:?}"),
    };
    (column.name.clone(), told)
}

fn is_alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            // Runs of older versions say nothing of the order of values.
            let stated = |key: &str| key != "order" || b.contains_key(key);
            let found: Vec<_> = a.iter().filter(|(key, _)| stated(key)).collect();
            let alike = |(key, value): &(&String, &Value)| {
                b.get(*key).is_some_and(|stated| is_alike(value, stated))
            };
            found.len() == b.len() && found.iter().all(alike)
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 4.0 * f64::EPSILON * b.abs()
        }
        (a, b) => a == b,
    }
}

fn parts(data: &TrialData) -> Option<BTreeMap<&'static str, [u64; 4]>> {
    let parts = data.stall_parts();
    let mut by_cause: BTreeMap<&str, [u64; 4]> = BTreeMap::new();
    for part in &parts {
        let sums = by_cause.entry(part.cause.name()).or_default();
        let by = u64::from(part.by.is_some());
        for (sum, add) in sums.iter_mut().zip([1, part.ns, part.at_ns, by]) {
            *sum += add;
        }
    }
    (!parts.is_empty()).then_some(by_cause)
}

#[test]
fn golden_runs_of_every_version_are_read_as_they_were_written() {
    for version in 1..=SCHEMA_VERSION {
        let (_place, directory, told) = unpacked(&format!("version-{version}"));
        let run = Run::open(&directory).unwrap();
        let found = content(&run, version);
        assert_eq!(found, told, "version {version}");
        let probes: Vec<_> = run
            .record()
            .trials
            .iter()
            .map(|t| t.factors.level(factor::PROBE))
            .collect();
        for probe in ["read-cost", "wake-up", "timer-events", "stalls"] {
            assert!(probes.contains(&probe), "version {version} has no {probe}");
        }
        let marked = |t: &Trial| {
            let samples = run.data(t).unwrap().samples;
            samples
                .iter()
                .any(|s| matches!(s.mark, Mark::Disturbed(..)))
        };
        assert!(
            run.record().trials.iter().any(marked),
            "version {version} has no disturbed sample"
        );
    }
}

/// As written by programs of each version, from planted values: in measured runs hardly any
/// mark occurs.
#[test]
fn golden_runs_with_every_mark_and_every_cause_are_read_as_they_were_written() {
    for version in 1..=SCHEMA_VERSION {
        let (_place, directory, told) = unpacked(&format!("version-{version}-marks"));
        let run = Run::open(&directory).unwrap();
        assert_eq!(content(&run, version), told, "version {version}");
        let trial = &told["trials"][0];
        // 15 causes known in three ways, warm-up and the recorder's own.
        let marks = trial["marks"].as_object().unwrap();
        assert_eq!(marks.len(), 3 * 15 + 2, "version {version}");
        assert_eq!(trial["parts"].as_object().unwrap().len(), 15);
    }
}

/// Round trips over a path that loses, repeats and reorders packets: a trial for each vantage
/// point, and the table of all stamps with the first of them.
#[test]
fn a_golden_run_of_packets_is_read_as_it_was_written() {
    let (_place, directory, told) = unpacked("version-2-packets");
    let run = Run::open(&directory).unwrap();
    assert_eq!(content(&run, 2), told);
    let trials = &run.record().trials;
    let seen = |vantage: &str| {
        let of = |t: &&Trial| t.factors.level(factor::VANTAGE) == vantage;
        trials.iter().find(of).unwrap()
    };
    for vantage in ["user", "qdisc", "kernel"] {
        let trial = seen(vantage);
        let found = trial.findings.round_trips.as_ref().unwrap();
        assert!(found.lost > 0 && found.duplicates > 0 && found.reordered > 0);
        assert_eq!(trial.rows() + found.without_value, found.answered);
        assert_eq!(trial.tables.contains_key("packets"), vantage == "user");
    }
    let probes = seen("user").findings.round_trips.as_ref().unwrap().due;
    assert_eq!(seen("user").tables["packets"].rows, probes);
}

#[test]
fn a_run_of_version_1_goes_on_in_this_one() {
    let (_place, directory, told) = unpacked("version-1");
    let trials = told["trials"].as_array().unwrap().len();
    let mut writer = RunWriter::reopen(&Directory::open(&directory).unwrap(), trials).unwrap();
    // In between it is a run of this version whose trials have files of their own.
    let trials_of = || {
        let run = Run::open(&directory).unwrap();
        assert_eq!(run.record().schema_version, SCHEMA_VERSION);
        content(&run, 1)["trials"].clone()
    };
    assert!(directory.join("samples").exists());
    assert_eq!(trials_of(), told["trials"]);
    writer.finish(Status::Complete).unwrap();
    assert_eq!(trials_of(), told["trials"]);
    assert!(!directory.join("samples").exists());
}
