//! Where a lab may keep files that other programs find by their names: as root, only where nobody
//! else can put anything in their place.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A place that is not made yet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Home {
    pub path: PathBuf,
    /// Why it is not in the run's directory.
    pub aside: Option<String>,
}

/// The place for a lab of this name: in `out`, the run's directory; or, where somebody else could
/// swap a directory above that for a link, in one that temporary files lie in for long. Where there
/// is none that is better, `out` it is.
pub(super) fn home(out: &Path, stem: &str) -> io::Result<Home> {
    let tmp = std::env::temp_dir();
    home_in(out, stem, &[Path::new("/var/tmp"), &tmp])
}

fn home_in(out: &Path, stem: &str, others: &[&Path]) -> io::Result<Home> {
    let (out, stranger) = named(out)?;
    let beside = |out: PathBuf, aside| Home {
        path: out.join(format!("scratch-{stem}")),
        aside,
    };
    let Some(stranger) = stranger else {
        return Ok(beside(out, None));
    };
    let mut others = others.iter().filter_map(|other| {
        let other = fs::canonicalize(other).ok()?;
        matches!(tompion_host::others_above(&other), Ok(None)).then_some(other)
    });
    let Some(other) = others.next() else {
        return Ok(beside(out, None));
    };
    // Nobody can have made it before.
    let random = RandomState::new().hash_one(stem);
    Ok(Home {
        path: other.join(format!("{}-{stem}-{random:x}", super::PREFIX)),
        aside: Some(format!(
            "Instances and loads had their files in {}, since {stranger}.",
            other.display()
        )),
    })
}

/// How often a name is looked for that changes meanwhile.
const TRIES: u32 = 1000;

/// A directory's name without links, and who else could change it: where nobody can, it stays its name.
fn named(out: &Path) -> io::Result<(PathBuf, Option<String>)> {
    let id = |found: fs::Metadata| (found.dev(), found.ino());
    let own = id(fs::metadata(out)?);
    let look = || -> io::Result<_> {
        let path = fs::canonicalize(out)?;
        let stranger = tompion_host::others_above(&path)?;
        // It may have been swapped for a link after it was opened: then that is no name of it.
        let is_it = id(fs::symlink_metadata(&path)?) == own;
        Ok(is_it.then_some((path, stranger)))
    };
    for _ in 0..TRIES {
        match look() {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::Error::other("somebody renames it again and again"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn a_directory_that_is_swapped_meanwhile_has_its_own_name_and_no_others() {
        use std::os::fd::AsRawFd;
        use std::sync::atomic::{AtomicBool, Ordering};

        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir(path("run")).unwrap();
        fs::create_dir(path("victim")).unwrap();
        let opened = fs::File::open(path("run")).unwrap();
        let lasting = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    fs::rename(path("run"), path("away")).unwrap();
                    std::os::unix::fs::symlink(path("victim"), path("run")).unwrap();
                    fs::remove_file(path("run")).unwrap();
                    fs::rename(path("away"), path("run")).unwrap();
                }
            });
            let found: Vec<_> = (0..2000).map(|_| named(&lasting)).collect();
            stop.store(true, Ordering::Relaxed);
            let real = fs::canonicalize(place.path()).unwrap();
            for found in found {
                let (name, _) = found.unwrap();
                assert!(
                    [real.join("run"), real.join("away")].contains(&name),
                    "{name:?}"
                );
            }
        });
    }

    #[test]
    fn a_place_below_somebody_elses_directory_is_not_taken() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let out = place.path().join("theirs/run");
        fs::create_dir_all(&out).unwrap();
        let of = |others: &[&Path]| home_in(&out, "7-9", others).unwrap();
        let theirs = out.parent().unwrap();
        let beside = Home {
            path: out.join("scratch-7-9"),
            aside: None,
        };
        assert_eq!(of(&[other.path()]), beside);
        let set = |mode| fs::set_permissions(theirs, fs::Permissions::from_mode(mode)).unwrap();
        let is_aside = |why: &str| {
            let home = of(&[Path::new("/no/such"), theirs, other.path()]);
            assert_eq!(home.path.parent(), Some(other.path()));
            let name = home.path.file_name().unwrap().to_str().unwrap();
            assert!(name.starts_with("tompion-lab-7-9-"), "{name}");
            let told = home.aside.unwrap();
            assert!(told.contains(why) && told.contains("theirs"), "{told}");
        };
        set(0o777);
        is_aside("others may write to");
        set(0o1777);
        assert_eq!(of(&[other.path()]), beside);
        set(0o755);
        chown(theirs, Some(65534), None).unwrap();
        is_aside("belongs to user 65534");
        // There is no better one.
        assert_eq!(of(&[theirs]), beside);
    }
}
