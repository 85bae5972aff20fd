//! Names of fields and their values in words.

use tompion_model::format_ns;

use crate::figures::{capital, count, real};

/// Units that names end in.
const UNITS: [&str; 14] = [
    "ns", "us", "ms", "ps", "s", "khz", "hz", "bytes", "kib", "mib", "ppm", "ppb", "seconds",
    "percent",
];

/// `kernel_release` becomes `Kernel release`, `smt_active` `SMT active`; a
/// unit goes to the value.
pub(super) fn label(name: &str) -> String {
    capital(&label_lower(name))
}

/// The same inside a sentence.
pub(super) fn label_lower(name: &str) -> String {
    // Where the field's own name would not tell a reader what it is.
    match name {
        "tick_us" => return "USER_HZ tick by adjtimex".to_owned(),
        "tsc_stated_hz" => return "TSC rate according to CPUID".to_owned(),
        "tsc_stated_by" => return "source of that TSC rate".to_owned(),
        _ => {}
    }
    let bare = unit(name).map_or(name, |u| &name[..name.len() - u.len() - 1]);
    let word = |w: &str| match w {
        "cpu" | "tsc" | "smt" | "dmi" | "ntp" | "bios" | "numa" | "os" | "utc" | "tai" | "kvm"
        | "vm" => w.to_uppercase(),
        "cpus" => "CPUs".to_owned(),
        _ => w.to_owned(),
    };
    bare.split(['_', '-'])
        .map(word)
        .collect::<Vec<_>>()
        .join(" ")
}

fn unit(name: &str) -> Option<&str> {
    let (_, last) = name.rsplit_once('_')?;
    UNITS.contains(&last).then_some(last)
}

/// A list of CPUs such as `0` or `0-3` in words.
pub(super) fn cpus(list: &str) -> String {
    let noun = if list.contains([',', '-']) {
        "CPUs"
    } else {
        "CPU"
    };
    format!("{noun} {list}")
}

/// A number with the unit that its name ends in.
pub(super) fn number(name: &str, x: f64, integer: bool) -> String {
    let plain = || {
        if integer && x >= 10_000.0 {
            count(x as u64)
        } else {
            format!("{x}")
        }
    };
    let scaled = |units: &[(f64, &str)], last: &str| {
        units.iter().find(|u| x.abs() >= u.0).map_or_else(
            || format!("{} {last}", plain()),
            |u| format!("{} {}", real(x / u.0), u.1),
        )
    };
    match unit(name) {
        Some("ns") => format_ns(x),
        Some("us") => format_ns(x * 1e3),
        Some("ps") => format_ns(x / 1e3),
        Some("ms") => format_ns(x * 1e6),
        Some("khz") => format!("{} MHz", real(x / 1e3)),
        Some("hz") => scaled(&[(1e9, "GHz"), (1e6, "MHz")], "Hz"),
        Some("bytes") => scaled(
            &[
                (1_073_741_824.0, "GiB"),
                (1_048_576.0, "MiB"),
                (1024.0, "KiB"),
            ],
            "bytes",
        ),
        Some(unit) => format!("{} {unit}", plain()),
        None => plain(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_labels_and_units_go_to_the_values() {
        assert_eq!(label("kernel_release"), "Kernel release");
        assert_eq!(label("timer_slack_ns"), "Timer slack");
        assert_eq!(label("tsc_flags"), "TSC flags");
        assert_eq!(label("tsc_stated_hz"), "TSC rate according to CPUID");
        assert_eq!(
            (cpus("0"), cpus("0-3")),
            ("CPU 0".into(), "CPUs 0-3".into())
        );
        assert_eq!(number("timer_slack_ns", 50_000.0, true), "50.0 µs");
        assert_eq!(number("tsc_stated_hz", 2.7e9, true), "2.70 GHz");
        assert_eq!(number("tick_rate_hz", 250.0, true), "250 Hz");
        assert_eq!(number("memory_bytes", 8_589_934_592.0, true), "8.00 GiB");
        assert_eq!(number("frequency_ppm", -1.5, false), "-1.5 ppm");
        assert_eq!(number("realtime_runtime_us", -1.0, true), "-1.00 µs");
        assert_eq!(number("nice", -5.0, true), "-5");
    }
}
