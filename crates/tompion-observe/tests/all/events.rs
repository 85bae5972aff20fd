//! What is recorded, against causes of known time and size.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::*;
use tompion_cause::{Access, OffCpu, Span, What};
use tompion_observe::events::{CpuEvents, Keeper, Recorder, Settings, item};

const PATIENCE: Duration = Duration::from_secs(2);

fn why_no_cpu_events(access: &Access) -> String {
    let refused = access
        .items
        .iter()
        .find_map(|i| Some(format!("{}: {}", i.0, i.1.clone().err()?)));
    refused.unwrap_or_else(|| "CPU events are incomplete".to_owned())
}

fn got(access: &Access, name: &str) -> bool {
    access.items.iter().any(|i| i.0 == name && i.1.is_ok())
}

#[test]
fn a_preempting_thread_is_named_with_its_times() {
    preempted(&Settings::default());
}

#[test]
fn the_cpus_records_alone_tell_the_same_of_a_pinned_thread() {
    preempted(&Settings {
        thread_switches: false,
        page_faults: false,
        ..Settings::default()
    });
}

fn preempted(settings: &Settings) {
    let cpu = a_cpu();
    let Some(hog) = Hog::start(cpu) else {
        return skip("SCHED_FIFO is forbidden");
    };
    let busy = Busy::start("tompion-busy", cpu, || spin(Duration::from_millis(1)));
    let (mut recorder, access) = Recorder::attach_with(settings, &[busy.tid()], &[cpu]);
    if !access.has_cpu_events {
        return skip(&why_no_cpu_events(&access));
    }
    assert!(access.has_switches);
    let began = recorder.since_ns();
    std::thread::sleep(Duration::from_millis(1000));
    let ended = monotonic_ns();
    let drained = recorder.drain_past(ended, PATIENCE);
    assert!(drained.until_ns >= ended);
    let turns = hog.turns(began + 60_000_000, ended - 60_000_000);
    assert!(turns.len() >= 3, "the hog had {} turns only", turns.len());

    let spans = drained.thread(busy.tid());
    let by_hog = |s: &&Span| matches!(&s.what, What::Ran(t) if t.tid == hog.busy.tid());
    let ran: Vec<_> = spans.iter().filter(by_hog).collect();
    let named =
        |s: &&&Span| matches!(&s.what, What::Ran(t) if t.name.as_deref() == Some("tompion-hog"));
    assert_eq!(ran.iter().filter(named).count(), ran.len());
    let off = |s: &&Span| s.what == What::OffCpu(OffCpu::Preempted);
    let seen = turns.iter().filter(|(from, until)| {
        // The span begins and ends around the turn, and closely.
        let around = |s: &&Span| s.from_ns <= *from && s.until_ns >= *until;
        let close = |s: &Span| from - s.from_ns < 1_000_000 && s.until_ns - until < 1_000_000;
        let is_off = spans.iter().filter(off).any(|s| around(&s));
        ran.iter().filter(|s| around(s)).any(|s| close(s)) && is_off
    });
    let seen = seen.count();
    // Real-time throttling or another real-time thread may cut a turn in two.
    assert!(
        10 * seen >= 8 * turns.len(),
        "{seen} of {} turns",
        turns.len()
    );
}

/// One stop of about 30 ms; its span, as `how` calls it.
fn stopped_once(settings: &Settings, how: OffCpu) -> Result<(), String> {
    let child = Spinner::start();
    let (mut recorder, access) = Recorder::attach_with(settings, &[child.pid()], &[a_cpu(), 0]);
    if how == OffCpu::Stopped && !got(&access, item::SCHEDULER) {
        skip(&why_no_cpu_events(&access));
        return Ok(());
    }
    assert!(access.has_switches, "{access:?}");
    std::thread::sleep(Duration::from_millis(20));
    let stop = monotonic_ns();
    child.signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_millis(30));
    let cont = monotonic_ns();
    child.signal(libc::SIGCONT);
    std::thread::sleep(Duration::from_millis(20));
    let drained = recorder.drain_past(monotonic_ns(), PATIENCE);
    // Others may take the CPU before the signal is seen, and when it goes on; a
    // child that only computes is off its CPU for no third reason.
    let stopped = |s: &&Span| {
        let off = matches!(s.what, What::OffCpu(how) if how != OffCpu::Preempted);
        off && s.until_ns > stop
    };
    let spans: Vec<_> = drained.thread(child.pid()).iter().filter(stopped).collect();
    let [span] = spans[..] else {
        return Err(format!("{spans:?}"));
    };
    if span.what != What::OffCpu(how) {
        return Err(format!("{span:?}, lost {:?}", drained.lost));
    }
    assert!(
        span.from_ns >= stop && span.until_ns >= cont,
        "{stop} {cont} {span:?}"
    );
    // The wake-up tells its end to the microsecond; else it lasts until it runs.
    let woken = got(&access, item::WAKES);
    let (late, over) = (span.from_ns - stop, span.until_ns - cont);
    match late < 20_000_000 && over < if woken { 2_000_000 } else { 40_000_000 } {
        true => Ok(()),
        false => Err(format!("began {late} ns late, ended {over} ns after")),
    }
}

