//! `md`.

use super::{Form, Make};

pub(super) static ENTRY: Form = Form {
    name: "md",
    about: "Markdown for a ticket, without plots",
    make: Make::Text(crate::export::markdown),
};
