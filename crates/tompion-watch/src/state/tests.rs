use proptest::prelude::*;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tompion_cause::{Cause, Source};
use tompion_model::Mark;

use super::*;
use crate::planted::{MS, latencies, run, slice, stalls, state, vitals};
use crate::{Kind, Pressed};

fn key(c: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)
}

#[test]
fn figures_of_a_slice_are_those_of_its_samples_without_warm_up() {
    let mut values = vec![(50 * MS, Mark::WarmUp)];
    values.extend((1..=101).map(|i| (i * 1_000, Mark::None)));
    values[50].1 = Mark::Disturbed(Cause::Tick, Source::Event);
    let at = Duration::from_secs(7);
    let slice = Slice::of(&latencies(&values), at, Setting::default()).unwrap();
    assert_eq!(
        (slice.samples, slice.p50_ns, slice.p99_ns, slice.max_ns),
        (101, 51_000.0, 100_000.0, 101_000.0)
    );
    assert_eq!((slice.missed, slice.disturbed), (2, 1));
    assert_eq!(slice.worst.len(), MOST);
    assert_eq!(slice.worst[0].ns, 101_000);
    assert_eq!(slice.worst[0].at, at + Duration::from_nanos(102 * 100_000));
    assert_eq!(slice.worst[0].cause, "no disturbance seen");
    assert!(Slice::of(&latencies(&values[..1]), at, Setting::default()).is_none());
}

#[test]
fn worst_cases_have_their_time_and_cause() {
    let mut state = run();
    let worst = &state.worst()[0];
    assert_eq!((worst.ns, worst.cause.as_str()), (1_000 * MS, "stopped"));
    // The slice began 200 s after 13:59:00, and that was its 1000th sample.
    assert_eq!(state.time_of_day(worst.at), "14:02:20");
    let stall = state.worst().iter().find(|c| c.kind == Kind::Stall);
    assert!(
        stall.is_none(),
        "stalls of 4 ms are shorter than twenty wake-ups of 8 ms"
    );
    assert_eq!(state.worst().len(), MOST);
    assert!(state.worst().is_sorted_by(|a, b| a.ns >= b.ns));
    state.reset();
    assert!(state.worst().is_empty() && state.latest().is_none());
    state.stalled(stalls(Duration::from_secs(301), Setting::default()));
    assert_eq!(state.worst()[0].cause, "preempted by hog[1234]");
    assert_eq!(
        state.worst()[1].cause,
        "interrupt virtio0-input.0, and 1 more"
    );
    assert_eq!(state.worst()[1].ns, 40_000);
}

#[test]
fn causes_add_up_to_the_time_lost() {
    let state = run();
    let (wall_ns, causes) = state.lost();
    assert_eq!(wall_ns, 150 * 300 * MS);
    assert_eq!(causes[0].cause, Cause::Preempted);
    // Of two threads in each slice.
    assert_eq!(
        (causes[0].ns, causes[0].parts, causes[0].longest_ns),
        (600 * MS, 300, 3 * MS)
    );
    assert_eq!(
        causes.iter().map(|c| c.ns).sum::<u64>(),
        150 * (4 * MS + 250_000)
    );
}

#[test]
fn figures_are_of_what_is_chosen_since_it_was_chosen() {
    let mut state = run();
    assert_eq!(state.samples(), 60_000);
    assert_eq!(state.spread().len(), 60_000);
    // Back to what was chosen before: that was before something else.
    state.choose(Setting::default());
    assert_eq!(state.samples(), 0);
    assert!(state.latest().is_none());
    state.wake_up(slice(
        Duration::from_secs(300),
        Setting::default(),
        1000,
        2000,
        Mark::None,
    ));
    assert_eq!(state.samples(), 1000);
}

#[test]
fn steal_is_a_share_of_all_cpus() {
    let mut state = state();
    assert_eq!(state.steal(), None);
    state.read(vitals(Duration::from_secs(0), 0));
    assert_eq!(state.steal(), None, "one reading is no share");
    for second in 1..=10 {
        // From the sixth second on half of one CPU of two is gone.
        let stolen = if second > 5 { (second - 5) * 500 } else { 0 };
        state.read(vitals(Duration::from_secs(second), stolen));
        state.tick(Duration::from_secs(second));
    }
    assert_eq!(state.steal(), Some((0.25, 0.125)));
}

#[test]
fn keys_go_round_both_ways() {
    let mut state = state();
    for (keys, want) in [("l", 1), ("ll", 1), ("L", 0), ("L", 1)] {
        keys.chars()
            .for_each(|k| assert_eq!(state.press(key(k)), Pressed::Seen));
        assert_eq!(state.setting().load, want, "{keys}");
    }
    for (k, what) in [('m', "method"), ('t', "target"), ('c', "cpu")] {
        let before = state.setting();
        state.press(key(k));
        assert_ne!(state.setting(), before, "{what}");
        state.press(key(k.to_ascii_uppercase()));
        assert_eq!(state.setting(), before, "{what}");
    }
}

#[test]
fn pause_help_and_ends() {
    let mut state = state();
    state.press(key('p'));
    assert!(state.is_paused());
    state.press(key(' '));
    assert!(!state.is_paused());
    state.press(key('?'));
    assert!(state.shows_help());
    assert_eq!(state.press(key('l')), Pressed::Seen);
    assert!(!state.shows_help());
    assert_eq!(state.setting().load, 0, "it closed the help, no more");
    assert_eq!(state.press(key('q')), Pressed::Quit);
    assert_eq!(state.press(KeyEvent::from(KeyCode::Esc)), Pressed::Quit);
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(state.press(interrupt), Pressed::Interrupt);
}

#[test]
fn a_message_stays_until_something_is_chosen() {
    let mut state = state();
    state.say("load cpu died");
    state.pause(true);
    assert_eq!(state.message(), Some("load cpu died"));
    state.press(key('l'));
    assert_eq!(state.message(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn memory_is_bounded(seconds in prop::collection::vec(0.0..400.0f64, 1..60), many in 1..4000usize) {
        let mut state = state();
        let mut now = Duration::ZERO;
        for step in seconds {
            now += Duration::from_secs_f64(step);
            state.wake_up(slice(now, Setting::default(), 1000, 5000, Mark::None));
            state.stalled(stalls(now, Setting::default()));
            state.read(vitals(now, 0));
            state.tick(now);
            prop_assert!(state.slices().all(|s| s.at + WINDOW >= now));
        }
        let one = slice(now, Setting::default(), 1000, 5000, Mark::None);
        for _ in 0..many {
            state.wake_up(one.clone());
            state.read(vitals(now, 0));
        }
        state.tick(now);
        prop_assert!(state.slices.len() <= SLICES && state.vitals.len() <= READINGS + 1);
        prop_assert!(state.worst().len() <= MOST);
        prop_assert!(state.slices().all(|s| s.worst.is_empty()));
    }
}
