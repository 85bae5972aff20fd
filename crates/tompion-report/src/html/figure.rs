//! A plot with its heading, legend and notes: on the page, and for files of its own.

use maud::{Markup, PreEscaped, html as markup};

use crate::plot::{Drawn, Look};
use crate::sections::load_title;

/// One plot.
pub(crate) struct Figure {
    /// Its heading within its section.
    pub title: String,
    /// What it shows, said in full.
    pub label: String,
    /// The drawing.
    pub drawn: Drawn,
    /// What its colours mean.
    pub keys: Vec<Key>,
    /// Heads the values beside the keys.
    pub values: Option<&'static str>,
    /// What a reader must know about it in particular.
    pub notes: Vec<String>,
    /// Whether it takes the whole width.
    pub wide: bool,
}

/// One line of a legend.
pub(crate) struct Key {
    /// How it looks.
    pub look: Look,
    /// Whether it is drawn as dots, not as a line.
    pub dots: bool,
    /// What it is.
    pub label: String,
    /// A value beside it.
    pub value: Option<String>,
    /// Number of its cell in the run.
    pub series: Option<usize>,
}

impl Key {
    /// Classes of the style sheet.
    pub(crate) fn classes(&self) -> String {
        let kind = if self.dots { "e" } else { "l" };
        format!("{kind} {}", self.look.classes())
    }

    /// Its sign, 30 by 10 units.
    pub(crate) fn path(&self) -> &'static str {
        if self.dots { "M15 5h0" } else { "M1 5H29" }
    }
}

impl Figure {
    /// The figure on the page.
    pub(super) fn markup(&self) -> Markup {
        markup! {
            figure.wide[self.wide] {
                h4 { (self.title) }
                (plot(&self.drawn))
                @if !self.keys.is_empty() || !self.notes.is_empty() {
                    figcaption {
                        @if let Some(values) = self.values { p.means { (values) } }
                        @if !self.keys.is_empty() {
                            ul.legend { @for key in &self.keys { (legend(key)) } }
                        }
                        @for note in &self.notes { p { (note) } }
                    }
                }
            }
        }
    }
}

fn legend(key: &Key) -> Markup {
    markup! {
        li data-s=[key.series] {
            svg.key viewBox="0 0 30 10" aria-hidden="true" {
                path class=(key.classes()) d=(key.path()) {}
            }
            span { (key.label) }
            @if let Some(value) = &key.value { span.mean { (value) } }
        }
    }
}

/// Figures one after the other.
pub(super) fn each(figures: &[Figure]) -> Markup {
    markup! { @for f in figures { (f.markup()) } }
}

pub(super) fn heading(load: &str) -> String {
    match load {
        "idle" => "Idle".to_owned(),
        other => format!("Under load: {}", load_title(other)),
    }
}

/// The drawing inside a container that scrolls on narrow screens, or why there
/// is none.
fn plot(drawn: &Drawn) -> Markup {
    markup! {
        @match drawn {
            Ok(svg) => div.scroll tabindex="0" { (PreEscaped(svg)) },
            Err(e) => p.banner { "This plot could not be drawn: " (e) },
        }
    }
}
