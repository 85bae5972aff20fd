//! Which run is meant.

use std::path::{Path, PathBuf};

use tompion_store::{Error, Result, UserRuns};

/// The newest of the user's runs.
pub const NEWEST: &str = "@";

/// The directory of the run of that name: `@1`, or `@`, is the newest of the user's runs, `@2` the one before,
/// and so on; all else is a path.
///
/// # Errors
/// Where the user has no such run, and for what looks like one of these names and is neither that nor a path.
pub fn run_named(name: &Path) -> Result<PathBuf> {
    match number(name) {
        Some(number) => UserRuns::find()?.recent(number),
        None if is_meant_so(name) => Err(Error::Invalid {
            path: name.to_path_buf(),
            reason: "names no run; those that were kept are @1, the newest, @2, and so on (`tompion runs`)"
                .to_owned(),
        }),
        None => Ok(name.to_path_buf()),
    }
}

fn number(name: &Path) -> Option<usize> {
    match name.to_str()?.strip_prefix(NEWEST)? {
        "" => Some(1),
        number if number.bytes().all(|b| b.is_ascii_digit()) => {
            number.parse().ok().filter(|n| *n > 0)
        }
        _ => None,
    }
}

/// Whether somebody took it for the name of a run that was kept: `@0`, `@1/`, `@x`.
fn is_meant_so(name: &Path) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(NEWEST)) && !name.exists()
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
            "@0",
            "@-1",
            "@99999999999999999999999",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
    }

    #[test]
    fn what_looks_like_such_a_name_and_is_none_says_so() {
        for name in ["@0", "@x", "@1/", "@-1", "@99999999999999999999999"] {
            let error = run_named(Path::new(name)).unwrap_err().to_string();
            let told = "names no run; those that were kept are @1, the newest,";
            assert!(error.starts_with(&format!("{name}: {told}")), "{error}");
        }
        for path in ["", "1", "./@x", "none"] {
            assert_eq!(run_named(Path::new(path)).unwrap(), Path::new(path));
        }
    }
}
