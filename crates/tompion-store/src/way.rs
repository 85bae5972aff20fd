//! The way to a directory, part by part: each link on it is looked at before it is followed, and is the one that was looked
//! at, whatever is put in its place meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, fstat, fstatfs, mkdirat, openat,
    readlinkat, statat,
};
use rustix::io::Errno;

/// As many links as Linux follows.
const MOST_LINKS: usize = 40;
/// The user who may lead everybody anywhere.
const ROOT: u32 = 0;
/// The number of users whom a namespace does not know, where the kernel does not tell.
const USUAL_UNKNOWN: u32 = 65_534;
/// The inode of /proc itself.
const TOP_OF_PROC: u64 = 1;
/// How a part of the way is looked at: neither read, nor waited for, nor followed.
const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// And how a directory on it is.
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// What is done about links of other users, who may lead anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    /// They are followed, which is told.
    Told,
    /// They are not followed.
    Refused,
}

/// The end of the way.
#[derive(Debug)]
pub(super) struct Reached {
    pub(super) directory: OwnedFd,
    /// The first link of another user that led there.
    pub(super) by: Option<PathBuf>,
}

/// Why it ended before.
#[derive(Debug)]
pub(super) enum Stopped {
    /// This is a link of another user.
    OthersLink(PathBuf),
    /// Nothing of the next name is in this directory.
    Missing(OwnedFd),
    /// Whatever the system refuses.
    Refused(io::Error),
}

impl From<Errno> for Stopped {
    fn from(errno: Errno) -> Self {
        Self::Refused(errno.into())
    }
}

/// A part of the way that is ahead.
struct Part {
    name: OsString,
    /// Whether a link has it, and not the caller.
    is_of_link: bool,
}

/// Where a file is to be written: a directory without links on the way to it, and what is there by now.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) directory: OwnedFd,
    /// For messages.
    pub(super) told: PathBuf,
    pub(super) name: OsString,
    pub(super) there: There,
}

/// What stands where a file is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum There {
    /// Nothing.
    Nothing,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Something that is written to as it stands: by device and inode, it alone.
    Special(u64, u64),
    /// The same by a link of the kernel, which leads nowhere else.
    Opened,
}

