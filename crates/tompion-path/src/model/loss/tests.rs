use super::*;
use crate::Way;
use crate::model::chance::Decides;

const PACKETS: u32 = 1_000_000;

/// The share that is lost, and the mean length of its streaks.
fn lost(plan: LossPlan, seed: u64) -> (f64, f64) {
    let mut loss = Loss::new(plan, Chance::new(seed, Way::Outward, Decides::Loss));
    let (mut lost, mut streaks, mut was_lost) = (0, 0, false);
    for _ in 0..PACKETS {
        let is_lost = loss.takes_next();
        lost += u32::from(is_lost);
        streaks += u32::from(is_lost && !was_lost);
        was_lost = is_lost;
    }
    let share = f64::from(lost) / f64::from(PACKETS);
    (share, f64::from(lost) / f64::from(streaks.max(1)))
}

#[test]
fn each_by_itself() {
    for share in [0.001, 0.05, 0.5] {
        let (seen, streak) = lost(LossPlan::Bernoulli { share }, 3);
        // Four standard deviations of the share; a streak of single losses lasts 1 / (1 - share).
        let tolerance = 4.0 * (share * (1.0 - share) / f64::from(PACKETS)).sqrt();
        assert!((seen - share).abs() < tolerance, "{seen}, not {share}");
        assert!((streak * (1.0 - share) - 1.0).abs() < 0.02, "{streak}");
    }
}

#[test]
fn none_and_all() {
    assert_eq!(lost(LossPlan::None, 1).0, 0.0);
    assert_eq!(lost(LossPlan::Bernoulli { share: 0.0 }, 1).0, 0.0);
    assert_eq!(lost(LossPlan::Bernoulli { share: 1.0 }, 1).0, 1.0);
}

/// In the long run bad for p / (p + r), in stretches of 1 / r.
#[test]
fn gilbert_elliott_has_its_share_and_its_bursts() {
    let plan = LossPlan::GilbertElliott {
        to_bad: 0.01,
        to_good: 0.2,
        loss_good: 0.0,
        loss_bad: 1.0,
    };
    let (share, burst) = lost(plan, 5);
    assert!((share / (0.01 / 0.21) - 1.0).abs() < 0.05, "{share}");
    assert!((burst / 5.0 - 1.0).abs() < 0.05, "{burst}");
}

#[test]
fn gilbert_elliott_with_loss_in_both_states() {
    let plan = LossPlan::GilbertElliott {
        to_bad: 0.02,
        to_good: 0.06,
        loss_good: 0.01,
        loss_bad: 0.4,
    };
    let theory = 0.75 * 0.01 + 0.25 * 0.4;
    let (share, _) = lost(plan, 6);
    assert!((share / theory - 1.0).abs() < 0.05, "{share}, not {theory}");
}

#[test]
fn a_state_that_is_never_left_holds() {
    let plan = LossPlan::GilbertElliott {
        to_bad: 0.5,
        to_good: 0.0,
        loss_good: 0.0,
        loss_bad: 1.0,
    };
    assert_eq!(lost(plan, 1).0, 1.0);
}

#[test]
fn the_first_packet_is_lost_as_often_as_any() {
    let plan = LossPlan::GilbertElliott {
        to_bad: 0.1,
        to_good: 0.3,
        loss_good: 0.0,
        loss_bad: 1.0,
    };
    let first = (0..20_000).filter(|&seed| {
        let mut loss = Loss::new(plan, Chance::new(seed, Way::Outward, Decides::Loss));
        loss.takes_next()
    });
    let share = first.count() as f64 / 20_000.0;
    assert!((share - 0.25).abs() < 0.02, "{share}");
}
