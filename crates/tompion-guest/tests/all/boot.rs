//! Guests that really boot. `make guest` builds what they need and runs them; they
//! are ignored elsewhere.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use tompion_guest::{Accel, Guest, GuestError, Kit};

fn kit() -> Kit {
    Kit::from_env().unwrap_or_else(|error| panic!("{error}"))
}

fn probe(kit: &Kit, arguments: &[&str]) -> Guest {
    let program = kit.program("guest_probe").expect("built by make guest");
    Guest::new(kit).payload(program, arguments)
}

/// The line `KEY=...` of a report.
fn value<'a>(report: &'a str, key: &str) -> &'a str {
    let value = |line: &'a str| line.strip_prefix(key)?.strip_prefix('=');
    report.lines().find_map(value).expect(key)
}

/// QEMU processes whose command line holds `mark`, which only one test uses.
fn qemus_with(mark: &str) -> Vec<PathBuf> {
    let is_ours = |process: &PathBuf| {
        fs::read(process.join("cmdline")).is_ok_and(|line| {
            line.starts_with(b"qemu") && String::from_utf8_lossy(&line).contains(mark)
        })
    };
    fs::read_dir("/proc")
        .expect("/proc")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(is_ours)
        .collect()
}

/// Whether a process has used half a second of CPU time. A QEMU that has is
/// past opening its files and executes the guest.
fn is_busy(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    // User time, the 14th field, in units of 10 ms; the name before may hold spaces.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let user = fields.split_whitespace().nth(11);
    user.and_then(|ticks| ticks.parse().ok()).unwrap_or(0) >= 50
}

fn until(limit: Duration, condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < limit {
        if condition() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    condition()
}

#[test]
#[ignore = "boots a guest: make guest"]
fn one_cpu_gives_output_status_and_the_tsc() {
    let kit = kit();
    // Busy hosts can make the guest's watchdog distrust the TSC; it is not what is
    // tested here, so it may happen twice.
    let mut seen = Vec::new();
    for _ in 0..3 {
        let outcome = probe(&kit, &["report", "7", "two words", "", "a\nb\u{e9}"])
            .run()
            .unwrap_or_else(|error| panic!("{error}"));
        let report = outcome.stdout_text();
        eprintln!("{:.1} s, {}\n{report}", outcome.seconds, kit.kernel_name());
        assert_eq!(
            value(&report, "arguments"),
            r#"["report", "7", "two words", "", "a\nbé"]"#
        );
        assert_eq!(value(&report, "cpus"), "1");
        assert_eq!(outcome.status.code(), Some(7));
        assert_eq!(outcome.stderr_text(), "guest_probe reports\n");
        assert!(outcome.console.contains("guest_probe reports"));
        assert_eq!(outcome.accel, Accel::Tcg);
        assert!(outcome.seconds > 0.1 && outcome.seconds < 120.0);
        seen.push(value(&report, "clocksource").to_owned());
        if seen.last().is_some_and(|name| name == "tsc") {
            return;
        }
    }
    panic!("clock source with one CPU: {seen:?}, never tsc");
}

#[test]
#[ignore = "boots a guest: make guest"]
fn two_cpus_do_not_get_the_tsc() {
    let outcome = probe(&kit(), &["report", "0"])
        .cpus(2)
        .run()
        .unwrap_or_else(|error| panic!("{error}"));
    let report = outcome.stdout_text();
    eprintln!("{:.1} s\n{report}", outcome.seconds);
    assert!(outcome.status.success());
    assert_eq!(value(&report, "cpus"), "2");
    assert!(
        !value(&report, "clocksource").starts_with("tsc"),
        "{report}"
    );
}

#[test]
#[ignore = "boots a guest: make guest"]
fn large_output_and_signal_come_back_and_too_large_is_refused() {
    const BYTES: usize = 3_000_000;
    let kit = kit();
    let guest = probe(&kit, &["pattern", &BYTES.to_string()]);
    let outcome = guest.run().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.status.signal(), Some(6), "{:?}", outcome.status);
    assert_eq!(outcome.stdout.len(), BYTES);
    assert!(
        (0..)
            .zip(&outcome.stdout)
            .all(|(n, byte)| u32::from(*byte) == n % 251)
    );

    let error = guest.result_mb(1).run().unwrap_err().to_string();
    assert!(error.contains("wrote 3000000 bytes"), "{error}");
    assert!(error.contains("result_mb"), "{error}");
}

