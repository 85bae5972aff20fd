//! Runs in a guest whose time of day is set meanwhile (`make guest`; ignored elsewhere), read
//! back by the host.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::kit;
use serde_json::Value;
use tompion_guest::{Guest, GuestError};

/// Emulated, on a busy host: for each run. Most are done in seven seconds.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How often a guest is booted that does not end in time: a vCPU whose thread the host leaves waiting while the
/// others wait for it locks an emulated guest up.
const BOOTS: u32 = 3;
/// By how much it is set.
const HOUR_NS: f64 = 3600e9;

/// Measures, sets the time of day as soon as a trial is saved, at the latest within
/// some seconds, and hands out the runs. One that had ended by then is measured again.
const SCRIPT: &str = r#"
stepped() {
    name=$1
    by=$2
    shift 2
    for attempt in 1 2 3; do
        rm -rf "/runs/$name"
        tompion "$@" --quiet --out "/runs/$name" >/dev/null &
        run=$!
        tries=0
        while [ $tries -lt 30 ] && kill -0 $run && ! ls "/runs/$name/samples" 2>/dev/null | grep -q .; do
            sleep 0.05
            [ -e "/runs/$name/run.json" ] && tries=$((tries + 1))
        done
        date -s "$by" >/dev/null
        kill -0 $run 2>/dev/null && met=yes || met=no
        wait $run || echo "$name ended with $?" >&2
        [ $met = yes ] && break
        echo "$name: attempt $attempt was over before the time was set" >&2
    done
}
mkdir /runs
"#;

/// The host's programs that the script uses.
const TOOLS: [&str; 8] = [
    "/bin/sh",
    "/bin/sleep",
    "/bin/date",
    "/bin/ls",
    "/bin/mkdir",
    "/bin/rm",
    "/bin/tar",
    "/usr/bin/grep",
];

/// A command, and the step made while it measures.
type Stepped<'a> = (&'a str, f64, &'a str);

/// Runs them one after the other in one guest; gives each with its record and its report.
fn run(all: &[Stepped<'_>]) -> Vec<(Value, Value)> {
    let kit = kit();
    let program = kit.program("tompion").expect("built by make guest");
    let lines: String = all
        .iter()
        .map(|(name, hours, command)| format!("stepped {name} '{hours:+} hour' {command}\n"))
        .collect();
    let script = format!("{SCRIPT}{lines}tar -C /runs -cf - .\n");
    let guest = TOOLS
        .iter()
        .fold(Guest::new(&kit), |guest, tool| guest.dynamic(tool, tool))
        .file("/bin/tompion", program.clone())
        .command(["/bin/sh", "-c", &script])
        .cpus(2)
        .timeout(TIMEOUT * u32::try_from(all.len()).expect("few"));
    let boot = |number| match guest.run() {
        Ok(outcome) => Some(outcome),
        Err(locked @ GuestError::Timeout { .. }) if number < BOOTS => {
            eprintln!("boot {number} of {BOOTS}: {locked}");
            None
        }
        Err(problem) => panic!("{problem}"),
    };
    let outcome = (1..=BOOTS).find_map(boot).expect("the last one panics");
    let said = outcome.stderr_text();
    eprintln!("{:.1} s ({}): {said}", outcome.seconds, outcome.accel);
    assert!(
        outcome.status.success() && !said.contains("ended with"),
        "{said}"
    );
    let here = tempfile::tempdir().expect("a directory");
    let archive = here.path().join("runs.tar");
    fs::write(&archive, &outcome.stdout).expect("written");
    let unpacked = Command::new("tar")
        .arg("-xmf")
        .arg(&archive)
        .arg("-C")
        .arg(here.path())
        .status();
    assert!(unpacked.expect("tar").success());
    let read = |(name, ..): &Stepped<'_>| {
        let directory = here.path().join(name);
        let record = fs::read(directory.join("run.json")).expect("run.json");
        (
            serde_json::from_slice(&record).expect("JSON"),
            report(&program, &directory),
        )
    };
    all.iter().map(read).collect()
}

/// What the host says of a run.
fn report(program: &Path, directory: &Path) -> Value {
    let mut command = Command::new(program);
    let done = command.arg("report").arg(directory).arg("--json").output();
    let done = done.expect("it runs");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    serde_json::from_slice(&done.stdout).expect("JSON")
}

