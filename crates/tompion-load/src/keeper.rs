//! A thread that starts a load's process and switches it on.
//!
//! Two things need a thread of their own. The kernel ends a process that asked
//! to die with its parent when the *thread* that started it ends, so that thread
//! must live as long as the load. And a hundred threads that wake at once preempt
//! whoever woke them and then run in turn; the measuring thread had better sleep
//! through that first round. (When it woke them itself, its next sleep of 50 ms
//! took 150 ms; from here, mostly 50 to 70 ms.)

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

type Task = Box<dyn FnOnce() + Send>;

/// The thread; it sleeps but for its tasks, and ends when dropped.
pub struct Keeper {
    tasks: Option<Sender<Task>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts the process of `command` in the keeper's thread.
    ///
    /// # Errors
    /// If the thread or the process cannot be started.
    pub fn spawn(mut command: Command) -> io::Result<(Self, Child)> {
        let (tasks, to_do) = channel::<Task>();
        let (started, child) = channel();
        let thread = Builder::new()
            .name("load keeper".to_owned())
            .spawn(move || {
                let result = tompion_child::spawn(&mut command);
                // Holds the parent's copies of the child's streams.
                drop(command);
                if started.send(result).is_ok() {
                    to_do.iter().for_each(|task| task());
                }
            })?;
        let keeper = Self {
            tasks: Some(tasks),
            thread: Some(thread),
        };
        let child = child.recv().map_err(io::Error::other)??;
        Ok((keeper, child))
    }

    /// Runs a task in the thread, without waiting for it.
    pub fn run(&self, task: impl FnOnce() + Send + 'static) {
        if let Some(tasks) = &self.tasks {
            // Only fails after a panic in an earlier task.
            let _ = tasks.send(Box::new(task));
        }
    }

    /// Ends the thread after its tasks, and with it a child that depends on it.
    pub fn end(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
    }
}
