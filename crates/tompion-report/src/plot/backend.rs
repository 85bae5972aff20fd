//! A Plotters backend that writes compact SVG.
//!
//! Plotters' own SVG backend writes one element a stroke with whole-pixel
//! coordinates and fixed colours; a page with a hundred cells would be tens of
//! megabytes. This one joins consecutive strokes of one meaning into a single
//! path, keeps tenths of a unit and names classes instead of colours.

use std::cell::Cell;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::rc::Rc;

use plotters::drawing::DrawingAreaErrorKind;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontTransform,
};
use tompion_model::is_printable;

use super::theme::classes;

/// Why a plot could not be drawn.
pub(crate) type Failure = DrawingAreaErrorKind<Infallible>;

/// A whole `<svg>` element.
pub(crate) type Drawn = Result<String, Failure>;

/// Backend coordinates in one SVG unit.
pub(crate) const SCALE: i32 = 10;

type Done = Result<(), DrawingErrorKind<Infallible>>;

/// The number of the cell that strokes belong to, shared with whoever draws.
#[derive(Clone, Default)]
pub(crate) struct Tag(Rc<Cell<Option<usize>>>);

impl Tag {
    /// Strokes from now on belong to this cell, or to none.
    pub(crate) fn set(&self, cell: Option<usize>) {
        self.0.set(cell);
    }
}

/// Writes SVG elements (without the surrounding `<svg>`) into a string.
pub(crate) struct CompactSvg<'a> {
    out: &'a mut String,
    size: (u32, u32),
    class: String,
    path: String,
    tag: Tag,
    /// The tag of the path that is being written.
    tagged: Option<usize>,
}

impl<'a> CompactSvg<'a> {
    /// A canvas of `size` SVG units.
    pub(crate) fn new(out: &'a mut String, size: (u32, u32), tag: Tag) -> Self {
        let scale = SCALE as u32;
        Self {
            out,
            size: (size.0 * scale, size.1 * scale),
            class: String::new(),
            path: String::new(),
            tag,
            tagged: None,
        }
    }

