//! Functions of the libraries that come after this one: libc's, as a rule.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};

/// The version of what glibc has had from its beginning on this architecture.
pub const FIRST: &CStr = if cfg!(target_arch = "aarch64") {
    c"GLIBC_2.17"
} else {
    c"GLIBC_2.2.5"
};

/// The next function of this name, in this version if one is told, as the program is bound
/// to it, and in any if there is none; null where there is none at all. Uses the dynamic
/// loader: not on any path but the start's.
pub fn symbol(name: &CStr, version: Option<&CStr>) -> *mut c_void {
    unsafe extern "C" {
        fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    }
    let of_version = version.map(|version| {
        // SAFETY: strings that end; runs nobody's code but a library's choice of a function.
        unsafe { dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr()) }
    });
    match of_version.filter(|found| !found.is_null()) {
        Some(found) => found,
        // SAFETY: as above.
        None => unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) },
    }
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
