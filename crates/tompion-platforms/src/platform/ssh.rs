//! Another machine, reached by the user's own `ssh`: a guest on any hypervisor, a cloud
//! instance. Configuration, keys, jumps and the checking of host keys are the user's.
//!
//! The program is copied once a lab, into a directory of the lab's own, and compared by
//! checksum before every cell. There a guard ([`crate::remote_guard`]) ends the cell with the
//! connection, or at its limit where nobody learns that the connection has gone.

mod connection;
mod settings;

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tompion_model::Unavailable;

use serde_json::json;

use super::{Output, Platform, PlatformKind, Presence, Setup, Task, TaskError, static_for};
use crate::leftovers::{Made, Workspace};
use crate::process::{Ended, Input};
use crate::remote_guard::GUARD_ARG;

use self::connection::Connection;
use self::settings::SshSettings;

/// Looking for a machine, and cleaning up on it.
const SHORT: Duration = Duration::from_secs(90);
/// Copying the program.
const COPY: Duration = Duration::from_secs(300);

// What the other machine's shell is told goes through the login shell, of which nothing
// is known: one line, no single quotes, backslashes or exclamation marks.

/// What it is, and whether programs may be run from the directory `$1`: an empty one is
/// one.
const LOOK: &str = r#"echo "tompion-lab $(uname -s) $(uname -m) $(uname -r)"; command -v sha256sum >/dev/null || exit 91; d="$1/tompion-lab-look-$$"; umask 077; mkdir "$d" 2>/dev/null || exit 92; f="$d/look"; : >"$f" || exit 92; chmod 700 "$f"; "$f" 2>/dev/null; r=$?; rm -f "$f"; rmdir "$d"; [ "$r" = 0 ] || exit 93"#;
const NO_SHA256SUM: i32 = 91;
const NOT_WRITABLE: i32 = 92;
const NOT_EXECUTABLE: i32 = 93;

// The lab's directory may be one that somebody else made under its name, or a link: it is gone into once, and what is there
// is called by no longer name. Nobody else may write in what is ours and has no rights for others.

/// Takes the program in, for the lab's directory `$1`, which is nobody else's.
const PUT: &str = r#"umask 077; mkdir "$1" 2>/dev/null; cd -P "$1" 2>/dev/null && [ -O . ] || exit 94; case "$(pwd -P)" in */"${1##*/}") ;; *) exit 94;; esac; case "$(ls -ld .)" in drwx------*) ;; *) exit 94;; esac; cat >tompion && chmod 700 tompion"#;
const NOT_OURS: i32 = 94;

/// Runs the program of the lab's directory `$1` with the checksum `$2` for `$3` seconds at
/// most.
const RUN: &str = r#"d="$1" s="$2" l="$3"; shift 3; cd -P "$d" 2>/dev/null || exit 90; [ -O . ] || exit 94; case "$(pwd -P)" in */"${d##*/}") ;; *) exit 94;; esac; case "$(ls -ld .)" in drwx------*) ;; *) exit 94;; esac; [ -r tompion ] && [ "$(sha256sum <tompion)" = "$s" ] || exit 90; t="$1"; shift; exec ./tompion "$t" "$l" "$d/cell" "$@""#;
const NO_PROGRAM: i32 = 90;
/// As shells tell it.
const CANNOT_EXECUTE: i32 = 126;

/// Ends what runs from the lab's directory `$1`, if it is ours, and removes `$2`.
const REMOVE: &str = r#"[ -h "$1" ] && exit 0; [ -e "$1" ] || exit 0; [ -O "$1" ] || exit 0; for e in /proc/[0-9]*/exe; do case "$(readlink "$e" 2>/dev/null)" in "$1/tompion"|"$1/tompion (deleted)") p="${e#/proc/}"; kill -9 "${p%/exe}" 2>/dev/null;; esac; done; rm -rf "$2" 2>/dev/null || { sleep 1; rm -rf "$2"; }"#;

