//! What the observer sees of injected causes of known size.

mod common;
mod events;
mod observer;
mod privileges;
mod turns;
