//! Runs of any values within the format's ranges, written as Tompion writes them, and reported in
//! every form: the figures agree with one another.

use tompion_assess::verdict::assess;
use tompion_cause::{Cause, Source};
use tompion_model::{
    Factors, Findings, Granularity, LoadEvidence, Mark, Measurement, RoundTrips, Sample, StallPart,
    Stalls, Status, Storage, Summary, TrialData, TrialDraft, factor, stall_parts,
};
use tompion_path::stamps::{Packets, Stamp, Vantage, recorded};
use tompion_report::{FORMS, Make, ReportData};
use tompion_stats::Bins;
use tompion_store::{Run, RunWriter};

use crate::Target;
use crate::input::Input;
use crate::run_files::header;
use crate::{acts, one_line, scratch};

pub static ENTRY: Target = Target {
    name: "report",
    about: "a run of any values, reported in every form: figures in their order",
    parser: &[
        "tompion-store/src/writer.rs",
        "tompion-store/src/gather.rs",
        "tompion-store/src/histograms.rs",
        "tompion-store/src/samples.rs",
        "tompion-model/src/filled.rs",
        "tompion-model/src/trial.rs",
        "tompion-model/src/summary.rs",
        "tompion-stats/src/distribution.rs",
        "tompion-stats/src/block_interval.rs",
        "tompion-stats/src/mean_distribution.rs",
        "tompion-stats/src/within_block.rs",
        "tompion-stats/src/dependence.rs",
        "tompion-stats/src/histogram.rs",
        "tompion-report/src/data.rs",
        "tompion-report/src/forms/json/cell.rs",
        "tompion-report/src/forms/csv.rs",
        "tompion-report/src/forms/md.rs",
    ],
    most_bytes: 1024,
    run,
};

const PROBES: [(&str, &str); 6] = [
    ("wake-up", "usleep"),
    ("wake-up", "clock-nanosleep-abs"),
    ("read-cost", "clock-monotonic"),
    ("timer-events", "timerfd"),
    ("stalls", "busy-loop"),
    (recorded::NAME, recorded::METHODS[0]),
];
const LOADS: [&str; 3] = ["idle", "cpu", "=cmd|'/c calc'!A1"];

fn sample(input: &mut Input<'_>, last: &mut u64) -> Sample {
    let how = input.byte();
    let step = match how & 1 {
        0 => 1000,
        _ => input.unsigned() >> 1,
    };
    *last = last.saturating_add(step).min(i64::MAX as u64);
    Sample {
        at_ns: *last,
        value_ps: input.integer(),
        n: if how & 2 == 0 { 1 } else { input.u32() },
        missed: if how & 4 == 0 {
            0
        } else {
            input.integer() as u32
        },
        mark: match how >> 3 {
            0..=15 => Mark::None,
            16 => Mark::WarmUp,
            17 => Mark::Recorder,
            kind => {
                let sources = [Source::Event, Source::Counter, Source::Polled];
                let cause = Cause::ALL[usize::from(kind) % Cause::ALL.len()];
                Mark::Disturbed(cause, sources[usize::from(kind) % 3])
            }
        },
    }
}

fn bins(input: &mut Input<'_>) -> Bins {
    let mut bins = Bins::new();
    for _ in 0..input.below(5) {
        // What no bin can hold is left out.
        let _ = bins.record_many(input.integer(), u64::from(input.u32()));
    }
    bins
}

/// Probes with any stamps, some of them answered.
fn packets(input: &mut Input<'_>) -> Packets {
    let mut packets = Packets::new();
    for _ in 0..input.below(5) {
        let row = packets.push(input.u32()).expect("room for a few");
        let how = input.byte();
        for (at, stamp) in Stamp::FIXED.into_iter().enumerate() {
            if how >> (at % 8) & 1 != 0 {
                // One that is out of range is left out.
                let _ = packets.set(row, stamp, input.integer());
            }
        }
        if how & 1 != 0 {
            packets.arrived(row).expect("a row");
        }
    }
    packets
}

