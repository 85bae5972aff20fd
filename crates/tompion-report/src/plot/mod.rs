//! Plots as inline SVG without colours of their own: the page's style sheet
//! gives them.

mod axes;
mod backend;
pub(crate) mod ccdf;
pub(crate) mod curves;
pub(crate) mod differences;
pub(crate) mod histogram;
mod theme;
pub(crate) mod time_series;
pub(crate) mod trace;

use std::convert::Infallible;

use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};

use backend::{CompactSvg, escape};
pub(crate) use theme::Look;

/// Why a plot could not be drawn.
pub(crate) type Failure = DrawingAreaErrorKind<Infallible>;

/// A whole `<svg>` element.
pub(crate) type Drawn = Result<String, Failure>;

/// Runs `draw` on an empty canvas and wraps the result; `label` says in words
/// what the figure shows.
fn canvas(
    (width, height): (u32, u32),
    label: &str,
    class: &str,
    draw: impl FnOnce(&DrawingArea<CompactSvg<'_>, Shift>) -> Result<(), Failure>,
) -> Drawn {
    let mut body = String::new();
    {
        let root = CompactSvg::new(&mut body, (width, height)).into_drawing_area();
        draw(&root)?;
        root.present()?;
    }
    Ok(format!(
        r#"<svg class="plot {class}" viewBox="0 0 {width} {height}" role="img" aria-label="{}">{body}</svg>"#,
        escape(label)
    ))
}
