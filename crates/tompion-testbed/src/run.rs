//! One run of a testbed: the path measured, a command at the sender, the path measured again.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tompion_time::os;

use crate::TestbedError;
use crate::measure::Measurement;
use crate::place::Place;
use crate::program::Program;
use crate::relay::Summary;
use crate::settings::Settings;
use crate::testbed::Testbed;

/// How often it is looked whether the run is to end.
const LOOK: Duration = Duration::from_millis(50);
/// How long a program has to end by itself when it is asked to.
const GRACE: Duration = Duration::from_secs(2);
/// How long packets of the command are waited for.
const SETTLED: Duration = Duration::from_secs(30);
/// When a path that is not what it is to be is measured again, after so long each: other programs, or other
/// machines of the same host, may have had the CPU.
const AGAIN: [Duration; 4] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];
/// How long a program of the far end has to open a socket.
const READY: Duration = Duration::from_secs(2);

/// What runs where: each a program and its arguments.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    /// At the sender; without one the path is there until the run is stopped.
    pub command: Option<Vec<OsString>>,
    /// At the far end, started before the command and ended after it.
    pub far_end: Vec<Vec<OsString>>,
}

/// What came of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The path before anything ran on it.
    pub before: Measurement,
    /// How the command ended; `None` without one, and where the path was not what it was to be.
    pub status: Option<ExitStatus>,
    /// The path after everything had ended; `None` where its command was stopped, or the path was wrong before.
    pub after: Option<Measurement>,
    /// What the relay did; `None` where the kernel was the whole path.
    pub summary: Option<Summary>,
    /// Whether the run was stopped.
    pub stopped: bool,
}

impl Outcome {
    /// Whether the path was what it was to be, before and after.
    pub fn verdict(&self) -> Verdict {
        if outside(&self.before) {
            Verdict::OutsideBefore
        } else if self.after.as_ref().is_some_and(outside) {
            Verdict::OutsideAfter
        } else {
            Verdict::AsPlanned
        }
    }
}

/// Whether a path was what it was to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// All figures that could be measured are within their tolerances.
    AsPlanned,
    /// Some were not, so that the command was not run.
    OutsideBefore,
    /// Some were not after the command had ended.
    OutsideAfter,
}

/// Makes a testbed, runs programs on it, and takes it down.
///
/// `ready` is told when the path is there and measured, before the command is started. When `stop` is set the
/// command is asked to end (SIGTERM), and ended where it does not.
///
/// # Errors
/// Where the path cannot be made, or a program not started; also where a program of the far end ends early.
pub fn run(
    settings: &Settings,
    programs: &Programs,
    ready: &mut dyn FnMut(&Testbed, &Measurement),
    stop: &AtomicBool,
) -> Result<Outcome, TestbedError> {
    let testbed = Testbed::start(settings)?;
    let before = measured(&testbed, stop)?;
    ready(&testbed, &before);
    let mut outcome = Outcome {
        before,
        status: None,
        after: None,
        summary: None,
        stopped: false,
    };
    if outcome.verdict() == Verdict::AsPlanned {
        outcome.status = with_programs(&testbed, programs, stop)?;
        outcome.stopped = stop.load(Ordering::Relaxed);
        // Without a command there is no other end.
        let is_ended = programs.command.is_none();
        if !outcome.stopped || is_ended {
            testbed.settle(if is_ended { GRACE } else { SETTLED });
            outcome.after = Some(measured(&testbed, stop)?);
        }
    }
    outcome.summary = testbed.stop()?;
    Ok(outcome)
}

fn outside(measured: &Measurement) -> bool {
    measured.outside().next().is_some()
}

/// The path as it was measured last: at once, and again while it is not what it is to be.
fn measured(testbed: &Testbed, stop: &AtomicBool) -> Result<Measurement, TestbedError> {
    let mut last = testbed.measure()?;
    for wait in AGAIN {
        if !outside(&last) || stop.load(Ordering::Relaxed) {
            break;
        }
        os::sleep(wait);
        last = testbed.measure()?;
    }
    Ok(last)
}

fn with_programs(
    testbed: &Testbed,
    programs: &Programs,
    stop: &AtomicBool,
) -> Result<Option<ExitStatus>, TestbedError> {
    let mut far_end = Vec::new();
    for words in &programs.far_end {
        if let Some(command) = command(words) {
            far_end.push(start_ready(testbed, command)?);
        }
    }
    let command = programs.command.as_deref().and_then(command);
    let mut at_sender = command.map(|c| testbed.start_at_sender(c)).transpose()?;
    let status = loop {
        if stop.load(Ordering::Relaxed) {
            break at_sender.as_mut().map(|p| p.end(GRACE)).transpose()?;
        }
        match &mut at_sender {
            None => os::sleep(LOOK),
            Some(program) => {
                if let Some(status) = program.wait_for(LOOK)? {
                    break Some(status);
                }
            }
        }
        for program in &mut far_end {
            if let Some(status) = program.wait_for(Duration::ZERO)? {
                return Err(ended_early(program, status));
            }
        }
    };
    for mut program in far_end.into_iter().rev() {
        program.end(GRACE)?;
    }
    Ok(status)
}

fn command(words: &[OsString]) -> Option<Command> {
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments);
    Some(command)
}

fn ended_early(program: &Program, status: ExitStatus) -> TestbedError {
    TestbedError::FarEnd {
        program: program.name().to_owned(),
        status,
    }
}

/// Starts a program at the far end and waits until it has opened a socket there, as what is to answer does. One
/// that opens none is waited for no longer than [`READY`].
fn start_ready(testbed: &Testbed, command: Command) -> Result<Program, TestbedError> {
    let place = testbed.far_end();
    let before = sockets(place)?;
    // What a terminal sends is for the command alone: this is there until that has ended.
    let mut command = command;
    command.process_group(0);
    let mut program = testbed.start_at_far_end(command)?;
    let begun = Instant::now();
    while begun.elapsed() < READY && sockets(place)? <= before {
        if let Some(status) = program.wait_for(Duration::from_millis(10))? {
            return Err(ended_early(&program, status));
        }
    }
    Ok(program)
}

/// How many sockets there are at a place.
fn sockets(place: &Place) -> Result<usize, TestbedError> {
    const TABLES: [&str; 9] = [
        "tcp", "tcp6", "udp", "udp6", "raw", "raw6", "icmp", "icmp6", "packet",
    ];
    let count = || -> usize {
        let tables = TABLES.iter().map(|table| {
            let table = fs::read_to_string(format!("/proc/thread-self/net/{table}"));
            // A protocol that this kernel lacks has no table.
            table.map_or(0, |table| table.lines().count())
        });
        tables.sum()
    };
    place
        .inside(count)
        .map_err(TestbedError::system("look for sockets at the far end"))
}
