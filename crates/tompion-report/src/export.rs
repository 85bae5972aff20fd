//! What other forms than page and summary are made of: Markdown, CSV, plots by themselves.

mod csv;
mod markdown;
pub(crate) mod png;
mod svg;

pub use csv::csv;
pub use markdown::markdown;

use crate::data::ReportData;
use crate::forms::{PlotError, PlotFile};
use crate::html::figures;

/// Every plot of the page with its title and legend, in the page's order, as a file with
/// this extension that `render` makes of its drawing.
pub(crate) fn drawn<'a>(
    data: &'a ReportData,
    extension: &'static str,
    render: impl Fn(&str) -> Result<Vec<u8>, String> + 'a,
) -> impl Iterator<Item = Result<PlotFile, PlotError>> + 'a {
    let figures = figures(data);
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
    figures.into_iter().enumerate().map(move |(i, figure)| {
        let stem = format!("{:02}-{}", i + 1, slug(&figure.label));
        let content = svg::standalone(&figure, &source).and_then(|svg| render(&svg));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        let label = "Wake-up latency, target 100 µs under ../cpu: share of samples";
        assert_eq!(slug(label), "wake-up-latency-target-100-us-under-cpu");
    }
}
