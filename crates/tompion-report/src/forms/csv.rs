//! `csv`.

use super::{Form, Make};

pub(super) static ENTRY: Form = Form {
    name: "csv",
    about: "One row a cell, for spreadsheets",
    make: Make::Text(crate::export::csv),
};
