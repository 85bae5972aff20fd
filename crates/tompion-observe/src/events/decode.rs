//! From the bytes of perf records to [`Record`]s (pure). The layout is that of
//! `perf_event_open(2)` with the sample type that [`super::open`] asks for.

use std::collections::HashMap;

use perf_event_open_sys::bindings as abi;
use tompion_cause::{OffCpu, What};
use tompion_model::printable;

use super::format::{Field, Format};
use super::names::{OUTSIDE, to_comm};
use super::record::{Event, Kind, Origin, Record};

/// What the records of an event are about.
#[derive(Clone, Debug)]
pub(super) enum Role {
    /// Carries no samples, only what the kernel tells beside them.
    Beside,
    Switch(Box<SwitchFields>),
    Waking {
        tid: Field,
    },
    /// A woken thread comes into the queue of a CPU.
    Queued {
        tid: Field,
        cpu: Field,
    },
    Migrate {
        tid: Field,
        to_cpu: Field,
    },
    IrqEntry {
        irq: Field,
        name: Field,
    },
    IrqExit {
        irq: Field,
    },
    SoftirqEntry {
        vector: Field,
    },
    SoftirqExit {
        vector: Field,
    },
    /// An interrupt with an event of its own: its label.
    VectorEntry(u32),
    VectorExit(u32),
    Fault,
    Served,
}

/// Where `sched_switch` says what.
#[derive(Clone, Debug)]
pub(super) struct SwitchFields {
    prev: Field,
    prev_comm: Field,
    state: Field,
    next: Field,
    next_comm: Field,
    /// Bits of the state that mean stopped or traced, that it sleeps, and all that
    /// have a name.
    stopped: u64,
    asleep: u64,
    named: u64,
}

impl SwitchFields {
    pub(super) fn of(format: &Format) -> Option<Self> {
        let words = format.words();
        let bits = |wanted: &dyn Fn(&str) -> bool| {
            let those = words.iter().filter(|(_, word)| wanted(word));
            those.fold(0, |all, (bit, _)| all | bit)
        };
        Some(Self {
            prev: format.field("prev_pid")?,
            prev_comm: format.field("prev_comm")?,
            state: format.field("prev_state")?,
            next: format.field("next_pid")?,
            next_comm: format.field("next_comm")?,
            stopped: bits(&|word| word.eq_ignore_ascii_case("t")),
            asleep: bits(&|word| matches!(word, "S" | "D" | "I")),
            named: bits(&|word| word != "R+"),
        })
    }

    /// The bits of the state of a thread that sleeps; 0 where the kernel does not
    /// name them.
    pub(super) fn asleep(&self) -> u64 {
        self.asleep
    }

    /// The letters of `ps`: `T` and `t` stand for stopped and traced; without any
    /// letter the thread could have gone on.
    fn how(&self, state: i64) -> OffCpu {
        let state = state as u64 & self.named;
        match state {
            0 => OffCpu::Preempted,
            s if s & self.stopped != 0 => OffCpu::Stopped,
            _ => OffCpu::Waiting,
        }
    }
}

/// Records that the kernel could not write, for want of room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Whose records.
    pub origin: Origin,
    /// The last record before.
    pub from_ns: u64,
    /// The first after.
    pub until_ns: u64,
    /// How many; 0 where the kernel does not say.
    pub records: u64,
}

/// What is known of the events in use.
#[derive(Default)]
pub(super) struct Decoder {
    pub roles: HashMap<u64, Role>,
    /// What to call the softirqs.
    pub softirqs: HashMap<i64, u32>,
    irqs: HashMap<i32, Vec<(Vec<u8>, u32)>>,
    /// What is to be added to the kernel's times within a time namespace.
    pub shift_ns: i64,
    /// Thread numbers of tracepoints are those of another namespace than ours.
    pub translate: bool,
    aliases: HashMap<i32, i32>,
}

/// What every record tells.
struct Common {
    tid: i32,
    time_ns: u64,
    cpu: u32,
    id: u64,
}

