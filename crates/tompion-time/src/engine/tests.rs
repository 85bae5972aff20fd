//! The clock driven through all that can happen to a counter.

use proptest::prelude::*;

use super::sim::Sim;
use super::*;
use crate::discipline::{INTERVAL_NS, Reason};
use crate::evidence::Current;

/// A clock, and the greatest time that it gave.
struct Bench {
    engine: Engine<Sim>,
    greatest: u64,
    /// The largest distance from the kernel's clock of any reading.
    worst: i64,
}

impl Bench {
    fn on(sim: Sim) -> Self {
        Self {
            engine: Engine::new(sim),
            greatest: 0,
            worst: 0,
        }
    }

    /// A clock that uses the counter.
    fn settled(sim: Sim) -> Self {
        let mut bench = Self::on(sim);
        bench.run_ms(40);
        assert_eq!(bench.mode(), Mode::Counter);
        bench.worst = 0;
        bench
    }

    fn sim(&self) -> &Sim {
        &self.engine.platform
    }

    fn mode(&self) -> Mode {
        let version = self.engine.slots().load().version;
        self.engine.slots().copy(version).unwrap().mode
    }

    fn events(&self) -> (u64, Option<Reason>, u64) {
        let version = self.engine.slots().load().version;
        let e = self.engine.slots().copy(version).unwrap().events;
        (e.losses, e.last_loss, e.longest_hold_ns)
    }

    /// One reading; the panic of a backward step is the test.
    fn read(&mut self) -> u64 {
        let before = self.sim().truth() as i64;
        let now = self.engine.now(false);
        let after = self.sim().truth() as i64;
        assert!(
            now >= self.greatest,
            "went back by {} ns, mode {:?}",
            self.greatest - now,
            self.mode()
        );
        self.greatest = now;
        let off = (now as i64 - after).max(before - now as i64).max(0);
        self.worst = self.worst.max(off);
        now
    }

    /// Readings, 100 us apart.
    fn run_ms(&mut self, ms: u64) {
        for _ in 0..ms * 10 {
            self.sim().pass(100_000.0);
            self.read();
        }
    }

    fn lost_to(&self) -> Reason {
        match self.mode() {
            Mode::Kernel(reason) => reason,
            other => panic!("still {other:?}"),
        }
    }
}

const BOUND_NS: i64 = (INTERVAL_NS / 1000) as i64 + 200;

#[test]
fn it_starts_with_the_kernels_clock_and_takes_the_counter_after_a_proof() {
    let mut bench = Bench::on(Sim::new());
    bench.read();
    assert_eq!(bench.lost_to(), Reason::Calibrating);
    bench.run_ms(30);
    assert_eq!(bench.mode(), Mode::Counter);
    assert!(bench.worst < 100, "{} ns", bench.worst);
}

#[test]
fn while_nothing_happens_it_is_exact() {
    let mut bench = Bench::settled(Sim::new());
    bench.run_ms(3_000);
    assert_eq!(bench.mode(), Mode::Counter);
    assert!(bench.worst < 60, "{} ns", bench.worst);
    assert_eq!(bench.events().0, 0);
}

#[test]
fn a_rate_step_of_50_ppm_is_followed() {
    for ppm in [50.0, -50.0] {
        let mut bench = Bench::settled(Sim::new());
        bench.run_ms(1_000);
        let rate = bench.sim().ticks_per_ns.get() * (1.0 + ppm * 1e-6);
        bench.sim().ticks_per_ns.set(rate);
        bench.run_ms(1_000);
        assert_eq!(bench.mode(), Mode::Counter);
        // 50 ppm of one piece, until the next anchor.
        assert!(bench.worst < 400, "{} ns", bench.worst);
        bench.worst = 0;
        bench.run_ms(1_000);
        assert!(bench.worst < 60, "{} ns", bench.worst);
    }
}

