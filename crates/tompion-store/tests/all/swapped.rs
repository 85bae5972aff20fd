//! Somebody else owns a directory above a run, and swaps the run's for others while it is
//! written.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use tompion_model::{Sample, Status, TrialData};
use tompion_store::{Directory, Run, RunWriter, write_whole};

use crate::run_directory::{content, draft, header, names};

const TRIALS: u32 = 20;

/// A directory whose owner would lose something if it were written to.
struct Victim(tempfile::TempDir);

impl Victim {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("samples")).unwrap();
        for name in ["run.json", "report.html", "samples/00000.parquet"] {
            fs::write(place.path().join(name), "mine").unwrap();
        }
        Self(place)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn assert_untouched(&self) {
        assert_eq!(names(self.path()), ["report.html", "run.json", "samples"]);
        assert_eq!(names(&self.path().join("samples")), ["00000.parquet"]);
        for name in ["run.json", "report.html", "samples/00000.parquet"] {
            let text = fs::read_to_string(self.path().join(name)).unwrap();
            assert_eq!(text, "mine", "{name}");
        }
    }
}

fn save_all(writer: &mut RunWriter) -> tompion_store::Result<()> {
    let sample = |i: u64| Sample {
        at_ns: i,
        value_ps: (i * i) as i64,
        n: 1,
        ..Sample::default()
    };
    let data = TrialData {
        samples: (0..500).map(sample).collect(),
        ..TrialData::default()
    };
    for block in 0..TRIALS {
        writer.save(draft(block), &data)?;
        if block % 4 == 0 {
            writer.checkpoint()?;
        }
    }
    writer.finish(Status::Complete)?;
    writer.directory().put("report.html", b"page")
}

/// Writes a run while `swap` goes on and on, and counts how often it did.
fn written_beside(run: &Path, swap: impl Fn() + Sync) -> (tompion_store::Result<()>, u32) {
    let mut writer = RunWriter::create(run, header()).unwrap();
    let (is_done, swaps) = (AtomicBool::new(false), AtomicU32::new(0));
    let result = thread::scope(|both| {
        both.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                swap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        while swaps.load(Ordering::Relaxed) == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        let result = save_all(&mut writer);
        is_done.store(true, Ordering::Relaxed);
        result
    });
    (result, swaps.into_inner())
}

fn moment() {
    thread::sleep(Duration::from_micros(300));
}

#[test]
fn a_run_is_whole_wherever_its_directory_was_moved_to_meanwhile() {
    let (place, victim) = (tempfile::tempdir().unwrap(), Victim::new());
    let (run, away) = (place.path().join("run"), place.path().join("away"));
    let (result, swaps) = written_beside(&run, || {
        fs::rename(&run, &away).unwrap();
        symlink(victim.path(), &run).unwrap();
        moment();
        fs::remove_file(&run).unwrap();
        fs::rename(&away, &run).unwrap();
        moment();
    });
    victim.assert_untouched();
    result.unwrap();
    assert_eq!(
        names(&run),
        [
            "histograms.parquet",
            "report.html",
            "run.json",
            "wake-up.parquet"
        ]
    );
    assert_eq!(content(&run).len(), TRIALS as usize);
    println!("{swaps} swaps");
    assert!(swaps > 10, "{swaps}");
}

#[test]
fn links_put_into_a_run_lead_nowhere() {
    for name in [
        "run.json",
        "samples",
        "samples/00003.parquet",
        "report.html",
    ] {
        let (place, victim) = (tempfile::tempdir().unwrap(), Victim::new());
        let run = place.path().join("run");
        let (file, away): (PathBuf, _) = (run.join(name), place.path().join("away"));
        let (result, _) = written_beside(&run, || {
            // Each of these may come too late.
            let _ = fs::rename(&file, &away);
            let _ = symlink(victim.path().join(name), &file);
            moment();
            if file.is_symlink() {
                let _ = fs::remove_file(&file);
                let _ = fs::rename(&away, &file);
            }
            moment();
        });
        victim.assert_untouched();
        match result {
            Ok(()) => println!("{name}: whole"),
            Err(error) => {
                let text = error.to_string();
                println!("{name}: {text}");
                assert!(!text.contains('\n'), "{text}");
            }
        }
    }
}

#[test]
fn a_run_goes_on_in_no_directory_that_others_may_write_to() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let run = place.path().join("run");
    drop(RunWriter::create(&run, header()).unwrap());
    fs::set_permissions(&run, fs::Permissions::from_mode(0o777)).unwrap();
    let directory = Directory::open(&run).unwrap();
    let error = RunWriter::reopen(&directory, 0).unwrap_err().to_string();
    assert!(error.contains("others may write to it"), "{error}");
    assert!(Run::open(&run).is_ok());
    // Nor is one begun where a link leads to nothing.
    let link = place.path().join("link");
    symlink(place.path().join("new"), &link).unwrap();
    assert!(RunWriter::create(&link, header()).is_err());
    assert!(!place.path().join("new").exists());
    // A file that the user names himself may be a link.
    write_whole(&link, b"text").unwrap();
    assert!(place.path().join("new").exists());
}
