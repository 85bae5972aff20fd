//! How much of a cell's result is taken, and that it is of this cell: whoever runs in an instance
//! may send something else. docs/threat-model.md states these numbers.

use std::collections::HashSet;
use std::path::Path;

use tompion_model::{
    Environment, Factors, LoadEvidence, Note, SideTable, Trial, TrialData, Values, factor,
    parse_duration_ns, shortened, table, utc_of_text,
};
use tompion_path::stamps::recorded;
use tompion_platforms::platform::MOST_OUTPUT;
use tompion_run::probes::join::is_of_program;
use tompion_run::probes::{OwnTable, PROBES};
use tompion_store::{RUN_FILE, Share};

/// Bytes of `run.json`, beside those for each trial. Honest ones have some 10,000; a reader may
/// take a hundred times as much memory, and the lab's own run keeps it all.
const DESCRIPTION: u64 = 128 << 10;
/// The same for each trial that the cell has; honest ones have some 3,000.
const DESCRIPTION_OF_TRIAL: u64 = 32 << 10;
/// Rows of a trial's samples. What this program measures stays below that.
const SAMPLES: u64 = 1 << 20;
/// Rows of a trial's other tables, whatever the length of the result.
const BESIDE: u64 = 1 << 18;
/// Bytes of the result for each further one; a stall takes more.
const BYTES_OF_ROW: u64 = 8;
/// The most of them.
const MOST_BESIDE: u64 = 1 << 21;

/// Probes of a result that is joined with its host's tap: they are in memory at once, a hundred bytes each.
const JOINED: u64 = 1 << 20;

/// Values of a trial's other tables together, a text as three, whatever the length of the result: they are in memory
/// at once.
const VALUES_BESIDE: u64 = 1 << 22;
/// Bytes of all tables of a trial unpacked.
const UNPACKED: u64 = 96 << 20;
/// Texts of them, each as often as it stands there, in bytes: where they are written each takes its own.
const TEXT_BESIDE: usize = 8 << 20;
/// Trials of a run at most.
const TRIALS: u64 = 1 << 20;
/// Bytes of what a cell's result says of its machine, and values of it, an object counted eightfold as a
/// reader does; honest ones have 5,000 and 300. The lab's run keeps it of each platform.
const ENVIRONMENT: usize = 16 << 10;
const VALUES_OF_ENVIRONMENT: usize = 1 << 10;
/// Notes of a cell; honest ones have a handful. The lab keeps them all to its end.
const NOTES: usize = 16;
/// Of each, in bytes.
const NOTE_BYTES: usize = 404;

/// What guests that measure at once may write to standard output together, but each this at least, in bytes: all of it is
/// in memory at once.
const LEAST_OUTPUT: u64 = 4 << 20;

/// What each of so many guests that measure at once may write to standard output, in bytes.
pub(crate) fn output(guests: usize) -> u64 {
    (MOST_OUTPUT / guests.max(1) as u64).max(LEAST_OUTPUT)
}

/// A reason in one line of bounded length, which controls no terminal: it may be an instance's words.
pub(crate) fn reason(why: &str) -> String {
    shortened(why)
}

/// The first notes of a cell, each in one line of bounded length.
pub(crate) fn notes(notes: &[Note]) -> Vec<Note> {
    let shown = |note: &Note| Note::new(&in_bytes(&note.kind), in_bytes(&note.text));
    notes.iter().take(NOTES).map(shown).collect()
}

/// One line of bounded length, in bytes too: a lab that goes on reads what it wrote of all cells, up to a limit.
fn in_bytes(text: &str) -> String {
    let mut line = shortened(text);
    while line.len() > NOTE_BYTES {
        line.pop();
    }
    line
}

/// What one trial of a result of `trials` may take of the run of a lab that has so many results with so many keys in
/// all.
pub(crate) fn share(results: u64, keys: u64, trials: usize) -> Share {
    Share {
        of: results.saturating_mul(trials.max(1) as u64),
        trials: keys.min(TRIALS),
        descriptions: keys.max(1),
    }
}

/// Refuses a machine of which more is said than a run keeps of each of its platforms.
pub(crate) fn check_environment(environment: &Environment) -> Result<(), String> {
    let text = serde_json::to_string_pretty(environment).unwrap_or_default();
    let values = text.lines().count() + 7 * text.matches('{').count();
    match text.len() > ENVIRONMENT || values > VALUES_OF_ENVIRONMENT {
        true => Err(format!(
            "its result says {} bytes of its machine, in {values} values; at most {ENVIRONMENT} and \
             {VALUES_OF_ENVIRONMENT} are taken",
            text.len()
        )),
        false => Ok(()),
    }
}

