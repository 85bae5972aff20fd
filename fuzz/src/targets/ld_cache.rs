//! The loader's cache of libraries.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::Target;
use crate::input::Input;

pub static ENTRY: Target = Target {
    name: "ld-cache",
    about: "the loader's cache, /etc/ld.so.cache",
    parser: &["tompion-launch/src/ld_cache.rs"],
    most_bytes: 4096,
    run,
};

/// The name that is looked up behind its length, then the cache.
fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let name = OsStr::from_bytes(input.short());
    let cache = input.rest();
    let found = tompion_launch::fuzz::libraries(cache, name);
    assert!(found.len() <= cache.len() / 24, "{} entries", found.len());
}