#[test]
#[ignore = "boots a guest: make guest"]
fn hanging_payload_is_killed_and_its_last_words_are_shown() {
    const MARK: &str = "tompion-hanging-payload";
    let kit = kit();
    // As short as this machine allows: the payload has to be reached before.
    let mut last = String::new();
    for seconds in [12, 24, 48] {
        let limit = Duration::from_secs(seconds);
        let start = Instant::now();
        let error = probe(&kit, &["hang"])
            .timeout(limit)
            .qemu_args(["-name", MARK])
            .run()
            .expect_err("a guest that hangs has no result");
        assert!(start.elapsed() >= limit);
        assert!(matches!(error, GuestError::Timeout { .. }), "{error}");
        assert!(qemus_with(MARK).is_empty(), "QEMU is still there");
        last = error.to_string();
        assert!(
            last.contains(&format!("running after {seconds} s (tcg)")),
            "{last}"
        );
        if last.contains("guest_probe hangs from here on") {
            return;
        }
    }
    panic!("the payload was not reached: {last}");
}

#[test]
#[ignore = "boots a guest: make guest"]
fn kernel_panic_shows_on_the_console() {
    let error = probe(&kit(), &["report", "0"])
        .kernel_args(["rdinit=/bin/no-such-init", "root=none"])
        .run()
        .expect_err("no init, no result");
    assert!(matches!(error, GuestError::NoResult { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("without writing a result"), "{text}");
    assert!(text.contains("Kernel panic"), "{text}");
}

#[test]
#[ignore = "boots a guest: make guest"]
fn what_is_no_program_is_named() {
    let kit = kit();
    let error = Guest::new(&kit)
        .file(
            "/data/notes.txt",
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
        )
        .command(["/data/notes.txt"])
        .run()
        .expect_err("a text is no program");
    let text = error.to_string();
    assert!(matches!(error, GuestError::Command { .. }), "{text}");
    assert!(text.contains("cannot start /data/notes.txt"), "{text}");
}

const HOLDER: &str = "TOMPION_TEST_HOLDER";
const HELD: &str = "tompion-held-guest";

/// Not a test of its own: the process that the next test kills.
#[test]
#[ignore = "started by qemu_dies_with_a_killed_parent"]
fn holder_of_a_guest() {
    if std::env::var_os(HOLDER).is_some() {
        let outcome = probe(&kit(), &["hang"]).qemu_args(["-name", HELD]).run();
        panic!("nobody killed the holder: {outcome:?}");
    }
}

#[test]
#[ignore = "boots a guest: make guest"]
fn qemu_dies_with_a_killed_parent() {
    let own = std::env::current_exe().expect("own path");
    let mut holder = Command::new(own)
        .args(["--exact", "--ignored", "boot::holder_of_a_guest"])
        .env(HOLDER, "1")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("holder");
    // Later than its start: a QEMU without its parent's files would end by itself.
    let running = until(Duration::from_secs(60), || {
        qemus_with(HELD).iter().any(|qemu| is_busy(qemu))
    });
    // SIGKILL: nothing in the holder gets a chance to clean up.
    holder.kill().expect("kill");
    holder.wait().expect("wait");
    assert!(running, "the holder's QEMU was never seen at work");
    assert!(
        until(Duration::from_secs(10), || qemus_with(HELD).is_empty()),
        "QEMU outlived its parent"
    );
}
