//! The machine that commands measure. `planted.rs` has another one.

pub use tompion_host::detect as environment;
pub use tompion_run::Machine;
