//! The few facts that only system calls tell. The only unsafe code of this
//! crate is here.
#![allow(unsafe_code)]

use crate::synchronisation::Timex;

/// Answers of system calls, as they were when the value was made.
#[derive(Clone, Debug, Default)]
pub struct SystemCalls {
    /// Host name (uname).
    pub hostname: String,
    /// Instruction set of the kernel (uname).
    pub architecture: String,
    /// Kernel release (uname).
    pub release: String,
    /// Kernel version (uname).
    pub version: String,
    /// Timer slack of the calling thread, in nanoseconds (prctl).
    pub timer_slack_ns: Option<u64>,
    /// State of the kernel's clock (adjtimex).
    pub timex: Option<Timex>,
}

impl SystemCalls {
    /// Asks the kernel.
    pub fn made() -> Self {
        let uname = rustix::system::uname();
        let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
        Self {
            hostname: text(uname.nodename()),
            architecture: text(uname.machine()),
            release: text(uname.release()),
            version: text(uname.version()),
            timer_slack_ns: rustix::thread::current_timer_slack().ok(),
            timex: adjtimex(),
        }
    }
}

/// Whether there are random numbers, without which the standard library's maps panic.
pub fn has_random_numbers() -> bool {
    let ask = |flags| {
        let mut byte = 0u8;
        // SAFETY: one byte is all that is written, to a live variable.
        let got = unsafe { libc::getrandom((&raw mut byte).cast(), 1, flags) };
        match got {
            1 => Ok(()),
            _ => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        }
    };
    // As the library asks, which goes to the device for these refusals alone.
    let got = match ask(libc::GRND_INSECURE) {
        Err(libc::EINVAL) => match ask(libc::GRND_NONBLOCK) {
            Err(libc::EAGAIN) => Err(libc::ENOSYS),
            got => got,
        },
        got => got,
    };
    match got {
        Ok(()) => true,
        Err(libc::ENOSYS | libc::EPERM) => std::fs::File::open("/dev/urandom").is_ok(),
        Err(_) => false,
    }
}

/// Reads the state of the kernel's clock without changing it; `None` where the
/// call is forbidden, as in some sandboxes.
#[allow(
    clippy::useless_conversion,
    reason = "the fields are 32 bits wide on 32-bit machines"
)]
pub fn adjtimex() -> Option<Timex> {
    // SAFETY: `timex` consists of integers only, for which all-zero bytes are
    // valid; `modes` 0 asks for a read.
    let mut raw: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live, exclusively borrowed `timex`, which is
    // all that adjtimex(2) writes to.
    let state = unsafe { libc::adjtimex(&mut raw) };
    (state >= 0).then(|| Timex {
        state,
        status: raw.status,
        offset: i64::from(raw.offset),
        frequency: i64::from(raw.freq),
        maximum_error_us: i64::from(raw.maxerror),
        estimated_error_us: i64::from(raw.esterror),
        tick_us: i64::from(raw.tick),
        tai_s: raw.tai,
    })
}
