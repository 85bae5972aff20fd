//! The kernel's own words on a trace event.

use tompion_observe::fuzz::trace_format;

use crate::Target;
use crate::input::Input;

pub static ENTRY: Target = Target {
    name: "tracefs-format",
    about: "descriptions of trace events, and fields read by them",
    parser: &["tompion-observe/src/events/format.rs"],
    most_bytes: 2048,
    run,
};

/// A record behind its length, then the description.
fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let raw = input.short();
    let text = String::from_utf8_lossy(input.rest());
    let names = [
        "prev_comm",
        "prev_pid",
        "prev_state",
        "next_comm",
        "next_pid",
        "name",
        "vec",
        "pid",
    ];
    trace_format(&text, &names, raw);
}
