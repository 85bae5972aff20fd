//! A program that knows nothing of Tompion, sleeps, and tells how late it woke: what
//! the preload library is tried with. Interpreters that most machines have will do,
//! since they call the C library's own functions.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Duration;

use tompion_stats::Distribution;

use crate::bench::{BenchError, Figures};

/// One way to sleep from an interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Script {
    /// The interpreter.
    pub program: &'static str,
    /// Ends well where the interpreter can do it.
    probe: &'static [&'static str],
    /// Sleeps to each point of a grid and prints nanoseconds of lateness, a line each;
    /// takes the distance in nanoseconds, how many, and the seconds after which a few
    /// are enough.
    body: &'static [&'static str],
}

/// In the order of preference: Perl calls clock_nanosleep directly.
const SCRIPTS: [Script; 2] = [
    Script {
        program: "perl",
        probe: &["-MTime::HiRes=clock_nanosleep", "-e", "1"],
        body: &[
            "-MTime::HiRes=clock_gettime,clock_nanosleep,CLOCK_MONOTONIC,TIMER_ABSTIME",
            "-e",
            "my ($d, $n, $s) = @ARGV;
             my $t = int(clock_gettime(CLOCK_MONOTONIC) * 1e9) + $d;
             my ($end, @late) = ($t + $s * 1e9);
             while ($n-- > 0 && ($t < $end || @late < 8)) {
                 clock_nanosleep(CLOCK_MONOTONIC, $t, TIMER_ABSTIME);
                 my $late = clock_gettime(CLOCK_MONOTONIC) * 1e9 - $t;
                 push @late, $late;
                 $t += $d * (1 + int(($late > 0 ? $late : 0) / $d));
             }
             printf \"%.0f\\n\", $_ for @late;",
        ],
    },
    Script {
        program: "python3",
        // Since 3.11 time.sleep calls clock_nanosleep; before, select.
        probe: &["-c", "import sys; sys.exit(sys.version_info < (3, 11))"],
        body: &[
            "-c",
            "import sys, time
d, n, s = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
t = time.monotonic_ns() + d
end, late = t + s * 1e9, []
while n > 0 and (t < end or len(late) < 8):
    n -= 1
    time.sleep(max(0, t - time.monotonic_ns()) / 1e9)
    late.append(time.monotonic_ns() - t)
    t += d * (1 + max(0, late[-1]) // d)
print(*late, sep='\\n')",
        ],
    },
];

impl Script {
    /// Those that run here, the best first.
    pub fn available() -> impl Iterator<Item = Self> {
        SCRIPTS.into_iter().filter(|script| {
            let mut command = Command::new(script.program);
            command.args(script.probe).stdin(Stdio::null());
            tompion_child::output(&mut command).is_ok_and(|done| done.status.success())
        })
    }
}

/// The program, with and without the preload library.
#[derive(Clone, Debug)]
pub struct ProgramRun {
    /// What it runs.
    pub script: Script,
    /// Environment variables that load the library into it.
    pub preload: Vec<(OsString, OsString)>,
}

impl ProgramRun {
    /// Sleeps that are left out at the start, as in the other trials.
    const WARM_UP: usize = 3;

    pub(super) fn measure(
        &self,
        preload: bool,
        target_ns: u64,
        quantile: f64,
        time: Duration,
    ) -> Result<Option<Figures>, BenchError> {
        let failed = |what: String| BenchError::Failed(format!("{}: {what}", self.script.program));
        let wanted = time.as_nanos() as u64 / target_ns.max(1) + Self::WARM_UP as u64;
        let mut command = Command::new(self.script.program);
        command.args(self.script.body).args([
            target_ns.to_string(),
            wanted.to_string(),
            (2.0 * time.as_secs_f64()).to_string(),
        ]);
        if preload {
            command.envs(self.preload.iter().map(|(name, value)| (name, value)));
        }
        // What the program says of itself would disturb our own lines.
        let done = tompion_child::output(command.stdin(Stdio::null()));
        let done = done.map_err(|e| failed(e.to_string()))?;
        if !done.status.success() {
            let told = String::from_utf8_lossy(&done.stderr);
            let told = told.lines().next().unwrap_or_default().to_owned();
            return Err(failed(format!("{} {told}", done.status)));
        }
        let text = String::from_utf8_lossy(&done.stdout);
        let late: Vec<i64> = text.lines().filter_map(|l| l.parse().ok()).collect();
        let late = late.get(Self::WARM_UP..).unwrap_or_default();
        let samples = late.len() as u64;
        let late = Distribution::from_values(late.iter().map(|ns| ns.saturating_mul(1000)));
        Ok(super::figures(&late, (&late, quantile), None, samples))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_that_runs_here_tells_how_late_it_woke() {
        for script in Script::available() {
            let run = ProgramRun {
                script,
                preload: Vec::new(),
            };
            let time = Duration::from_millis(60);
            let figures = run.measure(false, 1_000_000, 0.99, time).unwrap();
            let figures = figures.unwrap_or_else(|| panic!("{script:?}"));
            assert!(
                figures.median_ns > 100.0 && figures.median_ns < 1e9,
                "{figures:?}"
            );
        }
    }

    #[test]
    fn a_program_that_fails_is_named() {
        let script = Script {
            program: "sh",
            probe: &[],
            body: &["-c", "echo no sleep >&2; exit 3"],
        };
        let run = ProgramRun {
            script,
            preload: Vec::new(),
        };
        let told = run.measure(false, 1_000_000, 0.99, Duration::from_millis(10));
        let told = told.unwrap_err().to_string();
        assert!(told.contains("sh: ") && told.contains("no sleep"), "{told}");
    }
}
