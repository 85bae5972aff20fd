//! The limits on sleeps, and HighPerTimer's claim. Pure.

use serde::Serialize;

use super::cell::{Cell, JUDGED, TARGETS};
use super::figures::Figures;
use super::hogs::Load;
use super::methods::Method;
use crate::paired::{Comparison, Estimate, Verdict, difference, mean, ratio};

/// Our median miss above that of a busy wait.
const MEDIAN_ABOVE_BUSY_WAIT_US: f64 = 0.1;
/// Our 95th percentile to that of the better spin_sleep.
const P95_RATIO: f64 = 1.25;
/// Our CPU time to that of the cheapest precise peer.
const CPU_RATIO: f64 = 1.0 / 3.0;
/// A peer with a smaller median miss than this is precise.
const PRECISE_US: f64 = 1.0;
/// Kirova 2019, section 2.1.1: the hybrid method "takes only 1.5% of CPU
/// resources".
const CLAIMED_CPU_SHARE: f64 = 0.015;

/// One of a trial's figures.
pub type Figure = fn(&Figures) -> f64;

/// The cells of one condition.
#[derive(Clone, Copy)]
pub struct Condition<'a> {
    cells: &'a [Cell],
    load: Load,
    target_ns: u64,
}

impl<'a> Condition<'a> {
    /// One load and target among all cells.
    pub fn new(cells: &'a [Cell], load: Load, target_ns: u64) -> Self {
        Self {
            cells,
            load,
            target_ns,
        }
    }

    /// The cell of a method.
    pub fn cell(self, method: Method) -> Option<&'a Cell> {
        self.cells.iter().find(|cell| {
            cell.load == self.load && cell.target_ns == self.target_ns && cell.method == method
        })
    }

    /// One figure of ours and of another method, paired by block.
    pub fn pairs(self, other: Method, figure: Figure) -> Vec<(f64, f64)> {
        match (self.cell(Method::Hybrid), self.cell(other)) {
            (Some(ours), Some(theirs)) => {
                let blocks = ours.blocks.iter().zip(&theirs.blocks);
                blocks.map(|(a, b)| (figure(a), figure(b))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The one among `methods` with the least of a figure over all blocks.
    fn least(
        self,
        methods: &[Method],
        keep: impl Fn(&Figures) -> bool,
        figure: Figure,
    ) -> Option<Method> {
        methods
            .iter()
            .filter_map(|method| self.cell(*method))
            .filter(|cell| keep(&cell.all))
            .min_by(|a, b| figure(&a.all).total_cmp(&figure(&b.all)))
            .map(|cell| cell.method)
    }
}

/// The limits at 1 ms under as many hogs as CPUs; each with its A/A row.
pub fn limits(cells: &[Cell]) -> Vec<Comparison> {
    let here = Condition::new(cells, Load::Hogs, JUDGED.as_nanos() as u64);
    let median: Figure = |f| f.median_us;
    let p95: Figure = |f| f.p95_us;
    let cpu: Figure = |f| f.cpu_share;
    let over: Figure = |f| 100.0 * f.over_100_us_share;

    let mut rows = vec![Comparison::limited(
        "median miss, us: ours - busy wait".to_owned(),
        "us",
        difference(&here.pairs(Method::BusyWait, median)),
        MEDIAN_ABOVE_BUSY_WAIT_US,
    )];
    rows.push(again("ours - ours", "us", difference, here, median));

    if let Some(best) = here.least(&Method::SPIN_SLEEP, |_| true, p95) {
        let name = best.name();
        rows.push(Comparison::limited(
            format!("p95 miss: ours / {name}, spin_sleep's better"),
            "ratio",
            ratio(&here.pairs(best, p95)),
            P95_RATIO,
        ));
        rows.push(again("ours / ours", "ratio", ratio, here, p95));
        let noisy: [(&str, Figure); 2] = [("p99", |f| f.p99_us), ("p99.9", |f| f.p99_9_us)];
        for (what, figure) in noisy {
            rows.push(Comparison::shown(
                format!("{what} miss: ours / {name}"),
                "ratio",
                ratio(&here.pairs(best, figure)),
            ));
            rows.push(again("ours / ours", "ratio", ratio, here, figure));
        }
        rows.push(Comparison::shown(
            format!("misses over 100 us, % points: ours - {name}"),
            "percentage_points",
            difference(&here.pairs(best, over)),
        ));
        rows.push(again(
            "ours - ours",
            "percentage_points",
            difference,
            here,
            over,
        ));
    }

    let precise = |all: &Figures| all.median_us < PRECISE_US;
    rows.push(match here.least(&Method::PRECISE_PEERS, precise, cpu) {
        Some(peer) => Comparison::limited(
            format!(
                "CPU: ours / {}, the cheapest peer below {PRECISE_US} us",
                peer.name()
            ),
            "ratio",
            ratio(&here.pairs(peer, cpu)),
            CPU_RATIO,
        ),
        None => Comparison::limited(
            format!("CPU: no peer had a median miss below {PRECISE_US} us"),
            "ratio",
            None,
            CPU_RATIO,
        ),
    });
    rows.push(again("ours / ours", "ratio", ratio, here, cpu));
    rows
}

/// Ours against ours: what the noise alone does.
fn again(
    what: &str,
    unit: &'static str,
    compare: fn(&[(f64, f64)]) -> Option<Estimate>,
    here: Condition<'_>,
    figure: Figure,
) -> Comparison {
    Comparison::shown(
        format!("  A/A: {what}, again"),
        unit,
        compare(&here.pairs(Method::HybridAgain, figure)),
    )
}

/// One test of HighPerTimer's claim that the hybrid rule needs 1.5 % of a CPU.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// What ran beside.
    pub load: Load,
    /// Length asked for, in nanoseconds.
    pub target_ns: u64,
    /// Whose CPU time.
    pub method: Method,
    /// CPU time as a share of wall time, over the blocks.
    pub cpu_share: Option<Estimate>,
    /// Whether it is at most what was claimed.
    pub verdict: Verdict,
}

/// The claim for its own rule and for ours, at each load and target.
pub fn claims(cells: &[Cell]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for load in Load::ALL {
        for target in TARGETS {
            let target_ns = target.as_nanos() as u64;
            let here = Condition::new(cells, load, target_ns);
            for method in [Method::HighPerTimer, Method::Hybrid] {
                let blocks = here.cell(method).map_or(&[][..], |cell| &cell.blocks);
                let shares: Vec<f64> = blocks.iter().map(|b| b.cpu_share).collect();
                let cpu_share = mean(&shares);
                claims.push(Claim {
                    load,
                    target_ns,
                    method,
                    cpu_share,
                    verdict: Verdict::at_most(CLAIMED_CPU_SHARE, cpu_share),
                });
            }
        }
    }
    claims
}

#[cfg(test)]
mod tests;
