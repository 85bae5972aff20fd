//! Every file in `fuzz/corpus`, replayed: a test each, within the time and the memory that a case
//! may take.
#![forbid(unsafe_code)]

use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;

use libtest_mimic::{Arguments, Failed, Trial};
use tompion_fuzz::{ALL, LONGEST, Target, limit_memory, target};

/// The largest file of a corpus, and all of one together, in bytes.
const MOST_OF_A_FILE: u64 = 16 << 10;
const MOST_OF_ALL: u64 = 96 << 10;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut tests = vec![
        Trial::test("every_corpus_has_a_target_and_is_small", {
            let corpora = corpora.clone();
            move || is_sound(&corpora)
        }),
        Trial::test(
            "every_target_has_a_defect_that_can_be_planted",
            can_be_planted,
        ),
    ];
    for target in ALL {
        // Those that a longer run of `make fuzz` found, where they are asked for.
        let more = std::env::var_os("TOMPION_FUZZ_MORE").map(PathBuf::from);
        let places = [corpora.join(target.name)].into_iter();
        for place in places.chain(more.map(|more| more.join(target.name))) {
            for file in files(&place) {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                let name = format!("{}::{name}", target.name);
                tests.push(Trial::test(name, move || replayed(target, &file)));
            }
        }
    }
    if !arguments.list {
        limit_memory();
    }
    libtest_mimic::run(&arguments, tests).exit_code()
}

fn files(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|e| e.path()).collect();
    files.sort();
    files
}

fn is_sound(corpora: &Path) -> Result<(), Failed> {
    for place in files(corpora) {
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        if target(&name).is_none() {
            return Err(format!("{name}: no target is called so").into());
        }
    }
    let crates = corpora.join("../../crates");
    for target in ALL {
        if let Some(none) = target.parser.iter().find(|f| !crates.join(f).is_file()) {
            return Err(format!("{}: its parser is said to be in {none}", target.name).into());
        }
        let sizes = files(&corpora.join(target.name));
        let sizes: Vec<u64> = sizes
            .iter()
            .map(|f| fs::metadata(f).map_or(0, |m| m.len()))
            .collect();
        let (largest, all) = (sizes.iter().max(), sizes.iter().sum::<u64>());
        if !(1..=MOST_OF_A_FILE).contains(largest.unwrap_or(&0)) || all > MOST_OF_ALL {
            return Err(
                format!("{}: files of {sizes:?} bytes, {all} together", target.name).into(),
            );
        }
    }
    Ok(())
}

/// Whether the lines that each planted defect changes stand where it says.
fn can_be_planted() -> Result<(), Failed> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR"));
    for target in ALL {
        let name = format!("planted/{}.patch", target.name);
        let patch = fs::read_to_string(fuzz.join(&name)).map_err(|e| format!("{name}: {e}"))?;
        let mut source = String::new();
        // What stands between two heads, without the lines that it adds.
        let mut before = String::new();
        for line in patch.lines().chain(["@@ end"]) {
            if let Some(file) = line.strip_prefix("--- a/") {
                source = fs::read_to_string(fuzz.join("..").join(file))?;
            } else if line.starts_with("@@ ") {
                if !source.contains(&before) {
                    return Err(format!("{name} does not fit its file:\n{before}").into());
                }
                before.clear();
            } else if let Some(line) = line.strip_prefix([' ', '-'])
                && !source.is_empty()
            {
                before += &format!("{line}\n");
            }
        }
        if source.is_empty() {
            return Err(format!("{name} changes no file").into());
        }
    }
    Ok(())
}

/// Tries a file on a thread of its own, so that one that hangs is told.
fn replayed(target: &'static Target, file: &Path) -> Result<(), Failed> {
    let bytes = fs::read(file)?;
    let (done, told) = mpsc::channel();
    thread::spawn(move || {
        let result = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(&bytes)));
        let _ = done.send(result.map_err(|_| "a finding: see above"));
    });
    match told.recv_timeout(LONGEST) {
        Ok(result) => result.map_err(Failed::from),
        Err(_) => Err(format!("takes more than {LONGEST:?}").into()),
    }
}
