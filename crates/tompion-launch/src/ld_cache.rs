//! The loader's cache of libraries, `/etc/ld.so.cache`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The format of glibc 2.2 and later (`sysdeps/generic/dl-cache.h`), in the
/// machine's byte order. Files from before 2.32 may carry an older table first.
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER_BYTES: usize = 48;
const ENTRY_BYTES: usize = 24;

/// Its content; empty where there is none.
pub(crate) struct Cache(Vec<u8>);

impl Cache {
    /// The cache of this system.
    pub fn of_system() -> Self {
        Self::read(Path::new("/etc/ld.so.cache"))
    }

    fn read(file: &Path) -> Self {
        Self::of(fs::read(file).unwrap_or_default())
    }

    /// The cache in a file of this content.
    pub fn of(mut bytes: Vec<u8>) -> Self {
        let start = bytes.windows(MAGIC.len()).position(|w| w == MAGIC);
        bytes.drain(..start.unwrap_or(bytes.len()));
        Self(bytes)
    }

    /// The files that it lists under `soname`, for whatever architecture.
    pub fn lookup(&self, soname: &OsStr) -> Vec<PathBuf> {
        let count = self.word(MAGIC.len()).unwrap_or(0) as usize;
        (0..count)
            .map_while(|i| {
                let entry = HEADER_BYTES + i * ENTRY_BYTES;
                Some((self.text(entry + 4)?, self.text(entry + 8)?))
            })
            .filter(|(name, _)| *name == soname)
            .map(|(_, file)| PathBuf::from(file))
            .collect()
    }

    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.0.get(at..at.checked_add(4)?)?;
        bytes.try_into().ok().map(u32::from_ne_bytes)
    }

    /// The string whose offset stands at `at`.
    fn text(&self, at: usize) -> Option<&OsStr> {
        let rest = self.0.get(self.word(at)? as usize..)?;
        let end = rest.iter().position(|b| *b == 0)?;
        Some(OsStr::from_bytes(&rest[..end]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn it_holds_what_ldconfig_prints() {
        let Ok(printed) = ["ldconfig", "/sbin/ldconfig"]
            .iter()
            .map(|c| Command::new(c).arg("-p").output())
            .find(Result::is_ok)
            .expect("two tries")
        else {
            eprintln!("skipped: no ldconfig here");
            return;
        };
        let cache = Cache::of_system();
        let text = String::from_utf8_lossy(&printed.stdout);
        let mut lines = 0;
        for line in text.lines() {
            let Some((name, file)) = line.split_once(" => ") else {
                continue;
            };
            let name = name.trim().split(' ').next().unwrap();
            let found = cache.lookup(OsStr::new(name));
            assert!(found.contains(&PathBuf::from(file)), "{line}: {found:?}");
            lines += 1;
        }
        assert_eq!(Some(lines), cache.word(MAGIC.len()));
        assert!(lines > 0);
    }

    #[test]
    fn a_broken_cache_holds_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let name = OsStr::new("libc.so.6");
        assert!(Cache::read(file.path()).lookup(name).is_empty());
        // Claims a thousand entries and ends.
        let mut bytes = MAGIC.to_vec();
        bytes.extend(1000_u32.to_ne_bytes());
        bytes.extend([0xff; 100]);
        fs::write(file.path(), bytes).unwrap();
        assert!(Cache::read(file.path()).lookup(name).is_empty());
        assert!(
            Cache::read(Path::new("/nonexistent"))
                .lookup(name)
                .is_empty()
        );
    }
}
