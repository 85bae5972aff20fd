//! From the archive of a cell to trials of the lab's own run.

use std::path::Path;

use tompion_model::{Environment, Factors, Note, Trial, TrialData, TrialDraft, factor};
use tompion_path::stamps::recorded;
use tompion_run::probes::join::{TapCapture, join};
use tompion_store::{Run, RunWriter};

use crate::plan::testbed::TAP;
use crate::{archive, limits};

/// Where a cell's trials belong in the lab's run.
pub(crate) struct Place<'a> {
    /// Level of the factor `platform`.
    pub platform: &'a str,
    /// Level of the factor `placement`, where the plan has any.
    pub placement: Option<&'a str>,
    /// Which of several guests that measured at once, from the second on.
    pub guest: Option<usize>,
    /// Their block.
    pub replicate: u32,
    /// From the beginning of the lab's run to that of the cell, in nanoseconds.
    pub began_ns: u64,
    /// How long the cell took by the host's clock, in nanoseconds.
    pub lasted_ns: u64,
    /// How many results the lab has at most, and how many keys these have.
    pub results: u64,
    pub keys: u64,
    /// The level of the load, as the plan has it: the instance was told where the far end is.
    pub load: &'a str,
    /// A capture of what the tap at the host's device saw, where the cell had a network.
    pub tapped: Option<&'a [u8]>,
}

/// What a cell brought beside its trials.
pub(crate) struct Collected {
    pub trials: u32,
    pub environment: Environment,
    pub notes: Vec<Note>,
}

/// Saves the trials in `bytes`, all of them or, where the archive is no good, none.
/// `wanted` are the keys of the cell's trials; `scratch` takes it unpacked for a moment.
///
/// Whoever runs in the instance may have written it: it takes no more memory than one trial
/// does, and nothing of another cell.
pub(crate) fn collect(
    bytes: Vec<u8>,
    wanted: &[Factors],
    scratch: &Path,
    place: &Place<'_>,
    writer: &mut RunWriter,
) -> Result<Collected, Failure> {
    let before = writer.record().trials.len();
    let collected = take(bytes, wanted, scratch, place, writer);
    if collected.is_err() {
        writer.take_back(before).map_err(Failure::Saving)?;
    }
    collected
}

fn take(
    bytes: Vec<u8>,
    wanted: &[Factors],
    scratch: &Path,
    place: &Place<'_>,
    writer: &mut RunWriter,
) -> Result<Collected, Failure> {
    let wrong = |e: &dyn std::fmt::Display| Failure::Result(e.to_string());
    let unpacked = tempfile::tempdir_in(scratch).map_err(|e| wrong(&e))?;
    let length = bytes.len() as u64;
    archive::unpack(bytes, unpacked.path()).map_err(|e| wrong(&e))?;
    limits::check_description(unpacked.path(), wanted.len()).map_err(Failure::Result)?;
    let run = Run::open(unpacked.path()).map_err(|e| wrong(&e))?;
    let record = run.record();
    limits::check_trials(&record.trials, wanted, length).map_err(Failure::Result)?;
    limits::check_times(&record.trials, place.lasted_ns).map_err(Failure::Result)?;
    limits::check_environment(&record.header.environment).map_err(Failure::Result)?;
    if place.tapped.is_some() {
        limits::check_joined(&record.trials).map_err(Failure::Result)?;
    }
    let save = |writer: &mut RunWriter, trials: usize, trial: &Trial, data: &TrialData| {
        let share = limits::share(place.results, place.keys, trials);
        let saved = writer.save_share(draft(trial, place), data, share);
        saved.map(drop).map_err(Failure::Saving)
    };
    for trial in &record.trials {
        let unpacked = run.unpacked_bytes(trial).map_err(|e| wrong(&e))?;
        limits::check_unpacked(unpacked).map_err(Failure::Result)?;
        let values = run.side_values(trial).map_err(|e| wrong(&e))?;
        limits::check_values(values).map_err(Failure::Result)?;
        let data = run.data(trial).map_err(|e| wrong(&e))?;
        limits::check_tables(&data).map_err(Failure::Result)?;
        if place.tapped.is_none() {
            save(&mut *writer, record.trials.len(), trial, &data)?;
        }
    }
    let notes = limits::notes(&record.notes);
    let mut trials = record.trials.len();
    if let Some(capture) = place.tapped {
        let joined = tempfile::tempdir_in(scratch).map_err(|e| wrong(&e))?;
        let with_tap =
            tapped(&run, capture, &joined.path().join("run")).map_err(Failure::Result)?;
        let with_tap = with_tap.as_ref().unwrap_or(&run);
        trials = with_tap.record().trials.len();
        for trial in &with_tap.record().trials {
            let data = with_tap.data(trial).map_err(|e| wrong(&e))?;
            save(&mut *writer, trials, trial, &data)?;
        }
    }
    Ok(Collected {
        trials: trials as u32,
        environment: record.header.environment.clone(),
        notes,
    })
}

