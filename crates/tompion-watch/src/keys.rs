//! Keys, and what they do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::State;

/// Each key as it is told, and what it does.
pub(crate) const KEYS: [(&str, &str); 9] = [
    ("l, L", "next, previous load"),
    ("m, M", "next, previous wake-up method"),
    ("t, T", "next, previous sleep target"),
    ("c, C", "next, previous CPU"),
    ("p, space", "pause, go on"),
    (
        "r",
        "forget what was seen so far (the run directory keeps it)",
    ),
    ("?, h", "this help; any key closes it"),
    ("q, Esc", "end; what was measured is kept"),
    ("Ctrl-C", "the same, with exit status 130"),
];

/// What a key asks of whoever measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    /// Nothing, or no more than to draw again.
    Seen,
    /// To end.
    Quit,
    /// To end as by a signal.
    Interrupt,
}

impl State {
    /// Takes a key.
    pub fn press(&mut self, key: KeyEvent) -> Pressed {
        if key.kind == KeyEventKind::Release {
            return Pressed::Seen;
        }
        let has_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        if has_ctrl && matches!(key.code, KeyCode::Char('c' | 'C')) {
            return Pressed::Interrupt;
        }
        if has_ctrl || key.modifiers.contains(KeyModifiers::ALT) {
            return Pressed::Seen;
        }
        if self.shows_help() {
            self.show_help(false);
            // Whoever wants to leave need not press twice.
            return match key.code {
                KeyCode::Char('q') => Pressed::Quit,
                _ => Pressed::Seen,
            };
        }
        let mut setting = self.setting();
        let choices = self.choices();
        let (place, count, forward) = match key.code {
            KeyCode::Char(k @ ('l' | 'L')) => (&mut setting.load, choices.loads.len(), k == 'l'),
            KeyCode::Char(k @ ('m' | 'M')) => {
                (&mut setting.method, choices.methods.len(), k == 'm')
            }
            KeyCode::Char(k @ ('t' | 'T')) => {
                (&mut setting.target, choices.targets.len(), k == 't')
            }
            KeyCode::Char(k @ ('c' | 'C')) => (&mut setting.cpu, choices.cpus.len(), k == 'c'),
            KeyCode::Char('q' | 'Q') | KeyCode::Esc => return Pressed::Quit,
            other => {
                match other {
                    KeyCode::Char('p' | 'P' | ' ') => self.pause(!self.is_paused()),
                    KeyCode::Char('r' | 'R') => self.reset(),
                    KeyCode::Char('?' | 'h' | 'H') => self.show_help(true),
                    _ => {}
                }
                return Pressed::Seen;
            }
        };
        let step = if forward { 1 } else { count - 1 };
        *place = (*place + step) % count;
        self.choose(setting);
        Pressed::Seen
    }
}