#[test]
fn the_kernels_slewing_stays_within_the_bound() {
    let mut bench = Bench::settled(Sim::new());
    for ppm in [500.0, -500.0, 500.0, 0.0] {
        bench.sim().slew_ppm.set(ppm);
        bench.run_ms(2_000);
    }
    assert_eq!(bench.mode(), Mode::Counter);
    assert!(bench.worst <= BOUND_NS, "{} ns", bench.worst);
    assert!(bench.worst > 1_000, "the slewing was not felt");
}

#[test]
fn a_jump_ahead_is_held_until_the_kernel_has_caught_up() {
    let mut bench = Bench::settled(Sim::new());
    bench.sim().jump(3_600e9);
    let first = bench.read();
    let truth = bench.sim().truth();
    assert!(
        matches!(bench.lost_to(), Reason::JumpedAhead { by_ns } if by_ns.abs_diff(3_600_000_000_000) < 1_000_000)
    );
    assert!(first - truth <= INTERVAL_NS, "{} ns ahead", first - truth);
    let (losses, _, hold) = bench.events();
    assert_eq!(losses, 1);
    assert!(hold.abs_diff(first - truth) < 5_000, "{hold}");
    // Held, then on with the kernel.
    assert_eq!(bench.read(), first);
    bench.run_ms(10);
    bench.worst = 0;
    bench.run_ms(10);
    assert!(bench.worst < 60);
}

#[test]
fn a_jump_ahead_within_a_piece_is_found_at_its_end() {
    let mut bench = Bench::settled(Sim::new());
    bench.sim().jump(700_000.0);
    bench.run_ms(10);
    assert!(
        matches!(bench.lost_to(), Reason::JumpedAhead { by_ns } if by_ns.abs_diff(700_000) < 5_000)
    );
    assert!(bench.worst < 705_000);
}

#[test]
fn a_jump_back_is_noticed_by_the_next_read() {
    for by in [3_000.0, 1e6, 3e6, 60e9] {
        let mut bench = Bench::settled(Sim::new());
        bench.sim().pass(2_500_000.0);
        bench.read();
        bench.sim().jump(-by);
        bench.read();
        assert!(
            matches!(bench.lost_to(), Reason::JumpedBack { by_ns } if (by_ns as f64 / by - 1.0).abs() < 0.2),
            "{by}: {:?}",
            bench.mode()
        );
        bench.run_ms(20);
    }
}

#[test]
fn reads_out_of_order_by_a_hair_mean_nothing() {
    let mut bench = Bench::settled(Sim::new());
    for _ in 0..2_000 {
        bench.sim().pass(10_000.0);
        bench.read();
        bench.sim().jump(-30.0);
        bench.read();
        bench.sim().jump(30.0);
    }
    assert_eq!(bench.mode(), Mode::Counter);
    assert_eq!(bench.events().0, 0);
}

#[test]
fn a_frozen_counter_is_found_after_a_thousand_reads() {
    let mut bench = Bench::settled(Sim::new());
    bench.sim().frozen.set(true);
    for _ in 0..1_001 {
        bench.sim().pass(1_000.0);
        bench.read();
    }
    assert!(matches!(bench.lost_to(), Reason::StoodStill { for_ns } if for_ns > 900_000));
    let at = bench.read();
    assert!(at.abs_diff(bench.sim().truth()) < INTERVAL_NS);
    // It runs again, which needs a new proof.
    bench.sim().frozen.set(false);
    bench.run_ms(50);
    assert!(matches!(bench.mode(), Mode::Kernel(_)));
    bench.run_ms(100);
    assert_eq!(bench.mode(), Mode::Counter);
}

#[test]
fn a_counter_that_stood_for_a_while_fell_behind() {
    let mut bench = Bench::settled(Sim::new());
    bench.sim().frozen.set(true);
    bench.sim().pass(50e6);
    bench.sim().frozen.set(false);
    bench.run_ms(6);
    assert!(
        matches!(bench.lost_to(), Reason::FellBehind { by_ns } if by_ns.abs_diff(50_000_000) < 100_000)
    );
}

