//! The machine's description as grouped pairs of label and value.
//!
//! Rendered from the serialised form, so that a field added to
//! [`Environment`] shows up here without being named twice.

use serde_json::{Map, Value};
use tompion_record::{Environment, format_ns};

use crate::figures::{count, plain, real};

/// Values that belong together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    /// Heading.
    pub title: String,
    /// Label and value.
    pub rows: Vec<(String, String)>,
}

/// `tompion env`: the environment as aligned lines in groups.
pub fn environment_text(environment: &Environment) -> String {
    let groups = groups(environment);
    let rows = || groups.iter().flat_map(|g| &g.rows);
    let width = rows().map(|r| r.0.chars().count()).max().unwrap_or(0).min(40);
    let mut out = String::new();
    for (i, group) in groups.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        out.push_str(&plain(&group.title));
        out.push('\n');
        for (label, value) in &group.rows {
            let pad = " ".repeat(width.saturating_sub(label.chars().count()));
            out.push_str(&format!("  {}{pad}  {}\n", plain(label), plain(value)));
        }
    }
    out
}

/// All groups; what stands alone comes first, under `Machine`.
pub(crate) fn groups(environment: &Environment) -> Vec<Group> {
    let value = serde_json::to_value(environment).unwrap_or(Value::Null);
    let Value::Object(top) = value else { return Vec::new() };
    let (nested, alone): (Map<_, _>, Map<_, _>) =
        top.into_iter().partition(|(_, v)| is_group(v));
    let mut groups = vec![Group {
        title: "Machine".to_owned(),
        rows: rows_of(&alone),
    }];
    for (name, value) in &nested {
        let rows = match value {
            Value::Object(map) => rows_of(map),
            _ => Vec::new(),
        };
        groups.push(Group { title: label(name), rows });
    }
    groups.retain(|g| !g.rows.is_empty());
    groups
}

/// Whether something in the machine's description says that it is emulated, in
/// whatever field.
pub(crate) fn emulation(environment: &Environment) -> Option<String> {
    fn search(name: &str, value: &Value) -> Option<String> {
        let about = name.contains("emulat");
        match value {
            Value::Bool(true) if about => Some("emulated".to_owned()),
            Value::String(s) if about && !s.is_empty() => Some(s.clone()),
            Value::Array(items) if about && !items.is_empty() => {
                Some(scalar(name, value).unwrap_or_else(|| "emulated".to_owned()))
            }
            Value::Object(map) => map.iter().find_map(|(n, v)| search(n, v)),
            Value::Array(items) => items.iter().find_map(|v| search("", v)),
            _ => None,
        }
    }
    search("", &serde_json::to_value(environment).ok()?)
}

fn is_group(value: &Value) -> bool {
    matches!(value, Value::Object(_))
}

fn rows_of(map: &Map<String, Value>) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for (name, value) in map {
        flatten(&label(name), name, value, &mut rows);
    }
    rows
}

fn flatten(title: &str, name: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    if let Some(text) = scalar(name, value) {
        rows.push((title.to_owned(), text));
        return;
    }
    match value {
        Value::Object(map) => {
            for (inner, v) in map {
                flatten(&format!("{title}: {}", label_lower(inner)), inner, v, rows);
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                flatten(&format!("{title} {}", i + 1), name, item, rows);
            }
        }
        _ => {}
    }
}

/// Anything that fits on one line.
fn scalar(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("not known".to_owned()),
        Value::Bool(b) => Some(if *b { "yes" } else { "no" }.to_owned()),
        Value::String(s) if s.is_empty() => Some("not known".to_owned()),
        Value::String(s) => Some(s.clone()),
        Value::Number(n) => Some(number(name, n)),
        Value::Array(items) if items.is_empty() => Some("none".to_owned()),
        Value::Array(items) if items.iter().all(|v| !v.is_object() && !v.is_array()) => {
            let parts: Vec<String> = items.iter().filter_map(|v| scalar(name, v)).collect();
            Some(parts.join(", "))
        }
        Value::Object(map) if map.is_empty() => Some("none".to_owned()),
        _ => None,
    }
}

