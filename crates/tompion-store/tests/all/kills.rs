//! Processes killed while they bring the trials of a run together.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use tompion_model::{Sample, Status, TrialData};
use tompion_store::{Directory, Run, RunWriter};

use crate::run_directory::{content, draft, header, names, remove_leftovers};

/// By which a process knows that it is the one to be killed, and in which run.
const RUN: &str = "TOMPION_RUN_TO_FINISH";

const TRIALS: u32 = 40;

/// What is known only when a run ends.
const AT_THE_END: &str = "said at the end";

/// Not a test of its own: what is killed.
#[test]
fn finishing() {
    let Some(run) = std::env::var_os(RUN) else {
        return;
    };
    let run = Directory::open(Path::new(&run)).unwrap();
    let mut writer = RunWriter::reopen(&run, TRIALS as usize).unwrap();
    writer.note("other", AT_THE_END);
    println!("\nfinishing");
    writer.finish(Status::Complete).unwrap();
}

fn a_run(directory: &Path) {
    let mut writer = RunWriter::create(directory, header()).unwrap();
    let value = |i: u64| Sample {
        at_ns: i,
        value_ps: (i * i) as i64,
        n: 1,
        ..Sample::default()
    };
    let data = TrialData {
        samples: (0..2_000).map(value).collect(),
        ..TrialData::default()
    };
    for block in 0..TRIALS {
        writer.save(draft(block), &data).unwrap();
    }
    writer.checkpoint().unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join("samples")).unwrap();
    fs::copy(from.join("run.json"), to.join("run.json")).unwrap();
    for name in names(&from.join("samples")) {
        let file = Path::new("samples").join(name);
        fs::copy(from.join(&file), to.join(&file)).unwrap();
    }
}

/// Lets a process finish the run, and kills it so long after it began with that. Returns
/// how long it took where it was not killed.
fn finish(run: &Path, kill_after: Option<Duration>) -> Duration {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::finishing", "--nocapture"])
        .env(RUN, run)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("finishing\n") || line.starts_with("test ") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it never began");
    }
    let began = Instant::now();
    if let Some(after) = kill_after {
        // Sleeping overshoots by more than some of these times.
        while began.elapsed() < after {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
    }
    let _ = out.read_to_string(&mut line);
    let took = began.elapsed();
    let _ = child.wait();
    took
}

#[test]
fn killed_while_trials_are_brought_together_a_run_loses_nothing() {
    let place = tempfile::tempdir().unwrap();
    let original = place.path().join("original");
    a_run(&original);
    let before = content(&original);
    let reference = place.path().join("reference");
    copy(&original, &reference);
    let mut window = finish(&reference, None);
    let kills = if std::env::var_os("TOMPION_LONG").is_some() {
        100
    } else {
        20
    };
    let seed = u64::from(std::process::id());
    let mut moments = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let (mut apart, mut together, mut half_done) = (0, 0, 0);
    for kill in 0..kills {
        let run = place.path().join(format!("run-{kill}"));
        copy(&original, &run);
        finish(&run, Some(window.mul_f64(moments.random_range(0.0..1.0))));
        let told = format!("seed {seed}, kill {kill}");
        assert_eq!(content(&run), before, "{told}");
        let found = names(&run);
        remove_leftovers(&run).unwrap();
        assert_eq!(content(&run), before, "{told}");
        let left = names(&run);
        if found.iter().any(|name| name.ends_with(".parquet")) {
            let read = Run::open(&run).unwrap();
            let notes = &read.record().notes;
            assert!(notes.iter().any(|n| n.text == AT_THE_END), "{told}");
        }
        half_done += u32::from(left != found);
        match Run::open(&run).unwrap().record().files.is_empty() {
            true => {
                apart += 1;
                window = window.mul_f64(1.1);
                assert_eq!(left, ["run.json", "samples"], "{told}");
                assert_eq!(names(&run.join("samples")).len(), TRIALS as usize, "{told}");
            }
            false => {
                together += 1;
                // So that most kills come before it is done, however quick it is.
                window = window.mul_f64(0.8);
                let want = ["histograms.parquet", "run.json", "wake-up.parquet"];
                assert_eq!(left, want, "{told}");
            }
        }
        fs::remove_dir_all(&run).unwrap();
    }
    println!(
        "{kills} kills within {window:?}: {apart} before the list, {together} after it, {half_done} with files to remove"
    );
    assert!(half_done > 0, "no kill came while files were written");
}
