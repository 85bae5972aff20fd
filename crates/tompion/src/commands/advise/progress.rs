//! One line that shows what is tried.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tompion_advise::Progress;

/// The line on standard error; hidden where that is no terminal.
pub struct ProgressLine {
    bar: ProgressBar,
}

impl ProgressLine {
    /// A line for trials of `duration` in all; `quiet` hides it.
    pub fn new(duration: Duration, quiet: bool) -> Self {
        let target = match quiet {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr(),
        };
        let length = duration.as_millis().max(1) as u64;
        let bar = ProgressBar::with_draw_target(Some(length), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:16} {prefix}  {wide_msg}") {
            bar.set_style(style);
        }
        Self { bar }
    }

    /// Shows where the run stands.
    pub fn show(&self, progress: &Progress) {
        let used = progress.elapsed.as_millis() as u64;
        let left = self.bar.length().unwrap_or(0).saturating_sub(used);
        self.bar.set_position(used);
        self.bar
            .set_prefix(format!("{} s left", left.div_ceil(1000)));
        self.bar
            .set_message(format!("{} pairs, {}", progress.pairs, progress.knob));
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
