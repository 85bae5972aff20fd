//! The view as lines, where there is no terminal.

use tompion_cause::describe_ns;

use crate::{Slice, StallSlice, State};

/// A slice of wake-ups in one line.
pub fn wake_up_line(state: &State, slice: &Slice) -> String {
    let choices = state.choices();
    let worst = slice.worst.first();
    let cause = worst.map_or("", |case| case.cause.as_str());
    format!(
        "{} wake-up {} {} {} {}: p50 {}, p99 {}, max {} ({cause}), {} samples",
        state.time_of_day(slice.at),
        choices.load(slice.setting),
        choices.method(slice.setting),
        choices.target(slice.setting),
        choices.cpu(slice.setting),
        length(slice.p50_ns),
        length(slice.p99_ns),
        length(slice.max_ns),
        slice.samples,
    )
}

/// A slice of a busy loop in one line.
pub fn stall_line(state: &State, slice: &StallSlice) -> String {
    let share = share(slice.lost_ns as f64 / slice.wall_ns.max(1) as f64);
    let longest = match slice.worst.first() {
        Some(case) => format!(", longest {} ({})", describe_ns(case.ns), case.cause),
        None => String::new(),
    };
    format!(
        "{} stalls {}: {} lost, {} stalls{longest}",
        state.time_of_day(slice.at),
        state.choices().load(state.setting()),
        share,
        slice.stalls,
    )
}

/// A length of time; one before its time is told as such.
pub(crate) fn length(ns: f64) -> String {
    let sign = if ns < -0.5 { "-" } else { "" };
    format!("{sign}{}", describe_ns(ns.abs().round() as u64))
}

/// A share in per cent with two significant digits or more.
pub(crate) fn share(share: f64) -> String {
    match share * 100.0 {
        percent if percent >= 9.95 => format!("{percent:.0} %"),
        percent if percent >= 0.995 => format!("{percent:.1} %"),
        0.0 => "0 %".to_owned(),
        percent if percent < 0.001 => "<0.001 %".to_owned(),
        percent if percent < 0.0995 => format!("{percent:.3} %"),
        percent => format!("{percent:.2} %"),
    }
}
