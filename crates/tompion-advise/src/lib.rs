//! Tries what papers and practice recommend, one remedy at a time, on this machine,
//! and measures what each does.
//!
//! * [`knobs`]: the remedies. A [`Knob`] looks at the machine and says what it would
//!   change ([`State`]), for whom, at what price. It changes nothing itself.
//! * [`Journal`] and [`Switch`]: the one place where settings of the machine are
//!   changed and put back, by a record that outlives a kill.
//! * [`try_all`]: on and off in randomised pairs, measured by a [`Bench`];
//!   [`RealBench`] is this machine.
//! * [`Advice`]: what came of it, as text and as JSON.
//!
//! Only runtime settings are changed, so a reboot undoes them all.
#![forbid(unsafe_code)]

mod advice;
mod bench;
mod candidate;
mod change;
mod cpus;
mod effect;
mod files;
mod interrupts;
mod journal;
mod knob;
pub mod knobs;
mod left_alone;
mod order;
mod ranking;
mod real;
mod recovery;
mod safe_files;
mod surroundings;
mod switch;
mod text;
mod trial_loop;
mod tried;
mod undo_step;

pub use advice::{Advice, Effect, KnobAdvice, Status, json_schema};
pub use bench::{Bench, BenchError, Figures, Setup};
pub use candidate::{Candidate, bar_system, candidates};
pub use change::{Change, UndoStep};
pub use journal::{Journal, JournalError};
pub use knob::{Knob, Quantity, Reach, Ready, State};
pub use left_alone::LeftAlone;
pub use order::{Turn, turns};
pub use real::{ProgramRun, RealBench, Script};
pub use recovery::{Leftover, PutBack, Restored};
pub use surroundings::Surroundings;
pub use switch::{Refusal, Switch};
pub use trial_loop::{Progress, TryError, TryOptions, try_all};
