//! Panics of a library while it reads what a stranger may have sent: they are damage of the
//! file, and nothing else.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

use crate::{Error, Result};

thread_local! {
    /// Whether a panic of this thread is caught here, so that nobody need hear of it.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Reads `path` by a library; where that panics, the file is damaged.
pub(super) fn caught<T>(path: &Path, read: impl FnOnce() -> T) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
    let before = QUIET.replace(true);
    // What is half read is dropped, and nobody else sees it.
    let done = panic::catch_unwind(AssertUnwindSafe(read));
    QUIET.set(before);
    done.map_err(|_| Error::invalid(path, "cannot be read at all; the run is damaged"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_damage_of_the_file_in_one_line() {
        let error = caught(Path::new("wake-up.parquet"), || -> u32 {
            panic!("index out of bounds")
        })
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "wake-up.parquet: cannot be read at all; the run is damaged"
        );
        assert_eq!(caught(Path::new("x"), || 7).unwrap(), 7);
        // Others are heard as before.
        assert!(!QUIET.get());
    }
}