fn trial(input: &mut Input<'_>, block: u32) -> (TrialDraft, TrialData) {
    let how = input.byte();
    let (probe, method) = PROBES[input.below(PROBES.len())];
    let mut factors = Factors::new()
        .with(factor::PROBE, probe)
        .with(factor::METHOD, method)
        .with(factor::LOAD, LOADS[input.below(LOADS.len())]);
    if how & 1 != 0 {
        factors = factors.with(factor::TARGET, input.text());
    }
    let mut data = TrialData::default();
    let mut last = 0;
    for _ in 0..input.below(24) {
        let one = sample(input, &mut last);
        let times = 1 + input.below(8);
        data.samples.extend(std::iter::repeat_n(one, times));
    }
    let mut draft = TrialDraft {
        factors,
        block,
        started_ns: input.unsigned() >> 2,
        duration_ns: input.unsigned() >> 2,
        measurement: Measurement {
            technique: "planted".to_owned(),
            clock: "CLOCK_MONOTONIC".to_owned(),
            floor_ns: (how & 2 != 0).then(|| input.integer() as f64),
            period_ns: (how & 4 != 0).then(|| input.unsigned() >> 1),
            granularity: (how & 8 != 0).then(|| Granularity {
                smallest_step_ns: input.integer() as f64,
                common_step_ns: input.integer() as f64,
                zero_steps: 0.5,
                backward_steps: input.unsigned() >> 2,
            }),
            ..Measurement::default()
        },
        ..TrialDraft::default()
    };
    draft.missed_periods = draft.measurement.period_ns.map(|_| input.unsigned() >> 2);
    if how & 16 != 0 {
        draft.load = Some(LoadEvidence {
            load: input.text(),
            driver: "built-in".to_owned(),
            operations: Some(input.unsigned() >> 2),
            cpu_time_ns: input.unsigned() >> 2,
            observed_ns: input.unsigned() >> 2,
            context_switches_per_second: input.integer() as f64,
            ..LoadEvidence::default()
        });
    }
    if how & 32 != 0 {
        draft.storage = Storage::Tail {
            limit_rows: input.unsigned() >> 2,
            threshold_ps: input.integer() >> 2,
        };
        data.bins = Some(bins(input));
        data.filled_bins = Some(bins(input));
    }
    if probe == recorded::NAME {
        let vantages = [Vantage::User, Vantage::Qdisc, Vantage::Kernel];
        let vantage = vantages[input.below(vantages.len())].to_string();
        draft.factors = draft.factors.with(factor::VANTAGE, vantage);
        let table = recorded::table(&packets(input));
        data.tables.insert(recorded::TABLE.to_owned(), table);
        draft.findings = Findings::from(RoundTrips {
            to: input.text(),
            due: input.unsigned() >> 2,
            answered: input.unsigned() >> 2,
            lost: input.unsigned() >> 2,
            remarks: vec![input.text()],
            ..RoundTrips::default()
        });
    }
    if probe == "stalls" {
        let part = |input: &mut Input<'_>| StallPart {
            at_ns: input.unsigned() >> 1,
            ns: input.unsigned() >> 1,
            cause: Cause::ALL[input.below(Cause::ALL.len())],
            by: (input.byte() & 1 != 0).then(|| input.text()),
            source: Some(Source::Event),
            because: input.text(),
        };
        let parts: Vec<_> = (0..input.below(5)).map(|_| part(input)).collect();
        let table = stall_parts::table(&parts);
        data.tables.insert(stall_parts::NAME.to_owned(), table);
        draft.findings = Findings::from(Stalls {
            threshold_ns: input.unsigned() >> 2,
            iterations: input.unsigned() >> 2,
            loop_period_ns: input.integer() as f64,
            wall_ns: input.unsigned() >> 2,
            observed_ns: input.unsigned() >> 2,
            stalls: input.unsigned() >> 2,
            lost_ns: input.unsigned() >> 2,
            ..Stalls::default()
        });
    }
    (draft, data)
}

/// Holds figures against what any figures of values are.
fn sound(summary: Option<&Summary>) {
    let Some(s) = summary else { return };
    let quantiles = [
        s.min_ns,
        s.p25_ns,
        s.median_ns,
        s.p75_ns,
        s.p90_ns,
        s.p95_ns,
        s.p99_ns,
        s.p99_9_ns,
        s.p99_99_ns,
        s.max_ns,
    ];
    assert!(quantiles.is_sorted(), "{s:?}");
    assert!((s.min_ns..=s.max_ns).contains(&s.mean_ns), "{s:?}");
    let range = s.max_ns - s.min_ns;
    let spreads = [
        Some(s.median_absolute_deviation_ns),
        Some(s.half_interquartile_range_ns),
        s.standard_deviation_ns,
    ];
    for spread in spreads.into_iter().flatten() {
        // Of two values the standard deviation is 0.71 of their distance.
        assert!((0.0..=range * (1.0 + 1e-12)).contains(&spread), "{s:?}");
    }
    assert!(s.samples > 0, "{s:?}");
}

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let form = input.below(FORMS.len() + 1);
    let place = scratch::directory();
    let directory = place.path().join("run");
    let mut writer = RunWriter::create(&directory, header()).expect("a run");
    for block in 0..=input.below(4) as u32 {
        let (draft, data) = trial(&mut input, block / 2);
        match writer.save(draft, &data) {
            Err(error) => return one_line(&error.to_string()),
            Ok(trial) => {
                let s = &trial.summary;
                let all = [&s.measured, &s.undisturbed, &s.missed_filled, &s.batched];
                all.iter().for_each(|summary| sound(summary.as_ref()));
            }
        }
    }
    if let Err(error) = writer.finish(Status::Complete) {
        return one_line(&error.to_string());
    }
    drop(writer);
    let run = match Run::open(&directory) {
        Err(error) => return one_line(&error.to_string()),
        Ok(run) => run,
    };
    match ReportData::gather(&run, assess) {
        Err(error) => one_line(&error.to_string()),
        Ok(data) => rendered(&run, &data, form),
    }
}

/// Makes one of the forms, which each input chooses: all of them take a tenth of a second.
fn rendered(run: &Run, data: &ReportData, chosen: usize) {
    let mut texts = vec![tompion_report::terminal(data, 100, false)];
    match FORMS.get(chosen).map(|form| form.make) {
        Some(Make::Text(make)) => texts.push(make(data)),
        // Drawn as text; what makes pictures of it is a library's.
        Some(Make::Plots("svg", make)) => make(data).for_each(|plot| {
            plot.unwrap_or_else(|why| panic!("{why}"));
        }),
        _ => {}
    }
    for text in texts {
        let acts = |c: char| c != '\n' && acts(c);
        assert!(
            !text.contains(acts),
            "what is shown would act on a terminal"
        );
        assert!(!text.contains("NaN"), "a figure is none: {text}");
    }
    if let Err(error) = tompion_report::interval_log(run) {
        one_line(&error.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_is_reported() {
        for probe in tompion_run::probes::PROBES {
            let is_here = PROBES.iter().any(|(name, _)| *name == probe.name);
            assert!(is_here, "{} has no trials here", probe.name);
        }
    }
}
