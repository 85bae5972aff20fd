//! Ending on a signal: the first in order, a second one at once.

use std::io::{Read, pipe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use tompion_time::os;

use crate::exit;

/// A signal so soon after the first is the same wish: `timeout` sends its signal to the
/// program and then to its group.
const THE_SAME: Duration = Duration::from_secs(1);

/// A flag that SIGINT, SIGTERM or SIGHUP sets. One of the first two that comes more than a
/// second after the first ends the process at once.
pub fn on_signals() -> std::io::Result<Arc<AtomicBool>> {
    on_signals_call(|| ())
}

/// The same, and `wake` is called at the first of them, for who waits without looking at a flag.
pub fn on_signals_call(wake: impl FnOnce() + Send + 'static) -> std::io::Result<Arc<AtomicBool>> {
    let (stop, at_once) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    for signal in [SIGINT, SIGTERM] {
        let status = i32::from(exit::INTERRUPTED);
        signal_hook::flag::register_conditional_shutdown(signal, status, Arc::clone(&at_once))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    unless_ignored(SIGHUP, &stop)?;
    // Where a sandbox refuses it a pipe, only the first signal counts.
    let Ok((mut told, tells)) = pipe() else {
        return Ok(stop);
    };
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, tells.try_clone()?)?;
    }
    // Sleeps until there is a signal, and so disturbs no measurement. The library's own iterator
    // panics where it may not read.
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if told.read_exact(&mut [0]).is_ok() {
                wake();
                os::sleep(THE_SAME);
                at_once.store(true, Ordering::Relaxed);
            }
        })?;
    Ok(stop)
}

/// A flag that is set by what ends other programs, but for SIGKILL and faults, for a command that has to put something
/// back first: however many come, it ends in order.
pub fn in_order() -> std::io::Result<Arc<AtomicBool>> {
    let stop = Arc::<AtomicBool>::default();
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    for signal in [SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2] {
        unless_ignored(signal, &stop)?;
    }
    Ok(stop)
}

/// Sets the flag at this signal, too, unless whoever started this process has it ignored, as `nohup` SIGHUP.
fn unless_ignored(signal: i32, stop: &Arc<AtomicBool>) -> std::io::Result<()> {
    if !is_ignored(signal) {
        signal_hook::flag::register(signal, Arc::clone(stop))?;
    }
    Ok(())
}

/// Whether this process was started with the signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
