//! Removing a directory with all that is in it, however deep that goes: what ran in an instance may
//! have made directories in one another until a recursion would find no end of its stack, or of its
//! descriptors.

use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Names that are taken from a directory at a time.
const AT_A_TIME: usize = 4096;

/// Removes a directory with all that is in it, however deep that goes; one that is not there is none. No link is followed.
///
/// # Errors
/// What the system refuses.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    match open(CWD, path) {
        Ok(top) => empty(&top)?,
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::NOTDIR | Errno::LOOP) => return fs::remove_file(path),
        Err(e) => return Err(e.into()),
    }
    match fs::remove_dir(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Empties a directory. What lies deeper than in a directory of it is moved up first, so that two
/// are open at a time.
fn empty(top: &OwnedFd) -> io::Result<()> {
    let mut moved = 0_u64;
    while let names @ [_, ..] = names(top)?.as_slice() {
        for name in names {
            if is_removed(top, name)? {
                continue;
            }
            let below = open(top, name.as_c_str())?;
            while let inner @ [_, ..] = self::names(&below)?.as_slice() {
                for name in inner {
                    if !is_removed(&below, name)? {
                        move_up(&below, name, top, &mut moved)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Gives a directory another place and a name that is free there.
fn move_up(from: &OwnedFd, name: &CStr, top: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    loop {
        *moved += 1;
        match renameat(from, name, top, format!("moved-{moved}")) {
            Ok(()) => return Ok(()),
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// Removes what is no directory, or an empty one; false for what holds something.
fn is_removed(directory: &OwnedFd, name: &CStr) -> io::Result<bool> {
    let refused = match unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(true),
        Err(refused) => refused,
    };
    match unlinkat(directory, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        // No directory: the first word says why.
        Err(Errno::NOTDIR) => Err(refused.into()),
        Err(e) => Err(e.into()),
    }
}

/// Some names in a directory.
fn names(directory: &OwnedFd) -> io::Result<Vec<CString>> {
    let is_own = |name: &CStr| name == c"." || name == c"..";
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if !is_own(&name) {
            names.push(name);
        }
        if names.len() == AT_A_TIME {
            break;
        }
    }
    Ok(names)
}

fn open(at: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_tree_is_removed_however_deep_it_is_and_nothing_that_it_links_to() {
        // More than there are descriptors, and than a stack of 2 MiB takes; less where each
        // directory is one of a disk.
        let in_memory = tempfile::tempdir_in("/dev/shm").ok();
        let depth = if in_memory.is_some() { 50_000 } else { 2_000 };
        let place = in_memory.unwrap_or_else(|| tempfile::tempdir().unwrap());
        let (tree, outside) = (place.path().join("tree"), place.path().join("outside"));
        fs::create_dir_all(tree.join("a/b/c")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "kept").unwrap();
        for at in ["link", "a/link", "a/b/c/link"] {
            symlink(&outside, tree.join(at)).unwrap();
        }
        // Names that are taken, as a directory that holds something and as a file.
        fs::create_dir_all(tree.join("moved-1/x")).unwrap();
        fs::write(tree.join("moved-2"), "").unwrap();
        (0..5000).for_each(|n| fs::write(tree.join(format!("a/b/{n}")), "").unwrap());
        let mut at = open(CWD, &tree).unwrap();
        for _ in 0..depth {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = open(&at, "d").unwrap();
        }
        drop(at);
        remove_tree(&tree).unwrap();
        assert!(!tree.exists() && outside.join("kept").exists());
        remove_tree(&tree).unwrap();
        // Of a link the link.
        symlink(&outside, &tree).unwrap();
        remove_tree(&tree).unwrap();
        assert!(fs::symlink_metadata(&tree).is_err() && outside.join("kept").exists());
    }
}