    fn flush(&mut self) {
        if !self.path.is_empty() {
            let series = self.tagged.map(|t| format!(r#" data-s="{t}""#));
            let _ = write!(
                self.out,
                r#"<path class="{}"{} d="{}"/>"#,
                self.class,
                series.unwrap_or_default(),
                self.path
            );
            self.path.clear();
        }
    }

    /// Makes `style` the current one; `false` when it is invisible.
    fn stroke(&mut self, color: BackendColor) -> bool {
        if color.alpha == 0.0 {
            return false;
        }
        let class = classes(color.rgb);
        let tag = self.tag.0.get();
        if class != self.class || tag != self.tagged {
            self.flush();
            self.class = class;
            self.tagged = tag;
        }
        true
    }

    fn polyline(&mut self, points: impl IntoIterator<Item = BackendCoord>) {
        let mut last: Option<BackendCoord> = None;
        for (x, y) in points {
            match last {
                None => push(&mut self.path, 'M', &[x, y]),
                Some((lx, ly)) if lx == x && ly == y => {}
                Some((lx, _)) if lx == x => push(&mut self.path, 'V', &[y]),
                Some((_, ly)) if ly == y => push(&mut self.path, 'H', &[x]),
                Some(_) => push(&mut self.path, 'L', &[x, y]),
            }
            last = Some((x, y));
        }
    }
}

/// A path command with its numbers in SVG units.
fn push(path: &mut String, command: char, tenths: &[i32]) {
    path.push(command);
    for (i, t) in tenths.iter().enumerate() {
        if i > 0 {
            path.push(' ');
        }
        path.push_str(&units(*t));
    }
}

fn units(tenths: i32) -> String {
    let (whole, part) = (tenths / SCALE, (tenths % SCALE).abs());
    match (part, tenths < 0 && whole == 0) {
        (0, _) => whole.to_string(),
        (p, false) => format!("{whole}.{p}"),
        (p, true) => format!("-0.{p}"),
    }
}

/// Text as XML character data.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if !is_printable(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

impl DrawingBackend for CompactSvg<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Done {
        Ok(())
    }

    fn present(&mut self) -> Done {
        self.flush();
        Ok(())
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Done {
        self.draw_circle(point, 0, &color, true)
    }

    fn draw_line<S: BackendStyle>(&mut self, a: BackendCoord, b: BackendCoord, style: &S) -> Done {
        self.draw_path([a, b], style)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Done {
        if self.stroke(style.color()) {
            self.polyline(path);
        }
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        (x0, y0): BackendCoord,
        (x1, y1): BackendCoord,
        style: &S,
        _fill: bool,
    ) -> Done {
        self.draw_path([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)], style)
    }

    /// A line of no length, which a round cap turns into a dot.
    fn draw_circle<S: BackendStyle>(
        &mut self,
        (x, y): BackendCoord,
        _radius: u32,
        style: &S,
        _fill: bool,
    ) -> Done {
        if self.stroke(style.color()) {
            push(&mut self.path, 'M', &[x, y]);
            self.path.push_str("h0");
        }
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Done {
        self.draw_path(corners, style)
    }

    fn draw_text<T: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &T,
        (x, y): BackendCoord,
    ) -> Done {
        self.flush();
        let size = style.size();
        let anchor = match style.anchor().h_pos {
            HPos::Left => "",
            HPos::Center => r#" text-anchor="middle""#,
            HPos::Right => r#" text-anchor="end""#,
        };
        // From the anchor to the baseline, for usual fonts.
        let down = (size
            * match style.anchor().v_pos {
                VPos::Top => 0.80,
                VPos::Center => 0.34,
                VPos::Bottom => -0.22,
            }) as i32;
        let angle = match style.transform() {
            FontTransform::None => 0,
            FontTransform::Rotate90 => 90,
            FontTransform::Rotate180 => 180,
            FontTransform::Rotate270 => 270,
        };
        let place = if angle == 0 {
            format!(r#"x="{}" y="{}""#, units(x), units(y + down))
        } else {
            let (x, y) = (units(x), units(y));
            format!(
                r#"transform="translate({x} {y})rotate({angle})" y="{}""#,
                units(down)
            )
        };
        let class = classes(style.color().rgb);
        let _ = write!(
            self.out,
            r#"<text class="{class}" {place}{anchor}>{}</text>"#,
            escape(text)
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strokes_of_one_meaning_become_one_path() {
        let mut out = String::new();
        let mut svg = CompactSvg::new(&mut out, (100, 100), Tag::default());
        let color = BackendColor {
            alpha: 1.0,
            rgb: (6, 2, 1),
        };
        svg.draw_path([(0, 0), (0, 105), (55, 105), (60, 90)], &color)
            .unwrap();
        svg.draw_path([(10, 10), (20, 10)], &color).unwrap();
        svg.draw_circle(
            (5, 5),
            3,
            &BackendColor {
                alpha: 1.0,
                rgb: (5, 2, 1),
            },
            true,
        )
        .unwrap();
        svg.present().unwrap();
        assert_eq!(
            out,
            r#"<path class="l c2 d1" d="M0 0V10.5H5.5L6 9M1 1H2"/><path class="p c2" d="M0.5 0.5h0"/>"#
        );
    }

    #[test]
    fn numbers_keep_their_sign() {
        assert_eq!(
            (units(-5), units(-15), units(20)),
            ("-0.5".into(), "-1.5".into(), "2".into())
        );
    }

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(
            escape("<b a=\"1\">&'\u{1}"),
            "&lt;b a=&quot;1&quot;&gt;&amp;&#39;\u{fffd}"
        );
    }

    #[test]
    fn what_turns_or_hides_text_is_seen_in_a_plot() {
        assert_eq!(
            escape("a\u{202e}b\u{200b}c\u{3164}"),
            "a\u{fffd}b\u{fffd}c\u{fffd}"
        );
    }
}
