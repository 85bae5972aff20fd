//! Every bit of a run, flipped: each is refused or changes nothing. In `make test` every 31st,
//! and with the file's checksum made right every 311th; with `TOMPION_LONG` all of them, and every
//! third. Of a run of a million samples far fewer: each is read as a whole.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tompion_model::{RunRecord, Sample, SideTables, Status, Trial, TrialData};
use tompion_stats::Distribution;
use tompion_store::{Run, RunWriter};
use tompion_time::os::{ClockId, now_ns};

use crate::golden::unpacked;
use crate::run_directory::{draft, header};

/// How far the bits lie apart that are flipped as they stand, and with a right checksum; odd, so
/// that bits of all places in a byte have their turn.
type Steps = [usize; 2];
const STEPS: Steps = [31, 311];
const LONG_STEPS: Steps = [1, 3];
/// Of the large run.
const LARGE_STEPS: Steps = [997 * 997, 997 * 9973];
const LONG_LARGE_STEPS: Steps = [997, 997 * 31];
/// Its trials, and samples of each.
const LARGE: (u32, usize) = (8, 125_000);

/// Those of `make test`, or those of `make test-full`.
fn steps(short: Steps, long: Steps) -> Steps {
    match std::env::var_os("TOMPION_LONG") {
        Some(_) => long,
        None => short,
    }
}
/// CPU time from opening a run to its last value: others may have the CPU meanwhile.
const LONGEST: Duration = Duration::from_secs(5);
/// What the process of the tests has had at most, in kB.
const MEMORY_KB: u64 = 256 << 10;

/// All that can be shown of a trial.
#[derive(Debug, PartialEq)]
struct Content {
    samples: Vec<Sample>,
    bins: [Distribution; 2],
    tables: SideTables,
    histograms: Option<BTreeMap<String, Distribution>>,
}

fn content(run: &Run, trial: &Trial) -> tompion_store::Result<Content> {
    let data = run.data(trial)?;
    let bins = [data.bins, data.filled_bins];
    Ok(Content {
        samples: data.samples,
        bins: bins.map(|b| b.map(|b| b.distribution()).unwrap_or_default()),
        tables: data.tables,
        histograms: run.histograms(trial)?,
    })
}

/// A good run, and what it holds.
struct Golden {
    _place: tempfile::TempDir,
    directory: PathBuf,
    text: String,
    record: RunRecord,
    contents: Vec<Content>,
    steps: Steps,
}

impl Golden {
    fn new() -> Self {
        let (place, directory, _) = unpacked("version-2");
        Self::of(place, directory, steps(STEPS, LONG_STEPS))
    }

    /// A million latencies with a heavy tail.
    fn large() -> Self {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("run");
        let mut writer = RunWriter::create(&directory, header()).unwrap();
        let mut random = ChaCha8Rng::seed_from_u64(997);
        for block in 0..LARGE.0 {
            let mut at_ns = 0;
            let mut sample = || {
                let late: f64 = random.random_range(1e-6..1.0);
                let ns = 50_000 + (20_000.0 / late.sqrt()) as i64 + random.random_range(0..5_000);
                at_ns += 100_000 + ns as u64;
                Sample {
                    at_ns,
                    value_ps: 1000 * ns,
                    n: 1,
                    ..Sample::default()
                }
            };
            let data = TrialData {
                samples: (0..LARGE.1).map(|_| sample()).collect(),
                ..TrialData::default()
            };
            writer.save(draft(block), &data).unwrap();
        }
        writer.finish(Status::Complete).unwrap();
        drop(writer);
        Self::of(place, directory, steps(LARGE_STEPS, LONG_LARGE_STEPS))
    }

    fn of(place: tempfile::TempDir, directory: PathBuf, steps: Steps) -> Self {
        let run = Run::open(&directory).unwrap();
        let contents = run
            .record()
            .trials
            .iter()
            .map(|t| content(&run, t).unwrap());
        Self {
            _place: place,
            text: fs::read_to_string(directory.join("run.json")).unwrap(),
            record: run.record().clone(),
            contents: contents.collect(),
            directory,
            steps,
        }
    }

