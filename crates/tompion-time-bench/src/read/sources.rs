//! Every way to read a clock that is compared, each with a loop of its own.

use std::hint::black_box;
use std::time::Duration;

use serde::Serialize;
use tompion_time::os::{self, ClockId};
use tompion_time::{Instant, Ticks};

use crate::sys;

/// What a section is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// The counter's own unit.
    Raw,
    /// Nanoseconds.
    Converted,
    /// After all earlier instructions.
    Ordered,
}

impl Topic {
    /// In the order printed.
    pub const ALL: [Self; 3] = [Self::Raw, Self::Converted, Self::Ordered];

    /// The section's heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Raw => "Read cost: raw ticks",
            Self::Converted => "Read cost: converted to nanoseconds",
            Self::Ordered => "Read cost: ordered after earlier instructions",
        }
    }
}

/// A source's part in the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The one that is judged.
    Ours,
    /// Ours, measured a second time: the A/A row.
    OursAgain,
    /// The bare instruction.
    Bare,
    /// Another library or the system's own clock.
    Peer,
    /// Ours, shown without being judged.
    Shown,
}

/// Reads so many times and returns how long that took, in nanoseconds. The loop is
/// compiled for one source alone.
pub type Loop = Box<dyn FnMut(u32) -> u64>;

/// One way to read a clock.
pub struct Source {
    /// Section it stands in.
    pub topic: Topic,
    /// What is called.
    pub name: &'static str,
    /// What the caller gets.
    pub gives: &'static str,
    /// Its part.
    pub role: Role,
    /// Reads in a row. The CPU works on several at once, so that whatever is done
    /// with the counter's value may cost nothing here.
    pub in_a_row: Loop,
    /// Reads of which each has its result before the next begins.
    pub completed: Loop,
}

impl Source {
    fn new<T: 'static>(
        topic: Topic,
        role: Role,
        name: &'static str,
        gives: &'static str,
        read: impl Fn() -> T + Clone + 'static,
    ) -> Self {
        let again = read.clone();
        Self {
            topic,
            name,
            gives,
            role,
            in_a_row: Box::new(move |reads| time(reads, &read, || {})),
            completed: Box::new(move |reads| time(reads, &again, sys::complete)),
        }
    }
}

/// Times `reads` reads by the kernel's clock, which favours none of them.
#[inline(always)]
fn time<T>(reads: u32, read: impl Fn() -> T, then: impl Fn()) -> u64 {
    let start_ns = os::now_ns(ClockId::Monotonic);
    for _ in 0..reads {
        black_box(read());
        then();
    }
    os::now_ns(ClockId::Monotonic) - start_ns
}

fn nanoseconds(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}

/// All sources of all sections.
pub fn all() -> Vec<Source> {
    let mut all = raw();
    all.extend(converted());
    all.extend(ordered());
    all
}

fn raw() -> Vec<Source> {
    use Role::{Bare, Ours, OursAgain, Peer};
    let of = Topic::Raw;
    let (ticks, since_start) = ("ticks", "ticks since start");
    let ours = || Ticks::now().raw();
    let quanta = quanta::Clock::new();
    vec![
        Source::new(of, Bare, sys::BARE, ticks, sys::bare),
        Source::new(of, Ours, "tompion Ticks::now", ticks, ours),
        Source::new(of, OursAgain, "tompion Ticks::now again (A/A)", ticks, ours),
        Source::new(of, Peer, "quanta Clock::raw", ticks, move || quanta.raw()),
        Source::new(
            of,
            Peer,
            "minstant Instant::now",
            since_start,
            minstant::Instant::now,
        ),
        Source::new(
            of,
            Peer,
            "fastant Instant::now",
            since_start,
            fastant::Instant::now,
        ),
    ]
}

