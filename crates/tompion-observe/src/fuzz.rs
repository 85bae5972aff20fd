//! What the fuzz targets try of this crate beside its public face; for nobody else.

pub use crate::events::fuzz::{Ring, told, trace_format};
