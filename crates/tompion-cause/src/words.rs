//! Causes and lengths of time in words.

use std::fmt;

use crate::{Cause, Part, Task};

impl fmt::Display for Task {
    /// `hog[1234]`, or `[1234]` where the name is not known. A thread outside this PID
    /// namespace has no number here.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, self.tid) {
            (Some(name), ..0) => f.write_str(name),
            (None, ..0) => f.write_str("a thread of another namespace"),
            (name, tid) => write!(f, "{}[{tid}]", name.as_deref().unwrap_or("")),
        }
    }
}

/// A length of time with three significant digits: `850 ns`, `3.40 us`, `80.4 ms`.
pub fn describe_ns(ns: u64) -> String {
    if ns < 1000 {
        return format!("{ns} ns");
    }
    let mut value = ns as f64;
    for unit in ["ns", "us", "ms"] {
        // What would be printed as 1000 belongs to the next unit.
        if value < 999.5 {
            return three_digits(value, unit);
        }
        value /= 1000.0;
    }
    three_digits(value, "s")
}

fn three_digits(value: f64, unit: &str) -> String {
    let places = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.places$} {unit}")
}

/// A cause in words: `preempted by hog[1234]`, `softirq NET_RX`.
pub fn describe_cause(cause: Cause, by: Option<&str>) -> String {
    let (words, joint) = match cause {
        Cause::Preempted => ("preempted", " by "),
        Cause::Throttled => ("throttled by the CPU quota", " of "),
        Cause::Stopped => ("stopped", " by "),
        Cause::Waited => ("waited", " for "),
        Cause::PageFault => ("page fault", " in "),
        Cause::Tick => ("timer tick", ", "),
        Cause::HardInterrupt => ("interrupt", " "),
        Cause::Softirq => ("softirq", " "),
        Cause::Migration => ("moved to another CPU", " by "),
        Cause::Stolen => ("stolen by the hypervisor", ", "),
        Cause::Smi => ("system management mode", ", "),
        Cause::Unseen => ("unseen by the guest", ", "),
        Cause::ClockStep => ("a step of the system clock", ", "),
        Cause::Queued => ("queued behind other packets", " at "),
        Cause::Own => ("Tompion itself", ", "),
        Cause::Unknown => ("unknown", ", "),
    };
    match by {
        Some(by) => format!("{words}{joint}{by}"),
        None => words.to_owned(),
    }
}

/// A part in words: `preempted by hog[1234] for 4.98 ms`.
pub fn describe(part: &Part) -> String {
    let cause = describe_cause(part.cause, part.by.as_deref());
    format!("{cause} for {}", describe_ns(part.ns))
}

/// A whole stall in words, its longest parts first:
/// `5.00 ms: preempted by hog[1234] for 4.98 ms, timer tick for 20.0 us`.
pub fn describe_stall(parts: &[Part]) -> String {
    let total: u64 = parts.iter().map(|p| p.ns).sum();
    let parts: Vec<String> = parts.iter().map(describe).collect();
    format!("{}: {}", describe_ns(total), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    #[test]
    fn lengths_have_three_digits_and_the_right_unit() {
        for (ns, words) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (3_400, "3.40 us"),
            (9_996, "10.0 us"),
            (80_431_234, "80.4 ms"),
            (999_499, "999 us"),
            (999_600, "1.00 ms"),
            (999_999_999, "1.00 s"),
            (3_600_000_000_000, "3600 s"),
        ] {
            assert_eq!(describe_ns(ns), words);
        }
    }

    #[test]
    fn a_thread_of_another_namespace_has_no_number() {
        let task = |tid, name: Option<&str>| Task {
            tid,
            name: name.map(str::to_owned),
        };
        assert_eq!(task(1234, Some("hog")).to_string(), "hog[1234]");
        assert_eq!(task(1234, None).to_string(), "[1234]");
        assert_eq!(task(-4337, Some("python3")).to_string(), "python3");
        let unnamed = task(-4337, None).to_string();
        assert_eq!(unnamed, "a thread of another namespace");
    }

    #[test]
    fn a_part_is_one_phrase() {
        let part = Part {
            cause: Cause::Preempted,
            ns: 4_980_000,
            by: Some("hog[1234]".into()),
            source: Some(Source::Event),
            because: "",
        };
        assert_eq!(describe(&part), "preempted by hog[1234] for 4.98 ms");
        let unknown = Part {
            cause: Cause::Unknown,
            ns: 20_000,
            by: None,
            ..part.clone()
        };
        assert_eq!(
            describe_stall(&[part, unknown]),
            "5.00 ms: preempted by hog[1234] for 4.98 ms, unknown for 20.0 us"
        );
    }
}
