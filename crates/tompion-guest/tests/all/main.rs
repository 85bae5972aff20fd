//! Guests that really boot (`make guest`; ignored elsewhere), and the programs that run in them.

mod advise;
mod boot;
mod clock;
mod common;
mod held_up;
mod machines;
mod preload;
mod programs;
mod standstills;
mod stepped;
mod taps;
mod time_keeping;
