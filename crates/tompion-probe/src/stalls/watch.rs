//! The loop.

use std::sync::atomic::Ordering;

use tompion_cause::{Counters, Stall};
use tompion_model::Measurement;
use tompion_time::os::{self, ClockId};

use super::tally::{Counted, Tally};
use super::{Producer, Row, Settings, StallsOutcome, Stamps};
use crate::sys;

/// Reading counters may take one part in this many of the time.
const REFRESH_SHARE: u64 = 5_000;

/// An anchor holds for this long: even while the kernel's clock is slewed by 500
/// parts per million it is then wrong by 0.5 us at most. In nanoseconds.
const ANCHOR_NS: u64 = 1_000_000;

/// Own work of this length became so by a stall, in nanoseconds.
const LONG_OWN_NS: u64 = 20_000;

/// Runs the loop over any clock, planted ones included, until its time is over or
/// `stop` is set.
pub fn run(
    stamps: &mut impl Stamps,
    counters: impl FnMut() -> Counters,
    settings: &Settings,
    rows: &mut Producer,
) -> StallsOutcome {
    let mut watch = Watch::new(stamps, counters, settings, rows);
    let memory_locked = sys::lock_memory(watch.tally.buffer());
    let cpu_before = os::now_ns(ClockId::ThreadCpu);
    let ended_by_time = watch.go();
    let cpu_ns = os::now_ns(ClockId::ThreadCpu) - cpu_before;
    if memory_locked {
        sys::unlock_memory(watch.tally.buffer());
    }
    let mut outcome = watch.finish();
    outcome.measurement.memory_locked = memory_locked;
    outcome.measurement.ended_by_time = ended_by_time;
    outcome.measurement.cpu_per_operation_ns =
        (outcome.iterations > 0).then(|| cpu_ns as f64 / outcome.iterations as f64);
    outcome
}

/// The loop's period: the median of a few intervals, in picoseconds.
pub(super) fn period_ps(stamps: &mut impl Stamps) -> u64 {
    const READS: usize = 1001;
    let mut intervals = [0; READS];
    let mut last = stamps.now();
    for interval in &mut intervals {
        let now = stamps.now();
        *interval = now.wrapping_sub(last);
        last = now;
    }
    intervals.sort_unstable();
    stamps.ps(intervals[READS / 2])
}

struct Watch<'a, S, C> {
    stamps: &'a mut S,
    counters: C,
    settings: &'a Settings,
    rows: &'a mut Producer,

    tally: Tally,

    /// The first stamp and the last.
    began: u64,
    last: u64,
    /// In ticks after `began`: when to look up, and to end.
    due: u64,
    end: u64,

    /// The counters as last read, and the time lost to stalls since then.
    known: Option<Counters>,
    lost_since_ps: u64,
    cpu: Option<u32>,
    /// When they were read, what that takes at best, and how long to wait until
    /// they are read again; ticks.
    read_from: u64,
    reading: u64,
    read_pause: u64,

    /// Settings in ticks: dividing takes time.
    refresh: u64,
    long_own: u64,
    anchor_life: u64,
    /// Taken last.
    anchor: (u64, u64),

    began_ns: u64,
    lost_rows_before: u64,
    counter_reads: u64,
    /// Ticks.
    own: u64,
    own_longest: u64,
}

impl<'a, S: Stamps, C: FnMut() -> Counters> Watch<'a, S, C> {
    fn new(stamps: &'a mut S, counters: C, settings: &'a Settings, rows: &'a mut Producer) -> Self {
        // Nine years: no sum of ticks overflows.
        const LONGEST_NS: u64 = 1 << 58;
        let mut watch = Self {
            tally: Tally::new(stamps.ticks(settings.threshold_ns)),
            began: 0,
            last: 0,
            due: 0,
            end: stamps.ticks(settings.time_ns.min(LONGEST_NS)),
            known: None,
            lost_since_ps: 0,
            cpu: stamps.cpu(),
            read_from: 0,
            reading: u64::MAX,
            read_pause: u64::MAX,
            refresh: stamps.ticks(settings.refresh_ns.max(1)),
            long_own: stamps.ticks(LONG_OWN_NS.max(settings.threshold_ns)),
            anchor_life: stamps.ticks(ANCHOR_NS),
            anchor: stamps.anchor(),
            began_ns: 0,
            lost_rows_before: rows.lost(),
            counter_reads: 0,
            own: 0,
            own_longest: 0,
            stamps,
            counters,
            settings,
            rows,
        };
        // Twice, so that the first stall does not meet cold code and fresh pages.
        for _ in 0..2 {
            watch.read_counters();
            watch.take_anchor();
        }
        watch
    }

