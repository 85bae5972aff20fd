//! Stalls of known cause and size, found by the real loop and attributed by the
//! thread's counters alone.

mod counters;
mod page_faults;
mod stopped;
