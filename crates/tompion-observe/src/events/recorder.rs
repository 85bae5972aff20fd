//! The recorder: rings in, spans out.

use std::time::Duration;

use tompion_cause::{Access, Span};
use tompion_time::os::{ClockId, now_ns, sleep_until_ns};

use super::assemble::Assembler;
use super::decode::{Decoder, Loss};
use super::names::Names;
use super::open::{Beside, Channel};
use super::record::{Event, Origin, Record};
use super::sources::{self, Had, Tracepoints};
use super::tracefs::Tracefs;
use super::{CpuEvents, Settings, item, procfs};

/// Records younger than this may still be on their way: a CPU takes the time, is
/// interrupted or taken away, and writes the record later.
const SETTLING_NS: u64 = 2_000_000;

/// With less room than this a record may have been lost without trace so far.
const TIGHT_BYTES: usize = 4096;

/// How many losses are remembered; of more, the latest are.
const LOSSES: usize = 4096;

/// Records what happens to threads and on CPUs, from its making on.
pub struct Recorder {
    channels: Vec<Channel>,
    decoder: Decoder,
    assembler: Assembler,
    settings: Settings,
    items: Vec<(String, Had)>,
    has_switches: bool,
    /// Switches of threads are known from the CPUs' records alone.
    relies_on_cpus: bool,
    has_cpu_events: bool,
    losses: Vec<Loss>,
    since_ns: u64,
    until_ns: u64,
    pending: Vec<Record>,
    bytes: Vec<u8>,
    records: u64,
}

/// What has ended since the last drain.
#[derive(Clone, Debug, Default)]
pub struct Drained {
    /// Spans of each watched thread: its own, and those of the CPU where it ran
    /// or wanted to run, as far as it did; in the order of their beginnings. A
    /// span is told when it has ended, hence may begin before the last drain.
    pub threads: Vec<(i32, Vec<Span>)>,
    /// Spans of each CPU, whole, the watched threads' turns among them.
    pub cpus: Vec<(u32, Vec<Span>)>,
    /// All that ended before this moment has been told, as far as it was not lost.
    pub until_ns: u64,
    /// Records that the kernel could not keep.
    pub lost: Vec<Loss>,
}

impl Drained {
    /// Spans of one watched thread.
    pub fn thread(&self, tid: i32) -> &[Span] {
        let found = self.threads.iter().find(|t| t.0 == tid);
        found.map_or(&[], |t| &t.1)
    }

    /// Spans of one CPU.
    pub fn cpu(&self, cpu: u32) -> &[Span] {
        let found = self.cpus.iter().find(|c| c.0 == cpu);
        found.map_or(&[], |c| &c.1)
    }
}

impl Recorder {
    /// Watches the threads and, where that is permitted, all that happens on the
    /// CPUs; says what it got.
    pub fn attach(threads: &[i32], cpus: &[u32]) -> (Self, Access) {
        Self::attach_with(&Settings::default(), threads, cpus)
    }

    /// The same with other settings.
    pub fn attach_with(settings: &Settings, threads: &[i32], cpus: &[u32]) -> (Self, Access) {
        let mut decoder = Decoder::default();
        decoder.shift_ns = procfs::monotonic_shift_ns();
        decoder.translate = !procfs::initial_pid_namespace();
        let mut recorder = Self {
            channels: Vec::new(),
            decoder,
            assembler: Assembler::new(Names::new(procfs::name)),
            settings: *settings,
            items: Vec::new(),
            has_switches: !threads.is_empty(),
            relies_on_cpus: false,
            has_cpu_events: false,
            losses: Vec::new(),
            since_ns: 0,
            until_ns: 0,
            pending: Vec::new(),
            bytes: Vec::new(),
            records: 0,
        };
        if settings.cpu_events > CpuEvents::None {
            recorder.attach_cpus(cpus, threads);
        }
        for tid in threads {
            recorder.watch(*tid);
        }
        recorder.since_ns = now_ns(ClockId::Monotonic);
        recorder.until_ns = recorder.since_ns;
        let access = recorder.access();
        (recorder, access)
    }