/// The machine may be busy otherwise: five tries.
fn one_of_five(test: impl Fn() -> Result<(), String>) {
    let failures: Vec<_> = (0..5).map_while(|_| test().err()).collect();
    assert!(failures.len() < 5, "{failures:#?}");
}

#[test]
fn a_stop_is_one_span_of_its_length() {
    // All CPUs: the child may run on any.
    one_of_five(|| stopped_once(&Settings::default(), OffCpu::Stopped));
}

#[test]
fn what_is_kept_in_use_closes_at_once() {
    let cpu = a_cpu();
    let (recorder, access) = Recorder::attach(&[own_tid()], &[cpu]);
    if !access.has_cpu_events {
        return skip(&why_no_cpu_events(&access));
    }
    let keeper = Keeper::of_all(cpu);
    assert!(keeper.is_ok(), "{:?}", keeper.err());
    drop(recorder);
    // The last event of a single tracepoint takes longer than that, of all of them most of
    // a second.
    one_of_five(|| {
        let (recorder, _) = Recorder::attach(&[own_tid()], &[cpu]);
        let began = Instant::now();
        drop(recorder);
        let took = began.elapsed();
        match took < Duration::from_millis(15) {
            true => Ok(()),
            false => Err(format!("{took:?}")),
        }
    });
}

#[test]
fn without_the_cpus_events_the_stop_is_seen_and_not_named() {
    let settings = Settings {
        cpu_events: CpuEvents::None,
        ..Settings::default()
    };
    one_of_five(|| stopped_once(&settings, OffCpu::Left));
}

/// Local timer interrupts of a CPU, as the kernel counts them.
fn local_timer_count(cpu: u32) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/interrupts").ok()?;
    let place = text
        .lines()
        .next()?
        .split_whitespace()
        .position(|w| w == format!("CPU{cpu}"))?;
    let line = text
        .lines()
        .find_map(|l| l.trim_start().strip_prefix("LOC:"))?;
    line.split_whitespace().nth(place)?.parse().ok()
}

#[test]
fn local_timer_interrupts_are_as_many_as_the_kernel_counts() {
    let cpu = a_cpu();
    let busy = Busy::start("tompion-busy", cpu, || spin(Duration::from_millis(1)));
    let (mut recorder, access) = Recorder::attach(&[busy.tid()], &[cpu]);
    if !access.has_cpu_events {
        return skip(&why_no_cpu_events(&access));
    }
    let Some(before) = local_timer_count(cpu) else {
        return skip("no LOC line here");
    };
    let from = monotonic_ns();
    std::thread::sleep(Duration::from_millis(1000));
    let after = local_timer_count(cpu).unwrap();
    let until = monotonic_ns();
    let drained = recorder.drain_past(until, PATIENCE);
    let within = |s: &&Span| {
        matches!(s.what, What::Interrupt { tick: true, .. })
            && s.from_ns > from
            && s.until_ns < until
    };
    let seen = drained.cpu(cpu).iter().filter(within).count() as u64;
    let counted = after - before;
    // A busy CPU ticks at least 100 times a second; the counts bracket the window
    // by a few interrupts.
    assert!(counted >= 90, "{counted}");
    assert!(
        seen.abs_diff(counted) <= 5 + counted / 50,
        "{seen} seen, {counted} counted"
    );
}

