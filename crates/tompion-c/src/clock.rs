//! The clock: reading it, its policy, its report.

use std::ffi::{c_char, c_int};

use tompion_time::{Clock, Instant, Policy, Reason, Report, Source};

use crate::border::{Errno, Grows, INVALID, Out, answer, put_text};

/// When the clock reads the CPU's counter instead of the kernel's clock.
#[repr(C)]
pub enum ClockPolicy {
    /// Where the kernel itself keeps time by the counter, the CPU promises a
    /// constant rate, and no emulator computes it. The default.
    Auto = 0,
    /// Also where the kernel lists the counter but prefers another source, or an
    /// emulator computes it, if it passes the library's own checks. They start a
    /// thread for each CPU and take about a millisecond for each. Say so where
    /// you show results: tompion_report.against_advice.
    Tsc = 1,
    /// Never.
    Kernel = 2,
}

/// Where the time comes from at present.
#[repr(C)]
pub enum ClockSource {
    /// The CPU's counter, anchored to the kernel's clock.
    Counter = 1,
    /// The kernel's clock; tompion_clock_reason() tells why.
    Kernel = 2,
    /// The kernel's clock while the rate of the counter is being measured: for
    /// the first 15 ms of a program that reads its clock, and after losses.
    Calibrating = 3,
}

/// What the clock does and how well: tompion_clock_report(). May grow at its end.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ClockReport {
    /// A #tompion_clock_policy: the one in force.
    pub policy: i32,
    /// A #tompion_clock_source.
    pub source: i32,
    /// 1 where the counter is in use only because the program asked for it and
    /// #TOMPION_CLOCK_POLICY_AUTO would not use it; else 0.
    pub against_advice: u64,
    /// The largest difference from CLOCK_MONOTONIC that the design allows while
    /// the kernel slews its clock by up to 500 ppm and the counter behaves.
    pub error_bound_ns: u64,
    /// The largest difference met so far.
    pub worst_off_ns: u64,
    /// The counter's rate against CLOCK_MONOTONIC; 0 while it is not known.
    pub counter_hz: f64,
    /// The uncertainty of that rate, in parts per million.
    pub rate_uncertainty_ppm: f64,
    /// What one tompion_now_ns() costs in a loop within the library. In ns, as the
    /// next two.
    pub read_cost_ns: f64,
    /// What one tompion_now_ordered_ns() costs, likewise.
    pub ordered_read_cost_ns: f64,
    /// What one read of the kernel's clock costs, for comparison.
    pub kernel_read_cost_ns: f64,
    /// Comparisons with the kernel's clock so far.
    pub anchors: u64,
    /// Times that trust in the counter was lost.
    pub losses: u64,
    /// How long the clock held its last value in all, because it was ahead of the
    /// kernel's when trust was lost.
    pub held_ns: u64,
    /// The longest such hold.
    pub longest_hold_ns: u64,
    /// Times that the kernel changed the rate of its clock against the counter.
    pub rate_changes: u64,
}

// SAFETY: numbers alone, and no padding: two of 32 bits, then all of 64.
unsafe impl Grows for ClockReport {
    const FIRST_SIZE: usize = 112;
}

fn policy(number: c_int) -> Result<Policy, Errno> {
    [
        (ClockPolicy::Auto, Policy::Auto),
        (ClockPolicy::Tsc, Policy::Tsc),
        (ClockPolicy::Kernel, Policy::Kernel),
    ]
    .into_iter()
    .find_map(|(theirs, ours)| (theirs as c_int == number).then_some(ours))
    .ok_or(INVALID)
}

fn policy_number(policy: Policy) -> c_int {
    match policy {
        Policy::Auto => ClockPolicy::Auto as c_int,
        Policy::Tsc => ClockPolicy::Tsc as c_int,
        Policy::Kernel => ClockPolicy::Kernel as c_int,
    }
}

pub(crate) fn source_number(source: Source) -> c_int {
    (match source {
        Source::Counter => ClockSource::Counter,
        Source::Kernel(Reason::Calibrating) => ClockSource::Calibrating,
        Source::Kernel(_) => ClockSource::Kernel,
    }) as c_int
}

impl From<&Report> for ClockReport {
    fn from(report: &Report) -> Self {
        let ns =
            |duration: std::time::Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self {
            policy: policy_number(report.policy),
            source: source_number(report.source),
            against_advice: report.against.is_some().into(),
            error_bound_ns: ns(report.error_bound),
            worst_off_ns: ns(report.worst_off),
            counter_hz: report.counter_hz.unwrap_or(0.0),
            rate_uncertainty_ppm: report.rate_uncertainty_ppm,
            read_cost_ns: report.read_cost_ns,
            ordered_read_cost_ns: report.ordered_read_cost_ns,
            kernel_read_cost_ns: report.kernel_read_cost_ns,
            anchors: report.anchors,
            losses: report.losses,
            held_ns: ns(report.held),
            longest_hold_ns: ns(report.longest_hold),
            rate_changes: report.rate_changes,
        }
    }
}

