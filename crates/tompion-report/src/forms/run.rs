//! `run`: the run itself once more, for example redacted, to be sent to somebody.

use super::{Form, Make};

pub(super) static ENTRY: Form = Form {
    name: "run",
    about: "The run once more as a directory, to pass on a redacted one",
    make: Make::Run,
};
