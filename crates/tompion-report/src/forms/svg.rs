//! `svg`.

use super::{Form, Make};
use crate::export::drawn;

pub(super) static ENTRY: Form = Form {
    name: "svg",
    about: "Each plot as a drawing",
    make: Make::Plots("svg", |data| {
        Box::new(drawn(data, "svg", |svg| Ok(svg.as_bytes().to_vec())))
    }),
};
