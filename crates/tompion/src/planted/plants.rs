//! What a test plants in the machine, by environment variables.

use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use tompion_cause::{Cause, Source};
use tompion_model::{
    CpuUse, Environment, EvidenceItem, Mark, Observation, ObservedReason, ProgramUse, Sample,
};

/// A file of JSON whose keys take the place of those of the real machine's description.
const ENVIRONMENT: &str = "PLANTED_ENVIRONMENT";
/// The name of another program that keeps one of two CPUs busy.
const OTHER: &str = "PLANTED_OTHER";
/// Set where something watches which samples others hold up, as on most machines.
const WATCHED: &str = "PLANTED_WATCHED";
/// So long the host stops all of the machine, in milliseconds, once in `PAUSED_EACH`.
const PAUSE: &str = "PLANTED_PAUSE_MS";
/// How late a sleep usually ends, in nanoseconds.
const SLEEP: &str = "PLANTED_SLEEP_NS";
/// How much later one ends with the default slack, in nanoseconds.
const SLACK: &str = "PLANTED_SLACK_NS";

/// Stalls of all CPUs beside a load: `LOAD:PER_SECOND:LONGEST_MS`, several with a comma, at random moments and of any
/// length up to the longest.
const STALLS: &str = "PLANTED_STALLS";
/// What `STALLS` and the values are drawn from.
const SEED: &str = "PLANTED_SEED";
/// Stalls are drawn for so long.
const DRAWN: Duration = Duration::from_secs(200);

const PAUSED_EACH: Duration = Duration::from_millis(1500);

/// A sleep waits for a neighbour once in so many times, for so many nanoseconds.
const WAITS: u64 = 20;
const WAITS_NS: u64 = 4_000_000;
/// The mark of such a sleep.
const HELD_UP: Mark = Mark::Disturbed(Cause::Preempted, Source::Event);

/// What is planted.
pub struct Plants {
    pause_ns: u64,
    sleep_ns: u64,
    slack_ns: u64,
    other: Option<String>,
    is_watched: bool,
    stalls: Vec<StallsBeside>,
}

/// Stalls beside a load: when in nanoseconds of the machine's time, and how long.
struct StallsBeside {
    load: String,
    stalls: Vec<(u64, u64)>,
}

/// What is drawn is drawn from this.
pub fn seed() -> u64 {
    number(SEED, 0.0) as u64
}

/// Those that are asked for.
fn stalls_beside() -> Vec<StallsBeside> {
    let text = std::env::var(STALLS).unwrap_or_default();
    let one = |(i, text): (usize, &str)| {
        let mut random = ChaCha8Rng::seed_from_u64(seed());
        random.set_stream(1 + i as u64);
        let mut parts = text.split(':');
        let load = parts.next().expect("a load").to_owned();
        let mut number = || -> f64 {
            let text = parts.next().expect("LOAD:PER_SECOND:LONGEST_MS");
            text.parse().expect("a number")
        };
        let (each_ns, longest_ns) = (1e9 / number(), number() * 1e6);
        let (mut at, mut stalls) = (0.0, Vec::new());
        while at < DRAWN.as_nanos() as f64 {
            // Between events at random moments.
            at -= each_ns * (1.0 - random.random::<f64>()).ln();
            stalls.push((at as u64, (longest_ns * random.random::<f64>()) as u64));
        }
        StallsBeside { load, stalls }
    };
    let texts = text.split(',').filter(|text| !text.is_empty());
    texts.enumerate().map(one).collect()
}

impl Plants {
    /// By the environment variables.
    pub fn named() -> Self {
        Self {
            pause_ns: (number(PAUSE, 0.0) * 1e6) as u64,
            sleep_ns: number(SLEEP, 55_000.0) as u64,
            slack_ns: number(SLACK, 0.0) as u64,
            other: std::env::var(OTHER).ok(),
            is_watched: std::env::var_os(WATCHED).is_some(),
            stalls: stalls_beside(),
        }
    }

    /// How late a sleep usually ends.
    pub fn sleep_ns(&self, default_slack: bool) -> u64 {
        let slack_ns = if default_slack { self.slack_ns } else { 0 };
        self.sleep_ns + slack_ns
    }

