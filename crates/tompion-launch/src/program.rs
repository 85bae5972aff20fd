//! What a command comes to: the ELF file that runs in the end.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::bounded::{self, Allowance};
use crate::elf::{self, Image, NATIVE_NAME, NotAnImage};
use crate::error::{Error, Unreachable};
use crate::{env_line, search, secure};

/// The kernel reads so much of a script's first line.
const LINE_BYTES: u64 = 256;

/// Scripts run by scripts, at most; the kernel itself stops at 5.
const MOST_SCRIPTS: usize = 10;

/// A file on the way from the command to the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The script.
    pub script: PathBuf,
    /// Its first line without `#!`, or what stands for it.
    pub line: String,
}

/// A program that a preload library reaches.
#[derive(Clone, Debug)]
pub struct Program {
    command: PathBuf,
    steps: Vec<Step>,
    file: PathBuf,
    pub(crate) image: Image,
    /// What may still be read of it and of its libraries.
    pub(crate) left: Allowance,
}

impl Program {
    /// Finds the command `name` as `execvp` does, follows scripts to their
    /// interpreters and looks at the ELF file at the end.
    ///
    /// # Errors
    /// Where the command cannot be run, or a preload library cannot reach it.
    pub fn find(name: &OsStr) -> Result<Self, Error> {
        Self::find_in(name, std::env::var_os("PATH").as_deref())
    }

    fn find_in(name: &OsStr, path: Option<&OsStr>) -> Result<Self, Error> {
        let command = search::find(name, path)?;
        let mut path = path.map(OsStr::to_owned);
        let mut steps: Vec<Step> = Vec::new();
        let mut file = command.clone();
        let left = Allowance::new();
        loop {
            let unreachable = |why| Error::Unreachable {
                program: command.clone(),
                via: (file != command).then(|| file.clone()),
                why,
            };
            match elf::read(&file, &left) {
                Ok(image) => {
                    reachable(&file, &image).map_err(unreachable)?;
                    return Ok(Self {
                        command,
                        steps,
                        file,
                        image,
                        left,
                    });
                }
                Err(NotAnImage::Foreign(built_for)) => {
                    return Err(unreachable(Unreachable::Architecture {
                        built_for,
                        native: NATIVE_NAME,
                    }));
                }
                Err(NotAnImage::Unreadable(source)) => {
                    return Err(Error::Unreadable { file, source });
                }
                Err(NotAnImage::Broken) => return Err(unreachable(Unreachable::NotAProgram)),
                Err(NotAnImage::NotElf) => {}
            }
            if steps.len() == MOST_SCRIPTS {
                return Err(Error::BadScript {
                    script: command,
                    what: "leads from script to script without end".to_owned(),
                });
            }
            let line = first_line(&file)?.ok_or_else(|| unreachable(Unreachable::NotAProgram))?;
            let next = interpreter(&file, &line, &mut path)?;
            steps.push(Step {
                script: std::mem::replace(&mut file, next),
                line: line.shown(),
            });
        }
    }

    /// The command's own file, as it was found in `PATH`.
    pub fn command(&self) -> &Path {
        &self.command
    }

    /// The scripts that lead from the command to the program, none for most.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The ELF file that runs.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Sanitizers' runtime libraries that the program needs and that must come
    /// before all other libraries. A name with a separator of `LD_PRELOAD` would be
    /// taken there for several.
    pub fn sanitizers(&self) -> impl Iterator<Item = &OsString> {
        let can_be_named = |n: &&OsString| !n.as_bytes().iter().any(|b| b" :".contains(b));
        let needed = self.image.needed.iter();
        needed.filter(|n| is_sanitizer(n)).filter(can_be_named)
    }
}

/// Whether `library`, a file name or path, is a runtime that checks or relies on
/// being the first library.
pub(crate) fn is_sanitizer(library: &OsStr) -> bool {
    let name = Path::new(library).file_name().unwrap_or_default();
    ["asan", "tsan", "hwasan", "lsan"].iter().any(|kind| {
        [format!("lib{kind}.so"), format!("libclang_rt.{kind}")]
            .iter()
            .any(|start| name.as_bytes().starts_with(start.as_bytes()))
    })
}