#[test]
fn a_wrap_is_nothing() {
    for ticks in [1_000, 13_000_000, 200_000_000, 2_000_000_000] {
        let mut bench = Bench::on(Sim::wrapping_in(ticks));
        bench.run_ms(1_500);
        assert_eq!(bench.mode(), Mode::Counter);
        assert_eq!(bench.events().0, 0);
        assert!(bench.worst < 100, "{} ns", bench.worst);
    }
}

#[test]
fn unequal_cpus_end_trust_and_it_does_not_come_back() {
    for offset in [1_000_000, -1_000_000, 30_000_000, -4_000_000_000] {
        let mut bench = Bench::settled(Sim::new());
        bench.sim().offset_ticks.set(offset);
        let mut disagreed = false;
        for round in 0..2_000 {
            bench.sim().cpu.set(round % 2);
            bench.run_ms(1);
            let (_, why, _) = bench.events();
            disagreed |= matches!(bench.mode(), Mode::Kernel(Reason::CpusDisagree { .. }))
                || matches!(why, Some(Reason::CpusDisagree { .. }));
        }
        assert!(disagreed, "{offset}: {:?}", bench.events());
        assert!(matches!(bench.mode(), Mode::Kernel(_)), "{offset}");
        bench.worst = 0;
        bench.run_ms(100);
        assert!(bench.worst < 60);
    }
}

#[test]
fn a_suspend_is_no_fault_of_the_counter() {
    for counter_runs in [true, false] {
        let mut bench = Bench::settled(Sim::new());
        bench.sim().suspend(3_600e9, counter_runs);
        // Where the counter stood too, nothing is to be seen until an anchor.
        bench.run_ms(6);
        assert_eq!(bench.events().1, Some(Reason::Suspended));
        bench.run_ms(30);
        assert_eq!(bench.mode(), Mode::Counter);
    }
    let mut bench = Bench::settled(Sim::new());
    bench.sim().suspend(60e9, false);
    bench.sim().reset_counter();
    bench.run_ms(6);
    assert_eq!(bench.events().1, Some(Reason::Suspended));
    bench.run_ms(30);
    assert_eq!(bench.mode(), Mode::Counter);
}

#[test]
fn a_step_of_realtime_is_not_seen() {
    let mut bench = Bench::settled(Sim::new());
    bench.sim().realtime_offset_ns.set(0);
    bench.run_ms(100);
    assert_eq!(bench.mode(), Mode::Counter);
    assert_eq!(bench.events().0, 0);
    assert!(bench.worst < 60);
}

#[test]
fn a_switched_clocksource_ends_trust_within_one_interval() {
    let mut bench = Bench::settled(Sim::new());
    bench.sim().clocksource.set(Current::Other);
    bench.run_ms(INTERVAL_NS / 1_000_000 + 1);
    assert_eq!(bench.lost_to(), Reason::ClocksourceSwitched);
    bench.run_ms(3_000);
    assert_eq!(bench.lost_to(), Reason::ClocksourceSwitched);
    // Back, but first a proof.
    bench.sim().clocksource.set(Current::Counter);
    bench.run_ms(1_050);
    assert_eq!(bench.lost_to(), Reason::ClocksourceSwitched);
    bench.run_ms(200);
    assert_eq!(bench.mode(), Mode::Counter);
}

#[test]
fn a_clocksource_that_was_never_the_counter_is_named_so() {
    let sim = Sim::new();
    sim.clocksource.set(Current::Other);
    let mut bench = Bench::on(sim);
    bench.run_ms(50);
    assert_eq!(bench.lost_to(), Reason::NotTheClocksource);
    bench.sim().clocksource.set(Current::Counter);
    bench.run_ms(1_100);
    assert_eq!(bench.mode(), Mode::Counter);
    assert_eq!(bench.events().0, 0);
}

