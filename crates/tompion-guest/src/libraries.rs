//! What a dynamic program needs beside itself, as this machine's loader sees it.
//!
//! `ldd` is asked instead of the program's own table of needed libraries: the loader
//! behind it applies every rule by which a library is found (run paths, its cache,
//! variants for a CPU, what libraries need in turn), and it knows the interpreter of
//! a shared library, which names none itself. It starts the program's interpreter, so
//! it is for programs that one would run.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::GuestError;

/// Where the loader keeps what it knows of directories beyond its own two.
pub const LOADER_CACHE: &str = "/etc/ld.so.cache";

/// The interpreter and all shared libraries of `program`, absolute paths of this
/// machine, at which the guest needs them too.
pub fn of(program: &Path) -> Result<Vec<PathBuf>, GuestError> {
    // What ldd says of a missing file depends on its version.
    let path = program.canonicalize().map_err(|source| GuestError::Host {
        what: format!("read {}", program.display()),
        source,
    })?;
    let output = Command::new("ldd")
        .arg(&path)
        // Its messages are read below.
        .env("LC_ALL", "C")
        // Those of the program that asks, such as cargo's, are not the guest's.
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("LD_PRELOAD")
        .output()
        .map_err(|source| GuestError::Host {
            what: match source.kind() {
                io::ErrorKind::NotFound => "start ldd (a part of glibc, package libc-bin)".into(),
                _ => "start ldd".into(),
            },
            source,
        })?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    parse(&stdout).map_err(|problem| {
        let message = String::from_utf8_lossy(&output.stderr);
        let message = match (problem, message.trim()) {
            (problem, "") => problem,
            (problem, said) => format!("{problem}; ldd: {}", said.replace('\n', "; ")),
        };
        GuestError::Description {
            problem: format!("{}: {message}", program.display()),
        }
    })
}

/// Reads ldd's lines: `NAME => PATH (ADDRESS)`, `PATH (ADDRESS)` of the interpreter,
/// and the kernel's own page, which has no path.
fn parse(listing: &str) -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for line in listing.lines() {
        let (name, found) = line.split_once(" => ").unwrap_or((line, line));
        let found = found.rsplit_once(" (0x").map_or(found, |(path, _)| path);
        if found.trim() == "not found" {
            return Err(format!("it needs {}, which is not here", name.trim()));
        }
        if found.trim().starts_with('/') {
            paths.push(PathBuf::from(found.trim()));
        }
    }
    if paths.is_empty() {
        return Err("no dynamic program or library: add a static one with file()".into());
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreter_and_libraries_are_read_from_the_listing() {
        let listing = "\tlinux-vdso.so.1 (0x00007f25)\n\
            \tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f24)\n\
            \tlibodd.so => /opt/a dir/libodd.so (0x00007f23)\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f22)\n";
        let expected = [
            "/lib/x86_64-linux-gnu/libm.so.6",
            "/opt/a dir/libodd.so",
            "/lib64/ld-linux-x86-64.so.2",
        ];
        assert_eq!(parse(listing), Ok(expected.map(PathBuf::from).to_vec()));
        // As musl's loader writes it: one file is interpreter and library.
        let listing = "\t/lib/ld-musl-x86_64.so.1 (0x7f1)\n\
            \tlibc.musl-x86_64.so.1 => /lib/ld-musl-x86_64.so.1 (0x7f1)\n";
        assert_eq!(
            parse(listing).unwrap().first(),
            Some(&PathBuf::from("/lib/ld-musl-x86_64.so.1"))
        );
    }

    #[test]
    fn what_is_missing_or_static_is_said() {
        let missing = parse("\tliba.so.1 => /lib/liba.so.1 (0x1)\n\tlibgone.so.3 => not found\n");
        assert!(missing.unwrap_err().contains("libgone.so.3"));
        for listing in ["", "\tstatically linked\n", "\tnot a dynamic executable\n"] {
            assert!(parse(listing).unwrap_err().contains("static"), "{listing}");
        }
    }

    #[test]
    fn the_running_test_names_its_own_libraries() {
        let own = std::env::current_exe().unwrap();
        let found = of(&own).unwrap();
        // The kernel's list of what is mapped here is the independent witness.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mapped = |path: &PathBuf| {
            let path = path.canonicalize().unwrap();
            maps.lines()
                .any(|line| line.ends_with(path.to_str().unwrap()))
        };
        assert!(found.len() >= 2, "{found:?}");
        assert!(found.iter().all(mapped), "{found:?}\n{maps}");
        let text = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let error = of(Path::new(text)).unwrap_err().to_string();
        assert!(error.contains("Cargo.toml: no dynamic program"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        let error = of(Path::new("/no/such/file")).unwrap_err().to_string();
        assert!(error.contains("read /no/such/file"), "{error}");
    }
}
