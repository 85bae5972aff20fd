//! The C programs of `tests/programs` against faults of known size, on this machine
//! and, for what needs a machine to spoil, in guests (`make guest`; ignored
//! elsewhere).

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{Step, Steps, kit, scripted, workspace};

/// Compiles `tests/programs/NAME.c` into `dir`.
fn compiled(dir: &Path, name: &str, options: &[&str]) -> PathBuf {
    let program = dir.join(name);
    let status = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror"])
        .args(options)
        .arg("-o")
        .arg(&program)
        .arg(workspace("tests/programs").join(format!("{name}.c")))
        .status()
        .expect("cc");
    assert!(status.success(), "cc: {name}");
    program
}

fn step_of(output: &Output) -> Step {
    assert!(output.status.success(), "{output:?}");
    Step {
        status: 0,
        text: String::from_utf8(output.stdout.clone()).expect("text"),
    }
}

#[test]
fn bad_arguments_are_one_line() {
    let dir = tempfile::tempdir().unwrap();
    // None that time_steps would accept: it would step this machine's time.
    for (name, cases) in [
        ("clock_reads", ["", "0", "-1", "10x", "60001", "1 2"]),
        ("time_steps", ["", "0", "1.5", "1s", "1000001", "1 2"]),
    ] {
        let program = compiled(dir.path(), name, &[]);
        for arguments in cases {
            let output = Command::new(&program)
                .args(arguments.split_whitespace())
                .output()
                .unwrap();
            let message = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{name} {arguments}");
            assert_eq!(message.lines().count(), 1, "{message}");
            assert!(
                message.starts_with(&format!("{name}: expected ")),
                "{message}"
            );
            assert!(output.stdout.is_empty());
        }
    }
}

#[test]
fn clock_reads_finds_slow_reads_and_steps_back() {
    let dir = tempfile::tempdir().unwrap();
    let program = compiled(dir.path(), "clock_reads", &[]);
    let meddle = compiled(dir.path(), "meddle", &["-shared", "-fPIC"]);
    let run = |variable: &str, value: &str| {
        let mut command = Command::new(&program);
        command.env("LD_PRELOAD", &meddle).env(variable, value);
        step_of(&command.arg("200").output().unwrap())
    };
    let rates =
        ["monotonic", "realtime", "gettimeofday", "time"].map(|n| n.to_owned() + "_reads_per_s");

    let plain = step_of(&Command::new(&program).arg("200").output().unwrap());
    // 20 us each: never more than 50000 a second; how many less, the machine's load
    // says.
    let slow = run("MEDDLE_SLOW_NS", "20000");
    for key in &rates {
        assert!(slow.number(key) <= 50_000.0, "{}", slow.text);
        assert!(slow.number(key) >= 5_000.0, "{}", slow.text);
        let times = plain.number(key) / slow.number(key);
        assert!(times >= 1.5, "{times}: {} {}", plain.text, slow.text);
    }
    assert_eq!(plain.number("monotonic_backward"), 0.0);
    assert_eq!(plain.number("monotonic_backward_ns"), 0.0);

    let back = run("MEDDLE_BACK_NS", "1000000");
    let spoiled = (back.number("monotonic_reads") / 1000.0).floor();
    assert!(spoiled >= 20.0, "{}", back.text);
    // Save those before which the program had lost its CPU for a millisecond.
    let found = back.number("monotonic_backward");
    assert!((0.8 * spoiled..=spoiled).contains(&found), "{}", back.text);
    let farthest = back.number("monotonic_backward_ns");
    assert!((500e3..1e6).contains(&farthest), "{}", back.text);
}

const READERS: [&str; 3] = ["realtime", "gettimeofday", "time"];

fn seen_ms(step: &Step, which: &str, reader: &str) -> f64 {
    step.number(&format!("{which}_{reader}_seen_ns")) / 1e6
}

/// Whether each reader showed the steps as late as it was made to, and at once without.
fn delays_found(steps: &Steps, injected_ms: [f64; 3]) -> bool {
    let emulator_ms = 25.0;
    let found = |which: &str, reader: &str, injected: f64| {
        let without = seen_ms(steps.well("plain"), which, reader);
        let with = seen_ms(steps.well("late"), which, reader);
        // A delay runs from the first reading that was spoiled.
        (0.0..emulator_ms).contains(&without)
            && (injected..injected + 2.0 * emulator_ms).contains(&with)
    };
    ["first", "second"].iter().all(|which| {
        READERS
            .iter()
            .zip(injected_ms)
            .all(|(reader, injected)| found(which, reader, injected))
    })
}

