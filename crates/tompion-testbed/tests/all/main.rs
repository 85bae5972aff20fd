//! Testbeds on this machine, as root; elsewhere each test says NOT RUN.

mod attached;
mod commands;
mod common;
mod kernel;
mod path;
mod rate;
mod truth;
mod vanish;
mod vantage;
