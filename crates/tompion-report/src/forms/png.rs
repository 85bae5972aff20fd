//! `png`.

use super::{Form, Make};
use crate::export::{drawn, png};

pub(super) static ENTRY: Form = Form {
    name: "png",
    about: "Each plot as a picture",
    make: Make::Plots("png", |data| {
        let fonts = png::Fonts::embedded();
        Box::new(drawn(data, "png", move |svg| fonts.render(svg)))
    }),
};
