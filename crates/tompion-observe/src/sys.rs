//! perf events, their rings and a few clocks of the kernel, behind safe faces.
//! The only unsafe code of this crate is here.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys as perf;
use perf_event_open_sys::bindings::{perf_event_attr, perf_event_mmap_page};

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Opens an event for one thread on any CPU (`cpu` absent) or for all threads of
/// one CPU (`tid` absent).
pub(crate) fn open_event(
    mut attr: perf_event_attr,
    tid: Option<i32>,
    cpu: Option<u32>,
) -> io::Result<OwnedFd> {
    attr.size = size_of::<perf_event_attr>() as u32;
    let cpu = cpu.map_or(-1, |c| c as i32);
    let flags = perf::bindings::PERF_FLAG_FD_CLOEXEC.into();
    // SAFETY: the attributes are an initialised structure of the size they state;
    // the kernel writes nothing but that size.
    let fd = check(unsafe { perf::perf_event_open(&mut attr, tid.unwrap_or(-1), cpu, -1, flags) })?;
    // SAFETY: a descriptor just made, owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The number that an event's records carry.
pub(crate) fn event_id(event: &OwnedFd) -> io::Result<u64> {
    let mut id = 0;
    // SAFETY: the kernel writes eight bytes into `id`.
    check(unsafe { perf::ioctls::ID(event.as_raw_fd(), &mut id) })?;
    Ok(id)
}

/// Lets an event write into the ring of another.
pub(crate) fn redirect(event: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    // SAFETY: takes two descriptors that are open.
    check(unsafe { perf::ioctls::SET_OUTPUT(event.as_raw_fd(), to.as_raw_fd()) }).map(drop)
}

/// Lets a tracepoint record only what the filter says.
pub(crate) fn filter(event: &OwnedFd, filter: &CStr) -> io::Result<()> {
    // SAFETY: the kernel copies the string and does not write to it.
    check(unsafe { perf::ioctls::SET_FILTER(event.as_raw_fd(), filter.as_ptr().cast_mut()) })
        .map(drop)
}

/// Starts recording.
pub(crate) fn enable(event: &OwnedFd) -> io::Result<()> {
    // SAFETY: takes a descriptor that is open.
    check(unsafe { perf::ioctls::ENABLE(event.as_raw_fd(), 0) }).map(drop)
}

/// Stops recording.
pub(crate) fn disable(event: &OwnedFd) {
    // SAFETY: takes a descriptor that is open; nothing is to be done on failure.
    unsafe { perf::ioctls::DISABLE(event.as_raw_fd(), 0) };
}

/// Bytes of a page of memory.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: takes a number only.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}

/// The memory into which the kernel writes an event's records.
#[derive(Debug)]
pub(crate) struct Ring {
    /// One page of control, then the data.
    start: NonNull<u8>,
    page_bytes: usize,
    data_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and is valid in every thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps a ring of `pages` pages, a power of two.
    pub(crate) fn map(event: &OwnedFd, pages: usize) -> io::Result<Self> {
        assert!(pages.is_power_of_two(), "the kernel takes powers of two");
        let page_bytes = page_bytes();
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                (pages + 1) * page_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at zero"))?;
        Ok(Self {
            start,
            page_bytes,
            data_bytes: pages * page_bytes,
        })
    }

    /// Room for records.
    pub(crate) fn capacity(&self) -> usize {
        self.data_bytes
    }

    fn position(&self, field: usize) -> &AtomicU64 {
        // SAFETY: the first page is a perf_event_mmap_page for as long as the
        // mapping lives; both positions are aligned 64-bit words that the kernel
        // and this process share as atomics.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(field).cast()) }
    }

    /// Appends all records there are to `into` and frees their room; returns how
    /// many bytes.
    pub(crate) fn take(&mut self, into: &mut Vec<u8>) -> usize {
        let head = self.position(std::mem::offset_of!(perf_event_mmap_page, data_head));
        let tail = self.position(std::mem::offset_of!(perf_event_mmap_page, data_tail));
        // Pairs with the kernel's store after it has written the records.
        let until = head.load(Ordering::Acquire);
        let from = tail.load(Ordering::Relaxed);
        let bytes = (until.wrapping_sub(from) as usize).min(self.data_bytes);
        let begin = (from % self.data_bytes as u64) as usize;
        let first = bytes.min(self.data_bytes - begin);
        // SAFETY: both parts lie within the data pages; the kernel does not write
        // there before the tail has passed them.
        let (front, back) = unsafe {
            let data = self.start.as_ptr().add(self.page_bytes);
            (
                std::slice::from_raw_parts(data.add(begin), first),
                std::slice::from_raw_parts(data, bytes - first),
            )
        };
        into.extend_from_slice(front);
        into.extend_from_slice(back);
        tail.store(until, Ordering::Release);
        bytes
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping made in `map`, no longer used.
        unsafe {
            libc::munmap(
                self.start.as_ptr().cast(),
                self.page_bytes + self.data_bytes,
            )
        };
    }
}

/// CPU time of a thread of this process, to the nanosecond.
pub(crate) fn thread_cpu_ns(tid: i32) -> Option<u64> {
    // The kernel's encoding: inverted number, bit 2 for a thread, 2 for the
    // scheduler's clock.
    clock_ns((!tid << 3) | 6)
}

/// CPU time of a process, all its threads added.
pub(crate) fn process_cpu_ns(pid: i32) -> Option<u64> {
    clock_ns((!pid << 3) | 2)
}

/// CPU time of the calling thread.
pub(crate) fn own_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `t` is a valid timespec to write to; unknown clocks are refused.
    let result = unsafe { libc::clock_gettime(clock, &mut t) };
    (result == 0).then(|| (t.tv_sec as u64) * 1_000_000_000 + t.tv_nsec as u64)
}

