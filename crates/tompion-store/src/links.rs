//! Files of a run that are one: however many names it has, it takes its bytes of a disk once, while whoever
//! reads the run goes through it for each.

use std::collections::BTreeMap;

use super::directory::Directory;
use crate::{Error, Result};

/// The files that have several names, by device and inode, with the one by which each was met.
#[derive(Debug, Default)]
pub(super) struct Links(BTreeMap<(u64, u64), String>);

impl Links {
    /// Refuses a file that was met by another name.
    ///
    /// # Errors
    /// As said, and whatever the system refuses. What is not there is missed where it is opened.
    pub(super) fn take(&mut self, directory: &Directory, name: &str) -> Result<()> {
        let path = directory.path().join(name);
        let found = directory
            .find(name)
            .map_err(Error::io(&path, "looking at"))?;
        // Not all file systems number what has one name.
        let Some(found) = found.filter(|found| found.st_nlink > 1) else {
            return Ok(());
        };
        let met = self.0.insert((found.st_dev, found.st_ino), name.to_owned());
        match met.filter(|met| met != name) {
            None => Ok(()),
            Some(met) => {
                let why = format!(
                    "is the same file as {}, by a hard link; `cp -r` makes a copy of the run without any",
                    met.escape_debug()
                );
                Err(Error::invalid(&path, why))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_with_two_names_in_a_run_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at("samples")).unwrap();
        for name in ["a", "b", "backup"] {
            fs::write(at(name), "").unwrap();
        }
        let here = Directory::open(place.path()).unwrap();
        fs::hard_link(at("a"), at("samples/a")).unwrap();
        // A name that the run does not list: whoever backs up makes such.
        fs::hard_link(at("b"), at("of-backup")).unwrap();
        let mut links = Links::default();
        for name in ["a", "b", "missing", "a"] {
            links.take(&here, name).unwrap();
        }
        let error = links.take(&here, "samples/a").unwrap_err().to_string();
        assert!(
            error.contains("samples/a: is the same file as a, by a hard link"),
            "{error}"
        );
    }
}
