//! `run`: the run itself once more, for example redacted, to be sent to somebody.

use super::{Form, Make};

pub(super) static ENTRY: Form = Form {
    name: "run",
    about: "A copy of the run, as a directory; with --redact, a copy that is fit to share",
    make: Make::Run,
};
