//! `CLOCK_REALTIME` from the counter, and kernel clocks that are exchanged.

use super::sim::Sim;
use super::*;
use crate::discipline::INTERVAL_NS;

const DAY_NS: f64 = 86_400e9;
const SECOND_NS: i64 = 1_000_000_000;

struct Bench(Engine<Sim>);

impl Bench {
    fn settled(sim: Sim) -> Self {
        let bench = Self(Engine::new(sim));
        bench.run_ms(40);
        assert_eq!(bench.mode(), Mode::Counter);
        bench
    }

    fn sim(&self) -> &Sim {
        &self.0.platform
    }

    fn mode(&self) -> Mode {
        self.0.state().mode
    }

    fn truth(&self) -> i64 {
        self.sim().truth() as i64 + self.sim().realtime_offset_ns.get()
    }

    /// How far one reading lies outside the time it took.
    fn off(&self) -> i64 {
        let before = self.truth();
        let read = self.0.realtime() as i64;
        (read - self.truth()).max(before - read).max(0)
    }

    fn run_ms(&self, ms: u64) -> i64 {
        (0..ms * 10)
            .map(|_| {
                self.sim().pass(100_000.0);
                self.off()
            })
            .max()
            .unwrap_or(0)
    }

    fn step(&self, ns: i64) {
        let offset = self.sim().realtime_offset_ns.get();
        self.sim().realtime_offset_ns.set(offset + ns);
    }
}

#[test]
fn realtime_reads_alone_settle_the_clock_and_follow_it() {
    let bench = Bench::settled(Sim::new());
    assert!(bench.run_ms(2_000) < 150);
    bench.sim().slew_ppm.set(500.0);
    assert!(bench.run_ms(1_000) < (INTERVAL_NS / 1000) as i64 + 200);
    assert_eq!(bench.mode(), Mode::Counter);
}

#[test]
fn a_step_of_the_systems_time_shows_within_one_interval_and_costs_no_trust() {
    for step in [SECOND_NS, -SECOND_NS, 5_000, -5_000] {
        let bench = Bench::settled(Sim::new());
        bench.run_ms(102);
        bench.step(step);
        let wrong = (0..100)
            .filter(|_| {
                bench.sim().pass(100_000.0);
                bench.off() > 1_000
            })
            .count();
        assert!(wrong > 0, "{step}: it cannot be known at once");
        assert!(wrong as u64 * 100_000 <= INTERVAL_NS, "{step}: {wrong}");
        assert_eq!(bench.mode(), Mode::Counter);
        assert!(bench.run_ms(100) < 150, "{step}");
        assert_eq!(bench.0.state().events.losses, 0);
    }
}

#[test]
fn where_the_counter_is_not_used_the_kernel_tells() {
    let bench = Bench::settled(Sim::new());
    bench.sim().clocksource.set(crate::evidence::Current::Other);
    bench.run_ms(20);
    assert!(matches!(bench.mode(), Mode::Kernel(_)));
    bench.step(-3 * SECOND_NS);
    assert_eq!(bench.off(), 0);
    // Looked at again once a second, by readers of the realtime alone.
    bench
        .sim()
        .clocksource
        .set(crate::evidence::Current::Counter);
    bench.run_ms(1_500);
    assert_eq!(bench.mode(), Mode::Counter);
    assert!(bench.run_ms(100) < 150);
}

#[test]
fn a_disturbed_measurement_of_the_offset_leaves_it_to_the_kernel() {
    let bench = Bench(Engine::new(Sim::new()));
    bench.sim().realtime_width_ns.set(50_000);
    bench.run_ms(40);
    assert_eq!(bench.mode(), Mode::Counter);
    assert_eq!(bench.off(), 0);
    bench.sim().realtime_width_ns.set(100);
    bench.run_ms(10);
    bench.step(SECOND_NS);
    assert!(bench.off() > SECOND_NS / 2, "the counter tells it now");
}

#[test]
fn in_another_time_namespace_the_new_clock_is_followed_where_holding_is_limited() {
    for day in [-DAY_NS / 2e6, DAY_NS / 2e6] {
        // The simulated machine is up for 1000 s only.
        let (limited, unlimited) = (Bench::settled(Sim::new()), Bench::settled(Sim::new()));
        limited.sim().longest_hold_ns.set(20_000_000);
        for bench in [&limited, &unlimited] {
            bench.0.now(true);
            bench.sim().shift_kernel(day * 1e6 / 100.0);
        }
        let off = |bench: &Bench| {
            let now = bench.0.now(true) as i64;
            (now - bench.sim().truth() as i64).abs()
        };
        assert!(off(&limited) > SECOND_NS, "it cannot be known at once");
        for bench in [&limited, &unlimited] {
            bench.sim().pass(INTERVAL_NS as f64);
        }
        assert!(off(&limited) < 1_000, "{}", off(&limited));
        assert_eq!(off(&unlimited) > SECOND_NS, day < 0.0);
    }
}

#[test]
fn where_no_state_can_be_published_the_kernel_tells() {
    for settled in [true, false] {
        let bench = Bench(Engine::new(Sim::new()));
        bench.run_ms(if settled { 40 } else { 1 });
        assert_eq!(bench.mode() == Mode::Counter, settled);
        bench.sim().slots().pin_all();
        for _ in 0..300 {
            bench.sim().pass(100_000.0);
            let before = bench.sim().truth();
            let now = bench.0.now(true);
            assert!((before..=bench.sim().truth() + 100).contains(&now));
            assert!(bench.off() < 150);
        }
    }
}

#[test]
fn a_kernel_clock_exchanged_while_it_serves_is_followed_too() {
    let bench = Bench::settled(Sim::new());
    bench.sim().longest_hold_ns.set(20_000_000);
    bench.sim().clocksource.set(crate::evidence::Current::Other);
    bench.run_ms(10);
    assert!(matches!(bench.mode(), Mode::Kernel(_)));
    bench.sim().shift_kernel(-500e9);
    let now = bench.0.now(true) as i64;
    assert!((now - bench.sim().truth() as i64).abs() < 1_000);
}
