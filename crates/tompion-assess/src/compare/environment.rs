//! What differs in the machines, kernels and programs behind the sides.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::compare::Side;

/// One thing that is not the same everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its name, for example `kernel release`.
    pub what: String,
    /// What each side has, in their order; `None` where a side lacks it.
    pub values: Vec<Option<String>>,
}

/// States of the moment, which differ between any two runs and explain nothing.
const OF_THE_MOMENT: [&str; 8] = [
    "machine memory available bytes",
    "virtualization steal ms",
    "synchronisation offset ns",
    "synchronisation frequency ppm",
    "synchronisation estimated error ns",
    "synchronisation maximum error ns",
    "cgroup throttled periods",
    "time keeping",
];

/// What bears on timing most comes first.
const FIRST: [&str; 9] = [
    "version of Tompion",
    "kernel",
    "clock",
    "virtualization",
    "container",
    "mitigations",
    "power",
    "scheduling",
    "cgroup",
];

/// Everything that differs between the environments of the sides; nothing where there
/// is but one side or all come from one run.
pub fn differences(sides: &[Side]) -> Vec<Difference> {
    let is_of_one_run = sides
        .windows(2)
        .all(|two| Arc::ptr_eq(&two[0].header, &two[1].header));
    if is_of_one_run {
        return Vec::new();
    }
    let flat: Vec<BTreeMap<String, String>> = sides.iter().map(of_side).collect();
    let mut names: Vec<&String> = flat.iter().flat_map(BTreeMap::keys).collect();
    names.sort_unstable();
    names.dedup();
    let mut found: Vec<Difference> = names
        .into_iter()
        .filter(|name| !OF_THE_MOMENT.iter().any(|m| name.starts_with(m)))
        .filter_map(|name| {
            let values: Vec<Option<String>> = flat.iter().map(|f| f.get(name).cloned()).collect();
            let same = values.iter().all(|v| *v == values[0]);
            (!same).then(|| Difference {
                what: name.clone(),
                values,
            })
        })
        .collect();
    let rank = |d: &Difference| FIRST.iter().position(|f| d.what.starts_with(f));
    found.sort_by_key(|d| rank(d).unwrap_or(FIRST.len()));
    found
}

fn of_side(side: &Side) -> BTreeMap<String, String> {
    let mut flat = BTreeMap::new();
    flat.insert("version of Tompion".to_owned(), side.header.tool.clone());
    flat.insert("guards".to_owned(), side.header.guards.join(", "));
    let environment = serde_json::to_value(&side.header.environment).unwrap_or_default();
    flatten("", &environment, &mut flat);
    flat
}

/// Leaves of a JSON value by the words on the way to them.
fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let name = name.replace('_', " ");
                let path = match path {
                    "" => name,
                    _ => format!("{path} {name}"),
                };
                flatten(&path, field, into);
            }
        }
        Value::Array(items) if items.iter().all(|i| !i.is_object()) => {
            let items: Vec<String> = items.iter().map(text).collect();
            into.insert(path.to_owned(), items.join(", "));
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                flatten(&format!("{path} {}", i + 1), item, into);
            }
        }
        Value::Null => {}
        leaf => {
            into.insert(path.to_owned(), text(leaf));
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::comparison::tests::side;

    #[test]
    fn what_bears_on_timing_comes_first_and_the_moment_is_left_out() {
        let (mut a, mut b) = (side("a", &[1.0]), side("b", &[1.0]));
        assert!(differences(&[a.clone(), b.clone()]).is_empty());
        for (side, release, slack, host) in [(&mut a, "6.1", 1, "x"), (&mut b, "6.12", 50_000, "y")]
        {
            let environment = &mut Arc::make_mut(&mut side.header).environment;
            environment.hostname = host.to_owned();
            environment.kernel.release = Some(release.to_owned());
            environment.clock.timer_slack_ns = Some(slack);
            environment.virtualization.steal_ms = Some(slack);
        }
        Arc::make_mut(&mut b.header)
            .environment
            .mitigations
            .insert("spectre_v2".into(), "off".into());
        let found = differences(&[a, b]);
        let told: Vec<&str> = found.iter().map(|d| d.what.as_str()).collect();
        assert_eq!(
            told,
            [
                "kernel release",
                "clock timer slack ns",
                "mitigations spectre v2",
                "hostname"
            ]
        );
        assert_eq!(found[2].values, [None, Some("off".to_owned())]);
    }
}
