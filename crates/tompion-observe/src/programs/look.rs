//! One look at all processes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;

use tompion_model::printable;
use tompion_time::os::{self, ClockId};

use crate::kept::numbers;
use crate::sys;

/// As many processes are looked at.
const MOST: usize = 1 << 15;

/// All processes that are seen at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Look {
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Ticks of CPU time in a second.
    pub tick_hz: u64,
    /// CPUs online.
    pub cpus: u32,
    /// Ticks that the hypervisor took, over all CPUs.
    pub stolen: Option<u64>,
    /// The number of this process.
    pub own: i32,
    /// Processes by number.
    pub processes: BTreeMap<i32, Process>,
}

/// One process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Process {
    /// Its name, without what acts on a terminal.
    pub name: String,
    /// Its parent's number.
    pub parent: i32,
    /// Whether it is a thread of the kernel.
    pub is_kernel: bool,
    /// Ticks of CPU time of all its threads.
    pub own: u64,
    /// The same of its children that have ended and were waited for, and of theirs.
    pub ended: u64,
    /// When it started: a number may be given again.
    pub started: u64,
}

impl Look {
    /// Looks; nothing where there is no `/proc`.
    pub fn now() -> Option<Self> {
        // Its number as this /proc has it, whose PID namespace may be another one.
        let own = fs::read_link("/proc/self").ok()?;
        let own = own.to_str()?.parse().ok()?;
        let at_ns = os::now_ns(ClockId::Monotonic);
        let mut buffer = [0; 1024];
        let mut beginning = |path: &str| {
            let length = File::open(path).and_then(|mut file| file.read(&mut buffer));
            length.ok().map(|n| buffer[..n].to_vec())
        };
        let stolen = beginning("/proc/stat").as_deref().and_then(stolen);
        let ids = fs::read_dir("/proc").ok()?.take(MOST).filter_map(|entry| {
            let name = entry.ok()?.file_name();
            name.to_str()?.parse::<i32>().ok()
        });
        let read = |id: i32| Some((id, parsed(&beginning(&format!("/proc/{id}/stat"))?)?));
        let processes = ids.filter_map(read).collect();
        Some(Self {
            at_ns,
            tick_hz: sys::user_hz(),
            cpus: sys::cpus_online(),
            stolen,
            own,
            processes,
        })
    }
}

/// The eighth number of the line of all CPUs.
fn stolen(stat: &[u8]) -> Option<u64> {
    let line = stat.split(|b| *b == b'\n').next()?;
    numbers(line.strip_prefix(b"cpu ")?).nth(7)
}

/// The text of `/proc/PID/stat`. Its second field, in parentheses, may hold anything.
pub(super) fn parsed(stat: &[u8]) -> Option<Process> {
    /// Flag of threads of the kernel (`PF_KTHREAD`).
    const KERNEL: u64 = 0x20_0000;
    let open = stat.iter().position(|b| *b == b'(')?;
    let close = stat.iter().rposition(|b| *b == b')')?;
    let name = String::from_utf8_lossy(stat.get(open + 1..close)?);
    let fields = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    // Counted from the state, which is the third.
    let number = |at: usize| fields.get(at)?.parse::<i64>().ok();
    // Children's are signed, and have been negative.
    let ticks = |at: usize| Some(number(at)?.max(0).unsigned_abs());
    Some(Process {
        name: printable(name.trim()).into_owned(),
        parent: i32::try_from(number(1)?).ok()?,
        is_kernel: ticks(6)? & KERNEL != 0,
        own: ticks(11)?.saturating_add(ticks(12)?),
        ended: ticks(13)?.saturating_add(ticks(14)?),
        started: ticks(19)?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_fields_meant_are_read_whatever_the_name() {
        let stat = b"77 (a) R 1 2\n\x1b[31m) S 5 77 77 0 -1 4194560 9 9 9 9 100 20 3 -4 20 0 1 0 4321 9 9\n";
        let want = Process {
            name: "a) R 1 2  [31m".to_owned(),
            parent: 5,
            is_kernel: false,
            own: 120,
            ended: 3,
            started: 4321,
        };
        assert_eq!(parsed(stat), Some(want));
        let kernel = b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 0 0 0";
        assert!(parsed(kernel).unwrap().is_kernel);
        assert_eq!(parsed(b"77 (short) S 5 77"), None);
        assert_eq!(parsed(b"77 )a( S 5 77"), None);
    }

    #[test]
    fn steal_is_the_eighth_of_all_cpus() {
        let stat = b"cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(stolen(stat), Some(88));
        assert_eq!(
            stolen(b"cpu  1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7 8 9 10\n"),
            None
        );
        assert_eq!(stolen(b"intr 5"), None);
    }

    #[test]
    fn this_process_and_its_parent_are_seen() {
        let look = Look::now().unwrap();
        let own = &look.processes[&look.own];
        assert!(look.processes.contains_key(&own.parent) || own.parent == 0);
        assert!(!own.is_kernel && own.started > 0 && look.cpus > 0 && look.tick_hz > 0);
    }

    proptest! {
        #[test]
        fn whatever_stands_there_is_taken_or_left(text in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(process) = parsed(&text) {
                prop_assert!(process.name.chars().all(tompion_model::is_printable));
            }
        }

        #[test]
        fn a_name_changes_no_figure(name in r"[ -~\n\x1b]{0,15}", own in 0u64..1 << 40, parent in 0..i32::MAX) {
            let stat = format!("9 ({name}) R {parent} 0 0 0 0 0 0 0 0 0 {own} 1 0 0 20 0 1 0 55 0 0");
            let process = parsed(stat.as_bytes()).unwrap();
            prop_assert_eq!((process.own, process.parent, process.started), (own + 1, parent, 55));
        }
    }
}
