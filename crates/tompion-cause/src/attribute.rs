//! A stall and its evidence to parts by cause; the crate's table of rules.

use crate::growth::{Growth, Share};
use crate::part::{Evidence, Part, Parts, Verdict};
use crate::timeline::{EDGE_NS, Kind, Place, Timeline};
use crate::{Cause, OffCpu, Source, Stall};

/// What a page fault without disk costs at most, in nanoseconds: assumed, since
/// only their number is known.
const FAULT_NS: u64 = 20_000;
/// The same where it brought in (hence cleared) a huge page.
const HUGE_FAULT_NS: u64 = 500_000;
/// What coming to another CPU costs at most: assumed likewise.
const MIGRATION_NS: u64 = 50_000;

/// Shares a stall out among its causes. The parts' lengths sum to the stall's.
pub fn attribute(stall: &Stall, evidence: &Evidence<'_>) -> Vec<Part> {
    let growth = Growth::between(
        stall,
        evidence.before,
        evidence.after,
        evidence.elsewhere_ns,
    );
    let throttled = Throttled {
        known: growth.is_some_and(|g| g.throttled_ns.is_some()),
        ns: growth.and_then(|g| g.throttled_ns).unwrap_or(0),
        source: Source::Counter,
    };
    explain(stall, evidence, growth, throttled).0
}

/// How long the group stood still for want of quota around a stall.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throttled {
    pub known: bool,
    pub ns: u64,
    pub source: Source,
}

impl Throttled {
    fn verdict(&self) -> Verdict {
        Verdict {
            cause: Cause::Throttled,
            by: None,
            source: Some(self.source),
            because: "the group's throttled time grew while the thread could run",
        }
    }
}

/// Also tells how much of the throttled time was used up.
pub(crate) fn explain(
    stall: &Stall,
    evidence: &Evidence<'_>,
    growth: Option<Growth>,
    throttled: Throttled,
) -> (Vec<Part>, u64) {
    let line = Timeline::of(stall, evidence.spans, evidence.access);
    let mut stall = Open {
        parts: Parts::default(),
        rest_ns: stall.until_ns.saturating_sub(stall.from_ns),
        evidence,
        growth,
        throttled,
        faults: line.fault_moments,
        migrated: line.migrated,
        perhaps_ns: 0,
    };
    let (delay_ns, left_ns) = stall.events(line);
    if let Some(growth) = growth {
        stall.counters(&growth, delay_ns, left_ns);
    }
    stall.on_cpu();
    stall.uncovered();
    (stall.parts.finish(), throttled.ns - stall.throttled.ns)
}

/// A stall of which `rest_ns` have no cause yet.
struct Open<'a> {
    parts: Parts,
    rest_ns: u64,
    evidence: &'a Evidence<'a>,
    growth: Option<Growth>,
    throttled: Throttled,
    faults: u64,
    migrated: bool,
    /// Of the rest: what the counters' growth may explain or other stalls.
    perhaps_ns: u64,
}

