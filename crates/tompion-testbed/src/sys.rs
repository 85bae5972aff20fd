//! All unsafe code of this crate: packet rings shared with the kernel, settings of devices and of
//! threads that have no safe face, and what runs between fork and exec.
#![allow(unsafe_code)]

mod contain;
mod device;
mod ring;
mod scheduling;

pub use contain::contain;
pub use device::{Offload, set_offload};
pub use ring::{Frame, Ring, dropped};
pub use scheduling::real_time;