/// A number with the unit that its name ends in.
fn number(name: &str, n: &serde_json::Number) -> String {
    let plain = || match (n.as_u64(), n.as_f64()) {
        (Some(u), _) if u >= 10_000 => count(u),
        (None, Some(f)) if n.is_f64() => format!("{f}"),
        _ => n.to_string(),
    };
    let Some(x) = n.as_f64() else { return plain() };
    let scaled = |units: &[(f64, &str)], last: &str| {
        units
            .iter()
            .find(|u| x.abs() >= u.0)
            .map_or_else(|| format!("{} {last}", plain()), |u| format!("{} {}", real(x / u.0), u.1))
    };
    match suffix(name) {
        Some("ns") => format_ns(x),
        Some("us") => format_ns(x * 1e3),
        Some("ps") => format_ns(x / 1e3),
        Some("ms") => format_ns(x * 1e6),
        Some("khz") => format!("{} MHz", real(x / 1e3)),
        Some("hz") => scaled(&[(1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz")], "Hz"),
        Some("bytes") => scaled(
            &[(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB")],
            "bytes",
        ),
        Some(unit) => format!("{} {unit}", plain()),
        None => plain(),
    }
}

/// Units that names end in.
const UNITS: [&str; 13] = [
    "ns", "us", "ms", "ps", "khz", "hz", "bytes", "kib", "mib", "ppm", "ppb", "seconds", "percent",
];

fn suffix(name: &str) -> Option<&str> {
    let (_, last) = name.rsplit_once('_')?;
    UNITS.contains(&last).then_some(last)
}

/// `kernel_release` becomes `Kernel release`, `cpu_smt` `CPU SMT`; the unit
/// goes to the value.
fn label(name: &str) -> String {
    let words = label_lower(name);
    let mut chars = words.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

fn label_lower(name: &str) -> String {
    let bare = suffix(name).map_or(name, |s| &name[..name.len() - s.len() - 1]);
    let word = |w: &str| match w {
        "cpu" | "tsc" | "smt" | "dmi" | "ntp" | "bios" | "numa" | "pid" | "os" | "rcu" | "utc"
        | "cpuid" | "kvm" | "vm" | "rt" | "id" | "hz" => w.to_uppercase(),
        "cpus" => "CPUs".to_owned(),
        "cpuidle" => "cpuidle".to_owned(),
        _ => w.to_owned(),
    };
    bare.split(['_', '-']).map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_become_labels_and_units_go_to_the_values() {
        assert_eq!(label("kernel_release"), "Kernel release");
        assert_eq!(label("timer_slack_ns"), "Timer slack");
        assert_eq!(label("tsc_flags"), "TSC flags");
        let n = |name, v: Value| scalar(name, &v).unwrap();
        assert_eq!(n("timer_slack_ns", json!(50_000)), "50.0 µs");
        assert_eq!(n("tsc_frequency_hz", json!(2_700_000_000u64)), "2.70 GHz");
        assert_eq!(n("memory_bytes", json!(8_589_934_592u64)), "8.00 GiB");
        assert_eq!(n("offset_ppm", json!(1.5)), "1.5 ppm");
        assert_eq!(n("governor", json!(null)), "not known");
        assert_eq!(n("flags", json!(["a", "b"])), "a, b");
    }

    #[test]
    fn nested_values_are_flattened_and_none_is_lost() {
        let Value::Object(map) = json!({
            "clock": { "offset_ns": 12, "status": ["pll"] },
            "disks": [{ "name": "a" }, { "name": "b" }],
        }) else { unreachable!() };
        let rows = rows_of(&map);
        let row = |l: &str, v: &str| (l.to_owned(), v.to_owned());
        assert!(rows.contains(&row("Clock: offset", "12.0 ns")), "{rows:?}");
        assert!(rows.contains(&row("Clock: status", "pll")));
        assert!(rows.contains(&row("Disks 2: name", "b")));
    }

    #[test]
    fn the_host_name_is_shown() {
        let text = environment_text(&Environment { hostname: "h1\u{1b}x".into(), ..Default::default() });
        assert!(text.contains("Hostname") && text.contains("h1\u{fffd}x"), "{text}");
    }
}