#[test]
fn a_disruption_ends_trust_until_a_new_proof() {
    let mut bench = Bench::settled(Sim::new());
    bench.sim().marker.set(Some(8));
    bench.run_ms(6);
    assert_eq!(bench.lost_to(), Reason::Disrupted);
    bench.run_ms(200);
    assert_eq!(bench.mode(), Mode::Counter);
}

#[test]
fn each_loss_asks_for_a_longer_proof() {
    let mut bench = Bench::settled(Sim::new());
    let mut took = Vec::new();
    for _ in 0..3 {
        bench.sim().jump(50e6);
        bench.run_ms(6);
        assert!(matches!(bench.lost_to(), Reason::JumpedAhead { .. }));
        let lost = bench.sim().truth();
        while bench.mode() != Mode::Counter {
            bench.run_ms(1);
        }
        took.push((bench.sim().truth() - lost) / 1_000_000);
    }
    assert!(
        took[1] > took[0] * 3 / 2 && took[2] > took[1] * 3 / 2,
        "{took:?}"
    );
}

#[test]
fn a_preempted_bracket_is_not_believed() {
    let mut bench = Bench::settled(Sim::new());
    bench.run_ms(500);
    for _ in 0..20 {
        bench.sim().preempted.set((1, 4e6));
        bench.run_ms(20);
    }
    assert_eq!(bench.mode(), Mode::Counter);
    assert_eq!(bench.events().0, 0);
    // Where none is better, the kernel's clock is as good.
    bench.sim().preempted.set((1_000, 1e6));
    bench.run_ms(200);
    assert_eq!(bench.events().1, Some(Reason::ReadsUncertain));
}

#[test]
fn a_change_of_policy_makes_time_neither_jump_nor_stand() {
    let mut bench = Bench::settled(Sim::new());
    for policy in [1, 2, 1] {
        bench.sim().pass(1_000_000.0);
        bench.read();
        bench.sim().policy.set(policy);
        bench.engine.restart();
        bench.read();
        assert!(
            matches!(bench.mode(), Mode::Kernel(_)),
            "{:?}",
            bench.mode()
        );
        bench.run_ms(40);
    }
    assert_eq!(bench.mode(), Mode::Counter);
    assert!(bench.worst < 100, "{} ns", bench.worst);
}

#[test]
fn loose_brackets_are_covered_by_the_bound() {
    let mut bench = Bench::settled(Sim::new());
    bench.run_ms(500);
    for _ in 0..50 {
        bench.sim().preempted.set((1, 30e3));
        bench.run_ms(7);
    }
    assert_eq!(bench.events().0, 0, "{:?}", bench.events());
    // 15 us of each bracket are unknown, and none of it is believed.
    assert!(bench.worst < 1_000, "{} ns", bench.worst);
}

#[test]
fn a_long_pause_costs_one_anchor_and_nothing_else() {
    let mut bench = Bench::settled(Sim::new());
    bench.sim().slew_ppm.set(100.0);
    bench.sim().pass(86_400e9);
    bench.read();
    assert_eq!(bench.mode(), Mode::Counter);
    assert!(bench.worst < 60, "{} ns", bench.worst);
}

#[test]
fn a_stated_rate_far_from_the_measured_one_is_a_contradiction() {
    let sim = Sim::new();
    sim.hint_hz.set(Some(2_000_000_000));
    let mut bench = Bench::on(sim);
    bench.run_ms(100);
    assert!(matches!(
        bench.lost_to(),
        Reason::RateContradicted { stated_hz: 2_000_000_000, measured_hz } if measured_hz.abs_diff(2_600_000_000) < 10_000
    ));
}

/// What may happen between two readings.
#[derive(Clone, Debug)]
enum Happening {
    Pass(u32),
    RateStep(bool),
    Slew(i16),
    JumpAhead(u32),
    JumpBack(u32),
    Freeze(u32),
    Suspend(u32, u8),
    Offset(i32),
    Move,
    Clocksource(bool),
    Marker(u8),
    Realtime(i32),
    Preempt(u32),
    ManyReads,
}

