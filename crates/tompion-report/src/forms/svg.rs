//! `svg`: each plot as a file that stands by itself, with title, legend, notes, and the
//! colours of the light page.

use std::fmt::Write as _;

use super::html::STYLE as PAGE_STYLE;
use super::{Form, Make, PlotError, PlotFile};
use crate::blocks::{Figure, Key, figures};
use crate::data::ReportData;
use crate::figures::shortened;
use crate::plot::{STYLE as PLOT_STYLE, escape};
use crate::sections::SECTIONS;

pub(super) static ENTRY: Form = Form {
    name: "svg",
    about: "One SVG file per plot",
    make: Make::Plots("svg", |data| {
        Box::new(drawn(data, "svg", |svg| Ok(svg.as_bytes().to_vec())))
    }),
};

const MARGIN: f64 = 14.0;
const TITLE: f64 = 22.0;
const LINE: f64 = 17.0;
/// Width of one column of the legend.
const KEY: f64 = 250.0;
/// Width of a character of the notes' size in common faces.
const CHARACTER: f64 = 6.6;
/// And of the title's.
const TITLE_CHARACTER: f64 = 7.6;

/// Every plot of the page with its title and legend, in the page's order, as a file with
/// this extension that `render` makes of its drawing.
pub(super) fn drawn<'a>(
    data: &'a ReportData,
    extension: &'static str,
    render: impl Fn(&str) -> Result<Vec<u8>, String> + 'a,
) -> impl Iterator<Item = Result<PlotFile, PlotError>> + 'a {
    let figures = SECTIONS.iter().flat_map(|s| figures((s.blocks)(data)));
    let header = &data.record().header;
    let facts = [
        &header.tool,
        &header.environment.hostname,
        &header.started_at,
    ];
    let facts: Vec<&str> = facts
        .iter()
        .map(|f| f.as_str())
        .filter(|f| !f.is_empty())
        .collect();
    let source = format!("Measured by {}", facts.join(", "));
    figures.enumerate().map(move |(i, figure)| {
        let stem = format!("{:02}-{}", i + 1, slug(&figure.label));
        let content = standalone(&figure, &source).and_then(|svg| render(&svg));
        match content {
            Ok(content) => Ok(PlotFile {
                name: format!("{stem}.{extension}"),
                content,
            }),
            Err(why) => Err(PlotError { name: stem, why }),
        }
    })
}

/// A file name out of a title: the words before the explanation.
fn slug(label: &str) -> String {
    let what = label.split(':').next().unwrap_or(label);
    let mut slug = String::new();
    for c in what.replace('µ', "u").chars() {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
            _ if !slug.ends_with('-') && !slug.is_empty() => slug.push('-'),
            _ => {}
        }
    }
    slug.truncate(80);
    slug.trim_end_matches('-').to_owned()
}

/// The figure as a file; `source` says which run it is of.
fn standalone(figure: &Figure<'_>, source: &str) -> Result<String, String> {
    let plot = figure.drawn().map_err(|e| e.to_string())?;
    let (wide, high) = size(&plot).ok_or("it has no size")?;
    let width = wide + 2.0 * MARGIN;
    let longest = figure.keys.iter().map(|k| entry(figure, k).chars().count());
    let widest = (36.0 + longest.max().unwrap_or(0) as f64 * CHARACTER + 12.0).max(KEY);
    let columns = ((wide / widest) as usize).max(1);
    let mut body = String::new();
    let mut y = MARGIN;
    let room = (wide / CHARACTER) as usize;
    for line in textwrap::wrap(&figure.label, (wide / TITLE_CHARACTER) as usize) {
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
            let most = (((wide / columns as f64) - 36.0) / CHARACTER) as usize;
            let shown = shortened(&entry(figure, key), most);
            text(&mut body, x + 36.0, y, "key", &shown);
        }
    }
    for note in &figure.notes {
        for line in textwrap::wrap(note, room) {
            y += LINE;
            text(&mut body, MARGIN, y, "key", &line);
        }
    }
    for line in textwrap::wrap(source, room) {
        y += LINE;
        text(&mut body, MARGIN, y, "source", &line);
    }
    let height = y + MARGIN;
    Ok(format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"><title>{}</title><style>{}</style><rect class="paper" width="{width}" height="{height}"/>{body}</svg>
"#,
        escape(&figure.label),
        style(),
    ))
}

/// A line of the legend.
fn entry(figure: &Figure<'_>, key: &Key) -> String {
    match (&key.value, figure.values) {
        (Some(v), Some(what)) => format!("{} ({what} {v})", key.label),
        _ => key.label.clone(),
    }
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
        "{PLOT_STYLE}.title, .key, .source {{ font-family: \"DejaVu Sans\", sans-serif; font-size: 12px; fill: var(--ink); stroke: none; }}\n\
         .title {{ font-size: 13px; font-weight: 600; }}\n.source {{ fill: var(--soft); }}\n.paper {{ fill: #ffffff; stroke: none; }}\n"
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

    /// A legend of long names keeps within the picture, and says of which run it is.
    #[test]
    fn long_names_stay_within_the_picture() {
        let key = |i: usize| Key {
            look: crate::plot::Look::of(i, 0),
            sign: crate::blocks::Sign::Line,
            label: format!("{i}-{}", "clock-nanosleep-abs, periodic, ".repeat(i + 1)),
            value: Some("12.3 µs".into()),
            series: None,
        };
        let figure = |keys: Vec<Key>| Figure {
            title: "t".into(),
            label: "A label that is rather longer than the picture is wide, I am afraid".into(),
            draw: Box::new(|_| Ok(r#"<svg class="plot" viewBox="0 0 520 100"></svg>"#.into())),
            keys,
            values: Some("mean"),
            notes: Vec::new(),
            wide: false,
        };
        for most in [1, 4] {
            let svg = standalone(&figure((0..most).map(key).collect()), "Measured by x").unwrap();
            let document = roxmltree::Document::parse(&svg).unwrap();
            let mut ends: Vec<(String, f64, f64)> = Vec::new();
            for t in document.descendants().filter(|n| n.has_tag_name("text")) {
                let at = |name| t.attribute(name).unwrap().parse::<f64>().unwrap();
                let words = t.text().unwrap();
                let wide = CHARACTER * words.chars().count() as f64;
                assert!(at("x") + wide <= 520.0 + 2.0 * MARGIN, "{words}");
                // Nothing begins before another on its line has ended.
                for (y, from, to) in &ends {
                    let apart = at("x") >= *to || at("x") + wide <= *from;
                    assert!(*y != format!("{}", at("y")) || apart, "{words}");
                }
                ends.push((format!("{}", at("y")), at("x"), at("x") + wide));
            }
            assert!(svg.contains(">Measured by x</text>"));
        }
    }

    #[test]
    fn names_of_files_are_plain() {
        let label = "Wake-up latency, target 100 µs under ../cpu: share of samples";
        assert_eq!(slug(label), "wake-up-latency-target-100-us-under-cpu");
    }

    #[test]
    fn no_variable_is_left_in_the_style() {
        assert!(!style().contains("var("), "{}", style());
        assert!(style().contains(".c0 { stroke: #"));
    }
}
