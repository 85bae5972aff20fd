//! Everything that is text.

use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::text::{Line, Span};
use tompion_cause::{describe_cause, describe_ns};

use super::Look;
use super::look::titled;
use crate::State;
use crate::plain::{length, share};

/// What is measured, how long it has gone on, and the latest figures.
pub fn head(frame: &mut Frame<'_>, area: Rect, state: &State, look: Look) {
    let (choices, setting) = (state.choices(), state.setting());
    let seconds = state.now().as_secs();
    let (doing, style) = match state.is_paused() {
        true => ("PAUSED", look.alarm()),
        false => ("running", look.calm()),
    };
    let first = Line::from(vec![
        Span::styled("tompion watch ", look.strong()),
        Span::raw(format!(
            "{} | {} {} | {}",
            choices.load(setting),
            choices.method(setting),
            choices.target(setting),
            choices.cpu(setting)
        )),
    ]);
    let right = Line::from(vec![
        Span::styled(doing, style),
        Span::raw(format!(" {:02}:{:02}", seconds / 60, seconds % 60)),
    ]);
    let top = Rect { height: 1, ..area };
    frame.render_widget(first, top);
    frame.render_widget(right.alignment(Alignment::Right), top);
    let second = Rect {
        y: area.y + 1,
        height: 1,
        ..area
    };
    frame.render_widget(figures(state, look), second);
}

fn figures(state: &State, look: Look) -> Line<'static> {
    if let Some(message) = state.message() {
        return Line::styled(format!("! {message}"), look.alarm());
    }
    let Some(slice) = state.latest() else {
        return Line::raw("measuring the first slice...");
    };
    let (p50, p99, max) = (
        length(slice.p50_ns),
        length(slice.p99_ns),
        length(slice.max_ns),
    );
    Line::from(vec![
        Span::raw("now p50 "),
        Span::styled(p50, look.calm()),
        Span::raw("  p99 "),
        Span::styled(p99, look.tail()),
        Span::raw("  max "),
        Span::styled(max, look.alarm()),
        Span::raw(format!(
            " | disturbed {}  missed {}",
            share(slice.disturbed as f64 / slice.samples.max(1) as f64),
            slice.missed
        )),
    ])
}

/// The clock's state, and who takes CPU time.
pub fn clock(frame: &mut Frame<'_>, area: Rect, state: &State, look: Look) {
    let top = Rect { height: 1, ..area };
    frame.render_widget(Line::from(clock_words(state, look)), top);
    let throttled = state.vitals().and_then(|v| v.throttled_ns);
    let steal = match (state.steal(), state.is_steal_accounted()) {
        (_, Some(false)) => "not accounted for here".to_owned(),
        (Some((_, window)), _) if throttled.is_some() => share(window),
        (Some((now, window)), _) => format!("{} now, {} in 5 min", share(now), share(window)),
        (None, _) => "not told".to_owned(),
    };
    let quota = match throttled {
        Some(ns) => format!(" | CPU quota took {}", describe_ns(ns)),
        None => String::new(),
    };
    let cost = state.cost();
    let own = format!(
        " | own: drawing {}, observing {}",
        share(cost.drawing),
        share(cost.observing)
    );
    let line = Line::from(vec![
        Span::styled("Steal ", look.strong()),
        Span::raw(steal),
        Span::raw(quota),
        Span::styled(own, look.quiet()),
    ]);
    frame.render_widget(
        line,
        Rect {
            y: area.y + 1,
            height: 1,
            ..area
        },
    );
}

fn clock_words(state: &State, look: Look) -> Vec<Span<'static>> {
    let title = Span::styled("Clock ", look.strong());
    let Some(vitals) = state.vitals() else {
        return vec![title, Span::raw("not read yet")];
    };
    let source = vitals.clocksource.as_deref().unwrap_or("source unknown");
    let mut words = vec![title, Span::raw(format!("{source}, "))];
    match &vitals.synchronisation {
        None => words.push(Span::raw("the kernel does not tell whether it is right")),
        Some(sync) if sync.synchronised => words.push(Span::styled(
            format!(
                "synchronised, offset {}, at most {} off, {:+.1} ppm",
                length(sync.offset_ns as f64),
                length(sync.maximum_error_ns as f64),
                sync.frequency_ppm
            ),
            look.calm(),
        )),
        Some(sync) => words.push(Span::styled(
            format!(
                "NOT synchronised (offset {}, {:+.1} ppm)",
                length(sync.offset_ns as f64),
                sync.frequency_ppm
            ),
            look.alarm(),
        )),
    }
    words
}

