//! Which of the replaced functions a program and its libraries import.

use std::collections::{HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

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
    };
    let file = fs::canonicalize(program.file()).unwrap_or_else(|_| program.file().to_owned());
    let mut found = Imports::default();
    let mut seen: HashSet<OsString> = HashSet::new();
    let mut waiting = VecDeque::from([Loaded::new(file, program.image.clone(), None)]);
    while let Some(loaded) = waiting.pop_front() {
        match &loaded.image.imports {
            Some(functions) => found.loaded.push(Importer {
                file: loaded.file.clone(),
                functions: functions.clone(),
            }),
            None => found.unknown.push(loaded.file.clone().into_os_string()),
        }
        let by = Rc::new(loaded);
        for name in &by.image.needed {
            if !seen.insert(name.clone()) {
                continue;
            }
            match search.find(name, &by) {
                Some((file, image)) => {
                    waiting.push_back(Loaded::new(file, image, Some(Rc::clone(&by))));
                }
                None => found.unknown.push(name.clone()),
            }
        }
    }
    found
}

/// A file and the chain of those that made it be loaded.
struct Loaded {
    file: PathBuf,
    image: Image,
    by: Option<Rc<Loaded>>,
}

impl Loaded {
    fn new(file: PathBuf, image: Image, by: Option<Rc<Self>>) -> Self {
        Self { file, image, by }
    }
}

struct Search {
    search_path: Option<OsString>,
    cache: Cache,
}

impl Search {
    /// In the order of ld.so(8).
    fn find(&self, name: &OsStr, by: &Rc<Loaded>) -> Option<(PathBuf, Image)> {
        if name.as_bytes().contains(&b'/') {
            return usable(PathBuf::from(name));
        }
        let mut directories = Vec::new();
        if by.image.runpath.is_none() {
            let mut next = Some(by);
            while let Some(loaded) = next {
                directories.extend(list(loaded.image.rpath.as_deref(), &loaded.file));
                next = loaded.by.as_ref();
            }
        }
        directories.extend(list(self.search_path.as_deref(), &by.file));
        directories.extend(list(by.image.runpath.as_deref(), &by.file));
        let system = ["lib64", "lib", "usr/lib64", "usr/lib"].map(|d| Path::new("/").join(d));
        directories
            .into_iter()
            .map(|d| d.join(name))
            .chain(self.cache.lookup(name))
            .chain(system.into_iter().map(|d| d.join(name)))
            .find_map(usable)
    }
}

/// A library of this architecture.
fn usable(file: PathBuf) -> Option<(PathBuf, Image)> {
    let image = elf::read(&file).ok()?;
    Some((file, image))
}

/// The directories of a colon-separated list, `$ORIGIN` and `$LIB` replaced.
fn list(list: Option<&OsStr>, file: &Path) -> Vec<PathBuf> {
    let arch = std::env::consts::ARCH;
    let origin = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let origin = origin.parent().unwrap_or(Path::new("/")).as_os_str();
    let libs = [
        format!("lib/{arch}-linux-gnu"),
        "lib64".into(),
        "lib".into(),
    ];
    let Some(list) = list.filter(|l| !l.is_empty()) else {
        return Vec::new();
    };
    let mut directories = Vec::new();
    for entry in list.as_bytes().split(|b| *b == b':') {
        let entry = if entry.is_empty() { b"." } else { entry };
        let entry = replace(entry, "ORIGIN", origin.as_bytes());
        let entry = replace(&entry, "PLATFORM", arch.as_bytes());
        for lib in &libs {
            let directory = replace(&entry, "LIB", lib.as_bytes());
            let directory = PathBuf::from(OsString::from_vec(directory));
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
    }
    directories
}

/// Replaces `$NAME` and `${NAME}`.
fn replace(text: &[u8], name: &str, by: &[u8]) -> Vec<u8> {
    let tokens = [format!("${{{name}}}"), format!("${name}")];
    let mut rest = text;
    let mut result = Vec::new();
    while let Some(first) = rest.first() {
        match tokens.iter().find(|t| rest.starts_with(t.as_bytes())) {
            Some(token) => {
                result.extend(by);
                rest = &rest[token.len()..];
            }
            None => {
                result.push(*first);
                rest = &rest[1..];
            }
        }
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
        let listed = list(Some(OsStr::new("$ORIGIN/../a:${ORIGIN}/b:/c:")), &file);
        let want = [real.join("../a"), real.join("b"), "/c".into(), ".".into()];
        assert_eq!(listed, want);
        let libs = list(Some(OsStr::new("/x/$LIB")), &file);
        assert!(libs.contains(&PathBuf::from("/x/lib64")), "{libs:?}");
        assert!(list(None, &file).is_empty());
        assert!(list(Some(OsStr::new("")), &file).is_empty());
    }
}