    /// Returns whether the time was over, rather than the loop stopped.
    fn go(&mut self) -> bool {
        self.take_anchor();
        self.began = self.stamps.now();
        self.began_ns = self.ns_at(self.began);
        self.last = self.began;
        self.due = self.after_refresh(0);
        loop {
            let now = self.spin();
            let counted = self.tally.count(now.wrapping_sub(self.last), self.stamps);
            self.last = now;
            let elapsed = now.wrapping_sub(self.began);
            // Not while the clock is back before the beginning.
            let due = elapsed >= self.due && elapsed.cast_signed() >= 0;
            if due || counted != Counted::Short {
                let over = due && elapsed >= self.end;
                let stopped = due && self.settings.stop.load(Ordering::Relaxed);
                self.look_up(now, counted, due);
                if over || stopped {
                    return over;
                }
            }
        }
    }

    /// The fast path: until an interval is long, or it is time to look up. That
    /// interval ends at the stamp returned and is not counted yet.
    #[inline]
    fn spin(&mut self) -> u64 {
        let (began, due) = (self.began, self.due);
        let exact = self.tally.exact();
        let mut last = self.last;
        loop {
            let now = self.stamps.now();
            let interval = now.wrapping_sub(last);
            if now.wrapping_sub(began) >= due || interval >= exact.len() as u64 {
                self.last = last;
                return now;
            }
            exact[interval as usize] += 1;
            last = now;
        }
    }

    /// Own work after the stamp `now`; what it takes is in no interval.
    fn look_up(&mut self, now: u64, counted: Counted, due: bool) {
        let (known, mut elsewhere_ps) = (self.known, self.lost_since_ps);
        let (cpu, reads) = (self.cpu, self.counter_reads);
        if let Counted::Stall(length_ps) = counted {
            if now.wrapping_sub(self.anchor.0) > self.anchor_life {
                self.take_anchor();
            }
            elsewhere_ps += length_ps;
            self.report(now, length_ps);
        }
        if due {
            if now.wrapping_sub(self.read_from).cast_signed() >= self.read_pause.cast_signed() {
                self.read_counters();
            }
            self.due = self.after_refresh(now.wrapping_sub(self.began));
        }
        self.last = self.stamps.now();
        if self.last.wrapping_sub(now) >= self.long_own() {
            self.report_own(now, known, elsewhere_ps, cpu);
        }
        // What held us up since the last reading belongs to no later stall.
        let since = self.last.wrapping_sub(self.read_from);
        if self.counter_reads > reads && since >= self.long_own() {
            self.lost_since_ps += self.stamps.ps(since);
        }
        let own = self.last.wrapping_sub(now);
        self.own = self.own.wrapping_add(own);
        self.own_longest = self.own_longest.max(own);
    }

    /// Makes a row of the stall that ended at `now`.
    fn report(&mut self, now: u64, length_ps: u64) {
        let until_ns = self.ns_at(now);
        let cpu = self.stamps.cpu();
        let mut row = Row {
            stall: Stall {
                from_ns: until_ns.saturating_sub(length_ps / 1000),
                until_ns,
            },
            length_ps,
            own: false,
            cpu_before: self.cpu,
            cpu_after: cpu,
            before: self.known,
            after: None,
            elsewhere_ns: self.lost_since_ps / 1000,
        };
        self.cpu = cpu;
        self.lost_since_ps += length_ps;
        if length_ps / 1000 >= self.settings.counters_above_ns {
            row.after = self.read_counters();
            let between = self.read_from.wrapping_sub(now);
            if between >= self.long_own() {
                row.elsewhere_ns += self.stamps.ps(between) / 1000;
            }
        }
        self.rows.push(row);
    }