    /// What the host adds to a moment of the machine's time, in nanoseconds.
    pub fn paused_ns(&self, at: Duration) -> u64 {
        let within = (at.as_nanos() % PAUSED_EACH.as_nanos()) as u64;
        self.pause_ns.saturating_sub(within)
    }

    /// How long a stall beside a load goes on at a moment of the machine's time, in nanoseconds.
    pub fn stalled_ns(&self, load: &str, at: Duration) -> u64 {
        let at_ns = at.as_nanos() as u64;
        let left = |beside: &StallsBeside| {
            let begun = beside.stalls.partition_point(|stall| stall.0 <= at_ns);
            // A long one may outlast those after it.
            let last = beside.stalls[..begun].iter().rev().take(16);
            last.map(|(from, ns)| (from + ns).saturating_sub(at_ns))
                .max()
        };
        let here = self.stalls.iter().filter(|beside| beside.load == load);
        here.filter_map(left).max().unwrap_or(0)
    }

    /// What a neighbour adds to the `i`th sleep, with the mark that it then has.
    pub fn waited(&self, i: u64) -> Option<(u64, Mark)> {
        let waits = self.other.is_some() && i.is_multiple_of(WAITS);
        waits.then_some((WAITS_NS, HELD_UP))
    }

    /// What was watched beside these samples.
    pub fn observation(&self, samples: &[Sample]) -> Option<Observation> {
        self.is_watched.then(|| Observation {
            evidence: vec![EvidenceItem {
                name: "planted turns of the thread".to_owned(),
                missing: None,
            }],
            steal_is_accounted: true,
            marked: ObservedReason::of(samples.iter().map(|s| s.mark)),
            ..Observation::default()
        })
    }

    /// Stalls of a loop besides the kernel's own: when, how long, why and by whom.
    pub fn stalls(&self, begins: Duration, time_ns: u64) -> Vec<(u64, u64, Cause, Option<String>)> {
        let mut found = Vec::new();
        let every = PAUSED_EACH.as_nanos() as u64;
        let first = every - (begins.as_nanos() % PAUSED_EACH.as_nanos()) as u64;
        if self.pause_ns > 0 {
            let times = (first..time_ns).step_by(every as usize);
            let pause = |at| (at, self.pause_ns, Cause::Unseen, None);
            found.extend(times.map(pause));
        }
        if let Some(name) = &self.other {
            // Of a slice's length, half of the time.
            let times = (2 * WAITS_NS..time_ns).step_by(2 * WAITS_NS as usize);
            let slice = |at| (at, WAITS_NS, Cause::Preempted, Some(name.clone()));
            found.extend(times.map(slice));
        }
        found.sort_by_key(|(at, ..)| *at);
        found
    }

    /// What others took of two CPUs in so much time.
    pub fn other_programs(&self, time: Duration) -> CpuUse {
        let watched_ns = time.as_nanos() as u64;
        let program = |name: &String| ProgramUse {
            name: name.clone(),
            cpu_time_ns: watched_ns,
        };
        let most: Vec<ProgramUse> = self.other.iter().map(program).collect();
        CpuUse {
            watched_ns,
            cpus: 2,
            programs_ns: most.iter().map(|p| p.cpu_time_ns).sum(),
            kernel_threads_ns: Some(0),
            stolen_ns: None,
            most,
        }
    }
}

/// The real machine's description with what is planted in it.
pub fn environment() -> Environment {
    let real = tompion_host::detect();
    let Ok(file) = std::env::var(ENVIRONMENT) else {
        return real;
    };
    let planted = std::fs::read_to_string(file).expect("the planted environment");
    let planted = serde_json::from_str(&planted).expect("JSON");
    let mut all = serde_json::to_value(real).expect("a description");
    overlay(&mut all, planted);
    serde_json::from_value(all).expect("a description with what is planted")
}

fn overlay(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                overlay(below.entry(key).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above,
    }
}

/// A number that a test plants.
pub fn number(name: &str, usual: f64) -> f64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}
