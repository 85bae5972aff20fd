//! Which of the replaced functions a program and its libraries import.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::bounded::Allowance;
use crate::elf::{self, Image};
use crate::ld_cache::Cache;
use crate::program::Program;

/// One file that is loaded at start.
#[derive(Clone, Debug)]
pub struct Importer {
    /// Where it lies.
    pub file: PathBuf,
    /// Those of the [`REPLACED`](crate::REPLACED) functions that it imports.
    pub functions: Vec<&'static str>,
}

/// What is loaded at the start of a program, as far as its files tell.
/// Libraries that it loads later are not among them.
#[derive(Clone, Debug, Default)]
pub struct Imports {
    /// The program, then its libraries.
    pub loaded: Vec<Importer>,
    /// Libraries that were not found, and files whose imports cannot be read.
    pub unknown: Vec<OsString>,
    /// Whether it needs more libraries, or larger ones, than are looked at.
    pub is_cut: bool,
}

impl Imports {
    /// The files that import `function`.
    pub fn importers<'a>(&'a self, function: &'a str) -> impl Iterator<Item = &'a Path> {
        self.loaded
            .iter()
            .filter(move |i| i.functions.contains(&function))
            .map(|i| i.file.as_path())
    }
}

/// Walks through the libraries that `program` needs, as the loader would. Best
/// effort: hardware-specific variants and what `LD_PRELOAD` names are left out.
pub fn imports(program: &Program) -> Imports {
    let search = Search {
        search_path: std::env::var_os("LD_LIBRARY_PATH"),
        cache: Cache::of_system(),
        left: program.left.clone(),
    };
    let file = fs::canonicalize(program.file()).unwrap_or_else(|_| program.file().to_owned());
    let mut found = Imports::default();
    let mut seen: HashSet<OsString> = HashSet::new();
    let mut all = vec![Loaded::new(file, program.image.clone(), None)];
    let mut next = 0;
    'walk: while next < all.len() {
        let loaded = &mut all[next];
        match loaded.image.imports.take() {
            Some(functions) => found.loaded.push(Importer {
                file: loaded.file.clone(),
                functions,
            }),
            None => found.unknown.push(loaded.file.clone().into_os_string()),
        }
        for name in std::mem::take(&mut loaded.image.needed) {
            if seen.contains(&name) {
                continue;
            }
            match search.find(&name, &all, next) {
                Ok(Some((file, image))) => all.push(Loaded::new(file, image, Some(next))),
                Ok(None) => found.unknown.push(name.clone()),
                Err(Spent) => {
                    found.is_cut = true;
                    break 'walk;
                }
            }
            seen.insert(name);
        }
        next += 1;
    }
    found
}

/// A file, and the place of the one that made it be loaded.
struct Loaded {
    file: PathBuf,
    image: Image,
    by: Option<usize>,
}

impl Loaded {
    fn new(file: PathBuf, image: Image, by: Option<usize>) -> Self {
        Self { file, image, by }
    }
}

/// More would have to be looked at than is allowed.
struct Spent;

impl From<()> for Spent {
    fn from((): ()) -> Self {
        Self
    }
}

struct Search {
    search_path: Option<OsString>,
    cache: Cache,
    left: Allowance,
}