    /// Makes a row of own work that began at `now` and took so long that it must
    /// have been held up. It ends where the counters are read again.
    fn report_own(
        &mut self,
        now: u64,
        before: Option<Counters>,
        elsewhere_ps: u64,
        cpu_before: Option<u32>,
    ) {
        let mut until = self.last;
        let after = self.read_counters();
        if after.is_some() {
            until = self.read_from;
        }
        self.take_anchor();
        let cpu_after = self.stamps.cpu();
        self.cpu = cpu_after;
        self.last = self.stamps.now();
        self.rows.push(Row {
            stall: Stall {
                from_ns: self.ns_at(now),
                until_ns: self.ns_at(until),
            },
            length_ps: self.stamps.ps(until.wrapping_sub(now)),
            own: true,
            cpu_before,
            cpu_after,
            before,
            after,
            elsewhere_ns: elsewhere_ps / 1000,
        });
    }

    /// Reads them again if something came in between: they must all be of one
    /// moment.
    fn read_counters(&mut self) -> Option<Counters> {
        const TRIES: usize = 3;
        if self.settings.counters_above_ns == u64::MAX {
            return None;
        }
        for _ in 0..TRIES {
            self.read_from = self.stamps.now();
            self.known = Some((self.counters)());
            self.counter_reads += 1;
            let took = self.stamps.now().wrapping_sub(self.read_from);
            self.reading = self.reading.min(took);
            if took < self.long_own() {
                break;
            }
        }
        self.lost_since_ps = 0;
        let share = self.reading.saturating_mul(REFRESH_SHARE);
        self.read_pause = self.refresh.max(share).min(i64::MAX as u64);
        self.known
    }

    /// Own work that takes so many ticks was held up: a slow way to read counters
    /// is no stall.
    fn long_own(&self) -> u64 {
        let usual = self.reading.checked_mul(4).unwrap_or(0);
        self.long_own.max(usual)
    }

    fn after_refresh(&self, elapsed: u64) -> u64 {
        elapsed.saturating_add(self.refresh).min(self.end)
    }

    fn take_anchor(&mut self) {
        self.anchor = self.stamps.anchor();
    }

    /// The stamp `at` in nanoseconds of `CLOCK_MONOTONIC`, by the last anchor.
    fn ns_at(&self, at: u64) -> u64 {
        let (ticks, ns) = self.anchor;
        let ahead = at.wrapping_sub(ticks).cast_signed();
        let distance_ns = self.stamps.ps(ahead.unsigned_abs()) / 1000;
        if ahead < 0 {
            ns.saturating_sub(distance_ns)
        } else {
            ns + distance_ns
        }
    }

    fn finish(mut self) -> StallsOutcome {
        self.take_anchor();
        let ended_ns = self.ns_at(self.last);
        let observed = self.last.wrapping_sub(self.began).wrapping_sub(self.own);
        let period_ns = self.tally.period_ns(self.stamps);
        self.tally.settle(self.stamps);
        let tally = self.tally;
        StallsOutcome {
            iterations: tally.iterations(),
            stalls: tally.stalls,
            stalled_ns: u64::try_from(tally.stalled_ps / 1000).unwrap_or(u64::MAX),
            longest_ps: tally.longest_ps,
            observed_ns: self.stamps.ps(observed) / 1000,
            wall_ns: ended_ns.saturating_sub(self.began_ns),
            own_ns: self.stamps.ps(self.own) / 1000,
            own_longest_ns: self.stamps.ps(self.own_longest) / 1000,
            period_ns,
            lost_rows: self.rows.lost() - self.lost_rows_before,
            beyond_bins: tally.beyond_bins,
            backward_steps: tally.backward_steps,
            counter_reads: self.counter_reads,
            began_ns: self.began_ns,
            cpu: self.stamps.cpu(),
            below: tally.below,
            above: tally.above,
            measurement: Measurement {
                technique: "intervals between successive time stamps of a busy loop; each stamp \
                            ends one and begins the next"
                    .into(),
                clock: self.stamps.name().into(),
                tick_rate_hz: Some(self.stamps.hz()),
                floor_ns: Some(period_ns),
                blind_spots: "stalls shorter than two iterations; Tompion's own work after a \
                              stall (told apart; a row where it was held up); a time in which \
                              the clock itself stood still, as in a paused guest; a CPU that \
                              merely became slower"
                    .into(),
                ..Measurement::default()
            },
        }
    }
}
