//! Which events are recorded for threads and for CPUs.

use std::ffi::CString;
use tompion_model::Unavailable;

use perf_event_open_sys::bindings as abi;
use tompion_cause::What;

use super::assemble::Assembler;
use super::decode::{Decoder, Role, SwitchFields, interrupt};
use super::format::Format;
use super::open::{Beside, Channel};
use super::record::Origin;
use super::tracefs::Tracefs;
use super::{CpuEvents, Settings, item};

/// Whether something was to be had, else why not.
pub(super) type Had = Result<(), Unavailable>;

/// A thread's switches.
pub(super) fn of_thread(
    tid: i32,
    settings: &Settings,
    decoder: &mut Decoder,
) -> Result<Channel, Unavailable> {
    let beside = Beside {
        switches: true,
        names: false,
    };
    let origin = Origin::Thread(tid);
    let channel = Channel::open(origin, beside, settings.thread_ring_bytes, decoder)?;
    channel.enable()?;
    Ok(channel)
}

/// Its page faults, if asked for.
pub(super) fn faults_of(
    tid: i32,
    settings: &Settings,
    decoder: &mut Decoder,
) -> Result<Channel, Unavailable> {
    if !settings.page_faults {
        return Err("not asked for".into());
    }
    let (origin, beside) = (Origin::Faults(tid), Beside::default());
    let mut channel = Channel::open(origin, beside, settings.thread_ring_bytes, decoder)?;
    // The kernel counts a fault when it begins, and once more, by its kind, when
    // it is served.
    channel.add_software(abi::PERF_COUNT_SW_PAGE_FAULTS, Role::Fault, decoder)?;
    channel.add_software(abi::PERF_COUNT_SW_PAGE_FAULTS_MIN, Role::Served, decoder)?;
    channel.add_software(abi::PERF_COUNT_SW_PAGE_FAULTS_MAJ, Role::Served, decoder)?;
    channel.enable()?;
    Ok(channel)
}

/// The tracepoints that this kernel has.
pub(super) struct Tracepoints {
    /// Why one that is missing is.
    missing: &'static str,
    switch: Option<(u64, SwitchFields)>,
    interrupts: Vec<(u64, Role)>,
    softirqs: Vec<(u64, Role)>,
    vectors: Vec<(u64, Role)>,
    wakes: Vec<(u64, Role)>,
}

impl Tracepoints {
    pub(super) fn read(tracefs: &Tracefs, a: &mut Assembler, decoder: &mut Decoder) -> Self {
        let format = |event: &str| Format::parse(&tracefs.format(event)?);
        let switch = format("sched/sched_switch");
        let entry = format("irq/softirq_entry");
        for (vector, name) in entry.iter().flat_map(Format::words) {
            decoder
                .softirqs
                .insert(vector as i64, a.label(What::Softirq { name }));
        }
        let irq = |f: &Format| f.field("irq");
        let mut vectors = Vec::new();
        for (group, named_alike) in [("irq_vectors", false), ("ipi", true)] {
            for name in tracefs.names(group, "_entry") {
                // The kernel refuses it: perf itself uses this interrupt.
                if name == "irq_work" {
                    continue;
                }
                // Arm has one event for all interrupts between CPUs.
                let label = a.label(interrupt(if named_alike { "ipi" } else { &name }));
                let number = |end: &str| Some(format(&format!("{group}/{name}_{end}"))?.id);
                if let (Some(entry), Some(exit)) = (number("entry"), number("exit")) {
                    vectors.push((entry, Role::VectorEntry(label)));
                    vectors.push((exit, Role::VectorExit(label)));
                }
            }
        }
        Self {
            missing: "not described by this kernel",
            switch: switch.and_then(|f| Some((f.id, SwitchFields::of(&f)?))),
            interrupts: pair(
                role(format("irq/irq_handler_entry"), |f| {
                    Some(Role::IrqEntry {
                        irq: irq(f)?,
                        name: f.field("name")?,
                    })
                }),
                role(format("irq/irq_handler_exit"), |f| {
                    Some(Role::IrqExit { irq: irq(f)? })
                }),
            ),
            softirqs: pair(
                role(entry, |f| {
                    Some(Role::SoftirqEntry {
                        vector: f.field("vec")?,
                    })
                }),
                role(format("irq/softirq_exit"), |f| {
                    Some(Role::SoftirqExit {
                        vector: f.field("vec")?,
                    })
                }),
            ),
            vectors,
            wakes: pair(
                role(format("sched/sched_waking"), |f| {
                    Some(Role::Waking {
                        tid: f.field("pid")?,
                    })
                }),
                role(format("sched/sched_migrate_task"), |f| {
                    Some(Role::Migrate {
                        tid: f.field("pid")?,
                        to_cpu: f.field("dest_cpu")?,
                    })
                }),
            ),
        }
    }

