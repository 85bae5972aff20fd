//! Causes as they are shown: threads of one name together.

use std::collections::HashMap;

use tompion_model::CauseTotal;

use crate::figures::{count, plural};

/// Threads of the same name in one row, the greatest loss first: a load of a hundred
/// threads would fill a page otherwise. A name that one thread bears keeps its number.
pub(crate) fn by_name(causes: &[CauseTotal]) -> Vec<CauseTotal> {
    let mut groups: Vec<(CauseTotal, u64)> = Vec::new();
    let mut places = HashMap::new();
    for c in causes {
        let place = *places
            .entry((c.cause, name(c.by.as_deref())))
            .or_insert(groups.len());
        match groups.get_mut(place) {
            Some((group, threads)) => {
                *threads += 1;
                group.ns += c.ns;
                group.parts += c.parts;
                group.longest_ns = group.longest_ns.max(c.longest_ns);
            }
            None => groups.push((c.clone(), 1)),
        }
    }
    let mut shown: Vec<CauseTotal> = groups
        .into_iter()
        .map(|(mut group, threads)| {
            if threads > 1 {
                let word = plural(threads, "thread", "threads");
                group.by = name(group.by.as_deref())
                    .map(|name| format!("{name} ({} {word})", count(threads)));
            }
            group
        })
        .collect();
    shown.sort_by_key(|c| std::cmp::Reverse(c.ns));
    shown
}

/// `hog` of `hog[1234]`; what bears no number is its own name.
fn name(by: Option<&str>) -> Option<&str> {
    let by = by?;
    let numbered = by.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    Some(match numbered {
        Some((name, number)) if number.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => by,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tompion_cause::Cause;

    fn lost(cause: Cause, by: &str, ns: u64) -> CauseTotal {
        CauseTotal {
            cause,
            by: Some(by.to_owned()),
            ns,
            parts: 1,
            longest_ns: ns,
        }
    }

    #[test]
    fn threads_of_one_name_are_one_row() {
        let shown = by_name(&[
            lost(Cause::Preempted, "hog[7]", 90),
            lost(Cause::Preempted, "load[1]", 60),
            lost(Cause::Preempted, "load[2]", 50),
            lost(Cause::Softirq, "NET_RX", 5),
            lost(Cause::Softirq, "TIMER", 4),
        ]);
        let rows: Vec<_> = shown
            .iter()
            .map(|c| (c.by.as_deref().unwrap(), c.ns, c.parts, c.longest_ns))
            .collect();
        assert_eq!(
            rows,
            [
                ("load (2 threads)", 110, 2, 60),
                ("hog[7]", 90, 1, 90),
                ("NET_RX", 5, 1, 5),
                ("TIMER", 4, 1, 4),
            ]
        );
    }

    #[test]
    fn the_same_name_with_another_cause_stays_apart() {
        let shown = by_name(&[
            lost(Cause::Preempted, "load[1]", 60),
            lost(Cause::Stopped, "load[1]", 50),
        ]);
        assert_eq!(shown.len(), 2);
        assert_eq!(shown[0].by.as_deref(), Some("load[1]"));
    }
}