/// Whether the step is told, once and by its size, and nothing else shows it: samples and
/// durations are those of a run of some seconds.
fn holds((name, hours, _): &Stepped<'_>, (record, report): &(Value, Value)) {
    let clock = &report["clock"];
    let steps = clock["steps"].as_array().expect("steps");
    let [step] = &steps[..] else {
        panic!("{name}: {clock}");
    };
    let off = number(&step["step_ns"]) - hours * HOUR_NS;
    // `date` reads the clock and sets it later, on an emulated machine.
    assert!(off.abs() < 2e9, "{name}: {step}");
    let limits = report["limitations"].as_array().expect("limitations");
    let told = |l: &&Value| {
        l.as_str()
            .is_some_and(|l| l.contains("The time of day was set by"))
    };
    assert_eq!(limits.iter().filter(told).count(), 1, "{name}: {limits:?}");

    let trials = record["trials"].as_array().expect("trials");
    // A busy host may leave too little time for a last block, never a disorderly end.
    let status = record["status"].as_str();
    assert!(
        matches!(status, Some("complete" | "time-limit")),
        "{name}: {status:?}"
    );
    assert!(!trials.is_empty(), "{name}");
    for pair in trials.windows(2) {
        // One after the other in the time of the run, however the day went.
        let end = number(&pair[0]["started_ns"]) + number(&pair[0]["duration_ns"]);
        assert!(end <= number(&pair[1]["started_ns"]), "{name}: {pair:?}");
    }
    let last = trials.last().expect("some");
    let took = number(&last["started_ns"]) + number(&last["duration_ns"]);
    assert!(took < 60e9, "{name}: {took}");
    let cells = report["cells"].as_array().expect("cells").iter();
    // A cell whose samples are all warm-up has no figures.
    let figures: Vec<&Value> = cells
        .map(|c| &c["measured"])
        .filter(|m| !m.is_null())
        .collect();
    assert!(!figures.is_empty(), "{name}");
    for measured in figures {
        let (least, most) = (number(&measured["min_ns"]), number(&measured["max_ns"]));
        // An emulated guest on a busy host stands still for a while, never for minutes.
        assert!(
            least >= 0.0 && most < 10e9,
            "{name}: {least} to {most} in {measured}"
        );
    }
}

#[track_caller]
fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

const SHORT: &str = "measure wake-up --duration 3s --blocks 1 --slack default --targets 1ms \
     --methods clock-nanosleep-abs,usleep,timerfd,std-sleep,tompion-hybrid";

#[test]
#[ignore = "boots a guest: make guest"]
fn a_time_of_day_that_is_set_while_a_run_is_measured_is_told_and_spoils_nothing() {
    let all = [("ahead", 1.0, SHORT), ("back", -1.0, SHORT)];
    for (stepped, found) in all.iter().zip(run(&all)) {
        holds(stepped, &found);
    }
}

/// In `make test-full`: all that `check` measures, and each probe whose trials are
/// saved one by one.
mod long {
    use super::{holds, run};

    const CHECK: &str = "check --duration 10s --blocks 2 --loads idle,cpu:threads=1";

    #[test]
    #[ignore = "boots a guest: make guest"]
    fn a_time_of_day_that_is_set_spoils_no_probe() {
        let all = [
            ("check-ahead", 1.0, CHECK),
            ("check-back", -1.0, CHECK),
            (
                "read-ahead",
                1.0,
                "measure read-cost --duration 3s --blocks 2",
            ),
            (
                "read-back",
                -1.0,
                "measure read-cost --duration 3s --blocks 2",
            ),
            (
                "sleep-ahead",
                1.0,
                "measure wake-up --duration 6s --blocks 2 --targets 1ms",
            ),
            (
                "sleep-back",
                -1.0,
                "measure wake-up --duration 6s --blocks 2 --targets 1ms",
            ),
            (
                "events-ahead",
                1.0,
                "measure timer-events --duration 8s --periods 10ms",
            ),
            (
                "events-back",
                -1.0,
                "measure timer-events --duration 8s --periods 10ms",
            ),
        ];
        for (stepped, found) in all.iter().zip(run(&all)) {
            holds(stepped, &found);
        }
    }
}
