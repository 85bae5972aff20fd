//! `tompion preload`: a program, unmodified, with Tompion's clock and sleeps.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use anyhow::bail;
use tompion_launch::{
    Comparison, Error, LIBRARIES_VARIABLE, Launch, Library, Program, REPLACED, SETTINGS_VARIABLE,
    Settings, compare_counters, imports,
};
use tompion_model::{printable, shortened};
use tompion_time::Policy;

use crate::cli::{PreloadOptions, PreloadPolicy};
use crate::exit;

/// What `--explain` shows the library's own lines with, where no command is given.
const SHOWN_WITH: &str = "true";

/// Carries out the command: it becomes the program, or tells why not.
pub fn preload(options: &PreloadOptions) -> exit::Result {
    let mut settings = settings(options)?;
    let library = match &options.file {
        Some(file) => Library::at(file)?,
        None => Library::installed().map_err(|e| match e {
            Error::NoLibrary(_) => anyhow::anyhow!("{e}, --library FILE names it elsewhere"),
            other => other.into(),
        })?,
    };
    let shown = [OsString::from(SHOWN_WITH)];
    let command = match options.command.as_slice() {
        [] => &shown,
        given => given,
    };
    let program = Program::find(&command[0])?;
    if settings.clock == Policy::Tsc {
        match compare_counters() {
            Comparison::Agree(boot) => settings.agreed = Some(boot),
            Comparison::Unproven(why) => exit::complain(&format!(
                "--policy tsc: the CPU counter is used only where the kernel keeps time by it: {why}"
            )),
            Comparison::Unusable(why) => {
                exit::complain(&format!("--policy tsc can have no effect: {why}"));
            }
        }
    }
    let launch = Launch {
        program: &program,
        command,
        preload: &library,
        settings: &settings,
    };
    if options.explain {
        let text = explanation(&launch, options.command.is_empty());
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
    Err(launch.exec().into())
}

/// What the options ask of the library.
fn settings(options: &PreloadOptions) -> anyhow::Result<Settings> {
    let mut clock = None;
    let mut hybrid_sleeps = false;
    for policy in &options.policy {
        match policy {
            PreloadPolicy::Hybrid => hybrid_sleeps = true,
            PreloadPolicy::Clock(wanted) => {
                if let Some(other) = clock.replace(*wanted) {
                    bail!(
                        "--policy {other},{wanted}: two policies for clocks; give one of auto, \
                         tsc, kernel"
                    );
                }
            }
        }
    }
    if options.budget.is_some() && !hybrid_sleeps {
        bail!("--budget bounds the spinning of hybrid sleeps; give --policy hybrid too");
    }
    if options.always && clock == Some(Policy::Kernel) {
        bail!("--always reads the counter, --policy kernel never does; leave one of them out");
    }
    Ok(Settings {
        clock: clock.unwrap_or_default(),
        hybrid_sleeps,
        budget: options.budget,
        agreed: None,
        always: options.always,
        explain: options.explain,
    })
}

const NOT_REPLACED: &str = "\
not replaced
  other clocks than CLOCK_REALTIME and CLOCK_MONOTONIC (CPU time, boot time, coarse, raw)
  timeouts of select, poll, epoll; timed waits for locks, conditions, semaphores, threads
  timers: timerfd, timer_create, setitimer, alarm
  calls within the C library itself, and system calls made without it

Processes that the program starts inherit both variables. Not reached among them: static and Go
programs, those of another C library or architecture, and set-user-ID programs.
";

/// What is about to happen, for people.
fn explanation(launch: &Launch<'_>, in_general: bool) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<10}{}", printable(value));
    };
    if in_general {
        row(
            "",
            "No command given: this shows what is done for every program, on `true`.",
        );
    }
    row("program", &launch.program.file().display().to_string());
    for step in launch.program.steps() {
        let script = step.script.display();
        row("", &format!("runs {script} (#! {})", step.line));
    }
    row("library", &launch.preload.file().display().to_string());
    let variable = |name: &str, value: &str| format!("{name}={value}");
    row(
        "variables",
        &variable(LIBRARIES_VARIABLE, &launch.libraries().to_string_lossy()),
    );
    row(
        "",
        &variable(SETTINGS_VARIABLE, &launch.settings.variable()),
    );
    text.push('\n');
    text += &replaced(launch, in_general);
    text.push('\n');
    text += NOT_REPLACED;
    text
}

/// The table of functions: what each becomes and who calls it.
fn replaced(launch: &Launch<'_>, in_general: bool) -> String {
    let clock = match launch.settings.clock {
        Policy::Kernel => "the kernel's clock",
        Policy::Auto | Policy::Tsc if launch.settings.always => "the CPU counter, where sound",
        Policy::Auto | Policy::Tsc => "the CPU counter, where sound and faster",
    };
    let time = "the kernel, from memory if it can";
    let sleep = if launch.settings.hybrid_sleeps {
        "wake early, then spin"
    } else {
        "the C library's own"
    };
    let found = imports(launch.program);
    let mut text = format!("{:<18}{:<41}", "call", "served by");
    text += if in_general { "\n" } else { "imported by\n" };
    for function in REPLACED {
        let by = match function.sleeps {
            true => sleep,
            // Of no clock but the one in memory: the counter is hardly ever faster.
            false if function.name == "time" && !launch.settings.always => time,
            false => clock,
        };
        let mut names = found
            .importers(function.name)
            .map(Path::as_os_str)
            .peekable();
        let importers = match (in_general, names.peek()) {
            (true, _) => String::new(),
            (false, None) => "-".to_owned(),
            (false, Some(_)) => file_names(names),
        };
        let line = format!("{:<18}{by:<41}{importers}", function.name);
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if in_general {
        return text;
    }
    if found.unknown.is_empty() && found.loaded.iter().all(|i| i.functions.is_empty()) {
        text += "Nothing that is loaded at start imports any of them: as yet there is no effect.\n";
    }
    text += "What is loaded later (modules, plug-ins) is reached too, but not listed here.\n";
    if !found.unknown.is_empty() {
        let names = file_names(found.unknown.iter().map(|u| u.as_os_str()));
        let _ = writeln!(text, "Not found or not readable: {names}");
    }
    if found.is_cut {
        text += "It needs more libraries, or larger ones, than are looked at.\n";
    }
    text
}

/// The most names in a list.
const MOST_NAMES: usize = 50;

/// Names without their directories, which may come from strangers.
fn file_names<'a>(files: impl Iterator<Item = &'a OsStr>) -> String {
    let mut files = files.map(|file| {
        let name = Path::new(file).file_name().unwrap_or(file);
        shortened(&name.to_string_lossy())
    });
    let shown: Vec<String> = files.by_ref().take(MOST_NAMES).collect();
    let more = match files.count() {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    shown.join(", ") + &more
}
