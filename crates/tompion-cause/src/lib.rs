//! From evidence to causes: why did this thread stand still?
//!
//! Pure: no I/O, no clock. All times are nanoseconds of `CLOCK_MONOTONIC`.
//!
//! [`attribute`] shares one stall of a busy loop out among causes, so that the
//! parts sum to the stall; [`lost`] does so for a running program, whose lost time
//! comes from its own switches; [`Totals`] adds up.
//!
//! # The rules
//! Each moment of a stall gets one cause, from the first line that applies.
//!
//! | the moment | is | on the strength of |
//! |---|---|---|
//! | stopped, not yet woken up | stopped | event |
//! | off the CPU of its own will, within a page fault or while major faults grew | page fault | event |
//! | waiting | waited | event |
//! | off the CPU, not preempted | stopped: a busy loop makes no call that waits | event |
//! | could run, and the group's throttled time grew, as far as it grew: idle time of the CPU first, then time of which nobody knows who ran | throttled | counter |
//! | could run, the CPU idle, throttled time not told | throttled | event |
//! | could run, the CPU idle, throttled time told and used up; or just woken up | unknown | |
//! | an interrupt was served | tick, hard interrupt | event |
//! | a softirq was served | softirq | event |
//! | could run, the kernel's migration thread ran | migration | event |
//! | could run | preempted, by whoever ran | event |
//! | a page fault with its own times | page fault | event |
//! | at most 5 us beside one of these | the same: the kernel's way in and out | event |
//! | no event, switches not recorded: run delay grew | throttled as far as throttled time grew, else preempted | counter |
//! | no CPU time and no run delay; voluntary switches grew | stopped; page fault where major faults grew | counter |
//! | the same, run delay not told, involuntary switches grew | throttled, preempted | counter |
//! | no CPU time, no switch | stolen where stolen time is accounted, else unknown | counter |
//! | at most 10 us beside at least four times as much told by counters | the same | counter |
//! | page faults grew, enough at 20 us each, or at 500 us for huge pages | page fault | counter |
//! | the CPU's count of system management interrupts grew | SMI | counter |
//! | a migration, and at most 50 us | migration | event |
//! | all events of the CPU were recorded | unseen by the guest; unknown where stolen time is accounted and no counters were read | event |
//! | anything else | unknown | |
//!
//! Counters are read some time before and right after a stall. What they grew by
//! belongs to the stall as long as other stalls between the readings are below a
//! tenth of it; beyond that only the growth that those cannot explain, and the
//! rest is unknown unless page faults or SMI explain it. Growth below 5 us is noise of the readings.
//!
//! # What it cannot tell
//! * Where the kernel subtracts interrupts from CPU time
//!   (`CONFIG_IRQ_TIME_ACCOUNTING`) and steal is accounted too, an interrupt that
//!   no event shows counts as stolen.
//! * The group's throttled time adds up all of its CPUs: time of one thread behind a
//!   neighbour counts as throttled while another thread of the group was.
//! * Interrupts without events are CPU time of the thread, hence unknown.
//! * Real-time throttling is not in the group's throttled time.
#![forbid(unsafe_code)]

mod attribute;
mod evidence;
mod growth;
mod part;
mod program;
mod timeline;
mod totals;
mod words;

#[cfg(test)]
mod tests;

pub use attribute::attribute;
pub use evidence::{Access, Cause, Counters, Disturbance, OffCpu, Source, Span, Stall, Task, What};
pub use part::{Evidence, Part};
pub use program::{Lost, lost};
pub use totals::{NAMES_SHOWN, OTHERS, Total, Totals};
pub use words::{describe, describe_cause, describe_ns, describe_stall};
