//! The forms in which a report leaves the program, one file each.

use crate::data::ReportData;

tompion_model::entries! {
    /// All of them, in the order in which they are shown.
    pub static FORMS: [Form] =
        html,
        md,
        csv,
        run,
        json,
        verdict_json,
        png,
        svg,
}

pub use self::csv::csv;
pub use self::html::html;
pub use self::json::{JSON_VERSION, JsonSummary, json};
pub use self::md::markdown;
pub use self::verdict_json::verdict_schema;

/// An entry in the list of forms.
#[derive(Debug)]
pub struct Form {
    /// Its name, after `--format`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// How it is made.
    pub make: Make,
}

/// How a form is made.
#[derive(Clone, Copy, Debug)]
pub enum Make {
    /// As one text.
    Text(fn(&ReportData) -> String),
    /// As a file for each plot, with this extension, in the page's order.
    Plots(&'static str, fn(&ReportData) -> Plots<'_>),
    /// As a run of its own, from which all others can be made.
    Run,
}

/// Plots as files.
pub type Plots<'a> = Box<dyn Iterator<Item = Result<PlotFile, PlotError>> + 'a>;

/// A plot as a file.
#[derive(Clone, Debug)]
pub struct PlotFile {
    /// Its name with its extension, for example `03-wake-up-latency.svg`.
    pub name: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// Why a plot could not become a file.
#[derive(Debug)]
pub struct PlotError {
    pub(crate) name: String,
    pub(crate) why: String,
}

impl std::fmt::Display for PlotError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the plot {} could not be drawn: {}", self.name, self.why)
    }
}

impl std::error::Error for PlotError {}
