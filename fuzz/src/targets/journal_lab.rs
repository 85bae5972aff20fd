//! The list of cells that a lab has done, by which it goes on.

use tompion_lab::LEDGER;
use tompion_lab::fuzz::ledger;

use crate::{Target, one_line, scratch};

pub static ENTRY: Target = Target {
    name: "journal-lab",
    about: "the list of cells by which `lab run --resume` goes on",
    parser: &["tompion-lab/src/ledger.rs"],
    most_bytes: 2048,
    run,
};

fn run(bytes: &[u8]) {
    let place = scratch::directory();
    let path = place.path().join(LEDGER);
    std::fs::write(&path, bytes).expect("a file");
    match ledger(place.path()) {
        Err(error) => {
            one_line(&error.to_string());
            let after = std::fs::read(&path).expect("a file");
            assert_eq!(after, bytes, "what is refused stays as it was");
        }
        Ok(found) => {
            let after = std::fs::read(&path).expect("a file");
            assert!(
                bytes.starts_with(&after),
                "more is taken back than the last line"
            );
            let again = ledger(place.path()).expect("what was taken once is taken again");
            assert_eq!(again, found);
        }
    }
}
