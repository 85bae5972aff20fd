//! What an ntpd answers to control messages.

use crate::Target;
use crate::daemons::{Protocol, tried};

pub static ENTRY: Target = Target {
    name: "ntpd",
    about: "answers of an ntpd: what is to another question is not believed, and what is shown is plain",
    parser: &[
        "tompion-host/src/time_keeping/mode6.rs",
        "tompion-host/src/time_keeping/keepers/ntpd.rs",
        "tompion-host/src/time_keeping/keepers/ntpsec.rs",
    ],
    most_bytes: 4096,
    run: |bytes| tried(&PROTOCOL, &["ntpd", "ntpsec"], bytes),
};

static PROTOCOL: Protocol = Protocol {
    port: 123,
    made_right,
    is_right,
};

/// As RFC 9327 has the header: operation, sequence, status, association, offset, count.
fn made_right(question: &[u8], content: &[u8]) -> Vec<u8> {
    let mut reply = vec![0x16, 0x80 | question[1]];
    reply.extend(&question[2..4]);
    reply.extend([0, 0]);
    reply.extend(&question[6..8]);
    reply.extend([0, 0]);
    reply.extend((content.len() as u16).to_be_bytes());
    reply.extend(content);
    reply
}

fn is_right(question: &[u8], answer: &[u8]) -> bool {
    answer.len() >= 12
        && answer[0] & 7 == 6
        && answer[1] == (answer[1] & 0x20) | 0x80 | question[1]
        && answer[2..4] == question[2..4]
        && answer[6..8] == question[6..8]
        && answer.len() - 12 >= usize::from(u16::from_be_bytes([answer[10], answer[11]]))
}
