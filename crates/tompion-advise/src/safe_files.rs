//! Files under `/run` that only we, or root, can have written.
//!
//! What a record says is written to files of the machine by root: whoever could plant a
//! record could have root write anything anywhere.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Group and others may not write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// A record of ten thousand changes is shorter.
const MOST_BYTES: u64 = 4 << 20;

/// Why something is not ours to go by.
#[derive(Debug)]
pub enum Problem {
    /// In words.
    Distrust(String),
    /// What the system said.
    Io(io::Error),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Makes the directory where it is not there; whatever the umask, others may not write
/// into it.
pub fn directory(path: &Path) -> Result<(), Problem> {
    match DirBuilder::new().recursive(true).mode(0o755).create(path) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e.into()),
        _ => {}
    }
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Err(Problem::Distrust("it is no directory".to_owned()));
    }
    match found.uid() == own_uid() {
        true => Ok(fs::set_permissions(path, Permissions::from_mode(0o755))?),
        false => judge(&found),
    }
}

/// Opens a file of ours to lock it, and makes it where it is not there.
pub fn lock(path: &Path) -> Result<File, Problem> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK))
        .open(path)
        .map_err(no_link)?;
    let found = file.metadata()?;
    match found.uid() == own_uid() {
        // Whoever may open it can lock it, and keep us waiting.
        true => file.set_permissions(Permissions::from_mode(0o600))?,
        false => judge(&found)?,
    }
    Ok(file)
}

/// Makes a file that is not there yet.
pub fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create_new(true).write(true).open(path)?;
    // Whatever the umask: everyone is to know what is changed.
    file.set_permissions(Permissions::from_mode(0o644))?;
    Ok(file)
}

/// What a file of ours says, byte for byte.
pub fn read(path: &Path) -> Result<Vec<u8>, Problem> {
    let file = OpenOptions::new()
        .read(true)
        // A pipe would keep us waiting for its writer.
        .custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK))
        .open(path)
        .map_err(no_link)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(Problem::Distrust("it is no regular file".to_owned()));
    }
    judge(&found)?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err(Problem::Distrust("it is longer than 4 MiB".to_owned())),
        false => Ok(bytes),
    }
}

fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

fn no_link(error: io::Error) -> Problem {
    match error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        true => Problem::Distrust("it is a symbolic link".to_owned()),
        false => Problem::Io(error),
    }
}

fn judge(found: &Metadata) -> Result<(), Problem> {
    let uid = found.uid();
    if uid != 0 && uid != own_uid() {
        return Err(Problem::Distrust(format!("user {uid} owns it")));
    }
    if found.mode() & WRITABLE_BY_OTHERS != 0 {
        let why = "its group or everyone may write to it";
        return Err(Problem::Distrust(why.to_owned()));
    }
    Ok(())
}

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn why<T: std::fmt::Debug>(found: Result<T, Problem>) -> String {
        match found {
            Err(Problem::Distrust(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn only_a_plain_file_of_ours_is_gone_by() {
        let tree = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| tree.path().join(name));
        fs::write(&file, "text").unwrap();
        set_mode(&file, 0o644);
        assert_eq!(read(&file).unwrap(), b"text");
        assert!(lock(&file).is_ok());
        symlink(&file, &link).unwrap();
        assert!(why(read(&link)).contains("symbolic link"));
        assert!(why(lock(&link)).contains("symbolic link"));
        assert!(why(read(tree.path())).contains("no regular file"));
        assert!(create(&link).is_err(), "nothing is written through a link");
        set_mode(&file, 0o666);
        assert!(why(read(&file)).contains("may write"));
        drop(lock(&file).unwrap());
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        // Only root can give a file away.
        set_mode(&file, 0o644);
        if std::os::unix::fs::chown(&file, Some(65_534), None).is_ok() {
            assert!(why(read(&file)).contains("user 65534"));
        }
        let gone = read(&tree.path().join("none"));
        assert!(matches!(gone, Err(Problem::Io(e)) if e.kind() == io::ErrorKind::NotFound));
    }

    #[test]
    fn a_directory_is_ours_alone_to_write_to() {
        let tree = tempfile::tempdir().unwrap();
        let [new, open, link] = ["a/b", "open", "link"].map(|name| tree.path().join(name));
        directory(&new).unwrap();
        directory(&new).unwrap();
        fs::create_dir(&open).unwrap();
        set_mode(&open, 0o777);
        directory(&open).unwrap();
        assert_eq!(fs::metadata(&open).unwrap().mode() & 0o777, 0o755);
        symlink(&open, &link).unwrap();
        assert!(why(directory(&link)).contains("no directory"));
    }
}
