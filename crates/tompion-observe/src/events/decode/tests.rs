use super::super::names::to_comm;
use super::*;

/// Writes records as the kernel does.
#[derive(Default)]
struct Written(Vec<u8>);

impl Written {
    fn record(mut self, kind: u32, misc: u32, body: &[&[u8]]) -> Self {
        let size = 8 + body.iter().map(|b| b.len()).sum::<usize>();
        self.0.extend(kind.to_ne_bytes());
        self.0.extend((misc as u16).to_ne_bytes());
        self.0.extend((size as u16).to_ne_bytes());
        body.iter().for_each(|b| self.0.extend(*b));
        self
    }

    fn beside(self, kind: u32, misc: u32, own: &[u8], tid: i32, time_ns: u64) -> Self {
        let mut end = Vec::new();
        end.extend(1i32.to_ne_bytes());
        end.extend(tid.to_ne_bytes());
        end.extend(time_ns.to_ne_bytes());
        end.extend(1u64.to_ne_bytes());
        end.extend(7u64.to_ne_bytes());
        self.record(kind, misc, &[own, &end])
    }

    fn sample(self, id: u64, tid: i32, time_ns: u64, raw: &[u8]) -> Self {
        let mut body = Vec::new();
        body.extend(id.to_ne_bytes());
        body.extend(1i32.to_ne_bytes());
        body.extend(tid.to_ne_bytes());
        body.extend(time_ns.to_ne_bytes());
        body.extend(1u64.to_ne_bytes());
        body.extend((raw.len() as u32).to_ne_bytes());
        self.record(abi::PERF_RECORD_SAMPLE, 0, &[&body, raw])
    }
}

fn decode(decoder: &mut Decoder, written: &Written) -> (Vec<Event>, Vec<Loss>) {
    let (mut records, mut losses, mut last_ns) = (Vec::new(), Vec::new(), 0);
    let origin = Origin::Cpu(1);
    let mut label = |_| 5;
    decoder.decode(
        &written.0,
        origin,
        &mut last_ns,
        &mut label,
        &mut records,
        &mut losses,
    );
    assert!(records.iter().all(|r| r.cpu == 1));
    (records.into_iter().map(|r| r.event).collect(), losses)
}

const OUT: u32 = abi::PERF_RECORD_MISC_SWITCH_OUT;
const PREEMPT: u32 = abi::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;

fn switch_format() -> Format {
    Format::parse(
        "ID: 1\n field:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
         field:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
         field:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
         field:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
         field:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\
         print fmt: \"\", { 0x1, \"S\" }, { 0x2, \"D\" }, { 0x4, \"T\" }, { 0x8, \"t\" }",
    )
    .unwrap()
}

fn switch_raw(prev: i32, state: i64, next: i32) -> [u8; 64] {
    let mut raw = [0; 64];
    raw[8..11].copy_from_slice(b"one");
    raw[24..28].copy_from_slice(&prev.to_ne_bytes());
    raw[32..40].copy_from_slice(&state.to_ne_bytes());
    raw[40..43].copy_from_slice(b"two");
    raw[56..60].copy_from_slice(&next.to_ne_bytes());
    raw
}

#[test]
fn switches_of_a_thread() {
    let written = Written::default()
        .beside(abi::PERF_RECORD_SWITCH, OUT | PREEMPT, &[], 42, 100)
        .beside(abi::PERF_RECORD_SWITCH, 0, &[], 42, 200)
        .beside(abi::PERF_RECORD_SWITCH, OUT, &[], 42, 300);
    let (events, losses) = decode(&mut Decoder::default(), &written);
    assert_eq!(
        events,
        [
            Event::Out {
                tid: 42,
                how: OffCpu::Preempted
            },
            Event::In { tid: 42 },
            Event::Out {
                tid: 42,
                how: OffCpu::Left
            },
        ]
    );
    assert!(losses.is_empty());
}