fn time_steps_finds_readers_that_are_late_or_wrong() {
    let kit = kit();
    let late = |ms: [u32; 3]| {
        format!(
            "env LD_PRELOAD=/bin/meddle.so MEDDLE_REALTIME_LATE_MS={} \
             MEDDLE_GETTIMEOFDAY_LATE_MS={} MEDDLE_TIME_LATE_MS={} time_steps 1\n",
            ms[0], ms[1], ms[2]
        )
    };
    // 1 s is longer than readers are watched for.
    let script = format!(
        "run plain time_steps -1\nrun late {}run never {}\
         run back env LD_PRELOAD=/bin/meddle.so MEDDLE_BACK_NS=3000000 time_steps 1\n\
         run refused setpriv --reuid=65534 --clear-groups time_steps 1\n",
        late([100, 150, 50]),
        late([1000, 0, 1000])
    );
    let guest = scripted(&kit, &["time_steps", "meddle.so"], &script)
        .dynamic("/bin/setpriv", "/usr/bin/setpriv");
    // A host that starves the emulator makes everything late: tried again then.
    let mut tries = (0..3).map(|_| Steps::of(&guest, "time_steps and meddle.so"));
    let steps = tries.find(|steps| delays_found(steps, [100.0, 150.0, 50.0]));
    let steps = steps.expect("the injected delays were found");

    let plain = steps.well("plain");
    assert_eq!(plain.number("first_step_ns"), -1e9);
    assert_eq!(plain.number("second_step_ns"), 1e9);
    for key in [
        "monotonic_backward",
        "monotonic_worst_ns",
        "gettimeofday_worst_ns",
        "realtime_worst_ns",
    ] {
        assert_eq!(plain.number(key), 0.0, "{key}");
    }
    // For 50 ms gettimeofday showed a time that was a second off.
    let worst = steps.well("late").number("gettimeofday_worst_ns");
    assert!((0.99e9..1.01e9).contains(&worst), "{worst}");

    let never = steps.well("never");
    assert_eq!(never.get("first_realtime_seen_ns"), "never");
    assert_eq!(never.get("first_time_seen_ns"), "never");
    assert!(seen_ms(never, "first", "gettimeofday").is_finite());

    let back = steps.well("back");
    assert!(back.number("monotonic_backward") >= 1.0);
    let worst = back.number("monotonic_worst_ns");
    assert!((2e6..=3e6).contains(&worst), "{worst}");

    let refused = steps.step("refused");
    assert_eq!(refused.status, 1);
    assert_eq!(
        refused.text,
        "time_steps: the system's time cannot be set: Operation not permitted\n"
    );
}

fn slow_clocks_chosen_at_boot_stay_and_the_tsc_stays_listed() {
    let kit = kit();
    for clocksource in ["acpi_pm", "hpet"] {
        let guest = scripted(&kit, &["clock_reads"], "run reads clock_reads 200\n")
            .kernel_args([format!("clocksource={clocksource}")]);
        // A busy host can cost the TSC the kernel's trust; that is not tested here.
        let kept = (0..3).any(|_| {
            let steps = Steps::of(&guest, clocksource);
            let reads = steps.well("reads");
            assert_eq!(reads.number("monotonic_backward"), 0.0);
            // Of all four, time() alone needs no counter.
            let quick = reads.number("time_reads_per_s");
            for slow in ["monotonic", "realtime", "gettimeofday"] {
                assert!(quick > 5.0 * reads.number(&format!("{slow}_reads_per_s")));
            }
            steps.kept(clocksource)
        });
        assert!(kept, "{clocksource} with a trusted TSC was never kept");
    }
}

/// In `make test-full`: what these programs find is relied on by the tests of the preload
/// library, which see it in every run.
mod long {
    #[test]
    #[ignore = "boots a guest: make guest"]
    fn time_steps_finds_readers_that_are_late_or_wrong() {
        super::time_steps_finds_readers_that_are_late_or_wrong();
    }

    #[test]
    #[ignore = "boots a guest: make guest"]
    fn slow_clocks_chosen_at_boot_stay_and_the_tsc_stays_listed() {
        super::slow_clocks_chosen_at_boot_stay_and_the_tsc_stays_listed();
    }
}
