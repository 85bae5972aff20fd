//! A line on a terminal that tells how far the measurement is; silent in a pipe.

use indicatif::{ProgressBar, ProgressStyle};

/// The line. It is drawn between measurements only, never by a thread beside
/// them.
pub struct Progress(ProgressBar);

impl Progress {
    /// Shows 0 of `steps` on standard error, where that is a terminal.
    pub fn new(steps: u64) -> Self {
        let bar = ProgressBar::new(steps);
        bar.set_style(
            ProgressStyle::with_template("{bar:30} {percent:>3} %  {eta} left  {msg}")
                .expect("the template is well-formed"),
        );
        Self(bar)
    }

    /// Tells what is measured next.
    pub fn next(&self, what: impl Into<String>) {
        self.0.set_message(what.into());
        self.0.tick();
    }

    /// One step further.
    pub fn step(&self) {
        self.0.inc(1);
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}