fn happening() -> impl Strategy<Value = Happening> {
    use Happening::*;
    prop_oneof![
        6 => (0..20_000_000u32).prop_map(Pass),
        1 => any::<bool>().prop_map(RateStep),
        2 => (-500..=500i16).prop_map(Slew),
        1 => any::<u32>().prop_map(JumpAhead),
        1 => (0..20_000_000u32).prop_map(JumpBack),
        1 => (0..20_000_000u32).prop_map(Freeze),
        1 => (any::<u32>(), 0..3u8).prop_map(|(ns, how)| Suspend(ns, how)),
        1 => (-30_000_000..30_000_000i32).prop_map(Offset),
        3 => Just(Move),
        1 => any::<bool>().prop_map(Clocksource),
        1 => (0..3u8).prop_map(Marker),
        1 => any::<i32>().prop_map(Realtime),
        1 => (0..5_000_000u32).prop_map(Preempt),
        4 => Just(ManyReads),
    ]
}

fn happen(bench: &mut Bench, what: &Happening) {
    let sim = bench.sim();
    match *what {
        Happening::Pass(ns) => sim.pass(ns.into()),
        Happening::RateStep(up) => {
            let step = if up { 1.0 + 50e-6 } else { 1.0 - 50e-6 };
            sim.ticks_per_ns.set(sim.ticks_per_ns.get() * step);
        }
        Happening::Slew(ppm) => sim.slew_ppm.set(ppm.into()),
        Happening::JumpAhead(ns) => sim.jump(ns.into()),
        Happening::JumpBack(ns) => sim.jump(-f64::from(ns)),
        Happening::Freeze(ns) => {
            sim.frozen.set(true);
            for _ in 0..20 {
                bench.sim().pass(f64::from(ns) / 20.0);
                bench.read();
            }
            bench.sim().frozen.set(false);
        }
        Happening::Suspend(ns, how) => {
            sim.suspend(ns.into(), how == 0);
            if how == 2 {
                sim.reset_counter();
            }
        }
        Happening::Offset(ticks) => sim.offset_ticks.set(ticks.into()),
        Happening::Move => sim.cpu.set(1 - sim.cpu.get()),
        Happening::Clocksource(counter) => sim.clocksource.set(if counter {
            Current::Counter
        } else {
            Current::Other
        }),
        Happening::Marker(marker) => sim.marker.set(Some(marker.into())),
        Happening::Realtime(ns) => sim.realtime_offset_ns.set(ns.into()),
        Happening::Preempt(ns) => sim.preempted.set((2, ns.into())),
        Happening::ManyReads => {
            for _ in 0..200 {
                bench.sim().pass(50_000.0);
                bench.read();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Whatever happens: no backward step (asserted by every reading), never
    /// further ahead than a piece and what a disturbed bracket hides, and trust comes back after the last of it.
    #[test]
    fn any_sequence_ends_in_the_right_state(
        happenings in prop::collection::vec(happening(), 1..60),
        wrap in 0..3_000_000_000u64,
    ) {
        let mut bench = Bench::on(Sim::wrapping_in(wrap));
        bench.run_ms(40);
        for what in &happenings {
            happen(&mut bench, what);
            let now = bench.read();
            let truth = bench.sim().truth();
            prop_assert!(
                now <= truth + INTERVAL_NS * 3 / 2 + 10_000,
                "{} ns ahead after {what:?}", now - truth
            );
        }
        // Calm: one CPU, the right clocksource, no more changes. The longest
        // proof is 5120 anchors.
        bench.sim().cpu.set(0);
        bench.sim().slew_ppm.set(0.0);
        bench.sim().preempted.set((0, 0.0));
        bench.sim().clocksource.set(Current::Counter);
        for _ in 0..30 {
            for _ in 0..1_000 {
                bench.sim().pass(1_000_000.0);
                bench.read();
            }
            if bench.mode() == Mode::Counter {
                break;
            }
        }
        prop_assert_eq!(bench.mode(), Mode::Counter, "{:?}", bench.events());
        // A proof that began across a happening may have left the rate a little off.
        bench.worst = 0;
        bench.run_ms(20);
        prop_assert!(bench.worst < BOUND_NS, "{} ns off", bench.worst);
        bench.worst = 0;
        bench.run_ms(1_000);
        prop_assert!(bench.worst < 100, "{} ns off", bench.worst);
    }

    /// With nothing but slewing and pauses every reading is within the bound and
    /// trust is never lost.
    #[test]
    fn slewing_alone_never_ends_trust(
        slews in prop::collection::vec((-500..=500i16, 0..30_000_000u32), 1..40),
    ) {
        let mut bench = Bench::settled(Sim::new());
        for (ppm, pause) in slews {
            bench.sim().slew_ppm.set(ppm.into());
            bench.sim().pass(pause.into());
            bench.run_ms(12);
        }
        prop_assert_eq!(bench.events().0, 0);
        prop_assert!(bench.worst <= BOUND_NS, "{} ns", bench.worst);
    }
}

#[test]
fn a_hair_back_across_the_beginning_of_a_piece_is_no_step_back() {
    let mut bench = Bench::settled(Sim::new());
    let version = bench.engine.slots().load().version;
    while bench.engine.slots().load().version == version {
        bench.sim().pass(10_000.0);
        bench.read();
    }
    bench.sim().pass(300.0);
    bench.read();
    bench.sim().jump(-600.0);
    bench.read();
    bench.run_ms(10);
    assert_eq!(bench.events().0, 0);
}

#[test]
fn a_first_bracket_that_was_preempted_delays_nothing() {
    let sim = Sim::new();
    sim.preempted.set((1, 100e6));
    let mut bench = Bench::on(sim);
    bench.run_ms(150);
    assert_eq!(bench.mode(), Mode::Counter);
}

#[test]
fn brackets_loose_twice_in_a_row_are_no_jump() {
    let mut bench = Bench::settled(Sim::new());
    bench.run_ms(500);
    for i in 0..20 {
        bench.sim().preempted.set((1 + i % 2, 30e3));
        bench.run_ms(23);
    }
    assert_eq!(bench.events().0, 0, "{:?}", bench.events());
}

#[test]
fn a_slow_counter_changes_its_rate_no_oftener() {
    for ticks_per_ns in [0.024, 0.025, 0.054] {
        let sim = Sim::new();
        sim.ticks_per_ns.set(ticks_per_ns);
        let mut bench = Bench::settled(sim);
        bench.run_ms(3_000);
        let version = bench.engine.slots().load().version;
        let e = bench.engine.slots().copy(version).unwrap().events;
        assert_eq!(e.rate_changes, 0, "{ticks_per_ns}");
    }
}

#[test]
fn a_proof_that_began_with_a_preempted_bracket_ends_with_a_sharp_rate() {
    let mut bench = Bench::on(Sim::new());
    bench.sim().clocksource.set(Current::Other);
    bench.run_ms(20);
    // 25 us of the bracket are unknown: 25 ppm of the second until the next look.
    bench.sim().preempted.set((10, 49e3));
    bench.sim().pass(1e9);
    bench.read();
    assert_eq!(bench.lost_to(), Reason::NotTheClocksource);
    bench.sim().preempted.set((0, 0.0));
    bench.sim().clocksource.set(Current::Counter);
    bench.sim().pass(1e9);
    bench.run_ms(40);
    assert_eq!(bench.mode(), Mode::Counter);
    bench.worst = 0;
    bench.run_ms(1_000);
    assert!(bench.worst < 60, "{} ns", bench.worst);
}
