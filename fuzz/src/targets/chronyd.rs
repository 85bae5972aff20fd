//! What chronyd answers on its command port.

use crate::Target;
use crate::daemons::{Protocol, tried};

pub static ENTRY: Target = Target {
    name: "chronyd",
    about: "answers of a chronyd: what is to another question is not believed, and what is shown is plain",
    parser: &[
        "tompion-host/src/time_keeping/cmdmon.rs",
        "tompion-host/src/time_keeping/keepers/chrony.rs",
    ],
    most_bytes: 4096,
    run: |bytes| tried(&PROTOCOL, &["chrony"], bytes),
};

static PROTOCOL: Protocol = Protocol {
    port: 323,
    made_right,
    is_right,
};

/// As `candm.h` of chrony has the header of a reply: version, kind, command, form, status, sequence.
fn made_right(question: &[u8], content: &[u8]) -> Vec<u8> {
    let form = match question[4..6] {
        [0, 14] => 2,
        [0, 15] => 3,
        _ => 5,
    };
    let mut reply = vec![6, 2, 0, 0, question[4], question[5], 0, form, 0, 0];
    reply.extend([0; 6]);
    reply.extend(&question[8..12]);
    reply.extend([0; 8]);
    reply.extend(content);
    reply
}

fn is_right(question: &[u8], answer: &[u8]) -> bool {
    answer.len() >= 28
        && answer.starts_with(&[6, 2])
        && answer[4..6] == question[4..6]
        && answer[8..10] == [0, 0]
        && answer[16..20] == question[8..12]
}
