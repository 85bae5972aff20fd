use std::time::Duration;

use insta::assert_snapshot;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::style::Color;
use tompion_cause::{Cause, Source};
use tompion_model::Mark;

use super::*;
use crate::planted::{run, slice, state, vitals};

fn drawn(state: &State, width: u16, height: u16, color: bool) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| draw(frame, state, Look { color }))
        .unwrap();
    terminal
}

fn text(terminal: &Terminal<TestBackend>) -> String {
    terminal.backend().to_string()
}

#[test]
fn a_run_at_80_by_24() {
    assert_snapshot!(text(&drawn(&run(), 80, 24, true)));
}

#[test]
fn a_run_at_120_by_40() {
    assert_snapshot!(text(&drawn(&run(), 120, 40, true)));
}

#[test]
fn without_colour_the_same_is_told() {
    let (plain, colored) = (drawn(&run(), 80, 24, false), drawn(&run(), 80, 24, true));
    assert_eq!(text(&plain), text(&colored));
    let colors = |t: &Terminal<TestBackend>| {
        let cells = t.backend().buffer().content();
        cells
            .iter()
            .filter(|c| c.fg != Color::Reset || c.bg != Color::Reset)
            .count()
    };
    assert_eq!(colors(&plain), 0);
    assert!(colors(&colored) > 100);
}

#[test]
fn before_the_first_slice() {
    assert_snapshot!(text(&drawn(&state(), 80, 24, true)));
}

#[test]
fn paused_with_a_message() {
    let mut state = run();
    state.pause(true);
    state.say("load cpu: its process ended by itself");
    let text = text(&drawn(&state, 80, 24, false));
    assert!(
        text.contains("PAUSED") && text.contains("p go on"),
        "{text}"
    );
    assert!(
        text.contains("! load cpu: its process ended by itself"),
        "{text}"
    );
}

#[test]
fn a_quota_an_unkept_clock_and_unaccounted_steal_are_told() {
    let mut state = run();
    let mut vitals = vitals(Duration::from_secs(300), 31);
    vitals.throttled_ns = Some(4_950_000_000);
    vitals.synchronisation.as_mut().unwrap().synchronised = false;
    state.read(vitals);
    let shown = text(&drawn(&state, 80, 24, false));
    let line = "| CPU quota took 4.95 s | own: drawing 0.31 %, observing 1.2 %";
    assert!(shown.contains(line), "{shown}");
    assert!(
        shown.contains("NOT synchronised (offset -12.3 us, -3.2 ppm)"),
        "{shown}"
    );
    state.steal_is_accounted(false);
    let shown = text(&drawn(&state, 80, 24, false));
    assert!(shown.contains("Steal not accounted for here |"), "{shown}");
}

#[test]
fn help_fits_the_smallest_terminal() {
    let mut state = run();
    state.press(KeyEvent::from(KeyCode::Char('?')));
    assert_snapshot!(text(&drawn(&state, 80, 24, true)));
}

#[test]
fn what_is_too_small_is_told_in_a_line() {
    for (width, height) in [(79, 24), (80, 23), (60, 20)] {
        let shown = text(&drawn(&run(), width, height, true));
        let want = format!("{width}x{height} is too small: 80x24 needed; q quits");
        assert!(shown.contains(&want), "{shown}");
    }
    // Whatever the size, nothing panics.
    for (width, height) in [(0, 0), (1, 1), (200, 3), (300, 100), (80, 200)] {
        drawn(&run(), width, height, true);
    }
}

#[test]
fn the_second_line_is_of_the_last_slice_alone() {
    let mut state = run();
    let at = Duration::from_secs(300);
    let mark = Mark::Disturbed(Cause::Tick, Source::Event);
    let last = slice(at, state.setting(), 70_000, 9_000_000, mark);
    let (missed, share) = (last.missed, last.disturbed as f64 / last.samples as f64);
    state.wake_up(last);
    let before = state.slices().map(|s| s.missed).sum::<u64>();
    assert!(missed > 0 && missed < before, "{missed} of {before}");
    let shown = text(&drawn(&state, 80, 24, false));
    let line = shown.lines().nth(1).unwrap();
    let want = format!(
        "max 9.00 ms | disturbed {}  missed {missed} ",
        crate::plain::share(share)
    );
    assert!(line.contains(&want), "{line}");
}
