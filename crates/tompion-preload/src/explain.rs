//! What the library says of itself, where that is asked for: a line when a process
//! starts, and one when it ends.
#![allow(unsafe_code)]

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

use tompion_time::Source;
use tompion_time::sleep::Budget;

use crate::clock::CLOCK;
use crate::decision::Decision;
use crate::routes::ROUTES;
use crate::sleeps::DONE;

const STDERR: i32 = 2;
/// Programs that close and reopen low numbers do not meet this one by accident.
const HIGH: i32 = 200;

/// The process that is to say last words: not the children that it forks. 0 where none
/// are wanted.
static EXPLAINING: AtomicU32 = AtomicU32::new(0);

/// A duplicate of standard error as it was at the start: programs close theirs before
/// the end, or have a file of their own there. The only descriptor that this library
/// keeps, and only to explain.
static KEPT: AtomicI32 = AtomicI32::new(-1);
static DEVICE: AtomicU64 = AtomicU64::new(0);
static INODE: AtomicU64 = AtomicU64::new(0);

/// Hybrid sleeps are in force.
static HYBRID: AtomicBool = AtomicBool::new(false);

/// The first line; asks for the last one.
pub fn first(decision: &Decision, hybrid: Option<Budget>) {
    HYBRID.store(hybrid.is_some(), Ordering::Relaxed);
    // SAFETY: touches no memory.
    let kept = unsafe { libc::fcntl(STDERR, libc::F_DUPFD_CLOEXEC, HIGH) };
    if let Some((device, inode)) = identity(kept) {
        KEPT.store(kept, Ordering::Relaxed);
        DEVICE.store(device, Ordering::Relaxed);
        INODE.store(inode, Ordering::Relaxed);
        EXPLAINING.store(std::process::id(), Ordering::Relaxed);
    }
    let sleeps = match hybrid {
        None => "sleeps: the system's".to_owned(),
        Some(budget) => format!(
            "sleeps: hybrid, spinning at most {} % of a CPU in each thread",
            (budget.as_share() * 1e6).round() / 1e4
        ),
    };
    say(&format!("{decision}; {sleeps}"));
}

/// The last line, after the program's own exit handlers.
pub fn last(decision: &Decision) {
    let explaining = EXPLAINING.load(Ordering::Relaxed);
    // No system call unless asked for: this may be a sandbox.
    if explaining == 0 || explaining != std::process::id() {
        return;
    }
    // A program may have closed it, and have a file of its own there.
    let kept = KEPT.load(Ordering::Relaxed);
    let was = (
        DEVICE.load(Ordering::Relaxed),
        INODE.load(Ordering::Relaxed),
    );
    if identity(kept) == Some(was) {
        say_to(kept, &format!("at exit: {}", outcome(decision)));
    }
}

fn outcome(decision: &Decision) -> String {
    let mut words = String::new();
    let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
    let summary = match decision {
        Decision::Counter(_) => CLOCK.summary(),
        _ => None,
    };
    let _ = match (decision, &summary) {
        (Decision::Counter(_), None) => write!(words, "clock: never read"),
        (Decision::Counter(_), Some(_)) if ROUTES.counter_is_forbidden() => write!(
            words,
            "clock: the kernel's, because the program forbade the counter"
        ),
        (Decision::Counter(_), Some(summary)) => match summary.source {
            Source::Counter => write!(words, "clock: the CPU counter"),
            Source::Kernel(reason) => write!(words, "clock: the kernel's, because {reason}"),
        },
        _ => write!(words, "clock: the kernel's own"),
    };
    if let Some(summary) = summary {
        let _ = write!(
            words,
            ", compared {} times with the kernel's, off by at most {:.2} us",
            summary.anchors,
            summary.worst_off_ns as f64 / 1e3
        );
        if let Some(reason) = summary.last_loss {
            let _ = write!(words, ", given up {} times ({reason})", summary.losses);
        }
    }
    if HYBRID.load(Ordering::Relaxed) {
        let _ = write!(
            words,
            "; {} hybrid sleeps, {:.3} s spun, {} cut by the budget",
            count(&DONE.sleeps),
            count(&DONE.spun_ns) as f64 / 1e9,
            count(&DONE.limited)
        );
    }
    words
}

/// One line on standard error, in one write; lost where that is closed.
pub fn say(words: &str) {
    say_to(STDERR, words);
}

fn say_to(fd: i32, words: &str) {
    let name = std::fs::read("/proc/self/comm").unwrap_or_default();
    let name = name.strip_suffix(b"\n").unwrap_or(&name);
    let line = line(&String::from_utf8_lossy(name), std::process::id(), words);
    // SAFETY: the line's own bytes.
    unsafe { libc::write(fd, line.as_ptr().cast(), line.len()) };
}

/// A line of which no part acts on a terminal: whoever runs a program calls it as he likes.
fn line(name: &str, pid: u32, words: &str) -> String {
    let line = format!("tompion: {name}[{pid}]: {words}");
    let is_printable = |c: char| "'\"\\".contains(c) || c.escape_debug().len() == 1;
    let shown = line.chars().map(|c| if is_printable(c) { c } else { ' ' });
    shown.chain(['\n']).collect()
}

/// Device and inode of an open file.
fn identity(fd: i32) -> Option<(u64, u64)> {
    // SAFETY: all zeros are a valid `stat`.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: valid to write to; a closed descriptor is an error.
    (unsafe { libc::fstat(fd, &mut stat) } == 0).then_some((stat.st_dev as _, stat.st_ino as _))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_acts_on_a_terminal_or_breaks_the_line() {
        let name = "a\u{1b}]0;X\u{7}\n\u{9b}2J\u{202e}";
        assert_eq!(
            line(name, 7, "it's \"µs\""),
            "tompion: a ]0;X   2J [7]: it's \"µs\"\n"
        );
    }
}
