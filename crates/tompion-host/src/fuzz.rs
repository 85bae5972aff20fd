//! What the fuzz targets try of this crate beside its public face; for nobody else.

use std::path::Path;

use tompion_model::TimeKeeping;

use crate::Root;
use crate::time_keeping::{self, Ask};

/// Daemons that answer as somebody has made up.
struct MadeUp<F>(F);

impl<F: Fn(u16, &[u8]) -> Option<Vec<u8>>> Ask for MadeUp<F> {
    fn ask(&self, port: u16, request: &[u8]) -> Option<Vec<u8>> {
        (self.0)(port, request)
    }
}

/// What keeps the wall clock of a machine that has no files, by the answers of its daemons alone:
/// `answer` gets each port that is asked, with the question.
pub fn time_keeping(answer: impl Fn(u16, &[u8]) -> Option<Vec<u8>>) -> Option<TimeKeeping> {
    let nowhere = Root::at(Path::new("/dev/null"));
    time_keeping::time_keeping(&nowhere, &MadeUp(answer), None)
}