impl Decoder {
    /// Decodes what was taken from one ring. `last_ns` is the time of the ring's
    /// latest record, before and after. Records of unknown kind are passed over.
    pub(super) fn decode(
        &mut self,
        mut bytes: &[u8],
        origin: Origin,
        last_ns: &mut u64,
        label: &mut dyn FnMut(What) -> u32,
        records: &mut Vec<Record>,
        losses: &mut Vec<Loss>,
    ) {
        while let Some((kind, misc, body, rest)) = next_record(bytes) {
            bytes = rest;
            let sample = kind == abi::PERF_RECORD_SAMPLE;
            let common = if sample { at_start(body) } else { at_end(body) };
            let Some(mut common) = common else { continue };
            common.time_ns = common.time_ns.saturating_add_signed(self.shift_ns);
            let event = match kind {
                abi::PERF_RECORD_SAMPLE => self.sample(&common, body, label),
                abi::PERF_RECORD_SWITCH => {
                    let tid = common.tid;
                    Some(match is_out(misc) {
                        true => Event::Out {
                            tid,
                            how: how(misc),
                        },
                        false => Event::In { tid },
                    })
                }
                // The record of the thread that comes tells nothing more.
                abi::PERF_RECORD_SWITCH_CPU_WIDE if is_out(misc) => {
                    let seen = |tid| self.in_namespace(tid);
                    number(body, 4).map(|next| Event::Switch {
                        prev: seen(common.tid),
                        prev_comm: None,
                        how: how(misc),
                        next: seen(next),
                        next_comm: None,
                    })
                }
                abi::PERF_RECORD_COMM => number(body, 4).map(|tid| {
                    let name = body.get(8..24).unwrap_or_default();
                    let name = name.split(|b| *b == 0).next().unwrap_or_default();
                    Event::Named {
                        tid,
                        comm: to_comm(name),
                    }
                }),
                abi::PERF_RECORD_LOST | abi::PERF_RECORD_THROTTLE => {
                    let lost = kind == abi::PERF_RECORD_LOST;
                    let (from_ns, until_ns) = ((*last_ns).min(common.time_ns), common.time_ns);
                    losses.push(Loss {
                        origin,
                        from_ns,
                        until_ns,
                        records: if lost { long(body, 8).unwrap_or(0) } else { 0 },
                    });
                    // The kernel tells of a loss at its end, and of being
                    // throttled at the beginning.
                    records.push(Record {
                        time_ns: if lost { from_ns } else { until_ns },
                        cpu: common.cpu,
                        event: Event::Lost { origin },
                    });
                    lost.then_some(Event::Again { origin })
                }
                _ => None,
            };
            *last_ns = (*last_ns).max(common.time_ns);
            records.extend(event.map(|event| Record {
                time_ns: common.time_ns,
                cpu: common.cpu,
                event,
            }));
        }
    }

    /// Within a PID namespace the kernel gives all threads outside it the idle one's number.
    fn in_namespace(&self, tid: i32) -> i32 {
        match tid {
            0 if self.translate => OUTSIDE,
            tid => tid,
        }
    }

    /// These threads have another number in tracepoints than here: the first of each pair.
    pub(super) fn know(&mut self, numbers: &[(i32, i32)]) {
        self.aliases.extend(numbers.iter().copied());
    }

    /// A thread's number as it is here.
    fn ours(&self, number: i64) -> i32 {
        let number = number as i32;
        match self.translate {
            // The least number has no negative: it stays what stands for all outside.
            true => self
                .aliases
                .get(&number)
                .copied()
                .unwrap_or(number.wrapping_neg()),
            false => number,
        }
    }

