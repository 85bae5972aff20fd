//! Classic BPF programs, for what a tap wants, built without jumps by hand.
//!
//! A filter spares the tap what it does not want; it does not decide. What it cannot see, such as
//! UDP behind IPv6 extension headers, it lets pass: [`Frame`](crate::frame::Frame) decides.

#[cfg(test)]
mod tests;

use crate::sys::Instruction;

/// What a tap lets pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// Everything.
    #[default]
    All,
    /// UDP with this source or destination port. Fragments but for the first have none, and do
    /// not pass.
    UdpPort(u16),
    /// ICMP and ICMPv6.
    Icmp,
    /// What either of the two lets pass.
    UdpPortOrIcmp(u16),
}

/// Protocols, as IANA numbers them.
const UDP: u32 = 17;
const ICMP: u32 = 1;
const ICMPV6: u32 = 58;

/// Instructions of linux/bpf_common.h: load into the accumulator.
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
/// Load a half word beyond the index register.
const LOAD_HALF_INDEXED: u16 = 0x48;
/// Four times the lower four bits of a byte into the index register: the length of an IPv4 header.
const LOAD_HEADER_LENGTH: u16 = 0xb1;
const JUMP_EQUAL: u16 = 0x15;
/// Jump where a bit is set.
const JUMP_SET: u16 = 0x45;
const RETURN: u16 = 0x06;

/// Where a jump leads: within a program that is not laid out yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Next,
    Accept,
    Reject,
    Label(usize),
}

enum Step {
    Do(u16, u32),
    Jump(u16, u32, To, To),
    Label(usize),
}

/// The program for a filter that hands on `snap` bytes of each frame; none for all frames whole.
pub fn program(filter: Filter, snap: u32) -> Vec<Instruction> {
    let mut steps = vec![];
    let (port, icmp) = match filter {
        Filter::All => (None, false),
        Filter::UdpPort(port) => (Some(port), false),
        Filter::Icmp => (None, true),
        Filter::UdpPortOrIcmp(port) => (Some(port), true),
    };
    if port.is_some() || icmp {
        is_wanted(&mut steps, 12, 0, port, icmp);
        tagged(&mut steps);
        is_wanted(&mut steps, 16, 2, port, icmp);
    }
    lay_out(&steps, filter == Filter::All, snap)
}

/// What has its EtherType at this place; two labels are used, and what is no IP goes on behind.
fn is_wanted(steps: &mut Vec<Step>, at: u32, label: usize, port: Option<u16>, icmp: bool) {
    // IPv4: the protocol, no later fragment, either port.
    steps.push(Step::Do(LOAD_HALF, at));
    steps.push(Step::Jump(JUMP_EQUAL, 0x0800, To::Next, To::Label(label)));
    steps.push(Step::Do(LOAD_BYTE, at + 2 + 9));
    of_protocols(steps, port, icmp.then_some(ICMP));
    if let Some(port) = port {
        steps.push(Step::Do(LOAD_HALF, at + 2 + 6));
        steps.push(Step::Jump(JUMP_SET, 0x1fff, To::Reject, To::Next));
        steps.push(Step::Do(LOAD_HEADER_LENGTH, at + 2));
        for offset in [0, 2] {
            steps.push(Step::Do(LOAD_HALF_INDEXED, at + 2 + offset));
            steps.push(Step::Jump(JUMP_EQUAL, port.into(), To::Accept, To::Next));
        }
        steps.push(Step::Do(RETURN, 0));
    }
    steps.push(Step::Label(label));
    let not_v6 = To::Label(label + 1);
    steps.push(Step::Jump(JUMP_EQUAL, 0x86dd, To::Next, not_v6));
    extensions(steps, at);
    of_protocols(steps, port, icmp.then_some(ICMPV6));
    if let Some(port) = port {
        for offset in [0, 2] {
            steps.push(Step::Do(LOAD_HALF, at + 2 + 40 + offset));
            steps.push(Step::Jump(JUMP_EQUAL, port.into(), To::Accept, To::Next));
        }
        steps.push(Step::Do(RETURN, 0));
    }
    steps.push(Step::Label(label + 1));
}

/// Accepts this ICMP, goes on with UDP where ports are wanted, and rejects all others, by the
/// number in the accumulator.
fn of_protocols(steps: &mut Vec<Step>, port: Option<u16>, icmp: Option<u32>) {
    let otherwise = match port {
        Some(_) => To::Next,
        None => To::Reject,
    };
    if let Some(icmp) = icmp {
        steps.push(Step::Jump(JUMP_EQUAL, icmp, To::Accept, otherwise));
    }
    if port.is_some() {
        steps.push(Step::Jump(JUMP_EQUAL, UDP, To::Next, To::Reject));
    }
}

/// Leaves the next header of IPv6 in the accumulator; lets extension headers pass.
fn extensions(steps: &mut Vec<Step>, at: u32) {
    steps.push(Step::Do(LOAD_BYTE, at + 2 + 6));
    for header in [0, 43, 44, 51, 60] {
        steps.push(Step::Jump(JUMP_EQUAL, header, To::Accept, To::Next));
    }
}

/// What has no VLAN tag is none of what was asked for.
fn tagged(steps: &mut Vec<Step>) {
    const LABEL: usize = 9;
    steps.push(Step::Do(LOAD_HALF, 12));
    steps.push(Step::Jump(JUMP_EQUAL, 0x8100, To::Label(LABEL), To::Next));
    steps.push(Step::Jump(JUMP_EQUAL, 0x88a8, To::Next, To::Reject));
    steps.push(Step::Label(LABEL));
}

fn lay_out(steps: &[Step], ends_well: bool, snap: u32) -> Vec<Instruction> {
    let is_instruction = |step: &&Step| !matches!(step, Step::Label(_));
    let count = steps.iter().filter(is_instruction).count();
    // The two returns stand at the end.
    let (accept, reject) = match ends_well {
        true => (count, count + 1),
        false => (count + 1, count),
    };
    let place = |label: usize| {
        let is_here = |step: &Step| matches!(step, Step::Label(found) if *found == label);
        let before = steps.iter().take_while(|step| !is_here(step));
        before.filter(is_instruction).count()
    };
    let mut program = vec![];
    for step in steps {
        let here = program.len() + 1;
        // At most some thirty instructions away, always ahead.
        let distance = |to: To| match to {
            To::Next => 0,
            To::Accept => (accept - here) as u8,
            To::Reject => (reject - here) as u8,
            To::Label(label) => (place(label) - here) as u8,
        };
        match *step {
            Step::Do(code, k) => program.push(instruction(code, k)),
            Step::Jump(code, k, if_true, if_false) => program.push(Instruction {
                if_true: distance(if_true),
                if_false: distance(if_false),
                ..instruction(code, k)
            }),
            Step::Label(_) => {}
        }
    }
    let [first, second] = match ends_well {
        true => [snap, 0],
        false => [0, snap],
    };
    program.push(instruction(RETURN, first));
    program.push(instruction(RETURN, second));
    program
}

fn instruction(code: u16, k: u32) -> Instruction {
    Instruction {
        code,
        if_true: 0,
        if_false: 0,
        k,
    }
}