    /// Watches one more thread, for example one that a watched process has
    /// started. Its wake-ups are not recorded unless it was named at the start.
    pub fn watch(&mut self, tid: i32) {
        let told_by_cpus = !self.settings.thread_switches && self.got(item::SCHEDULER);
        let switches = match told_by_cpus {
            true => Err("told by the CPUs".to_owned()),
            false => sources::of_thread(tid, &self.settings, &mut self.decoder),
        };
        let faults = sources::faults_of(tid, &self.settings, &mut self.decoder);
        let has_own_ring = switches.is_ok();
        self.has_switches &= has_own_ring || told_by_cpus;
        self.relies_on_cpus |= told_by_cpus;
        for (name, opened) in [
            (item::THREAD_SWITCHES, switches),
            (item::PAGE_FAULTS, faults),
        ] {
            let had = opened.map(|channel| self.channels.push(channel));
            self.note(name, had);
        }
        if let Some((cpu, off)) = procfs::found(tid) {
            self.assembler.watch(tid, cpu, has_own_ring);
            // Takes its place among the records, some of which may be older.
            let time_ns = now_ns(ClockId::Monotonic);
            let event = Event::Found { tid, off };
            self.pending.push(Record {
                time_ns,
                cpu,
                event,
            });
        }
    }

    fn attach_cpus(&mut self, cpus: &[u32], threads: &[i32]) {
        let decoder = &mut self.decoder;
        let tracefs = Tracefs::open();
        let tracepoints = match &tracefs {
            Ok(tracefs) => Tracepoints::read(tracefs, &mut self.assembler, decoder),
            Err(_) => Tracepoints::default(),
        };
        let mut had = Vec::new();
        if let Err(why) = &tracefs {
            had.push((item::SCHEDULER, Err(why.clone())));
        }
        let mut channels: Vec<_> = cpus
            .iter()
            .filter_map(|cpu| tracepoints.open_cpu(*cpu, &self.settings, decoder, &mut had))
            .collect();
        if !channels.is_empty() && tracefs.is_ok() && !threads.is_empty() {
            let wakes = add_wakes(&tracepoints, &mut channels, threads, decoder);
            had.push((item::WAKES, wakes));
        }
        for channel in &channels {
            if let Err(why) = channel.enable() {
                had.push((item::CPU_EVENTS, Err(why)));
            }
        }
        // From here on; what was recorded before is not complete.
        let since_ns = now_ns(ClockId::Monotonic);
        for cpu in cpus {
            if channels.iter().any(|c| c.origin == Origin::Cpu(*cpu)) {
                self.assembler.watch_cpu(*cpu, since_ns);
            }
        }
        self.channels.extend(channels);
        had.into_iter().for_each(|(name, had)| self.note(name, had));
        let got = |name| self.got(name);
        let vectors = got(item::VECTORS) || !cfg!(any(target_arch = "x86", target_arch = "x86_64"));
        self.has_cpu_events = !cpus.is_empty()
            && !self.items.iter().any(|i| i.0 == item::CPU_EVENTS)
            && [item::SCHEDULER, item::INTERRUPTS, item::SOFTIRQS]
                .into_iter()
                .all(got)
            && vectors;
    }

    fn got(&self, name: &str) -> bool {
        self.items.iter().any(|i| i.0 == name && i.1.is_ok())
    }

    /// Notes an item once; a refusal for one thread or CPU stands for all.
    fn note(&mut self, name: &str, had: Had) {
        match self.items.iter_mut().find(|i| i.0 == name) {
            Some(item) if item.1.is_ok() => item.1 = had,
            Some(_) => {}
            None => self.items.push((name.to_owned(), had)),
        }
    }

    /// What is recorded, and whether without loss so far.
    pub fn access(&self) -> Access {
        self.access_between(0, u64::MAX)
    }

    /// The same, with losses counted only where they fall into that time.
    pub fn access_between(&self, from_ns: u64, until_ns: u64) -> Access {
        let lost = |of: &dyn Fn(Origin) -> bool| {
            let within = |l: &&Loss| l.from_ns < until_ns && from_ns < l.until_ns;
            self.losses.iter().filter(within).any(|l| of(l.origin))
        };
        let mut items = self.items.clone();
        if lost(&|o| matches!(o, Origin::Faults(_))) {
            let lossy = items.iter_mut().filter(|i| i.0 == item::PAGE_FAULTS);
            lossy.for_each(|i| i.1 = Err("some were lost for want of room".to_owned()));
        }
        let switches = |o| match o {
            Origin::Thread(_) => true,
            Origin::Cpu(_) => self.relies_on_cpus,
            Origin::Faults(_) => false,
        };
        Access {
            items,
            steal_is_accounted: crate::steal::is_accounted(),
            has_switches: self.has_switches && !lost(&switches),
            has_cpu_events: self.has_cpu_events && !lost(&|o| matches!(o, Origin::Cpu(_))),
        }
    }

