//! How often a verdict is wrong, and how often there is one.

use tompion_assess::verdict::{Limit, Outcome, Profile, verdicts};
use tompion_model::{AT_REST, Blocks, Cell, Factors, Measurement, factor};

use crate::truth::{Shape, Truth};

/// Outcomes at one limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcomes {
    /// Draws.
    pub draws: u64,
    /// Verdicts that were "pass", as it is or with a remedy.
    pub passed: u64,
    /// Verdicts that were "fail".
    pub failed: u64,
}

impl Outcomes {
    /// One more verdict.
    pub fn add(&mut self, outcome: Outcome) {
        self.draws += 1;
        self.passed += u64::from(matches!(outcome, Outcome::Pass | Outcome::WithRemedy));
        self.failed += u64::from(outcome == Outcome::Fail);
    }
}

/// The verdict of a profile on methods whose `q`-quantile is truly `true_ps`, and `times` the limit, by
/// the same code as a report.
pub fn verdict(true_ps: f64, methods: &[Blocks], q: f64, times: f64) -> Outcome {
    // The sleep as it is, and its remedies.
    const NAMES: [(&str, &str, &str); 5] = [
        ("clock-nanosleep-abs", "default", "other"),
        ("clock-nanosleep-abs", "1ns", "other"),
        ("tompion-hybrid", "default", "other"),
        ("clock-nanosleep-abs", "default", "fifo:50"),
        ("busy-wait", "default", "other"),
    ];
    let cell = |(blocks, (method, slack, policy)): (&Blocks, (&str, &str, &str))| Cell {
        factors: Factors::new()
            .with(factor::PROBE, "wake-up")
            .with(factor::METHOD, method)
            .with(factor::SLACK, slack)
            .with(factor::POLICY, policy)
            .with(factor::TARGET, "100us")
            .with(factor::LOAD, AT_REST),
        measurements: vec![Measurement::default(); blocks.len()],
        blocks: blocks.clone(),
        filled_blocks: blocks.clone(),
        missed_periods: Some(0),
        watched: true,
        ..Cell::default()
    };
    let cells: Vec<Cell> = methods.iter().zip(NAMES).map(cell).collect();
    let profile = Profile {
        name: "planted".to_owned(),
        title: "planted".to_owned(),
        group: None,
        rate: None,
        probe: "wake-up".to_owned(),
        quantile: q,
        period_ns: 100_000.0,
        limit: Limit::Share {
            of_ns: true_ps / 1e3 / times,
            share: 1.0,
        },
        source: String::new(),
        why: String::new(),
    };
    verdicts(&cells, &[profile])[0].outcome
}

/// Whether a verdict is to be reached in 95 % of draws at half and twice the limit.
pub fn is_to_decide(truth: Truth, shape: Shape, q: f64) -> bool {
    let plain = matches!(
        truth,
        Truth::Independent | Truth::Autoregression(0.9) | Truth::Stalls(10)
    );
    plain
        && q == 0.99
        && shape
            == Shape {
                blocks: 8,
                samples: 4000,
            }
}
