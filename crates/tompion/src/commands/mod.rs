//! One file a command.

mod check;
mod env;
mod list;
mod load;
mod pages;
mod peer;
mod preload;
mod progress;
mod report;

pub use check::check;
pub use env::env;
pub use list::list;
pub use load::load;
pub use pages::{completions, man};
pub use peer::peer;
pub use preload::preload;
pub use report::report;
