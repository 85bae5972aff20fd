//! What others than Tompion used between two looks (pure).

use std::collections::{BTreeMap, BTreeSet};

use tompion_model::{CpuUse, ProgramUse};

use super::look::{Look, Process};

/// What programs of Tompion are called: a worker of a lab is a child of the lab's own.
const OURS: &str = "tompion";

/// Who used the CPUs from one look to the next.
pub(super) fn used(before: &Look, after: &Look) -> CpuUse {
    let own = own(before, after);
    let used_before = used_before(before, after);
    let mut programs: BTreeMap<String, u64> = BTreeMap::new();
    let mut kernel = None;
    for (id, process) in &after.processes {
        let known = same(before, *id, process);
        let ran = process.own.saturating_sub(known.map_or(0, |p| p.own));
        if process.is_kernel {
            *kernel.get_or_insert(0) += ran;
            continue;
        }
        if own.contains(id) {
            continue;
        }
        *programs.entry(process.name.clone()).or_default() += ran;
        // What ended meanwhile and was waited for; part of it was used before.
        let ended = process.ended.saturating_sub(known.map_or(0, |p| p.ended));
        let children = ended.saturating_sub(used_before.get(id).copied().unwrap_or(0));
        if children > 0 {
            let name = format!("children of {}", process.name);
            *programs.entry(name).or_default() += children;
        }
    }
    let ns = |ticks: u64| {
        let ns = u128::from(ticks) * 1_000_000_000 / u128::from(after.tick_hz.max(1));
        u64::try_from(ns).unwrap_or(u64::MAX)
    };
    let all = programs
        .values()
        .fold(0, |sum: u64, n| sum.saturating_add(*n));
    let mut most: Vec<(String, u64)> = programs.into_iter().filter(|p| p.1 > 0).collect();
    most.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
    most.truncate(CpuUse::MOST);
    let stolen = before.stolen.zip(after.stolen);
    CpuUse {
        watched_ns: after.at_ns.saturating_sub(before.at_ns),
        cpus: after.cpus,
        programs_ns: ns(all),
        kernel_threads_ns: kernel.map(ns),
        stolen_ns: stolen.map(|(before, after)| ns(after.saturating_sub(before))),
        most: most
            .into_iter()
            .map(|(name, ticks)| ProgramUse {
                name,
                cpu_time_ns: ns(ticks),
            })
            .collect(),
    }
}

/// The same process in another look.
fn same<'l>(look: &'l Look, id: i32, process: &Process) -> Option<&'l Process> {
    let found = look.processes.get(&id)?;
    (found.started == process.started).then_some(found)
}

/// What had been used before the first look by processes that ended by the second, by who has
/// it among what its ended children used: the nearest above that lives on.
fn used_before(before: &Look, after: &Look) -> BTreeMap<i32, u64> {
    let lives_on = |id: i32| {
        let process = before.processes.get(&id)?;
        same(after, id, process)
    };
    let mut found: BTreeMap<i32, u64> = BTreeMap::new();
    for (id, process) in &before.processes {
        if lives_on(*id).is_some() {
            continue;
        }
        let mut above = process.parent;
        // In a loop of parents nobody is.
        for _ in 0..before.processes.len() {
            match before.processes.get(&above) {
                Some(next) if lives_on(above).is_none() => above = next.parent,
                _ => break,
            }
        }
        let used = found.entry(above).or_default();
        *used = used.saturating_add(process.own.saturating_add(process.ended));
    }
    found
}

