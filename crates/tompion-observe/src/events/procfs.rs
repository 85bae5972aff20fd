//! The little that is asked of `/proc` about threads, CPUs and namespaces.

use std::fs;

use tompion_cause::OffCpu;

/// The CPU where a thread was last, and how it is off it, unless it can run;
/// absent when the thread is gone.
pub(super) fn found(tid: i32) -> Option<(u32, Option<OffCpu>)> {
    let stat = fs::read_to_string(format!("/proc/{tid}/task/{tid}/stat")).ok()?;
    let (state, cpu) = parse_stat(&stat)?;
    let off = match state {
        'R' => None,
        'T' | 't' => Some(OffCpu::Stopped),
        _ => Some(OffCpu::Waiting),
    };
    Some((cpu, off))
}

/// State and CPU: fields 3 and 39 of `proc_pid_stat(5)`. The name before them may
/// contain anything.
fn parse_stat(stat: &str) -> Option<(char, u32)> {
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(35)?.parse().ok()?))
}

/// A thread's name.
pub(super) fn name(tid: i32) -> Option<String> {
    // Threads of other namespaces have none here.
    let tid = u32::try_from(tid).ok()?;
    let name = fs::read_to_string(format!("/proc/{tid}/comm")).ok()?;
    Some(name.trim_end_matches('\n').to_owned())
}

/// CPUs that are in use.
pub(crate) fn online_cpus() -> Vec<u32> {
    let list = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let cpus = parse_list(list.trim());
    if cpus.is_empty() {
        let count = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        return (0..count).collect();
    }
    cpus
}

fn parse_list(list: &str) -> Vec<u32> {
    let ranges = list.split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=last.parse().ok()?)
    });
    ranges.flatten().collect()
}

/// Whether thread numbers here are those that tracepoints carry. The number is
/// the kernel's PROC_PID_INIT_INO.
pub(super) fn initial_pid_namespace() -> bool {
    fs::read_link("/proc/self/ns/pid").is_ok_and(|n| n.as_os_str() == "pid:[4026531836]")
}

/// What this time namespace adds to `CLOCK_MONOTONIC`, and the kernel's events
/// lack.
pub(super) fn monotonic_shift_ns() -> i64 {
    let namespace = |name| fs::read_link(format!("/proc/self/ns/{name}")).ok();
    // The file tells the offsets of children, which may live in another one.
    if namespace("time") != namespace("time_for_children") {
        return 0;
    }
    let offsets = fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
    parse_offsets(&offsets).unwrap_or(0)
}

fn parse_offsets(text: &str) -> Option<i64> {
    let mut words = text
        .lines()
        .find_map(|l| l.strip_prefix("monotonic"))?
        .split_whitespace();
    let mut next = || words.next()?.parse::<i64>().ok();
    Some(next()? * 1_000_000_000 + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_contain_anything() {
        let fields: Vec<_> = (3..=52).map(|n| n.to_string()).collect();
        let stat = format!("7 (a) R 1) {}", fields.join(" ").replacen('3', "S", 1));
        assert_eq!(parse_stat(&stat), Some(('S', 39)));
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!(parse_list("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(parse_list(""), Vec::<u32>::new());
        assert!(!online_cpus().is_empty());
    }

    #[test]
    fn offsets_of_a_time_namespace() {
        let text = "monotonic           -5         7\nboottime       100000         0\n";
        assert_eq!(parse_offsets(text), Some(-4_999_999_993));
    }

    #[test]
    fn finds_this_thread_running() {
        let tid = crate::sys::own_tid();
        let (cpu, off) = found(tid).unwrap();
        assert_eq!(off, None);
        assert!(online_cpus().contains(&cpu));
        assert!(name(tid).is_some());
    }
}
