//! A process with a time limit, which ends with the lab at the latest.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::{Output, TaskError};

/// How often the lab looks up while an instance measures: seldom, since it may do so
/// on the CPU that is measured.
const LOOK: Duration = Duration::from_millis(250);
/// From closing its output to its end.
const END: Duration = Duration::from_secs(30);
/// What is kept of each output, in bytes; results are a thousandth of that.
const MOST: u64 = 1 << 30;

/// Runs `command` to its end. Where that does not come in time, or `stop` is set, `end`
/// ends what the command's death alone would leave, and the command is killed.
pub(super) fn run(
    mut command: Command,
    limit: Duration,
    stop: &AtomicBool,
    end: impl Fn(),
) -> Result<Output, TaskError> {
    let name = command.get_program().to_string_lossy().into_owned();
    // A group of its own: Ctrl-C at the terminal reaches the lab alone, which then
    // decides.
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    tompion_guest::kill_with_parent(&mut command);
    let mut child = command
        .spawn()
        .map_err(|e| TaskError::Failed(format!("cannot start {name}: {e}")))?;
    let stdout = child.stdout.take().map(read_all);
    let stderr = child.stderr.take().map(read_all);
    let until = Instant::now() + limit;
    let outputs =
        wait_for(stdout, until, stop).and_then(|out| Ok((out, wait_for(stderr, until, stop)?)));
    let ended = outputs.and_then(|outputs| Ok((outputs, wait(&mut child, END)?)));
    match ended {
        Ok(((stdout, stderr), status)) => Ok(Output {
            success: status.success(),
            status: status.to_string(),
            stdout,
            stderr,
        }),
        Err(early) => {
            end();
            // Fails only where it has ended by now.
            let _ = child.kill();
            let _ = child.wait();
            Err(match early {
                Early::Stopped => TaskError::Stopped,
                Early::Late => TaskError::Failed(format!(
                    "still running after {:.0} s, killed",
                    limit.as_secs_f64()
                )),
            })
        }
    }
}

/// Why a process is ended.
enum Early {
    Stopped,
    Late,
}

fn wait_for(
    output: Option<Receiver<Vec<u8>>>,
    until: Instant,
    stop: &AtomicBool,
) -> Result<Vec<u8>, Early> {
    let Some(output) = output else {
        return Ok(Vec::new());
    };
    loop {
        match output.recv_timeout(LOOK) {
            Ok(bytes) => return Ok(bytes),
            Err(RecvTimeoutError::Disconnected) => return Ok(Vec::new()),
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                return Err(Early::Stopped);
            }
            Err(RecvTimeoutError::Timeout) if Instant::now() >= until => return Err(Early::Late),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn wait(child: &mut std::process::Child, limit: Duration) -> Result<ExitStatus, Early> {
    let until = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Err(_) => return Err(Early::Late),
            Ok(None) if Instant::now() >= until => return Err(Early::Late),
            Ok(None) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Reads to the end. The thread is left to itself: whoever holds the other end of the
/// pipe may outlive us.
fn read_all(stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.take(MOST).read_to_end(&mut bytes);
        // Nobody may be waiting any more.
        let _ = send.send(bytes);
    });
    receive
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn outputs_and_status_come_back() {
        let stop = AtomicBool::new(false);
        let long = Duration::from_secs(120);
        let done = run(sh("echo out; echo err >&2; exit 3"), long, &stop, || ()).unwrap();
        assert_eq!(
            (done.stdout.as_slice(), done.stderr.as_slice()),
            (&b"out\n"[..], &b"err\n"[..])
        );
        assert!(
            !done.success && done.status.contains('3'),
            "{}",
            done.status
        );
        let missing = run(Command::new("/no/such"), long, &stop, || ()).unwrap_err();
        let TaskError::Failed(why) = missing else {
            panic!()
        };
        assert!(why.starts_with("cannot start /no/such:"), "{why}");
    }

    #[test]
    fn late_and_stopped_ones_are_ended() {
        let ended = std::cell::Cell::new(0);
        let end = || ended.set(ended.get() + 1);
        let stop = AtomicBool::new(false);
        let late = run(sh("exec sleep 1000"), Duration::from_millis(1), &stop, end).unwrap_err();
        let why = "still running after 0 s, killed".to_owned();
        assert_eq!(late, TaskError::Failed(why));
        stop.store(true, Ordering::Relaxed);
        let stopped = run(sh("exec sleep 1000"), Duration::from_secs(500), &stop, end);
        assert_eq!((stopped, ended.get()), (Err(TaskError::Stopped), 2));
    }
}
