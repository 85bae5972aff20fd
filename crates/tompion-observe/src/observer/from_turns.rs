//! Which turns of a watched thread disturb what it measures (pure).

use tompion_cause::{Cause, Disturbance, Source};

use super::from_events::{LEAST_WAIT_NS, by_whom};
use crate::events::{Turn, Want};

/// The disturbances among a thread's turns, in no order. `seen_ns` are moments, in
/// their order, at which it is known to have run: they end what has no recorded end,
/// and overrule a record whose counterpart is missing. `own` are threads of Tompion.
pub(super) fn disturbances(
    turns: &[Turn],
    seen_ns: &[u64],
    window_end_ns: u64,
    own: &[i32],
) -> Vec<Disturbance> {
    let all = turns.iter().filter_map(|turn| {
        let (from_ns, until_ns) = bounds(turn, seen_ns, window_end_ns);
        let length_ns = until_ns.saturating_sub(from_ns);
        let (cause, by) = match (turn.want, &turn.by) {
            (Want::Stopped, _) => (Cause::Stopped, None),
            (Want::Fault, _) => (Cause::PageFault, None),
            (Want::Queued, _) if length_ns < LEAST_WAIT_NS => return None,
            (_, Some(task)) => by_whom(task, length_ns, own),
            (_, None) => (Cause::Preempted, None),
        };
        Some(Disturbance {
            from_ns,
            until_ns,
            cause,
            by,
            source: Source::Event,
        })
    });
    all.collect()
}

fn bounds(turn: &Turn, seen_ns: &[u64], window_end_ns: u64) -> (u64, u64) {
    let until_ns = turn.until_ns.unwrap_or(window_end_ns).max(turn.from_ns);
    let within = {
        let first = seen_ns.partition_point(|s| *s <= turn.from_ns);
        let end = seen_ns.partition_point(|s| *s < until_ns);
        &seen_ns[first..end.max(first)]
    };
    match (turn.want, within) {
        (_, []) => (turn.from_ns, until_ns),
        // It was queued anew after it ran; that record is missing.
        (Want::Queued, [.., last]) => (*last, until_ns),
        (_, [first, ..]) => (turn.from_ns, *first),
    }
}

#[cfg(test)]
mod tests {
    use tompion_cause::Task;

    use super::*;

    fn turn(from_us: u64, until_us: Option<u64>, want: Want, by: Option<(i32, &str)>) -> Turn {
        Turn {
            from_ns: from_us * 1000,
            until_ns: until_us.map(|us| us * 1000),
            exact: until_us.is_some(),
            want,
            by: by.map(|(tid, name)| Task {
                tid,
                name: Some(name.to_owned()),
            }),
        }
    }

    fn found(turns: &[Turn], seen_us: &[u64]) -> Vec<(u64, u64, Cause, Option<String>)> {
        let seen_ns: Vec<_> = seen_us.iter().map(|us| us * 1000).collect();
        let all = disturbances(turns, &seen_ns, 1_000_000_000, &[77]);
        all.into_iter()
            .map(|d| (d.from_ns / 1000, d.until_ns / 1000, d.cause, d.by))
            .collect()
    }

    #[test]
    fn who_had_the_cpu_is_named() {
        let turns = [
            turn(0, Some(100), Want::Preempted, Some((5, "hog"))),
            turn(200, Some(300), Want::Queued, Some((77, "tompion"))),
            turn(400, Some(400), Want::Behind, Some((6, "kworker"))),
            turn(500, Some(900), Want::Stopped, None),
        ];
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(
            found(&turns, &[]),
            [
                (0, 100, Cause::Preempted, named("hog[5]")),
                (200, 300, Cause::Own, named("tompion[77]")),
                (400, 400, Cause::Preempted, named("kworker[6]")),
                (500, 900, Cause::Stopped, None),
            ]
        );
    }

    #[test]
    fn a_short_queue_is_how_every_wake_up_goes() {
        let queued = |us| turn(0, Some(us), Want::Queued, Some((5, "hog")));
        assert_eq!(found(&[queued(49)], &[]), []);
        assert_eq!(found(&[queued(50)], &[]).len(), 1);
    }

    #[test]
    fn what_has_no_end_lasts_until_the_thread_is_seen() {
        let stopped = turn(100, None, Want::Stopped, None);
        let all = found(std::slice::from_ref(&stopped), &[50, 100, 30_000, 31_000]);
        assert_eq!(all, [(100, 30_000, Cause::Stopped, None)]);
        let all = found(&[stopped], &[50]);
        assert_eq!(all, [(100, 1_000_000, Cause::Stopped, None)]);
        // A quota: the CPU idles though the thread could run.
        let throttled = turn(0, None, Want::Preempted, Some((0, "idle")));
        assert_eq!(found(&[throttled], &[80_000])[0].2, Cause::Throttled);
    }

    #[test]
    fn a_thread_that_was_seen_did_run() {
        let preempted = turn(0, Some(500), Want::Preempted, Some((5, "hog")));
        assert_eq!(found(&[preempted], &[100, 200])[0].1, 100);
        let queued = turn(0, Some(500), Want::Queued, Some((5, "hog")));
        assert_eq!(found(&[queued], &[100, 200])[0].0, 200);
    }
}
