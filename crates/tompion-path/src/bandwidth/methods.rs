//! The methods, one a file.

pub(super) mod chirp;
mod fit;
pub(super) mod kite2;
pub(super) mod ours;
pub(super) mod yaz;
