//! An instance that runs beside its caller, who waits for it or ends it: what
//! [`Platform::run`] does, on a thread of its own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use super::{Output, Platform, Seat, Task, TaskError};
use crate::leftovers::Workspace;
use crate::network::Joined;
use crate::signs::{Sign, sign};

/// Pieces of what an instance says, of at most 4 KiB, that wait to be heard; more are lost.
const WAITING: usize = 1024;
/// The longest line that may be a sign, in bytes.
const LINE: usize = 4096;

/// What an instance needs for as long as it runs.
pub struct Start<'a> {
    /// The program: this file of the machine that the lab runs on.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// A number that no other instance of this lab has.
    pub number: usize,
    /// Where the instance may keep what it needs.
    pub workspace: &'a Workspace,
    /// From its start to its end, after which it is killed.
    pub limit: Duration,
    /// Bytes that it may write to standard output.
    pub most_output: u64,
    /// Its CPUs and control group; those of the lab itself where absent.
    pub seat: Option<Seat>,
    /// Its place in the network of a testbed.
    pub joined: Option<Joined>,
    /// Ends it early.
    pub stop: Arc<AtomicBool>,
}

/// An instance at work. Dropped, it is ended.
pub struct Running<'scope> {
    thread: Option<ScopedJoinHandle<'scope, Result<Output, TaskError>>>,
    /// Why there never was one.
    refused: Option<String>,
    stop: Arc<AtomicBool>,
    told: Receiver<Vec<u8>>,
    /// The line that has not ended yet.
    begun: Vec<u8>,
    last: Option<Sign>,
    /// Signs so far.
    signs: usize,
}

impl<'scope> Running<'scope> {
    /// Starts one. What it starts is bound to the thread: it dies with it.
    pub fn start<'env: 'scope>(
        scope: &'scope Scope<'scope, 'env>,
        platform: &'scope dyn Platform,
        start: Start<'scope>,
    ) -> Self {
        let (telling, told) = sync_channel(WAITING);
        let stop = Arc::clone(&start.stop);
        let begun = Builder::new().spawn_scoped(scope, move || {
            platform.run(&Task {
                program: start.program,
                arguments: &start.arguments,
                number: start.number,
                workspace: start.workspace,
                limit: start.limit,
                most_output: start.most_output,
                stop: &start.stop,
                seat: start.seat.as_ref(),
                joined: start.joined.as_ref(),
                telling: Some(&telling),
            })
        });
        let (thread, refused) = match begun {
            Ok(thread) => (Some(thread), None),
            Err(why) => (None, Some(format!("the thread of an instance: {why}"))),
        };
        Self {
            thread,
            refused,
            stop,
            told,
            begun: Vec::new(),
            last: None,
            signs: 0,
        }
    }

    /// How many signs it has given.
    pub fn signs(&mut self) -> usize {
        self.sign();
        self.signs
    }

    /// The last sign that it gave as a neighbour.
    pub fn sign(&mut self) -> Option<Sign> {
        // No more than can wait: who floods us keeps nobody from looking elsewhere.
        for bytes in self.told.try_iter().take(WAITING) {
            for byte in bytes {
                if byte != b'\n' {
                    if self.begun.len() < LINE {
                        self.begun.push(byte);
                    }
                    continue;
                }
                let line = std::mem::take(&mut self.begun);
                if let Some(sign) = sign(&String::from_utf8_lossy(&line)) {
                    self.last = Some(sign);
                    self.signs += 1;
                }
            }
        }
        self.last
    }

    /// Whether it has ended by itself.
    pub fn is_over(&self) -> bool {
        self.thread
            .as_ref()
            .is_none_or(ScopedJoinHandle::is_finished)
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// Those of [`Platform::run`].
    pub fn wait(mut self) -> Result<Output, TaskError> {
        self.take_end()
    }

    /// Has it end soon.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// How it ended, once.
    pub fn take_end(&mut self) -> Result<Output, TaskError> {
        let thread = self.thread.take();
        let ended = thread.map(ScopedJoinHandle::join);
        ended.and_then(Result::ok).unwrap_or_else(|| {
            let failed = || "the thread of an instance failed".to_owned();
            Err(TaskError::Failed(
                self.refused.take().unwrap_or_else(failed),
            ))
        })
    }

    /// Ends it, and waits until nothing is left of it.
    pub fn end(self) -> Result<Output, TaskError> {
        self.stop();
        self.wait()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // One that is waited for has no thread here any more.
        if self.thread.is_some() {
            self.stop();
        }
    }
}