pub(super) static ENTRY: PlatformKind = PlatformKind {
    name: "ssh",
    about: "any machine that you can reach by SSH: guests of other hypervisors, cloud instances",
    read: |table| {
        let (usual, settings) = SshSettings::read(table)?;
        Some((Some(usual), Arc::new(settings)))
    },
    usual: &[],
};

impl Setup for SshSettings {
    fn as_json(&self) -> serde_json::Value {
        json!(self)
    }

    fn settings(&self) -> Vec<String> {
        self.in_words()
    }

    fn machine(&self) -> Option<&str> {
        Some(&self.machine)
    }

    fn start(&self) -> Duration {
        Duration::from_millis(700)
    }

    fn platform(&self, name: &str) -> Box<dyn Platform> {
        Box::new(Ssh::new(name, self))
    }
}

struct Ssh {
    settings: SshSettings,
    /// Tells its directory there from those of other platforms, which may be measured at
    /// the same time, on the same machine under another name.
    tag: u32,
    connection: OnceLock<Result<Connection, Unavailable>>,
    /// Of the program, as `sha256sum` prints it.
    checksum: OnceLock<Result<String, Unavailable>>,
    /// Whether the journal knows of the lab's directory there.
    is_noted: AtomicBool,
    /// Whether a cell may still be at work there.
    is_busy: AtomicBool,
}