/// Whether the loader will load a preload library into `image`.
fn reachable(file: &Path, image: &Image) -> Result<(), Unreachable> {
    let is_glibc_loader = |name: &OsStr| {
        let name = name.as_bytes();
        name.starts_with(b"ld-linux") || name.starts_with(b"ld64.so") || name == b"ld.so.1"
    };
    if image.go {
        return Err(Unreachable::Go);
    }
    match &image.interpreter {
        None if image.soname.as_deref().is_some_and(is_glibc_loader) => {
            return Err(Unreachable::Loader);
        }
        None => return Err(Unreachable::Static),
        Some(loader) if !loader.file_name().is_some_and(is_glibc_loader) => {
            return Err(Unreachable::OtherLoader(loader.clone()));
        }
        Some(_) => {}
    }
    secure::other_rights(file).map_or(Ok(()), |what| Err(Unreachable::Secure(what)))
}

/// How a script begins.
enum Line {
    /// `#!`, an interpreter, and what follows it as one argument.
    Interpreter(Vec<u8>, Option<Vec<u8>>),
    /// Nothing of this kind: `execvp` gives such a file to the shell.
    Shell,
}

impl Line {
    fn shown(&self) -> String {
        match self {
            Self::Shell => "none, hence /bin/sh".to_owned(),
            Self::Interpreter(name, None) => String::from_utf8_lossy(name).into_owned(),
            Self::Interpreter(name, Some(argument)) => format!(
                "{} {}",
                String::from_utf8_lossy(name),
                String::from_utf8_lossy(argument)
            ),
        }
    }
}

/// Reads how `file` begins; `None` if it is no text.
fn first_line(file: &Path) -> Result<Option<Line>, Error> {
    let mut start = Vec::new();
    bounded::open(file)
        .and_then(|f| f.take(LINE_BYTES).read_to_end(&mut start))
        .map_err(|source| Error::Unreadable {
            file: file.to_owned(),
            source,
        })?;
    let line = start.split(|b| *b == b'\n').next().unwrap_or_default();
    let Some(line) = line.strip_prefix(b"#!") else {
        return Ok((!start.contains(&0)).then_some(Line::Shell));
    };
    let bad = |what: &str| Error::BadScript {
        script: file.to_owned(),
        what: what.to_owned(),
    };
    if start.len() as u64 == LINE_BYTES && !start.contains(&b'\n') {
        return Err(bad("is longer than the kernel reads"));
    }
    let mut parts = trimmed(line).splitn(2, blank);
    let name = parts.next().unwrap_or_default().to_vec();
    let argument = parts.next().map(|a| trimmed(a).to_vec());
    if name.is_empty() {
        return Err(bad("names no interpreter"));
    }
    if line.ends_with(b"\r") {
        return Err(bad(
            "ends in a carriage return, which the kernel takes as part of it",
        ));
    }
    Ok(Some(Line::Interpreter(name, argument)))
}

/// What the kernel takes as space in that line.
fn blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn trimmed(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|b| !blank(b)).unwrap_or(text.len());
    let end = text
        .iter()
        .rposition(|b| !blank(b))
        .map_or(start, |e| e + 1);
    &text[start..end]
}

/// The file that runs the script.
fn interpreter(script: &Path, line: &Line, path: &mut Option<OsString>) -> Result<PathBuf, Error> {
    let inner = |cause| Error::Interpreter {
        script: script.to_owned(),
        cause: Box::new(cause),
    };
    let (name, argument) = match line {
        Line::Shell => return Ok(PathBuf::from("/bin/sh")),
        Line::Interpreter(name, argument) => (Path::new(OsStr::from_bytes(name)), argument),
    };
    // The kernel does not search; a bare name is one in this directory.
    let here = if name.components().count() > 1 {
        name.to_owned()
    } else {
        Path::new(".").join(name)
    };
    let named = search::find(here.as_os_str(), None).map_err(inner)?;
    if name.file_name() != Some(OsStr::new("env")) {
        return Ok(named);
    }
    // What env is told to run replaces it.
    let told = env_line::parse(argument.as_deref()).map_err(|what| Error::BadScript {
        script: script.to_owned(),
        what,
    })?;
    if told.path.is_some() {
        *path = told.path;
    }
    search::find(&told.program, path.as_deref()).map_err(inner)
}
