//! A figure as an SVG file that stands by itself: title, plot, legend, notes, and the
//! colours of the light page.

use std::fmt::Write as _;

use crate::html::STYLE as PAGE_STYLE;
use crate::html::figure::Figure;
use crate::plot::{STYLE as PLOT_STYLE, escape};

const MARGIN: f64 = 14.0;
const TITLE: f64 = 22.0;
const LINE: f64 = 17.0;
/// Width of one column of the legend.
const KEY: f64 = 250.0;
/// Width of a character of the notes' size in common faces.
const CHARACTER: f64 = 6.6;

/// The figure as a file.
pub(super) fn standalone(figure: &Figure) -> Result<String, String> {
    let plot = figure.drawn.as_ref().map_err(ToString::to_string)?;
    let (wide, high) = size(plot).ok_or("it has no size")?;
    let width = wide + 2.0 * MARGIN;
    let columns = ((wide / KEY) as usize).max(1);
    let mut body = String::new();
    let mut y = MARGIN;
    let room = (wide / CHARACTER) as usize;
    let lines = |text: &str| -> Vec<String> {
        textwrap::wrap(text, room)
            .into_iter()
            .map(String::from)
            .collect()
    };
    for line in lines(&figure.label) {
        y += LINE;
        text(&mut body, MARGIN, y, "title", &line);
    }
    y += TITLE - LINE;
    // The plot as it is, at its place.
    let placed = plot.replacen(
        "<svg ",
        &format!(r#"<svg x="{MARGIN}" y="{y}" width="{wide}" height="{high}" "#),
        1,
    );
    body.push_str(&placed);
    y += high + 6.0;
    for row in figure.keys.chunks(columns) {
        y += LINE;
        for (i, key) in row.iter().enumerate() {
            let x = MARGIN + i as f64 * (wide / columns as f64);
            let _ = write!(
                body,
                r#"<g transform="translate({x} {})"><path class="{}" d="{}"/></g>"#,
                y - 9.0,
                key.classes(),
                key.path()
            );
            let value = match (&key.value, figure.values) {
                (Some(v), Some(what)) => format!(" ({what} {v})"),
                _ => String::new(),
            };
            text(
                &mut body,
                x + 36.0,
                y,
                "key",
                &format!("{}{value}", key.label),
            );
        }
    }
    for note in &figure.notes {
        for line in lines(note) {
            y += LINE;
            text(&mut body, MARGIN, y, "key", &line);
        }
    }
    let height = y + MARGIN;
    Ok(format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"><title>{}</title><style>{}</style><rect class="paper" width="{width}" height="{height}"/>{body}</svg>
"#,
        escape(&figure.label),
        style(),
    ))
}

fn text(body: &mut String, x: f64, y: f64, class: &str, content: &str) {
    let _ = write!(
        body,
        r#"<text class="{class}" x="{x}" y="{y}">{}</text>"#,
        escape(content)
    );
}

/// Width and height of a plot, from its view box.
fn size(plot: &str) -> Option<(f64, f64)> {
    let from = plot.split_once(r#"viewBox="0 0 "#)?.1;
    let (wide, high) = from.split_once('"')?.0.split_once(' ')?;
    Some((wide.parse().ok()?, high.parse().ok()?))
}

/// The plots' rules with the light page's colours in place of variables, which not
/// every reader of SVG knows.
fn style() -> String {
    let mut rules = format!(
        "{PLOT_STYLE}.title, .key {{ font-family: \"DejaVu Sans\", sans-serif; font-size: 12px; fill: var(--ink); stroke: none; }}\n\
         .title {{ font-size: 13px; font-weight: 600; }}\n.paper {{ fill: #ffffff; stroke: none; }}\n"
    );
    let first = PAGE_STYLE.split('}').next().unwrap_or_default();
    for declaration in first.split(';') {
        if let Some((name, value)) = declaration.split_once(':')
            && let Some(name) = name.trim().rsplit(char::is_whitespace).next()
            && name.starts_with("--")
        {
            rules = rules.replace(&format!("var({name})"), value.trim());
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_is_left_in_the_style() {
        assert!(!style().contains("var("), "{}", style());
        assert!(style().contains("stroke: #d55e00"));
    }
}
