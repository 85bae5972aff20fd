//! What can go wrong, each in one line.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No directory of `PATH` holds the program.
    #[error("{}: not found in PATH", .0.display())]
    NotInPath(OsString),
    /// No such file.
    #[error("{}: no such file", .0.display())]
    NoSuchFile(PathBuf),
    /// The file may not be executed.
    #[error("{}: not executable by this user (no execute permission, or on a noexec file system)", .0.display())]
    NotExecutable(PathBuf),
    /// A device, a pipe or a socket.
    #[error("{}: not a regular file, hence no program", .0.display())]
    NotAFile(PathBuf),
    /// A directory.
    #[error("{}: is a directory, not a program", .0.display())]
    Directory(PathBuf),
    /// The file may be executed, perhaps, but cannot be looked at.
    #[error("{}: cannot be read, so it is unknown whether a preload library reaches it", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something about the interpreter that a script names in its first line.
    #[error("{}: its #! line {what}", script.display())]
    BadScript {
        /// The script.
        script: PathBuf,
        /// What is wrong with the line.
        what: String,
    },
    /// The interpreter of a script cannot be found or run.
    #[error("{}: its interpreter: {cause}", script.display())]
    Interpreter {
        /// The script.
        script: PathBuf,
        /// What is wrong with the interpreter.
        #[source]
        cause: Box<Error>,
    },
    /// A preload library can do nothing for the program.
    #[error("{}{}: {why}", program.display(), through(.via))]
    Unreachable {
        /// The command's file.
        program: PathBuf,
        /// What it is run by in the end, where that is another file.
        via: Option<PathBuf>,
        /// Why.
        why: Unreachable,
    },
    /// The library was given and is not usable.
    #[error("{}: {what}", file.display())]
    BadLibrary {
        /// The library's file.
        file: PathBuf,
        /// What is wrong with it, and what would be right.
        what: String,
    },
    /// The library was not given and not found.
    #[error("libtompion_preload.so is not installed: looked in {}; `make build` or `make install` puts it there", list(.0))]
    NoLibrary(Vec<PathBuf>),
    /// The kernel refused to run the program after all.
    #[error("{}: cannot be run", program.display())]
    Exec {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Why a preload library cannot reach a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// No dynamic loader runs.
    #[error(
        "statically linked: it asks the kernel itself, a preload library cannot reach it; \
         use the Rust or C library"
    )]
    Static,
    /// Go's runtime reads clocks by its own calls.
    #[error(
        "a Go program: it reads clocks and sleeps by its own calls, a preload library cannot \
         reach it; use the C library"
    )]
    Go,
    /// Built for another architecture.
    #[error("built for {built_for}, the preload library for {native}")]
    Architecture {
        /// What it was built for.
        built_for: String,
        /// What we were built for.
        native: &'static str,
    },
    /// Loaded by another C library's loader.
    #[error(
        "loaded by {}, not by glibc's loader: it uses another C library than the preload \
         library is made for",
        .0.display()
    )]
    OtherLoader(PathBuf),
    /// The loader itself, which runs a program that it is given.
    #[error("the dynamic loader itself: give the program that it is to run, without the loader")]
    Loader,
    /// Runs in secure execution: the loader ignores `LD_PRELOAD`.
    #[error(
        "{0}: it runs with other rights than its caller's, and the loader then ignores preload \
         libraries"
    )]
    Secure(&'static str),
    /// Neither ELF nor script.
    #[error("neither an ELF program nor a script")]
    NotAProgram,
}

fn through(via: &Option<PathBuf>) -> String {
    via.as_ref()
        .map_or_else(String::new, |via| format!(" (run by {})", via.display()))
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
    shown.join(", ")
}