/// The result with what the tap at the host's device saw of it, in `directory`; none where it has no packets. All cells of
/// a run have the tap's columns, so that one that cannot be joined has failed.
fn tapped(run: &Run, capture: &[u8], directory: &Path) -> Result<Option<Run>, String> {
    let has_packets = |trial: &Trial| trial.tables.contains_key(recorded::TABLE);
    if !run.record().trials.iter().any(has_packets) {
        return Ok(None);
    }
    let taps = [TapCapture {
        name: TAP.to_owned(),
        capture,
    }];
    let joined = join(run, taps, directory);
    let opened = joined.and_then(|(_, directory)| Ok(Run::open_in(&directory)?));
    opened
        .map(Some)
        .map_err(|why| format!("it is not joined with its host's tap: {why}"))
}

/// Why a cell's trials are not in the run.
pub(crate) enum Failure {
    /// The result is no good; in one line.
    Result(String),
    /// The lab's own run cannot be written.
    Saving(tompion_store::Error),
}

fn draft(trial: &Trial, place: &Place<'_>) -> TrialDraft {
    let trial = trial.clone();
    let mut factors = trial.factors.clone().with(factor::PLATFORM, place.platform);
    if factors.get(factor::LOAD).is_some() {
        factors = factors.with(factor::LOAD, place.load);
    }
    if let Some(placement) = place.placement {
        factors = factors.with(factor::PLACEMENT, placement);
    }
    if let Some(guest) = place.guest {
        factors = factors.with(factor::GUEST, guest.to_string());
    }
    TrialDraft {
        factors,
        block: place.replicate,
        started_ns: place.began_ns.saturating_add(trial.started_ns),
        ..TrialDraft::from(trial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tompion_model::{
        Design, Factors, Findings, Mark, Measurement, RunHeader, Sample, Status, Storage,
        TrialData, note_kind,
    };

    fn header(hostname: &str) -> RunHeader {
        RunHeader {
            command_line: Vec::new(),
            tool: "tompion test".to_owned(),
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            design: Design {
                order: "as planted".to_owned(),
                seed: 1,
                blocks: 1,
                cells: 2,
            },
            environment: Environment {
                hostname: hostname.to_owned(),
                ..Environment::default()
            },
            guards: Vec::new(),
            profiles: Vec::new(),
        }
    }

    fn key(method: &str) -> Factors {
        Factors::new()
            .with(factor::PROBE, "wake-up")
            .with(factor::METHOD, method)
    }

    /// What the lab asked for.
    fn wanted() -> [Factors; 2] {
        ["usleep", "timerfd"].map(key)
    }

    /// A cell's run of two trials, as an instance writes it.
    fn cell(directory: &Path) {
        let mut writer = RunWriter::create_apart(directory, header("instance")).unwrap();
        for method in ["usleep", "timerfd"] {
            let samples = (0..50).map(|i| Sample {
                at_ns: i * 100,
                value_ps: i as i64 * 1_000,
                n: 1,
                missed: (i % 2) as u32,
                mark: Mark::None,
            });
            let draft = TrialDraft {
                factors: key(method),
                block: 0,
                started_at: None,
                started_ns: 7,
                duration_ns: 9,
                measurement: Measurement {
                    period_ns: Some(100),
                    ..Measurement::default()
                },
                load: None,
                findings: Findings::default(),
                observation: None,
                cpu_use: None,
                storage: Storage::Complete,
                missed_periods: Some(25),
            };
            let data = TrialData {
                samples: samples.collect(),
                ..TrialData::default()
            };
            writer.save(draft, &data).unwrap();
        }
        writer.note(note_kind::REMARK, "a note");
        writer.finish(Status::Complete).unwrap();
    }

    const PLACE: Place<'_> = Place {
        guest: None,
        platform: "runc",
        placement: Some("beside-one"),
        replicate: 3,
        began_ns: 1_000,
        lasted_ns: 1_000_000_000,
        results: 10,
        keys: 20,
        load: "idle",
        tapped: None,
    };

    #[test]
    fn trials_come_with_their_platform_and_their_replicate_and_are_else_the_same() {
        let d = tempfile::tempdir().unwrap();
        let from = d.path().join("cell");
        cell(&from);
        let mut writer = RunWriter::create(&d.path().join("lab"), header("lab")).unwrap();
        let bytes = archive::pack(&from).unwrap();
        let Ok(collected) = collect(bytes, &wanted(), d.path(), &PLACE, &mut writer) else {
            panic!("refused");
        };
        assert_eq!(collected.trials, 2);
        assert_eq!(collected.environment.hostname, "instance");
        assert_eq!(collected.notes, [Note::new(note_kind::REMARK, "a note")]);
        writer.finish(Status::Complete).unwrap();
        let cell = Run::open(&from).unwrap();
        let lab = Run::open(&d.path().join("lab")).unwrap();
        for (ours, theirs) in lab.record().trials.iter().zip(&cell.record().trials) {
            assert_eq!(ours.factors.get(factor::PLATFORM), Some("runc"));
            assert_eq!(ours.factors.get(factor::PLACEMENT), Some("beside-one"));
            let own = ours.factors.clone().without(factor::PLATFORM);
            assert_eq!(own.without(factor::PLACEMENT), theirs.factors);
            assert_eq!((ours.block, ours.started_ns), (3, 1_007));
            assert_eq!(ours.summary, theirs.summary);
            assert_eq!(
                lab.data(ours).unwrap().samples,
                cell.data(theirs).unwrap().samples
            );
        }
    }

    #[test]
    fn a_result_with_one_damaged_trial_leaves_none() {
        let d = tempfile::tempdir().unwrap();
        let from = d.path().join("cell");
        cell(&from);
        let last = from.join("samples/00001.parquet");
        let mut bytes = std::fs::read(&last).unwrap();
        // Within the rows: the footer, by which the file is opened, stays.
        bytes[40] ^= 0xff;
        std::fs::write(&last, bytes).unwrap();
        let mut writer = RunWriter::create(&d.path().join("lab"), header("lab")).unwrap();
        let bytes = archive::pack(&from).unwrap();
        let result = collect(bytes, &wanted(), d.path(), &PLACE, &mut writer);
        assert!(matches!(result, Err(Failure::Result(why)) if !why.contains('\n')));
        assert!(writer.record().trials.is_empty());
    }

    #[test]
    fn a_result_of_a_newer_version_is_told_as_that() {
        let d = tempfile::tempdir().unwrap();
        let from = d.path().join("cell");
        cell(&from);
        let json = from.join("run.json");
        let text = std::fs::read_to_string(&json).unwrap();
        std::fs::write(
            &json,
            // With an end of its own, of which nothing is known.
            text.replace("\"schema_version\": 2", "\"schema_version\": 99")
                .replace("\"crc32\"", "\"crc\""),
        )
        .unwrap();
        let mut writer = RunWriter::create(&d.path().join("lab"), header("lab")).unwrap();
        let bytes = archive::pack(&from).unwrap();
        let Err(Failure::Result(why)) = collect(bytes, &wanted(), d.path(), &PLACE, &mut writer)
        else {
            panic!("taken");
        };
        assert!(why.contains("99"), "{why}");
    }

    /// A cell whose two trials somebody has made others of.
    fn hostile(d: &Path, change: impl Fn(&mut TrialDraft, &mut TrialData)) -> Vec<u8> {
        let honest = d.join("honest");
        cell(&honest);
        let run = Run::open(&honest).unwrap();
        let from = d.join("hostile");
        let mut writer = RunWriter::create_apart(&from, header("instance")).unwrap();
        for trial in &run.record().trials {
            let (mut draft, mut data) = (trial.clone().into(), run.data(trial).unwrap());
            change(&mut draft, &mut data);
            writer.save(draft, &data).unwrap();
        }
        (0..1_500)
            .for_each(|i| writer.note(note_kind::REMARK, format!("\u{1b}{i}{}", "x".repeat(20))));
        writer.finish(Status::Complete).unwrap();
        archive::pack(&from).unwrap()
    }

    /// What was taken of a hostile cell that comes before an honest one, and whether the lab's run
    /// can be read.
    fn beside_an_honest_one(
        change: impl Fn(&mut TrialDraft, &mut TrialData),
    ) -> Result<Collected, String> {
        let d = tempfile::tempdir().unwrap();
        let bytes = hostile(d.path(), change);
        let lab = d.path().join("lab");
        let mut writer = RunWriter::create(&lab, header("lab")).unwrap();
        let taken = collect(bytes, &wanted(), d.path(), &PLACE, &mut writer);
        for number in 0..4 {
            let from = d.path().join(format!("honest-{number}"));
            cell(&from);
            let bytes = archive::pack(&from).unwrap();
            let honest = collect(bytes, &wanted(), d.path(), &PLACE, &mut writer);
            assert!(honest.is_ok());
        }
        writer.finish(Status::Complete).unwrap();
        let run = Run::open(&lab).expect("the lab's run is read");
        run.cells(|_, _| ()).expect("its samples are");
        taken.map_err(|failure| match failure {
            Failure::Result(why) => why,
            Failure::Saving(error) => error.to_string(),
        })
    }

    #[test]
    fn no_result_makes_the_labs_run_unreadable() {
        let table = |rows: usize, columns: usize| {
            let column = |i: usize| tompion_model::Column {
                name: format!("c{i}"),
                values: tompion_model::Values::Int64(vec![Some(0); rows]),
            };
            tompion_model::SideTable::new((0..columns).map(column).collect()).unwrap()
        };
        assert!(beside_an_honest_one(|_, _| ()).is_ok());
        type Change = fn(&mut TrialDraft, &mut TrialData);
        let changes: [(&str, Change); 5] = [
            // Whoever went on with the lab would begin behind it.
            (
                "ends 664000000001 ns after it began, and it took 1000000000 ns",
                |draft, _| {
                    (draft.started_ns, draft.duration_ns) = (1, 664_000_000_000);
                },
            ),
            ("ends 2305843009213693958 ns after", |draft, _| {
                draft.duration_ns = (1 << 61) - 1;
            }),
            ("ns after it began", |draft, _| draft.started_ns = 1 << 60),
            ("wanted_samples is ", |draft, _| {
                draft.measurement.wanted_samples = 1 << 61;
            }),
            ("20971520 missed periods in ", |_, data| {
                let first = data.samples[0];
                data.samples = vec![
                    Sample {
                        missed: 1 << 17,
                        ..first
                    };
                    160
                ];
            }),
        ];
        for (why, change) in changes {
            let told = beside_an_honest_one(change).err().unwrap_or_default();
            assert!(told.contains(why) && !told.contains('\n'), "{why}: {told}");
        }
        let told = beside_an_honest_one(|_, data| {
            data.tables.insert("parts".to_owned(), table(1 << 15, 200));
        });
        let told = told.err().unwrap_or_default();
        assert!(told.contains("tables of 6553600 values"), "{told}");
        let told = beside_an_honest_one(|_, data| {
            data.tables.insert("x".to_owned(), table(1, 1));
        });
        let told = told.err().unwrap_or_default();
        assert!(told.contains("does not write: x"), "{told}");
    }

    /// A result of one key, or of it on so many CPUs, each trial with as many bytes of description, of a machine with so
    /// many caches.
    fn flooding(d: &Path, cpus: usize, words: usize, caches: usize) -> Vec<u8> {
        let honest = d.join("honest");
        cell(&honest);
        let run = Run::open(&honest).unwrap();
        let from = d.join("flooding");
        let mut header = header("instance");
        header.environment.machine.caches = vec![Default::default(); caches];
        let mut writer = RunWriter::create_apart(&from, header).unwrap();
        let first = &run.record().trials[0];
        let data = run.data(first).unwrap();
        for cpu in 0..cpus {
            let mut draft = TrialDraft::from(first.clone());
            if cpus > 1 {
                draft.factors = draft.factors.with(factor::CPU, cpu.to_string());
            }
            draft.measurement.technique = "x".repeat(words);
            writer.save(draft, &data).unwrap();
        }
        writer.finish(Status::Complete).unwrap();
        archive::pack(&from).unwrap()
    }

    #[test]
    fn no_result_takes_the_room_of_others() {
        let told = |cpus, words, caches| {
            let d = tempfile::tempdir().unwrap();
            let bytes = flooding(d.path(), cpus, words, caches);
            let mut writer = RunWriter::create(&d.path().join("lab"), header("lab")).unwrap();
            // As large a lab as there may be.
            let place = Place {
                results: 3_000,
                keys: 3_000,
                ..PLACE
            };
            let taken = collect(bytes, &wanted()[..1], d.path(), &place, &mut writer);
            match taken {
                Ok(_) => String::new(),
                Err(Failure::Result(why)) => why,
                Err(Failure::Saving(error)) => error.to_string(),
            }
        };
        assert_eq!(told(1, 2_000, 4), "");
        let why = told(64, 0, 4);
        assert!(why.contains("64 trials, at most 1"), "{why}");
        let why = told(1, 20_000, 4);
        assert!(why.contains("one of 3000 has at most 9786"), "{why}");
        let why = told(1, 0, 500);
        assert!(why.contains("bytes of its machine"), "{why}");
    }

    #[test]
    fn of_a_cells_notes_a_few_are_taken_in_a_line_each() {
        let Ok(collected) = beside_an_honest_one(|_, _| ()) else {
            panic!("refused");
        };
        assert_eq!(collected.notes.len(), 16);
        assert!(
            collected
                .notes
                .iter()
                .all(|note| note.text.starts_with(' '))
        );
    }
}
