//! The tracepoints behind it, with the filters that keep them silent.

use std::ffi::CString;
use tompion_model::Unavailable;

use super::super::Settings;
use super::super::decode::{Decoder, Role, SwitchFields};
use super::super::format::Format;
use super::super::open::{Beside, Channel};
use super::super::outer;
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
    // Tracepoints have other numbers for them within a PID namespace.
    let told: Vec<i32>;
    let tids = match decoder.translate {
        false => tids,
        true => {
            let known = outer::numbers(tids)?;
            decoder.know(&known);
            let of = |tid: &i32| known.iter().find(|known| known.1 == *tid);
            told = tids.iter().filter_map(of).map(|known| known.0).collect();
            &told
        }
    };
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
            switches_of(tids, asleep)?,
            Role::Switch(Box::new(fields)),
        ),
        (
            wakeup.id,
            filter(tids, &format!("({})&&common_pid!=0", any_of("pid", tids)))?,
            queued,
        ),
    ];
    let faults = match settings.page_faults {
        false => Err("not asked for".into()),
        true => FAULTS.iter().try_for_each(|event| {
            let own = filter(tids, &any_of("common_pid", tids))?;
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

/// To one of the threads from another one, or away from it though it does not sleep.
fn switches_of(tids: &[i32], asleep: u64) -> Result<CString, Unavailable> {
    let (next, prev) = (any_of("next_pid", tids), any_of("prev_pid", tids));
    filter(
        tids,
        &format!("(({next})&&prev_pid!=0)||(({prev})&&!(prev_state&{asleep}))"),
    )
}

/// From so many threads on a range of numbers stands for them: the kernel looks at each comparison in turn, at every
/// switch on the machine. What strangers within it do is recorded, and left out afterwards.
const MANY: usize = 4;
/// Threads of one program that start after one another have numbers with few others between them.
const STRANGERS_AT_MOST: u32 = 64;

/// Whether a field is the number of one of the threads.
fn any_of(field: &str, tids: &[i32]) -> String {
    if let (Some(first), Some(last), MANY..) = (tids.iter().min(), tids.iter().max(), tids.len())
        && first.abs_diff(*last) < tids.len() as u32 + STRANGERS_AT_MOST
    {
        return format!("{field}>={first}&&{field}<={last}");
    }
    let each = tids.iter().map(|tid| format!("{field}=={tid}"));
    each.collect::<Vec<_>>().join("||")
}

/// A filter of the kernel's trace events, which may be a page long.
fn filter(tids: &[i32], text: &str) -> Result<CString, Unavailable> {
    match text.len() {
        ..4000 => Ok(CString::new(text).expect("made of names and numbers")),
        _ => Err(format!("{} threads are too many for a filter", tids.len()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_threads_are_a_range_of_numbers_where_few_others_are_in_it() {
        assert_eq!(any_of("pid", &[7]), "pid==7");
        assert_eq!(any_of("pid", &[9, 7, 8]), "pid==9||pid==7||pid==8");
        assert_eq!(any_of("pid", &[9, 7, 8, 30]), "pid>=7&&pid<=30");
        assert_eq!(any_of("pid", &[7, 8, 9, 74]), "pid>=7&&pid<=74");
        assert_eq!(
            any_of("pid", &[7, 8, 9, 75]),
            "pid==7||pid==8||pid==9||pid==75"
        );
        let far: Vec<i32> = (0..400).map(|i| 1_000_000 + 1000 * i).collect();
        assert!(filter(&far, &any_of("pid", &far)).is_err());
        assert_eq!(
            switches_of(&[7], 3).unwrap().to_str().unwrap(),
            "((next_pid==7)&&prev_pid!=0)||((prev_pid==7)&&!(prev_state&3))"
        );
    }
}
