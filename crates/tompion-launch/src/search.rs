//! Finding a command's file as `execvp` does.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::error::Error;

/// What glibc searches where `PATH` is not set.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The file that the command `name` means to this process.
///
/// # Errors
/// Where there is none, or it may not be executed.
pub fn command_file(name: &OsStr) -> Result<PathBuf, Error> {
    find(name, std::env::var_os("PATH").as_deref())
}

/// The file that `name` means: itself if it holds a slash, else the first
/// executable file of that name in the directories of `path`.
pub(crate) fn find(name: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, Error> {
    if name.is_empty() {
        return Err(Error::NotInPath(OsString::from("``")));
    }
    if name.as_bytes().contains(&b'/') {
        let file = PathBuf::from(name);
        return executable(&file).map(|()| file);
    }
    let mut refused = None;
    for directory in std::env::split_paths(path.unwrap_or(OsStr::new(DEFAULT_PATH))) {
        let directory = if directory.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &directory
        };
        let file = directory.join(name);
        match executable(&file) {
            Ok(()) => return Ok(file),
            // As a shell does: a later directory may hold one that can be run.
            Err(Error::NotExecutable(_)) => refused = refused.or(Some(file)),
            Err(_) => {}
        }
    }
    Err(refused.map_or_else(|| Error::NotInPath(name.to_owned()), Error::NotExecutable))
}

/// Whether this process may execute `file`.
fn executable(file: &Path) -> Result<(), Error> {
    let found = fs::metadata(file).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            Error::NoSuchFile(file.to_owned())
        }
        _ => Error::Unreadable {
            file: file.to_owned(),
            source,
        },
    })?;
    if found.is_dir() {
        return Err(Error::Directory(file.to_owned()));
    }
    if !found.is_file() {
        return Err(Error::NotAFile(file.to_owned()));
    }
    if accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS).is_err() {
        return Err(Error::NotExecutable(file.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn write(file: &Path, mode: u32) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_first_executable_file_in_path_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        write(&at("a/run"), 0o644);
        fs::create_dir_all(at("b/run")).unwrap();
        write(&at("c/run"), 0o755);
        write(&at("d/run"), 0o755);
        let path = |names: &[&str]| std::env::join_paths(names.iter().map(|n| at(n))).unwrap();
        let run = OsStr::new("run");
        let found = find(run, Some(&path(&["none", "a", "b", "c", "d"]))).unwrap();
        assert_eq!(found, at("c/run"));
        let refused = find(run, Some(&path(&["a", "b"]))).unwrap_err();
        assert!(matches!(refused, Error::NotExecutable(f) if f == at("a/run")));
        let absent = find(run, Some(&path(&["none", "b"]))).unwrap_err();
        assert!(matches!(absent, Error::NotInPath(_)));
    }

    #[test]
    fn a_name_with_a_slash_is_not_searched() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("run");
        assert!(matches!(
            find(file.as_os_str(), None),
            Err(Error::NoSuchFile(_))
        ));
        write(&file, 0o644);
        assert!(matches!(
            find(file.as_os_str(), None),
            Err(Error::NotExecutable(_))
        ));
        let inside = file.join("x");
        assert!(matches!(
            find(inside.as_os_str(), None),
            Err(Error::NoSuchFile(_))
        ));
        let directory = root.path().as_os_str();
        assert!(matches!(find(directory, None), Err(Error::Directory(_))));
    }

    #[test]
    fn without_path_the_systems_directories_are_searched() {
        assert_eq!(find(OsStr::new("sh"), None).unwrap(), Path::new("/bin/sh"));
    }
}
