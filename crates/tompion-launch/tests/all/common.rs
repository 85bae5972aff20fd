//! Programs built by the C compiler, whole and damaged on purpose.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use tompion_launch::{Error, Program};

pub const READS_CLOCK: &str = "
#include <time.h>
int main(void) { struct timespec t; return clock_gettime(CLOCK_MONOTONIC, &t); }
";

/// A directory with what a test builds.
pub struct Bench(TempDir);

impl Bench {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn cc(&self, name: &str, source: &str, options: &[&str]) -> PathBuf {
        let (code, out) = (self.at(&format!("{name}.c")), self.at(name));
        fs::write(&code, source).unwrap();
        run(Command::new("cc")
            .arg("-o")
            .arg(&out)
            .arg(&code)
            .args(options));
        out
    }

    /// A copy of `file` with `change` done to its bytes.
    pub fn changed(&self, name: &str, file: &Path, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
        let mut bytes = fs::read(file).unwrap();
        change(&mut bytes);
        self.script(name, &bytes)
    }

    /// An executable file.
    pub fn script(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let out = self.at(name);
        fs::write(&out, bytes).unwrap();
        fs::set_permissions(&out, fs::Permissions::from_mode(0o755)).unwrap();
        out
    }
}

pub fn run(command: &mut Command) {
    let done = command.output().unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {errors}");
}

pub fn find(file: &Path) -> Result<Program, Error> {
    Program::find(file.as_os_str())
}