/// Columns of a cause; one whose words are longer is told by its short name.
const CAUSE: usize = 19;

/// Time lost by cause.
pub fn causes(frame: &mut Frame<'_>, area: Rect, state: &State, look: Look) {
    let (wall_ns, causes) = state.lost();
    let buffer = frame.buffer_mut();
    let all: u64 = causes.iter().map(|c| c.ns).sum();
    let title = vec![
        Span::styled("Stalls", look.strong()),
        Span::raw(match wall_ns {
            0 => " of a busy loop".to_owned(),
            _ => format!(" lost {} of a loop", share(all as f64 / wall_ns as f64)),
        }),
    ];
    let area = titled(buffer, area, title, look);
    if wall_ns == 0 {
        let text = "no loop measured yet";
        buffer.set_string(area.x, area.y + area.height / 2, text, look.quiet());
        return;
    }
    let rows = usize::from(area.height);
    // A cut-off list says how much it leaves out.
    let named = if causes.len() > rows { rows - 1 } else { rows };
    for (y, lost) in causes.iter().take(named).enumerate() {
        let of_wall = lost.ns as f64 / wall_ns as f64;
        let words = describe_cause(lost.cause, None);
        let words = match words.len() > CAUSE {
            true => lost.cause.name(),
            false => &words,
        };
        let text = format!(
            "{words:<CAUSE$}{:>9}{:>9}",
            share(of_wall),
            describe_ns(lost.longest_ns)
        );
        let y = area.y + y as u16;
        buffer.set_string(area.x, y, &text, ratatui::style::Style::new());
        let used = text.chars().count() as u16 + 1;
        let room = f64::from(area.width.saturating_sub(used).min(40));
        let bar = (lost.ns as f64 / all.max(1) as f64 * room).round() as usize;
        buffer.set_string(area.x + used, y, "#".repeat(bar), look.tail());
    }
    if causes.len() > named {
        let rest = &causes[named..];
        let ns: u64 = rest.iter().map(|c| c.ns).sum();
        let of_wall = share(ns as f64 / wall_ns as f64);
        let text = format!("{:<CAUSE$}{of_wall:>9}", format!("{} more", rest.len()));
        buffer.set_string(area.x, area.bottom() - 1, text, look.quiet());
    }
}

/// The longest waits and stalls.
pub fn worst(frame: &mut Frame<'_>, area: Rect, state: &State, look: Look) {
    let buffer = frame.buffer_mut();
    let title = vec![
        Span::styled("Worst cases", look.strong()),
        Span::raw(" since the beginning or r (UTC)"),
    ];
    let area = titled(buffer, area, title, look);
    for (y, case) in state.worst().iter().take(area.height.into()).enumerate() {
        let choices = state.choices();
        let under = match case.kind {
            crate::Kind::WakeUp => {
                format!(
                    ", {} {}",
                    choices.method(case.setting),
                    choices.target(case.setting)
                )
            }
            crate::Kind::Stall => String::new(),
        };
        let line = Line::from(vec![
            Span::raw(format!("{} ", state.time_of_day(case.at))),
            Span::styled(format!("{:>8} ", describe_ns(case.ns)), look.alarm()),
            Span::raw(format!("{:<8}{}", case.kind.name(), case.cause)),
            Span::styled(
                format!(" ({}{under})", choices.load(case.setting)),
                look.quiet(),
            ),
        ]);
        buffer.set_line(area.x, area.y + y as u16, &line, area.width);
    }
}

/// The keys.
pub fn foot(frame: &mut Frame<'_>, area: Rect, state: &State, look: Look) {
    let keys = [
        ("l", "load"),
        ("m", "method"),
        ("t", "target"),
        ("c", "CPU"),
        ("p", if state.is_paused() { "go on" } else { "pause" }),
        ("r", "reset"),
        ("?", "help"),
        ("q", "quit"),
    ];
    let spans = keys.into_iter().flat_map(|(key, what)| {
        [
            Span::styled(key, look.tail().patch(look.strong())),
            Span::raw(format!(" {what}   ")),
        ]
    });
    frame.render_widget(Line::from_iter(spans), area);
}
