//! A live view of time on this machine: what it knows, which keys it has, and how it is
//! drawn.
//!
//! Pure over a stream of trials: whoever measures hands each slice to a [`State`], keys to
//! [`State::press`], and draws with [`draw`] into any backend of ratatui. Nothing of that
//! reads a clock, a file or a key; the terminal itself is taken and given back by a
//! [`Screen`]. Memory is bounded: five minutes of slices, each as a few
//! figures and a row of counts.
#![forbid(unsafe_code)]

mod choices;
mod keys;
mod plain;
#[cfg(test)]
mod planted;
mod screen;
mod slice;
mod spread;
mod state;
mod view;
mod worst;

pub use choices::{Choices, Setting};
pub use keys::Pressed;
pub use plain::{stall_line, wake_up_line};
pub use screen::Screen;
pub use slice::{CauseLost, Slice, StallSlice};
pub use spread::Spread;
pub use state::{Cost, State, Vitals, WINDOW};
pub use view::{HEIGHT, Look, WIDTH, draw};
pub use worst::{Case, Kind};
