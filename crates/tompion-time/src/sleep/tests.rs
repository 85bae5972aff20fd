//! Sleepers and tickers on planted hosts, and a few on the real machine.

mod learning;
mod machine;
mod policies;
mod properties;
mod ticking;

use super::sim::Sim;
use super::*;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// Reads and pauses around a deadline on the simulated host.
const READS: u64 = 10 * Sim::STEP_NS;

fn hybrid(share: f64) -> Policy {
    Policy::Hybrid {
        budget: Budget::share(share).unwrap(),
    }
}

fn sleeper(policy: Policy, latency: impl FnMut(u64) -> u64 + 'static) -> Sleeper<Sim> {
    Sleeper::with_host(policy, Sim::new(latency))
}

/// A repeatable stream of numbers between 0 and 1 (SplitMix64, Steele et al.
/// 2014).
fn uniform(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