#[test]
fn switches_of_a_cpu_without_tracepoints() {
    let mut next = [0; 8];
    next[4..].copy_from_slice(&77i32.to_ne_bytes());
    let mut renamed = [0; 24];
    renamed[4..8].copy_from_slice(&42i32.to_ne_bytes());
    renamed[8..11].copy_from_slice(b"new");
    let written = Written::default()
        .beside(abi::PERF_RECORD_SWITCH_CPU_WIDE, OUT, &next, 42, 100)
        .beside(abi::PERF_RECORD_SWITCH_CPU_WIDE, 0, &next, 77, 101)
        .beside(abi::PERF_RECORD_COMM, 0, &renamed, 42, 102);
    let (events, _) = decode(&mut Decoder::default(), &written);
    let switch = Event::Switch {
        prev: 42,
        prev_comm: None,
        how: OffCpu::Left,
        next: 77,
        next_comm: None,
    };
    assert_eq!(
        events,
        [
            switch,
            Event::Named {
                tid: 42,
                comm: to_comm("new")
            }
        ]
    );
}

#[test]
fn losses_tell_their_window() {
    let mut lost = [0; 16];
    lost[8..].copy_from_slice(&12u64.to_ne_bytes());
    let written = Written::default()
        .beside(abi::PERF_RECORD_SWITCH, 0, &[], 42, 100)
        .beside(abi::PERF_RECORD_LOST, 0, &lost, 42, 900);
    let (mut records, mut losses, mut last_ns) = (Vec::new(), Vec::new(), 0);
    let origin = Origin::Cpu(1);
    Decoder::default().decode(
        &written.0,
        origin,
        &mut last_ns,
        &mut |_| 5,
        &mut records,
        &mut losses,
    );
    let told: Vec<_> = records[1..].iter().map(|r| (r.time_ns, r.event)).collect();
    assert_eq!(
        told,
        [
            (100, Event::Lost { origin }),
            (900, Event::Again { origin })
        ]
    );
    assert_eq!(
        losses,
        [Loss {
            origin,
            from_ns: 100,
            until_ns: 900,
            records: 12
        }]
    );
}

#[test]
fn states_are_read_by_the_kernels_own_letters() {
    let mut decoder = Decoder::default();
    let fields = SwitchFields::of(&switch_format()).unwrap();
    decoder.roles.insert(9, Role::Switch(Box::new(fields)));
    // 0x100 is "could have gone on" in today's kernels and has no letter.
    let states = [0, 0x100, 1, 2, 4, 8];
    let written = states.iter().fold(Written::default(), |w, state| {
        w.sample(9, 42, 100, &switch_raw(42, *state, 77))
    });
    let hows: Vec<_> = decode(&mut decoder, &written)
        .0
        .into_iter()
        .map(|event| match event {
            Event::Switch {
                prev: 42,
                next: 77,
                how,
                prev_comm,
                next_comm,
            } => {
                assert_eq!(prev_comm, Some(to_comm("one")));
                assert_eq!(next_comm, Some(to_comm("two")));
                how
            }
            other => panic!("{other:?}"),
        })
        .collect();
    use OffCpu::{Preempted, Stopped, Waiting};
    assert_eq!(
        hows,
        [Preempted, Preempted, Waiting, Waiting, Stopped, Stopped]
    );
}

