//! What is read several times a second, and from where.

use tompion_model::Unavailable;
use tompion_time::os::{ClockId, now_ns};

use super::gauge::{Gauge, counter, open};
use super::series::{Column, Role};
use super::tables::Table;
use super::throughput::{Disks, Network};
use crate::cgroup::Throttling;
use crate::counters::{faults, pair, switches};
use crate::kept::{Kept, numbers};
use crate::sys;

/// What there was to be had, by name; each `Err` says why not, as a run keeps it.
pub(super) type Items = Vec<(String, Result<(), String>)>;

/// Of more threads only what is read fast is read: a look at all else takes some 30 us a thread, one after another, and
/// would hold up whom it watches.
const FEW: usize = 8;

/// All gauges that this system offers, and what it lacks.
pub(super) fn all(threads: &[i32], cpus: &[u32]) -> (Vec<Box<dyn Gauge>>, Items) {
    let mut gauges: Vec<Box<dyn Gauge>> = Vec::new();
    let mut access = Vec::new();
    let mut take = |name: &str, gauge: Result<Box<dyn Gauge>, Unavailable>| match gauge {
        Ok(gauge) => {
            gauges.push(gauge);
            access.push((name.to_owned(), Ok(())));
        }
        Err(why) => access.push((name.to_owned(), Err(why.to_string()))),
    };
    take("steal and context switches", ProcStat::open(cpus));
    let is_whole = threads.len() <= FEW;
    for tid in threads {
        let thread = Thread::open(*tid, is_whole);
        take(&format!("counters of thread {tid}"), thread);
    }
    if !is_whole {
        let why = format!(
            "not read of {} threads, which that would hold up",
            threads.len()
        );
        take("switches and faults of each thread", Err(why.into()));
    }
    let throttling = threads.first().copied().unwrap_or_else(sys::own_tid);
    take(
        "throttling",
        Throttling::of(throttling).map(|t| Box::new(t) as Box<dyn Gauge>),
    );
    take(
        "softirqs by kind",
        Table::open("/proc/softirqs", "softirq", cpus),
    );
    take(
        "interrupts by line",
        Table::open("/proc/interrupts", "interrupt", cpus),
    );
    for resource in ["cpu", "io", "memory"] {
        take(
            &format!("pressure stall of {resource}"),
            Pressure::open(resource),
        );
    }
    take("network throughput", Network::open());
    take("disk throughput", Disks::open());
    for cpu in cpus {
        take(&format!("frequency of CPU {cpu}"), Frequency::open(*cpu));
    }
    take("steps of the system clock", Ok(Box::new(Clocks)));
    (gauges, access)
}

/// `/proc/stat`: CPU time by kind in steps of a tick, and context switches.
struct ProcStat {
    file: Kept,
    cpus: Vec<u32>,
    tick_ns: i64,
}

impl ProcStat {
    fn open(cpus: &[u32]) -> Result<Box<dyn Gauge>, Unavailable> {
        let tick_ns = (1_000_000_000 / sys::user_hz()) as i64;
        Ok(Box::new(Self {
            file: open("/proc/stat")?,
            cpus: cpus.to_vec(),
            tick_ns,
        }))
    }
}

impl Gauge for ProcStat {
    fn columns(&self) -> Vec<Column> {
        let of_cpu = |cpu: &u32| {
            let cpu = *cpu;
            [
                counter(
                    format!("interrupt_time.cpu{cpu}"),
                    "ns",
                    Role::InterruptTime(cpu),
                ),
                counter(
                    format!("softirq_time.cpu{cpu}"),
                    "ns",
                    Role::SoftirqTime(cpu),
                ),
                counter(format!("steal.cpu{cpu}"), "ns", Role::Steal(cpu)),
            ]
        };
        let mut columns: Vec<_> = self.cpus.iter().flat_map(of_cpu).collect();
        columns.push(counter("context_switches".to_owned(), "", Role::Plain));
        columns
    }

    fn read(&mut self, values: &mut [i64]) {
        let Some(text) = self.file.read() else { return };
        for line in text.split(|b| *b == b'\n') {
            if let Some(rest) = line.strip_prefix(b"cpu") {
                let is_one = rest.first().is_some_and(u8::is_ascii_digit);
                let mut fields = numbers(rest);
                let cpu = fields.next().filter(|_| is_one);
                let Some(at) = self.cpus.iter().position(|c| Some(u64::from(*c)) == cpu) else {
                    continue;
                };
                // user, nice, system, idle, iowait; then interrupts, softirqs, steal.
                for (slot, ticks) in values[3 * at..3 * at + 3].iter_mut().zip(fields.skip(5)) {
                    *slot = ticks as i64 * self.tick_ns;
                }
            } else if let Some(rest) = line.strip_prefix(b"ctxt ")
                && let (Some(slot), Some(n)) = (values.last_mut(), numbers(rest).next())
            {
                *slot = n as i64;
                break;
            }
        }
    }
}

/// A watched thread: run delay and CPU time; of few threads switches and faults, too.
struct Thread {
    tid: i32,
    schedstat: Kept,
    /// `status` and `stat`.
    rest: Option<(Kept, Kept)>,
}

