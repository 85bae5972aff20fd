//! `tompion watch`: a live view.
//!
//! One thread does everything but the measuring itself: it has a slice measured, then
//! takes keys and draws, then has the next one measured. So nothing is drawn while
//! anything is measured.

mod cells;

use std::sync::atomic::Ordering;
use std::sync::{Arc, atomic::AtomicBool};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tompion_model::Status;
use tompion_run::session::{self, SETTLE};
use tompion_run::{Bench, Destination, Error, Live, Machine, Session, SessionSettings, Trial};
use tompion_store::Directory;
use tompion_time::os::{self, ClockId};
use tompion_watch::{Cost, Look, Pressed, Screen, Slice, StallSlice, State, Vitals};

use super::session::{header, load_dir, load_time};
use crate::cli::WatchOptions;
use crate::exit;
use crate::output::{place, print};
use cells::{Cells, LOOP, SLICE};

/// How many slices of sleeps there are to one of a busy loop.
const SLEEPS: u32 = 8;

/// How often the machine's own figures are read.
const VITALS_EVERY: Duration = Duration::from_secs(1);

/// How long a key is waited for while nothing is measured; draws are no closer.
const DRAW_EVERY: Duration = Duration::from_millis(250);

/// What calls on a terminal that hung up say; the same on every Linux.
const EIO: i32 = 5;

/// Carries out the command.
pub fn watch(options: &WatchOptions) -> exit::Result {
    if !options.plain {
        Screen::require().map_err(|what| {
            anyhow::anyhow!("{what}, so there is nothing to draw on; --plain prints lines instead")
        })?;
    }
    let cells = Cells::new(options)?;
    let destination = Destination::of(options.out.clone())?;
    let bytes = cells.bytes_in(options.time);
    let load_dir = load_dir(options.load_dir.as_deref())?;
    let load_path = options.load_dir.as_deref();
    session::require(cells.plan(), cells.loads(), bytes, &destination, load_path)?;
    let stop = crate::stop::on_signals()?;

    let settings = SessionSettings {
        destination,
        header: header(Live::<Machine>::design()),
        loads: cells.loads(),
        load_directory: load_dir.as_ref().map(Directory::lasting_path),
        load_time: load_time(options.time),
        settle: SETTLE,
        cpu: options.cpu,
    };
    let mut session = Session::begin(&settings, Machine::new)?;
    let (machine, writer) = session.parts();
    let mut live = Live::begin(machine, writer, &stop);
    let began_unix = SystemTime::now().duration_since(UNIX_EPOCH);
    let state = State::new(
        cells.choices.clone(),
        cells.first,
        began_unix.unwrap_or_default(),
    );
    let shown = if options.plain {
        Ok(None)
    } else {
        Screen::take().map(Some).map_err(anyhow::Error::from)
    };
    let ended = shown.and_then(|screen| {
        // Given back as soon as the loop ends, before anything is saved.
        View::new(state, screen, &cells, &stop).run(&mut live, options.time)
    });
    let status = match &ended {
        Ok(status) => *status,
        Err(_) => Status::Interrupted,
    };
    let finished = live.finish(status);
    let count = session.writer().record().trials.len();
    // Loads end before anything is told.
    let Some(directory) = session.end_or_take_back() else {
        ended?;
        finished?;
        return of_nothing(status, options.plain);
    };
    let trials = match count {
        1 => "1 trial".to_owned(),
        several => format!("{several} trials"),
    };
    let told = print(&format!(
        "Kept {trials} in {0}\nReport: tompion report {0}\n",
        place(directory.path())
    ));
    ended?;
    finished?;
    if status == Status::Interrupted {
        // A terminal that hung up is told nothing.
        return Ok(exit::INTERRUPTED);
    }
    told.map(|()| 0)
}

/// What it comes to where it ended before anything was measured: a signal and a key are a
/// wish and no error, a time without a single sample is one.
fn of_nothing(status: Status, is_plain: bool) -> exit::Result {
    const NOTHING: &str = "nothing was measured, so nothing is kept";
    let is_interrupted = status == Status::Interrupted;
    anyhow::ensure!(is_interrupted || !is_plain, NOTHING);
    exit::complain(NOTHING);
    Ok(if is_interrupted { exit::INTERRUPTED } else { 0 })
}

/// A view being watched.
struct View<'a> {
    state: State,
    /// None where lines are printed.
    screen: Option<Screen>,
    cells: &'a Cells,
    stop: &'a Arc<AtomicBool>,
    look: Look,
    began: Instant,
    drawn: Option<Instant>,
    read: Option<Instant>,
    /// CPU time that drawing took, and observing, in nanoseconds.
    drawing_ns: u64,
    observing_ns: f64,
    turn: u32,
}

