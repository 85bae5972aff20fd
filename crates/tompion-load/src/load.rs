//! What a load says of itself: the entry in the list, and the work that it asks for.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tompion_model::{InvalidValue, Unavailable};

use crate::driver::Driver;
use crate::job::{Budget, Plan};
use crate::spec::{CPUS, Irq, Opt, Options, Text};

/// An entry in the list of loads.
#[derive(Debug)]
pub struct Load {
    /// Its name.
    pub name: &'static str,
    /// What it does, and its options.
    pub about: &'static str,
    /// Whether `tompion check` measures beside it unless told otherwise.
    pub in_check: bool,
    pub(crate) parse: Parse,
}

impl Load {
    /// The keys of its options; none where it takes what follows its name as it likes.
    pub fn option_keys(&self) -> impl Iterator<Item = &'static str> {
        let own = match self.parse {
            Parse::Options(own, _) => Some(own),
            Parse::Text(_) => None,
        };
        let all = own.into_iter().flat_map(|own| own.iter().chain([&CPUS]));
        all.map(|option| option.0)
    }
}

/// How the options of a load are read.
#[derive(Debug)]
pub(crate) enum Parse {
    /// As `key=value`; every such load takes `cpus=LIST` too.
    Options(
        &'static [Opt],
        fn(&Options<'_>) -> Result<Arc<dyn Work>, InvalidValue>,
    ),
    /// As it likes: all that follows its name and a colon.
    Text(fn(Option<&str>) -> Parsed),
}

/// A load as asked for, or what is wrong with its options.
pub(crate) type Parsed = Result<Arc<dyn Work>, InvalidValue>;

/// A load with its options.
pub(crate) trait Work: fmt::Debug + Send + Sync {
    /// Adds its options to its canonical text.
    fn describe(&self, text: &mut Text) {
        let _ = text;
    }

    /// Whether this is the absence of load, which is never started.
    fn is_idle(&self) -> bool {
        false
    }

    /// Whether a thread that wakes up beside it may have to wait for the scheduler's tick.
    fn makes_wait(&self) -> bool {
        true
    }

    /// What it writes.
    fn writes(&self) -> Writes {
        Writes::Nothing
    }

    /// Whether bytes are counted beside its operations.
    fn moves_bytes(&self) -> bool {
        true
    }

    /// Where the interrupts of its disk are to arrive.
    fn irq(&self) -> Option<Irq> {
        None
    }

    /// What one of our own threads does each; this is called in the load's process.
    ///
    /// # Errors
    /// Why it cannot run, in one line.
    fn plan(&self, budget: Budget) -> Result<Plan, Unavailable> {
        let _ = budget;
        Err("not a load of the worker".into())
    }

    /// The program that produces it, where that is another one than this.
    fn program(&self) -> Option<&'static str> {
        None
    }

    /// How that program is started, with `directory` for its temporary files.
    ///
    /// # Errors
    /// What the system refused.
    fn driver(&self, directory: &Path) -> std::io::Result<Option<Driver>> {
        let _ = directory;
        Ok(None)
    }
}

/// What a load writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// Nothing.
    Nothing,
    /// Files in its directory, once: those that it reads.
    Once,
    /// Files in its directory for as long as it runs.
    Here,
    /// Files elsewhere for as long as it runs.
    Elsewhere,
}
