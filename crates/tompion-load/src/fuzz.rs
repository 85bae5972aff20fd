//! What the fuzz targets try of this crate beside its public face; for nobody else.

pub use crate::peer::fuzz::{admitted, arrived_bytes, asked, token_of};
