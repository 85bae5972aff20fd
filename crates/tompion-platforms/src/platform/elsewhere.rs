//! A platform that a plan is about and that no lab can make, such as a guest on ESXi: listed
//! as absent until somebody names one to log in to.

use std::path::Path;
use std::sync::Arc;

use super::{Output, Platform, PlatformKind, Presence, Setup, Task, TaskError};

pub(super) static ENTRY: PlatformKind = PlatformKind {
    name: "elsewhere",
    about: "a platform that the plan is about and nobody has set up",
    read: |_| Some((None, Arc::new(Elsewhere))),
    usual: &[],
};

/// What is to be done about it.
const WHY: &str = "no machine is named for it in the plan: make it kind = \"ssh\" with the host \
                   of a guest of yours";

#[derive(Debug)]
struct Elsewhere;

impl Setup for Elsewhere {
    fn can_be_here(&self) -> bool {
        false
    }

    fn platform(&self, _: &str) -> Box<dyn Platform> {
        Box::new(Self)
    }
}

impl Platform for Elsewhere {
    fn presence(&self, _program: &Path) -> Presence {
        Presence::Absent(WHY.to_owned())
    }

    fn at_a_glance(&self) -> Presence {
        Presence::Absent(WHY.to_owned())
    }

    fn run(&self, _task: &Task<'_>) -> Result<Output, TaskError> {
        Err(TaskError::Failed(WHY.to_owned()))
    }
}
