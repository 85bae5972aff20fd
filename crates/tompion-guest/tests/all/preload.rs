//! The preload library under programs that know nothing of it, in guests whose kernel
//! keeps time by a slow clock, with the TSC listed beside it. `make guest` builds what
//! they need and runs them; they are ignored elsewhere.

use std::time::Duration;

use crate::common::{Step, Steps};

/// Reads per second have to rise by this factor.
const RISE: f64 = 5.0;
/// A step has to be seen within one anchor interval of 5 ms; the rest is for an
/// emulator that shares its CPU.
const SEEN_WITHIN_NS: f64 = 25e6;
/// How far two readings may differ beyond what lies between them.
const AGREE_WITHIN_NS: f64 = 1e6;
/// Guests that are tried before a timing is believed to be the library's.
const TRIES: u32 = 3;
/// The counter would be five times slower.
const SECONDS_IN_MEMORY: f64 = 0.4;
const PRELOAD: &str = "tompion preload --policy tsc --explain --";

/// Boots guests with `clocksource` chosen at boot until one kept it and its trust in
/// the TSC, and `good` says so: a host that starves the emulator can spoil either.
fn until_good(
    clocksource: &str,
    more: Option<&str>,
    script: &str,
    good: impl Fn(&Steps) -> bool,
) -> bool {
    let kit = crate::common::kit();
    let [tompion, library] = ["dist/tompion", "target/release/libtompion_preload.so"].map(|path| {
        let file = crate::common::workspace(path);
        assert!(file.exists(), "no {path}: run make guest");
        file
    });
    let guest = crate::common::scripted(&kit, &["clock_reads", "time_steps"], script)
        .file("/bin/tompion", tompion)
        .dynamic("/bin/libtompion_preload.so", library)
        .kernel_args(more.map(str::to_owned))
        .kernel_args([format!("clocksource={clocksource}")])
        .timeout(Duration::from_secs(240));
    let mut kept = false;
    for _ in 0..TRIES {
        let steps = Steps::of(&guest, clocksource);
        if steps.kept(clocksource) {
            kept = true;
            if good(&steps) {
                return true;
            }
        }
    }
    assert!(kept, "{clocksource} with a trusted TSC was never kept");
    false
}

/// `time_rises` by this factor at least, with `more` on the kernel's command line.
fn reads_rise(clocksource: &str, more: Option<&str>, time_rises: f64) {
    // In turns, and the best of each: what disturbs falls on both alike.
    let rounds = ["a", "b", "c"];
    let script: String = rounds
        .iter()
        .map(|round| {
            format!(
                "run plain-{round} clock_reads 200\n\
                 run preload-{round} {PRELOAD} clock_reads 200\n"
            )
        })
        .collect();
    let good = until_good(clocksource, more, &script, |steps| {
        let best = |how: &str, key: &str| {
            rounds
                .iter()
                .map(|round| steps.well(&format!("{how}-{round}")).number(key))
                .fold(0.0, f64::max)
        };
        for step in rounds.map(|round| steps.well(&format!("preload-{round}"))) {
            assert_eq!(step.number("monotonic_backward"), 0.0);
        }
        // Reading the kernel's clock is slow here: time(), which needs no counter, is
        // many times quicker, unless it is a system call.
        let plain = best("plain", "monotonic_reads_per_s");
        assert_eq!(
            best("plain", "time_reads_per_s") > RISE * plain,
            more.is_none()
        );
        let rises = |name: &str, least: f64| {
            let key = format!("{name}_reads_per_s");
            let (plain, preload) = (best("plain", &key), best("preload", &key));
            let rise = preload / plain;
            eprintln!("{clocksource} {name}: {plain} -> {preload} reads/s, {rise:.1} times");
            rise >= least
        };
        ["monotonic", "realtime", "gettimeofday"]
            .iter()
            .all(|name| rises(name, RISE))
            && rises("time", time_rises)
    });
    assert!(good, "{clocksource}: reads did not rise {RISE} times");
}

/// Nothing that only a wrong clock does, and whether all was in time.
fn steps_well(step: &Step) -> bool {
    assert_eq!(step.number("monotonic_backward"), 0.0);
    let seen = ["first", "second"].iter().all(|which| {
        ["realtime", "gettimeofday", "time"].iter().all(|reader| {
            let ns = step.number(&format!("{which}_{reader}_seen_ns"));
            assert!(ns.is_finite(), "{reader} never showed the {which} step");
            ns <= SEEN_WITHIN_NS
        })
    });
    let agree = [
        "gettimeofday_worst_ns",
        "monotonic_worst_ns",
        "realtime_worst_ns",
    ];
    seen && agree.iter().all(|key| step.number(key) <= AGREE_WITHIN_NS)
}

fn steps_are_seen(clocksource: &str) {
    let script = format!("run plain time_steps 1\nrun preload {PRELOAD} time_steps 1\n");
    let good = until_good(clocksource, None, &script, |steps| {
        // Without the library the emulator alone has to be quick enough.
        steps_well(steps.well("plain")) && steps_well(steps.well("preload"))
    });
    assert!(good, "{clocksource}: steps were not seen in time");
}

#[test]
#[ignore = "boots a guest: make guest"]
fn reads_rise_fivefold_on_acpi_pm() {
    reads_rise("acpi_pm", None, SECONDS_IN_MEMORY);
}

/// The same on the other clocksource, in `make test-full`.
mod long {
    #[test]
    #[ignore = "boots a guest: make guest"]
    fn reads_rise_fivefold_on_hpet() {
        super::reads_rise("hpet", None, super::SECONDS_IN_MEMORY);
    }

    #[test]
    #[ignore = "boots a guest: make guest"]
    fn steps_of_the_system_time_are_seen_on_acpi_pm() {
        super::steps_are_seen("acpi_pm");
    }
}

#[test]
#[ignore = "boots a guest: make guest"]
fn steps_of_the_system_time_are_seen_on_hpet() {
    steps_are_seen("hpet");
}

#[test]
#[ignore = "boots a guest: make guest"]
fn time_is_replaced_too_where_the_kernel_has_no_vdso() {
    reads_rise("hpet", Some("vdso=0"), 2.0);
}