    /// Whether the run, as it now lies there, is refused, or tables in `file`; what is not is what
    /// it was.
    fn is_refused(&self, file: &str, what: &str) -> bool {
        let begun = cpu_time();
        let refused = match Run::open(&self.directory) {
            Err(error) => {
                assert!(!error.to_string().contains('\n'), "{what}: {error}");
                true
            }
            Ok(run) => {
                assert_eq!(run.record().header, self.record.header, "{what}");
                assert_eq!(run.record().trials, self.record.trials, "{what}");
                let pairs = self.record.trials.iter().zip(&self.contents);
                let is_in = |t: &Trial| t.tables.values().any(|at| at.file == file);
                let mut pairs = pairs.filter(|(trial, _)| is_in(trial));
                pairs.any(|(trial, good)| match content(&run, trial) {
                    Ok(found) => {
                        assert_eq!(&found, good, "{what}, trial {}", trial.id);
                        false
                    }
                    Err(_) => true,
                })
            }
        };
        let took = cpu_time() - begun;
        assert!(took < LONGEST, "{what} took {took:?}");
        refused
    }

    /// Flips bits of a file, one at a time; how many of how many were refused.
    fn sweep(&self, name: &str, with_checksum: bool) -> (usize, usize) {
        let step = self.steps[usize::from(with_checksum)];
        let path = self.directory.join(name);
        let good = fs::read(&path).unwrap();
        let mut bad = good.clone();
        let (mut refused, mut all) = (0, 0);
        let file = File::options().write(true).open(&path).unwrap();
        let write = |byte: u8, at: usize| file.write_all_at(&[byte], at as u64).unwrap();
        for bit in (0..8 * good.len()).step_by(step) {
            bad[bit / 8] ^= 1 << (bit % 8);
            write(bad[bit / 8], bit / 8);
            if with_checksum {
                self.write_record(&good, &bad);
            }
            refused += usize::from(self.is_refused(name, &format!("bit {bit} of {name}")));
            all += 1;
            bad[bit / 8] = good[bit / 8];
            write(good[bit / 8], bit / 8);
        }
        fs::write(self.directory.join("run.json"), &self.text).unwrap();
        (refused, all)
    }

    /// As somebody would who knows the format: with the checksums of the file and of itself.
    fn write_record(&self, good: &[u8], bad: &[u8]) {
        let crc32 = |bytes: &[u8]| format!("\"{:08x}\"", crc32fast::hash(bytes));
        assert_eq!(self.text.matches(&crc32(good)).count(), 1);
        let text = self.text.replace(&crc32(good), &crc32(bad));
        let end = text.rfind(",\n  \"crc32\"").unwrap();
        let seal = format!(",\n  \"crc32\": {}\n}}\n", crc32(&text.as_bytes()[..end]));
        fs::write(
            self.directory.join("run.json"),
            text[..end].to_owned() + &seal,
        )
        .unwrap();
    }
}

fn cpu_time() -> Duration {
    Duration::from_nanos(now_ns(ClockId::ThreadCpu))
}

fn most_memory_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn files(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap();
    let names = names.map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = names.filter(|n| n.ends_with(".parquet")).collect();
    files.sort();
    files
}

#[test]
fn every_bit_of_a_run_is_refused_or_changes_nothing() {
    let run = Golden::new();
    let names = files(&run.directory);
    assert_eq!(names.len(), 7);
    for name in names.iter().map(String::as_str).chain(["run.json"]) {
        let (refused, all) = run.sweep(name, false);
        assert_eq!(refused, all, "{name}");
    }
    assert!(most_memory_kb() < MEMORY_KB, "{} kB", most_memory_kb());
}

#[test]
fn every_bit_of_a_file_whose_checksum_is_right_is_refused_or_changes_nothing() {
    let run = Golden::new();
    for name in files(&run.directory) {
        let (refused, all) = run.sweep(&name, true);
        println!("{name}: {refused} of {all} refused");
        // Rows have checksums of their own; columns for other programs have none.
        assert!(refused * 3 > all, "{name}: {refused} of {all}");
    }
    assert!(most_memory_kb() < MEMORY_KB, "{} kB", most_memory_kb());
}

#[test]
fn bits_of_a_large_run_are_refused_or_change_nothing() {
    let run = Golden::large();
    let names = files(&run.directory);
    assert_eq!(names.len(), 2, "samples and histograms: {names:?}");
    for (name, with_checksum) in names.iter().flat_map(|name| [(name, false), (name, true)]) {
        let begun = cpu_time();
        let (refused, all) = run.sweep(name, with_checksum);
        let length = fs::metadata(run.directory.join(name)).unwrap().len();
        println!(
            "{name}, {length} bytes, every {}th bit: {refused} of {all} refused in {:?}, {} kB",
            run.steps[usize::from(with_checksum)],
            cpu_time() - begun,
            most_memory_kb()
        );
        // Where it is right, few bits are flipped in `make test`.
        assert!(refused == all || with_checksum && (all < 100 || refused * 3 > all));
    }
    assert!(most_memory_kb() < MEMORY_KB, "{} kB", most_memory_kb());
}
