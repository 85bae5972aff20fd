//! Probes against injected causes of known size.

mod stall_causes;
mod timer_events;
