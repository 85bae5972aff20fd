//! Descriptions and records of the kernel's, without the kernel.

use super::assemble::Assembler;
use super::decode::{Decoder, Role, SwitchFields, interrupt};
use super::format::Format;
use super::names::Names;
use super::turns::Turns;
use super::{Drained, Origin};

/// Reads the description of a trace event, and by it the fields of a record of these bytes: how
/// many fields that were asked for are in it.
pub fn trace_format(text: &str, names: &[&str], raw: &[u8]) -> Option<usize> {
    let format = Format::parse(text)?;
    // Names of states come from here.
    let _ = SwitchFields::of(&format);
    let mut read = 0;
    for field in names.iter().filter_map(|name| format.field(name)) {
        read += usize::from(field.number(raw).is_some());
        read += usize::from(field.text(raw).is_some());
    }
    Some(read)
}

/// Records as they lie in one ring.
#[derive(Clone, Copy, Debug)]
pub struct Ring<'a> {
    /// Whose they are.
    pub origin: Origin,
    /// As the kernel writes them.
    pub bytes: &'a [u8],
}

/// What records tell of some threads and of the CPUs 0 and 1, by descriptions in the order of
/// `roles`: everything up to the last of them, spans and turns.
pub fn told(
    formats: &[&str],
    shift_ns: i64,
    translate: bool,
    tids: &[i32],
    rings: &[Ring<'_>],
) -> Drained {
    let mut decoder = Decoder::default();
    decoder.shift_ns = shift_ns;
    decoder.translate = translate;
    let mut assembler = Assembler::new(Names::new(|tid| Some(format!("thread {tid}"))));
    let mut turns = Turns::new(tids, Names::new(|_| None));
    for (i, tid) in tids.iter().enumerate() {
        assembler.watch(*tid, (i % 2) as u32, i == 0);
    }
    assembler.watch_cpu(0, 0);
    assembler.watch_cpu(1, 0);
    let vector = assembler.label(interrupt("local_timer"));
    decoder.softirqs = (0..10)
        .map(|n| (n, assembler.label(interrupt("softirq"))))
        .collect();
    let formats = formats.iter().map(|text| Format::parse(text));
    let roles = roles(&formats.collect::<Vec<_>>(), vector);
    decoder.roles = (1..)
        .zip(roles)
        .filter_map(|(id, r)| Some((id, r?)))
        .collect();
    let (mut records, mut lost) = (Vec::new(), Vec::new());
    for ring in rings {
        let mut last_ns = 0;
        let mut label = |what| assembler.label(what);
        decoder.decode(
            ring.bytes,
            ring.origin,
            &mut last_ns,
            &mut label,
            &mut records,
            &mut lost,
        );
    }
    records.sort_by_key(|r| r.time_ns);
    let until_ns = records.last().map_or(0, |r| r.time_ns);
    for record in records {
        turns.push(record);
        assembler.push(record);
    }
    let kept: Vec<i32> = tids
        .iter()
        .copied()
        .filter(|t| assembler.kept_since(*t).is_some())
        .collect();
    assembler.close(until_ns, &kept);
    let (threads, cpus) = assembler.take();
    Drained {
        threads,
        cpus,
        turns: turns.take(true),
        until_ns,
        lost,
    }
}

/// The roles of events with the numbers from 1, those without a description last.
fn roles(formats: &[Option<Format>], vector: u32) -> Vec<Option<Role>> {
    let field = |format: usize, name: &str| formats.get(format)?.as_ref()?.field(name);
    let switch = formats.first().and_then(|f| SwitchFields::of(f.as_ref()?));
    let queued = || Some((field(1, "pid")?, field(1, "target_cpu")?));
    let migrate = || Some((field(2, "pid")?, field(2, "dest_cpu")?));
    let irq = || Some((field(3, "irq")?, field(3, "name")?));
    vec![
        switch.map(|fields| Role::Switch(Box::new(fields))),
        field(1, "pid").map(|tid| Role::Waking { tid }),
        queued().map(|(tid, cpu)| Role::Queued { tid, cpu }),
        migrate().map(|(tid, to_cpu)| Role::Migrate { tid, to_cpu }),
        irq().map(|(irq, name)| Role::IrqEntry { irq, name }),
        field(3, "irq").map(|irq| Role::IrqExit { irq }),
        field(4, "vec").map(|vector| Role::SoftirqEntry { vector }),
        field(4, "vec").map(|vector| Role::SoftirqExit { vector }),
        Some(Role::VectorEntry(vector)),
        Some(Role::VectorExit(vector)),
        Some(Role::Fault),
        Some(Role::Served),
        Some(Role::Beside),
    ]
}
