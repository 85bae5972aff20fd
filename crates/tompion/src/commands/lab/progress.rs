//! One line that shows how far a lab is, and a line for each cell that fails.

use indicatif::{ProgressBar, ProgressStyle};
use tompion_lab::engine::Progress;

use super::in_words;
use crate::commands::progress::target;
use crate::exit;

/// The line on standard error; hidden where that is no terminal.
pub struct LabLine {
    bar: ProgressBar,
}

impl LabLine {
    pub fn new(quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, target(quiet));
        if let Ok(style) = ProgressStyle::with_template("{pos}/{len} cells, {prefix}  {wide_msg}") {
            bar.set_style(style);
        }
        Self { bar }
    }

    /// Shows where the lab stands.
    pub fn show(&self, progress: &Progress) {
        self.bar.set_length(progress.total as u64);
        self.bar.set_position(progress.done as u64);
        self.bar
            .set_prefix(format!("{} left", in_words(progress.left)));
        self.bar.set_message(progress.what.clone());
        if let Some(why) = &progress.failed {
            let told = format!("{} failed: {why}", progress.what);
            self.bar.suspend(|| exit::complain(&told));
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
