//! The guest's first and only file system: a cpio archive, made in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use cpio::newc::{self, ModeFileType};

use super::{Guest, GuestError, libraries};
use crate::setup::{SEED_FILE, SETUP_FILE};
use crate::sys::SEED_BYTES;

/// Where init finds what is meant for it.
pub const OWN_DIR: &str = "/tompion";
/// The command, its parts separated by NUL.
pub const COMMAND_FILE: &str = "/tompion/command";
/// Where the scratch disk is mounted; without one, an empty directory in memory.
pub const SCRATCH: &str = "/scratch";
/// A file of the host that the guest will have.
#[derive(Debug, Clone)]
pub(super) struct HostFile {
    pub from: PathBuf,
    /// Permissions other than those it has on the host.
    pub mode: Option<u32>,
    /// Brings its interpreter and libraries along.
    pub dynamic: bool,
}

/// The modules, named so that their order is the order of loading.
pub const MODULE_DIR: &str = "/tompion/modules";

/// The archive of `guest`: directories, two device nodes, init with its orders,
/// and the guest's files.
pub fn build(guest: &Guest) -> Result<Vec<u8>, GuestError> {
    let mut archive = Archive::default();
    // Devtmpfs is mounted by init; until then these two have to be there: the
    // kernel gives init the console, and Rust's runtime wants /dev/null without it.
    archive.device("dev/console", 0o600, 5, 1)?;
    archive.device("dev/null", 0o666, 1, 3)?;
    for directory in ["proc", "sys", "tmp", &SCRATCH[1..]] {
        archive.directories(Path::new(directory))?;
    }
    archive.file(Path::new("init"), guest.kit.init(), None)?;
    let modules = guest.kit.modules(&guest.modules())?;
    for (index, module) in modules.iter().enumerate() {
        let name = module.file_stem().unwrap_or_default().to_string_lossy();
        let at = format!("{}/{index:02}-{name}.ko", &MODULE_DIR[1..]);
        archive.file(Path::new(&at), module, None)?;
    }
    archive.bytes(
        Path::new(&COMMAND_FILE[1..]),
        0o644,
        &join_command(&guest.command)?,
    )?;
    archive.bytes(
        Path::new(&SETUP_FILE[1..]),
        0o644,
        guest.setup().to_string().as_bytes(),
    )?;
    archive.bytes(Path::new(&SEED_FILE[1..]), 0o600, &seed()?)?;
    for (at, file) in with_libraries(&guest.files)? {
        archive.file(&inside(&at)?, &file.from, file.mode)?;
    }
    archive.finish()
}

fn seed() -> Result<[u8; SEED_BYTES], GuestError> {
    let mut seed = [0; SEED_BYTES];
    let read = fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut seed));
    read.map_err(|source| GuestError::Host {
        what: "read /dev/urandom".to_owned(),
        source,
    })?;
    Ok(seed)
}

/// The files and all that the dynamic ones among them need.
fn with_libraries(
    files: &BTreeMap<PathBuf, HostFile>,
) -> Result<BTreeMap<PathBuf, HostFile>, GuestError> {
    let mut needed = Vec::new();
    for file in files.values().filter(|file| file.dynamic) {
        needed.extend(libraries::of(&file.from)?);
    }
    let cache = Path::new(libraries::LOADER_CACHE);
    if !needed.is_empty() && cache.exists() {
        needed.push(cache.to_owned());
    }
    let mut all = files.clone();
    for path in needed {
        all.entry(path.clone()).or_insert(HostFile {
            from: path,
            mode: None,
            dynamic: false,
        });
    }
    Ok(all)
}

