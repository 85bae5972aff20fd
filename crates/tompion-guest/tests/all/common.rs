//! Guests in which several dynamic programs run, one after the other, and what they
//! print; and the C programs of `tests/programs`.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tompion_guest::{Guest, GuestError, Kit, Tap};

/// A network for guests; nothing, which is said, where none can be made.
pub fn tap() -> Option<Arc<Tap>> {
    match Tap::new() {
        Ok(tap) => Some(Arc::new(tap)),
        Err(GuestError::Host { source, .. })
            if [ErrorKind::PermissionDenied, ErrorKind::NotFound].contains(&source.kind()) =>
        {
            eprintln!("NOT RUN: no network can be made here: {source}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Before every script: waits until the kernel has measured the TSC and lists it (a
/// second or so after boot), says what it keeps time by, and defines `run`: what
/// a command prints stands between a line with its name and one with its status.
const PRELUDE: &str = r#"
sources=/sys/devices/system/clocksource/clocksource0
clocks() {
    echo "==> $1"
    read -r current <$sources/current_clocksource
    read -r listed <$sources/available_clocksource
    echo "current=$current"
    echo "listed=$listed"
    echo "<== $?"
}
run() {
    echo "==> $1"
    shift
    "$@" 2>&1
    echo "<== $?"
}
tries=0
while [ $tries -lt 100 ]; do
    read -r listed <$sources/available_clocksource
    case " $listed " in *" tsc "*) break ;; esac
    sleep 0.1
    tries=$((tries + 1))
done
clocks before
"#;

/// After every script.
const EPILOGUE: &str = "clocks after\nrun kernel dmesg\n";

/// The host's programs that scripts use.
const TOOLS: [&str; 4] = ["/bin/sh", "/bin/sleep", "/bin/dmesg", "/usr/bin/env"];

pub fn kit() -> Kit {
    Kit::from_env().unwrap_or_else(|error| panic!("{error}"))
}

/// A guest with the host's shell that runs `script`, in which a line
/// `run NAME COMMAND ARGUMENTS...` is a step. `programs` of the kit are in /bin.
pub fn scripted(kit: &Kit, programs: &[&str], script: &str) -> Guest {
    let guest = Guest::new(kit).command(["/bin/sh", "-c", &format!("{PRELUDE}{script}{EPILOGUE}")]);
    let guest = TOOLS
        .iter()
        .fold(guest, |guest, tool| guest.dynamic(tool, tool));
    programs.iter().fold(guest, |guest, name| {
        let program = kit.program(name).expect("built by make guest");
        guest.dynamic(Path::new("/bin").join(name), program)
    })
}

/// `path` below the workspace's directory.
pub fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// What the steps of a script printed.
pub struct Steps(BTreeMap<String, Step>);

/// One of them: its exit status and both its outputs.
pub struct Step {
    pub status: i32,
    pub text: String,
}

impl Steps {
    /// Boots the guest and shows what it printed.
    pub fn of(guest: &Guest, what: &str) -> Self {
        let outcome = guest.run().unwrap_or_else(|error| panic!("{error}"));
        let steps = Self::parse(&outcome.stdout_text());
        eprintln!("{what}: {:.1} s ({})", outcome.seconds, outcome.accel);
        for (name, step) in steps.0.iter().filter(|(name, _)| *name != "kernel") {
            eprintln!("[{name}] ended with {}\n{}", step.status, step.text);
        }
        assert!(outcome.status.success(), "{}", outcome.stderr_text());
        steps
    }

    fn parse(text: &str) -> Self {
        let mut steps = BTreeMap::new();
        let mut open: Option<(String, String)> = None;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("==> ") {
                open = Some((name.to_owned(), String::new()));
            } else if let Some(status) = line.strip_prefix("<== ") {
                let (name, text) = open.take().expect("a step that began");
                let status = status.parse().expect("an exit status");
                steps.insert(name, Step { status, text });
            } else if let Some((_, text)) = &mut open {
                text.push_str(line);
                text.push('\n');
            }
        }
        Self(steps)
    }

    /// The step `name`, however it ended.
    pub fn step(&self, name: &str) -> &Step {
        let step = self.0.get(name);
        step.unwrap_or_else(|| panic!("the guest ran no step {name}"))
    }

    /// The step `name`, which has to have ended with status 0.
    pub fn well(&self, name: &str) -> &Step {
        let step = self.step(name);
        assert_eq!(step.status, 0, "{name}: {}", step.text);
        step
    }

    /// Whether the guest's kernel kept time by `clocksource` throughout, and went on
    /// trusting the TSC.
    pub fn kept(&self, clocksource: &str) -> bool {
        let distrusted = |line: &str| {
            let line = line.to_lowercase();
            line.contains("tsc") && line.contains("unstable")
        };
        // Listed alone might be late news; the kernel's log has every loss of trust.
        !self.well("kernel").text.lines().any(distrusted)
            && ["before", "after"].iter().all(|when| {
                let clocks = self.well(when);
                clocks.get("current") == clocksource
                    && clocks.get("listed").split(' ').any(|name| name == "tsc")
            })
    }
}

impl Step {
    /// The value in the line `KEY=VALUE`.
    pub fn get(&self, key: &str) -> &str {
        self.text
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
            .unwrap_or_else(|| panic!("no {key} in: {}", self.text))
    }

    /// The same as a number; infinite where it says `never`.
    pub fn number(&self, key: &str) -> f64 {
        match self.get(key) {
            "never" => f64::INFINITY,
            value => value
                .parse()
                .unwrap_or_else(|_| panic!("{key} is no number: {value}")),
        }
    }
}
