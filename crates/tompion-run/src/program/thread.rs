//! One thread of a watched program.

use tompion_cause::{
    Access, Counters, Lost, Part, Span, Totals, describe, describe_ns, describe_stall,
};
use tompion_model::{ProgramStall, ProgramThread};
use tompion_observe::{ThreadCounters, events};

use super::settling::Settling;

/// Stalls that are told one by one, of a thread and of the whole program.
pub const LONGEST: usize = 100;

/// Parts of a stall that are named, the longest; of more it is told how many.
const PARTS: usize = 4;

/// What is known of it, and what it has lost so far.
pub struct Watched {
    tid: i32,
    name: String,
    /// Whether its switches are recorded.
    pub is_followed: bool,
    /// When it was no longer there.
    pub gone_ns: Option<u64>,
    counters: Option<ThreadCounters>,
    first: Option<Counters>,
    last: Option<Counters>,
    settling: Settling,
    pub totals: Totals,
    pub longest: Vec<ProgramStall>,
}

impl Watched {
    pub fn new(tid: i32, name: String, recorder: &events::Recorder) -> Self {
        Self {
            tid,
            name,
            is_followed: recorder.follows(tid),
            gone_ns: None,
            counters: ThreadCounters::open(tid).ok(),
            first: None,
            last: None,
            settling: Settling::default(),
            totals: Totals::new(),
            longest: Vec::new(),
        }
    }

    pub fn access(&self) -> Vec<(String, Result<(), String>)> {
        self.counters
            .as_ref()
            .map_or_else(Vec::new, ThreadCounters::access)
    }

    /// Reads its counters.
    pub fn poll(&mut self, is_over: bool) {
        let Some(counters) = &mut self.counters else {
            return;
        };
        let now = counters.read();
        // Nothing is left of a thread that has ended.
        if now.cpu_time_ns < self.last.map_or(0, |l| l.cpu_time_ns)
            || (is_over && now.cpu_time_ns == 0)
        {
            return;
        }
        self.first.get_or_insert(now);
        self.last = Some(now);
        self.settling.poll(now);
    }

    /// Whether its counters say that it never ran.
    pub fn is_idle(&self) -> bool {
        let both = self.first.zip(self.last);
        both.is_some_and(|(f, l)| f.at_ns < l.at_ns && f.cpu_time_ns == l.cpu_time_ns)
    }

    pub fn take(&mut self, spans: Vec<Span>, from_ns: u64, until_ns: u64) {
        self.settling.take(spans, from_ns, until_ns);
    }

    /// Tells the lost time that ended by `until_ns`.
    pub fn settle(&mut self, until_ns: u64, kept_since_ns: Option<u64>, access: &Access) {
        for lost in self.settling.settle(until_ns, kept_since_ns, access) {
            self.tell(&lost);
        }
    }

    fn tell(&mut self, lost: &Lost) {
        self.totals.add(&lost.parts);
        let ns = lost.stall.until_ns - lost.stall.from_ns;
        let shortest = self.longest.last().map_or(0, |s| s.ns);
        if self.longest.len() < LONGEST || ns > shortest {
            self.longest.push(ProgramStall {
                tid: self.tid,
                at_ns: lost.stall.from_ns,
                ns,
                because: in_words(&lost.parts),
            });
            self.longest.sort_by_key(|s| std::cmp::Reverse(s.ns));
            self.longest.truncate(LONGEST);
        }
    }

    /// How much the throttled time of its group grew.
    pub fn throttled_ns(&self) -> Option<u64> {
        let (first, last) = self.first.zip(self.last)?;
        let both = last.throttled_ns.zip(first.throttled_ns);
        both.map(|(l, f)| l.saturating_sub(f))
    }

    pub fn summary(&self) -> ProgramThread {
        let stalls = self.totals.stalls();
        let (first, last) = (
            self.first.unwrap_or_default(),
            self.last.unwrap_or_default(),
        );
        let delay = last.run_delay_ns.zip(first.run_delay_ns);
        let known = |n: u64| self.is_followed.then_some(n);
        ProgramThread {
            tid: self.tid,
            name: self.name.clone(),
            cpu_time_ns: last.cpu_time_ns.saturating_sub(first.cpu_time_ns),
            run_delay_ns: delay.map(|(l, f)| l.saturating_sub(f)),
            lost_ns: known(stalls.ns),
            stalls: known(stalls.count),
            longest_ns: known(stalls.longest_ns),
        }
    }
}

/// A stall in words, its longest parts first.
fn in_words(parts: &[Part]) -> String {
    if parts.len() <= PARTS + 1 {
        return describe_stall(parts);
    }
    let total: u64 = parts.iter().map(|p| p.ns).sum();
    let (named, others) = parts.split_at(PARTS);
    let named: Vec<String> = named.iter().map(describe).collect();
    let rest: u64 = others.iter().map(|p| p.ns).sum();
    format!(
        "{}: {}, and {} more for {}",
        describe_ns(total),
        named.join(", "),
        others.len(),
        describe_ns(rest)
    )
}

#[cfg(test)]
mod tests {
    use tompion_cause::{Cause, Source};

    use super::*;

    #[test]
    fn of_many_parts_the_longest_are_named() {
        let part = |i: u64| Part {
            cause: Cause::Preempted,
            ns: 1_000_000 * (9 - i),
            by: Some(format!("t[{i}]")),
            source: Some(Source::Event),
            because: "",
        };
        let parts: Vec<Part> = (1..=7).map(part).collect();
        assert_eq!(
            in_words(&parts),
            "35.0 ms: preempted by t[1] for 8.00 ms, preempted by t[2] for 7.00 ms, preempted \
             by t[3] for 6.00 ms, preempted by t[4] for 5.00 ms, and 3 more for 9.00 ms"
        );
        assert_eq!(in_words(&parts[..5]), describe_stall(&parts[..5]));
    }
}
