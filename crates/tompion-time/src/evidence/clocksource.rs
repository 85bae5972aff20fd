//! The clocksources of the kernel, as sysfs tells them.

use std::fs;
use std::path::Path;

/// Where sysfs keeps them, below the root.
const DIRECTORY: &str = "sys/devices/system/clocksource/clocksource0";

/// The file that names the present clocksource.
pub(super) fn current_path(root: &Path) -> std::path::PathBuf {
    root.join(DIRECTORY).join("current_clocksource")
}

/// The name under which the kernel keeps time by the counter that
/// [`crate::counter`] reads; empty where there is none.
pub const COUNTER_CLOCKSOURCE: &str = if cfg!(target_arch = "x86_64") {
    "tsc"
} else if cfg!(target_arch = "aarch64") {
    "arch_sys_counter"
} else {
    ""
};

/// Names in use on the architectures that we know. `tsc-early` is the counter
/// too, but with the rate of a first guess that the kernel is about to replace.
const OTHERS: &[&str] = &[
    "kvm-clock",
    "hpet",
    "acpi_pm",
    "xen",
    "hyperv_clocksource_tsc_page",
    "hyperv_clocksource_msr",
    "tsc-early",
    "pit",
    "jiffies",
    "refined-jiffies",
    "arch_mem_counter",
];

/// What the kernel keeps time by at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Current {
    /// The counter that programs read.
    Counter,
    /// Something else.
    Other,
    /// Not known: no sysfs, or no access to it.
    Unknown,
}

impl Current {
    /// Reads the content of `current_clocksource`; `None` when it is no name
    /// that we know, hence perhaps not that file at all.
    pub(super) fn recognise(content: &[u8]) -> Option<Self> {
        let name = content.strip_suffix(b"\n").unwrap_or(content);
        if name.is_empty() {
            None
        } else if name == COUNTER_CLOCKSOURCE.as_bytes() {
            Some(Self::Counter)
        } else {
            OTHERS
                .iter()
                .any(|other| name == other.as_bytes())
                .then_some(Self::Other)
        }
    }
}

/// How the kernel stands to the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It keeps time by it.
    InUse,
    /// It lists it, but keeps time by something else.
    Listed,
    /// It does not list it: it marked it unstable, or never took it up.
    ///
    /// The kernel hides an unstable clocksource only while its tick can stop
    /// (high-resolution timers or NO_HZ, as nearly always); with both switched
    /// off at boot an unstable one stays [`Standing::Listed`].
    NotListed,
    /// Not known: no sysfs, or no access to it.
    Unknown,
}

/// The kernel's clocksources at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clocksources {
    /// The one in use; `None` where it cannot be read.
    pub current: Option<String>,
    /// Those that may be chosen, best first; empty where they cannot be read.
    pub available: Vec<String>,
}

impl Clocksources {
    /// Reads them from the sysfs below `root` (normally `/`).
    pub fn read(root: &Path) -> Self {
        let words = |name: &str| -> Vec<String> {
            fs::read_to_string(root.join(DIRECTORY).join(name))
                .unwrap_or_default()
                .split_whitespace()
                .map(str::to_owned)
                .collect()
        };
        Self {
            current: words("current_clocksource").into_iter().next(),
            available: words("available_clocksource"),
        }
    }

    /// How the kernel stands to the counter.
    pub fn standing(&self) -> Standing {
        let listed = self.available.iter().any(|a| a == COUNTER_CLOCKSOURCE);
        match &self.current {
            Some(name) if name == COUNTER_CLOCKSOURCE => Standing::InUse,
            _ if listed => Standing::Listed,
            _ if self.available.is_empty() => Standing::Unknown,
            _ => Standing::NotListed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Tree;
    use super::*;

    fn standing(current: &str, available: &str) -> Standing {
        let tree = Tree::new();
        tree.clocksource(current);
        tree.write(&format!("{DIRECTORY}/available_clocksource"), available);
        Clocksources::read(tree.root()).standing()
    }

    #[test]
    fn the_kernels_stand_is_told_from_both_files() {
        let counter = COUNTER_CLOCKSOURCE;
        assert_eq!(
            standing(&format!("{counter}\n"), &format!("{counter} kvm-clock \n")),
            Standing::InUse
        );
        assert_eq!(
            standing("kvm-clock\n", &format!("kvm-clock {counter} acpi_pm \n")),
            Standing::Listed
        );
        // As after `tsc: Marking TSC unstable`.
        assert_eq!(standing("hpet\n", "hpet acpi_pm \n"), Standing::NotListed);
    }

    #[test]
    fn without_sysfs_nothing_is_claimed() {
        let nothing = Clocksources::read(Tree::new().root());
        assert_eq!(nothing, Clocksources::default());
        assert_eq!(nothing.standing(), Standing::Unknown);
        // Only half of it can be read.
        assert_eq!(standing("hpet\n", ""), Standing::Unknown);
    }

    #[test]
    fn only_whole_names_are_recognised() {
        let counter = format!("{COUNTER_CLOCKSOURCE}\n");
        assert_eq!(
            Current::recognise(counter.as_bytes()),
            Some(Current::Counter)
        );
        assert_eq!(Current::recognise(b"hpet\n"), Some(Current::Other));
        assert_eq!(Current::recognise(b"tsc-early\n"), Some(Current::Other));
        for foreign in [&b""[..], b"\n", b"tsc \n", b"tsc\nmore", b"ts", b"tsc\n\n"] {
            assert_eq!(Current::recognise(foreign), None, "{foreign:?}");
        }
    }
}
