//! What all guests of `tompion-guest` have in common: the kit that they are made of, and
//! how one runs a task.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tompion_model::Unavailable;

use tompion_guest::{Guest, GuestError, KIT_VARIABLE, Kit};

use super::{Output, Task, TaskError};

/// Where `make guest` puts the kit, for a lab run from there.
const KIT: &str = ".cache/guest";
/// KVM that opens and then hangs is told within this time.
const KVM_BOOT: Duration = Duration::from_secs(20);
/// What a boot takes at most, on a busy host.
pub(super) const PATIENCE: Duration = Duration::from_secs(180);

/// The parts of guests with this kernel.
pub(super) fn kit(kernel: &str) -> Result<Kit, GuestError> {
    match std::env::var_os(KIT_VARIABLE) {
        Some(directory) => Kit::open(PathBuf::from(directory)),
        None => {
            trusted(Path::new(KIT))?;
            Kit::open(KIT)
        }
    }?
    .with_kernel(kernel)
}

/// Refuses a kit that nobody named, where root would boot what somebody else put there.
fn trusted(kit: &Path) -> Result<(), GuestError> {
    let others = match rustix::process::geteuid().is_root() && kit.exists() {
        true => std::path::absolute(kit).and_then(|kit| tompion_host::others_on_the_way(&kit)),
        false => Ok(None),
    };
    match others {
        Ok(None) => Ok(()),
        Ok(Some(why)) => Err(GuestError::Kit {
            problem: format!(
                "{} of the current directory is not taken by root: {why}",
                kit.display()
            ),
            remedy: "name its directory by TOMPION_GUEST",
        }),
        Err(why) => Err(GuestError::Kit {
            problem: format!("{}: {why}", kit.display()),
            remedy: "name its directory by TOMPION_GUEST",
        }),
    }
}

/// Boots `guest` for a moment: where KVM cannot be nested it may open and then hang.
pub(super) fn try_kvm(guest: Guest, program: &Path) -> Result<(), Unavailable> {
    let probe = guest.timeout(KVM_BOOT).payload(program, ["--version"]);
    probe.run().map(drop).map_err(|e| one_line(&e).into())
}

/// Runs a task in `guest`.
pub(super) fn run(guest: Guest, task: &Task<'_>) -> Result<Output, TaskError> {
    let mut guest = guest
        .payload(task.program, task.arguments)
        .timeout(task.limit)
        .result_mb(
            u32::try_from(task.most_output >> 20)
                .unwrap_or(u32::MAX)
                .max(1),
        )
        .stop(Arc::clone(task.stop));
    if let Some(telling) = task.telling {
        guest = guest.console_to(telling.clone());
    }
    let outcome = guest.run().map_err(|e| failed(&e))?;
    Ok(Output {
        success: outcome.status.success(),
        status: outcome.status.to_string(),
        stdout: outcome.stdout,
        stderr: outcome.stderr,
    })
}

pub(super) fn failed(error: &GuestError) -> TaskError {
    match error {
        GuestError::Stopped => TaskError::Stopped,
        GuestError::Timeout { .. } => TaskError::Late(one_line(error)),
        other => TaskError::Failed(one_line(other)),
    }
}

/// Without the end of the console, which takes lines of its own, but for the one that
/// says why.
pub(super) fn one_line(error: &GuestError) -> String {
    // Behind what says why, a panic has more lines than the end of the console.
    let console = match error {
        GuestError::Timeout { console, .. }
        | GuestError::NoResult { console, .. }
        | GuestError::Command { console, .. } => console.as_str(),
        _ => "",
    };
    short(&error.to_string(), console)
}

fn short(text: &str, console: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let first = first
        .strip_suffix("; the end of its console:")
        .unwrap_or(first);
    let first = first.strip_prefix("guest: ").unwrap_or(first);
    let why = |line: &'_ str| {
        let at = ["Kernel panic", "tompion-guest-init: "].map(|mark| line.find(mark));
        at.into_iter()
            .flatten()
            .next()
            .map(|at| line[at..].to_owned())
    };
    match console.lines().find_map(why) {
        Some(why) => format!("{first}: {why}"),
        None => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_console_that_says_why_is_kept() {
        let text = "guest: it ended without writing a result; the end of its console:\n  | x";
        let console = "[    2.6] Kernel panic - not syncing: No working init found.\n[    2.7] x";
        let want = "it ended without writing a result: Kernel panic - not syncing: No working \
            init found.";
        assert_eq!(short(text, console), want);
        let silent = "guest: still running after 9 s (tcg), killed; its console is empty";
        assert_eq!(short(silent, ""), &silent["guest: ".len()..]);
    }
}