impl Ssh {
    fn new(name: &str, settings: &SshSettings) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        Self {
            settings: settings.clone(),
            tag: hasher.finish() as u32,
            connection: OnceLock::new(),
            checksum: OnceLock::new(),
            is_noted: AtomicBool::new(false),
            is_busy: AtomicBool::new(false),
        }
    }

    fn connection(&self) -> Result<&Connection, Unavailable> {
        let connection = self
            .connection
            .get_or_init(|| Connection::of(&self.settings));
        connection.as_ref().map_err(|why| why.to_string().into())
    }

    /// The lab's directory there.
    fn directory(&self, workspace: &Workspace) -> String {
        let name = format!("{}-{:08x}", workspace.name_elsewhere(), self.tag);
        self.settings.directory.join(name).display().to_string()
    }

    fn look(&self, program: &Path) -> Result<Vec<String>, Unavailable> {
        let built_for = static_for(program)?;
        let connection = self.connection()?;
        let place = self.settings.directory.display().to_string();
        let command = connection.command(LOOK, &[&place]);
        let never = AtomicBool::new(false);
        let ended = connection
            .run(command, Input::Held, SHORT, &never)
            .map_err(|e| match e {
                TaskError::Failed(why) | TaskError::Late(why) => why,
                TaskError::Stopped => "stopped".to_owned(),
            })?;
        let other = "name another place by directory = \"...\"";
        match ended.status.code() {
            Some(0) => {}
            Some(NO_SHA256SUM) => return Err("it has no program sha256sum".into()),
            Some(NOT_WRITABLE) => {
                return Err(format!("{place} is no place to write; {other}").into());
            }
            Some(NOT_EXECUTABLE) => return Err(self.no_execution().into()),
            _ => return Err(connection.last_words(&ended).into()),
        }
        let told = String::from_utf8_lossy(&ended.stdout);
        let line = told.lines().next().unwrap_or_default();
        let Some((system, rest)) = line
            .strip_prefix("tompion-lab ")
            .and_then(|rest| rest.split_once(' '))
        else {
            return Err(format!(
                "its login shell says `{}` by itself, which would be mixed with results: `ssh {} \
                 true` must print nothing",
                line.chars().take(40).collect::<String>(),
                self.settings.host
            )
            .into());
        };
        let (machine, release) = rest.split_once(' ').unwrap_or((rest, ""));
        if system != "Linux" {
            return Err(format!("it runs {system}, and tompion runs on Linux").into());
        }
        let wanted = match built_for {
            object::Architecture::Aarch64 => "aarch64",
            _ => "x86_64",
        };
        if machine != wanted {
            return Err(format!(
                "its architecture is {machine}, and {} is built for {wanted}; name another \
                 program: --program FILE",
                program.display()
            )
            .into());
        }
        Ok(vec![format!("Linux {release} {machine}")])
    }

    fn no_execution(&self) -> String {
        let place = self.settings.directory.display();
        format!(
            "programs cannot be run from {place} there (mounted noexec?); name another place by \
             directory = \"...\""
        )
    }

    fn checksum(&self, program: &Path) -> Result<&str, Unavailable> {
        let sum = || {
            let file = File::open(program).map_err(|e| format!("{}: {e}", program.display()))?;
            let done = tompion_child::output(Command::new("sha256sum").stdin(file));
            let done = done.map_err(Unavailable::refused("sha256sum"))?;
            let told = String::from_utf8_lossy(&done.stdout).trim_end().to_owned();
            match done.status.success() {
                true => Ok(told),
                false => Err(format!("sha256sum fails ({})", done.status).into()),
            }
        };
        let sum = self.checksum.get_or_init(sum);
        sum.as_deref().map_err(|why| why.to_string().into())
    }

    /// Copies the program there.
    fn put(&self, task: &Task<'_>, directory: &str) -> Result<(), TaskError> {
        let connection = self.connection()?;
        let file = File::open(task.program)
            .map_err(|e| TaskError::Failed(format!("{}: {e}", task.program.display())))?;
        let command = connection.command(PUT, &[directory]);
        let ended = connection.run(command, Input::File(file), COPY, task.stop)?;
        match ended.status.code() {
            Some(0) => Ok(()),
            Some(NOT_OURS) => Err(not_ours(directory)),
            _ => {
                let why = connection.last_words(&ended);
                Err(TaskError::Failed(format!("copying the program: {why}")))
            }
        }
    }

    /// Runs the cell, with the program that is there.
    fn measure(&self, task: &Task<'_>, directory: &str) -> Result<Ended, TaskError> {
        let connection = self.connection()?;
        let sum = self.checksum(task.program)?;
        let limit = task.limit.as_secs_f64().ceil().to_string();
        let mut arguments = vec![directory, sum, &limit, GUARD_ARG];
        arguments.extend(task.arguments.iter().map(String::as_str));
        let command = connection.command(RUN, &arguments);
        connection.run(command, Input::Held, task.bounds(), task.stop)
    }

    /// Ends a cell that may still be at work there.
    fn end(&self, directory: &str) -> Result<(), TaskError> {
        let connection = self.connection()?;
        let cell = format!("{directory}/cell");
        let command = connection.command(REMOVE, &[directory, &cell]);
        let never = AtomicBool::new(false);
        let ended = connection.run(command, Input::Held, SHORT, &never)?;
        if !ended.status.success() {
            let why = connection.last_words(&ended);
            return Err(TaskError::Failed(format!("cleaning up there: {why}")));
        }
        self.is_busy.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn attempt(&self, task: &Task<'_>, directory: &str) -> Result<Output, TaskError> {
        self.is_busy.store(true, Ordering::Relaxed);
        let mut ended = self.measure(task, directory)?;
        if ended.status.code() == Some(NO_PROGRAM) {
            self.put(task, directory)?;
            ended = self.measure(task, directory)?;
        }
        match ended.status.code() {
            Some(NOT_OURS) => return Err(not_ours(directory)),
            Some(NO_PROGRAM) => {
                let why = "the program that arrived there differs from the one that was sent";
                return Err(TaskError::Failed(why.to_owned()));
            }
            Some(CANNOT_EXECUTE) => return Err(TaskError::Failed(self.no_execution())),
            _ => {}
        }
        // Its guard has ended, and everything with it.
        self.is_busy.store(false, Ordering::Relaxed);
        Ok(Output {
            success: ended.status.success(),
            status: ended.status.to_string(),
            stdout: ended.stdout,
            stderr: ended.stderr,
        })
    }
}

