//! A directory of this process for what a target writes, in memory where there is room for it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;

/// A new directory, which goes with the value.
pub fn directory() -> TempDir {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let prefix = format!("tompion-fuzz-{number}-");
    let memory = Path::new("/dev/shm");
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix(&prefix);
    builder
        .tempdir_in(memory)
        .or_else(|_| builder.tempdir())
        .expect("a temporary directory")
}

/// Where a run's golden archive lies.
pub fn golden(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    root.join(format!("{name}.tar.gz"))
}
