//! The terminal, taken and given back.

use std::io::{self, IsTerminal, Stdout};
use std::mem::ManuallyDrop;
use std::time::Duration;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, Event, KeyEvent};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    self, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

/// A terminal in raw mode, on its second screen. Given back when dropped, and before the
/// message of a panic, whichever thread panics.
///
/// Never dropped itself: it would complain to standard error where the terminal has hung
/// up, and panic where that fails, too.
pub struct Screen {
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
    /// What is drawn on.
    area: Rect,
}

/// The most columns and rows that are drawn on: a terminal may say that it has 65,535 of both,
/// for which there is no memory.
const LARGEST: (u16, u16) = (640, 240);

/// As much of the terminal as is drawn on.
fn area() -> io::Result<Rect> {
    let (width, height) = terminal::size()?;
    Ok(clipped(width, height))
}

fn clipped(width: u16, height: u16) -> Rect {
    Rect::new(0, 0, width.min(LARGEST.0), height.min(LARGEST.1))
}

impl Screen {
    /// Refuses where there is no terminal to draw on and to read keys from.
    ///
    /// # Errors
    /// Which of the two is missing, in words.
    pub fn require() -> Result<(), &'static str> {
        if !io::stdout().is_terminal() {
            Err("standard output is no terminal")
        } else if !io::stdin().is_terminal() {
            Err("standard input is no terminal")
        } else if std::env::var_os("TERM").is_none_or(|t| t.is_empty() || t == "dumb") {
            Err("TERM names no terminal that can be drawn on")
        } else {
            Ok(())
        }
    }

    /// Takes it.
    ///
    /// # Errors
    /// What the system says.
    pub fn take() -> io::Result<Self> {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            tell(panic);
        }));
        enable_raw_mode()?;
        let entered = execute!(io::stdout(), EnterAlternateScreen, Hide);
        let begin = || -> io::Result<Self> {
            entered?;
            let area = area()?;
            let options = TerminalOptions {
                viewport: Viewport::Fixed(area),
            };
            let terminal = Terminal::with_options(CrosstermBackend::new(io::stdout()), options)?;
            Ok(Self {
                terminal: ManuallyDrop::new(terminal),
                area,
            })
        };
        begin().inspect_err(|_| give_back())
    }

    /// Draws.
    ///
    /// # Errors
    /// What writing to the terminal says.
    pub fn draw(&mut self, what: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let area = area()?;
        if area != self.area {
            self.terminal.resize(area)?;
            self.area = area;
        }
        self.terminal.draw(what).map(|_| ())
    }

    /// The next key, if one comes within that time. Other events are passed over.
    ///
    /// # Errors
    /// What reading from the terminal says.
    pub fn key(&mut self, patience: Duration) -> io::Result<Option<KeyEvent>> {
        let mut patience = patience;
        while event::poll(patience)? {
            if let Event::Key(key) = event::read()? {
                return Ok(Some(key));
            }
            patience = Duration::ZERO;
        }
        Ok(None)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Does no harm when done twice, as a panic does. A terminal that is gone cannot be given back.
fn give_back() {
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_without_end_is_drawn_on_in_part() {
        assert_eq!(clipped(65_535, 65_535), Rect::new(0, 0, 640, 240));
        assert_eq!(clipped(80, 24), Rect::new(0, 0, 80, 24));
    }
}
