//! Which library this is.

use std::ffi::c_char;

/// The version of the library that is in use, which a newer shared library may
/// raise above the header's #TOMPION_VERSION: "0.1.0". A constant.
///
/// [signal-safe]
#[unsafe(no_mangle)]
pub extern "C" fn tompion_version() -> *const c_char {
    const { concat!(env!("CARGO_PKG_VERSION"), "\0") }
        .as_ptr()
        .cast()
}
