//! Which run is meant.

use std::path::{Path, PathBuf};

use tompion_store::{Result, UserRuns};

/// The newest of the user's runs.
pub const NEWEST: &str = "@";

/// The directory of the run of that name: `@1`, or `@`, is the newest of the user's runs, `@2` the one before,
/// and so on; all else is a path.
///
/// # Errors
/// Where the user has no such run.
pub fn run_named(name: &Path) -> Result<PathBuf> {
    match number(name) {
        Some(number) => UserRuns::find()?.recent(number),
        None => Ok(name.to_path_buf()),
    }
}

fn number(name: &Path) -> Option<usize> {
    match name.to_str()?.strip_prefix(NEWEST)? {
        "" => Some(1),
        number if number.bytes().all(|b| b.is_ascii_digit()) => number.parse().ok(),
        _ => None,
    }
}

/// The same of a side of a comparison, where several runs may be joined by commas.
///
/// # Errors
/// As [`run_named`].
pub fn side_named(side: &str) -> Result<String> {
    if Path::new(side).exists() {
        return Ok(side.to_owned());
    }
    let named = |name: &str| Ok(run_named(Path::new(name))?.to_string_lossy().into_owned());
    let names: Result<Vec<String>> = side.split(',').map(named).collect();
    Ok(names?.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_one_of_the_runs_that_were_kept() {
        let of = |name: &str| number(Path::new(name));
        assert_eq!((of("@"), of("@1"), of("@12")), (Some(1), Some(1), Some(12)));
        for path in [
            "",
            "1",
            "./@1",
            "@x",
            "@1/",
            "@-1",
            "@99999999999999999999999",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
    }
}