    fn sample(
        &mut self,
        common: &Common,
        body: &[u8],
        label: &mut dyn FnMut(What) -> u32,
    ) -> Option<Event> {
        let role = self.roles.get(&common.id)?;
        let raw = body.get(RAW_AT..).unwrap_or_default();
        Some(match role {
            Role::Beside => return None,
            Role::Fault => Event::Fault { tid: common.tid },
            Role::Served => Event::Served { tid: common.tid },
            Role::VectorEntry(vector) => Event::Enter {
                kind: Kind::Vector(*vector),
                label: *vector,
            },
            Role::VectorExit(vector) => Event::Exit {
                kind: Kind::Vector(*vector),
            },
            Role::Waking { tid } => Event::Wake {
                tid: tid.number(raw)? as i32,
            },
            Role::Queued { tid, cpu } => Event::Queued {
                tid: self.ours(tid.number(raw)?),
                cpu: cpu.number(raw)? as u32,
            },
            Role::Migrate { tid, to_cpu } => Event::Moved {
                tid: tid.number(raw)? as i32,
                to_cpu: to_cpu.number(raw)? as u32,
            },
            Role::IrqExit { irq } => Event::Exit {
                kind: Kind::Irq(irq.number(raw)? as i32),
            },
            Role::SoftirqEntry { vector } => {
                let vector = vector.number(raw)?;
                Event::Enter {
                    kind: Kind::Softirq(vector as u32),
                    label: *self.softirqs.get(&vector)?,
                }
            }
            Role::SoftirqExit { vector } => Event::Exit {
                kind: Kind::Softirq(vector.number(raw)? as u32),
            },
            Role::IrqEntry { irq, name } => {
                let irq = irq.number(raw)? as i32;
                let name = name.text(raw).unwrap_or_default();
                let known = self.irqs.entry(irq).or_default();
                let label = match known.iter().find(|(n, _)| n == name) {
                    Some((_, label)) => *label,
                    None => {
                        let label = label(interrupt(&printable(&String::from_utf8_lossy(name))));
                        known.push((name.to_vec(), label));
                        label
                    }
                };
                Event::Enter {
                    kind: Kind::Irq(irq),
                    label,
                }
            }
            Role::Switch(fields) => {
                let (prev, next) = (fields.prev.number(raw)?, fields.next.number(raw)?);
                let event = |prev, next| {
                    Some(Event::Switch {
                        prev,
                        prev_comm: fields.prev_comm.text(raw).map(to_comm),
                        how: fields.how(fields.state.number(raw)?),
                        next,
                        next_comm: fields.next_comm.text(raw).map(to_comm),
                    })
                };
                if !self.translate {
                    return event(prev as i32, next as i32);
                }
                // The sample's own number is ours; the tracepoint's is that of
                // the first namespace. Strangers get negative numbers.
                if common.tid > 0 {
                    self.aliases.insert(prev as i32, common.tid);
                }
                return event(self.ours(prev), self.ours(next));
            }
        })
    }
}

/// An interrupt of that name. Arm's timer has no event of its own.
pub(super) fn interrupt(name: &str) -> What {
    What::Interrupt {
        name: name.to_owned(),
        tick: matches!(name, "local_timer" | "arch_timer" | "riscv-timer"),
    }
}

fn is_out(misc: u16) -> bool {
    u32::from(misc) & abi::PERF_RECORD_MISC_SWITCH_OUT != 0
}

fn how(misc: u16) -> OffCpu {
    if u32::from(misc) & abi::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT != 0 {
        OffCpu::Preempted
    } else {
        OffCpu::Left
    }
}

/// What tracepoints wrote, each by itself.
pub(super) fn tracepoints(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let records = std::iter::from_fn(move || {
        let (kind, _, body, rest) = next_record(bytes)?;
        bytes = rest;
        Some((kind, body))
    });
    records
        .filter(|(kind, _)| *kind == abi::PERF_RECORD_SAMPLE)
        .filter_map(|(_, body)| body.get(RAW_AT..))
}

/// Of a tracepoint: a length, then its own bytes.
const RAW_AT: usize = 36;

/// Kind, flags, what follows the header, and the records after this one.
fn next_record(bytes: &[u8]) -> Option<(u32, u16, &[u8], &[u8])> {
    let kind = number(bytes, 0)? as u32;
    let misc = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let size = usize::from(u16::from_ne_bytes(bytes.get(6..8)?.try_into().ok()?));
    Some((kind, misc, bytes.get(8..size)?, &bytes[size..]))
}

/// IDENTIFIER, TID, TIME, CPU: what a sample begins with.
fn at_start(body: &[u8]) -> Option<Common> {
    Some(Common {
        id: long(body, 0)?,
        tid: number(body, 12)?,
        time_ns: long(body, 16)?,
        cpu: number(body, 24)? as u32,
    })
}

/// TID, TIME, CPU, IDENTIFIER: what every other record ends with.
fn at_end(body: &[u8]) -> Option<Common> {
    let end = body.len().checked_sub(32).map(|at| &body[at..])?;
    Some(Common {
        tid: number(end, 4)?,
        time_ns: long(end, 8)?,
        cpu: number(end, 16)? as u32,
        id: long(end, 24)?,
    })
}

fn number(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests;