#[test]
fn within_a_pid_namespace_numbers_are_translated_as_they_are_learnt() {
    let fields = SwitchFields::of(&switch_format()).unwrap();
    let mut decoder = Decoder {
        translate: true,
        ..Decoder::default()
    };
    decoder.roles.insert(9, Role::Switch(Box::new(fields)));
    // Ours is 7; the kernel's number for it is 5007. A stranger has none of ours.
    let written = Written::default()
        .sample(9, 7, 100, &switch_raw(5007, 1, 6001))
        .sample(9, 0, 200, &switch_raw(6001, 1, 5007))
        .sample(9, 0, 300, &switch_raw(0, 1, 6001));
    let pairs: Vec<_> = decode(&mut decoder, &written)
        .0
        .into_iter()
        .map(|event| match event {
            Event::Switch { prev, next, .. } => (prev, next),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(pairs, [(7, -6001), (-6001, 7), (0, -6001)]);
}

#[test]
fn within_a_pid_namespace_known_numbers_are_translated_at_once() {
    let field = |offset: u32| {
        let text = format!("ID: 1\n field:pid_t pid;\toffset:{offset};\tsize:4;\tsigned:1;\n");
        Format::parse(&text).unwrap().field("pid").unwrap()
    };
    let fields = SwitchFields::of(&switch_format()).unwrap();
    let mut decoder = Decoder {
        translate: true,
        ..Decoder::default()
    };
    decoder.know(&[(5007, 7), (5008, 8)]);
    decoder.roles.insert(9, Role::Switch(Box::new(fields)));
    let (tid, cpu) = (field(8), field(12));
    decoder.roles.insert(10, Role::Queued { tid, cpu });
    let woken = |tid: i32| {
        let mut raw = [0; 16];
        raw[8..12].copy_from_slice(&tid.to_ne_bytes());
        raw
    };
    let written = Written::default().sample(10, 0, 50, &woken(5008)).sample(
        9,
        0,
        100,
        &switch_raw(6001, 1, 5007),
    );
    let (events, _) = decode(&mut decoder, &written);
    assert!(
        matches!(
            events[..],
            [
                Event::Queued { tid: 8, cpu: 0 },
                Event::Switch {
                    prev: -6001,
                    next: 7,
                    ..
                }
            ]
        ),
        "{events:?}"
    );
    let raws: Vec<&[u8]> = tracepoints(&written.0).collect();
    assert_eq!(
        raws.iter().map(|raw| raw.len()).collect::<Vec<_>>(),
        [16, 64]
    );
}

#[test]
fn the_least_number_of_a_thread_has_no_negative() {
    let mut decoder = Decoder {
        translate: true,
        ..Decoder::default()
    };
    let fields = SwitchFields::of(&switch_format()).unwrap();
    decoder.roles.insert(1, Role::Switch(Box::new(fields)));
    let written = Written::default().sample(1, 0, 100, &switch_raw(i32::MIN, 0, 7));
    let (events, _) = decode(&mut decoder, &written);
    assert!(
        matches!(
            events[..],
            [Event::Switch {
                prev: OUTSIDE,
                next: -7,
                ..
            }]
        ),
        "{events:?}"
    );
}

/// Without tracepoints, as in a container.
#[test]
fn within_a_pid_namespace_strangers_are_not_taken_for_the_idle_thread() {
    let next = |tid: i32| {
        let mut bytes = [0; 8];
        bytes[4..].copy_from_slice(&tid.to_ne_bytes());
        bytes
    };
    let written = Written::default()
        .beside(abi::PERF_RECORD_SWITCH_CPU_WIDE, OUT, &next(0), 42, 100)
        .beside(abi::PERF_RECORD_SWITCH_CPU_WIDE, OUT, &next(42), 0, 200);
    let pairs = |translate| -> Vec<_> {
        let mut decoder = Decoder {
            translate,
            ..Decoder::default()
        };
        let events = decode(&mut decoder, &written).0.into_iter();
        events
            .map(|event| match event {
                Event::Switch { prev, next, .. } => (prev, next),
                other => panic!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(pairs(false), [(42, 0), (0, 42)]);
    assert_eq!(pairs(true), [(42, OUTSIDE), (OUTSIDE, 42)]);
    let task = super::super::names::Names::new(|_| panic!("nobody knows")).task(OUTSIDE);
    assert_eq!(task.to_string(), "a thread of another namespace");
}

#[test]
fn truncated_and_unknown_records_are_passed_over() {
    let written = Written::default()
        .sample(1234, 1, 100, &[1, 2, 3])
        .record(abi::PERF_RECORD_SWITCH, 0, &[&[0; 8]])
        .beside(abi::PERF_RECORD_SWITCH, 0, &[], 42, 100);
    for cut in 0..=written.0.len() {
        let part = Written(written.0[..cut].to_vec());
        let (events, _) = decode(&mut Decoder::default(), &part);
        let whole = cut == written.0.len();
        assert_eq!(events.len(), usize::from(whole));
    }
    let zeros = Written(vec![0; 64]);
    assert!(
        decode(&mut Decoder::default(), &zeros).0.is_empty(),
        "a size of zero ends it"
    );
}
