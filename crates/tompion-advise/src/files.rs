//! Values in the kernel's files: read, written, held against each other.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use tompion_host::Root;

use crate::cpus;

/// Writes to a file that is there.
pub fn write(root: &Root, path: &Path, value: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(root.path(path))?;
    // In one call: the kernel takes each for a value of its own.
    file.write_all(value.as_bytes())
}

/// What a file says; empty where it says nothing.
pub fn read(root: &Root, path: &Path) -> io::Result<String> {
    Ok(std::fs::read_to_string(root.path(path))?.trim().to_owned())
}

/// Whether two values mean the same: the kernel writes lists of CPUs its own way.
pub fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim(), b.trim());
    a == b || cpus::parse(a).is_some_and(|a| cpus::parse(b) == Some(a))
}

/// Why a write failed, and what would be right.
pub fn why(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    if error.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error()) {
        // Opened, and refused all the same: whoever asks.
        return format!("{path}: the kernel does not allow it");
    }
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!("needs root: {path}: permission denied"),
        io::ErrorKind::ReadOnlyFilesystem => {
            format!("needs {path} to be writable: it is mounted read-only, as in most containers")
        }
        _ => format!("{path}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_same_however_the_kernel_writes_them() {
        assert!(same("0,1\n", "0-1") && same("tsc\n", "tsc") && same("", "\n"));
        assert!(!same("0-1", "0-2") && !same("tsc", "hpet") && !same("0", ""));
    }

    #[test]
    fn what_nobody_may_is_told_apart_from_what_root_may() {
        let why = |number| why(Path::new("/x"), &io::Error::from_raw_os_error(number));
        let (eperm, eacces) = (1, 13);
        assert_eq!(why(eperm), "/x: the kernel does not allow it");
        assert!(why(eacces).contains("needs root"));
    }

    #[test]
    fn no_file_is_made() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let path = Path::new("/sys/knob");
        let error = write(&root, path, "1").unwrap_err();
        assert!(why(path, &error).starts_with("/sys/knob: "), "{error}");
        assert!(!root.has(path));
    }
}
