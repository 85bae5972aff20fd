//! A process with a time limit, which ends with the lab at the latest.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};
use tompion_guest::Listener;
use tompion_model::Unavailable;
use tompion_time::os;

/// How often the lab looks up while an instance measures: seldom, since it may do so
/// on the CPU that is measured.
const LOOK: Duration = Duration::from_millis(250);
/// From closing its output to its end.
const END: Duration = Duration::from_secs(30);
/// What standard output may hold, in bytes; results of a cell are a hundredth of that.
pub const MOST_OUTPUT: u64 = 64 << 20;
/// Bytes that are taken of standard output where it is no result.
pub const MOST_ANSWER: u64 = 64 << 10;
/// What is kept of standard error, in bytes, of what has a result; of all else as much as of its answer.
const MOST_WORDS: u64 = 1 << 20;

/// What an instance gave back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Whether the program ended with status 0.
    pub success: bool,
    /// How it ended, in words.
    pub status: String,
    /// All it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
}

/// Why an instance gave nothing back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskError {
    /// It was to stop.
    Stopped,
    /// It had not ended in time, and was killed; in one line.
    Late(String),
    /// In one line.
    Failed(String),
}

impl From<crate::Error> for TaskError {
    fn from(error: crate::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<Unavailable> for TaskError {
    fn from(why: Unavailable) -> Self {
        Self::Failed(why.to_string())
    }
}

/// What a process may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// From its start to its end.
    pub time: Duration,
    /// Of standard output, in bytes.
    pub output: u64,
}

/// Of what answers in words, and has no result: many may be asked at once.
impl From<Duration> for Bounds {
    fn from(time: Duration) -> Self {
        Self {
            time,
            output: MOST_ANSWER,
        }
    }
}

/// What a process may read.
pub(crate) enum Input {
    /// Nothing, not even that nothing more comes, for as long as it runs.
    Held,
    /// A file.
    File(File),
}

/// How a process ended by itself.
pub(crate) struct Ended {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Runs `command` to its end. Where that does not come within `bounds`, or `stop` is set, `end`
/// ends what the command's death alone would leave, and the command is killed.
/// `telling` gets what it says on standard error, as it comes.
pub(crate) fn run(
    mut command: Command,
    bounds: impl Into<Bounds>,
    stop: &AtomicBool,
    telling: Option<&Listener>,
    end: impl Fn(),
) -> Result<Output, TaskError> {
    command.stdin(Stdio::null());
    let ended = run_as_is(command, bounds.into(), stop, telling, end)?;
    Ok(Output {
        success: ended.status.success(),
        status: ended.status.to_string(),
        stdout: ended.stdout,
        stderr: ended.stderr,
    })
}

/// The same for one that reads, of which nothing is left after its death.
pub(crate) fn run_with(
    mut command: Command,
    input: Input,
    bounds: impl Into<Bounds>,
    stop: &AtomicBool,
) -> Result<Ended, TaskError> {
    command.stdin(match input {
        Input::Held => Stdio::piped(),
        Input::File(file) => file.into(),
    });
    run_as_is(command, bounds.into(), stop, None, || ())
}

/// What a program answers that is asked for a word or to tidy up, not for work.
pub(crate) fn ask(command: Command, limit: Duration) -> Result<Output, Unavailable> {
    let never = AtomicBool::new(false);
    run(command, limit, &never, None, || ()).map_err(|e| match e {
        TaskError::Failed(why) | TaskError::Late(why) => why.into(),
        TaskError::Stopped => "stopped".into(),
    })
}

fn run_as_is(
    mut command: Command,
    bounds: Bounds,
    stop: &AtomicBool,
    telling: Option<&Listener>,
    end: impl Fn(),
) -> Result<Ended, TaskError> {
    let name = command.get_program().to_string_lossy().into_owned();
    // A group of its own: Ctrl-C at the terminal reaches the lab alone, which then
    // decides.
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    tompion_child::kill_with_parent(&mut command);
    let mut child = tompion_child::spawn(&mut command)
        .map_err(|e| TaskError::Failed(format!("cannot start {name}: {e}")))?;
    // Waiting for it would close this.
    let _held = child.stdin.take();
    let until = Instant::now() + bounds.time;
    let outputs = read_both(&mut child, bounds.output, telling)
        .map_err(Early::Deaf)
        .and_then(|(out, err)| Ok((wait_for(out, until, stop)?, wait_for(err, until, stop)?)));
    let ended = outputs.and_then(|outputs| Ok((outputs, wait(&mut child, END)?)));
    match ended {
        Ok(((stdout, stderr), status)) => Ok(Ended {
            status,
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
                Early::Deaf(why) => TaskError::Failed(format!("{name} cannot be heard: {why}")),
                Early::Endless => {
                    let (most, unit) = match bounds.output >> 20 {
                        0 => (bounds.output >> 10, "KiB"),
                        most => (most, "MiB"),
                    };
                    TaskError::Failed(format!(
                        "wrote more than {most} {unit} to standard output, killed"
                    ))
                }
                Early::Late => TaskError::Late(format!(
                    "still running after {:.0} s, killed",
                    bounds.time.as_secs_f64()
                )),
            })
        }
    }
}

/// Why a process is ended.
enum Early {
    Stopped,
    Late,
    Endless,
    /// There is no thread to read what it writes.
    Deaf(io::Error),
}

/// More than is taken.
struct Endless;

/// What comes of an output once it has ended.
type Coming = Receiver<Result<Vec<u8>, Endless>>;

fn read_both(
    child: &mut Child,
    most: u64,
    telling: Option<&Listener>,
) -> io::Result<(Coming, Coming)> {
    let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
    let stdout = read_result(child.stdout.take().ok_or_else(gone)?, most)?;
    let stderr = child.stderr.take().ok_or_else(gone)?;
    let words = most.min(MOST_WORDS) as usize;
    Ok((stdout, read_words(stderr, words, telling.cloned())?))
}

fn wait_for(output: Coming, until: Instant, stop: &AtomicBool) -> Result<Vec<u8>, Early> {
    loop {
        match output.recv_timeout(LOOK) {
            Ok(Ok(bytes)) => return Ok(bytes),
            Ok(Err(Endless)) => return Err(Early::Endless),
            Err(RecvTimeoutError::Disconnected) => return Ok(Vec::new()),
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                return Err(Early::Stopped);
            }
            Err(RecvTimeoutError::Timeout) if Instant::now() >= until => return Err(Early::Late),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn wait(child: &mut Child, limit: Duration) -> Result<ExitStatus, Early> {
    let until = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Err(_) => return Err(Early::Late),
            Ok(None) if Instant::now() >= until => return Err(Early::Late),
            Ok(None) => os::sleep(Duration::from_millis(5)),
        }
    }
}

/// Reads a result to its end, as long as it is one. The thread is left to itself: whoever
/// holds the other end of the pipe may outlive us.
fn read_result(stream: impl Read + Send + 'static, most: u64) -> io::Result<Coming> {
    let (send, receive) = channel();
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.take(most + 1).read_to_end(&mut bytes);
        let whole = bytes.len() as u64 <= most;
        // Nobody may be waiting any more.
        let _ = send.send(whole.then_some(bytes).ok_or(Endless));
    })?;
    Ok(receive)
}