impl Open<'_> {
    fn say(&mut self, verdict: Verdict, ns: u64) {
        debug_assert!(ns <= self.rest_ns);
        self.parts.add(verdict, ns);
        self.rest_ns -= ns;
    }

    /// Says that what may be charged is throttled, as far as the group's
    /// throttled time reaches; returns what is left.
    fn throttle(&mut self, ns: u64) -> u64 {
        let throttled = ns.min(self.throttled.ns);
        self.throttled.ns -= throttled;
        self.say(self.throttled.verdict(), throttled);
        ns - throttled
    }

    /// Returns how long the thread could run and did not, and how long it could
    /// not, by its events.
    fn events(&mut self, line: Timeline) -> (u64, u64) {
        let mut ready = Vec::new();
        let (mut delay_ns, mut left_ns) = (0, 0);
        for (kind, ns) in line.stretches {
            match kind {
                Kind::Told(verdict, place) => {
                    match place {
                        Place::OnCpu => {}
                        Place::CouldRun => delay_ns += ns,
                        Place::Away => left_ns += ns,
                    }
                    self.say(verdict, ns);
                }
                Kind::Left(state) => {
                    left_ns += ns;
                    self.say(self.left(state), ns);
                }
                Kind::Ready(_) | Kind::Idle { .. } => {
                    delay_ns += ns;
                    ready.push((kind, ns));
                }
                Kind::Uncovered => {}
            }
        }
        // An idle CPU speaks for throttling, a known neighbour against it.
        ready.sort_by_key(|(kind, _)| match kind {
            Kind::Idle { preempted: true } => 0,
            Kind::Idle { preempted: false } => 1,
            Kind::Ready(None) => 2,
            _ => 3,
        });
        for (kind, ns) in ready {
            let ns = self.throttle(ns);
            self.say(self.ready(kind), ns);
        }
        (delay_ns, left_ns)
    }

    /// It left its CPU other than by preemption.
    fn left(&self, state: OffCpu) -> Verdict {
        if self.growth.is_some_and(|g| g.major_faults > 0) {
            let because = "it was off its CPU while a page came from a disk";
            return Verdict::event(Cause::PageFault, None, because);
        }
        match state {
            OffCpu::Waiting => Verdict::event(Cause::Waited, None, "it waited"),
            _ => Verdict::event(
                Cause::Stopped,
                None,
                "it left its CPU, not preempted, and a busy loop makes no call that waits",
            ),
        }
    }

    /// It could run, did not, and no throttled time is left for it.
    fn ready(&self, kind: Kind) -> Verdict {
        match kind {
            Kind::Ready(by) => Verdict::event(Cause::Preempted, by, "it could run and did not"),
            Kind::Idle { preempted: true } if !self.throttled.known => Verdict::event(
                Cause::Throttled,
                None,
                "the CPU stood idle although the thread could run",
            ),
            _ => Verdict::unknown(
                "the CPU stood idle although the thread could run; no quota says why",
            ),
        }
    }

    /// Time off the CPU by the counters. `delay_ns` and `left_ns` were told by
    /// events already.
    fn counters(&mut self, growth: &Growth, delay_ns: u64, left_ns: u64) {
        let access = self.evidence.access;
        let told_ns = delay_ns + left_ns;
        let mut off_ns = growth.off_cpu_ns.saturating_sub(told_ns);
        let switches_told = access.has_switches || access.has_cpu_events;
        let delay = growth.run_delay_ns.map(|d| d.saturating_sub(delay_ns));
        if let Some(delay) = delay {
            off_ns = off_ns.saturating_sub(delay);
            if !switches_told {
                let share = growth.share(delay, self.rest_ns);
                self.delayed(share, "its run delay grew");
            }
        }
        let share = growth.share(off_ns, self.rest_ns - self.perhaps_ns);
        if share == Share::default() {
            return;
        }
        if switches_told {
            // Nothing uncovered by events was a switch.
            return self.without_switch(share);
        }
        match (growth.voluntary, growth.involuntary) {
            (Some(1..), _) => {
                let verdict = if growth.major_faults > 0 {
                    Verdict::counter(
                        Cause::PageFault,
                        "it was off its CPU of its own will while a page came from a disk",
                    )
                } else {
                    Verdict::counter(
                        Cause::Stopped,
                        "it was off its CPU of its own will, and a busy loop makes no call that waits",
                    )
                };
                self.charge(verdict, share);
            }
            (Some(0), Some(1..)) if delay.is_none() => {
                self.delayed(
                    share,
                    "it was switched out against its will; run delay is not told",
                );
            }
            (Some(0), Some(0)) => self.without_switch(share),
            (Some(0), _) if delay.is_some() => self.without_switch(share),
            _ => {
                let because = "it was off its CPU, and no counter of switches tells why";
                self.say(Verdict::unknown(because), share.sure_ns + share.perhaps_ns);
            }
        }
    }

    /// Preempted or throttled.
    fn delayed(&mut self, share: Share, because: &'static str) {
        let sure_ns = self.throttle(share.sure_ns);
        self.charge(
            Verdict::counter(Cause::Preempted, because),
            Share { sure_ns, ..share },
        );
    }

    /// Off the CPU by the guest's accounting, without a switch.
    fn without_switch(&mut self, share: Share) {
        let verdict = if self.evidence.access.steal_is_accounted {
            Verdict::counter(
                Cause::Stolen,
                "it used no CPU time, without a switch, where stolen time is accounted",
            )
        } else {
            Verdict::unknown("it used no CPU time, without a switch; stolen time is not accounted")
        };
        self.charge(verdict, share);
    }

    fn charge(&mut self, verdict: Verdict, share: Share) {
        self.say(verdict, share.sure_ns);
        self.perhaps_ns += share.perhaps_ns;
    }

    /// The rest was on the CPU as far as the guest knows.
    fn on_cpu(&mut self) {
        // The way into the kernel and out again, where only counters told.
        let rest_ns = self.rest_ns;
        if self.growth.is_some()
            && rest_ns <= 2 * EDGE_NS
            && let Some(part) = self.parts.longest(4 * rest_ns.max(1))
        {
            part.ns += rest_ns;
            self.rest_ns = 0;
            return;
        }
        let (faults, source) = match self.growth {
            Some(g) if g.minor_faults + g.major_faults > self.faults => {
                (g.minor_faults + g.major_faults, Source::Counter)
            }
            _ => (self.faults, Source::Event),
        };
        let assumption = if rest_ns <= faults.saturating_mul(FAULT_NS) {
            "page faults suffice, taken as up to 20 us each"
        } else if rest_ns <= faults.saturating_mul(HUGE_FAULT_NS) {
            "page faults suffice only as huge pages, taken as up to 500 us each"
        } else {
            ""
        };
        if faults > 0 && !assumption.is_empty() {
            let verdict = Verdict {
                cause: Cause::PageFault,
                by: None,
                source: Some(source),
                because: assumption,
            };
            self.say(verdict, rest_ns);
        } else if self.growth.is_some_and(|g| g.smi > 0) {
            let because = "the CPU counted a system management interrupt";
            self.say(Verdict::counter(Cause::Smi, because), rest_ns);
        }
    }

    /// No cause was found within the guest.
    fn uncovered(&mut self) {
        let because = "counters grew, but other stalls between their readings may be the reason";
        self.say(Verdict::unknown(because), self.perhaps_ns.min(self.rest_ns));
        let access = self.evidence.access;
        let verdict = if self.migrated && self.rest_ns <= MIGRATION_NS {
            let because = "it came from another CPU, which is taken to cost up to 50 us";
            Verdict::event(Cause::Migration, None, because)
        } else if !access.has_cpu_events {
            Verdict::unknown(match self.growth {
                Some(_) => {
                    "on its CPU as far as counters tell, and no events of the CPU were recorded"
                }
                None => "neither counters nor events of the CPU were recorded",
            })
        } else if self.growth.is_none() && access.steal_is_accounted {
            Verdict::unknown("no event in the guest, and no counters that tell stolen time")
        } else {
            let because = "on its CPU as far as the guest knows, and no event in the guest";
            Verdict::event(Cause::Unseen, None, because)
        };
        self.say(verdict, self.rest_ns);
    }
}
