//! A cell on another machine, which must not outlive whoever asked for it: a process
//! beside it, asleep until the cell ends, the connection does or the time is up.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};
use tompion_model::Unavailable;
use tompion_time::os;

use rustix::process::{Pid, Signal, kill_process_group};

/// The first argument by which this program is asked to guard a cell. Then
/// come the seconds that it may take, a directory that is removed after it, and its
/// own arguments.
pub const GUARD_ARG: &str = "__guard";

/// From closing its output to its end.
const END: Duration = Duration::from_secs(30);
/// How long killed processes may still write to their directory.
const REMOVAL: Duration = Duration::from_secs(5);

/// What ends a cell, or its guard.
enum Event {
    /// Nobody holds the other end of our standard input any more.
    Alone,
    /// The cell has closed its output: this.
    Output(Vec<u8>),
}

/// Runs this program with `arguments` behind the limit and the directory, and passes on
/// what it wrote and how it ended. Once standard input is closed, or after the limit,
/// it is killed. The directory is removed in every case.
///
/// # Errors
/// In one line.
pub fn remote_guard(arguments: &[String]) -> Result<u8, Unavailable> {
    let [limit, directory, arguments @ ..] = arguments else {
        return Err("this is how the lab calls itself; try `tompion lab --help`".into());
    };
    let seconds = limit
        .parse()
        .map_err(|e| format!("the guard's limit, {limit}: {e}"))?;
    let program = std::env::current_exe().map_err(Unavailable::refused("its own file"))?;
    let mut command = Command::new(program);
    command.args(arguments);
    let ended = run(command, Duration::from_secs(seconds), io::stdin());
    remove(Path::new(directory))
        .map_err(|e| Unavailable::refused(format!("removing {directory}"))(e))?;
    let (status, output) = ended?;
    let mut out = io::stdout().lock();
    out.write_all(&output)
        .and_then(|()| out.flush())
        .map_err(Unavailable::refused("standard output"))?;
    match status.code() {
        Some(code) => Ok(u8::try_from(code).unwrap_or(1)),
        None => Err(format!("the cell ended by {status}").into()),
    }
}

fn run(
    mut command: Command,
    limit: Duration,
    line: impl Read + Send + 'static,
) -> Result<(ExitStatus, Vec<u8>), Unavailable> {
    let until = Instant::now() + limit;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0);
    tompion_child::kill_with_parent(&mut command);
    let mut child = tompion_child::spawn(&mut command).map_err(Unavailable::refused("the cell"))?;
    let mut stdout = child.stdout.take().expect("a pipe");
    let (output, events) = channel();
    let alone = output.clone();
    // Both threads end with the process at the latest, and nobody may hear them.
    let reading = thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let _ = stdout.read_to_end(&mut bytes);
        let _ = output.send(Event::Output(bytes));
    });
    let watching = thread::Builder::new().spawn(move || {
        let _ = io::copy(&mut { line }, &mut io::sink());
        let _ = alone.send(Event::Alone);
    });
    if let Err(e) = reading.and(watching) {
        end(&mut child);
        return Err(format!("a thread cannot be started: {e}").into());
    }
    let late = format!("still running after {:.0} s, killed", limit.as_secs_f64());
    match events.recv_timeout(limit) {
        Ok(Event::Output(bytes)) => {
            let status = wait(&mut child, until.min(Instant::now() + END));
            Ok((status.ok_or(late)?, bytes))
        }
        Ok(Event::Alone) => {
            end(&mut child);
            Err("the connection has ended, the cell too".into())
        }
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            end(&mut child);
            Err(late.into())
        }
    }
}

/// How it ended by itself; none if it had to be killed.
fn wait(child: &mut Child, until: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => os::sleep(Duration::from_millis(5)),
            _ => {
                end(child);
                return None;
            }
        }
    }
}

fn end(child: &mut Child) {
    // All of these fail only where there is nothing to end any more.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.kill();
    let _ = child.wait();
}

fn remove(directory: &Path) -> io::Result<()> {
    let until = Instant::now() + REMOVAL;
    loop {
        match fs::remove_dir_all(directory) {
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) if Instant::now() > until => return Err(e),
            Err(_) => os::sleep(Duration::from_millis(20)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(500);

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    /// A line that stays open for as long as the second is kept.
    fn open_line() -> (io::PipeReader, io::PipeWriter) {
        io::pipe().unwrap()
    }

    #[test]
    fn output_and_status_come_through() {
        let (line, _held) = open_line();
        let (status, output) = run(sh("echo out; exit 3"), LONG, line).unwrap();
        assert_eq!((status.code(), output.as_slice()), (Some(3), &b"out\n"[..]));
    }

    #[test]
    fn a_cut_line_ends_it_and_so_does_its_time() {
        let (line, held) = open_line();
        let cutter = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            drop(held);
        });
        let error = run(sh("exec sleep 1000"), LONG, line).unwrap_err();
        assert_eq!(error.to_string(), "the connection has ended, the cell too");
        cutter.join().unwrap();
        let (line, _held) = open_line();
        let error = run(sh("exec sleep 1000"), Duration::from_secs(1), line).unwrap_err();
        assert_eq!(error.to_string(), "still running after 1 s, killed");
    }
}
