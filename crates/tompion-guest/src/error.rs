//! What can go wrong with a guest: one line, then the end of its console.

use std::io;

use super::{Accel, FrameError, Vmm, outcome};

/// Why a guest could not be started, or gave no result that can be believed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuestError {
    /// Kernel, init or a program is not there.
    #[error("guest: {problem} ({remedy})")]
    Kit {
        /// What is missing, and where it was looked for.
        problem: String,
        /// How to get it.
        remedy: &'static str,
    },
    /// The guest as described cannot exist.
    #[error("guest: {problem}")]
    Description {
        /// What is wrong and what would be right.
        problem: String,
    },
    /// The program that runs guests is not installed.
    #[error("guest: no program {program} ({})", .vmm.remedy())]
    VmmMissing {
        /// Name or path that was tried.
        program: String,
        /// What it is.
        vmm: Vmm,
    },
    /// The accelerator cannot be used on this machine.
    #[error("guest: {accel} cannot be used: {problem}")]
    Accel {
        /// The accelerator asked for.
        accel: Accel,
        /// Why not and what to use.
        problem: String,
    },
    /// The host refused something.
    #[error("guest: cannot {what}: {source}")]
    Host {
        /// What was tried, with the file if there is one.
        what: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The program that runs the guest ended with an error of its own.
    #[error("guest: {vmm} failed ({status}): {message}")]
    VmmFailed {
        /// What it is.
        vmm: Vmm,
        /// How it ended.
        status: std::process::ExitStatus,
        /// What it wrote to standard error.
        message: String,
    },
    /// The guest had not powered off in time, and was killed.
    #[error("guest: still running after {seconds:.0} s ({accel}{}), killed{}",
        if *.accel == Accel::Kvm && .console.is_empty() {
            ": it never ran, as when /dev/kvm opens and then hangs"
        } else { "" },
        outcome::tail(.console))]
    Timeout {
        /// The limit that was set, in seconds.
        seconds: f64,
        /// Accelerator that was used.
        accel: Accel,
        /// What the console had shown.
        console: String,
    },
    /// It was to stop, by [`Guest::stop`](super::Guest::stop), and was killed.
    #[error("guest: stopped")]
    Stopped,
    /// The guest ended, and its result is missing or damaged.
    #[error("guest: {problem}{}", outcome::tail(.console))]
    NoResult {
        /// What is wrong with the result.
        problem: FrameError,
        /// What the console had shown.
        console: String,
    },
    /// The guest came up and could not run the command, or keep its output.
    #[error("guest: {problem}{}", outcome::tail(.console))]
    Command {
        /// What the guest's init said.
        problem: String,
        /// What the console had shown.
        console: String,
    },
}