/// Refuses a longer description than the `trials` of a cell need, before it is read.
pub(crate) fn check_description(directory: &Path, trials: usize) -> Result<(), String> {
    // Where it is missing the run is refused in better words.
    let length = std::fs::symlink_metadata(directory.join(RUN_FILE)).map_or(0, |m| m.len());
    let most = DESCRIPTION + DESCRIPTION_OF_TRIAL * trials as u64;
    match length > most {
        true => Err(format!(
            "its result has a {RUN_FILE} of {length} bytes, at most {most} are taken"
        )),
        false => Ok(()),
    }
}

/// Refuses trials that nobody asked this cell for, or more than once, and such as have more rows
/// than a result of so many `bytes` holds.
pub(crate) fn check_trials(trials: &[Trial], wanted: &[Factors], bytes: u64) -> Result<(), String> {
    if trials.is_empty() {
        return Err("its result holds no trial".to_owned());
    }
    let (found, most) = (trials.len(), wanted.len());
    if found > most {
        return Err(format!("its result has {found} trials, at most {most}"));
    }
    let mut taken = HashSet::new();
    for trial in trials {
        let key = &trial.factors;
        if !wanted.contains(key) {
            let key = shortened(&key.to_string());
            return Err(format!("its result is of another cell: {key}"));
        }
        if !taken.insert(key) {
            return Err(format!("its result holds {key} twice"));
        }
        let rows = trial.rows();
        if rows > SAMPLES {
            return Err(format!(
                "its result has a trial of {rows} rows, at most {SAMPLES}"
            ));
        }
        check_names(trial)?;
        let sides = trial
            .tables
            .iter()
            .filter(|(name, _)| *name != table::SAMPLES);
        let rows = sides.map(|(_, at)| at.rows).fold(0, u64::saturating_add);
        let most = (BESIDE + bytes / BYTES_OF_ROW).min(MOST_BESIDE);
        if rows > most {
            return Err(format!(
                "its result of {bytes} bytes has tables of {rows} rows, at most {most}"
            ));
        }
    }
    Ok(())
}

/// Tables of our own probes, as many as there are kinds of.
fn tables() -> impl Iterator<Item = &'static OwnTable> {
    PROBES.iter().flat_map(|probe| probe.tables)
}

/// Refuses tables that this program writes nowhere: it is the one that measures in every instance, and each name of a
/// table is a file of the lab's run.
fn check_names(trial: &Trial) -> Result<(), String> {
    const EVERYWHERE: [&str; 3] = [table::SAMPLES, table::BINS, table::HISTOGRAMS];
    let is_ours = |name: &str| EVERYWHERE.contains(&name) || tables().any(|own| own.name == name);
    match trial.tables.keys().find(|name| !is_ours(name)) {
        Some(name) => {
            let name = shortened(name);
            Err(format!(
                "its result has a table that this program does not write: {name}"
            ))
        }
        None => Ok(()),
    }
}

/// How much faster than the host's an instance's clock may go, as that of an emulator does whose time is virtual, and what
/// is allowed beside, in nanoseconds.
const FASTER: u64 = 64;
const BESIDE_NS: u64 = 600_000_000_000;

/// CPUs of the largest machine, each of which does no more than so much in a second: operations of a load or bytes of it,
/// and switches or interrupts. What an instance says of its own CPUs bounds nothing.
const CPUS: f64 = 8192.0;
const DONE: f64 = 1e12;
const SWITCHES: f64 = 1e8;
/// CPUs that observing may take; honest observers take a part of one.
const OBSERVING: f64 = 64.0;

/// Refuses trials that end long after a cell that took so long by the host's clock: where a lab goes on, what comes later
/// begins behind all that is there. So it does with proof of loads over a longer time, and with what no machine does: a
/// report takes means over cells.
pub(crate) fn check_times(trials: &[Trial], lasted_ns: u64) -> Result<(), String> {
    let most = lasted_ns.saturating_mul(FASTER).saturating_add(BESIDE_NS);
    let ends = trials
        .iter()
        .map(|t| t.started_ns.saturating_add(t.duration_ns));
    match ends.max() {
        Some(last) if last > most => Err(format!(
            "its result ends {last} ns after it began, and it took {lasted_ns} ns"
        )),
        _ => trials.iter().try_for_each(|t| check_evidence(t, most)),
    }
}