/// Number of the calling thread.
pub(crate) fn own_tid() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// Sends a signal to a thread of this process.
pub(crate) fn signal(tid: i32, signal: libc::c_int) -> io::Result<()> {
    // SAFETY: takes numbers only; what the signal does is what this process has asked for.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, signal) };
    check(result as libc::c_int).map(drop)
}

/// Whether this process does nothing about a signal that is ignored where nobody asks for it.
pub(crate) fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: sigaction consists of integers and an address, for which zero is valid.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is set; `now` is a valid sigaction to write to.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), &mut now) };
    result == 0 && matches!(now.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN)
}

/// What the calling thread has used.
pub(crate) struct Usage {
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

/// `getrusage` of the calling thread.
pub(crate) fn own_usage() -> Option<Usage> {
    // SAFETY: rusage consists of integers, for which zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid rusage to write to.
    let result = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    (result == 0).then_some(Usage {
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
    })
}

/// Ticks a second in which `/proc` counts CPU time.
pub(crate) fn user_hz() -> u64 {
    // SAFETY: takes a number only.
    let hz = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(hz).ok().filter(|hz| *hz > 0).unwrap_or(100)
}

/// CPUs that are online.
pub(crate) fn cpus_online() -> u32 {
    // SAFETY: takes a number only.
    let cpus = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(cpus).ok().filter(|n| *n > 0).unwrap_or(1)
}

/// State of the kernel's clock: its rate against the hardware's in units of
/// 2^-16 ppm, and the phase it still corrects, in ns. Absent where a sandbox
/// forbids the question.
#[allow(
    clippy::useless_conversion,
    reason = "the fields are 32 bits wide on 32-bit machines"
)]
pub(crate) fn clock_state() -> Option<(i64, i64)> {
    // SAFETY: timex consists of integers, for which zero is valid; `modes` 0
    // asks for a read.
    let mut raw: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: `raw` is a valid timex to write to.
    let state = unsafe { libc::adjtimex(&mut raw) };
    let unit = if raw.status & libc::STA_NANO == 0 {
        1000
    } else {
        1
    };
    (state >= 0).then(|| (i64::from(raw.freq), i64::from(raw.offset) * unit))
}

/// Puts the calling thread under the ordinary scheduling policy.
pub(crate) fn be_ordinary() -> io::Result<()> {
    // SAFETY: sched_param is plain numbers, for which zero is valid.
    let parameter: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the parameter is valid; 0 means the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &parameter) }).map(drop)
}
