//! `html`.

use super::{Form, Make};

pub(super) static ENTRY: Form = Form {
    name: "html",
    about: "The page, one file that needs no network",
    make: Make::Text(crate::html::html),
};
