//! The disk that a guest leaves behind.

use std::io::Cursor;

use tompion_guest::fuzz::{HEADER_BYTES, MARK, RESULT_AT, report};

use crate::Target;
use crate::input::Input;
use crate::{frames, one_line};

pub static ENTRY: Target = Target {
    name: "guest-frame",
    about: "the disk on which a guest says how its program ended",
    parser: &["tompion-guest/src/frame.rs", "tompion-frame/src/lib.rs"],
    most_bytes: 4096,
    run,
};

/// The first byte says whether the mark stands there, and whether the checksum is made right.
fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let how = input.byte();
    let mut content = input.rest().to_vec();
    if how & 2 != 0 {
        frames::repair(&mut content, HEADER_BYTES);
    }
    let mut disk = Vec::new();
    if how & 1 != 0 {
        disk.extend(MARK);
        disk.resize(RESULT_AT as usize, 0);
    }
    disk.append(&mut content);
    let size = disk.len();
    match report(Cursor::new(disk)) {
        Err(error) => one_line(&error),
        Ok(taken) => assert!(taken <= size, "{taken} bytes of a disk of {size}"),
    }
}
