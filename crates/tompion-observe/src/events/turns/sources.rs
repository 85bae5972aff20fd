//! The tracepoints behind it, with the filters that keep them silent.

use std::ffi::CString;
use tompion_model::Unavailable;

use super::super::Settings;
use super::super::decode::{Decoder, Role, SwitchFields};
use super::super::format::Format;
use super::super::open::{Beside, Channel};
use super::super::record::Origin;
use super::super::sources::Had;
use super::super::tracefs::Tracefs;

/// What was opened; nothing is recorded yet.
pub(in super::super) struct Opened {
    pub channels: Vec<Channel>,
    /// Whether moments of page faults are among it.
    pub faults: Had,
}

/// Opens them on each CPU.
///
/// # Errors
/// In a few words; then nothing is left open.
pub(in super::super) fn open(
    tids: &[i32],
    cpus: &[u32],
    settings: &Settings,
    decoder: &mut Decoder,
) -> Result<Opened, Unavailable> {
    if decoder.translate {
        return Err("within a PID namespace".into());
    }
    let tracefs = Tracefs::open()?;
    let format = |event: &str| {
        let text = tracefs.format(event);
        text.and_then(|t| Format::parse(&t))
            .ok_or_else(|| format!("{event}: not described by this kernel"))
    };
    let [switch, wakeup] = SCHEDULER.map(format);
    let (switch, wakeup) = (switch?, wakeup?);
    let unlike = || "described by this kernel in an unknown way".to_owned();
    let fields = SwitchFields::of(&switch).ok_or_else(unlike)?;
    let queued = Role::Queued {
        tid: wakeup.field("pid").ok_or_else(unlike)?,
        cpu: wakeup.field("target_cpu").ok_or_else(unlike)?,
    };
    let asleep = Some(fields.asleep()).filter(|bits| *bits != 0);
    let asleep = asleep.ok_or_else(unlike)?;
    let mut events = vec![
        (
            switch.id,
            any_of(tids, |tid| switches_of(tid, asleep))?,
            Role::Switch(Box::new(fields)),
        ),
        (
            wakeup.id,
            any_of(tids, |tid| format!("(pid=={tid}&&common_pid!=0)"))?,
            queued,
        ),
    ];
    let faults = match settings.page_faults {
        false => Err("not asked for".into()),
        true => FAULTS.iter().try_for_each(|event| {
            let own = any_of(tids, |tid| format!("common_pid=={tid}"))?;
            events.push((format(event)?.id, own, Role::Fault));
            Ok(())
        }),
    };
    let open_cpu = |&cpu: &u32| {
        let (origin, beside) = (Origin::Cpu(cpu), Beside::default());
        let mut channel = Channel::open(origin, beside, settings.cpu_ring_bytes, decoder)?;
        for (number, filter, role) in &events {
            channel.add_tracepoint(*number, Some(filter), role.clone(), decoder)?;
        }
        Ok(channel)
    };
    let channels: Result<_, Unavailable> = cpus.iter().map(open_cpu).collect();
    Ok(Opened {
        channels: channels?,
        faults,
    })
}

pub(in super::super) const SCHEDULER: [&str; 2] = ["sched/sched_switch", "sched/sched_wakeup"];
/// Events of a thread would make each of its switches dearer, these do not.
pub(in super::super) const FAULTS: [&str; 2] =
    ["exceptions/page_fault_user", "exceptions/page_fault_kernel"];

/// To the thread from another one, or away from it though it does not sleep.
fn switches_of(tid: i32, asleep: u64) -> String {
    format!("(next_pid=={tid}&&prev_pid!=0)||(prev_pid=={tid}&&!(prev_state&{asleep}))")
}

/// A filter of the kernel's trace events, which may be a page long.
fn any_of(tids: &[i32], one: impl Fn(i32) -> String) -> Result<CString, Unavailable> {
    let filter = tids.iter().map(|tid| one(*tid)).collect::<Vec<_>>();
    let filter = CString::new(filter.join("||")).expect("made of names and numbers");
    match filter.count_bytes() {
        ..4000 => Ok(filter),
        _ => Err(format!("{} threads are too many for a filter", tids.len()).into()),
    }
}
