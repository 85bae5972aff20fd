//! Programs that get other rights than their caller's: for them the loader
//! ignores `LD_PRELOAD` (`AT_SECURE`).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{StatVfsMountFlags, getxattr, statvfs};
use rustix::process::{getegid, geteuid, getgid, getuid};
use rustix::thread::no_new_privs;

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;
const GROUP_EXECUTES: u32 = 0o010;

/// What makes the kernel run `file` for this process with other rights, after
/// Linux `security/commoncap.c`. Transitions of security modules are not seen.
pub(crate) fn other_rights(file: &Path) -> Option<&'static str> {
    let found = fs::metadata(file).ok()?;
    let honoured =
        !statvfs(file).is_ok_and(|mount| mount.f_flag.contains(StatVfsMountFlags::NOSUID));
    let set_ids = honoured && !no_new_privs().unwrap_or(false);
    let mode = if set_ids { found.mode() } else { 0 };
    // Set-group-ID without the group's execute bit means something else.
    let sets_group = mode & SET_GROUP_ID != 0 && mode & GROUP_EXECUTES != 0;
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    if mode & SET_USER_ID != 0 {
        if found.uid() != user {
            return Some("set-user-ID");
        }
    } else if geteuid().as_raw() != user {
        return Some("run with an effective user that is not the real one");
    }
    if sets_group {
        if found.gid() != group {
            return Some("set-group-ID");
        }
    } else if getegid().as_raw() != group {
        return Some("run with an effective group that is not the real one");
    }
    // Root gains nothing by them.
    (honoured && user != 0 && grants_capabilities(file)).then_some("has file capabilities")
}

fn grants_capabilities(file: &Path) -> bool {
    // struct vfs_ns_cap_data: flags, then pairs of permitted and inheritable.
    let mut value = [0_u8; 24];
    let Ok(length) = getxattr(file, "security.capability", &mut value) else {
        return false;
    };
    let word = |i: usize| u32::from_le_bytes(value[4 * i..4 * i + 4].try_into().unwrap());
    let effective = word(0) & 1 != 0;
    let permitted = word(1) | if length >= 20 { word(3) } else { 0 };
    length >= 12 && (effective || permitted != 0)
}
