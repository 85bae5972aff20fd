//! The calling thread's counters, as an unprivileged user reads them.

use std::fs::File;
use std::io::{Read, Seek};

use tompion_cause::{Access, Cause, Counters, Evidence, Part, attribute};
use tompion_probe::stalls::Row;
use tompion_time::os::{self, ClockId};

/// Files of the thread under /proc, kept open.
pub struct Proc {
    schedstat: File,
    status: File,
    stat: File,
    text: String,
}

impl Proc {
    pub fn of_this_thread() -> Self {
        let open = |name| File::open(format!("/proc/thread-self/{name}")).unwrap();
        Self {
            schedstat: open("schedstat"),
            status: open("status"),
            stat: open("stat"),
            text: String::with_capacity(1 << 14),
        }
    }

    fn text<'a>(file: &mut File, text: &'a mut String) -> &'a str {
        text.clear();
        file.rewind().unwrap();
        file.read_to_string(text).unwrap();
        text
    }

    pub fn read(&mut self) -> Counters {
        let at_ns = os::now_ns(ClockId::Monotonic);
        let cpu_time_ns = os::now_ns(ClockId::ThreadCpu);
        let run_delay_ns = Self::text(&mut self.schedstat, &mut self.text)
            .split_whitespace()
            .nth(1)
            .and_then(|n| n.parse().ok());
        let status = Self::text(&mut self.status, &mut self.text);
        let switches = |name| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse().ok()
        };
        let voluntary_switches = switches("voluntary_ctxt_switches:");
        let involuntary_switches = switches("nonvoluntary_ctxt_switches:");
        let stat = Self::text(&mut self.stat, &mut self.text);
        // From field 2 on: the name, which may contain anything, ends with it.
        let rest = &stat[stat.rfind(')').unwrap()..];
        let field = |number: usize| rest.split_whitespace().nth(number - 2)?.parse().ok();
        Counters {
            at_ns,
            cpu_time_ns,
            run_delay_ns,
            voluntary_switches,
            involuntary_switches,
            minor_faults: field(10),
            major_faults: field(12),
            throttled_ns: None,
            smi: None,
        }
    }
}

/// The causes of a row by its counters, without any event.
pub fn causes(row: &Row) -> Vec<Part> {
    let evidence = Evidence {
        before: row.before,
        after: row.after,
        elsewhere_ns: row.elsewhere_ns,
        spans: &[],
        access: &Access::default(),
    };
    let parts = attribute(&row.stall, &evidence);
    let length = row.stall.until_ns - row.stall.from_ns;
    assert_eq!(parts.iter().map(|p| p.ns).sum::<u64>(), length);
    parts
}

pub fn ns_of(parts: &[Part], cause: Cause) -> u64 {
    let of_it = parts.iter().filter(|p| p.cause == cause);
    of_it.map(|p| p.ns).sum()
}