/// Reads words to their end, keeps the first `most` bytes of them and passes them on as they come. The
/// thread is left to itself, too.
fn read_words(
    mut stream: impl Read + Send + 'static,
    most: usize,
    telling: Option<Listener>,
) -> io::Result<Coming> {
    let (send, receive) = channel();
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            let words = &buffer[..count];
            if let Some(telling) = &telling {
                telling.hear(words);
            }
            bytes.extend(&words[..count.min(most - bytes.len())]);
        }
        let _ = send.send(Ok(bytes));
    })?;
    Ok(receive)
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
        let done = run(
            sh("echo out; echo err >&2; exit 3"),
            long,
            &stop,
            None,
            || (),
        )
        .unwrap();
        assert_eq!(
            (done.stdout.as_slice(), done.stderr.as_slice()),
            (&b"out\n"[..], &b"err\n"[..])
        );
        assert!(
            !done.success && done.status.contains('3'),
            "{}",
            done.status
        );
        let missing = run(Command::new("/no/such"), long, &stop, None, || ()).unwrap_err();
        let TaskError::Failed(why) = missing else {
            panic!()
        };
        assert!(why.starts_with("cannot start /no/such:"), "{why}");
    }

    #[test]
    fn what_is_said_comes_at_once() {
        let (telling, told) = std::sync::mpsc::channel();
        let telling = std::sync::Mutex::new(telling);
        let telling = Listener::new(move |words| {
            let _ = telling.lock().unwrap().send(words.to_vec());
        });
        let stop = AtomicBool::new(false);
        let long = Duration::from_secs(120);
        let said = thread::scope(|scope| {
            let script = "echo here >&2; exec sleep 1000";
            let run = || run(sh(script), long, &stop, Some(&telling), || ());
            let running = scope.spawn(run);
            let said = told.recv_timeout(long);
            stop.store(true, Ordering::Relaxed);
            assert_eq!(running.join().unwrap(), Err(TaskError::Stopped));
            said
        });
        assert_eq!(said.as_deref(), Ok(&b"here\n"[..]));
    }

    #[test]
    fn a_held_input_does_not_end_and_a_file_does() {
        let stop = AtomicBool::new(false);
        let held = |s| run_with(sh("read x; echo ended"), Input::Held, s, &stop);
        let Err(TaskError::Late(why)) = held(Duration::from_millis(1)) else {
            panic!("its input ended");
        };
        assert!(why.contains("still running"), "{why}");
        let file = Input::File(File::open("/dev/null").unwrap());
        let done = run_with(sh("cat; echo ended"), file, Duration::from_secs(120), &stop);
        assert_eq!(done.ok().map(|d| d.stdout), Some(b"ended\n".to_vec()));
    }

    #[test]
    fn late_and_stopped_ones_are_ended() {
        let ended = std::cell::Cell::new(0);
        let end = || ended.set(ended.get() + 1);
        let stop = AtomicBool::new(false);
        let late = run(
            sh("exec sleep 1000"),
            Duration::from_millis(1),
            &stop,
            None,
            end,
        )
        .unwrap_err();
        let why = "still running after 0 s, killed".to_owned();
        assert_eq!(late, TaskError::Late(why));
        stop.store(true, Ordering::Relaxed);
        let stopped = run(
            sh("exec sleep 1000"),
            Duration::from_secs(500),
            &stop,
            None,
            end,
        );
        assert_eq!((stopped, ended.get()), (Err(TaskError::Stopped), 2));
    }

    #[test]
    fn endless_output_is_cut_off_and_endless_words_are_forgotten() {
        let stop = AtomicBool::new(false);
        let long = Duration::from_secs(120);
        let ended = std::cell::Cell::new(false);
        let of_result = Bounds {
            time: long,
            output: MOST_OUTPUT,
        };
        for (bounds, most) in [(of_result, "64 MiB"), (long.into(), "64 KiB")] {
            let endless = run(sh("exec cat /dev/zero"), bounds, &stop, None, || {
                ended.set(true);
            });
            let why = format!("wrote more than {most} to standard output, killed");
            assert_eq!((endless, ended.take()), (Err(TaskError::Failed(why)), true));
        }
        let wordy = "head -c 9000000 /dev/zero >&2; echo done";
        for (bounds, most) in [(of_result, MOST_WORDS), (long.into(), MOST_ANSWER)] {
            let done = run(sh(wordy), bounds, &stop, None, || ()).unwrap();
            assert_eq!(
                (done.stdout.as_slice(), done.stderr.len() as u64),
                (&b"done\n"[..], most)
            );
        }
    }
}