    /// When recording began.
    pub fn since_ns(&self) -> u64 {
        self.since_ns
    }

    /// How many records have been taken so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Takes what has been recorded. Events of the last 2 ms are kept for the next
    /// time: they may not be complete.
    pub fn drain(&mut self) -> Drained {
        let settled_ns = now_ns(ClockId::Monotonic).saturating_sub(SETTLING_NS);
        let mut until_ns = settled_ns;
        let mut lost = Vec::new();
        let assembler = &mut self.assembler;
        for channel in &mut self.channels {
            self.bytes.clear();
            let taken = channel.ring.take(&mut self.bytes);
            let before = self.pending.len();
            self.decoder.decode(
                &self.bytes,
                channel.origin,
                &mut channel.last_ns,
                &mut |what| assembler.label(what),
                &mut self.pending,
                &mut lost,
            );
            self.records += (self.pending.len() - before) as u64;
            if channel.ring.capacity() - taken < TIGHT_BYTES {
                until_ns = until_ns.min(channel.last_ns);
            }
        }
        // Stable: records of one ring keep their order. Those of CPUs come first.
        self.pending.sort_by_key(|r| r.time_ns);
        let settled = self.pending.partition_point(|r| r.time_ns <= settled_ns);
        for record in self.pending.drain(..settled) {
            assembler.push(record);
        }
        let (threads, cpus) = assembler.take();
        self.until_ns = self.until_ns.max(until_ns);
        self.losses.extend_from_slice(&lost);
        let excess = self.losses.len().saturating_sub(LOSSES);
        self.losses.drain(..excess);
        Drained {
            threads,
            cpus,
            until_ns: self.until_ns,
            lost,
        }
    }

    /// Drains until everything up to `ns` has been told, waiting for at most
    /// `patience` (some milliseconds suffice for a moment that has passed).
    pub fn drain_past(&mut self, ns: u64, patience: Duration) -> Drained {
        let give_up_ns = now_ns(ClockId::Monotonic).saturating_add(patience.as_nanos() as u64);
        let mut all = self.drain();
        while all.until_ns < ns && now_ns(ClockId::Monotonic) < give_up_ns {
            let wanted_ns = ns.saturating_add(SETTLING_NS + 100_000);
            sleep_until_ns(
                wanted_ns.clamp(now_ns(ClockId::Monotonic) + 100_000, give_up_ns.max(1)),
            );
            all.append(self.drain());
        }
        all
    }
}

impl Drained {
    /// Adds what a later drain told.
    pub fn append(&mut self, later: Self) {
        merge(&mut self.threads, later.threads);
        merge(&mut self.cpus, later.cpus);
        self.until_ns = self.until_ns.max(later.until_ns);
        self.lost.extend(later.lost);
    }
}

fn merge<K: PartialEq>(all: &mut Vec<(K, Vec<Span>)>, later: Vec<(K, Vec<Span>)>) {
    for (key, spans) in later {
        match all.iter_mut().find(|a| a.0 == key) {
            Some((_, known)) => {
                known.extend(spans);
                known.sort_by_key(|s| (s.from_ns, s.until_ns));
            }
            None => all.push((key, spans)),
        }
    }
}

/// Wake-ups happen on whichever CPU causes them: those not recorded otherwise get
/// a ring for that alone.
fn add_wakes(
    tracepoints: &Tracepoints,
    channels: &mut Vec<Channel>,
    threads: &[i32],
    decoder: &mut Decoder,
) -> Had {
    if decoder.translate {
        return Err("within a PID namespace".to_owned());
    }
    for cpu in procfs::online_cpus() {
        let origin = Origin::Cpu(cpu);
        if !channels.iter().any(|c| c.origin == origin) {
            let ring_bytes = 64 << 10;
            channels.push(Channel::open(
                origin,
                Beside::default(),
                ring_bytes,
                decoder,
            )?);
        }
    }
    let mut all = channels.iter_mut();
    all.try_for_each(|channel| tracepoints.add_wakes(channel, threads, decoder))
}
