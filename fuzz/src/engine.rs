//! The targets under libFuzzer: `TOMPION_FUZZ_TARGET` names the one that is tried. The program's
//! `main` is libFuzzer's own.
#![no_main]

use std::sync::OnceLock;
use std::time::Duration;

// Has `main`, and what the instrumented code calls.
use libfuzzer_sys as _;
use tompion_fuzz::{LONGEST, Target, limit_memory, target};
use tompion_time::os::{ClockId, now_ns};

static CHOSEN: OnceLock<&'static Target> = OnceLock::new();

/// Called by libFuzzer before all else.
// Without its parameters, which nobody needs.
#[unsafe(no_mangle)]
extern "C" fn LLVMFuzzerInitialize() -> i32 {
    let name = std::env::var("TOMPION_FUZZ_TARGET").unwrap_or_default();
    let Some(target) = target(&name) else {
        eprintln!("TOMPION_FUZZ_TARGET names no target: {name:?}");
        std::process::exit(1);
    };
    // What is made once, such as sound runs, is not the first input's.
    (target.run)(&[]);
    limit_memory();
    let _ = CHOSEN.set(target);
    0
}

/// Called by libFuzzer with each input.
// By this name libfuzzer-sys looks for it, which makes sure that the bytes are.
#[unsafe(no_mangle)]
#[expect(improper_ctypes_definitions, reason = "both sides are Rust")]
extern "C" fn rust_fuzzer_test_input(bytes: &[u8]) -> i32 {
    let Some(target) = CHOSEN.get() else {
        return 0;
    };
    // Others may have the CPU meanwhile; what waits for ever is libFuzzer's to end.
    let begun_ns = now_ns(ClockId::ThreadCpu);
    (target.run)(bytes);
    let took = Duration::from_nanos(now_ns(ClockId::ThreadCpu) - begun_ns);
    assert!(took <= LONGEST, "takes {took:?}");
    0
}
