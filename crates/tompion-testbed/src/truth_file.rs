//! How the file is opened that says what became of each packet.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Makes a file, or empties it. A pipe has to be read already.
pub fn open_plainly(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    // Without it a pipe that nobody reads is waited for, and nobody told.
    options.custom_flags(nix::libc::O_NONBLOCK);
    options.open(path)
}