/// The longest threshold of a stall and the dearest read of a clock, in nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// Refuses what a trial says of itself and a report tells of all: when it began, at which period, with which threshold.
fn check_told(trial: &Trial) -> Result<(), String> {
    let is_none = |at: &&str| utc_of_text(at).is_none();
    if let Some(at) = trial.started_at.as_deref().filter(is_none) {
        let at = shortened(at);
        return Err(format!(
            "its result has a trial that began at no time: {at}"
        ));
    }
    let told = &trial.measurement;
    let wanted_ns = trial.factors.get(factor::TARGET);
    let wanted_ns = wanted_ns.and_then(|target| parse_duration_ns(target).ok());
    match (told.period_ns, wanted_ns) {
        (Some(found), Some(wanted)) if found != wanted => {
            return Err(format!(
                "its result has a trial of a period of {found} ns, asked for {wanted} ns"
            ));
        }
        _ => {}
    }
    let threshold_ns = trial.findings.stalls.as_ref().map(|s| s.threshold_ns);
    if let Some(ns) = threshold_ns.filter(|ns| *ns > SECOND) {
        return Err(format!(
            "its result has stalls above {ns} ns, at most {SECOND} are taken"
        ));
    }
    match told.floor_ns {
        Some(ns) if !(0.0..=SECOND as f64).contains(&ns) => Err(format!(
            "its result has a probe that takes {ns:e} ns itself, at most {SECOND} are taken"
        )),
        _ => Ok(()),
    }
}

/// Refuses evidence of a trial that is beyond any machine or takes longer than `most` nanoseconds.
fn check_evidence(trial: &Trial, most: u64) -> Result<(), String> {
    check_told(trial)?;
    let observing = trial.observation.as_ref().map(|o| o.own_cpu_share);
    if let Some(share) = observing.filter(|share| !(0.0..=OBSERVING).contains(share)) {
        return Err(format!(
            "its result says that observing took {share:e} CPUs, at most {OBSERVING}"
        ));
    }
    trial
        .load
        .iter()
        .try_for_each(|load| check_load(load, most))
}

/// The same of one load and those that ran as its parts.
fn check_load(load: &LoadEvidence, most: u64) -> Result<(), String> {
    if load.observed_ns > most {
        return Err(format!(
            "its result says that a load ran for {} ns, at most {most}",
            load.observed_ns
        ));
    }
    let seconds = most as f64 / 1e9;
    let done = |count: Option<u64>| count.unwrap_or(0) as f64 / seconds;
    let rates = [
        ("operations of a load", done(load.operations), DONE),
        ("bytes of a load", done(load.bytes), DONE),
        (
            "seconds of CPU time",
            load.cpu_time_ns as f64 / 1e9 / seconds,
            1.0,
        ),
        (
            "context switches",
            load.context_switches_per_second,
            SWITCHES,
        ),
        ("interrupts", load.interrupts_per_second, SWITCHES),
    ];
    for (what, rate, of_cpu) in rates {
        // What is no number is in no range.
        if !(0.0..=CPUS * of_cpu).contains(&rate) {
            return Err(format!(
                "its result says {rate:e} {what} a second, at most {:e} are taken",
                CPUS * of_cpu
            ));
        }
    }
    load.parts
        .iter()
        .try_for_each(|part| check_load(part, most))
}

/// Refuses stamps of packets in other trials than they are joined in, and more of them than are taken into memory.
pub(crate) fn check_joined(trials: &[Trial]) -> Result<(), String> {
    let stamps = |trial: &Trial| trial.tables.get(recorded::TABLE).map(|at| at.rows);
    let mut probes = 0_u64;
    for trial in trials {
        let Some(rows) = stamps(trial) else { continue };
        if !is_of_program(&trial.factors) {
            return Err(format!(
                "its result has stamps of packets beside {}",
                shortened(&trial.factors.to_string())
            ));
        }
        probes = probes.saturating_add(rows);
    }
    match probes > JOINED {
        true => Err(format!(
            "its result has {probes} probes, of which at most {JOINED} are joined with a tap"
        )),
        false => Ok(()),
    }
}