fn converted() -> Vec<Source> {
    use Role::{Ours, OursAgain, Peer};
    let of = Topic::Converted;
    let followed = "ns of CLOCK_MONOTONIC, followed";
    let hidden = "ns in a private field, calibrated once";
    let epoch = "ns of the epoch, calibrated once";
    let ours = || Instant::now().as_nanos();
    let quanta = quanta::Clock::new();
    let quanta_start = quanta.now();
    let quanta_since = move || nanoseconds(quanta::Instant::now().duration_since(quanta_start));
    let minstant_anchor = minstant::Anchor::new();
    let minstant = move || minstant::Instant::now().as_unix_nanos(&minstant_anchor);
    let fastant_anchor = fastant::Anchor::new();
    let fastant = move || fastant::Instant::now().as_unix_nanos(&fastant_anchor);
    let std_start = std::time::Instant::now();
    let std_since = move || nanoseconds(std::time::Instant::now().duration_since(std_start));
    let kernel = || os::now_ns(ClockId::Monotonic);
    vec![
        Source::new(of, Ours, "tompion Instant::now, as_nanos", followed, ours),
        Source::new(
            of,
            OursAgain,
            "tompion Instant::now again (A/A)",
            followed,
            ours,
        ),
        Source::new(of, Peer, "quanta Clock::now", hidden, move || quanta.now()),
        Source::new(
            of,
            Peer,
            "quanta Instant::now",
            hidden,
            quanta::Instant::now,
        ),
        Source::new(
            of,
            Peer,
            "quanta Instant::now, duration_since",
            "ns since an instant, calibrated once",
            quanta_since,
        ),
        Source::new(
            of,
            Peer,
            "minstant Instant::now, as_unix_nanos",
            epoch,
            minstant,
        ),
        Source::new(
            of,
            Peer,
            "fastant Instant::now, as_unix_nanos",
            epoch,
            fastant,
        ),
        Source::new(
            of,
            Peer,
            "std Instant::now, duration_since",
            "ns since an instant, ordered",
            std_since,
        ),
        Source::new(
            of,
            Peer,
            "libc clock_gettime(MONOTONIC)",
            "ns of CLOCK_MONOTONIC, ordered",
            kernel,
        ),
    ]
}

fn ordered() -> Vec<Source> {
    use Role::{Bare, Ours, OursAgain, Shown};
    let of = Topic::Ordered;
    let followed = "ns of CLOCK_MONOTONIC, followed";
    let ticks = || Ticks::now_ordered().raw();
    let ours = || Instant::now_ordered().as_nanos();
    vec![
        Source::new(of, Bare, sys::BARE_ORDERED, "ticks", sys::bare_ordered),
        Source::new(of, Shown, "tompion Ticks::now_ordered", "ticks", ticks),
        Source::new(of, Ours, "tompion Instant::now_ordered", followed, ours),
        Source::new(
            of,
            OursAgain,
            "tompion Instant::now_ordered again (A/A)",
            followed,
            ours,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_has_one_that_is_judged_and_its_double() {
        let all = all();
        for topic in Topic::ALL {
            for role in [Role::Ours, Role::OursAgain] {
                let n = all
                    .iter()
                    .filter(|s| s.topic == topic && s.role == role)
                    .count();
                assert_eq!(n, 1, "{topic:?} {role:?}");
            }
        }
    }

    #[test]
    fn planted_work_on_the_value_shows_in_both_loops() {
        /// Each step waits for the one before.
        fn laborious() -> u64 {
            (0..400).fold(sys::bare(), |x, _| black_box(x.wrapping_mul(5)))
        }
        let plain = Source::new(Topic::Raw, Role::Bare, "plain", "", sys::bare);
        let planted = Source::new(Topic::Raw, Role::Bare, "planted", "", laborious);
        let least = |mut run: Loop| (0..50).map(|_| run(100)).min().unwrap();
        // 400 steps are worth dozens of reads; asked is for twice.
        assert!(least(planted.in_a_row) > 2 * least(plain.in_a_row));
        assert!(least(planted.completed) > 2 * least(plain.completed));
    }
}