    /// Opens all that happens on one CPU.
    pub(super) fn open_cpu(
        &self,
        cpu: u32,
        settings: &Settings,
        decoder: &mut Decoder,
        had: &mut Vec<(&'static str, Had)>,
    ) -> Option<Channel> {
        let beside = Beside {
            switches: self.switch.is_none(),
            names: self.switch.is_none(),
        };
        let origin = Origin::Cpu(cpu);
        let mut channel = match Channel::open(origin, beside, settings.cpu_ring_bytes, decoder) {
            Ok(channel) => channel,
            Err(why) => {
                had.push((item::CPU_EVENTS, Err(why)));
                return None;
            }
        };
        let mut add = |number, role| channel.add_tracepoint(number, None, role, decoder);
        match &self.switch {
            Some((number, fields)) => {
                let role = Role::Switch(Box::new(fields.clone()));
                had.push((item::SCHEDULER, add(*number, role)));
            }
            None => {
                had.push((item::SCHEDULER, Err(self.missing.to_owned().into())));
                had.push((item::CPU_SWITCHES, Ok(())));
            }
        }
        for (name, roles) in [
            (item::INTERRUPTS, &self.interrupts),
            (item::SOFTIRQS, &self.softirqs),
            (item::VECTORS, &self.vectors),
        ] {
            let opened = if settings.cpu_events < CpuEvents::All {
                Err("not asked for".into())
            } else if roles.is_empty() {
                Err(self.missing.to_owned().into())
            } else {
                let mut roles = roles.iter();
                roles.try_for_each(|(n, role)| add(*n, role.clone()))
            };
            had.push((name, opened));
        }
        Some(channel)
    }

    /// Adds wake-ups and moves of the watched threads, which any CPU may cause.
    pub(super) fn add_wakes(
        &self,
        channel: &mut Channel,
        tids: &[i32],
        decoder: &mut Decoder,
    ) -> Had {
        if self.wakes.is_empty() {
            return Err(self.missing.to_owned().into());
        }
        let filter = filter(tids);
        self.wakes.iter().try_for_each(|(number, role)| {
            channel.add_tracepoint(*number, filter.as_deref(), role.clone(), decoder)
        })
    }
}

impl Tracepoints {
    /// The numbers of all of them.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        let groups = [&self.interrupts, &self.softirqs, &self.vectors, &self.wakes];
        let switch = self.switch.iter().map(|(number, _)| *number);
        switch.chain(groups.into_iter().flatten().map(|(number, _)| *number))
    }

    /// None, for want of tracefs: only what the kernel tells without them.
    pub(super) fn none() -> Self {
        Self {
            missing: "tracefs cannot be read",
            switch: None,
            interrupts: Vec::new(),
            softirqs: Vec::new(),
            vectors: Vec::new(),
            wakes: Vec::new(),
        }
    }
}

/// A filter of the kernel's trace events, which may be a page long; of more
/// threads than fit, everything is recorded.
fn filter(tids: &[i32]) -> Option<CString> {
    let parts: Vec<_> = tids.iter().map(|tid| format!("pid=={tid}")).collect();
    let filter = parts.join("||");
    CString::new(filter).ok().filter(|f| f.count_bytes() < 4000)
}

fn role(format: Option<Format>, role: impl Fn(&Format) -> Option<Role>) -> Option<(u64, Role)> {
    let format = format?;
    Some((format.id, role(&format)?))
}

/// One without the other tells nothing.
fn pair(a: Option<(u64, Role)>, b: Option<(u64, Role)>) -> Vec<(u64, Role)> {
    a.zip(b).map(|(a, b)| vec![a, b]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Needs CAP_PERFMON, as the one has who meets this.
    #[test]
    fn without_tracefs_nothing_is_said_of_the_kernel() {
        let mut had = Vec::new();
        let (settings, mut decoder) = (Settings::default(), Decoder::default());
        let channel = Tracepoints::none().open_cpu(0, &settings, &mut decoder, &mut had);
        if channel.is_none() {
            return eprintln!("skipped: {had:?}");
        }
        for name in [
            item::SCHEDULER,
            item::INTERRUPTS,
            item::SOFTIRQS,
            item::VECTORS,
        ] {
            let why = Err("tracefs cannot be read".into());
            assert!(had.contains(&(name, why)), "{name}: {had:?}");
        }
        assert!(had.contains(&(item::CPU_SWITCHES, Ok(()))));
    }
}