/// Processes of Tompion in either look: this one, those above it that are Tompion's, and all that
/// descend from them.
fn own(before: &Look, after: &Look) -> BTreeSet<i32> {
    let mut top = after.own;
    let mut at = top;
    // In a loop of parents nobody is, and nobody goes round twice.
    for _ in 0..after.processes.len() {
        let Some(parent) = after.processes.get(&at).map(|p| p.parent) else {
            break;
        };
        at = parent;
        if after
            .processes
            .get(&at)
            .is_some_and(|p| p.name.starts_with(OURS))
        {
            top = at;
        }
    }
    let mut own = BTreeSet::from([top]);
    for look in [before, after] {
        let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for (id, process) in &look.processes {
            children.entry(process.parent).or_default().push(*id);
        }
        let mut left: Vec<i32> = own.iter().copied().collect();
        while let Some(id) = left.pop() {
            own.insert(id);
            let new = children.remove(&id).unwrap_or_default();
            left.extend(new);
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number, name, parent, ticks of its own and of ended children.
    type Row = (i32, &'static str, i32, u64, u64);

    fn look(at_ms: u64, rows: &[Row]) -> Look {
        let process = |&(id, name, parent, own, ended): &Row| {
            let process = Process {
                name: name.to_owned(),
                parent,
                is_kernel: parent == 2 || id == 2,
                own,
                ended,
                started: 7,
            };
            (id, process)
        };
        Look {
            at_ns: at_ms * 1_000_000,
            tick_hz: 100,
            cpus: 2,
            stolen: Some(at_ms / 100),
            own: 50,
            processes: rows.iter().map(process).collect(),
        }
    }

    const MS: u64 = 1_000_000;

    fn most(found: &CpuUse) -> Vec<(&str, u64)> {
        let most = found.most.iter();
        most.map(|p| (p.name.as_str(), p.cpu_time_ns / MS))
            .collect()
    }

    #[test]
    fn others_are_named_and_our_own_are_left_out() {
        let before = look(
            0,
            &[
                (1, "init", 0, 5, 0),
                (2, "kthreadd", 0, 0, 0),
                (3, "kworker", 2, 10, 0),
                // The lab, and what it started beside us.
                (40, "tompion", 1, 100, 0),
                (50, "tompion-worker", 40, 10, 0),
                (51, "load", 50, 0, 0),
                (60, "cc1", 1, 500, 0),
                (61, "cc1", 1, 500, 0),
            ],
        );
        let after = look(
            1_000,
            &[
                (1, "init", 0, 5, 0),
                (2, "kthreadd", 0, 0, 0),
                (3, "kworker", 2, 12, 0),
                (40, "tompion", 1, 110, 0),
                (50, "tompion-worker", 40, 40, 0),
                (51, "load", 50, 90, 0),
                (52, "stress-ng", 51, 90, 0),
                (53, "neighbour", 40, 50, 0),
                (60, "cc1", 1, 580, 0),
                (61, "cc1", 1, 590, 0),
                // As new as the number.
                (70, "sshd", 1, 4, 0),
            ],
        );
        let found = used(&before, &after);
        assert_eq!(most(&found), [("cc1", 1_700), ("sshd", 40)]);
        assert_eq!(found.programs_ns, 1_740 * MS);
        assert_eq!(found.kernel_threads_ns, Some(20 * MS));
        assert_eq!(found.stolen_ns, Some(100 * MS));
        assert_eq!((found.watched_ns, found.cpus), (1_000 * MS, 2));
        assert_eq!(found.share(found.programs_ns), 0.87);
    }

    #[test]
    fn what_began_and_ended_is_told_under_who_waited_for_it() {
        let before = look(
            0,
            &[
                (50, "tompion", 1, 0, 0),
                (60, "make", 1, 1, 1_000),
                // Had run before.
                (61, "cc1", 60, 300, 0),
            ],
        );
        let after = look(
            1_000,
            &[(50, "tompion", 1, 9, 0), (60, "make", 1, 2, 1_380)],
        );
        let found = used(&before, &after);
        assert_eq!(most(&found), [("children of make", 800), ("make", 10)]);
        assert_eq!(found.kernel_threads_ns, None, "none are seen");
    }

    #[test]
    fn of_a_whole_tree_that_ended_only_what_is_new_counts() {
        let before = look(
            0,
            &[
                (50, "tompion", 1, 0, 0),
                (60, "bash", 1, 0, 70),
                (61, "cargo", 60, 10, 500),
                (62, "rustc", 61, 4_000, 30),
            ],
        );
        // All of it, and 25 ticks since.
        let ended = 70 + 510 + 4_030 + 25;
        let after = look(
            1_000,
            &[(50, "tompion", 1, 0, 0), (60, "bash", 1, 0, ended)],
        );
        assert_eq!(most(&used(&before, &after)), [("children of bash", 250)]);
    }

    #[test]
    fn a_number_given_again_is_another_process() {
        let before = look(0, &[(50, "tompion", 1, 0, 0), (60, "old", 1, 900, 0)]);
        let mut after = look(1_000, &[(50, "tompion", 1, 0, 0), (60, "new", 1, 30, 0)]);
        after.processes.get_mut(&60).unwrap().started = 8;
        assert_eq!(most(&used(&before, &after)), [("new", 300)]);
    }

    #[test]
    fn three_names_are_kept_and_all_time_counts() {
        let of = |ticks: u64| {
            let rows = [
                (60, "a", 1, ticks, 0),
                (61, "b", 1, 2 * ticks, 0),
                (62, "c", 1, 3 * ticks, 0),
                (63, "d", 1, 4 * ticks, 0),
            ];
            look(ticks * 10, &rows)
        };
        let found = used(&of(0), &of(10));
        assert_eq!(most(&found), [("d", 400), ("c", 300), ("b", 200)]);
        assert_eq!(found.programs_ns, 1_000 * MS);
    }

    #[test]
    fn parents_in_a_loop_end() {
        let of = |at| look(at, &[(50, "a", 51, at, 0), (51, "b", 50, at, 0)]);
        assert_eq!(used(&of(0), &of(10)).programs_ns, 0);
    }
}
