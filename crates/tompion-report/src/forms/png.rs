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

/// Pixels for each unit of the drawing, as far as there is room for as many.
const FINE: f32 = 2.0;
/// Pixels of a picture, each of four bytes. One of more is coarser; as SVG it is not.
const PIXELS: f32 = 16e6;

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
        let fine = FINE.min((PIXELS / (size.width() * size.height()).max(1.0)).sqrt());
        let pixels = |x: f32| (x * fine).ceil() as u32;
        let mut picture =
            Pixmap::new(pixels(size.width()), pixels(size.height())).ok_or("it has no area")?;
        resvg::render(
            &tree,
            Transform::from_scale(fine, fine),
            &mut picture.as_mut(),
        );
        picture.encode_png().map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_any_size_has_bounded_pixels() {
        let fonts = Fonts::embedded();
        for (width, height, pixels) in [(100, 50, (200, 100)), (1000, 400_000, (200, 80_000))] {
            let svg = format!(
                "<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}'/>"
            );
            let png = fonts.render(&svg).unwrap();
            let at = |from: usize| u32::from_be_bytes(png[from..from + 4].try_into().unwrap());
            assert_eq!((at(16), at(20)), pixels);
        }
    }
}