/// Sets the policy and waits until the clock has settled: until the counter is in
/// use, or surely is not (about 20 ms, at most 200 ms).
///
/// Nobody has to call this: the first read starts the clock with
/// #TOMPION_CLOCK_POLICY_AUTO. But the start opens files and takes memory, so that
/// programs that read the clock in signal handlers must call it before.
///
/// @param policy a #tompion_clock_policy.
/// @return 0, or -EINVAL where there is no such policy.
///
/// [thread-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_clock_init(policy: c_int) -> c_int {
    answer(|| {
        Clock::init(self::policy(policy)?);
        Ok(0)
    })
}

/// Changes the policy while the program runs. Where the counter was in use this
/// takes up to 6 ms; time neither jumps nor stands.
///
/// @param policy a #tompion_clock_policy.
/// @return 0, or -EINVAL where there is no such policy.
///
/// [thread-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_clock_set_policy(policy: c_int) -> c_int {
    answer(|| {
        Clock::set_policy(self::policy(policy)?);
        Ok(0)
    })
}

/// The policy in force.
///
/// @return a #tompion_clock_policy.
///
/// [signal-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_clock_get_policy() -> c_int {
    policy_number(Clock::policy())
}

/// The time: nanoseconds of CLOCK_MONOTONIC, at about the cost of reading the
/// CPU's counter. The CPU may read it a few nanoseconds before or after
/// neighbouring instructions.
///
/// Never runs backwards within a thread; between threads where one reads with
/// tompion_now_ordered_ns() after it learned of the other's time.
///
/// [signal-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_now_ns() -> u64 {
    Instant::now().as_nanos()
}

/// The time as by tompion_now_ns(), read after all earlier instructions have
/// completed. Costs about 10 ns more.
///
/// [signal-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_now_ordered_ns() -> u64 {
    Instant::now_ordered().as_nanos()
}

/// The time of day: nanoseconds of CLOCK_REALTIME, since 1970, at the cost of
/// tompion_now_ordered_ns(). A step of the system's time shows within 5 ms; where the
/// counter is not in use this is the kernel's own reading.
///
/// [signal-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_realtime_ns() -> u64 {
    Clock::realtime_ns()
}

/// Where the time comes from at present.
///
/// @return a #tompion_clock_source.
///
/// [signal-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_clock_get_source() -> c_int {
    source_number(Clock::source())
}

/// Compares the clock with the kernel's now instead of at the next anchor, for
/// programs that have reason to doubt.
///
/// @return a #tompion_clock_source: what is in use afterwards.
///
/// [signal-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_clock_check() -> c_int {
    source_number(Clock::check())
}

/// Why the kernel's clock is used, as one line of English without a full stop;
/// empty where the counter is. Written as by snprintf: `text` gets what fits into
/// `size` bytes with the terminating zero. 256 bytes are enough.
///
/// @param text may be NULL where `size` is 0.
/// @return the length of the whole text without the zero; cut where that is not
///   less than `size`. -EINVAL where `text` is NULL and `size` is not 0.
///
/// [thread-safe]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tompion_clock_reason(text: *mut c_char, size: usize) -> c_int {
    answer(|| {
        let reason = match Clock::source() {
            Source::Counter => String::new(),
            Source::Kernel(why) => why.to_string(),
        };
        // SAFETY: the caller's memory, as the header asks for.
        unsafe { put_text(text, size, &reason) }
    })
}

/// Fills a report. Measures the costs of reading, which takes about a quarter of a
/// millisecond.
///
/// @param report is filled.
/// @param size `sizeof *report`.
/// @return 0; -EINVAL where `report` is NULL or `size` too small, -E2BIG where it
///   is above 4096.
///
/// [thread-safe]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tompion_clock_report(report: *mut ClockReport, size: usize) -> c_int {
    answer(|| {
        // SAFETY: the caller's memory, as the header asks for.
        unsafe { Out::new(report, size) }?.fill((&Clock::report()).into());
        Ok(0)
    })
}

/// The report as some lines of English for people, the last one without a newline.
/// Measures as tompion_clock_report() does, so that no two need be alike. Written
/// as by snprintf; 2048 bytes are enough.
///
/// @param text may be NULL where `size` is 0.
/// @return the length of the whole text without the terminating zero; cut where
///   that is not less than `size`. -EINVAL where `text` is NULL and `size` is not 0.
///
/// [thread-safe]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tompion_clock_report_text(text: *mut c_char, size: usize) -> c_int {
    answer(|| {
        if text.is_null() && size > 0 {
            return Err(INVALID);
        }
        // SAFETY: the caller's memory, as the header asks for.
        unsafe { put_text(text, size, &Clock::report().to_string()) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_numbered_alike_both_ways() {
        for ours in [Policy::Auto, Policy::Tsc, Policy::Kernel] {
            assert_eq!(policy(policy_number(ours)), Ok(ours));
        }
        for bad in [-1, 3, c_int::MAX, c_int::MIN] {
            assert_eq!(policy(bad), Err(INVALID));
            assert_eq!(tompion_clock_init(bad), -libc::EINVAL);
        }
    }
}
