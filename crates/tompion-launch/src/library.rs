//! The preload library's file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::bounded::Allowance;
use crate::elf::{self, NATIVE_NAME, NotAnImage};
use crate::error::Error;

/// The name of the preload library's file.
pub const LIBRARY_NAME: &str = "libtompion_preload.so";

/// The preload library: a file that the loader can be told to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    file: PathBuf,
}

impl Library {
    /// The library at `file`.
    ///
    /// # Errors
    /// If it is no library for this machine, or its path cannot be written into
    /// `LD_PRELOAD`.
    pub fn at(file: &Path) -> Result<Self, Error> {
        let bad = |what: String| Error::BadLibrary {
            file: file.to_owned(),
            what,
        };
        let image = match elf::read(file, &Allowance::new()) {
            Ok(image) => image,
            Err(NotAnImage::Unreadable(why)) => {
                return Err(bad(format!("the preload library cannot be read: {why}")));
            }
            Err(NotAnImage::Foreign(built_for)) => {
                return Err(bad(format!("built for {built_for}, not for {NATIVE_NAME}")));
            }
            Err(NotAnImage::NotElf | NotAnImage::Broken) => {
                return Err(bad(format!("not a shared library such as {LIBRARY_NAME}")));
            }
        };
        if !image.shared || image.interpreter.is_some() {
            return Err(bad(format!(
                "a program, not a shared library such as {LIBRARY_NAME}"
            )));
        }
        if image.soname.as_deref() != Some(OsStr::new(LIBRARY_NAME)) {
            return Err(bad(format!(
                "another library (its soname is not {LIBRARY_NAME}); it would do nothing"
            )));
        }
        let file = std::path::absolute(file).map_err(|e| bad(e.to_string()))?;
        // The loader takes the first two as separators, the third as the start
        // of a name to replace.
        if let Some(byte) = file
            .as_os_str()
            .as_bytes()
            .iter()
            .find(|b| b" :$".contains(b))
        {
            return Err(Error::BadLibrary {
                what: format!(
                    "LD_PRELOAD cannot express a path with {}; move or link the library to \
                     another one",
                    match byte {
                        b' ' => "a space",
                        b':' => "a colon",
                        _ => "a dollar sign",
                    }
                ),
                file,
            });
        }
        Ok(Self { file })
    }

    /// The library that belongs to this program: beside it, or in the lib
    /// directory beside its directory.
    ///
    /// # Errors
    /// If there is none in any of these places, or the first one is not usable.
    pub fn installed() -> Result<Self, Error> {
        let program = std::env::current_exe()
            .and_then(|p| p.canonicalize())
            .unwrap_or_default();
        Self::beside(program.parent().unwrap_or(Path::new("")))
    }

    fn beside(directory: &Path) -> Result<Self, Error> {
        let prefix = directory.parent().unwrap_or(directory);
        let lib = prefix.join("lib");
        let triplet = format!("{}-linux-gnu", std::env::consts::ARCH);
        let places = [
            directory.to_owned(),
            lib.clone(),
            lib.join("tompion"),
            lib.join(&triplet),
            lib.join(&triplet).join("tompion"),
            prefix.join("lib64"),
            prefix.join("lib64/tompion"),
        ]
        .map(|d| d.join(LIBRARY_NAME));
        match places.iter().find(|p| p.exists()) {
            Some(file) => Self::at(file),
            None => Err(Error::NoLibrary(vec![
                directory.to_owned(),
                lib,
                prefix.join("lib64"),
            ])),
        }
    }

    /// Its absolute path.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// For tests of what does not need the file.
    #[cfg(test)]
    pub(crate) fn unchecked(file: &str) -> Self {
        Self { file: file.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_was_looked_for_is_told() {
        let root = tempfile::tempdir().unwrap();
        let bin = root.path().join("bin");
        let message = Library::beside(&bin).unwrap_err().to_string();
        for place in ["bin", "lib", "lib64"] {
            let directory = root.path().join(place);
            assert!(message.contains(directory.to_str().unwrap()), "{message}");
        }
        // Not every command that wants it can be told another place.
        assert!(!message.contains("--library"), "{message}");
    }

    #[test]
    fn what_is_no_library_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "no library at all, only text").unwrap();
        let message = Library::at(file.path()).unwrap_err().to_string();
        assert!(message.contains("not a shared library"), "{message}");
        let program = std::env::current_exe().unwrap();
        let message = Library::at(&program).unwrap_err().to_string();
        assert!(message.contains("a program"), "{message}");
    }
}
