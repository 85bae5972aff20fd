//! The measuring loop driven by a planted counter: what goes in comes out.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use tompion_model::View;

use super::*;

/// One planted counter at 1 GHz; reading the source costs planted ticks.
#[derive(Clone)]
struct Planted {
    now: Rc<Cell<u64>>,
    costs: Rc<Vec<u64>>,
    next: Rc<Cell<usize>>,
    step: u64,
}

impl Planted {
    fn new(costs: Vec<u64>, step: u64) -> Self {
        Self {
            now: Rc::new(Cell::new(1_000)),
            costs: Rc::new(costs),
            next: Rc::default(),
            step,
        }
    }
}

impl ReadSource for Planted {
    const PAIRING: Pairing = Pairing::Bracketed;

    fn read(&mut self) -> u64 {
        let i = self.next.get();
        self.next.set(i + 1);
        self.now
            .set(self.now.get() + self.costs[i % self.costs.len()]);
        self.now.get() / self.step * self.step
    }

    fn unit_ns(&self) -> f64 {
        1.0
    }
}

impl Bracket for Planted {
    fn open(&self) -> u64 {
        self.now.get()
    }
    fn close(&self) -> u64 {
        self.now.get()
    }
    fn ps(&self, ticks: u64) -> u64 {
        ticks * 1000
    }
    fn hz(&self) -> f64 {
        1e9
    }
    fn name(&self) -> &'static str {
        "planted"
    }
}

fn limits(samples: u64) -> Limits {
    Limits {
        samples,
        time_ns: u64::MAX / 2,
        rows: 1 << 20,
        least_samples: 0,
        patience_ns: 0,
        granularity: true,
        stop: Arc::default(),
    }
}

#[test]
fn planted_costs_come_out_exactly() {
    // 100 warm-up reads at 9 ns, then 20..=39 ns in turn, a stall of 5 us at the end.
    let mut costs = vec![9; WARM_UP as usize];
    costs.extend((0..1000).map(|i| 20 + i % 20));
    costs[1099] = 5_000;
    let planted = Planted::new(costs, 1);
    let outcome = run(&mut planted.clone(), &planted, &limits(1000)).unwrap();
    let d = outcome.data.distribution(View::Measured);
    assert_eq!(
        (d.len(), d.min(), d.max()),
        (1000, Some(20_000), Some(5_000_000))
    );
    assert_eq!(d.median(), Some(29_500.0));
    assert_eq!(outcome.data.distribution(View::Batched).len(), 10);
}

#[test]
fn granularity_finds_the_step_of_a_coarse_clock() {
    let planted = Planted::new(vec![30], 280);
    let outcome = run(&mut planted.clone(), &planted, &limits(500)).unwrap();
    let g = outcome.measurement.granularity.unwrap();
    assert_eq!(
        (g.smallest_step_ns, g.common_step_ns, g.backward_steps),
        (280.0, 280.0, 0)
    );
    assert!(
        (g.zero_steps - (1.0 - 30.0 / 280.0)).abs() < 0.01,
        "{}",
        g.zero_steps
    );
}

#[test]
fn time_ends_a_trial_early_and_says_so() {
    let planted = Planted::new(vec![100], 1);
    let l = Limits {
        time_ns: 50_000,
        ..limits(1_000_000)
    };
    let outcome = run(&mut planted.clone(), &planted, &l).unwrap();
    assert!(outcome.measurement.ended_by_time);
    assert!(outcome.data.samples.len() < 700);
}

#[test]
fn every_real_method_costs_something() {
    let rate = Rate::measure(std::time::Duration::from_millis(5)).map(|m| m.1);
    for method in Method::available() {
        let l = Limits {
            time_ns: 1_000_000_000,
            ..limits(2_000)
        };
        let outcome = measure(method, rate, &l).unwrap();
        let batched = outcome.data.distribution(View::Batched);
        assert!(batched.median().unwrap() > 0.0, "{method}");
        assert_eq!(method.name().parse::<Method>(), Ok(method));
    }
}
