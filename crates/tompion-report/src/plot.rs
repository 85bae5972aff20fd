//! Plots as inline SVG without colours of their own: the page's style sheet
//! gives them.

mod axes;
mod backend;
pub(crate) mod ccdf;
pub(crate) mod characters;
pub(crate) mod curves;
pub(crate) mod differences;
mod frame;
pub(crate) mod histogram;
pub(crate) mod limits;
mod panels;
pub(crate) mod range_plot;
mod theme;
pub(crate) mod time_series;
pub(crate) mod trace;

/// Rules for what plots name: the only ones that files of single plots need.
pub(crate) const STYLE: &str = include_str!("plot/plot.css");

use std::cell::RefCell;

use plotters::drawing::IntoDrawingArea;

pub(crate) use axes::{share_tick, time_tick};
use backend::{CompactSvg, Tag};
pub(crate) use backend::{Drawn, Failure, escape};
use frame::{Area, Frames};
pub(crate) use theme::Look;

/// What drawing needs beside an area.
#[derive(Default)]
struct Tools {
    /// Draws frames and remembers them.
    frames: Frames,
    /// Names the cell that is being drawn.
    tag: Tag,
    /// For each frame what stands in it, row by row from the top; empty where lines have names.
    told: RefCell<Vec<Vec<String>>>,
}

impl Tools {
    /// What stands in the frame that is drawn now: a text for each of its rows, which are of one
    /// height.
    fn tell(&self, rows: Vec<String>) {
        self.told.borrow_mut().push(rows);
    }
}

/// Runs `draw` on an empty canvas and wraps the result; `label` says in words
/// what the figure shows.
fn canvas(
    (width, height): (u32, u32),
    label: &str,
    class: &str,
    draw: impl FnOnce(&Area<'_>, &Tools) -> Result<(), Failure>,
) -> Drawn {
    let mut body = String::new();
    let tools = Tools::default();
    {
        let root =
            CompactSvg::new(&mut body, (width, height), tools.tag.clone()).into_drawing_area();
        draw(&root, &tools)?;
        root.present()?;
    }
    let told = tools.told.into_inner();
    let told = match told.is_empty() {
        true => String::new(),
        false => format!(
            r#" data-told="{}""#,
            escape(&serde_json::json!(told).to_string())
        ),
    };
    Ok(format!(
        r#"<svg class="plot {class}" viewBox="0 0 {width} {height}" role="img" aria-label="{}" data-frames="{}"{told}>{body}</svg>"#,
        escape(label),
        escape(&tools.frames.into_attribute()),
    ))
}
