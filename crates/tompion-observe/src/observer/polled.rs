//! Which growth of a counter means that something was disturbed (pure).
//!
//! | counter | threshold within one window | cause |
//! |---|---|---|
//! | steal of a watched CPU | one tick of `/proc/stat` (10 ms) | stolen |
//! | run delay of a watched thread | 1 % of the window | preempted |
//! | throttling of the control group | any | throttled |
//! | major faults of a watched thread | any | page fault |
//! | softirq time of a watched CPU | one tick | softirq |
//! | interrupt time of a watched CPU | one tick | hard interrupt |
//! | wall clock minus monotonic clock | 10 us beyond what the reading may be wrong | clock step |
//!
//! Everything else is kept as a series and marks nothing: it does not say that a
//! measurement suffered.

use tompion_cause::{Cause, Disturbance, Source};

use super::series::{Column, Role};

/// Share of a window that a thread may wait for a CPU unmarked.
const RUN_DELAY_SHARE: f64 = 0.01;
/// How far the clocks may seem to part unmarked.
const CLOCK_STEP_NS: i64 = 10_000;

/// Which recorded events make a polled reason of that kind unnecessary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Covered {
    Never,
    BySwitches,
    ByFaults,
    ByCpuEvents,
}

/// What happened between two rows, for all that the counters say.
pub(super) fn disturbances<'a>(
    columns: &'a [Column],
    before: (u64, &'a [i64]),
    after: (u64, &'a [i64]),
) -> impl Iterator<Item = (Disturbance, Covered)> + 'a {
    let (from_ns, until_ns) = (before.0, after.0);
    let window_ns = until_ns.saturating_sub(from_ns) as f64;
    columns.iter().enumerate().filter_map(move |(i, column)| {
        let grown = after.1[i] - before.1[i];
        let cpu = |n: u32| Some(format!("CPU {n}"));
        let (cause, by, covered) = match column.role {
            Role::Plain => return None,
            // These count in ticks: any growth is at least one.
            Role::Steal(n) if grown > 0 => (Cause::Stolen, cpu(n), Covered::Never),
            Role::SoftirqTime(n) if grown > 0 => (Cause::Softirq, cpu(n), Covered::ByCpuEvents),
            Role::InterruptTime(n) if grown > 0 => {
                (Cause::HardInterrupt, cpu(n), Covered::ByCpuEvents)
            }
            Role::RunDelay(_) if grown as f64 > RUN_DELAY_SHARE * window_ns => {
                (Cause::Preempted, None, Covered::BySwitches)
            }
            Role::Throttled if grown > 0 => (Cause::Throttled, None, Covered::Never),
            Role::MajorFaults(_) if grown > 0 => {
                (Cause::PageFault, Some("disk".to_owned()), Covered::ByFaults)
            }
            Role::ClockOffset => {
                let unsure_ns = before.1[i + 1] + after.1[i + 1];
                if grown.abs() <= CLOCK_STEP_NS + unsure_ns {
                    return None;
                }
                let by = format!("{:+.6} s", grown as f64 / 1e9);
                (Cause::ClockStep, Some(by), Covered::Never)
            }
            _ => return None,
        };
        let source = Source::Polled;
        Some((
            Disturbance {
                from_ns,
                until_ns,
                cause,
                by,
                source,
            },
            covered,
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn columns() -> Vec<Column> {
        let roles = [
            Role::Steal(3),
            Role::RunDelay(7),
            Role::Throttled,
            Role::MajorFaults(7),
            Role::SoftirqTime(3),
            Role::InterruptTime(3),
            Role::ClockOffset,
            Role::Plain,
        ];
        let column = |role| Column {
            name: String::new(),
            unit: "",
            is_counter: true,
            role,
        };
        roles.map(column).to_vec()
    }

    fn found(after: [i64; 8]) -> Vec<(Cause, Option<String>, Covered)> {
        let columns = columns();
        let before = [0, 0, 0, 0, 0, 0, 0, 200];
        let found = disturbances(&columns, (1000, &before), (100_001_000, &after));
        let all: Vec<_> = found.collect();
        assert!(
            all.iter()
                .all(|(d, _)| d.from_ns == 1000 && d.until_ns == 100_001_000)
        );
        assert!(all.iter().all(|(d, _)| d.source == Source::Polled));
        all.into_iter().map(|(d, c)| (d.cause, d.by, c)).collect()
    }

    #[test]
    fn quiet_counters_say_nothing() {
        assert_eq!(found([0, MS / 2, 0, 0, 0, 0, 9_000, 300]), []);
    }

    #[test]
    fn each_rule_has_its_threshold() {
        let cpu = Some("CPU 3".to_owned());
        let cases = [
            (
                [10 * MS, 0, 0, 0, 0, 0, 0, 200],
                Cause::Stolen,
                cpu.clone(),
                Covered::Never,
            ),
            (
                [0, 2 * MS, 0, 0, 0, 0, 0, 200],
                Cause::Preempted,
                None,
                Covered::BySwitches,
            ),
            (
                [0, 0, 1, 0, 0, 0, 0, 200],
                Cause::Throttled,
                None,
                Covered::Never,
            ),
            (
                [0, 0, 0, 1, 0, 0, 0, 200],
                Cause::PageFault,
                Some("disk".to_owned()),
                Covered::ByFaults,
            ),
            (
                [0, 0, 0, 0, 10 * MS, 0, 0, 200],
                Cause::Softirq,
                cpu.clone(),
                Covered::ByCpuEvents,
            ),
            (
                [0, 0, 0, 0, 0, 10 * MS, 0, 200],
                Cause::HardInterrupt,
                cpu,
                Covered::ByCpuEvents,
            ),
            (
                [0, 0, 0, 0, 0, 0, -50 * MS, 200],
                Cause::ClockStep,
                Some("-0.050000 s".to_owned()),
                Covered::Never,
            ),
        ];
        for (after, cause, by, covered) in cases {
            assert_eq!(found(after), [(cause, by, covered)]);
        }
    }
}
