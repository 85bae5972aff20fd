//! Starting a program with the preload library.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::error::Error;
use crate::library::Library;
use crate::program::{Program, is_sanitizer};
use crate::settings::{SETTINGS_VARIABLE, Settings};
use crate::signals;

/// The environment variable that names libraries to the loader.
pub const LIBRARIES_VARIABLE: &str = "LD_PRELOAD";

/// A program, what it is called, its arguments, and what is loaded into it.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// The program.
    pub program: &'a Program,
    /// What it is called and its arguments, as the user gave them.
    pub command: &'a [OsString],
    /// The preload library.
    pub preload: &'a Library,
    /// What the library is told.
    pub settings: &'a Settings,
}

impl Launch<'_> {
    /// The value of [`LIBRARIES_VARIABLE`]: what this process has there is kept.
    pub fn libraries(&self) -> OsString {
        let present = std::env::var_os(LIBRARIES_VARIABLE);
        libraries(self.preload, self.program.sanitizers(), present.as_deref())
    }

    /// Replaces this process by the program: its status, signals, terminal and
    /// open files are the program's. Returns only if that fails.
    pub fn exec(&self) -> Error {
        let mut command = Command::new(self.program.command());
        if let Some((name, arguments)) = self.command.split_first() {
            command.arg0(name).args(arguments);
        }
        command
            .env(LIBRARIES_VARIABLE, self.libraries())
            .env(SETTINGS_VARIABLE, self.settings.variable());
        Error::Exec {
            program: self.program.command().to_owned(),
            source: signals::exec(&mut command),
        }
    }
}

/// Sanitizers first, which insist on it; then ours, then the others.
fn libraries<'a>(
    library: &Library,
    needed: impl Iterator<Item = &'a OsString>,
    present: Option<&OsStr>,
) -> OsString {
    let ours = library.file().as_os_str();
    let present: Vec<&OsStr> = present
        .map_or(&b""[..], OsStrExt::as_bytes)
        .split(|b| b" :".contains(b))
        .map(OsStr::from_bytes)
        .filter(|l| !l.is_empty() && *l != ours)
        .collect();
    let name = |l: &OsStr| std::path::Path::new(l).file_name().map(OsStr::to_owned);
    let (first, rest): (Vec<&OsStr>, Vec<&OsStr>) =
        present.into_iter().partition(|l| is_sanitizer(l));
    let needed: Vec<&OsStr> = needed
        .map(OsString::as_os_str)
        .filter(|n| !first.iter().any(|f| name(f) == name(n)))
        .collect();
    let all = [&first[..], &needed, &[ours], &rest].concat();
    let all: Vec<&[u8]> = all.into_iter().map(OsStrExt::as_bytes).collect();
    OsString::from_vec(all.join(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(needed: &[&str], present: Option<&str>) -> String {
        let needed: Vec<OsString> = needed.iter().map(OsString::from).collect();
        let library = Library::unchecked("/t/ours.so");
        libraries(&library, needed.iter(), present.map(OsStr::new))
            .into_string()
            .unwrap()
    }

    #[test]
    fn what_was_there_is_kept_behind_ours() {
        assert_eq!(joined(&[], None), "/t/ours.so");
        assert_eq!(joined(&[], Some("")), "/t/ours.so");
        assert_eq!(
            joined(&[], Some("a.so  /b.so:c.so")),
            "/t/ours.so:a.so:/b.so:c.so"
        );
        // Called under itself.
        assert_eq!(joined(&[], Some("/t/ours.so:a.so")), "/t/ours.so:a.so");
    }

    #[test]
    fn sanitizers_come_first_and_once() {
        assert_eq!(
            joined(&["libasan.so.8"], Some("a.so")),
            "libasan.so.8:/t/ours.so:a.so"
        );
        assert_eq!(
            joined(&["libtsan.so.2"], Some("a.so:/x/libtsan.so.2")),
            "/x/libtsan.so.2:/t/ours.so:a.so"
        );
        assert_eq!(
            joined(&[], Some("a.so:libclang_rt.asan-x86_64.so")),
            "libclang_rt.asan-x86_64.so:/t/ours.so:a.so"
        );
    }
}
