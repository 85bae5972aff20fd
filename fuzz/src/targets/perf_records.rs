//! Records of the kernel's, from a ring's bytes to spans and turns.

use tompion_cause::{Span, What};
use tompion_observe::events::Origin;
use tompion_observe::fuzz::{Ring, told};

use crate::Target;
use crate::input::Input;

pub static ENTRY: Target = Target {
    name: "perf-records",
    about: "records of perf_event_open(2), decoded and put together",
    parser: &[
        "tompion-observe/src/events/decode.rs",
        "tompion-observe/src/events/assemble.rs",
        "tompion-observe/src/events/assemble/state.rs",
        "tompion-observe/src/events/assemble/threads.rs",
        "tompion-observe/src/events/turns.rs",
        "tompion-observe/src/events/names.rs",
    ],
    most_bytes: 4096,
    run,
};

/// Descriptions of the events by number, as a kernel gives them.
const FORMATS: [&str; 5] = [
    "ID: 1\n field:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
     field:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
     field:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
     field:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
     field:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\
     print fmt: \"\", { 0x1, \"S\" }, { 0x2, \"D\" }, { 0x4, \"T\" }, { 0x8, \"t\" }",
    "ID: 2\n field:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
     field:int target_cpu;\toffset:28;\tsize:4;\tsigned:1;\n",
    "ID: 3\n field:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
     field:int dest_cpu;\toffset:28;\tsize:4;\tsigned:1;\n",
    "ID: 4\n field:int irq;\toffset:8;\tsize:4;\tsigned:1;\n\
     field:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n",
    "ID: 5\n field:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n",
];

/// Threads that are watched.
const TIDS: [i32; 2] = [42, 43];

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let how = input.byte();
    let shift_ns = match how & 1 {
        0 => 0,
        _ => input.integer(),
    };
    let origins = [
        Origin::Cpu(0),
        Origin::Cpu(1),
        Origin::Thread(TIDS[0]),
        Origin::Faults(TIDS[0]),
    ];
    let first = input.u16();
    let first = input.bytes(first.into());
    let (one, other) = (input.below(4), input.below(4));
    let rings = [(one, first), (other, input.rest())];
    let rings = rings.map(|(at, bytes)| Ring {
        origin: origins[at],
        bytes,
    });
    let found = told(&FORMATS, shift_ns, how & 2 != 0, &TIDS, &rings);
    let all = |spans: &[Span]| {
        for span in spans {
            assert!(span.from_ns <= span.until_ns, "{span:?}");
            assert!(span.until_ns <= found.until_ns, "{span:?}");
        }
    };
    for (_, spans) in &found.threads {
        all(spans);
    }
    for (_, spans) in &found.cpus {
        all(spans);
        let turns: Vec<&Span> = spans
            .iter()
            .filter(|s| matches!(s.what, What::Ran(_)))
            .collect();
        let apart = turns.windows(2).all(|w| w[0].until_ns <= w[1].from_ns);
        assert!(apart, "two threads ran on one CPU: {turns:?}");
    }
    for (_, turn) in &found.turns {
        assert!(
            turn.until_ns.is_none_or(|until| turn.from_ns <= until),
            "{turn:?}"
        );
    }
}
