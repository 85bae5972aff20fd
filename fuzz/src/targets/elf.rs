//! A program that a user wants to preload, and its libraries.

use crate::{Target, one_line, scratch};

pub static ENTRY: Target = Target {
    name: "elf",
    about: "an ELF file: its loader, libraries and imports",
    parser: &["tompion-launch/src/elf.rs"],
    most_bytes: 16 << 10,
    run,
};

fn run(bytes: &[u8]) {
    let place = scratch::directory();
    let path = place.path().join("program");
    std::fs::write(&path, bytes).expect("a file");
    match tompion_launch::fuzz::image(&path) {
        Err(why) => one_line(&why),
        // Each is named by sixteen bytes of the dynamic segment.
        Ok(needed) => assert!(needed <= bytes.len() / 16, "{needed} libraries"),
    }
}
