//! A measurement must not fill the disk it runs on.

use std::path::{Path, PathBuf};

/// Share of a file system that stays free beside loads that write to it.
const FREE_SHARE: f64 = 0.2;

/// What room on a disk is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The run's own files.
    Run,
    /// What loads write.
    Loads,
}

/// A disk with too little room.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}: {problem}", directory.display())]
pub struct Shortage {
    /// What the room is for.
    pub purpose: Purpose,
    /// Where.
    pub directory: PathBuf,
    problem: TooLittle,
}

/// How much there is, and how much is wanted, in bytes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
enum TooLittle {
    #[error(
        "{:.1} MB are available there, and this run may write {:.1} MB",
        available / 1e6,
        wanted / 1e6
    )]
    ForTheRun { available: f64, wanted: f64 },
    #[error(
        "{:.1} of {:.1} MB are available there; the loads that write files may write {:.1} MB \
         and must leave 20 % free",
        available / 1e6,
        total / 1e6,
        wanted / 1e6
    )]
    ForLoads {
        available: f64,
        total: f64,
        wanted: f64,
    },
}

/// Refuses to begin where the file system of `directory` (which need not exist
/// yet) has less than `bytes` available for the run's own files.
pub(crate) fn require_space(directory: &Path, bytes: u64) -> Result<(), Shortage> {
    let Some(space) = Space::of(directory) else {
        return Ok(());
    };
    space.holds(bytes).map_err(|problem| Shortage {
        purpose: Purpose::Run,
        directory: directory.to_path_buf(),
        problem,
    })
}

/// Refuses to begin where loads that write up to `bytes` to the file system of
/// `directory` would leave less than a fifth of it free.
pub(crate) fn require_space_for_loads(directory: &Path, bytes: u64) -> Result<(), Shortage> {
    let Some(space) = Space::of(directory) else {
        return Ok(());
    };
    space.stays_free(bytes).map_err(|problem| Shortage {
        purpose: Purpose::Loads,
        directory: directory.to_path_buf(),
        problem,
    })
}

/// A file system's size and what a program may still take of it, in bytes.
struct Space {
    total: f64,
    available: f64,
}

impl Space {
    fn of(directory: &Path) -> Option<Self> {
        let fs = rustix::fs::statvfs(nearest_existing(directory)).ok()?;
        let space = Self {
            // As df counts: blocks kept back for root are neither used nor free.
            total: (fs.f_blocks.saturating_sub(fs.f_bfree) + fs.f_bavail) as f64
                * fs.f_frsize as f64,
            available: fs.f_bavail as f64 * fs.f_frsize as f64,
        };
        // Pseudo file systems have no size; writing there fails for itself.
        (space.total > 0.0).then_some(space)
    }

    fn holds(&self, bytes: u64) -> Result<(), TooLittle> {
        let (available, wanted) = (self.available, bytes as f64);
        match available >= wanted {
            true => Ok(()),
            false => Err(TooLittle::ForTheRun { available, wanted }),
        }
    }

    fn stays_free(&self, bytes: u64) -> Result<(), TooLittle> {
        let (available, total, wanted) = (self.available, self.total, bytes as f64);
        match available - wanted >= FREE_SHARE * total {
            true => Ok(()),
            false => Err(TooLittle::ForLoads {
                available,
                total,
                wanted,
            }),
        }
    }
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

    const MB: u64 = 1_000_000;

    #[test]
    fn more_than_any_disk_holds_is_refused_in_one_line() {
        for refused in [
            require_space(Path::new("/no/such/place"), 1 << 60),
            require_space_for_loads(Path::new("/no/such/place"), 1 << 60),
        ] {
            let text = refused.unwrap_err().to_string();
            assert!(text.starts_with("/no/such/place: "), "{text}");
            assert!(text.contains("MB are available") && !text.contains('\n'));
        }
    }

    #[test]
    fn a_nearly_full_disk_holds_a_run_but_no_writing_load() {
        // 20 GB, of which 2.6 GB are left to ordinary users.
        let server = Space {
            total: 20e9,
            available: 2.6e9,
        };
        assert!(server.holds(12 * MB).is_ok());
        let text = server.stays_free(100 * MB).unwrap_err();
        assert_eq!(
            text.to_string(),
            "2600.0 of 20000.0 MB are available there; the loads that write files may write 100.0 \
             MB and must leave 20 % free"
        );
    }

    #[test]
    fn an_empty_but_tiny_disk_is_too_small_not_too_full() {
        let tiny = Space {
            total: 1e6,
            available: 1e6,
        };
        assert_eq!(
            tiny.holds(12 * MB).unwrap_err().to_string(),
            "1.0 MB are available there, and this run may write 12.0 MB"
        );
        assert!(tiny.holds(MB).is_ok());
    }
}
