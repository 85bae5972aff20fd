//! The recorder: rings in, spans out.

use std::time::Duration;

use tompion_cause::Access;
use tompion_time::os::{ClockId, now_ns, sleep_until_ns};

use super::assemble::Assembler;
use super::decode::Decoder;
use super::evidence::Evidence;
use super::names::Names;
use super::open::{Beside, Channel};
use super::record::{Event, Origin, Record};
use super::sources::{self, Had, Tracepoints};
use super::tracefs::Tracefs;
use super::turns::{self, Opened, Turns};
use super::{CpuEvents, Drained, Settings, Turn, item, procfs};

/// Records younger than this may still be on their way: a CPU takes the time, is
/// interrupted or taken away, and writes the record later.
const SETTLING_NS: u64 = 2_000_000;

/// After so many records [`Recorder::drain_by`] lets others have the CPU. On one of 500 million instructions a second they
/// take 50 to 75 us.
const PIECE: usize = 16;

/// With less room than this a record may have been lost without trace so far: more
/// than the largest one takes, with what the kernel tells of a loss before it.
const TIGHT_BYTES: usize = 512;

/// Records what happens to threads and on CPUs, from its making on.
pub struct Recorder {
    channels: Vec<Channel>,
    decoder: Decoder,
    assembler: Assembler,
    turns: Option<Turns>,
    settings: Settings,
    evidence: Evidence,
    has_switches: bool,
    /// Switches of threads are known from the CPUs' records alone.
    relies_on_cpus: bool,
    has_cpu_events: bool,
    since_ns: u64,
    until_ns: u64,
    pending: Vec<Record>,
    /// Time of the latest record that the assembler has taken.
    pushed_ns: u64,
    bytes: Vec<u8>,
    records: u64,
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
            turns: None,
            settings: *settings,
            evidence: Evidence::default(),
            has_switches: !threads.is_empty(),
            relies_on_cpus: false,
            has_cpu_events: false,
            since_ns: 0,
            until_ns: 0,
            pending: Vec::new(),
            pushed_ns: 0,
            bytes: Vec::new(),
            records: 0,
        };
        match settings.cpu_events {
            CpuEvents::None => {}
            CpuEvents::Turns => recorder.attach_turns(cpus, threads),
            CpuEvents::Switches | CpuEvents::All => recorder.attach_cpus(cpus, threads),
        }
        if settings.cpu_events != CpuEvents::Turns {
            threads.iter().for_each(|tid| recorder.watch(*tid));
        }
        recorder.since_ns = now_ns(ClockId::Monotonic);
        recorder.until_ns = recorder.since_ns;
        let access = recorder.access();
        (recorder, access)
    }

    /// Watches one more thread, for example one that a watched process has
    /// started. Its wake-ups are not recorded unless it was named at the start.
    pub fn watch(&mut self, tid: i32) {
        let told_by_cpus = !self.settings.thread_switches && self.evidence.got(item::SCHEDULER);
        let switches = match told_by_cpus {
            true => Err("told by the CPUs".into()),
            false => sources::of_thread(tid, &self.settings, &mut self.decoder),
        };
        let faults = sources::faults_of(tid, &self.settings, &mut self.decoder);
        if switches
            .as_ref()
            .is_err_and(|why| why.errno() == Some(libc::ESRCH))
        {
            return;
        }
        let has_own_ring = switches.is_ok();
        self.has_switches &= has_own_ring || told_by_cpus;
        self.relies_on_cpus |= told_by_cpus;
        for (name, opened) in [
            (item::THREAD_SWITCHES, switches),
            (item::PAGE_FAULTS, faults),
        ] {
            let had = opened.map(|channel| self.channels.push(channel));
            self.evidence.note(name, had);
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

    /// Watches a thread no longer: gives its rings back.
    pub fn unwatch(&mut self, tid: i32) {
        let own =
            |c: &mut Channel| matches!(c.origin, Origin::Thread(t) | Origin::Faults(t) if t == tid);
        let ended: Vec<_> = self.channels.extract_if(.., own).collect();
        ended.into_iter().for_each(|c| c.end(&mut self.decoder));
        self.assembler.forget(tid);
    }

    /// Whether a watched thread's switches are recorded: in a ring of its own, or
    /// with those of the CPUs.
    pub fn follows(&self, tid: i32) -> bool {
        let by_cpus = [item::SCHEDULER, item::CPU_SWITCHES]
            .into_iter()
            .any(|name| self.evidence.got(name));
        by_cpus
            || self
                .channels
                .iter()
                .any(|c| c.origin == Origin::Thread(tid))
    }

    /// Since when a watched thread has been stopped, or could have run and has not,
    /// if that goes on. Its spans of that time are not all told yet.
    pub fn kept_since(&self, tid: i32) -> Option<u64> {
        self.assembler.kept_since(tid)
    }

    /// Ends what goes on for the watched threads at a moment that has been drained
    /// past: nothing is recorded of them any more. `idle` are those that used no CPU
    /// time since they were found.
    pub fn close(&mut self, at_ns: u64, idle: &[i32]) -> Drained {
        self.assembler.close(at_ns.max(self.pushed_ns), idle);
        let (threads, cpus) = self.assembler.take();
        Drained {
            threads,
            cpus,
            turns: Vec::new(),
            until_ns: self.until_ns,
            lost: Vec::new(),
        }
    }

    fn attach_turns(&mut self, cpus: &[u32], threads: &[i32]) {
        let opened = turns::open(threads, cpus, &self.settings, &mut self.decoder);
        let had = opened.and_then(|Opened { channels, faults }| {
            channels.iter().try_for_each(Channel::enable)?;
            self.channels.extend(channels);
            self.evidence.note(item::FAULT_MOMENTS, faults);
            self.turns = Some(Turns::new(threads, Names::new(procfs::name)));
            Ok(())
        });
        self.has_switches &= had.is_ok();
        self.relies_on_cpus = true;
        self.evidence.note(item::TURNS, had);
    }

    /// Turns of each thread that may still go on; from now on they are forgotten.
    pub fn open_turns(&mut self) -> Vec<(i32, Turn)> {
        let turns = self.turns.as_mut().map(|t| t.take(true));
        turns.unwrap_or_default()
    }

    fn attach_cpus(&mut self, cpus: &[u32], threads: &[i32]) {
        let decoder = &mut self.decoder;
        let tracefs = Tracefs::open();
        let tracepoints = match &tracefs {
            Ok(tracefs) => Tracepoints::read(tracefs, &mut self.assembler, decoder),
            Err(_) => Tracepoints::none(),
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
        let evidence = &mut self.evidence;
        had.into_iter()
            .for_each(|(name, had)| evidence.note(name, had));
        let got = |name| evidence.got(name);
        let vectors = got(item::VECTORS) || !cfg!(any(target_arch = "x86", target_arch = "x86_64"));
        self.has_cpu_events = !cpus.is_empty()
            && !evidence.was_refused(item::CPU_EVENTS)
            && [item::SCHEDULER, item::INTERRUPTS, item::SOFTIRQS]
                .into_iter()
                .all(got)
            && vectors;
    }

    /// What is recorded, and whether without loss so far.
    pub fn access(&self) -> Access {
        self.access_between(0, u64::MAX)
    }

    /// The same, with losses counted only where they fall into that time.
    pub fn access_between(&self, from_ns: u64, until_ns: u64) -> Access {
        let mut lost = self.evidence.lost_between(from_ns, until_ns);
        // The kernel tells of a loss with the next record that it can write.
        let untold = |c: &&Channel| c.full_since_ns.is_some_and(|full_ns| full_ns < until_ns);
        let untold = self.channels.iter().filter(untold);
        untold.for_each(|c| lost.add(c.origin));
        let switches_lost = lost.threads || (lost.cpus && self.relies_on_cpus);
        Access {
            items: self.evidence.items(lost),
            steal_is_accounted: crate::steal::is_accounted(),
            has_switches: self.has_switches && !switches_lost,
            has_cpu_events: self.has_cpu_events && !lost.cpus,
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
        self.drain_by(&mut || {})
    }

    /// The same, with a pause between its pieces.
    pub fn drain_by(&mut self, pause: &mut dyn FnMut()) -> Drained {
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
                // What the other rings tell of later times meets a gap of this one.
                channel.full_since_ns = Some(channel.last_ns);
                self.pending.push(Record {
                    time_ns: channel.last_ns,
                    cpu: 0,
                    event: Event::Lost {
                        origin: channel.origin,
                    },
                });
            } else if taken > 0 {
                channel.full_since_ns = None;
            }
            if taken > 0 {
                pause();
            }
        }
        // Stable: records of one ring keep their order. Those of CPUs come first.
        self.pending.sort_by_key(|r| r.time_ns);
        let settled = self.pending.partition_point(|r| r.time_ns <= settled_ns);
        for (i, mut record) in self.pending.drain(..settled).enumerate() {
            if i % PIECE == PIECE - 1 {
                pause();
            }
            if matches!(record.event, Event::Lost { .. } | Event::Again { .. }) {
                // A loss may be older than what others have told meanwhile.
                record.time_ns = record.time_ns.max(self.pushed_ns);
            }
            self.pushed_ns = self.pushed_ns.max(record.time_ns);
            match &mut self.turns {
                Some(turns) if record.event.is_of_turns() => turns.push(record),
                _ => assembler.push(record),
            }
        }
        let (threads, cpus) = assembler.take();
        let turns = self.turns.as_mut().map(|t| t.take(false));
        self.until_ns = self.until_ns.max(until_ns);
        self.evidence.lose(&lost);
        Drained {
            threads,
            cpus,
            turns: turns.unwrap_or_default(),
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

/// Wake-ups happen on whichever CPU causes them: those not recorded otherwise get
/// a ring for that alone.
fn add_wakes(
    tracepoints: &Tracepoints,
    channels: &mut Vec<Channel>,
    threads: &[i32],
    decoder: &mut Decoder,
) -> Had {
    if decoder.translate {
        return Err("within a PID namespace".into());
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