#[test]
fn first_touches_are_page_faults_of_some_length() {
    let (mut recorder, access) = Recorder::attach(&[own_tid()], &[]);
    if !got(&access, item::PAGE_FAULTS) {
        return skip(&format!("{access:?}"));
    }
    let pages = 200;
    // SAFETY: a new private mapping, used within its bounds, unmapped below.
    let (from, until) = unsafe {
        let (bytes, prot) = (pages * 4096, libc::PROT_READ | libc::PROT_WRITE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let start = libc::mmap(std::ptr::null_mut(), bytes, prot, flags, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE);
        let from = monotonic_ns();
        for page in 0..pages {
            start.cast::<u8>().add(page * 4096).write_volatile(1);
        }
        let until = monotonic_ns();
        libc::munmap(start, bytes);
        (from, until)
    };
    let drained = recorder.drain_past(until, PATIENCE);
    let faults = drained.thread(own_tid()).iter().filter(|s| {
        s.what == What::PageFault
            && s.from_ns >= from
            && s.until_ns <= until
            && s.from_ns < s.until_ns
    });
    let (count, ns) = faults.fold((0, 0), |(n, ns), s| (n + 1, ns + s.until_ns - s.from_ns));
    assert!((pages - 2..=pages + 20).contains(&count), "{count} faults");
    assert!(ns < until - from, "they took {ns} ns of {}", until - from);
}

#[test]
fn too_small_a_ring_is_told_as_a_loss() {
    let settings = Settings {
        cpu_ring_bytes: 1,
        thread_ring_bytes: 1,
        ..Settings::default()
    };
    let cpu = a_cpu();
    let (mut recorder, access) = Recorder::attach_with(&settings, &[], &[cpu]);
    if !access.has_cpu_events {
        return skip(&why_no_cpu_events(&access));
    }
    let from = monotonic_ns();
    let sleepy = Busy::start("tompion-sleepy", cpu, || {
        std::thread::sleep(Duration::from_micros(50));
    });
    std::thread::sleep(Duration::from_millis(300));
    drop(sleepy);
    recorder.drain();
    std::thread::sleep(Duration::from_millis(100));
    let lost = recorder.drain_past(monotonic_ns(), PATIENCE).lost;
    let records: u64 = lost.iter().map(|l| l.records).sum();
    assert!(records > 100, "{lost:?}");
    assert!(
        lost.iter()
            .all(|l| l.from_ns <= l.until_ns && l.until_ns <= monotonic_ns())
    );
    let access = recorder.access();
    assert!(!access.has_cpu_events);
    let named = |i: &&(String, Result<(), String>)| i.0 == item::CPU_EVENTS && i.1.is_err();
    assert_eq!(
        access.items.iter().filter(named).count(),
        1,
        "{:?}",
        access.items
    );
    assert!(
        recorder
            .access_between(0, from - 1_000_000_000)
            .has_cpu_events,
        "before the loss"
    );
}

/// The kernel tells of a loss with the next record that it can write. Whoever comes
/// late to a full ring must not take the time until then for a quiet one.
#[test]
fn a_ring_found_full_is_a_loss_before_the_kernel_tells_of_it() {
    let settings = Settings {
        thread_ring_bytes: 1,
        page_faults: false,
        cpu_events: CpuEvents::None,
        ..Settings::default()
    };
    let naps = Arc::new(AtomicBool::new(true));
    let its_naps = Arc::clone(&naps);
    let sleepy = Busy::start("tompion-sleepy", a_cpu(), move || {
        let naps = its_naps.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_micros(if naps { 50 } else { 200_000 }));
    });
    let (mut recorder, access) = Recorder::attach_with(&settings, &[sleepy.tid()], &[]);
    if !got(&access, item::THREAD_SWITCHES) {
        return skip(&format!("{access:?}"));
    }
    assert!(access.has_switches);
    std::thread::sleep(Duration::from_millis(300));
    // Longer than one sleep: nothing is written any more, and nothing told.
    naps.store(false, Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(20));
    let late_ns = monotonic_ns();
    let drained = recorder.drain();
    assert!(drained.lost.is_empty(), "{:?}", drained.lost);
    let last_ns = drained.until_ns;
    assert!(
        last_ns < late_ns - 100_000_000,
        "the ring held {} ns too much",
        last_ns.saturating_sub(recorder.since_ns())
    );
    let access = recorder.access_between(last_ns + 1, late_ns);
    assert!(!access.has_switches && !got(&access, item::THREAD_SWITCHES));
    let before = recorder.access_between(0, recorder.since_ns());
    assert!(before.has_switches && got(&before, item::THREAD_SWITCHES));

    // With room again the kernel tells how much there was.
    naps.store(true, Ordering::Relaxed);
    let mut lost = Vec::new();
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(100));
        lost.extend(recorder.drain().lost);
        if !lost.is_empty() {
            break;
        }
    }
    let records: u64 = lost.iter().map(|l| l.records).sum();
    assert!(records > 100, "{lost:?}");
    assert!(!recorder.access().has_switches, "nor is it forgotten");
}
