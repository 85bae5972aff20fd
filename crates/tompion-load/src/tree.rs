//! All descendants of a process: their CPU time, and signals to each of them.
//!
//! A driver may put its workers anywhere (own groups, own sessions, orphans), so
//! its process group is not enough. Its supervisor is a subreaper: whatever the
//! driver started stays below it in the tree.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use procfs::process::Stat;
use tompion_time::os;

use crate::sys::cpu_time_ns;

/// How long to wait between two looks at the tree.
const LOOK_EVERY: Duration = Duration::from_micros(500);

/// All descendants of `root` that still run, without `root` itself.
///
/// # Errors
/// If `/proc` cannot be read. Processes that end meanwhile are left out.
pub fn descendants(root: Pid) -> io::Result<Vec<Stat>> {
    let all = procfs::process::all_processes().map_err(io::Error::other)?;
    let stats = all.filter_map(|process| process.ok()?.stat().ok());
    Ok(below(root.as_raw(), stats))
}

fn below(root: i32, stats: impl Iterator<Item = Stat>) -> Vec<Stat> {
    let mut children: HashMap<i32, Vec<Stat>> = HashMap::new();
    for stat in stats {
        children.entry(stat.ppid).or_default().push(stat);
    }
    let mut found = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            parents.push(child.pid);
            if !matches!(child.state, 'Z' | 'X') {
                found.push(child);
            }
        }
    }
    found
}

/// CPU time of all descendants of `root` so far, in nanoseconds, with that of
/// ended ones.
///
/// Ended processes count through their parents, in clock ticks of usually 10 ms;
/// running ones to the nanosecond.
///
/// # Errors
/// If `/proc` cannot be read.
pub fn descendants_cpu_time_ns(root: Pid) -> io::Result<u64> {
    let tick_ns = 1_000_000_000 / procfs::ticks_per_second().max(1);
    let reaped = |stat: &Stat| (stat.cutime + stat.cstime).max(0) as u64 * tick_ns;
    let own = procfs::process::Process::new(root.as_raw())
        .and_then(|process| process.stat())
        .map_err(io::Error::other)?;
    let running: u64 = descendants(root)?
        .iter()
        .map(|stat| cpu_time_ns(Pid::from_raw(stat.pid)).unwrap_or(0) + reaped(stat))
        .sum();
    Ok(running + reaped(&own))
}

/// Stops every descendant; returns when all of them have stopped.
///
/// # Errors
/// If `/proc` cannot be read, or after `limit`.
pub fn stop_descendants(root: Pid, limit: Duration) -> io::Result<()> {
    // A process that starts another while it is being stopped is caught next time.
    signal_until(root, Signal::SIGSTOP, limit, |stat| stat.state == 'T')
}

/// Lets every descendant go on.
///
/// # Errors
/// If `/proc` cannot be read, or if a process stays stopped for longer than `limit`.
pub fn continue_descendants(root: Pid, limit: Duration) -> io::Result<()> {
    signal_until(root, Signal::SIGCONT, limit, |stat| stat.state != 'T')
}

/// Kills every descendant; returns when none runs.
///
/// # Errors
/// If `/proc` cannot be read, or after `limit`.
pub fn kill_descendants(root: Pid, limit: Duration) -> io::Result<()> {
    signal_until(root, Signal::SIGKILL, limit, |_| false)
}

/// Signals descendants until all that are left are as wanted.
fn signal_until(
    root: Pid,
    signal: Signal,
    limit: Duration,
    as_wanted: impl Fn(&Stat) -> bool,
) -> io::Result<()> {
    let deadline = Instant::now() + limit;
    loop {
        let mut others = descendants(root)?;
        others.retain(|stat| !as_wanted(stat));
        if others.is_empty() {
            return Ok(());
        }
        for stat in &others {
            match kill(Pid::from_raw(stat.pid), signal) {
                Ok(()) | Err(Errno::ESRCH) => {}
                Err(e) => return Err(e.into()),
            }
        }
        if Instant::now() > deadline {
            let names: Vec<_> = others
                .iter()
                .map(|s| format!("{} ({})", s.pid, s.comm))
                .collect();
            let message = format!("{signal} had no effect on {}", names.join(", "));
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        os::sleep(LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use procfs::FromRead;

    fn stat(pid: i32, ppid: i32, state: char) -> Stat {
        let zeros = "0 ".repeat(46);
        let line = format!("{pid} (a) b) {state} {ppid} {zeros}");
        Stat::from_read(line.as_bytes()).unwrap()
    }

    #[test]
    fn descendants_are_found_at_any_depth() {
        let all = [
            stat(1, 0, 'S'),
            stat(5, 1, 'S'),
            stat(9, 5, 'R'),
            stat(7, 9, 'Z'),
            stat(8, 7, 'T'),
            stat(6, 1, 'S'),
            stat(10, 6, 'R'),
        ];
        let mut pids: Vec<_> = below(5, all.into_iter()).iter().map(|s| s.pid).collect();
        pids.sort_unstable();
        assert_eq!(pids, [8, 9], "below 5, without the dead 7");
        assert!(below(5, std::iter::empty()).is_empty());
    }
}