fn not_ours(directory: &str) -> TaskError {
    TaskError::Failed(format!(
        "{directory} cannot be made there, or is not ours alone"
    ))
}

impl Platform for Ssh {
    fn presence(&self, program: &Path) -> Presence {
        match self.look(program) {
            Ok(versions) => Presence::Present(versions),
            Err(why) => Presence::Absent(why.to_string()),
        }
    }

    fn scratch(&self, workspace: &Workspace) -> PathBuf {
        Path::new(&self.directory(workspace)).join("cell")
    }

    fn run(&self, task: &Task<'_>) -> Result<Output, TaskError> {
        let directory = self.directory(task.workspace);
        if !self.is_noted.load(Ordering::Relaxed) {
            let connection = self.connection()?;
            task.workspace.note(&Made::Elsewhere {
                what: format!("directory {directory} on {}", self.settings.host),
                remove: connection.words(REMOVE, &[&directory, &directory]),
            })?;
            self.is_noted.store(true, Ordering::Relaxed);
        }
        if self.is_busy.load(Ordering::Relaxed) {
            self.end(&directory)?;
        }
        let result = self.attempt(task, &directory);
        if let Err(TaskError::Failed(_) | TaskError::Late(_)) = &result
            && self.is_busy.load(Ordering::Relaxed)
        {
            // The next cell must not be measured beside this one. Where the machine
            // cannot be reached, it or the lab's end tries again.
            let _ = self.end(&directory);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// What a shell there makes of a script.
    fn status(script: &str, arguments: &[&str]) -> Option<i32> {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, "sh"]).args(arguments);
        shell.stdin(std::process::Stdio::null());
        tompion_child::output(&mut shell).unwrap().status.code()
    }

    fn run(directory: &Path, sum: &str) -> Option<i32> {
        let directory = directory.to_str().unwrap();
        status(RUN, &[directory, sum, "1", "guard", "argument"])
    }

    #[test]
    fn nothing_is_run_from_a_directory_that_is_not_ours_alone() {
        let place = tempfile::tempdir().unwrap();
        let ours = place.path().join("tompion-lab-1");
        assert_eq!(run(&ours, "x"), Some(NO_PROGRAM));
        assert_eq!(status(PUT, &[ours.to_str().unwrap()]), Some(0));
        fs::write(
            ours.join("tompion"),
            "#!/bin/sh\n[ \"$1 $2\" = \"guard 1\" ] && exit 7\n",
        )
        .unwrap();
        let mut ask = Command::new("sha256sum");
        ask.stdin(File::open(ours.join("tompion")).unwrap());
        let sum = tompion_child::output(&mut ask).unwrap().stdout;
        let sum = String::from_utf8(sum).unwrap().trim_end().to_owned();
        assert_eq!(run(&ours, &sum), Some(7));
        assert_eq!(run(&ours, "another"), Some(NO_PROGRAM));
        // Others may write there; it is a link to what is ours, by this name or by another.
        fs::set_permissions(&ours, Permissions::from_mode(0o777)).unwrap();
        assert_eq!(run(&ours, &sum), Some(NOT_OURS));
        assert_eq!(status(PUT, &[ours.to_str().unwrap()]), Some(NOT_OURS));
        fs::set_permissions(&ours, Permissions::from_mode(0o700)).unwrap();
        let link = place.path().join("tompion-lab-2");
        symlink(&ours, &link).unwrap();
        assert_eq!(run(&link, &sum), Some(NOT_OURS));
        assert_eq!(status(PUT, &[link.to_str().unwrap()]), Some(NOT_OURS));
        // Nor is anything removed through it.
        let behind = link.join("tompion");
        assert_eq!(
            status(REMOVE, &[link.to_str().unwrap(), behind.to_str().unwrap()]),
            Some(0)
        );
        assert!(ours.join("tompion").exists());
        let name = ours.to_str().unwrap();
        assert_eq!(status(REMOVE, &[name, name]), Some(0));
        assert!(!ours.exists());
    }
}