impl Thread {
    fn open(tid: i32, is_whole: bool) -> Result<Box<dyn Gauge>, Unavailable> {
        let file = |name: &str| open(&format!("/proc/{tid}/task/{tid}/{name}"));
        Ok(Box::new(Self {
            tid,
            schedstat: file("schedstat")?,
            rest: match is_whole {
                true => Some((file("status")?, file("stat")?)),
                false => None,
            },
        }))
    }
}

impl Gauge for Thread {
    fn columns(&self) -> Vec<Column> {
        let tid = self.tid;
        let column = |name, unit, role| counter(format!("{name}.thread{tid}"), unit, role);
        let mut columns = vec![
            column("cpu_time", "ns", Role::Plain),
            column("run_delay", "ns", Role::RunDelay(tid)),
        ];
        if self.rest.is_some() {
            columns.extend([
                column("voluntary_switches", "", Role::Plain),
                column("involuntary_switches", "", Role::Plain),
                column("minor_faults", "", Role::Plain),
                column("major_faults", "", Role::MajorFaults(tid)),
            ]);
        }
        columns
    }

    fn read(&mut self, values: &mut [i64]) {
        let mut read = [self.schedstat.read().and_then(pair), None, None];
        if let Some((status, stat)) = &mut self.rest {
            read[1] = status.read().and_then(switches);
            read[2] = stat.read().and_then(faults);
        }
        for (slots, pair) in values.chunks_exact_mut(2).zip(read) {
            if let Some((a, b)) = pair {
                slots.copy_from_slice(&[a as i64, b as i64]);
            }
        }
    }
}

impl Gauge for Throttling {
    fn columns(&self) -> Vec<Column> {
        vec![counter("throttled".to_owned(), "ns", Role::Throttled)]
    }

    fn read(&mut self, values: &mut [i64]) {
        if let Some(ns) = self.throttled_ns() {
            values[0] = ns as i64;
        }
    }
}

/// `/proc/pressure`: how long some, or all, tasks waited for a resource.
struct Pressure {
    file: Kept,
    resource: &'static str,
}

impl Pressure {
    fn open(resource: &'static str) -> Result<Box<dyn Gauge>, Unavailable> {
        let path = format!("/proc/pressure/{resource}");
        let file = open(&path).map_err(|e| format!("{e} (psi=1 may switch it on)"))?;
        Ok(Box::new(Self { file, resource }))
    }
}

impl Gauge for Pressure {
    fn columns(&self) -> Vec<Column> {
        ["some", "full"]
            .map(|share| {
                let name = format!("pressure_{}_{share}", self.resource);
                counter(name, "ns", Role::Plain)
            })
            .to_vec()
    }

    fn read(&mut self, values: &mut [i64]) {
        let Some(text) = self.file.read() else { return };
        for (slot, line) in values.iter_mut().zip(text.split(|b| *b == b'\n')) {
            // `some avg10=0.00 avg60=0.00 avg300=0.00 total=12`, in microseconds.
            if let Some(us) = line
                .rsplit(|b| *b == b'=')
                .next()
                .and_then(|t| numbers(t).next())
            {
                *slot = us as i64 * 1000;
            }
        }
    }
}

/// The governor's frequency of a CPU.
struct Frequency {
    file: Kept,
    cpu: u32,
}

impl Frequency {
    fn open(cpu: u32) -> Result<Box<dyn Gauge>, Unavailable> {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
        Ok(Box::new(Self {
            file: open(&path)?,
            cpu,
        }))
    }
}

impl Gauge for Frequency {
    fn columns(&self) -> Vec<Column> {
        let name = format!("frequency.cpu{}", self.cpu);
        vec![Column {
            name,
            unit: "Hz",
            is_counter: false,
            role: Role::Plain,
        }]
    }

    fn read(&mut self, values: &mut [i64]) {
        if let Some(khz) = self.file.read().and_then(|t| numbers(t).next()) {
            values[0] = khz as i64 * 1000;
        }
    }
}

/// What separates the wall clock from the monotonic one (only setting the clock
/// changes it, since slewing moves both), how sure the figure is, and the rate at
/// which the kernel slews.
struct Clocks;

impl Gauge for Clocks {
    fn columns(&self) -> Vec<Column> {
        let level = |name: &str, unit, role| Column {
            name: name.to_owned(),
            unit,
            is_counter: false,
            role,
        };
        // The uncertainty follows its offset: the rule for steps looks there.
        vec![
            level("clock_offset", "ns", Role::ClockOffset),
            level("clock_offset_uncertainty", "ns", Role::Plain),
            level("clock_rate", "2^-16 ppm", Role::Plain),
            level("clock_phase", "ns", Role::Plain),
        ]
    }

    fn read(&mut self, values: &mut [i64]) {
        let bracket = || {
            let before = now_ns(ClockId::Monotonic);
            let wall = now_ns(ClockId::Realtime);
            let width = now_ns(ClockId::Monotonic) - before;
            (width, wall as i64 - (before + width / 2) as i64)
        };
        // The narrowest of a few: any of them may have been interrupted.
        if let Some((width, offset)) = (0..5).map(|_| bracket()).min_by_key(|b| b.0) {
            values[0] = offset;
            values[1] = width as i64;
        }
        if let Some((rate, phase)) = sys::clock_state() {
            values[2] = rate;
            values[3] = phase;
        }
    }
}

#[cfg(test)]
mod tests;
