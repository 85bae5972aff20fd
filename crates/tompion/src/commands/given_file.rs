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
use tompion_store::{Directory, are_mostly_holes};

/// How long a pipe may take to give all of a text.
const PATIENCE: Duration = Duration::from_secs(10);

/// The text in a file, or in a pipe such as a shell's `<(...)`.
///
/// # Errors
/// In a line that names the file: one that cannot be read, is longer than `most` bytes, takes too long, or is no text; `what`
/// is what it should be, for example `a plan`.
pub fn text_of(file: &Path, most: u64, what: &str) -> anyhow::Result<String> {
    let at = file.display();
    anyhow::ensure!(!file.is_dir(), "{at}: a directory, not {what}");
    let bytes = opened(file)
        .and_then(|opened| taken(opened, most + 1, PATIENCE))
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

/// A directory that is there, reached by no link of another user.
///
/// # Errors
/// In a line that names the option: where there is none.
pub fn directory(option: &str, path: &Path) -> anyhow::Result<Directory> {
    let none = || anyhow::anyhow!("{option} {}: not an existing directory", path.display());
    anyhow::ensure!(path.is_dir(), none());
    Directory::try_make(path)
        .with_context(|| option.to_owned())?
        .ok_or_else(none)
}

fn opened(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = flags.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// At most so many bytes, from a pipe that may still be written to as well, for as long as there is patience.
fn taken(mut file: File, most: u64, patience: Duration) -> io::Result<Vec<u8>> {
    let end = Instant::now() + patience;
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < most {
        let left = most - bytes.len() as u64;
        // What came before it had to wait is kept.
        match (&mut file).take(left).read_to_end(&mut bytes) {
            Ok(_) => break,
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                let left = end.saturating_duration_since(Instant::now());
                if !comes_within(&file, left)? {
                    let what = "it takes too long, and is no regular file";
                    return Err(io::Error::new(ErrorKind::TimedOut, what));
                }
            }
            Err(e) => return Err(e),
        }
    }
    Ok(bytes)
}

/// Whether there is something to be read, or the end, by then.
fn comes_within(file: &File, left: Duration) -> io::Result<bool> {
    let left = Timespec::try_from(left).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&left)) {
        Ok(ready) => Ok(ready > 0),
        // It is asked again, for what is left.
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(e) => Err(e.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_pipe_is_read_to_its_end_and_not_waited_for_without_end() {
        let (reader, mut writer) = io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let opened = || opened(Path::new(&path)).unwrap();
        writer.write_all(b"half").unwrap();
        let short = Duration::from_millis(50);
        let waiting = taken(opened(), 100, short).unwrap_err();
        assert_eq!(waiting.kind(), ErrorKind::TimedOut);
        writer.write_all(b"all of it").unwrap();
        assert_eq!(taken(opened(), 3, short).unwrap(), b"all");
        drop(writer);
        assert_eq!(taken(opened(), 100, PATIENCE).unwrap(), b" of it");
    }
}