/// Refuses pages of a trial's tables that are longer, unpacked, than what so many samples and values take.
pub(crate) fn check_unpacked(bytes: u64) -> Result<(), String> {
    match bytes > UNPACKED {
        true => Err(format!(
            "its result has a trial with tables of {bytes} bytes unpacked, at most {UNPACKED}"
        )),
        false => Ok(()),
    }
}

/// Refuses more values beside a trial's samples than are taken into memory.
pub(crate) fn check_values(values: u64) -> Result<(), String> {
    match values > VALUES_BESIDE {
        true => Err(format!(
            "its result has a trial with tables of {values} values (a text counts as three), at most {VALUES_BESIDE}"
        )),
        false => Ok(()),
    }
}

/// Refuses tables of our probes in other columns than ours: in the lab's run they could not stand
/// beside those of other cells.
pub(crate) fn check_tables(data: &TrialData) -> Result<(), String> {
    let names =
        |t: &SideTable| -> Vec<String> { t.columns().iter().map(|c| c.name.clone()).collect() };
    for own in tables() {
        let columns = names(&(own.empty)());
        let is_ours = |found: &SideTable| names(found) == columns && (own.is_read)(found);
        if !data.tables.get(own.name).is_none_or(is_ours) {
            return Err(format!(
                "its table `{}` has other columns than ours",
                own.name
            ));
        }
    }
    let texts = data.tables.values().flat_map(SideTable::columns);
    let texts = texts.map(|column| match &column.values {
        Values::Text(texts) => texts.iter().flatten().map(|text| text.len()).sum(),
        _ => 0_usize,
    });
    let bytes = texts.fold(0, usize::saturating_add);
    if bytes > TEXT_BESIDE {
        return Err(format!(
            "its result has a trial with tables of {bytes} bytes of text, at most {TEXT_BESIDE}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tompion_model::{Column, Observation, StallPart, TableRef, factor, stall_parts};
    use tompion_path::stamps::Packets;

    fn key(method: &str) -> Factors {
        let probe = Factors::new().with(factor::PROBE, "stalls");
        probe.with(factor::METHOD, method)
    }

    fn trial(factors: Factors, tables: &[(&str, u64)]) -> Trial {
        let at = |rows| TableRef {
            file: "samples/00000.parquet".to_owned(),
            row_group: 0,
            rows,
            crc32: String::new(),
        };
        let tables = tables
            .iter()
            .map(|&(name, rows)| (name.to_owned(), at(rows)));
        Trial {
            id: 0,
            factors,
            block: 0,
            started_ns: 0,
            duration_ns: 0,
            started_at: None,
            storage: Default::default(),
            tables: tables.collect(),
            measurement: Default::default(),
            load: None,
            findings: Default::default(),
            observation: None,
            cpu_use: None,
            summary: Default::default(),
        }
    }

    #[test]
    fn a_reason_is_one_short_line_of_what_can_be_shown() {
        assert_eq!(reason("it is\n\u{1b}[31mred"), "it is  [31mred");
        assert_eq!(reason(&"\0".repeat(1 << 20)), " ".repeat(400) + " ...");
    }

    #[test]
    fn trials_of_another_cell_and_trials_twice_are_refused() {
        let wanted = [key("busy-loop")];
        let check = |trials: &[Trial]| check_trials(trials, &wanted, 0);
        let ours = trial(key("busy-loop"), &[]);
        assert_eq!(check(std::slice::from_ref(&ours)), Ok(()));
        for (hostile, why) in [
            (vec![], "no trial"),
            (vec![trial(key("usleep"), &[])], "another cell"),
            (
                vec![trial(key("busy-loop").with("load", "cpu"), &[])],
                "another cell",
            ),
            (
                vec![trial(key("busy-loop").with(factor::PLATFORM, "host"), &[])],
                "another cell",
            ),
            // A further cell of the lab's run.
            (
                vec![trial(key("busy-loop").with(factor::CPU, "0"), &[])],
                "another cell",
            ),
            (vec![ours.clone(); 2], "2 trials, at most 1"),
        ] {
            let found = check(&hostile).unwrap_err();
            assert!(found.contains(why), "{found}");
        }
        let both = [key("busy-loop"), key("usleep")];
        let found = check_trials(&[ours.clone(), ours], &both, 0).unwrap_err();
        assert!(found.contains("twice"), "{found}");
    }

    #[test]
    fn rows_beyond_what_a_result_holds_are_refused() {
        let wanted = [key("busy-loop")];
        let check = |tables: &[(&str, u64)], bytes| {
            check_trials(&[trial(key("busy-loop"), tables)], &wanted, bytes)
        };
        assert!(check(&[("samples", 1 << 20), ("parts", 1 << 18)], 0).is_ok());
        assert!(check(&[("samples", (1 << 20) + 1)], 1 << 30).is_err());
        assert!(check(&[("samples", 1), ("parts", 1 << 18), ("x", 1)], 0).is_err());
        // An hour of stalls.
        assert!(check(&[("samples", 1 << 20), ("parts", 1 << 21)], 60 << 20).is_ok());
        assert!(check(&[("samples", 1), ("parts", u64::MAX), ("x", 9)], u64::MAX).is_err());
    }

    #[test]
    fn tables_of_no_probe_are_refused_and_texts_of_others_are_small() {
        let wanted = [key("busy-loop")];
        let check = |name| check_trials(&[trial(key("busy-loop"), &[(name, 1)])], &wanted, 0);
        for own in ["samples", "bins", "parts", "packets"] {
            assert_eq!(check(own), Ok(()), "{own}");
        }
        let why = check("parts-2").unwrap_err();
        assert!(why.ends_with("does not write: parts-2"), "{why}");
        let with = |rows: usize, text: &str| {
            let part = StallPart {
                at_ns: 1,
                ns: 1,
                cause: serde_json::from_str("\"preempted\"").unwrap(),
                by: Some(text.to_owned()),
                source: None,
                because: String::new(),
            };
            check_tables(&TrialData {
                tables: [(
                    stall_parts::NAME.to_owned(),
                    stall_parts::table(&vec![part; rows]),
                )]
                .into(),
                ..TrialData::default()
            })
        };
        assert_eq!(with(1 << 16, "a"), Ok(()));
        let why = with(1 << 16, &"a".repeat(128)).unwrap_err();
        assert!(why.contains("bytes of text"), "{why}");
    }

    #[test]
    fn notes_are_bounded_in_bytes() {
        let long = Note::new("kind", "\u{1F600}".repeat(1000));
        let kept = notes(&vec![long; 100]);
        assert_eq!(kept.len(), NOTES);
        assert!(
            kept.iter().all(|note| note.text.len() <= NOTE_BYTES),
            "{kept:?}"
        );
    }

    #[test]
    fn stalls_in_other_columns_are_refused() {
        let with = |table: SideTable| TrialData {
            tables: [(stall_parts::NAME.to_owned(), table)].into(),
            ..TrialData::default()
        };
        assert_eq!(check_tables(&with(stall_parts::table(&[]))), Ok(()));
        let mut columns = stall_parts::table(&[]).columns().to_vec();
        columns.push(Column {
            name: "more".to_owned(),
            values: Values::Int64(Vec::new()),
        });
        let more = SideTable::new(columns.clone()).unwrap();
        check_tables(&with(more)).unwrap_err();
        columns.truncate(3);
        check_tables(&with(SideTable::new(columns).unwrap())).unwrap_err();
    }

    #[test]
    fn packets_in_other_columns_or_words_are_refused() {
        let with = |table: SideTable| TrialData {
            tables: [(recorded::TABLE.to_owned(), table)].into(),
            ..TrialData::default()
        };
        let mut packets = Packets::new();
        packets.push(100).unwrap();
        let ours = recorded::table(&packets);
        assert_eq!(check_tables(&with(ours.clone())), Ok(()));
        let mut columns = ours.columns().to_vec();
        columns[0].values = Values::Text(vec![Some("eaten".into())]);
        let why = check_tables(&with(SideTable::new(columns.clone()).unwrap())).unwrap_err();
        assert!(why.contains("`packets`"), "{why}");
        columns.remove(0);
        check_tables(&with(SideTable::new(columns).unwrap())).unwrap_err();
        let with = |table: SideTable| TrialData {
            tables: [(recorded::KEYS.to_owned(), table)].into(),
            ..TrialData::default()
        };
        let keys = recorded::keys_table(&[tompion_path::stamps::Key::bytes(b"key")]);
        assert_eq!(check_tables(&with(keys.clone())), Ok(()));
        let one = SideTable::new(keys.columns()[1..].to_vec()).unwrap();
        let why = check_tables(&with(one)).unwrap_err();
        assert!(why.contains("`packet-keys`"), "{why}");
        let with = |side: &str| TrialData {
            tables: [(
                recorded::MARKS.to_owned(),
                recorded::marks_table(&[recorded::PacketMark {
                    row: 0,
                    side: side.into(),
                    excess_ns: 1,
                    cause: None,
                    source: None,
                }]),
            )]
            .into(),
            ..TrialData::default()
        };
        assert_eq!(check_tables(&with("sending")), Ok(()));
        let why = check_tables(&with("\u{1b}[2J")).unwrap_err();
        assert!(why.contains("`packet-marks`"), "{why}");
    }

    #[test]
    fn what_a_report_tells_of_all_is_as_the_cell_was_asked_for() {
        let asked = key("timerfd").with(factor::TARGET, "2ms");
        let check = |change: fn(&mut Trial)| {
            let mut trial = trial(asked.clone(), &[]);
            trial.started_at = Some("2026-01-02T03:04:05Z".to_owned());
            trial.measurement.period_ns = Some(2_000_000);
            trial.measurement.floor_ns = Some(25.0);
            change(&mut trial);
            check_times(&[trial], 60_000_000_000)
        };
        assert_eq!(check(|_| {}), Ok(()));
        assert_eq!(check(|t| t.measurement.period_ns = None), Ok(()));
        type Change = fn(&mut Trial);
        let refused: [(Change, &str); 4] = [
            (
                |t| t.started_at = Some("zqzq".to_owned()),
                "began at no time: zqzq",
            ),
            (
                |t| t.measurement.period_ns = Some(7),
                "a period of 7 ns, asked for 2000000 ns",
            ),
            (
                |t| t.measurement.floor_ns = Some(1e15),
                "takes 1e15 ns itself",
            ),
            (
                |t| {
                    let stalls = serde_json::json!({
                        "cpu": null, "threshold_ns": 3_600_000_000_000_u64, "iterations": 1, "loop_period_ns": 1.0,
                        "wall_ns": 1, "observed_ns": 1, "own_ns": 0, "stalls": 0, "lost_ns": 0, "rows_lost": 0, "causes": [],
                        "evidence": [],
                    });
                    t.findings.stalls = Some(serde_json::from_value(stalls).unwrap());
                },
                "stalls above 3600000000000 ns",
            ),
        ];
        for (change, why) in refused {
            let told = check(change).unwrap_err();
            assert!(told.contains(why), "{told}");
        }
    }

    #[test]
    fn evidence_that_no_machine_has_is_refused() {
        let minute = 60_000_000_000;
        let check = |load: LoadEvidence, own_cpu_share: f64| {
            let mut trial = trial(key("busy-loop"), &[]);
            trial.load = Some(load);
            trial.observation = Some(Observation {
                own_cpu_share,
                ..Observation::default()
            });
            check_times(&[trial], minute)
        };
        // 256 CPUs for a minute.
        let honest = LoadEvidence {
            operations: Some(256 * 60 * 3_000_000_000),
            bytes: Some(256 * 60 * 20_000_000_000),
            cpu_time_ns: 256 * minute,
            observed_ns: minute,
            context_switches_per_second: 256.0 * 500_000.0,
            interrupts_per_second: 256.0 * 100_000.0,
            ..LoadEvidence::default()
        };
        assert_eq!(check(honest.clone(), 0.9), Ok(()));
        let too_long = LoadEvidence {
            observed_ns: 100_000_000_000_000_000,
            ..honest.clone()
        };
        let as_part = LoadEvidence {
            parts: vec![too_long.clone()],
            ..honest.clone()
        };
        let no_rate = |rate| LoadEvidence {
            context_switches_per_second: rate,
            ..honest.clone()
        };
        let interrupted = LoadEvidence {
            interrupts_per_second: 1e50,
            ..honest.clone()
        };
        let busy = LoadEvidence {
            cpu_time_ns: u64::MAX,
            ..honest.clone()
        };
        let hostile = [
            (too_long, "a load ran for 100000000000000000 ns"),
            (as_part, "a load ran for 100000000000000000 ns"),
            (no_rate(f64::NAN), "NaN context switches"),
            (no_rate(-1.0), "-1e0 context switches"),
            (interrupted, "1e50 interrupts"),
            (busy, "seconds of CPU time"),
        ];
        for (load, why) in hostile {
            let found = check(load, 0.0).unwrap_err();
            assert!(found.contains(why), "{found}");
        }
        for share in [1e50, -0.1, f64::NAN, f64::INFINITY] {
            let found = check(honest.clone(), share).unwrap_err();
            assert!(found.contains("observing took"), "{found}");
        }
    }
}
