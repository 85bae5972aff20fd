//! Reading small files below a root directory, `/` or a test's own tree.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use tompion_model::is_printable;

/// The directory that stands for `/`.
pub struct Root(PathBuf);

impl Root {
    /// The machine itself.
    pub fn real() -> Self {
        Self(PathBuf::from("/"))
    }

    /// A tree that stands for it, such as one made by a test.
    pub fn at(path: &Path) -> Self {
        Self(path.to_path_buf())
    }

    /// The real path of `path`, which is given from `/`.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Whether something of that name is there.
    pub fn has(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// The raw content.
    pub fn bytes(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        fs::read(self.path(path)).ok()
    }

    /// As much of a regular file as `limit` bytes, as [`Root::text`] has it. For what others
    /// may write to: it waits for no pipe, and a file without end has an end.
    pub fn beginning(&self, path: impl AsRef<Path>, limit: u64) -> Option<String> {
        let not_waiting = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        let file = File::options()
            .read(true)
            .custom_flags(not_waiting.bits() as i32)
            .open(self.path(path))
            .ok()?;
        let mut bytes = Vec::new();
        let is_file = file.metadata().is_ok_and(|m| m.is_file());
        (is_file && file.take(limit).read_to_end(&mut bytes).is_ok()).then_some(())?;
        plain(&bytes)
    }

    /// The content without surrounding space; `None` when empty or unreadable.
    /// Device tree strings end in a zero byte, which goes as well. What would act on a terminal
    /// becomes a space: a name in it may be a device's or a hypervisor's.
    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        plain(&self.bytes(path)?)
    }

    /// The content as a number or another type that can be parsed.
    pub fn parsed<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// The words of the content.
    pub fn words(&self, path: impl AsRef<Path>) -> Vec<String> {
        let text = self.text(path).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    }

    /// Paths (from `/`) of the entries of `dir` named `prefix` and a number, by
    /// that number.
    pub fn numbered(&self, dir: impl AsRef<Path>, prefix: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path(&dir)) else {
            return Vec::new();
        };
        let mut found: Vec<(u32, PathBuf)> = entries
            .flatten()
            .filter_map(|e| {
                let name = e.file_name().into_string().ok()?;
                let number = name.strip_prefix(prefix)?.parse().ok()?;
                Some((number, dir.as_ref().join(name)))
            })
            .collect();
        found.sort();
        found.into_iter().map(|f| f.1).collect()
    }

    /// Names and contents of the files in `dir`.
    pub fn files(&self, dir: impl AsRef<Path>) -> Vec<(String, String)> {
        let Ok(entries) = fs::read_dir(self.path(&dir)) else {
            return Vec::new();
        };
        entries
            .flatten()
            .filter_map(|e| {
                let name = e.file_name().into_string().ok()?;
                let text = self.text(dir.as_ref().join(&name))?;
                Some((name, text))
            })
            .collect()
    }

    /// Where a symbolic link points.
    pub fn link(&self, path: impl AsRef<Path>) -> Option<String> {
        let target = fs::read_link(self.path(path)).ok()?;
        target.into_os_string().into_string().ok()
    }
}

/// Text without surrounding space and without what would act on a terminal.
fn plain(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    let is_plain = |c: char| is_printable(c) || "\n\t\0".contains(c);
    let plain = text.chars().map(|c| if is_plain(c) { c } else { ' ' });
    (!text.is_empty()).then(|| plain.collect())
}

/// The value of `key` in lines of the form `key: value`.
pub fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

/// The word in brackets, as in `always [madvise] never`.
pub fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    Some(word.to_owned())
}

/// How many CPUs a list such as `0-3,8` names.
pub fn list_length(list: &str) -> Option<u32> {
    list.trim().split(',').map(range_length).sum()
}

fn range_length(range: &str) -> Option<u32> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
    last.checked_sub(first)?.checked_add(1)
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(list_length("0-3,8,10-11\n"), Some(7));
        assert_eq!(list_length("5"), Some(1));
        for bad in ["", "3-1", "a", "0-"] {
            assert_eq!(list_length(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_a_terminal_would_act_on_is_a_space() {
        let tree = tempfile::tempdir().unwrap();
        fs::write(tree.path().join("name"), "a\u{1b}[31mb\u{202e}c\td\ne\0f\0").unwrap();
        let text = Root::at(tree.path()).text("/name");
        assert_eq!(text.as_deref(), Some("a [31mb c\td\ne\0f"));
    }

    #[test]
    fn fields_and_choices_are_found() {
        assert_eq!(field("a: 1\nb name :  x y \n", "b name"), Some("x y"));
        assert_eq!(field("no colon", "no colon"), None);
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("none"), None);
    }
}
