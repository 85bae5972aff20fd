//! An instance that runs beside its caller, who waits for it or ends it: what
//! [`Platform::run`] does, on a thread of its own.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use super::{Output, Platform, Seat, Task, TaskError};
use crate::Listener;
use crate::leftovers::Workspace;
use crate::network::Joined;
use crate::signs::{Heard, Sign};

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
    heard: Arc<Mutex<Heard>>,
}

impl<'scope> Running<'scope> {
    /// Starts one. What it starts is bound to the thread: it dies with it.
    pub fn start<'env: 'scope>(
        scope: &'scope Scope<'scope, 'env>,
        platform: &'scope dyn Platform,
        start: Start<'scope>,
    ) -> Self {
        let heard = Arc::new(Mutex::new(Heard::default()));
        let hearing = Arc::clone(&heard);
        let telling = Listener::new(move |words| locked(&hearing).hear(words));
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
            heard,
        }
    }

    /// How many signs it has given.
    pub fn signs(&self) -> usize {
        locked(&self.heard).signs
    }

    /// The last sign that it gave as a neighbour.
    pub fn sign(&self) -> Option<Sign> {
        locked(&self.heard).last
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

fn locked(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // One that is waited for has no thread here any more.
        if self.thread.is_some() {
            self.stop();
        }
    }
}
