//! Functions of the libraries that come after this one: libc's, as a rule.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::objects::{self, Definition};

/// The version of what glibc has had from its beginning on this architecture.
pub const FIRST: &CStr = if cfg!(target_arch = "aarch64") {
    c"GLIBC_2.17"
} else {
    c"GLIBC_2.2.5"
};
/// That of the functions which came to libc from another library, librt.
pub const FROM_LIBRT: &CStr = c"GLIBC_2.17";

/// The next function of this name, as a program's reference to it in this version is bound
/// that this library does not come before: to a function of the version, or to one without
/// any, whichever comes first. Null where there is none at all.
///
/// (Not what `dlvsym` gives. It passes over functions without a version in libraries that
/// have a version elsewhere, if only in what they need of libc: those of libfaketime.)
///
/// Uses the dynamic loader: not on any path but the start's.
pub fn symbol(name: &CStr, version: &CStr) -> *mut c_void {
    unsafe extern "C" {
        fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    }
    let newest = || {
        // SAFETY: a string that ends; runs nobody's code but a library's choice of a function.
        unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
    };
    // SAFETY: as above.
    let exact = || unsafe { dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr()) };
    match definition(name, version) {
        Some(Definition::At(function)) => function,
        Some(Definition::Chosen { versioned: false }) => newest(),
        Some(Definition::Chosen { versioned: true }) | None => Some(exact())
            .filter(|found| !found.is_null())
            .unwrap_or_else(newest),
    }
}

/// The first one in the objects that come after this library.
fn definition(name: &CStr, version: &CStr) -> Option<Definition> {
    let mut after_us = false;
    let mut first = None;
    objects::each(|object| {
        if after_us && first.is_none() {
            first = object.definition(name, version);
        }
        after_us |= object.holds(definition as *const c_void as usize, 1);
    });
    first
}

/// What a function belongs to: where that is loaded, and its file.
pub fn object(function: *mut c_void) -> Option<(usize, String)> {
    // SAFETY: all zeros are a valid `Dl_info`.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: valid to write to; any address may be asked for.
    let found: c_int = unsafe { libc::dladdr(function, &mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's own string.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some((info.dli_fbase.addr(), name.to_string_lossy().into_owned()))
}
