//! The targets under libFuzzer: `TOMPION_FUZZ_TARGET` names the one that is tried. The program's
//! `main` is libFuzzer's own.
#![no_main]

use std::sync::OnceLock;

// Has `main`, and what the instrumented code calls.
use libfuzzer_sys as _;
use tompion_fuzz::{Target, limit_memory, target};

/// Called by libFuzzer with each input.
// By this name libfuzzer-sys looks for it, which makes sure that the bytes are.
#[unsafe(no_mangle)]
#[expect(improper_ctypes_definitions, reason = "both sides are Rust")]
extern "C" fn rust_fuzzer_test_input(bytes: &[u8]) -> i32 {
    static CHOSEN: OnceLock<&'static Target> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| {
        let name = std::env::var("TOMPION_FUZZ_TARGET").unwrap_or_default();
        let Some(target) = target(&name) else {
            eprintln!("TOMPION_FUZZ_TARGET names no target: {name:?}");
            std::process::exit(1);
        };
        // What is made once, such as sound runs, is not the first input's.
        (target.run)(&[]);
        limit_memory();
        target
    });
    (chosen.run)(bytes);
    0
}
