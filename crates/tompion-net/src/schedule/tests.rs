use super::*;

#[test]
fn a_periodic_schedule_is_a_grid() {
    let schedule = Schedule::Periodic {
        interval: Duration::from_micros(250),
    };
    let dues: Vec<Due> = schedule.starting_at(7).take(1001).collect();
    assert_eq!(
        dues[0],
        Due {
            number: 0,
            at_ns: 7
        }
    );
    let last = Due {
        number: 1000,
        at_ns: 7 + 250_000 * 1000,
    };
    assert_eq!(dues[1000], last);
}

fn gaps(mean_us: u64, seed: u64, count: usize) -> Vec<f64> {
    let schedule = Schedule::Poisson {
        mean: Duration::from_micros(mean_us),
        seed,
    };
    let dues: Vec<Due> = schedule.starting_at(0).take(count + 1).collect();
    dues.windows(2)
        .map(|two| (two[1].at_ns - two[0].at_ns) as f64)
        .collect()
}

#[test]
fn gaps_of_a_poisson_schedule_are_exponential() {
    const COUNT: usize = 20_000;
    let gaps = gaps(100, 1, COUNT);
    let mean = gaps.iter().sum::<f64>() / COUNT as f64;
    // Five standard errors.
    let margin = 5.0 / (COUNT as f64).sqrt();
    assert!((mean / 100_000.0 - 1.0).abs() < margin, "{mean}");
    // Of the exponential distribution 1/e lies beyond its mean, 1/e^2 beyond twice that.
    for (times, expected) in [(1.0, 0.3679), (2.0, 0.1353)] {
        let beyond = gaps.iter().filter(|gap| **gap > times * 100_000.0).count();
        let share = beyond as f64 / COUNT as f64;
        assert!((share - expected).abs() < 0.017, "{share} beyond {times}");
    }
}

#[test]
fn a_seed_repeats_its_gaps_and_another_does_not() {
    assert_eq!(gaps(50, 9, 100), gaps(50, 9, 100));
    assert_ne!(gaps(50, 9, 100), gaps(50, 10, 100));
    // The same on every machine.
    assert_eq!(gaps(1000, 42, 3), SEED_42);
}

const SEED_42: [f64; 3] = [1_145_377.0, 3_001_256.0, 557_771.0];

#[test]
fn the_end_of_time_is_no_overflow() {
    let schedule = Schedule::Periodic {
        interval: Duration::MAX,
    };
    let last = schedule.starting_at(5).nth(3).expect("no end");
    assert_eq!(last.at_ns, u64::MAX);
}
