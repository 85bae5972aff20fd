//! What comes out of an instance of a lab in place of a cell's result.

use std::fs;
use std::path::Path;

use tompion_lab::fuzz::{HEADER_BYTES, framed, unpack};
use tompion_store::Run;

use crate::Target;
use crate::input::Input;
use crate::{frames, one_line, scratch};

pub static ENTRY: Target = Target {
    name: "result-archive",
    about: "the archive that an instance writes as its cell's result",
    parser: &["tompion-lab/src/archive.rs", "tompion-frame/src/lib.rs"],
    most_bytes: 16 << 10,
    run,
};

const BLOCK: usize = 512;

/// The first byte says whether an archive or its whole frame follows, and which checksums are made
/// right.
fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let how = input.byte();
    let mut content = input.rest().to_vec();
    let result = match how & 1 {
        0 => {
            if how & 2 != 0 {
                repair(&mut content);
            }
            framed(&content)
        }
        _ => {
            if how & 2 != 0 {
                frames::repair(&mut content, HEADER_BYTES);
            }
            content
        }
    };
    let outside = scratch::directory();
    let place = outside.path().join("cell");
    fs::create_dir(&place).expect("a directory");
    match unpack(&result, &place) {
        Err(error) => one_line(&error.to_string()),
        Ok(()) => {
            let all = taken(&place, Path::new(""));
            assert!(
                all <= result.len() as u64,
                "{all} bytes of {}",
                result.len()
            );
            if let Err(error) = Run::open(&place) {
                one_line(&error.to_string());
            }
        }
    }
    let beside = fs::read_dir(outside.path()).expect("a directory").count();
    assert_eq!(beside, 1, "something lies outside");
}

/// Bytes of the files below a directory, which are those of a run alone.
fn taken(top: &Path, below: &Path) -> u64 {
    let entries = fs::read_dir(top.join(below)).expect("a directory");
    let sizes = entries.map(|entry| {
        let entry = entry.expect("an entry");
        let name = below.join(entry.file_name());
        let found = entry.metadata().expect("not gone");
        if name == Path::new("samples") && found.is_dir() {
            return taken(top, &name);
        }
        let is_samples = name.parent() == Some(Path::new("samples"))
            && name.extension().is_some_and(|e| e == "parquet");
        assert!(
            found.is_file() && (is_samples || name == Path::new("run.json")),
            "{name:?} is no file of a run"
        );
        found.len()
    });
    sizes.sum()
}

/// Makes the checksums of an archive's headers right, one after another by the sizes they state.
fn repair(archive: &mut [u8]) {
    let mut at = 0_usize;
    while let Some(header) = archive.get_mut(at..at.saturating_add(BLOCK)) {
        if header.iter().all(|byte| *byte == 0) {
            return;
        }
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let size = tar::Header::from_byte_slice(header)
            .entry_size()
            .unwrap_or(0);
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let blocks = size.div_ceil(BLOCK).saturating_mul(BLOCK);
        at = at.saturating_add(BLOCK).saturating_add(blocks);
    }
}
