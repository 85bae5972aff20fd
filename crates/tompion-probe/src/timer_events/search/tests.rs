//! The search over planted mechanisms of known limits.

use std::convert::Infallible;
use std::io;

use super::*;
use crate::timer_events::{Mechanism, run};

/// A run that holds every period from `limit_ns` on.
fn steady(limit_ns: u64) -> impl FnMut(u64) -> Result<Held, Infallible> {
    move |period_ns| {
        Ok(Held {
            periods: EVENTS,
            missed: if period_ns >= limit_ns { 0 } else { 900 },
            cut: false,
        })
    }
}

/// A random number between 0 and 1 (Marsaglia's xorshift, 2003).
fn random(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as f64 / (1u64 << 53) as f64
}

#[test]
fn a_known_limit_is_found_to_five_percent() {
    let what = Search::default();
    let mut limit = 117.0;
    while limit < 3_900_000.0 {
        let limit_ns = limit as u64;
        let found = search(&what, steady(limit_ns)).unwrap();
        let smallest = found.smallest_ns.unwrap();
        let largest = (limit * what.fine).ceil() as u64;
        assert!(
            (limit_ns..=largest).contains(&smallest),
            "{limit_ns}: {smallest}"
        );
        assert!(found.not_held_ns.unwrap() < limit_ns);
        assert_eq!(found.contradictions(), 0);
        assert!(!found.ended_early);
        limit *= 1.37;
    }
}

#[test]
fn limits_outside_of_the_range_are_told_apart() {
    let what = Search::default();
    let all = search(&what, steady(1)).unwrap();
    assert_eq!(
        (all.smallest_ns, all.not_held_ns),
        (Some(what.least_ns), None)
    );
    let none = search(&what, steady(u64::MAX)).unwrap();
    assert_eq!(
        (none.smallest_ns, none.not_held_ns),
        (None, Some(what.most_ns))
    );
    let top = search(&what, steady(what.most_ns)).unwrap();
    assert_eq!(top.smallest_ns, Some(what.most_ns));
}

#[test]
fn all_runs_must_hold_and_a_tenth_of_a_percent_is_the_border() {
    let held = |missed| Held {
        periods: EVENTS,
        missed,
        cut: false,
    };
    let what = Search::default();
    assert!(held(4).meets(&what) && !held(5).meets(&what));
    let short = Held {
        periods: EVENTS - 1,
        ..held(0)
    };
    assert!(!short.meets(&what), "ended before it had its events");

    // The third run of each period fails: none is held.
    let mut runs = 0;
    let found = search(&what, |_| {
        runs += 1;
        Ok::<_, Infallible>(held(if runs % 3 == 0 { 5 } else { 0 }))
    })
    .unwrap();
    assert_eq!(found.smallest_ns, None);
    assert!(found.attempts.iter().all(|a| a.runs.len() == 3));
}

#[test]
fn chance_stalls_neither_break_the_search_nor_fool_it() {
    let what = Search::default();
    let (mut within_a_fifth, mut most_attempts) = (0, 0);
    let mut state = 0x9e37_79b9_7f4a_7c15;
    const SEARCHES: usize = 500;
    for _ in 0..SEARCHES {
        let limit_ns = 1_000 + (random(&mut state) * 100_000.0) as u64;
        let mut plain = steady(limit_ns);
        let found = search(&what, |period_ns| {
            let mut held = plain(period_ns).unwrap();
            // One run in 20 that would succeed meets a stall.
            if random(&mut state) < 0.05 {
                held.missed += 50;
            }
            Ok::<_, Infallible>(held)
        })
        .unwrap();
        let smallest = found.smallest_ns.unwrap();
        assert!(smallest >= limit_ns, "{smallest} was never held");
        assert!(found.not_held_ns.is_none_or(|p| p < smallest));
        within_a_fifth += usize::from(smallest as f64 <= 1.2 * limit_ns as f64);
        most_attempts = most_attempts.max(found.attempts.len());
    }
    assert!(within_a_fifth > SEARCHES * 9 / 10, "{within_a_fifth}");
    assert!(most_attempts < 60, "{most_attempts}");
}

#[test]
fn answers_without_any_order_end_too() {
    let mut state = 88_172_645_463_325_252;
    for share in [0.02, 0.2, 0.5, 0.8, 0.98] {
        for _ in 0..300 {
            let found = search(&Search::default(), |_| {
                Ok::<_, Infallible>(Held {
                    periods: EVENTS,
                    missed: if random(&mut state) < share {
                        0
                    } else {
                        EVENTS
                    },
                    cut: false,
                })
            })
            .unwrap();
            assert!(found.attempts.len() < 200);
            for a in &found.attempts {
                let same = found.attempts.iter().filter(|b| b.period_ns == a.period_ns);
                assert!(same.count() <= 2);
            }
        }
    }
}

