//! The report in other forms: Markdown, CSV, and its plots as files of their own.

mod csv;
mod markdown;
mod png;
mod svg;

pub use csv::csv;
pub use markdown::markdown;

use crate::data::ReportData;
use crate::html::figures;

/// A plot as a file.
#[derive(Clone, Debug)]
pub struct PlotFile {
    /// Its name with its extension, for example `03-wake-up-latency.svg`.
    pub name: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// In which form plots are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotForm {
    /// Scalable, text as text.
    Svg,
    /// Pixels, twice as fine as the page, text in a font of our own.
    Png,
}

/// Why a plot could not become a file.
#[derive(Debug)]
pub struct PlotError {
    name: String,
    why: String,
}

impl std::fmt::Display for PlotError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the plot {} could not be drawn: {}", self.name, self.why)
    }
}

impl std::error::Error for PlotError {}

/// Every plot of the page with its title and legend, in the page's order.
///
/// # Errors
/// A plot that cannot be drawn.
pub fn plots(
    data: &ReportData,
    form: PlotForm,
) -> impl Iterator<Item = Result<PlotFile, PlotError>> {
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
    let fonts = (form == PlotForm::Png).then(png::Fonts::embedded);
    figures.into_iter().enumerate().map(move |(i, figure)| {
        let stem = format!("{:02}-{}", i + 1, slug(&figure.label));
        let failed = |why: String| PlotError {
            name: stem.clone(),
            why,
        };
        let svg = svg::standalone(&figure, &source).map_err(failed)?;
        Ok(match &fonts {
            None => PlotFile {
                name: format!("{stem}.svg"),
                content: svg.into_bytes(),
            },
            Some(fonts) => PlotFile {
                content: fonts.render(&svg).map_err(failed)?,
                name: format!("{stem}.png"),
            },
        })
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
