//! One line that shows how far a run is.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tompion_run::{Plan, Progress};

use crate::output::is_dumb;

/// Columns beside the bar and the cell's name: counts, time left, gaps.
const BESIDE: u16 = 40;

/// The line on standard error; hidden where that is no terminal.
pub struct ProgressLine {
    bar: ProgressBar,
    duration: Duration,
}

impl ProgressLine {
    /// A line for `plan`; `quiet` hides it.
    pub fn new(plan: &Plan, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(plan.trials() as u64), target(quiet));
        // The name takes what is left of the line, and never more: a line that
        // wraps cannot be drawn over.
        let (_, columns) = console::Term::stderr().size();
        let length = columns.saturating_sub(BESIDE).min(20);
        let template = match length {
            0..5 => "{pos}/{len}, {prefix}".to_owned(),
            n => format!("{{bar:{n}}} {{pos}}/{{len}} trials, {{prefix}}  {{wide_msg}}"),
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        bar.set_prefix(in_words(plan.duration));
        Self {
            bar,
            duration: plan.duration,
        }
    }

    /// Shows where the run stands.
    pub fn show(&self, progress: &Progress<'_>) {
        let left = time_left(
            self.duration,
            progress.elapsed,
            progress.done,
            progress.total,
        );
        self.bar.set_position(progress.done as u64);
        self.bar.set_prefix(in_words(left));
        self.bar.set_message(progress.what.to_string());
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// The line of a program that is watched, on standard error; hidden where that is no
/// terminal.
pub struct WatchLine {
    bar: ProgressBar,
    duration: Duration,
}

impl WatchLine {
    /// A line for process `pid`, watched for `duration`; `quiet` hides it.
    pub fn new(pid: i32, duration: Duration, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(millis(duration)), target(quiet))
            .with_prefix(in_words(duration))
            .with_message(format!("watching process {pid}"));
        let (_, columns) = console::Term::stderr().size();
        let length = columns.saturating_sub(BESIDE).min(20);
        let template = match length {
            0..5 => "{prefix}".to_owned(),
            n => format!("{{bar:{n}}} {{prefix}}  {{wide_msg}}"),
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        Self { bar, duration }
    }

    /// Shows that it has been watched for so long.
    pub fn show(&self, elapsed: Duration) {
        self.bar.set_position(millis(elapsed.min(self.duration)));
        self.bar
            .set_prefix(in_words(self.duration.saturating_sub(elapsed)));
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Where a line that is drawn over goes: nowhere where that cannot be.
pub(super) fn target(quiet: bool) -> ProgressDrawTarget {
    if quiet || is_dumb() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Trials share the time of the run, so that it ends with that time or, when
/// they need less, as their number tells. Past that time only the number does.
fn time_left(duration: Duration, elapsed: Duration, done: usize, total: usize) -> Duration {
    let to_do = total.saturating_sub(done) as f64;
    let by_number = elapsed.mul_f64(to_do / done.max(1) as f64);
    match duration.saturating_sub(elapsed) {
        Duration::ZERO => by_number,
        by_time => by_time.min(by_number),
    }
}

/// For example `7 s left` or `2 min 05 s left`.
fn in_words(left: Duration) -> String {
    let s = left.as_secs_f64().ceil() as u64;
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, 0, s) => format!("{s} s left"),
        (0, m, s) => format!("{m} min {s:02} s left"),
        (h, m, _) => format!("{h} h {m:02} min left"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_never_exceeds_the_time_planned() {
        let s = Duration::from_secs_f64;
        // The first load takes long to settle; the plan knows better.
        assert_eq!(time_left(s(4.0), s(0.4), 1, 300), s(3.6));
        // Reads alone end earlier.
        assert_eq!(time_left(s(75.0), s(1.0), 10, 30), s(2.0));
        // Late: what is left goes by number.
        assert_eq!(time_left(s(4.0), s(6.0), 30, 40), s(2.0));
        assert_eq!(time_left(s(4.0), s(3.0), 40, 40), s(0.0));
    }

    #[test]
    fn times_read_well() {
        let words = |s| in_words(Duration::from_secs(s));
        assert_eq!(words(4), "4 s left");
        assert_eq!(words(75), "1 min 15 s left");
        assert_eq!(words(7384), "2 h 03 min left");
    }
}