#[test]
fn a_chance_stall_at_a_coarse_period_is_tried_again_and_told() {
    // 51.2 us fails once although the limit is 20 us; then all is well.
    let mut plain = steady(20_000);
    let mut stalled = false;
    let found = search(&Search::default(), |period_ns| {
        let mut held = plain(period_ns).unwrap();
        if period_ns == 51_200 && !stalled {
            stalled = true;
            held.missed = 6;
        }
        Ok::<_, Infallible>(held)
    })
    .unwrap();
    // 25.6 us is the first held: 51.2 us is not even tried.
    assert!(!stalled && found.contradictions() == 0);

    let mut stalls = 0;
    let found = search(&Search::default(), |period_ns| {
        let mut held = plain(period_ns).unwrap();
        if period_ns == 25_600 && stalls == 0 {
            stalls += 1;
            held.missed = 6;
        }
        Ok::<_, Infallible>(held)
    })
    .unwrap();
    assert_eq!((stalls, found.contradictions()), (1, 1));
    assert!((20_000..=21_000).contains(&found.smallest_ns.unwrap()));
}

#[test]
fn a_cut_ends_the_search_with_what_it_has_and_an_error_with_nothing() {
    let mut left = 60;
    let mut plain = steady(20_000);
    let found = search(&Search::default(), |period_ns| {
        left -= 1;
        let mut held = plain(period_ns).unwrap();
        held.cut = left < 46;
        Ok::<_, Infallible>(held)
    })
    .unwrap();
    assert!(found.ended_early && found.smallest_ns.is_some());

    let failed = search(&Search::default(), |_| Err::<Held, _>("refused"));
    assert_eq!(failed, Err("refused"));
}

/// Each event takes `cost_ns` from its time, or from when the thread asks for it,
/// until the thread has it.
struct Costly {
    now: u64,
    cost_ns: u64,
}

impl Mechanism for Costly {
    fn now_ns(&mut self) -> u64 {
        self.now
    }

    fn wait_point(&mut self, _point: u64, target_ns: u64) -> io::Result<()> {
        self.now = self.now.max(target_ns) + self.cost_ns;
        Ok(())
    }

    fn rearm(&mut self, target_ns: u64, _period_ns: u64) -> io::Result<()> {
        self.wait_point(0, target_ns)
    }
}

#[test]
fn the_limit_of_a_mechanism_is_found_through_the_measuring_loop() {
    let what = Search::default();
    for cost_ns in [230, 7_777, 61_000] {
        for form in Form::ALL {
            let found = search(&what, |period_ns| {
                let mut mechanism = Costly { now: 1, cost_ns };
                let limits = run_limits(&what, period_ns, &Arc::default());
                let outcome = run(&mut mechanism, form, period_ns, &limits)?;
                Ok::<_, Error>(judge(form, period_ns, &outcome.data.samples, false))
            })
            .unwrap();
            // Late by a whole period, or an interval of two: missed.
            let limit_ns = cost_ns + 1;
            let smallest = found.smallest_ns.unwrap();
            let largest = (limit_ns as f64 * what.fine).ceil() as u64;
            assert!(
                (limit_ns..=largest).contains(&smallest),
                "{form} {cost_ns}: {smallest}"
            );
        }
    }
}

#[test]
fn a_run_ends_once_it_cannot_be_held_any_more() {
    use crate::timer_events::event_loop::run_while_held;
    let what = Search::default();
    assert_eq!(what.allowed(), 5);
    let all = Search {
        most_missed: 1.0,
        ..Search::default()
    };
    assert_eq!(all.allowed(), u64::MAX);
    for form in Form::ALL {
        let mut mechanism = Costly {
            now: 1,
            cost_ns: 15_000,
        };
        let limits = run_limits(&what, 10_000, &Arc::default());
        let outcome = run_while_held(&mut mechanism, form, 10_000, &limits, 5).unwrap();
        let held = judge(form, 10_000, &outcome.data.samples, false);
        assert_eq!(held.missed, 6, "{form}");
        assert!(held.periods < 20 && !held.meets(&what));
    }
}

#[test]
fn a_real_mechanism_has_a_limit() {
    // Much coarser than by default, since others use the machine too.
    let what = Search {
        events: 500,
        runs: 2,
        most_missed: 0.5,
        ..Search::default()
    };
    let mut seen = Vec::new();
    for _ in 0..5 {
        let found =
            smallest_held(Method::named("timerfd"), Form::Grid, &what, &Arc::default()).unwrap();
        // A timer of the kernel takes two system calls and an interrupt.
        if (Some(500)..Some(2_000_000)).contains(&found.smallest_ns) && found.not_held_ns.is_some()
        {
            return;
        }
        seen.push(found);
    }
    panic!("{seen:?}");
}

#[test]
fn a_stop_ends_a_real_search_before_it_begins() {
    let stop = Arc::new(AtomicBool::new(true));
    let found = smallest_held(
        Method::named("timerfd"),
        Form::Grid,
        &Search::default(),
        &stop,
    )
    .unwrap();
    assert!(found.ended_early && found.attempts.is_empty() && found.smallest_ns.is_none());
}
