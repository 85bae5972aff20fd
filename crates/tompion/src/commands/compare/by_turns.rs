//! `tompion compare --switch`: two commands run by turns before halves of blocks of one run.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tompion_model::{Status, factor, format_duration};
use tompion_run::{Guides, Switch};
use tompion_store::Run;
use tompion_time::os;

use crate::cli::{self, CompareOptions, Measurement};
use crate::commands::report::{self, Judged, Page, Shape};
use crate::commands::{measure, session};
use crate::exit;
use crate::output::{OutputOptions, place, print};

/// What the levels are called, in reports and gates.
const LEVELS: [&str; 2] = ["a", "b"];

/// Measures by turns, then has the levels of the run compared by `compare`.
pub fn compare_by_turns(
    options: &CompareOptions,
    [a, b]: [&String; 2],
    compare: impl FnOnce(&CompareOptions) -> exit::Result,
) -> exit::Result {
    let what = measurement(options)?;
    let plan = measure::plan(&what)?.by_turns(LEVELS)?;
    let mut commands = Commands {
        levels: [a.clone(), b.clone()],
        back: options.switch_back.clone(),
        limit: options.switch_timeout,
        last: None,
        left: String::new(),
        failed: false,
    };
    let stop = crate::stop::in_order()?;
    let guides = Guides {
        switch: Some(&mut commands),
        attention: None,
    };
    let (directory, result) = session::carried_out(
        &plan,
        &what.run,
        &stop,
        guides,
        session::header(plan.design()),
    )?;
    let Some(directory) = directory else {
        return match result {
            Err(error) => Err(anyhow::anyhow!("{error}. {}", commands.left)),
            Ok(_) => Ok(exit::INTERRUPTED),
        };
    };
    let place = place(directory.path());
    let run = Run::open_in(&directory);
    if let Ok(run) = &run {
        // Its levels side by side are what is asked for, not the summary of the one run.
        let page_alone = OutputOptions {
            json: false,
            quiet: true,
        };
        report::make(
            run,
            &Page::InRun,
            page_alone,
            Judged::default(),
            Shape::Whole,
        )?;
    }
    let kept = || format!("What was measured is in {place}. {}", commands.left);
    match result {
        Err(error) => anyhow::bail!("{error}. {}", kept()),
        Ok(Status::Interrupted) => {
            exit::complain(&format!("interrupted. {}", kept()));
            return Ok(exit::INTERRUPTED);
        }
        Ok(_) => {}
    }
    run?;
    let status = compare(&CompareOptions {
        runs: vec![place.clone()],
        by: Some(factor::SWITCH.to_owned()),
        switch: Vec::new(),
        switch_back: None,
        measured: Vec::new(),
        ..options.clone()
    })?;
    if !options.json {
        print(&format!("\nRun:    {place}\n"))?;
    }
    anyhow::ensure!(!commands.failed, "--switch-back: {}", commands.left);
    Ok(status)
}

/// What stands after `--`.
fn measurement(options: &CompareOptions) -> anyhow::Result<Measurement> {
    anyhow::ensure!(
        options.measured != ["measure"],
        "after --: `measure` takes a probe, for example measure wake-up --methods usleep"
    );
    let cli::Command::Measure(measure) = cli::parse_words(&options.measured)? else {
        anyhow::bail!("--switch takes `measure` and its options after --, and no other command");
    };
    let what = measure.what;
    let refused = [
        (
            what.pid.is_some(),
            "--pid: a program is watched in one piece",
        ),
        (what.hlog.is_some(), "--hlog: `tompion measure` writes it"),
        (what.run.output.json, "--json after --: write it before"),
    ];
    match refused.into_iter().find(|(given, _)| *given) {
        Some((_, why)) => anyhow::bail!("--switch does not go with {why}"),
        None => Ok(what),
    }
}

/// The user's commands.
struct Commands {
    levels: [String; 2],
    /// Run at the end.
    back: Option<String>,
    /// How long each may take.
    limit: Duration,
    /// The level that was tried last.
    last: Option<usize>,
    /// How it was left, in a sentence; empty before the end.
    left: String,
    /// Whether the command at the end failed.
    failed: bool,
}

impl Switch for Commands {
    fn notes(&self) -> Vec<String> {
        let [a, b] = &self.levels;
        let [first, second] = LEVELS;
        vec![format!(
            "Before each half of a block a command was run: `{a}` for switch={first}, `{b}` for \
             switch={second}."
        )]
    }

    fn set(&mut self, level: usize, stop: &Arc<AtomicBool>) -> Result<(), String> {
        self.last = Some(level);
        run(&self.levels[level], self.limit, stop)
    }

    fn leave(&mut self) -> String {
        // Whatever ended the run does not end this.
        let never = AtomicBool::new(false);
        self.left = match (&self.back, self.last) {
            (Some(back), _) => match run(back, self.limit, &never) {
                Ok(()) => format!("`{back}` was run at the end."),
                Err(why) => {
                    self.failed = true;
                    format!("{why} at the end; all is as it left it.")
                }
            },
            (None, Some(level)) => format!("All is left as `{}` set it.", self.levels[level]),
            (None, None) => "No command was run.".to_owned(),
        };
        self.left.clone()
    }
}

/// Runs a command by the shell to its end, in a process group of its own. Once `stop` is set or its
/// time is up the group is killed.
fn run(command: &str, limit: Duration, stop: &AtomicBool) -> Result<(), String> {
    /// How often it is looked whether it has ended: nothing is measured meanwhile.
    const LOOK: Duration = Duration::from_millis(5);
    let until = Instant::now() + limit;
    let mut child = start(command).map_err(|e| format!("`{command}` cannot be started: {e}"))?;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(e) => return Err(format!("`{command}` cannot be waited for: {e}")),
        }
        let is_late = Instant::now() >= until;
        if is_late || stop.load(Ordering::Relaxed) {
            tompion_child::kill_group(&child);
            let _ = child.wait();
            let limit = format_duration(limit.as_nanos() as u64);
            return Err(match is_late {
                true => format!("`{command}` had not ended after {limit} (--switch-timeout)"),
                false => format!("`{command}` was killed"),
            });
        }
        os::sleep(LOOK);
    };
    match status.success() {
        true => Ok(()),
        false => Err(format!("`{command}` {}", in_words(status))),
    }
}

fn start(command: &str) -> io::Result<Child> {
    // What it prints is no result of this program.
    let told = io::stderr().as_fd().try_clone_to_owned()?;
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(told)
        // Ctrl-C at the terminal reaches this program alone, which then decides.
        .process_group(0);
    tompion_child::kill_with_parent(&mut shell);
    tompion_child::spawn(&mut shell)
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "failed".to_owned(),
    }
}
