//! Disposable guests in which a program is measured: one command in one guest.
//!
//! [`Guest`] boots a small Linux, in QEMU unless said otherwise, runs one program in it,
//! and brings back what it printed and how it ended. Nothing is left on the machine
//! afterwards.
//!
//! ```no_run
//! use std::time::Duration;
//! use tompion_guest::{Guest, Kit};
//!
//! let kit = Kit::from_env()?;
//! let outcome = Guest::new(&kit)
//!     .cpus(2)
//!     .timeout(Duration::from_secs(120))
//!     .payload(kit.program("guest_probe")?, ["report"])
//!     .run()?;
//! assert!(outcome.status.success(), "{}", outcome.stderr_text());
//! println!("{} ({})", outcome.stdout_text(), outcome.accel);
//! # Ok::<(), tompion_guest::GuestError>(())
//! ```
//!
//! # The recipe
//!
//! - The kernel is one of Debian's 6.1 ([`Kit::with_kernel`]), unpacked from its package
//!   and never installed. It has the serial console and devtmpfs built in; the modules of
//!   the guest's devices come with it.
//! - The initramfs holds `/init` (the program `tompion-guest-init` of this crate,
//!   see [`run_as_init`]), the modules, and the files of the guest. Nothing else:
//!   static programs are put there with [`Guest::file`], dynamic ones with their
//!   interpreter and libraries by [`Guest::dynamic`]. Several programs in one boot, or
//!   one with an environment of its own, are a script of the host's shell, added in
//!   the same way.
//! - `/init` mounts proc, sysfs and devtmpfs, gives the kernel a seed (processors without
//!   RDRAND leave it with none, and whoever asks for random numbers waiting), loads the
//!   modules, runs the command, and writes its standard output, standard error and ending
//!   to the result's disk, behind a header with lengths and a checksum. It knows that disk
//!   by what it begins with: names depend on how and when disks came. Then it powers the
//!   guest off.
//! - QEMU is `-machine pc` unless set; [`Vmm`] names other programs. `microvm` boots a
//!   little faster and hung in 4 of 10 boots without `pit=on`. Disks and initramfs are
//!   files that have no name, and a [`Tap`] is in a namespace without one, so nothing is
//!   left even when the calling process is killed; the guest is killed with the thread
//!   that started it.
//! - Virtual CPUs are pinned while they are stopped ([`Guest::pin`]), before the first
//!   instruction.
//! - A guest that does not end in time is killed. A result that is missing, short,
//!   damaged or of another version is an error that shows the end of the console;
//!   there is never half a result.
//!
//! A boot under emulation takes 3 to 8 s, and several times that on a busy machine,
//! so [`Guest::timeout`] is 120 s unless set.
//!
//! # What a guest is good for, and what it is not
//!
//! The default, [`Accel::Tcg`], is **emulation**. Every instruction is translated,
//! time stamps are the host's, and devices are programs: what is measured in such a
//! guest is never evidence about real hardware, and about hypervisors only as far
//! as the guest's *decisions* go. Those are real: with two CPUs Linux calls the TSC
//! unsynchronised and runs on hpet, with one it settles on tsc (a second or so after
//! boot: until then it is `tsc-early`). The CPU lacks the flags constant_tsc and
//! nonstop_tsc whatever model is chosen. [`Outcome::accel`] goes with every result;
//! so should the guest's clock source. `clocksource=acpi_pm` or `clocksource=hpet` among
//! the [`Guest::kernel_args`] chooses a slow one at boot, for which reading the clock is
//! a system call, and leaves tsc listed.
//!
//! What the program writes to standard error also goes to the console while it
//! runs, so that the end of a guest that hangs can be read. The console is an
//! emulated serial port: each byte costs the guest some microseconds, so a program
//! that measures should write to standard output, which is kept in memory.
//!
//! [`Accel::Kvm`] is offered and can fail in a way of its own: under some nested
//! hypervisors `/dev/kvm` opens and the guest then never runs. That ends at the
//! timeout, with an error that says so. Only x86-64 guests exist so far.

#![deny(unsafe_code)]

mod describe;
mod error;
mod frame;
#[doc(hidden)]
pub mod fuzz;
mod init;
mod initramfs;
mod kit;
mod libraries;
mod listener;
mod machine;
mod memory_file;
mod network;
mod outcome;
mod run;
mod setup;
mod sys;
#[cfg(test)]
mod tests;
mod vmm;

pub use describe::Guest;
pub use error::GuestError;
pub use init::run_as_init;
pub use initramfs::SCRATCH;
pub use kit::{KIT_VARIABLE, Kit};
pub use listener::Listener;
pub use machine::{Accel, Disk, Vmm};
pub use network::{GUEST_ADDRESS, HOST_ADDRESS, Interface, Tap};
pub use outcome::Outcome;
pub use tompion_frame::FrameError;
