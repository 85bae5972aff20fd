//! Who else may change where a path leads.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Who besides this user and root can have a path below `directory`, which has no link in it, lead
/// elsewhere: owners of directories above it, and whoever may write to one of them. In words.
///
/// # Errors
/// Whatever the system refuses.
pub fn others_above(directory: &Path) -> io::Result<Option<String>> {
    let own = rustix::process::geteuid().as_raw();
    for above in directory.ancestors() {
        let found = fs::symlink_metadata(above)?;
        let (at, mode, owner) = (above.display(), found.mode(), found.uid());
        if owner != own && owner != 0 {
            return Ok(Some(format!("{at} belongs to user {owner}")));
        }
        // In one with the sticky bit only its owner moves a file.
        let is_shared = mode & 0o022 != 0 && mode & 0o1000 == 0;
        if is_shared || !found.is_dir() {
            return Ok(Some(format!("others may write to {at}")));
        }
    }
    Ok(None)
}
