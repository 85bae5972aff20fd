//! Who else may change where a path leads.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Who besides root can have a path below `directory`, which has no link in it, lead elsewhere:
/// owners of directories above it, and whoever may write to one of them. In words. Nobody, where
/// this user is not root: only root is led where it must not be. Anybody else may do no more there
/// than whoever owns that directory lets everybody do.
///
/// # Errors
/// Whatever the system refuses.
pub fn others_above(directory: &Path) -> io::Result<Option<String>> {
    match rustix::process::geteuid().is_root() {
        true => others_of(directory),
        false => Ok(None),
    }
}

/// As [`others_above`], of a path that may have links in it: who made one of them, too, and who can
/// have the place where they lead be another.
///
/// # Errors
/// Whatever the system refuses.
pub fn others_on_the_way(path: &Path) -> io::Result<Option<String>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    for above in path.ancestors() {
        let found = fs::symlink_metadata(above)?;
        if found.is_symlink() && found.uid() != 0 {
            return Ok(Some(owned(above, found.uid())));
        }
    }
    others_of(&fs::canonicalize(path)?)
}

fn owned(at: &Path, owner: u32) -> String {
    format!("{} belongs to user {owner}", at.display())
}

fn others_of(directory: &Path) -> io::Result<Option<String>> {
    for above in directory.ancestors() {
        let found = fs::symlink_metadata(above)?;
        let mode = found.mode();
        if found.uid() != 0 {
            return Ok(Some(owned(above, found.uid())));
        }
        // In one with the sticky bit only its owner moves a file.
        let is_shared = mode & 0o022 != 0 && mode & 0o1000 == 0;
        if is_shared || !found.is_dir() {
            return Ok(Some(format!("others may write to {}", above.display())));
        }
    }
    Ok(None)
}
