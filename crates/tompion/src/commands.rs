//! One file a command.

mod advise;
mod check;
mod claims;
mod compare;
mod env;
mod hlog;
mod lab;
mod list;
mod load;
mod measure;
mod pages;
mod peer;
mod preload;
mod program;
mod progress;
mod published;
mod report;
mod session;
mod watch;
mod writing;

pub use advise::advise;
pub use check::check;
pub use claims::claims;
pub use compare::compare;
pub use env::env;
pub use lab::lab;
pub use list::list;
pub use load::load;
pub use measure::measure;
pub use pages::{completions, man};
pub use peer::peer;
pub use preload::preload;
pub use published::published;
pub use report::report;
pub use watch::watch;
