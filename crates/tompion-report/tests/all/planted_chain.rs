//! A clock with a planted distribution goes through the whole chain (probe,
//! record, statistics, report) and comes out with exactly those quantiles.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tompion_model::{Design, Environment, Factors, RunHeader, Status, TrialDraft, factor};
use tompion_probe::Limits;
use tompion_probe::wake_up::{self, WARM_UP, Waiter};
use tompion_report::ReportData;
use tompion_store::{Run, RunWriter};

/// Waits end late by planted amounts; reading the clock costs nothing.
struct Planted {
    now: u64,
    latencies: Vec<u64>,
    next: usize,
}

impl Waiter for Planted {
    const GRID: bool = true;

    fn now_ns(&mut self) -> u64 {
        self.now
    }

    fn wait(&mut self, target_ns: u64, _ahead_ns: u64) {
        self.now = target_ns + self.latencies[self.next % self.latencies.len()];
        self.next += 1;
    }
}

const BLOCKS: u32 = 8;
const PER_BLOCK: u64 = 1_000;
const PERIOD_NS: u64 = 1_000_000;

/// 1 to 1000 us, 1 us apart, in every block in another order: the q-quantile by
/// definition 7 is 1 + 999 q us.
fn planted(block: u32) -> Planted {
    let shuffled =
        (0..PER_BLOCK).map(|i| 1_000 * ((i * 7 + u64::from(block) * 131) % PER_BLOCK + 1));
    // Warm-up comes first, and would be the maximum if it showed.
    let latencies = std::iter::repeat_n(900_000_000, WARM_UP as usize)
        .chain(shuffled)
        .collect();
    Planted {
        now: 77_000,
        latencies,
        next: 0,
    }
}

fn key() -> Factors {
    Factors::new()
        .with(factor::PROBE, "wake-up")
        .with(factor::METHOD, "clock-nanosleep-abs")
        .with(factor::TARGET, "1ms")
        .with(factor::SLACK, "1ns")
        .with(factor::LOAD, "idle")
}

fn write_run(directory: &std::path::Path) {
    let header = RunHeader {
        command_line: vec!["planted".into()],
        tool: "test".into(),
        started_at: "2026-01-01T00:00:00Z".into(),
        design: Design {
            order: "planted".into(),
            seed: 3,
            blocks: BLOCKS,
            cells: 1,
        },
        environment: Environment::default(),
        guards: Vec::new(),
        profiles: Vec::new(),
    };
    let mut writer = RunWriter::create(directory, header).unwrap();
    let running = Arc::new(AtomicBool::new(false));
    for block in 0..BLOCKS {
        let limits = Limits {
            samples: PER_BLOCK,
            time_ns: u64::MAX,
            rows: 1 << 20,
            least_samples: 0,
            patience_ns: 0,
            granularity: true,
            stop: Arc::clone(&running),
        };
        let outcome = wake_up::run(&mut planted(block), PERIOD_NS, &limits).unwrap();
        let draft = TrialDraft {
            factors: key(),
            block,
            started_ns: u64::from(block),
            duration_ns: 1,
            measurement: outcome.measurement,
            storage: outcome.storage,
            missed_periods: outcome.missed_periods,
            ..TrialDraft::default()
        };
        writer.save(draft, &outcome.data).unwrap();
    }
    writer.finish(Status::Complete).unwrap();
}

#[test]
fn planted_quantiles_come_out_of_the_whole_chain() {
    let directory = tempfile::tempdir().unwrap();
    write_run(directory.path());
    let run = Run::open(directory.path()).unwrap();
    let data = ReportData::gather(&run, tompion_assess::verdict::assess).unwrap();

    let json = tompion_report::json(&data);
    let cell = &json["cells"][0];
    let measured = &cell["measured"];
    assert_eq!(measured["samples"], u64::from(BLOCKS) * PER_BLOCK);
    // Pooled over 8 blocks each value stands 8 times: the order statistics
    // around a quantile are equal but at a step between two values.
    let pooled = |q: f64| {
        let n = f64::from(BLOCKS) * PER_BLOCK as f64;
        let position = q * (n - 1.0);
        let at = |rank: f64| 1_000.0 * ((rank / f64::from(BLOCKS)).floor() + 1.0);
        let (low, high) = (
            at(position.floor()),
            at((position.floor() + 1.0).min(n - 1.0)),
        );
        low + (position - position.floor()) * (high - low)
    };
    for (name, q) in [
        ("min_ns", 0.0),
        ("p25_ns", 0.25),
        ("median_ns", 0.5),
        ("p75_ns", 0.75),
        ("p90_ns", 0.9),
        ("p99_ns", 0.99),
        ("p99_9_ns", 0.999),
        ("max_ns", 1.0),
    ] {
        let got = measured[name].as_f64().unwrap();
        assert!(
            (got - pooled(q)).abs() < 1e-6,
            "{name}: {got}, planted {}",
            pooled(q)
        );
    }
    // The largest planted value is a whole period late, once a block; warm-up,
    // 900 periods late, does not count.
    assert_eq!(cell["missed_periods"], u64::from(BLOCKS));

    let text = tompion_report::terminal(&data, 100, false);
    assert!(text.contains("500 µs") || text.contains("501 µs"), "{text}");
    assert!(tompion_report::html(&data).contains("clock-nanosleep-abs"));
}
