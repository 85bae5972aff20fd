//! `json`.

use super::{Form, Make};

pub(super) static ENTRY: Form = Form {
    name: "json",
    about: "The summary for machines",
    make: Make::Text(|data| format!("{:#}\n", crate::json::json(data))),
};
