//! `png`: each plot as pixels. The font is part of the program, so that a picture looks the same
//! on every machine.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::svg::drawn;
use super::{Form, Make};

pub(super) static ENTRY: Form = Form {
    name: "png",
    about: "One PNG file per plot",
    make: Make::Plots("png", |data| {
        let fonts = Fonts::embedded();
        Box::new(drawn(data, "png", move |svg| fonts.render(svg)))
    }),
};

/// Latin, Greek and the signs that the plots use, of DejaVu Sans.
const FONT: &[u8] = include_bytes!("../../fonts/DejaVuSans-subset.ttf");

/// Pixels for each unit of the drawing.
const FINE: f32 = 2.0;

/// The embedded font, read once.
struct Fonts(Arc<fontdb::Database>);

impl Fonts {
    fn embedded() -> Self {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(FONT.to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        Self(Arc::new(fonts))
    }

    /// Draws an SVG file and packs it as PNG.
    fn render(&self, svg: &str) -> Result<Vec<u8>, String> {
        let options = Options {
            fontdb: Arc::clone(&self.0),
            font_family: "DejaVu Sans".to_owned(),
            ..Options::default()
        };
        let tree = Tree::from_str(svg, &options).map_err(|e| e.to_string())?;
        let size = tree.size();
        let pixels = |x: f32| (x * FINE).ceil() as u32;
        let mut picture =
            Pixmap::new(pixels(size.width()), pixels(size.height())).ok_or("it has no area")?;
        resvg::render(
            &tree,
            Transform::from_scale(FINE, FINE),
            &mut picture.as_mut(),
        );
        picture.encode_png().map_err(|e| e.to_string())
    }
}
