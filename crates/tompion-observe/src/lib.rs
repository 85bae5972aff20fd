//! What happened on the machine while something was measured: events with their
//! own times, and counters.
