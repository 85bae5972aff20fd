//! Files that the user names and somebody else may have written: texts of bounded length, and captures. Nothing of
//! them is waited for without end, as a pipe would be that nobody writes to.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use tompion_store::are_mostly_holes;

/// How long a pipe may take to give all of a text.
const PATIENCE: Duration = Duration::from_secs(10);

/// The text in a file, or in a pipe such as a shell's `<(...)`.
///
/// # Errors
/// In a line that names the file: one that cannot be read, is longer than `most` bytes, takes too long, or is no text; `what`
/// is what it should be, for example `a plan`.
pub fn text_of(file: &Path, most: u64, what: &str) -> anyhow::Result<String> {
    let at = file.display();
    let bytes = opened(file)
        .and_then(|opened| taken(opened, most + 1))
        .with_context(|| at.to_string())?;
    anyhow::ensure!(
        bytes.len() as u64 <= most,
        "{at}: longer than {most} bytes, which {what} has at most"
    );
    String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{at}: no text in UTF-8, which {what} is"))
}

/// A regular file that is all there: what is mostly holes takes no room on a disk, and hours to be read.
///
/// # Errors
/// What the system refuses, and files of other kinds.
pub fn regular(path: &Path) -> io::Result<File> {
    let file = opened(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("no regular file"));
    }
    match are_mostly_holes(&file)? {
        true => Err(io::Error::other("most of the file is not there (holes)")),
        false => Ok(file),
    }
}

fn opened(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = flags.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// At most so many bytes, from a pipe that may still be written to as well.
fn taken(mut file: File, most: u64) -> io::Result<Vec<u8>> {
    let end = Instant::now() + PATIENCE;
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < most {
        let left = most - bytes.len() as u64;
        // What came before it had to wait is kept.
        match (&mut file).take(left).read_to_end(&mut bytes) {
            Ok(_) => break,
            Err(e) if e.kind() == ErrorKind::WouldBlock => wait(&file, end)?,
            Err(e) => return Err(e),
        }
    }
    Ok(bytes)
}

fn wait(file: &File, end: Instant) -> io::Result<()> {
    let left = end.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&left)) {
        Ok(0) => Err(io::Error::other(format!(
            "nothing came for {} s from what is no regular file",
            PATIENCE.as_secs()
        ))),
        Ok(_) => Ok(()),
        Err(rustix::io::Errno::INTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}
