//! The machine that commands measure. `planted.rs` has another one.

pub use tompion_run::Machine;