/// The path without its leading slash, if it is one that a guest can have.
fn inside(at: &Path) -> Result<PathBuf, GuestError> {
    let wrong = |problem: &str| {
        Err(GuestError::Description {
            problem: format!("file {}: {problem}", at.display()),
        })
    };
    let Ok(path) = at.strip_prefix("/") else {
        return wrong("its place in the guest has to be an absolute path");
    };
    let plain = |c: Component<'_>| matches!(c, Component::Normal(_));
    if path.as_os_str().is_empty() || !path.components().all(plain) {
        return wrong("not a path of a file");
    }
    if path == Path::new("init") || at.starts_with(OWN_DIR) {
        return wrong("this place is taken by the guest's own init");
    }
    if ["dev", "proc", "sys", "scratch"]
        .iter()
        .any(|d| path.starts_with(d))
    {
        return wrong("another file system is mounted over it");
    }
    Ok(path.to_owned())
}

fn join_command(command: &[std::ffi::OsString]) -> Result<Vec<u8>, GuestError> {
    let parts: Vec<_> = command.iter().map(|part| part.as_bytes()).collect();
    if parts.iter().any(|part| part.contains(&0)) {
        return Err(GuestError::Description {
            problem: "a NUL byte in the command".into(),
        });
    }
    Ok(parts.join(&0))
}

#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    directories: BTreeSet<PathBuf>,
    // Two entries of one inode number with links would be one file to the kernel.
    entries: u32,
}

impl Archive {
    /// `path` and all above it.
    fn directories(&mut self, path: &Path) -> Result<(), GuestError> {
        let mut paths: Vec<_> = path.ancestors().collect();
        paths.reverse();
        for path in paths {
            if path.as_os_str().is_empty() || !self.directories.insert(path.to_owned()) {
                continue;
            }
            let entry = self.entry(path, ModeFileType::Directory, 0o755)?;
            self.append(entry, path, &[])?;
        }
        Ok(())
    }

    fn device(&mut self, at: &str, mode: u32, major: u32, minor: u32) -> Result<(), GuestError> {
        let at = Path::new(at);
        self.parents(at)?;
        let entry = self
            .entry(at, ModeFileType::Char, mode)?
            .rdev_major(major)
            .rdev_minor(minor);
        self.append(entry, at, &[])
    }

    /// The host's file `from`, with its permissions unless others are given.
    fn file(&mut self, at: &Path, from: &Path, mode: Option<u32>) -> Result<(), GuestError> {
        let read = || -> io::Result<_> {
            let own = fs::metadata(from)?.permissions().mode();
            Ok((mode.unwrap_or(own) & 0o7777, fs::read(from)?))
        };
        let (mode, content) = read().map_err(|source| GuestError::Host {
            what: format!("read {}", from.display()),
            source,
        })?;
        self.bytes(at, mode, &content)
    }

    fn bytes(&mut self, at: &Path, mode: u32, content: &[u8]) -> Result<(), GuestError> {
        self.parents(at)?;
        let entry = self.entry(at, ModeFileType::Regular, mode)?;
        self.append(entry, at, content)
    }

    fn parents(&mut self, at: &Path) -> Result<(), GuestError> {
        at.parent()
            .map_or(Ok(()), |parent| self.directories(parent))
    }

    fn entry(
        &mut self,
        at: &Path,
        kind: ModeFileType,
        mode: u32,
    ) -> Result<newc::Builder, GuestError> {
        let name = at.to_str().ok_or_else(|| GuestError::Description {
            problem: format!("file {}: its path is not UTF-8", at.display()),
        })?;
        self.entries += 1;
        Ok(newc::Builder::new(name)
            .ino(self.entries)
            .mode(mode)
            .set_mode_file_type(kind))
    }

    fn append(
        &mut self,
        entry: newc::Builder,
        at: &Path,
        content: &[u8],
    ) -> Result<(), GuestError> {
        let length = u32::try_from(content.len()).map_err(|_| GuestError::Description {
            problem: format!("file {}: 4 GiB or more", at.display()),
        })?;
        let mut writer = entry.write(&mut self.bytes, length);
        writer
            .write_all(content)
            .and_then(|()| writer.finish().map(drop))
            .map_err(archive_error)
    }

    fn finish(self) -> Result<Vec<u8>, GuestError> {
        newc::trailer(self.bytes).map_err(archive_error)
    }
}

fn archive_error(source: io::Error) -> GuestError {
    GuestError::Host {
        what: "make the initramfs".into(),
        source,
    }
}
