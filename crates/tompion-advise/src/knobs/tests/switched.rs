//! Every remedy of the system, on and off.

use std::path::Path;

use super::{Tree, all};
use crate::{Journal, Leftover, Quantity, Reach, Switch};

#[test]
fn everything_that_a_remedy_changes_is_as_it_was_when_it_is_off() {
    const CPU: &str = "/sys/devices/system/cpu";
    const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0";
    let files = [
        ("online", "0-1\n"),
        ("cpufreq/policy0/scaling_governor", "powersave\n"),
        (
            "cpufreq/policy0/scaling_available_governors",
            "performance powersave\n",
        ),
        ("cpuidle/current_governor", "haltpoll\n"),
        ("cpu0/cpuidle/state1/name", "C6\n"),
        ("cpu0/cpuidle/state1/latency", "133\n"),
        ("cpu0/cpuidle/state1/disable", "0\n"),
    ]
    .map(|(name, text)| (format!("{CPU}/{name}"), text));
    let sources = [
        ("current_clocksource", "hpet\n"),
        ("available_clocksource", "tsc hpet\n"),
    ]
    .map(|(name, text)| (format!("{CLOCKSOURCE}/{name}"), text));
    let mut all_files: Vec<(&str, &str)> = vec![
        ("/sys/module/haltpoll/parameters/guest_halt_poll_ns", "0\n"),
        ("/dev/cpu_dma_latency", ""),
        (
            "/proc/interrupts",
            "      CPU0   CPU1\n 37:  0  700  PCI virtio2-input\n",
        ),
        ("/proc/irq/37/smp_affinity_list", "0-1\n"),
        ("/proc/irq/37/effective_affinity_list", "1\n"),
        ("/proc/self/cgroup", "0::/box\n"),
        (
            "/proc/self/mountinfo",
            "30 25 0:26 / /cg rw - cgroup2 cgroup2 rw\n",
        ),
        ("/cg/box/cpu.max", "150000 100000\n"),
        ("/cg/cgroup.procs", ""),
        ("/cg/box/cgroup.procs", ""),
    ];
    let owned = files.iter().chain(&sources);
    all_files.extend(owned.map(|(path, text)| (path.as_str(), *text)));
    let tree = Tree::new(&all_files);
    let root = &tree.here.root;
    let says = |path: &Path| root.text(path).unwrap_or_default();
    let journal = Journal::open(root).unwrap();
    let mut switched = Vec::new();
    for knob in all(&tree.here)
        .iter()
        .filter(|k| k.reach() == Reach::System && k.quantity() != Quantity::WallClock)
    {
        let ready = tree.ready(&knob.name());
        let mut switch = Switch::new(root, Some(&journal));
        switch.on(&knob.name(), &ready).unwrap();
        for change in &ready.files {
            assert_eq!(says(&change.path), change.new, "{}", knob.name());
        }
        assert_eq!(switch.off().unwrap(), [], "{}", knob.name());
        for change in &ready.files {
            assert_eq!(says(&change.path), change.old, "{}", knob.name());
        }
        if let Some((_, own)) = &ready.joined {
            assert_eq!(says(own), std::process::id().to_string());
        }
        assert!(Leftover::find(root).unwrap().is_none());
        switched.push(knob.name());
    }
    let want = [
        "leave-cgroup",
        "interrupts",
        "clocksource=tsc",
        "cpu-dma-latency",
        "governor",
        "idle-states",
        "halt-poll",
    ];
    assert_eq!(switched, want);
}