impl Search {
    /// What is loaded as `name` for the one at `by`, in the order of ld.so(8).
    fn find(
        &self,
        name: &OsStr,
        all: &[Loaded],
        by: usize,
    ) -> Result<Option<(PathBuf, Image)>, Spent> {
        self.left.look()?;
        if name.as_bytes().contains(&b'/') {
            return self.usable(PathBuf::from(name));
        }
        let by = &all[by];
        let mut directories = Vec::new();
        if by.image.runpath.is_none() {
            let mut next = Some(by);
            while let Some(loaded) = next {
                self.left.open()?;
                directories.extend(self.list(loaded.image.rpath.as_deref(), &loaded.file)?);
                next = loaded.by.map(|by| &all[by]);
            }
        }
        directories.extend(self.list(self.search_path.as_deref(), &by.file)?);
        directories.extend(self.list(by.image.runpath.as_deref(), &by.file)?);
        let system = ["lib64", "lib", "usr/lib64", "usr/lib"].map(|d| Path::new("/").join(d));
        let files = directories
            .into_iter()
            .map(|d| d.join(name))
            .chain(self.cache.lookup(name))
            .chain(system.into_iter().map(|d| d.join(name)));
        for file in files {
            if let Some(found) = self.usable(file)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// A library of this architecture.
    fn usable(&self, file: PathBuf) -> Result<Option<(PathBuf, Image)>, Spent> {
        self.left.open()?;
        let image = elf::read(&file, &self.left).ok();
        Ok(image.map(|image| (file, image)))
    }

    /// The same directories as [`list`] gives, as far as they may be looked into.
    fn list(&self, text: Option<&OsStr>, file: &Path) -> Result<Vec<PathBuf>, Spent> {
        list(text, file, || self.left.open().is_ok()).ok_or(Spent)
    }
}

/// The directories of a colon-separated list, `$ORIGIN` and `$LIB` replaced; `None` where not
/// each of them `may` be.
fn list(text: Option<&OsStr>, file: &Path, may: impl Fn() -> bool) -> Option<Vec<PathBuf>> {
    let mut directories = Vec::new();
    let Some(text) = text.filter(|l| !l.is_empty()) else {
        return Some(directories);
    };
    let arch = std::env::consts::ARCH;
    let origin = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let origin = origin.parent().unwrap_or(Path::new("/")).as_os_str();
    let libs = [
        format!("lib/{arch}-linux-gnu"),
        "lib64".into(),
        "lib".into(),
    ];
    let mut seen = HashSet::new();
    let mut entries = HashSet::new();
    for entry in text.as_bytes().split(|b| *b == b':') {
        // The same one again leads to the same places.
        if !entries.insert(entry) {
            continue;
        }
        let entry = if entry.is_empty() { b"." } else { entry };
        let entry = replace(entry, "ORIGIN", origin.as_bytes());
        let entry = replace(&entry, "PLATFORM", arch.as_bytes());
        for lib in &libs {
            let directory = replace(&entry, "LIB", lib.as_bytes());
            let directory = PathBuf::from(OsString::from_vec(directory));
            if seen.insert(directory.clone()) {
                if !may() {
                    return None;
                }
                directories.push(directory);
            }
        }
    }
    Some(directories)
}

/// The longest path that the kernel takes.
const LONGEST: usize = 4096;

/// Replaces `$NAME` and `${NAME}`, as long as that is a path yet.
fn replace(text: &[u8], name: &str, by: &[u8]) -> Vec<u8> {
    let tokens = [format!("${{{name}}}"), format!("${name}")];
    let mut rest = text;
    let mut result = Vec::new();
    while !rest.is_empty() && result.len() <= LONGEST {
        if let Some(token) = tokens.iter().find(|t| rest.starts_with(t.as_bytes())) {
            result.extend(by);
            rest = &rest[token.len()..];
            continue;
        }
        let next = rest[1..].iter().position(|b| *b == b'$');
        let (plain, after) = rest.split_at(next.map_or(rest.len(), |at| at + 1));
        result.extend(plain);
        rest = after;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_the_loader_are_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(directory.path()).unwrap();
        let file = directory.path().join("x");
        fs::write(&file, "").unwrap();
        let list = |text: &str| list(Some(OsStr::new(text)), &file, || true).unwrap();
        let listed = list("$ORIGIN/../a:${ORIGIN}/b:/c:");
        let want = [real.join("../a"), real.join("b"), "/c".into(), ".".into()];
        assert_eq!(listed, want);
        let libs = list("/x/$LIB");
        assert!(libs.contains(&PathBuf::from("/x/lib64")), "{libs:?}");
        assert!(list("").is_empty());
    }
}
