//! Planted runs, saved as real ones, and what is shown of them.

mod answers;
mod claims;
mod common;
mod disturbed;
mod export;
mod figures;
mod page;
mod planted_chain;
mod published;
mod stalls;
mod timer_events;
mod wall_clock;