/// Looks for the place of a file, of which the user's own links and root's are followed, those of others refused.
pub(super) fn walk_to_file(path: &Path) -> Result<Spot, Stopped> {
    let (mut path, mut links) = (path.to_path_buf(), 0);
    loop {
        let none = || Stopped::Refused(io::ErrorKind::IsADirectory.into());
        let name = path.file_name().ok_or_else(none)?.to_owned();
        let above = above(&path);
        let directory = walk(above, Others::Refused, false)?.directory;
        let spot = |directory, there| {
            Ok(Spot {
                told: above.to_path_buf(),
                name: name.clone(),
                directory,
                there,
            })
        };
        let found = match openat(&directory, &name, LOOK, Mode::empty()) {
            Ok(found) => found,
            Err(Errno::NOENT) => return spot(directory, There::Nothing),
            Err(e) => return Err(e.into()),
        };
        let what = fstat(&found)?;
        match FileType::from_raw_mode(what.st_mode) {
            FileType::RegularFile => return spot(directory, There::File),
            FileType::Directory => return spot(directory, There::Directory),
            FileType::Symlink => {}
            _ => return spot(directory, There::Special(what.st_dev, what.st_ino)),
        }
        require_own(&found, &what, &directory, || path.clone())?;
        if is_of_proc(&found) {
            let led = statat(&directory, &name, AtFlags::empty())?;
            if FileType::from_raw_mode(led.st_mode) != FileType::RegularFile {
                return spot(directory, There::Opened);
            }
            if led.st_nlink == 0 {
                return Err(Errno::NOENT.into());
            }
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        let target = target_of(&found, &directory, &name)?;
        path = above.join(target);
    }
}

/// The directory that holds `path`; that of a bare name is the current one.
pub(super) fn above(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Refuses a link of another user, which lies in the directory `at`.
fn require_own(
    link: &OwnedFd,
    what: &Stat,
    at: &OwnedFd,
    path: impl FnOnce() -> PathBuf,
) -> Result<(), Stopped> {
    let user = rustix::process::geteuid().as_raw();
    let is_own = |uid: u32| uid == ROOT || uid == user && !is_anybody(user);
    let is_own = match is_of_proc(link) {
        // Those at its top, such as `self`, are the kernel's, whatever a namespace calls its user.
        true if fstat(at)?.st_ino == TOP_OF_PROC => true,
        true => users_of_process(at).is_some_and(|users| users.into_iter().all(is_own)),
        false => is_own(what.st_uid),
    };
    match is_own {
        true => Ok(()),
        false => Err(Stopped::OthersLink(path())),
    }
}

/// Whether a namespace has this number for all users whom it does not know, its own perhaps among them.
fn is_anybody(user: u32) -> bool {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let unknown = read("/proc/sys/kernel/overflowuid");
    let unknown = unknown.trim().parse().unwrap_or(USUAL_UNKNOWN);
    let knows_all = read("/proc/self/uid_map").split_whitespace().nth(2) == Some("4294967295");
    user == unknown && !knows_all
}

/// The users, real to effective, of the process of whose directory in /proc, or of a directory in that, this is. Who owns it says
/// less: that of a process which lets nobody look is root's.
fn users_of_process(at: &OwnedFd) -> Option<Vec<u32>> {
    let read = |name: &str| {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let mut text = String::new();
        let mut file = File::from(openat(at, name, flags, Mode::empty()).ok()?);
        file.read_to_string(&mut text).ok().map(|_| text)
    };
    let status = read("status").or_else(|| read("../status"))?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users
        .split_whitespace()
        .map(|user| user.parse().ok())
        .collect()
}

/// Where an opened link leads.
fn target_of(link: &OwnedFd, at: &OwnedFd, name: &OsStr) -> Result<PathBuf, Errno> {
    // Old kernels and sandboxes read none that is opened.
    let target = readlinkat(link, "", Vec::new()).or_else(|_| readlinkat(at, name, Vec::new()))?;
    Ok(PathBuf::from(OsStr::from_bytes(target.to_bytes())))
}

/// Opens the directory at `path`. Where it `makes`, what is missing is made, but for what links name.
pub(super) fn walk(path: &Path, others: Others, makes: bool) -> Result<Reached, Stopped> {
    if path.as_os_str().is_empty() {
        return Err(Errno::NOENT.into());
    }
    let mut ahead = Vec::new();
    put(&mut ahead, path, false);
    let mut at = openat(CWD, ".", DIRECTORY, Mode::empty())?;
    let mut told = PathBuf::new();
    let (mut links, mut by) = (0, None);
    while let Some(Part { name, is_of_link }) = ahead.pop() {
        let found = match openat(&at, &name, LOOK, Mode::empty()) {
            Ok(found) => found,
            Err(Errno::NOENT) if makes && !is_of_link => {
                match mkdirat(&at, &name, Mode::from_raw_mode(0o755)) {
                    // Somebody else was quicker; a link is not what anybody asked for.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(e) => return Err(e.into()),
                }
                at = openat(&at, &name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
                told.push(&name);
                continue;
            }
            Err(Errno::NOENT) if !is_of_link => return Err(Stopped::Missing(at)),
            Err(Errno::NOENT) => {
                let nothing = io::Error::new(io::ErrorKind::NotFound, "a link leads to nothing");
                return Err(Stopped::Refused(nothing));
            }
            Err(e) => return Err(e.into()),
        };
        let what = fstat(&found)?;
        match FileType::from_raw_mode(what.st_mode) {
            FileType::Directory => {
                at = found;
                told.push(&name);
            }
            FileType::Symlink => {
                match require_own(&found, &what, &at, || told.join(&name)) {
                    Err(Stopped::OthersLink(link)) if others == Others::Told => {
                        by.get_or_insert(link);
                    }
                    allowed => allowed?,
                }
                // What these say is no name: the kernel alone knows where they lead.
                if is_of_proc(&found) {
                    at = openat(&at, &name, DIRECTORY, Mode::empty())?;
                    told.push(&name);
                    continue;
                }
                links += 1;
                if links > MOST_LINKS {
                    return Err(Errno::LOOP.into());
                }
                let target = target_of(&found, &at, &name)?;
                if target.is_absolute() {
                    told = PathBuf::new();
                }
                put(&mut ahead, &target, true);
            }
            _ => return Err(Errno::NOTDIR.into()),
        }
    }
    let directory = openat(&at, ".", READ, Mode::empty())?;
    Ok(Reached { directory, by })
}

/// Puts the parts of a path before those that are ahead.
fn put(ahead: &mut Vec<Part>, path: &Path, is_of_link: bool) {
    for component in path.components().rev() {
        let name = match component {
            Component::CurDir | Component::Prefix(_) => continue,
            Component::RootDir => "/".into(),
            Component::ParentDir => "..".into(),
            Component::Normal(name) => name.to_owned(),
        };
        ahead.push(Part { name, is_of_link });
    }
}

fn is_of_proc(link: &OwnedFd) -> bool {
    fstatfs(link).is_ok_and(|found| found.f_type == PROC_SUPER_MAGIC)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, lchown, symlink};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    /// Device and inode of where a way ends.
    fn end(path: &Path) -> Option<(u64, u64)> {
        let reached = walk(path, Others::Told, false).ok()?;
        let found = fstat(&reached.directory).unwrap();
        Some((found.st_dev, found.st_ino))
    }

    #[test]
    fn it_ends_where_the_system_says() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("a/b/c")).unwrap();
        fs::write(at("file"), "").unwrap();
        symlink("a/b", at("down")).unwrap();
        symlink("../..", at("a/b/up")).unwrap();
        symlink(at("a"), at("away")).unwrap();
        symlink("none", at("dangling")).unwrap();
        symlink("circle", at("circle")).unwrap();
        let names = [
            "",
            ".",
            "a",
            "a/b/",
            "a/./b/../b/c",
            "down/c",
            "down/..",
            "away/b/c",
            "a/b/up/a",
            "file",
            "file/x",
            "none",
            "dangling",
            "circle",
            "down/c/../..",
        ];
        for name in names {
            let path = match name {
                "" => PathBuf::new(),
                name => at(name),
            };
            let system = fs::metadata(&path).ok().filter(fs::Metadata::is_dir);
            let system = system.map(|found| (found.dev(), found.ino()));
            assert_eq!(end(&path), system, "{name:?}");
        }
        for path in ["/", "/proc/self/cwd", "/proc/self/fd/../cwd", "."] {
            let system = fs::metadata(path).unwrap();
            assert_eq!(
                end(Path::new(path)),
                Some((system.dev(), system.ino())),
                "{path}"
            );
        }
    }

    #[test]
    fn what_is_missing_is_made_but_for_what_links_name() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at("a")).unwrap();
        symlink("a", at("link")).unwrap();
        symlink("none", at("dangling")).unwrap();
        walk(&at("link/x/y"), Others::Refused, true).unwrap();
        assert!(at("a/x/y").is_dir());
        assert!(walk(&at("dangling"), Others::Refused, true).is_err());
        assert!(walk(&at("dangling/x"), Others::Refused, true).is_err());
        assert!(!at("none").exists());
        let missing = walk(&at("a/z/z"), Others::Refused, false);
        assert!(matches!(missing, Err(Stopped::Missing(_))));
    }

    #[test]
    fn a_link_of_another_user_is_refused_or_told_wherever_it_stands() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        symlink("a", at("link")).unwrap();
        lchown(at("link"), Some(65_534), Some(65_534)).unwrap();
        symlink("link", at("own")).unwrap();
        for name in ["link", "link/b", "link/new/dir", "own", "own/b"] {
            for makes in [false, true] {
                let refused = walk(&at(name), Others::Refused, makes);
                let Err(Stopped::OthersLink(link)) = refused else {
                    panic!("{name}: {refused:?}")
                };
                assert_eq!(link, at("link"));
            }
        }
        assert!(!at("a/new").exists());
        let told = walk(&at("link/b"), Others::Told, false).unwrap();
        assert_eq!(told.by, Some(at("link")));
        assert_eq!(walk(&at("a/b"), Others::Told, false).unwrap().by, None);
    }

    #[test]
    fn where_another_users_process_is_leads_as_little_as_any_link() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let inside = place.path().join("a");
        fs::create_dir(&inside).unwrap();
        let mut process = Command::new("sleep")
            .arg("60")
            .current_dir(&inside)
            .uid(65_534)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let own = PathBuf::from(format!("/proc/{}", process.id()));
        let of_it = |name: &str| own.join(name);
        let refused = walk(&of_it("cwd"), Others::Refused, false);
        let told = walk(&of_it("cwd"), Others::Told, false);
        let files = ["cwd/x", "fd/0"].map(|name| walk_to_file(&of_it(name)));
        process.kill().unwrap();
        process.wait().unwrap();
        let by = |stopped: Stopped| match stopped {
            Stopped::OthersLink(link) => link,
            other => panic!("{other:?}"),
        };
        assert_eq!(by(refused.unwrap_err()), of_it("cwd"));
        // Without CAP_SYS_PTRACE nobody follows it at all.
        if let Ok(told) = told {
            assert_eq!(told.by, Some(of_it("cwd")));
        }
        let [file, pipe] = files.map(|found| by(found.unwrap_err()));
        assert_eq!((file, pipe), (of_it("cwd"), of_it("fd/0")));
    }

    #[test]
    fn a_bare_name_lies_in_the_current_directory() {
        assert_eq!(above(Path::new("x.html")), Path::new("."));
        assert_eq!(above(Path::new("a/x.html")), Path::new("a"));
        assert_eq!(above(Path::new("/x.html")), Path::new("/"));
    }
}