impl<'a> View<'a> {
    fn new(
        state: State,
        screen: Option<Screen>,
        cells: &'a Cells,
        stop: &'a Arc<AtomicBool>,
    ) -> Self {
        let variable = |name| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned());
        let (no_color, term) = (variable("NO_COLOR"), variable("TERM"));
        Self {
            state,
            screen,
            cells,
            stop,
            look: Look::fitting(no_color.as_deref(), term.as_deref().unwrap_or_default()),
            began: Instant::now(),
            drawn: None,
            read: None,
            drawing_ns: 0,
            observing_ns: 0.0,
            turn: 0,
        }
    }

    /// Goes on until it is told to end, or for `time`.
    fn run(mut self, live: &mut Live<'_, impl Bench>, time: Duration) -> anyhow::Result<Status> {
        loop {
            self.draw(live)?;
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Status::Interrupted);
            }
            match self.keys()? {
                Pressed::Seen => {}
                Pressed::Quit => return Ok(Status::Complete),
                Pressed::Interrupt => return Ok(Status::Interrupted),
            }
            if live.now() >= time {
                return Ok(Status::Complete);
            }
            if self.state.is_paused() {
                live.rest()?;
                continue;
            }
            if let Err(error) = self.slice(live) {
                let is_lasting = matches!(error, Error::Record(_));
                if is_lasting || self.screen.is_none() {
                    return Err(error.into());
                }
                // Another load or CPU may do.
                self.state.pause(true);
                self.state.say(error.to_string());
            }
        }
    }

    /// Has one slice measured.
    fn slice(&mut self, live: &mut Live<'_, impl Bench>) -> Result<(), Error> {
        let setting = self.state.setting();
        let is_loop = self.turn % (SLEEPS + 1) == SLEEPS;
        self.turn += 1;
        let (cell, time) = match is_loop {
            true => (self.cells.stalls(setting), LOOP),
            false => (self.cells.wake_up(setting), SLICE),
        };
        let (state, observing_ns) = (&mut self.state, &mut self.observing_ns);
        let is_plain = self.screen.is_none();
        let look = |trial: &Trial, at: Duration| {
            if let Some(observed) = &trial.observation {
                state.steal_is_accounted(observed.steal_is_accounted);
                let length = trial.ended - trial.started;
                *observing_ns += observed.own_cpu_share * length.as_nanos() as f64;
            }
            let data = &trial.outcome.data;
            let line = match &trial.findings.stalls {
                Some(stalls) => {
                    let slice = StallSlice::of(data, stalls, at, setting);
                    let line = tompion_watch::stall_line(state, &slice);
                    state.stalled(slice);
                    line
                }
                None => {
                    let Some(slice) = Slice::of(data, at, setting) else {
                        return;
                    };
                    let line = tompion_watch::wake_up_line(state, &slice);
                    state.wake_up(slice);
                    line
                }
            };
            if is_plain {
                // Where nobody reads any more, measuring ends with --for.
                let _ = print(&(line + "\n"));
            }
        };
        live.slice(&cell, time, look)
    }

    /// Draws, unless it has just done so, and counts what that costs.
    fn draw(&mut self, live: &mut Live<'_, impl Bench>) -> anyhow::Result<()> {
        let before_ns = os::now_ns(ClockId::ThreadCpu);
        let now = live.now();
        self.state.tick(now);
        if self.read.is_none_or(|r| r.elapsed() >= VITALS_EVERY) {
            self.read = Some(Instant::now());
            let cpu = tompion_host::cpu_time();
            self.state.read(Vitals {
                at: now,
                clocksource: tompion_host::clocksource(),
                synchronisation: tompion_host::synchronisation(),
                stolen: cpu.map(|c| c.stolen_ticks),
                cpu_time: cpu.map_or(0, |c| c.all_ticks),
                throttled_ns: live.throttling().map(|t| t.throttled_ns),
            });
        }
        let wall_ns = self.began.elapsed().as_nanos().max(1) as f64;
        self.state.costs(Cost {
            drawing: self.drawing_ns as f64 / wall_ns,
            observing: self.observing_ns / wall_ns,
        });
        let is_due = self.drawn.is_none_or(|d| d.elapsed() >= DRAW_EVERY);
        if let Some(screen) = self.screen.as_mut().filter(|_| is_due) {
            self.drawn = Some(Instant::now());
            let (state, look) = (&self.state, self.look);
            let drawn = screen.draw(|frame| tompion_watch::draw(frame, state, look));
            self.unless_gone(drawn)?;
        }
        self.drawing_ns += os::now_ns(ClockId::ThreadCpu) - before_ns;
        Ok(())
    }

    /// Takes all keys that have come; while nothing is measured, waits for one.
    fn keys(&mut self) -> anyhow::Result<Pressed> {
        let Some(screen) = &mut self.screen else {
            return Ok(Pressed::Seen);
        };
        let mut patience = match self.state.is_paused() {
            true => DRAW_EVERY,
            false => Duration::ZERO,
        };
        loop {
            let key = match screen.key(patience) {
                Ok(Some(key)) => key,
                Ok(None) => return Ok(Pressed::Seen),
                Err(error) => {
                    self.unless_gone(Err(error))?;
                    return Ok(Pressed::Interrupt);
                }
            };
            patience = Duration::ZERO;
            match self.state.press(key) {
                Pressed::Seen => {}
                end => return Ok(end),
            }
        }
    }

    /// A terminal that hung up fails before its signal is seen: that is no error of ours,
    /// but the end.
    fn unless_gone(&self, result: std::io::Result<()>) -> anyhow::Result<()> {
        match result {
            Err(error) if error.raw_os_error() == Some(EIO) => {
                self.stop.store(true, Ordering::Relaxed);
                Ok(())
            }
            other => Ok(other?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_before_the_first_slice_has_the_status_that_is_promised() {
        for is_plain in [true, false] {
            let status = of_nothing(Status::Interrupted, is_plain).unwrap();
            assert_eq!(status, exit::INTERRUPTED);
        }
        assert_eq!(of_nothing(Status::Complete, false).unwrap(), 0);
        let error = of_nothing(Status::Complete, true).unwrap_err().to_string();
        assert!(error.contains("nothing was measured"), "{error}");
    }
}
