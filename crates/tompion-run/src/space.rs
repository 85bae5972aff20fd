//! A measurement must not fill the disk it runs on.

use std::path::{Path, PathBuf};

use crate::Error;

/// Share of a file system that stays free.
const FREE_SHARE: f64 = 0.2;

/// Refuses to begin where writing `bytes` to the file system of `directory`
/// (which need not exist yet) would leave less than a fifth of it free.
pub fn require_free_space(directory: &Path, bytes: u64) -> Result<(), Error> {
    let existing = nearest_existing(directory);
    let Ok(fs) = rustix::fs::statvfs(&existing) else {
        return Ok(());
    };
    let total = fs.f_blocks as f64 * fs.f_frsize as f64;
    let free = fs.f_bavail as f64 * fs.f_frsize as f64;
    if total > 0.0 && free - bytes as f64 <= FREE_SHARE * total {
        return Err(Error::Plan(format!(
            "{}: the disk is too full: {:.0} % of it is free, and {} MB must fit beside the 20 % \
             that are left free; name another place with --out",
            directory.display(),
            100.0 * free / total,
            bytes / 1_000_000,
        )));
    }
    Ok(())
}

fn nearest_existing(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    absolute
        .ancestors()
        .find(|p| p.exists())
        .unwrap_or(Path::new("/"))
        .to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_any_disk_holds_is_refused_in_one_line() {
        let text = require_free_space(Path::new("/no/such/place"), 1 << 60)
            .unwrap_err()
            .to_string();
        assert!(
            text.starts_with("/no/such/place: the disk is too full"),
            "{text}"
        );
        assert!(!text.contains('\n'));
    }
}
