//! Takes the terminal and panics, for the test that it is given back: on this thread, or
//! with `thread` on another, while this one holds on to it.

use std::thread;
use std::time::Duration;

use tompion_watch::Screen;

fn main() -> std::io::Result<()> {
    let mut screen = Screen::take()?;
    screen.draw(|frame| frame.render_widget("drawn", frame.area()))?;
    screen.key(Duration::from_millis(50))?;
    if std::env::args().nth(1).is_some() {
        let panicked = thread::spawn(|| panic!("planted")).join().is_err();
        assert!(panicked);
        // Leaves no time for destructors.
        std::process::exit(101);
    }
    panic!("planted");
}
